"""Draws without a size are numbers of Python: what code makes of them is what Python makes."""

import numpy as np
import pytest

from dpaudit.freezing import patching
from dpaudit.tracing.discrete import SteppedValue
from dpaudit.tracing.draws import LawState
from dpaudit.tracing.lockstep import trace_run
from dpaudit.tracing.pending import decide_pending_noise
from dpaudit.tracing.runs import find_unlawful_reason

COINS = {
    "sum": lambda a, b: a + b,
    "difference": lambda a, b: a - b,
    "product": lambda a, b: a * b,
    "negative": lambda a, b: -a + b,
    "positive": lambda a, b: +a,
    "absolute": lambda a, b: abs(a),
    "quotient": lambda a, b: a / 4,
    "half": lambda a, b: a + 0.5,
    "three of one": lambda a, b: 3 * a - 1,
    "power": lambda a, b: 2 ** (a - b),
    "index": lambda a, b: [10, 20][a],
    "both": lambda a, b: a & b,
    "one": lambda a, b: a ^ b,
    "either": lambda a, b: a | True,
    "equal": lambda a, b: a == b,
    "a small integer": lambda a, b: np.int8(100) + a,
    "a small array": lambda a, b: np.array([100, 3], np.int8) * a,
    "a double": lambda a, b: np.float64(3.0) * a,
    "a number of numpy": lambda a, b: (a + b) / np.float32(2),
    "numpy's sum": lambda a, b: np.add(a, b),
    "shift": lambda a, b: 1 << a,
}
COUNTS = {
    "difference": lambda g, h: g - h,
    "negative power": lambda g, h: 2 ** (g - h),
    "a small integer": lambda g, h: np.int8(100) + (g - h),
    "an index": lambda g, h: "abc"[g - h],
    "of a double": lambda g, h: 0.5 * (g - h),
    "a count": lambda g, h: 7 + (g - h),
    "a float": lambda g, h: 7.0 + (g - h),
    "one": lambda g, h: g // 2,
}


def traced(function, meet):
    """Return what a run returns whose noisy values are given, or what it raises."""
    state = LawState(0, lambda meeting: np.array(meet(meeting.parameters), dtype=float))
    with patching.patch_primitives(function):
        run = trace_run(state, lambda data, rng: decide_pending_noise(function(data, rng)), None)
    return run.run.value if find_unlawful_reason(run) is None else find_unlawful_reason(run).reason


def coins_of(a, b):
    """Return what meets two coins, of which the first is fair: whatever was made of either."""
    return lambda own: own.options[..., int(a if own.chances[..., 1] == 0.5 else b)]


@pytest.mark.parametrize("name", COINS)
@pytest.mark.parametrize("a", [False, True])
@pytest.mark.parametrize("b", [False, True])
def test_coins_are_booleans_of_python(name, a, b):
    apply = COINS[name]
    code = lambda data, rng: apply(rng.random() < 0.5, rng.random() < 0.25)  # noqa: E731
    found, due = traced(code, coins_of(a, b)), apply(a, b)
    assert type(found) is type(due)
    assert np.array_equal(found, due)
    assert np.asarray(found).dtype == np.asarray(due).dtype


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("steps", [0, 1, 2])
def test_differences_of_counts_are_integers_of_python(name, steps):
    apply = COUNTS[name]
    code = lambda data, rng: apply(rng.geometric(0.5), rng.geometric(0.5))  # noqa: E731

    def meet(own):  # noise around its centre, or one of the draws
        return own.centre + steps if isinstance(own, SteppedValue) else 3 + steps

    found, due = traced(code, meet), apply(3 + steps, 3)
    assert type(found) is type(due)
    assert found == due


def test_arrays_and_numbers_of_numpy_stay_numpys():
    def code(data, rng):
        coins = rng.random(2) < 0.5
        return coins[0] + coins[1], rng.integers(2) + rng.integers(2)

    found = traced(code, lambda own: own.options[..., 1])
    assert isinstance(found[0], np.bool_)
    assert found[0]
    assert isinstance(found[1], np.int64)
    assert found[1] == 2


def test_a_choice_of_small_integers_wraps_as_in_the_code():
    def code(data, rng):
        return rng.choice(np.array([0, 1, 64], np.int8), size=2) * 4

    found = traced(code, lambda own: own.options[..., 2])
    assert found.dtype == np.int8
    assert found.tolist() == [0, 0]
