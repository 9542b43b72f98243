"""Guesses that somebody counted: all of them certify, once for either side that a 1 may favour."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.stats import beta, binom

import dpaudit
from dpaudit.auditing.estimators.given_outputs import _split_runs_at_random, event_evidence
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import Side
from tests.audit.test_printed_bounds import require_all_carried


def guesses(hits, of):
    return np.repeat([1.0, 0.0], [hits, of - hits])


def rate_end(hits, of, alpha, *, upper):
    """Return an end of the interval of Clopper and Pearson, in 50 digits, by its definition."""
    with mpmath.workdps(50):
        chances = lambda p: sum(  # noqa: E731
            mpmath.binomial(of, k) * p**k * (1 - p) ** (of - k)
            for k in (range(hits + 1) if upper else range(hits, of + 1))
        )
        start = (
            beta.ppf(1 - alpha, hits + 1, of - hits)
            if upper
            else beta.ppf(alpha, hits, of - hits + 1)
        )
        return mpmath.findroot(lambda p: chances(p) - alpha, mpmath.mpf(start), verify=False)


def test_a_table_of_a_paper_certifies_one_number_in_any_order():
    """471 of 500 with the target and 23 of 500 without it, at delta 1e-5."""
    inside, outside, rng = guesses(471, 500), guesses(23, 500), np.random.default_rng(0)
    found = dpaudit.audit_outputs(inside, outside, epsilon=2.0, delta=1e-5)
    for seed in (0, 1):
        again = dpaudit.audit_outputs(
            rng.permutation(inside), rng.permutation(outside), epsilon=2.0, delta=1e-5, seed=seed
        )
        assert again.measured == found.measured
    low = rate_end(471, 500, 0.025, upper=False)
    high = rate_end(23, 500, 0.025, upper=True)
    both = float(mpmath.log((low - mpmath.mpf(10) ** -5) / high))  # of one direction: 2.599
    assert both == pytest.approx(2.599, abs=1e-3)
    assert both - 0.06 < found.measured.lower < both + 0.04
    assert found.verdict == "refuted"
    assert found.carrying_event.hits == (471, 23)
    require_all_carried(found)


@pytest.mark.parametrize(
    ("hits", "words"), [((471, 23), "the value 1"), ((23, 471), "the value 0")]
)
def test_the_event_is_the_guess_that_favours_the_dataset(hits, words):
    result = dpaudit.audit_outputs(*(guesses(k, 500) for k in hits), epsilon=2.0)
    assert (
        f"carries the bound: {words} in" in result.reason or f"leaked: {words} in" in result.reason
    )
    require_all_carried(result)


def exclusions(x, y, n, claimed, alpha):
    settings = Settings(epsilon=claimed, delta=0.0, confidence=1 - alpha)
    return event_evidence(guesses(x, n), guesses(y, n), settings).lower > claimed


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_the_error_is_at_most_what_is_spent_by_enumeration(epsilon):
    """The worst mechanism that keeps its claim, over all tables, at an error of 0.4."""
    n, alpha = 10, 0.4
    p = math.exp(epsilon) / (1 + math.exp(epsilon))
    tables = itertools.product(range(n + 1), repeat=2)
    wrong = sum(
        binom.pmf(x, n, p) * binom.pmf(y, n, 1 - p)
        for x, y in tables
        if exclusions(x, y, n, epsilon, alpha)
    )
    assert 0 < wrong <= alpha


def test_half_the_error_goes_to_either_side():
    found = dpaudit.audit_outputs(guesses(471, 500), guesses(23, 500), epsilon=2.0, delta=1e-5)
    bounds = [joint_lower_bound(471, 23, 500, 500, delta=1e-5, alpha=a) for a in (0.025, 0.05)]
    assert found.measured.lower == pytest.approx(bounds[0], rel=1e-12)
    assert found.measured.lower < bounds[1]
    assert sorted(one.alpha for one in found.budget) == pytest.approx([0.025, 0.025])


def test_scores_of_other_values_are_still_split():
    """Negative control: three values leave a threshold to choose, which not all can certify."""
    scores = np.append(guesses(471, 499), 0.5), guesses(23, 500)
    found = dpaudit.audit_outputs(*scores, epsilon=2.0)
    assert sum(found.carrying_event.runs) < 700


@pytest.mark.parametrize("side", Side)
def test_runs_are_cut_in_a_random_order_of_their_own_for_each_side(side):
    runs = np.arange(3000.0)
    parts = _split_runs_at_random(runs, (0.3, 0.5), 7, side)
    assert [len(part) for part in parts] == [900, 600, 1500]
    assert np.array_equal(np.sort(np.concatenate(parts)), runs)
    assert all(abs(part.mean() - 1499.5) < 5 * 866 / len(part) ** 0.5 for part in parts)
    assert not any((np.diff(part) > 0).all() for part in parts)
    (other,) = (one for one in Side if one is not side)
    assert not np.array_equal(parts[0], _split_runs_at_random(runs, (0.3, 0.5), 7, other)[0])
    assert not np.array_equal(parts[0], _split_runs_at_random(runs, (0.3, 0.5), 8, side)[0])
