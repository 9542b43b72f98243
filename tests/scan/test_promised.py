"""What an event promises before it is counted: rates a few standard errors worse than seen."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from dpaudit.scan.certification.events import (
    _choose_short_thresholds,
    _estimate_promised_epsilon,
    _find_shortest_number,
    _wilson,
    best_event,
)


@pytest.mark.parametrize(("hits", "runs"), [(0, 50), (1, 50), (20, 50), (50, 50), (700, 1000)])
def test_rates_are_those_of_wilson_at_three_standard_errors(hits, runs):
    alpha = 2 * norm.sf(3.0)
    assert _wilson(hits, runs) == pytest.approx(
        proportion_confint(hits, runs, alpha=alpha, method="wilson"), abs=1e-12
    )


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_the_favoured_rate_is_taken_low_less_delta_and_the_other_one_high(delta):
    low, high = _wilson(80, 100)[0], _wilson(5, 200)[1]
    assert _estimate_promised_epsilon(80, 5, 100, 200, delta) == pytest.approx(
        math.log((low - delta) / high)
    )
    assert _estimate_promised_epsilon(0, 5, 100, 200, delta) == -math.inf
    assert _estimate_promised_epsilon(80, 5, 100, 200, low) == -math.inf


def number(values):
    return [{"out": ["number", float(one)]} for one in values]


@pytest.mark.parametrize("favours", [0, 1])
@pytest.mark.parametrize("delta", [0.0, 0.2])
def test_an_event_promises_what_its_better_side_does(favours, delta):
    rng = np.random.default_rng(1)
    sides = [number(rng.random(400) < rate) for rate in (0.9, 0.05)]
    if favours:
        sides = sides[::-1]
    found = best_event(sides, delta)
    hits, runs = found.hits, found.runs
    assert runs == (400, 400)
    assert found.promised == pytest.approx(
        _estimate_promised_epsilon(max(hits), min(hits), 400, 400, delta)
    )


def test_thresholds_part_what_was_seen_and_are_of_few_digits():
    rng = np.random.default_rng(2)
    seen = np.concatenate([rng.normal(size=300), rng.normal(50.0, 1.0, size=300)])
    found = _choose_short_thresholds(seen)
    assert all(seen.min() <= one < seen.max() for one in found)
    assert any(seen[:300].max() <= one < seen[300:].min() for one in found)  # the widest gap
    assert _choose_short_thresholds(np.full(9, 3.0)) == []
    assert _choose_short_thresholds(np.array([3.0, 4.0])) == [3.0]


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [(1.0, 2.0, 1.0), (1.01, 1.98, 1.5), (-0.3, 0.4, -0.3), (0.1, 0.1000001, 0.1)],
)
def test_between_two_numbers_is_one_of_few_digits(low, high, found):
    assert _find_shortest_number(low, high) == found
    assert low <= found < high
