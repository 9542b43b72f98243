"""Parts of bounds and checks whose errors are too rare to show in a rate, against closed forms."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import binom, chi2, norm

from dpaudit.estimation import canaries
from dpaudit.estimation.canaries import approximate_curve, gaussian_curve, independent_gaussian_mu
from dpaudit.estimation.event import choose_event, most_of
from dpaudit.estimation.inclusion import _check_coin_order, _is_sorted_by_inclusion
from dpaudit.estimation.independence import (
    Outputs,
    compute_group_ties_p_value,
    compute_heterogeneity_p_value,
    compute_normal_ranks,
    compute_repeated_calls_p_value,
    compute_serial_correlation_p_value,
    compute_trend_p_value,
)
from dpaudit.estimation.joint import (
    _choose_count_window,
    _compute_binomial_tails,
    joint_lower_bound,
)
from dpaudit.estimation.orders import ORDERS
from dpaudit.estimation.repeated_values import RepeatedValues, find_repeated_scores
from dpaudit.estimation.score_events import Tally, ThresholdEvent, compute_score_grain, round_scores

# What is left out of a sum


@pytest.mark.parametrize("p", [0.02, 0.5, 0.97])
@pytest.mark.parametrize(("first", "last"), [(0, 40), (0, 30), (5, 40), (3, 37), (20, 20), (1, 39)])
def test_counts_outside_a_window_are_those_below_and_those_above(first, last, p):
    exact = binom.cdf(first - 1, 40, p) + binom.sf(last, 40, p)
    assert _compute_binomial_tails(first, last, 40, p) == pytest.approx(exact, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("q", [1e-4, 0.3, 0.999])
@pytest.mark.parametrize("m", [10, 1000, 10**6])
def test_what_lies_beyond_a_window_is_as_rare_as_its_reach_on_either_side(m, q):
    first, last = _choose_count_window(m, q, 7.0)
    assert 0 <= first <= last <= m
    assert binom.cdf(first - 1, m, q) < norm.sf(7.0)
    assert binom.sf(last, m, q) < norm.sf(7.0)


# Events and their complements


@pytest.mark.parametrize("above", [True, False])
def test_an_event_and_its_complement_are_all_scores_and_share_none(above):
    scores = np.array([0.9, 1.0, np.nextafter(1.0, 2), np.nextafter(1.0, 0), 1.1])
    event = ThresholdEvent(above, 1.0, 0.0)
    one, other = event.happened(scores), event.complement.happened(scores)
    assert np.array_equal(one + other, np.ones(5))
    assert event.hits(scores) == 3


def test_what_is_favoured_has_its_own_hits_and_trials():
    tally = Tally((7, 3), (20, 10))
    assert tally.favoured(ThresholdEvent(True, 0.0, 0.0)) == ((7, 3), (20, 10))
    assert tally.favoured(ThresholdEvent(False, 0.0, 0.0)) == ((3, 7), (10, 20))
    assert ThresholdEvent(True, 0.0, 0.0).direction == "dataset over neighbour"
    assert ThresholdEvent(False, 0.0, 0.0).direction == "neighbour over dataset"


def test_a_grain_is_a_billionth_of_what_is_common():
    scores = np.append(np.full(95, -4.0), np.full(5, 1e9))
    assert compute_score_grain(scores) == pytest.approx(4e-9)
    assert compute_score_grain(np.append(np.zeros(95), np.full(5, 3.0))) == pytest.approx(3e-9)
    one, other = round_scores(np.array([0.3, 0.3 + 1e-12]), 1e-9)
    assert one == other != round_scores(np.array([0.3 + 1e-8]), 1e-9)[0]


# Values that repeat, of sides of unlike sizes


def nats(of_p, of_q, sizes):
    """Return the likelihood ratio of a share of p / (p + q)."""
    both, share = of_p + of_q, sizes[0] / sum(sizes)
    return sum(k * math.log(k / (both * s)) for k, s in ((of_p, share), (of_q, 1 - share)) if k)


@pytest.mark.parametrize("sizes", [(300, 100), (100, 300), (200, 200)])
@pytest.mark.parametrize("hits", [(0, 4), (4, 0), (3, 1), (12, 4), (4, 12), (9, 3), (30, 1)])
def test_a_value_stands_out_against_the_sizes_of_its_sides(sizes, hits):
    one = RepeatedValues(np.zeros(1), np.array([hits[0]]), np.array([hits[1]]), sizes)
    assert bool(len(one.stand_out().values)) == (nats(*hits, sizes) > math.log(1 / 0.2))


@pytest.mark.parametrize("sizes", [(1000, 100), (100, 1000)])
@pytest.mark.parametrize("rest", [(0, 9), (9, 0), (10, 1), (1, 10), (5, 5)])
def test_where_nearly_all_are_one_value_the_others_count(sizes, rest):
    hits = [size - left for size, left in zip(sizes, rest, strict=True)]
    one = RepeatedValues(np.zeros(1), np.array(hits[:1]), np.array(hits[1:]), sizes)
    found = max(nats(*hits, sizes), nats(*rest, sizes)) > math.log(1 / 0.2)
    assert bool(len(one.stand_out().values)) == found


@pytest.mark.parametrize("swapped", [False, True])
def test_repeats_are_counted_on_their_own_side(swapped):
    rng = np.random.default_rng(3)
    p, q = rng.normal(size=50), rng.normal(size=30)
    p[:6] = 0.25
    q[:2] = 0.25
    sides = (q, p) if swapped else (p, q)
    found = find_repeated_scores(*sides)
    assert found.values == pytest.approx([0.25])
    assert (found.of_p[0], found.of_q[0]) == ((2, 6) if swapped else (6, 2))
    assert found.sizes == (len(sides[0]), len(sides[1]))


# Independence of outputs


def outputs(*calls):
    units = np.repeat(np.arange(len(calls)), [len(one) for one in calls])
    return Outputs(np.concatenate(calls), units, units)


@pytest.mark.parametrize("shortest", [6, 9])
def test_calls_that_repeat_are_as_likely_as_their_shortest_that_does(shortest):
    rng = np.random.default_rng(4)
    long, short = rng.normal(size=30), rng.normal(size=shortest)
    rest = [rng.normal(size=20) for _ in range(4)]
    given = outputs(long, short, *rest, long, short)
    _, counts = np.unique(given.scores, return_counts=True)
    alike = np.sum((counts / len(given.scores)) ** 2)
    assert compute_repeated_calls_p_value(given) == pytest.approx(8**2 * alike**shortest, rel=1e-9)
    assert compute_repeated_calls_p_value(outputs(long, short, *rest)) == 1


def test_pairs_in_one_group_are_as_rare_as_the_likelier_of_two_laws():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(25), 4)
    for _ in range(20):
        z = rng.permutation(np.concatenate([np.repeat(np.arange(8.0), 2), 100 + np.arange(84.0)]))
        found = sum(len(group) - len(np.unique(group)) for group in np.split(z, 25))
        share = 25 * 6 / math.comb(100, 2)
        least = binom.sf(found - 1, 8, share)
        assert compute_group_ties_p_value(z, groups) >= least * (1 - 1e-12)
        if found >= 2:
            assert compute_group_ties_p_value(z, groups) == pytest.approx(
                least
            )  # the normal law has too thin a tail


# Scores of canaries


@pytest.mark.parametrize("swapped", [False, True])
def test_a_difference_of_means_is_over_the_pooled_deviation(swapped):
    rng = np.random.default_rng(6)
    included = np.arange(500) < (100 if swapped else 400)
    scores = rng.normal(size=500) * np.where(included, 2.0, 1.0) + 3 * included
    there, apart = scores[included], scores[~included]
    n, m = len(there), len(apart)
    pooled = (np.sum((there - there.mean()) ** 2) + np.sum((apart - apart.mean()) ** 2)) / 498
    d = (there.mean() - apart.mean()) / math.sqrt(pooled)
    error = math.sqrt(1 / n + 1 / m + d**2 / (2 * 498))
    found = independent_gaussian_mu(scores, included, 0.05)
    assert found == pytest.approx(d - norm.isf(0.05) * error)
    assert independent_gaussian_mu(-scores, included, 0.05) == 0
    assert independent_gaussian_mu(scores, np.arange(500) < 1, 0.05) == 0
    assert independent_gaussian_mu(np.zeros(500), included, 0.05) == 0


@pytest.mark.parametrize("delta", [0.0, 0.1])
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_a_curve_is_the_least_probability_that_both_directions_allow(epsilon, delta):
    events = np.linspace(0, 1, 21)
    exact = [
        max(0.0, math.exp(-epsilon) * (p - delta), 1 - delta - math.exp(epsilon) * (1 - p))
        for p in events
    ]
    found = approximate_curve(delta)(np.full(21, epsilon), events)
    assert found == pytest.approx(exact)
    assert gaussian_curve(np.full(21, epsilon), events) == pytest.approx(
        norm.sf(norm.isf(events) + epsilon)
    )
    assert all(one <= two for one, two in pairwise(found))


def test_what_is_excluded_is_so_by_the_recursion_in_plain_steps():
    """S_(u-1) = max(S_u, (m f(E) + D) / (r - u + 1)), with D the sum of all S from u on."""
    grid = np.linspace(0.0, 3.0, 40)
    for correct, guesses, coins in ((70, 100, 100), (70, 100, 400), (95, 100, 100), (50, 60, 80)):
        found = canaries.find_excluded_parameters(
            grid, gaussian_curve, correct, guesses, coins, 0.05
        )
        for mu, said in zip(grid, found, strict=True):
            share, beyond = 0.05, 0.0
            for u in range(correct, 0, -1):
                beyond += share
                event = min(1.0, (beyond + (u - 1) * share) / coins)
                needed = coins * float(norm.cdf(norm.ppf(event) - mu)) + beyond
                share = max(share, needed / (guesses - u + 1))
            assert said == (share > 1 + 1e-9)
        assert found[0]
        assert not found[-1]


def test_rows_are_sorted_where_coins_change_once_or_scores_only_rise_or_fall():
    rng = np.random.default_rng(1)
    scores, blocks = rng.normal(size=60), np.repeat([True, False, True], 20)
    assert _is_sorted_by_inclusion(scores[:40], blocks[:40])
    assert not _is_sorted_by_inclusion(scores, blocks)
    mixed = rng.random(60) < 0.5
    assert _is_sorted_by_inclusion(np.sort(scores), mixed)
    assert _is_sorted_by_inclusion(-np.sort(scores), mixed)
    assert not _is_sorted_by_inclusion(scores, mixed)


def test_runs_and_drift_of_coins_are_tested_at_half_each():
    """Wald and Wolfowitz, and Wilcoxon, of 60 coins in order; the smaller p-value counts twice."""
    rng = np.random.default_rng(2)
    scores, coins = rng.normal(size=60), rng.random(60) < np.linspace(0.2, 0.9, 60)
    n, k = 60, int(coins.sum())
    runs = 1 + sum(a != b for a, b in pairwise(coins.tolist()))
    expected = 1 + 2 * k * (n - k) / n
    variance = (expected - 1) * (expected - 2) / (n - 1)
    places = sum(place for place, one in enumerate(coins.tolist(), 1) if one)
    spread = math.sqrt(k * (n - k) * (n + 1) / 12)
    by_runs = 2 * norm.sf(abs(runs - expected) / math.sqrt(variance))
    by_drift = 2 * norm.sf(abs(places - k * (n + 1) / 2) / spread)
    found = _check_coin_order(scores, coins, np.zeros(60, dtype=np.int64))
    assert found.statistic == pytest.approx(min(1.0, 2 * min(by_runs, by_drift)), rel=1e-9)
    assert by_drift < by_runs


def test_units_within_a_process_are_compared_with_as_many_degrees_as_remain():
    """Six units of 20 in two processes: of five degrees of freedom one is of the processes."""
    rng = np.random.default_rng(3)
    z = compute_normal_ranks(rng.normal(size=120))
    units, processes = np.repeat(np.arange(6), 20), np.repeat([0, 1], 60)
    between = sum(20 * z[units == one].mean() ** 2 for one in range(6))
    further = sum(60 * z[processes == one].mean() ** 2 for one in range(2))
    found = compute_heterogeneity_p_value(z, units, processes)
    assert found == pytest.approx(chi2.sf((between - further) * 119 / 120, 4), rel=1e-9)
    assert compute_heterogeneity_p_value(z, units) == pytest.approx(
        chi2.sf(between * 119 / 120, 5), rel=1e-9
    )
    assert compute_heterogeneity_p_value(z, processes, processes) == 1.0


@pytest.mark.parametrize(("count", "compared"), [(2200, False), (2300, True)])
def test_neighbours_are_compared_where_200_rare_outputs_meet_by_chance(count, compared):
    """Three in ten outputs are rare: 2223 of them have 200 pairs of rare ones side by side."""
    outputs = (np.arange(count) % 10 < 3).astype(float)
    z, units = compute_normal_ranks(outputs), np.repeat(np.arange(count // 100), 100)
    inside = units[1:] == units[:-1]
    sum_of = float(z[1:][inside] @ z[:-1][inside]) / math.sqrt(inside.sum())
    expected = 2 * norm.sf(abs(sum_of)) if compared else 1.0
    assert compute_serial_correlation_p_value(z, units, 1) == pytest.approx(expected, rel=1e-9)


def test_a_trend_is_one_within_processes_and_not_between_them():
    rng = np.random.default_rng(4)
    processes = np.repeat([0, 1, 2], [300, 100, 50])
    level = compute_normal_ranks(processes + 0.01 * rng.normal(size=450))
    place = np.concatenate([np.arange(n) - (n - 1) / 2 for n in (300, 100, 50)])
    exact = 2 * norm.sf(abs(place @ level) / math.sqrt(place @ place))
    assert compute_trend_p_value(level, processes) == pytest.approx(exact, rel=1e-9)
    assert exact > 0.01  # what differs from process to process is no trend
    assert compute_trend_p_value(compute_normal_ranks(place), processes) < 1e-9
    assert compute_trend_p_value(compute_normal_ranks(place)[:99], processes[:99]) == 1.0


@pytest.mark.parametrize("low", [2.0, -2.0, -8.0])
def test_low_scores_tell_the_neighbour_and_high_ones_the_dataset(low):
    """Half of the scores of one side are of a value that the other never has."""
    high, half = np.full(100, 8.0), np.repeat([low, 8.0], 50)
    found = choose_event(high, half, 0.0)
    assert (found.above, found.hits(high), found.hits(half)) == (False, 0, 50)
    assert found.promised > 1
    mirrored = choose_event(-half, -high, 0.0)
    assert (mirrored.above, mirrored.hits(-half), mirrored.hits(-high)) == (True, 50, 0)
    assert mirrored.promised == pytest.approx(found.promised)
    assert mirrored.threshold == pytest.approx(-found.threshold)


def test_the_most_that_can_be_certified_is_of_each_side_s_own_trials():
    counts = {"favoured_trials": 50, "other_trials": 5000}
    given = {"delta": 0.01, "alpha": 0.05}
    expected = max(joint_lower_bound(50, 0, 50, 5000, order=o, **given) for o in ORDERS)
    assert most_of(counts, 0.01, 0.05) == expected
    assert expected > 1.5 + joint_lower_bound(50, 0, 50, 50, delta=0.01, alpha=0.05)
