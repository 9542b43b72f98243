"""Types of numbers: what wraps around in numpy does so in the program, whose nodes say so."""

import numpy as np
import pytest

from dpaudit.proving.refusals import NotProved
from tests.proving.arrays import assert_same, trace

RNG = np.random.default_rng(3)
GIVEN = {
    "int8": RNG.integers(-128, 128, size=6).astype(np.int8),
    "uint8": RNG.integers(0, 256, size=6).astype(np.uint8),
    "int32": RNG.integers(-(2**31), 2**31, size=6).astype(np.int32),
    "int64": RNG.integers(-(2**62), 2**62, size=6),
    "uint64": RNG.integers(0, 2**63, size=6).astype(np.uint64),
    "float32": RNG.normal(size=6).astype(np.float32),
    "float64": 100 * RNG.normal(size=6),
    "bool": RNG.random(6) < 0.5,
}
EXPRESSIONS = """
x + x
x - x[::-1]
x * 3
x * x
x + 1
1 - x
x * 2.5
x + np.int8(5)
x + np.float32(2)
x + np.float64(2)
x + np.arange(6, dtype=np.int16)
x + np.ones(6, dtype=np.float32)
x.sum()
x.sum(dtype=np.int8)
x.sum(dtype=float)
np.sum(x, dtype=np.float32)
x.cumsum()
x.prod()
x.mean()
x.astype(int) * 2
x.astype(np.int8)
x.astype(np.uint8).sum()
x.astype(float) / 3
x.astype(np.float32) * 1.1
x.astype(bool)
x / 2
x // 2
x % 5
abs(x)
-x
x ** 2
np.square(x)
x.max() - x.min()
np.ptp(x)
np.maximum(x, 1)
np.clip(x, 0, 1)
np.clip(x, 0.5, 2)
np.where(x > 1, x, 0)
np.where(x > 1, x, 0.5)
np.where(x > 1, 1, 0)
np.sqrt(abs(x.astype(float)))
np.median(x)
np.sort(x)
np.var(x)
x > 0
x == x[0]
(x > 0) + (x < 3)
(x > 0).sum()
(x > 0) * x
x @ x
np.dot(x, np.ones(6))
np.dot(x, [1, 2, 3, 4, 5, 6])
np.concatenate([x, [1.5]])
np.concatenate([x, np.zeros(2, dtype=np.int8)])
np.stack([x, x > 0])
np.array([x[0], 1])
np.asarray(x, dtype=float)
np.full(2, x[0])
np.zeros_like(x) + x
np.zeros_like(x, dtype=np.int8)
np.count_nonzero(x)
np.diff(x)
np.round(x)
np.argmax(x)
np.histogram(x + 0, bins=[-1, 0, 5])[0]
np.linalg.norm(x)
np.average(x)
x[0] + x[1]
x[0] * 2
sum(x)
np.any(x)
np.all(x)
np.minimum(x, np.int64(3))
x.repeat(2)
"""
WRITES = """
y = np.zeros(6, dtype=int); y[:] = x * 1.5
y = np.zeros(6, dtype=np.int8); y[0] = x[0]; y += 100; y += 100
y = np.zeros(6, dtype=bool); y[1:] = x[1:]
y = np.zeros(6); y += x; y[0] = 300; y = y.astype(np.uint8) + x
y = np.zeros(6, dtype=np.float32); y += x
y = np.empty(6); y.fill(0); np.add(x, 1, out=y)
y = np.ones(6, dtype=int); y[x > 0] = 2.7
y = np.full(6, 7, dtype=np.uint8); y -= (x > 0).astype(np.uint8) * np.uint8(9)
"""


@pytest.mark.parametrize("kind", GIVEN)
def test_types_of_results_are_those_of_numpy(kind):
    checked = [text for text in EXPRESSIONS.strip().split("\n") if agrees(text, GIVEN[kind])]
    assert len(checked) > 55


def agrees(text, array):
    """Return whether numpy computes an expression; then the program has to give the same."""
    function = eval(f"lambda x: {text}", {"np": np, "__name__": "shown"})
    try:
        with np.errstate(all="ignore"):
            function(array.copy())
    except (TypeError, OverflowError):
        with pytest.raises(NotProved, match="raises"):
            trace(function, array)
        return False
    try:
        assert_same(function, array)
    except (AssertionError, ValueError) as error:
        error.add_note(text)
        raise
    return True


@pytest.mark.parametrize("text", WRITES.strip().split("\n"))
@pytest.mark.parametrize("kind", ["int8", "float64", "bool"])
def test_numbers_that_are_written_take_the_type_of_the_array(text, kind):
    names = {"np": np, "__name__": "shown"}
    exec("def write(x):\n    " + text.replace("; ", "\n    ") + "\n    return y", names)
    assert_same(names["write"], GIVEN[kind])


def test_a_sum_of_bytes_wraps_around_in_the_program_too():
    bytes_ = np.full(300, 100, dtype=np.uint8)
    assert_same(lambda x: (x + x, x.sum(), x.sum(dtype=np.uint8), x - 101), bytes_)
    tracing, output = trace(lambda x: x + x, bytes_)
    assert tracing.program.nodes[output.index].dtype == "uint8"


def test_a_float_that_numpy_does_not_write_into_whole_numbers_fails():
    def add(x):
        y = np.zeros(6, dtype=int)
        y += x
        return y

    with pytest.raises(NotProved, match="raises TypeError"):
        trace(add, GIVEN["float64"])
