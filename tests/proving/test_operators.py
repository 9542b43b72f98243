import numpy as np
import pytest

from dpaudit.proving.program import evaluate_program
from tests.proving.arrays import assert_same, trace

X = np.random.default_rng(0).normal(size=6)
ELEMENTWISE = {
    "affine": lambda x: 3 * x - 1 / (x * x + 2),
    "clip": lambda x: np.clip(x, -0.5, 0.5) + x.clip(0, None),
    "compare": lambda x: ((x > 0) & (x < 1)) | ~(x >= -1),
    "integer powers": lambda x: x**2 + x**3 - np.square(x),
    "floor division": lambda x: x // 0.3 + x % 0.3,
    "logarithm of a sum": lambda x: np.logaddexp(x, 2 * x) + np.hypot(x, 1.0),
    "in place": lambda x: np.add(x, 1, out=x) * x,
    "where": lambda x: np.where(x > 0, x, 0) + (x > 0),
    "mean and spread": lambda x: (x - x.mean()) / x.std(ddof=1),
}


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_program_gives_what_the_function_gives(name):
    assert_same(ELEMENTWISE[name], X)


def test_values_that_are_not_needed_are_let_go():
    tracing, output = trace(lambda x: (np.clip(x, -2, 1) * 3).sum() - x[0], 1e3 * X)
    index = output.index
    every = evaluate_program(tracing.program, {"0": 1e3 * X}, ())
    found = evaluate_program(tracing.program, {"0": 1e3 * X}, (), needed=[index])
    assert found[index] == every[index]
    assert all(np.size(one) == 1 for one in found)
    assert max(map(np.max, found)) == max(np.abs(one).max() for one in every)
