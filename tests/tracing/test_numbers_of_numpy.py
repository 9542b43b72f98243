"""Code that does one thing with numbers of Python and another with numpy's has no law.

In all of these the last value leaks the data where a number is Python's, and in the code it never
is one; or two names share an array, and in the code one of them changes with the other.
"""

import numpy as np
import pytest

from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.tracing.law import TracedLaw
from dpaudit.tracing.reading import read_law

PAIR = Pair(np.array([0.0, 0.0]), np.array([3.0, 0.0]), REPLACE_RECORD)
SIGMA = np.sqrt(4.0)


def leak(data, rng, v, weight):
    return float(v), float(data.sum() * float(weight) + rng.laplace())


def alarms(data, rng):
    """Add two alarms: of numpy's booleans, that is at most one."""
    v = 0.0 + SIGMA * rng.normal()
    return leak(data, rng, v, (v > 1.0) + (v > 1.5) == 2)


def root(data, rng):
    v = np.add(rng.normal(), 0.0)
    return leak(data, rng, v, isinstance(v**0.5, complex))


def rounded(data, rng):
    v = np.round(rng.laplace(scale=3.0))
    return leak(data, rng, v, (v > 1.0) + (v > 2.0) == 2)


def narrow(data, rng):
    v = np.float32(3.0) + rng.normal()
    return leak(data, rng, v, np.float32(v) != v)


def copied(data, rng):
    z = rng.normal(size=2)
    y = z.copy()
    first = np.array(z)
    y *= 0.0
    return first.tolist(), float(data.sum() * float((z != first).any()) + rng.laplace())


def viewed(data, rng):
    z = rng.normal(size=2)
    first, y = np.array(z), np.asarray(z)
    y *= 0.0
    return first.tolist(), float(data.sum() * float((z == first).all()) + rng.laplace())


def cut_off(data, rng):
    z = rng.normal(size=2)
    first = np.array(z)
    np.clip(z, -1.0, 1.0, out=z)
    return first.tolist(), float(data.sum() * float((z == first).all()) + rng.laplace())


def seldom_alarms(data, rng):
    """Add alarms of a value that hardly ever is so far out."""
    v = 0.0 + rng.normal(size=1)[0]
    return leak(data, rng, v, ((v > 2.4) + (v > 2.45)) == 2)


def clipped_view(data, rng):
    """Clip a view in place, which clips the vector, too."""
    w = data * 0.0 + rng.normal(size=2)
    first = w.copy()
    view = np.reshape(w, (2, 1))
    view /= np.maximum(1.0, np.abs(view) / 2.5)
    return first[0], first[1], float(data.sum() * (w != first * 1.0).any() * 0.0 + rng.laplace())


WRONG = [alarms, root, rounded, narrow, copied, viewed, cut_off]


def losses_of(function, count=64, pair=PAIR):
    """Return losses of tilted runs; none where the law is refused, at once or later."""
    law = read_law(as_mechanism(function).calls, pair, np.random.default_rng(0))
    if not isinstance(law, TracedLaw):
        return np.zeros(0)
    try:
        return law.sample_tilted(pair, 1.0, count, np.random.default_rng(1)).privacy_loss
    except MechanismError:
        return np.zeros(0)


@pytest.mark.parametrize("function", WRONG, ids=lambda one: one.__name__)
def test_no_loss_comes_of_a_number_of_another_kind(function):
    assert np.abs(losses_of(function)).max(initial=0.0) == 0


def test_lanes_that_add_alarms_lose_what_single_runs_lose():
    found = losses_of(seldom_alarms, 400)
    assert np.abs(found).max(initial=0.0) == 0


def test_what_does_not_depend_on_the_kind_has_its_law():
    def usual(data, rng):
        v = float(data.sum()) + 0.5 * rng.normal()
        return v, 2.0 * v + rng.laplace() if v > 0 else -v + rng.laplace()

    found = losses_of(usual)
    assert len(found) == 64
    assert found.any()
