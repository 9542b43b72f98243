"""Combinations of parts in which datasets are far apart: found where they are, and rarely else."""

import numpy as np
import pytest

from dpaudit.attacks.distinguishers.linear_discriminant import fit
from dpaudit.estimation.combinations import are_far_apart, fit_discriminant


def sides(seed, size=300, width=4, scale=100.0):
    return scale * np.random.default_rng(seed).laplace(size=(2, size, width))


def cancelled(seed, moved, rounded=False):
    noise = sides(seed, width=10)
    noise -= noise.mean(axis=2, keepdims=True)
    noise[0, :, 0] += moved
    return np.round(noise) if rounded else noise


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("rounded", [False, True])
def test_a_sum_in_which_the_noise_cancels_is_found(seed, rounded):
    p, q = cancelled(seed, 3.0, rounded)
    assert are_far_apart(p, q)
    assert are_far_apart(q, p)
    direction = fit_discriminant(p, q)
    assert direction == pytest.approx(direction.mean(), rel=1e-3 if not rounded else 0.4)
    assert direction.mean() > 0 > fit_discriminant(q, p).mean()


@pytest.mark.parametrize("width", [2, 4, 40])
def test_independent_noise_hides_no_combination(width):
    found = [are_far_apart(*sides(seed, width=width)) for seed in range(40)]
    assert sum(found) <= 1


def test_an_entry_that_tells_as_much_by_itself_asks_for_no_combination():
    p, q = sides(0, scale=1.0)
    p[:, 1] += 8
    assert not are_far_apart(p, q)


def test_too_few_outputs_of_many_entries_say_nothing():
    p, q = cancelled(1, 3.0)
    assert are_far_apart(p[:50], q[:50])
    assert not are_far_apart(p[:49], q)
    assert not are_far_apart(p, q[:49])


def test_an_entry_without_noise_tells_all_by_itself_however_little_it_moves():
    p, q = sides(3)
    p[:, 1], q[:, 1] = 7.0, 7.0 + 2**-20
    assert not are_far_apart(p, q)
    assert not are_far_apart(q, p)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_has_no_direction(value):
    p, q = cancelled(1, 3.0)
    p[3, 2] = value
    assert not are_far_apart(p, q)


def test_entries_that_never_vary_are_left_out():
    p, q = cancelled(2, 3.0)
    p, q = (np.hstack([side, np.full((len(side), 2), 7.0)]) for side in (p, q))
    direction = fit_discriminant(p, q)
    assert (direction[-2:] == 0).all()
    assert direction[:-2].min() > 0
    assert (fit_discriminant(np.ones((9, 2)), np.ones((9, 2))) == 0).all()


def test_the_direction_is_that_of_fisher():
    """Means apart by d within a covariance C: along C^-1 d, worked out for two entries by hand."""
    rng = np.random.default_rng(3)
    root = np.array([[1.0, 0.0], [0.8, 0.6]])  # of the covariance ((1, .8), (.8, 1))
    p, q = (rng.normal(size=(200_000, 2)) @ root.T + shift for shift in ([0.5, 0.0], [0.0, 0.0]))
    direction = fit_discriminant(p, q)
    assert direction[1] / direction[0] == pytest.approx(-0.8, abs=0.02)


def test_a_score_is_higher_on_the_dataset():
    p, q = cancelled(4, 0.5)
    score = fit(None, None, p[:150], q[:150], None)
    assert score(p[150:]).min() > score(q[150:]).max()
    assert score(np.where(p > 0, p, np.nan)).shape == (300,)
