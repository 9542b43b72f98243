"""The likelihood's distance of rates from what epsilon and delta allow, against a fine grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import xlogy

from dpaudit.estimation.likelihood import (
    compute_allowed_boundary,
    distance,
    largest_likelihood_bound,
    likelihood_bound,
)


def divergence(rate, p):
    with np.errstate(divide="ignore", invalid="ignore"):
        found = xlogy(rate, rate / p) + xlogy(1 - rate, (1 - rate) / (1 - p))
    return np.where(np.isnan(found), np.inf, found)


def by_grid(rate, other, sizes, epsilon, delta):
    """Return the least divergence from pairs that are allowed in both directions."""
    q = np.unique(np.concatenate([np.geomspace(1e-9, 1, 40_000), np.linspace(0, 1, 40_001)]))
    p = np.minimum(math.exp(epsilon) * q + delta, 1 - math.exp(-epsilon) * (1 - q - delta))
    p = np.clip(p, 0, 1)
    if rate <= np.interp(other, q, p):
        return 0.0
    return float(np.min(sizes[0] * divergence(rate, p) + sizes[1] * divergence(other, q)))


@pytest.mark.parametrize("delta", [0.0, 0.05, 0.3])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("sizes", [(100, 100), (400, 50), (50, 400)])
def test_a_distance_is_the_least_over_all_pairs_that_are_allowed(sizes, epsilon, delta):
    rates = [(0.9, 0.1), (0.5, 0.0), (1.0, 0.2), (1.0, 0.0), (0.3, 0.01), (0.99, 0.8), (0.2, 0.3)]
    rate, other = np.array(rates).T
    found = distance(rate, other, *sizes, epsilon, delta)
    exact = [by_grid(*one, sizes, epsilon, delta) for one in rates]
    assert found == pytest.approx(exact, rel=1e-3, abs=1e-6)
    assert np.all(found <= np.array(exact) * (1 + 1e-9))  # a grid misses the least


@pytest.mark.parametrize("delta", [0.0, 0.2])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_a_boundary_allows_both_directions(epsilon, delta):
    q = np.linspace(0, 1, 11)
    p = compute_allowed_boundary(q, epsilon, delta)
    large = math.exp(epsilon)
    assert np.all(p <= large * q + delta + 1e-12)
    assert np.all(1 - q <= large * (1 - p) + delta + 1e-12)
    more = np.minimum(p + 1e-6, 1.0)
    assert np.all((more > large * q + delta) | (1 - q > large * (1 - more) + delta) | (p == 1.0))


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("nats", [0.5, 3.0, 12.0])
@pytest.mark.parametrize("sizes", [(300, 300), (900, 100)])
def test_a_bound_is_where_the_distance_is_what_is_asked(sizes, nats, delta):
    rate, other = np.array([0.9, 0.5, 0.7, 0.2]), np.array([0.05, 0.3, 0.0, 0.2])
    found = likelihood_bound(rate, other, *sizes, delta, nats)
    for k, bound in enumerate(found):
        at = distance(rate[k], other[k], *sizes, bound, delta)
        beyond = distance(rate[k], other[k], *sizes, bound * (1 + 1e-4) + 1e-6, delta)
        assert bound == 0 or at >= nats * (1 - 1e-9)
        assert beyond <= nats * (1 + 1e-9)
    at, most = largest_likelihood_bound(rate, other, *sizes, delta, nats)
    assert most == pytest.approx(found.max(), rel=1e-9)
    assert at == int(np.argmax(found))
    many = np.tile(rate, 50), np.tile(other, 50)
    at, most = largest_likelihood_bound(*many, *sizes, delta, nats)
    assert at % 4 == int(np.argmax(found))
    assert most == pytest.approx(found.max(), rel=1e-9)


def test_rates_that_rounding_alone_puts_beyond_what_is_allowed_are_no_distance_away():
    rates = np.arange(1, 100) / 100
    assert distance(rates, rates, 100, 100, 0.0, 0.0).tolist() == [0.0] * 99
    for epsilon, delta in ((0.3, 0.0), (0.3, 0.1), (2.0, 1e-5)):
        edge = compute_allowed_boundary(rates, epsilon, delta)
        for rate in (np.nextafter(edge, 0), edge, np.minimum(np.nextafter(edge, 2), 1.0)):
            assert distance(rate, rates, 1000, 1000, epsilon, delta).max() < 1e-9
