"""Frozen draws: each primitive's place and scale, and the ends that far draws have."""

from __future__ import annotations

import random

import numpy as np
import pytest

from dpaudit.freezing import patching, primitives, recorder
from dpaudit.freezing.recorder import FAR

# A primitive called with place 3 and scale 2, its law, and its place.
LOCATED = {
    "Generator.laplace": (lambda rng: rng.laplace(3.0, 2.0), "laplace", 3.0),
    "Generator.normal": (lambda rng: rng.normal(3.0, 2.0), "normal", 3.0),
    "Generator.gumbel": (lambda rng: rng.gumbel(3.0, 2.0), "gumbel", 3.0),
    "Generator.logistic": (lambda rng: rng.logistic(3.0, 2.0), "logistic", 3.0),
    "Generator.uniform": (lambda rng: rng.uniform(3.0, 5.0), "uniform", 3.0),
    "Generator.exponential": (lambda rng: rng.exponential(2.0), "exponential", 0.0),
    "numpy.random.laplace": (lambda rng: np.random.laplace(3.0, 2.0), "laplace", 3.0),  # noqa: NPY002
    "numpy.random.uniform": (lambda rng: np.random.uniform(3.0, 5.0), "uniform", 3.0),  # noqa: NPY002
    "random.gauss": (lambda rng: random.gauss(3.0, 2.0), "normal", 3.0),
    "random.normalvariate": (lambda rng: random.normalvariate(3.0, 2.0), "normal", 3.0),
    "random.uniform": (lambda rng: random.uniform(3.0, 5.0), "uniform", 3.0),
    "random.expovariate": (lambda rng: random.expovariate(0.5), "exponential", 0.0),
}
RANGES = {
    "uniform": (0.0, 1.0),
    "exponential": (0.0, np.inf),
}


def recorded(function, seed, **given):
    """Return a run of a function of a generator alone."""

    def called(data, rng):
        return function(rng)

    with patching.patch_primitives(called):
        return recorder.call_recorded(called, None, seed, primitives.generator(), **given)


@pytest.mark.parametrize("name", LOCATED)
def test_a_draw_is_its_place_and_so_many_scales(name):
    function, kind, location = LOCATED[name]
    for seed in (5, 6, -11):
        run = recorded(function, seed)
        (call,) = run.calls
        assert (call.kind, float(call.location or 0.0), float(call.scale)) == (kind, location, 2.0)
        assert float(run.value) == pytest.approx(location + 2.0 * float(call.draw))
        low, high = RANGES.get(kind, (-np.inf, np.inf))
        assert low <= float(call.draw) <= high


@pytest.mark.parametrize("name", LOCATED)
def test_of_two_runs_that_are_far_out_one_is_up_and_the_other_down(name):
    function, kind, _ = LOCATED[name]
    for k in range(4, 12):
        draws = sorted(float(recorded(function, -2 * k - odd).calls[0].draw) for odd in (0, 1))
        if kind == "uniform":
            assert 0 < draws[0] < 1e-3
            assert 1 - 1e-3 < draws[1] < 1
        elif kind == "exponential":
            assert 0 < draws[0] <= 1 / FAR
            assert FAR <= draws[1] <= 2 * FAR
        else:
            assert -2 * FAR <= draws[0] <= -FAR
            assert FAR <= draws[1] <= 2 * FAR


@pytest.mark.parametrize(
    ("function", "ends"),
    [
        (lambda rng: random.randrange(7), (0, 6)),
        (lambda rng: random.randint(3, 7), (3, 7)),
        (lambda rng: random.getrandbits(4), (0, 15)),
        (lambda rng: random.choice([5, 6, 8]), (5, 8)),
        (lambda rng: int(rng.integers(7)), (0, 6)),
        (lambda rng: int(rng.integers(3, 7)), (3, 6)),
    ],
)
def test_of_choices_far_draws_are_the_first_and_the_last(function, ends):
    for k in range(4, 10):
        seen = sorted(int(recorded(function, -2 * k - odd).value) for odd in (0, 1))
        assert tuple(seen) == ends


def two(rng):
    return [rng.laplace(size=3), rng.laplace(size=3)]


def test_what_is_spared_has_its_ordinary_draw_in_a_run_that_is_far_out():
    keys = [call.key for call in recorded(two, 5).calls]
    assert len(set(keys)) == 2
    run = recorded(two, -20, spared=frozenset({(keys[0], 1)}))
    first, second = (np.abs(np.asarray(call.draw)) for call in run.calls)
    assert (first >= FAR).tolist() == [True, False, True]
    assert (second >= FAR).all()


def test_runs_with_one_seed_have_one_noise_and_others_another():
    one, again, other = (recorded(two, seed) for seed in (5, 5, 6))
    draws = [np.concatenate([np.asarray(call.draw) for call in run.calls]) for run in (one, again)]
    assert np.array_equal(*draws)
    assert not np.isin(np.concatenate([call.draw for call in other.calls]), draws[0]).any()
    assert len(np.unique(draws[0])) == 6


@pytest.mark.parametrize("reach", [1.0, 64.0])
def test_a_reach_is_how_far_draws_are_out(reach):
    (first, _) = recorded(two, -20, reach=reach).calls
    size = np.abs(np.asarray(first.draw))
    assert ((reach <= size) & (size <= 2 * reach)).all()
