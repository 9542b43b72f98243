"""Proofs under attack: worst outputs, worst neighbours, and enumeration, against upper ends."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import norm

from dpaudit.accounting.events import (
    ADD_REMOVE,
    REPLACE,
    BatchedGaussian,
    PoissonSubsampledGaussian,
    ShuffledGaussian,
)
from dpaudit.accounting.grid.numerical import numerical_delta
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.laws.allocated_draws import draws_beyond

# What aimed draws of balls and bins pay: no output may pay more than the bound


def log_pay(law, sums, epsilon, *, removal):
    """Return the logarithm of what outputs pay, minus infinity for nothing."""
    log_s = logsumexp(law.size * sums - law.size**2 / 2, axis=1) - math.log(law.batches)
    with np.errstate(divide="ignore", invalid="ignore"):
        excess = np.where(
            removal,
            log_s + np.log(-np.expm1(np.minimum(epsilon - log_s, 0.0))),
            np.log(-np.expm1(np.minimum(epsilon + log_s, 0.0))),
        )
    return excess - law._log_density(sums)


def worst_outputs(law, epsilon, *, removal, rng):
    """Return the largest log-payment of outputs: some sums at one value and all others at another.

    From the best of these the sums are moved one by one.
    """
    values = np.linspace(-9, 14 + law.size, 70)
    many = sorted({0, 1, 2, 3, law.batches // 2, min(law.batches, 30), law.batches})
    found, best = -math.inf, np.zeros(law.batches)
    for count in (n for n in many if n <= law.batches):
        pairs = np.array(list(itertools.product(values, values)))
        sums = np.repeat(pairs[:, 1:], law.batches, axis=1)
        sums[:, :count] = pairs[:, :1]
        pays = log_pay(law, sums, epsilon, removal=removal)
        if pays.max() > found:
            found, best = float(pays.max()), sums[int(pays.argmax())]
    for _ in range(400):
        moved = best + rng.normal(scale=rng.choice([0.01, 0.1, 1.0]), size=(40, law.batches)) * (
            rng.random((40, law.batches)) < rng.choice([0.1, 1.0])
        )
        pays = log_pay(law, moved, epsilon, removal=removal)
        if pays.max() > found:
            found, best = float(pays.max()), moved[int(pays.argmax())]
    return found


SETTINGS = [
    (0.1, 5, 0.02),
    (0.5, 1, 0.3),
    (1.0, 2, 0.5),
    (1.0, 40, 0.2),
    (2.0, 3, 1.5),
    (5.0, 8, 9.0),
]


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize(("size", "batches", "epsilon"), SETTINGS)
def test_no_output_of_balls_and_bins_pays_more_than_the_bound(size, batches, epsilon, removal):
    law = draws_beyond(size, batches, epsilon, removal=removal)
    bound = law.log_bound(epsilon)
    found = worst_outputs(law, epsilon, removal=removal, rng=np.random.default_rng(batches))
    assert found <= bound + 1e-9
    assert found > bound - 12  # the attack finds outputs that pay in earnest


@pytest.mark.slow
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize("size", [0.1, 0.3, 1.0, 3.0, 10.0])
@pytest.mark.parametrize("batches", [1, 2, 7, 60, 500])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.5, 4.0, 20.0])
def test_no_output_at_all_pays_more_than_the_bound(size, batches, epsilon, removal):
    law = draws_beyond(size, batches, epsilon, removal=removal)
    found = worst_outputs(law, epsilon, removal=removal, rng=np.random.default_rng(3))
    assert found <= law.log_bound(epsilon) + 1e-9


def test_a_bound_of_half_the_size_is_found_out():
    """Negative control: without the draws that have no jump the bound would be passed."""
    law = draws_beyond(1.0, 2, 0.5, removal=True)
    found = worst_outputs(law, 0.5, removal=True, rng=np.random.default_rng(0))
    assert found > law.log_bound(0.5) - math.log(2)


# Canary steps: no gradient that the past may decide tells more than a Dirac one


def hockey(mean, ratio, noise, levels, *, added):
    """Return ``E (P - a Q)_+`` at levels a of a sampled release and none, in either order."""
    y = np.linspace(-12 * noise, 12 * noise + 1, 2501)
    plain = norm.pdf(y, 0, noise)
    mixed = (1 - ratio) * plain + ratio * norm.pdf(y, mean, noise)
    p, q = (mixed, plain) if added else (plain, mixed)
    gaps = np.maximum(p - np.multiply.outer(levels, q), 0.0)
    return gaps.sum(axis=-1) * (y[1] - y[0])


@pytest.mark.parametrize("added", [True, False])
@pytest.mark.parametrize(("ratio", "noise"), [(0.05, 0.6), (0.3, 1.0), (0.9, 2.0)])
def test_no_gradient_chosen_by_the_past_loses_more_in_two_steps(ratio, noise, added):
    """Given the first output the second gradient is the worst there is, of all lengths up to 1."""
    epsilon = 0.3
    y = np.linspace(-8 * noise, 8 * noise + 1, 801)
    lengths = np.array([0.0, 0.3, 0.7, 0.95, 1.0])
    levels = np.geomspace(1e-3, 1e3, 601)
    seconds = np.array([hockey(c, ratio, noise, levels, added=added) for c in lengths])
    assert (seconds[-1] >= seconds.max(axis=0) - 1e-9).all()  # at every level a unit is the worst
    totals = []
    for first in lengths:
        plain = norm.pdf(y, 0, noise)
        mixed = (1 - ratio) * plain + ratio * norm.pdf(y, first, noise)
        p, q = (mixed, plain) if added else (plain, mixed)
        at = np.log(math.exp(epsilon) * q / p)
        second = np.interp(at, np.log(levels), seconds.max(axis=0))
        totals.append(float((p * second).sum()) * (y[1] - y[0]))
    assert max(totals) == totals[-1]
    event = PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=2)
    bracket = numerical_delta(event, epsilon)
    assert totals[-1] <= bracket.upper * (1 + 1e-3)


# Shuffles whose record is replaced: everything is enumerated


def orders(records, batches):
    """Return all ways to put records into batches of equal sizes, each as likely."""
    size = records // batches
    places = [k // size for k in range(records)]
    return np.array(sorted(set(itertools.permutations(places))))


def laws_on_a_grid(terms, neighbour, batches, noise, grid):
    """Return the densities of two batches' sums for both datasets, on a grid of the plane."""
    ways = orders(len(terms), batches)
    densities = []
    for values in (terms, neighbour):
        sums = np.array([[values[way == t].sum() for t in range(batches)] for way in ways])
        one = norm.pdf(grid[None, :], sums[:, :1], noise)
        two = norm.pdf(grid[None, :], sums[:, 1:], noise)
        densities.append(np.einsum("wi,wj->ij", one, two) / len(ways))
    return densities


def shuffled_delta(terms, replaced, noise, epsilon, grid):
    neighbour = terms.copy()
    neighbour[0] = replaced
    p, q = laws_on_a_grid(terms, neighbour, 2, noise, grid)
    cell = (grid[1] - grid[0]) ** 2
    return max(
        float(np.maximum(one - math.exp(epsilon) * other, 0).sum()) * cell
        for one, other in ((p, q), (q, p))
    )


@pytest.mark.parametrize(("noise", "epsilon"), [(0.8, 1.0), (1.5, 0.3), (3.0, 0.1)])
def test_no_terms_lose_more_in_a_shuffled_epoch_than_is_proved(noise, epsilon):
    """Four records in two batches: all orders, terms of any size up to 1, by search."""
    grid = np.linspace(-4 - 6 * noise, 4 + 6 * noise, 240)
    proved = ShuffledGaussian(batches=2, noise_multiplier=noise, relation=REPLACE)
    upper = proved_guarantee(proved).delta(epsilon)
    lower = numerical_delta(proved, epsilon).lower

    def loss(x):
        terms = np.clip(x, -1, 1)
        return -shuffled_delta(terms[:4], terms[4], noise, epsilon, grid)

    rng = np.random.default_rng(1)
    starts = [np.array([1.0, -1, -1, -1, -1]), *rng.uniform(-1, 1, (8, 5))]
    start = min(starts, key=loss)
    found = minimize(loss, start, method="Nelder-Mead", options={"maxfev": 150})
    most = -min(found.fun, loss(starts[0]))
    assert most <= upper * (1 + 1e-6)
    assert -loss(starts[0]) >= lower * (1 - 1e-3)  # what neighbours certainly lose, they lose


@pytest.mark.parametrize("relation", [REPLACE, ADD_REMOVE])
def test_no_terms_lose_more_in_a_batch_of_fixed_size_than_is_proved(relation):
    """Four records, two in the batch: all batches, terms of any size up to 1."""
    noise, epsilon, rng = 1.2, 0.4, np.random.default_rng(2)
    y = np.linspace(-10, 10, 4001)
    event = BatchedGaussian(
        records=4, batch_size=2, noise_multiplier=noise, sampling="fixed", relation=relation
    )
    upper = proved_guarantee(event).delta(epsilon)

    def density(terms):
        sums = [sum(chosen) for chosen in itertools.combinations(terms, 2)]
        return norm.pdf(y[:, None], np.array(sums), noise).mean(axis=1)

    worst = 0.0
    for terms in [np.array([1.0, -1, -1, -1]), *rng.uniform(-1, 1, (60, 4))]:
        other = terms[1:] if relation == ADD_REMOVE else np.array([-np.sign(terms[0]), *terms[1:]])
        p, q = density(terms), density(other)
        gaps = p - math.exp(epsilon) * q, q - math.exp(epsilon) * p
        worst = max(worst, *(float(np.maximum(g, 0).sum()) * (y[1] - y[0]) for g in gaps))
    assert 0.95 * upper < worst <= upper * (1 + 1e-6)
