"""Bounds from the counts of attacks: their coverage by enumeration, and what they depend on."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.attack_table import (
    SHARES,
    AttackRow,
    bound_rows,
    largest_bound,
    rate_intervals,
)
from dpaudit.estimation.likelihood import compute_allowed_boundary


def best(rows, delta=0.0, alpha=0.05):
    return max(one.epsilon for one in bound_rows(rows, delta=delta, alpha=alpha))


@pytest.mark.parametrize(("delta", "alpha"), [(0.0, 0.2), (0.0, 0.05), (0.1, 0.2)])
def test_it_errs_no_more_often_than_alpha_whatever_the_rates(delta, alpha):
    """All counts of 9 and 8 runs, with rates on the border of what is claimed: at 0 equal ones."""
    n, m = 9, 8
    counts = [*itertools.product(range(n + 1), range(m + 1))]
    bounds = [best([AttackRow(x, n, y, m)], delta, alpha) for x, y in counts]
    for epsilon in (0.0, 0.5, 1.0):
        above = [one for one, bound in zip(counts, bounds, strict=True) if bound > epsilon + 1e-9]
        assert above
        for q in np.linspace(0.0, 0.95, 40):
            p = float(compute_allowed_boundary(np.array(q), epsilon, delta))
            errs = sum(binom.pmf(x, n, p) * binom.pmf(y, m, q) for x, y in above)
            assert errs <= alpha + 1e-9


def test_it_is_close_to_what_the_rates_say():
    row = AttackRow(94200, 100_000, 4600, 100_000)
    assert best([row]) == pytest.approx(math.log(0.942 / 0.046), abs=0.05)
    assert best([row]) < math.log(0.942 / 0.046)


def test_rows_say_the_same_in_any_order_and_share_the_error_probability():
    rows = [AttackRow(471, 500, 23, 500), AttackRow(100, 500, 1, 500), AttackRow(490, 500, 90, 500)]
    found = {tuple(one): best(one) for one in itertools.permutations(rows)}
    assert len(set(found.values())) == 1
    alone = best([rows[0]], alpha=0.05 / 3)
    assert found[tuple(rows)] >= alone
    bounds = bound_rows(rows, delta=0.0, alpha=0.05)
    assert sum(one.alpha / SHARES[one.order] for one in bounds) == pytest.approx(0.05)


def test_an_attack_that_is_mostly_wrong_certifies_nothing():
    assert best([AttackRow(23, 500, 471, 500)]) == 0
    assert best([AttackRow(250, 500, 250, 500)]) == 0


def test_the_complement_counts_too():
    """Few runs with the target are called out: these few are the evidence."""
    assert best([AttackRow(500, 500, 250, 500)]) > 3


def test_nothing_is_above_the_most_that_so_many_runs_can_show():
    rows = [AttackRow(500, 500, 0, 500), AttackRow(200, 200, 0, 200)]
    assert best(rows) <= largest_bound(rows, delta=0.0, alpha=0.05) + 1e-9


def test_both_ends_of_an_interval_are_those_of_clopper_and_pearson():
    (low, high), _ = rate_intervals(AttackRow(471, 500, 23, 500), 0.05)
    assert binom.sf(470, 500, low) == pytest.approx(0.025)
    assert binom.cdf(471, 500, high) == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((5, 4, 0, 4), "hits: got 5, expected at most the 4 runs"),
        ((1, 4, 5, 4), "other_hits: got 5, expected at most the 4 runs"),
        ((-1, 4, 0, 4), "hits: got -1"),
        ((0, 0, 0, 4), "trials: got 0"),
        ((0.5, 4, 0, 4), "hits: got 0.5"),
    ],
)
def test_counts_that_are_none_are_named(counts, words):
    with pytest.raises(InvalidArgument, match=words):
        AttackRow(*counts)
