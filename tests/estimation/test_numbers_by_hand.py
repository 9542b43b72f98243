"""Small numbers of estimators, worked out by hand: both sides alone, ties, and ends of domains."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chi2, norm, poisson

from dpaudit.errors import InvalidArgument
from dpaudit.estimation import (
    bet_choice,
    divergence,
    event,
    exact_loss,
    inclusion,
    independence,
    self_check,
)
from dpaudit.estimation.betting import (
    Stakes,
    falling_limit,
    log_wealth_falling,
    log_wealth_rising,
)
from dpaudit.estimation.divergence import Bins, RenyiBet
from dpaudit.estimation.exact_loss import LossDirection, TiltedLosses
from dpaudit.estimation.independence import Outputs
from dpaudit.estimation.model_estimates import EventCounts, gaussian_mu
from dpaudit.estimation.repeated_values import RepeatedValues, find_repeated_scores
from dpaudit.estimation.score_events import (
    ScoreEvent,
    Tally,
    ThresholdEvent,
    compute_score_grain,
    round_scores,
)
from dpaudit.estimation.sequential.bets import fair_bets
from dpaudit.estimation.sequential.events import Tallies, both_directions
from dpaudit.estimation.sequential.game import BettingGame, Wealth, lower_bound, most_of_bets
from dpaudit.verdicts import (
    RELATIVE_ROUNDING,
    choose_gravest_verdict,
    in_present_words,
    judge_claimed_number,
    status_of,
)

# Verdicts


def test_a_bound_exceeds_a_claim_by_more_than_rounding():
    for claimed in (1.0, 20.0, 1e-6):
        assert (
            judge_claimed_number(claimed, claimed * (1 + 0.5 * RELATIVE_ROUNDING)) == "not refuted"
        )
        assert judge_claimed_number(claimed, claimed * (1 + 2 * RELATIVE_ROUNDING)) == "refuted"
    assert judge_claimed_number(0.0, 0.0) == "not refuted"
    assert judge_claimed_number(0.0, 1e-300) == "refuted"
    assert RELATIVE_ROUNDING == 1e-9


@pytest.mark.parametrize(("claimed", "proved"), [(2.0, 1.0), (-1.0, -2.0)])
def test_a_proof_stands_until_a_bound_is_above_it_by_more_than_rounding(claimed, proved):
    one = abs(proved) * RELATIVE_ROUNDING
    assert judge_claimed_number(claimed, proved, proved=proved) == "proved"
    assert judge_claimed_number(claimed, proved + 0.5 * one, proved=proved) == "proved"
    assert judge_claimed_number(claimed, proved + 2 * one, proved=proved) == "not refuted"
    assert judge_claimed_number(claimed, proved, proved=claimed) == "proved"
    assert judge_claimed_number(claimed, proved, proved=math.nextafter(claimed, 9)) == "not refuted"
    assert judge_claimed_number(claimed, 9.0, proved=proved, trusted=False) == "withheld"


def test_statuses_and_words_of_verdicts():
    words = ("refuted", "withheld", "not refuted", "proved")
    assert [status_of([word]) for word in words] == [1, 2, 0, 0]
    assert choose_gravest_verdict(reversed(words)) == "refuted"
    assert choose_gravest_verdict(["proved", "withheld", "not refuted"]) == "withheld"
    assert [in_present_words(one) for one in ("violated", 3, ["x"])] == ["withheld", 3, ["x"]]


# Events and their counts


@pytest.mark.parametrize(("above", "hits"), [(True, 3), (False, 2)])
def test_scores_at_a_threshold_are_in_either_event(above, hits):
    one, scores = ThresholdEvent(above, 1.0, 0.5), np.array([0.0, 1.0, 2.0, 3.0])
    assert (one.hits(scores), one.happened(scores).dtype) == (hits, np.float64)
    assert one.complement.hits(scores) == 4 - hits
    assert one.complement.promised == 0.5
    assert one.direction == ("dataset over neighbour" if above else "neighbour over dataset")
    counts = Tally((3, 1), (10, 20)).favoured(one)
    assert counts == (((3, 1), (10, 20)) if above else ((1, 3), (20, 10)))


def test_scores_are_rounded_to_a_billionth_of_what_is_common():
    assert compute_score_grain(np.array([-5.0] * 9 + [1e9])) == pytest.approx(1e9 * 1e-9)
    assert compute_score_grain(np.array([-5.0] * 18 + [1e9])) == pytest.approx(5e-9)
    assert compute_score_grain(np.array([0.0] * 19 + [7.0])) == pytest.approx(7e-9)
    assert (
        compute_score_grain(np.array([np.inf, np.nan]))
        == compute_score_grain(np.zeros(3))
        == pytest.approx(1e-299)
    )
    assert round_scores(np.array([0.74, -0.76, 2.0**60]), 0.5).tolist() == [0.5, -1.0, 2.0**60]
    assert round_scores(np.array([2.0**53 - 1, 2.0**53 + 2]), 1.0).tolist() == [
        2**53 - 1,
        2**53 + 2,
    ]
    counted = ScoreEvent(None, ThresholdEvent(True, 0.5, 0.0), 0.5)
    assert counted.count(np.array([0.24, 0.26, 0.9])) == 2
    assert ScoreEvent(None, ThresholdEvent(True, 0.5, 0.0)).rounded(np.array([0.26])).tolist() == [
        0.26
    ]


def test_the_point_estimate_is_the_larger_of_the_event_and_its_complement():
    assert event._estimate_point_epsilon(0.6, 0.2, 0.0) == pytest.approx(math.log(3))
    assert event._estimate_point_epsilon(0.8, 0.6, 0.0) == pytest.approx(
        math.log(2)
    )  # misses: .4 over .2
    assert event._estimate_point_epsilon(0.6, 0.2, 0.1) == pytest.approx(math.log(0.5 / 0.2))
    assert event._estimate_point_epsilon(0.8, 0.6, 0.1) == pytest.approx(math.log(0.3 / 0.2))
    assert event._estimate_point_epsilon(0.1, 0.0, 0.1) == 0.0
    assert event._estimate_point_epsilon(0.2, 0.0, 0.1) == math.inf
    assert event._estimate_point_epsilon(0.2, 0.3, 0.0) == 0.0


def test_a_threshold_lies_in_the_middle_below_the_score_that_was_chosen():
    ordered = np.array([-1.0, 1.0, 4.0])
    assert [event._compute_score_midpoint(ordered, at) for at in range(3)] == [-1.0, 0.0, 2.5]
    near = np.array([1.0, math.nextafter(1.0, 2)])
    assert event._compute_score_midpoint(near, 1) == near[1]
    assert event._compute_score_midpoint(np.array([-np.inf, 1.0]), 1) == 1.0


@pytest.mark.parametrize(
    ("hits", "rarer"), [((90, 60), False), ((40, 10), True), ((60, 40), True), ((50, 50), True)]
)
def test_of_an_event_and_its_complement_the_rarer_is_counted(hits, rarer):
    p, q = ((np.arange(100) < n).astype(float) for n in hits)
    one = ThresholdEvent(True, 0.5, 0.0)
    assert event._select_rarer_event(one, p, q) == (one if rarer else one.complement)
    all_of = ThresholdEvent(True, -np.inf, 0.0)
    assert event._select_rarer_event(all_of, p, q) == all_of


def test_rates_are_of_their_own_sides():
    on_p, on_q = np.arange(50.0) + 10, np.arange(40.0)
    positive, negative = event.error_rates(on_p, on_q)
    for false, missed in zip(positive, negative, strict=True):
        at = sorted(on_q)[40 - round(false * 40)]
        assert missed == pytest.approx(np.mean(on_p < at))
        assert false * 40 >= 5 - 1e-9
        assert missed * 50 >= 5 - 1e-9
    assert list(positive) == sorted(positive)
    assert positive[0] == 0.125
    assert min(negative) < 0.13


def test_bounds_of_counts_say_whose_they_are():
    found = event.bound_of_counts(
        Tally((5, 80), (200, 100)), ThresholdEvent(False, 0.0, 0.0), 0.01, 0.05
    )
    assert found.counts == {
        "favoured_hits": 80,
        "favoured_trials": 100,
        "other_hits": 5,
        "other_trials": 200,
    }
    assert found.estimate == pytest.approx(math.log(0.79 / 0.025))
    assert 0 < found.lower < found.estimate


@pytest.mark.parametrize(("p", "q", "above"), [(30, 1, True), (49, 20, False)])
def test_the_event_that_is_chosen_favours_the_side_that_has_more_of_it(p, q, above):
    on_p, on_q = (np.where(np.arange(50) < n, 1.0, -1.0) for n in (p, q))
    found = event.choose_event(on_p, on_q, 0.0)
    assert (found.above, found.threshold) == (above, 0.0 if above else found.threshold)
    assert -1.0 <= found.threshold <= 0.0
    assert found.hits(on_p) == (p if above else 50 - p)
    mirrored = event.choose_event(-on_q, -on_p, 0.0)
    assert mirrored.promised == pytest.approx(found.promised)
    assert found.promised > 0


@pytest.mark.parametrize(("delta", "errors"), [(0.0, 0.0), (0.1, 0.0), (0.1, 6.0)])
def test_a_promise_is_a_root_some_standard_errors_away(delta, errors):
    on_p, on_q = (np.where(np.arange(400) < n, 1.0, 0.0) for n in (300, 60))
    far = max(2 * event.exponent(event._SELECTION), errors**2)
    rates = [(n + far / 2) / (400 + far) for n in (300, 60)]
    spreads = [far * rate * (1 - rate) / (400 + far) for rate in rates]
    low, high = 0.0, (rates[0] - delta) / rates[1]
    for _ in range(80):
        x = (low + high) / 2
        above = (rates[0] - delta - x * rates[1]) ** 2 > spreads[0] + x**2 * spreads[1]
        low, high = (x, high) if above else (low, x)
    found = event.estimate_promised_epsilons(on_p, on_q, [delta, 0.9], errors)
    complement = event._nearly_promised(-on_q, -on_p, np.array([[delta]]), far)[0]
    assert found[0] == pytest.approx(max(0.0, math.log(low), complement))
    assert found[1] == 0.0


@pytest.mark.parametrize("name", ["scores_p", "scores_q"])
@pytest.mark.parametrize("bad", [np.empty(0), np.array([1.0, np.nan])])
def test_a_side_without_scores_is_refused(name, bad):
    given = {"scores_p": np.ones(3), "scores_q": np.ones(3)} | {name: bad}
    with pytest.raises(InvalidArgument, match=name):
        event.event_bound(**given, event=ThresholdEvent(True, 0.0, 0.0), delta=0.0, alpha=0.05)


# Values that repeat


@pytest.mark.parametrize("swapped", [False, True])
def test_what_most_of_one_side_alone_are_is_judged_by_its_own_counts(swapped):
    """Only a value that is most of both sides is judged by what the others do."""
    of_p, of_q, sizes = np.array([60]), np.array([0]), (100, 1_000_000)
    if swapped:
        of_p, of_q, sizes = of_q, of_p, sizes[::-1]
    one = RepeatedValues(np.zeros(1), of_p, of_q, sizes)
    found = one.stand_out()
    assert (found.of_p.tolist(), found.of_q.tolist(), found.sizes) == (
        of_p.tolist(),
        of_q.tolist(),
        sizes,
    )
    # 40 others of 100 and 60 of 150 say nothing, as 60 and 90 do not
    alike = RepeatedValues(np.zeros(1), np.array([60]), np.array([90]), (100, 150))
    assert len(alike.stand_out().values) == 0


@pytest.mark.parametrize("swapped", [False, True])
def test_others_of_one_side_count_only_where_both_sides_are_mostly_one_value(swapped):
    """60 of 100 and 3,100 of 10,000 share one rate of their others' law only by half."""
    of_p, of_q, sizes = np.array([60]), np.array([1600]), (100, 10_000)
    share = 60 / 1660  # by which the value itself does not stand out
    if swapped:
        of_p, of_q, sizes, share = of_q, of_p, sizes[::-1], 1 - share
    one = RepeatedValues(np.zeros(1), of_p, of_q, sizes)
    assert len(one.stand_out(share).values) == 0
    both = RepeatedValues(
        np.zeros(1), *((of_p, np.array([9999])) if not swapped else (np.array([9999]), of_q)), sizes
    )
    assert len(both.stand_out(float(both.of_p[0] / (both.of_p + both.of_q)[0])).values) == 1


def test_a_value_repeats_from_four_on_over_both_sides():
    found = find_repeated_scores(
        np.array([1.0, 1.0, 2.0, 2.0, 2.0]), np.array([1.0, 1.0, 3.0, 9.0])
    )
    assert found.values == pytest.approx([1.0])
    assert (found.of_p.tolist(), found.of_q.tolist(), found.sizes) == ([2], [2], (5, 4))
    assert found.place(np.array([1.0, 2.0, 0.0, 99.0])).tolist() == [0, -1, -1, -1]
    nothing = find_repeated_scores(np.array([1.0, 2.0]), np.array([3.0]))
    assert nothing.place(np.array([1.0])).tolist() == [-1]


# Coins of canaries


@pytest.mark.parametrize(("heads", "n"), [(0, 12), (12, 12), (3, 12), (6, 12), (40, 100)])
def test_balance_is_the_binomial_test_of_both_sides(heads, n):
    flags = np.arange(n) < heads
    tails = binom.cdf(heads, n, 0.5), binom.sf(heads - 1, n, 0.5)
    check = inclusion._check_balance(flags, "fair")
    assert check.statistic == pytest.approx(min(1.0, 2 * min(tails)))
    assert check.passed is (check.statistic >= 1e-4)
    assert inclusion._check_balance(~flags, "fair").statistic == pytest.approx(check.statistic)


@pytest.mark.parametrize("kept", [[5, 5, 5, 5], [0, 10, 0, 10], [10, 10, 10, 10], [3, 8, 6, 4]])
def test_runs_are_tested_for_being_too_even_and_too_uneven(kept):
    included = np.concatenate([np.arange(10) < k for k in kept])
    group = np.repeat(np.arange(4), 10)
    squares = sum((k - 5) ** 2 / 2.5 for k in kept)
    tails = chi2.cdf(squares, 4), chi2.sf(squares, 4)
    found = inclusion._check_run_coins(included, group)
    assert found.statistic == pytest.approx(min(1.0, 2 * min(tails)))
    assert inclusion._check_run_coins(included[:10], group[:10]).statistic == 1.0


def test_drift_and_runs_have_the_moments_of_random_orders():
    coins = np.array([True, False, False, True, True, False])
    excess, variance = inclusion._compute_drift_statistic(coins)
    assert excess == 1 + 4 + 5 - 3 * 7 / 2
    assert variance == 3 * 3 * 7 / 12
    more, spread = inclusion._compute_runs_statistic(coins)
    assert more == 4 - 1 - 2 * 9 / 6
    assert spread == pytest.approx(18 * (18 - 6) / (36 * 5))


def test_equal_scores_beyond_what_their_grid_gives_have_to_have_coins_of_their_own():
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.normal(size=200), 2)
    alike = np.repeat(rng.random(200) < 0.5, 2)
    found = inclusion._check_equal_scores(scores, alike)
    assert found.statistic == pytest.approx(binomtest(198, 198, 0.5, alternative="greater").pvalue)
    assert not found.passed
    own = inclusion._check_equal_scores(scores, rng.random(400) < 0.5)
    assert own.passed
    grid = inclusion._check_equal_scores(np.arange(400) % 20 * 1.0, rng.random(400) < 0.5)
    assert grid.statistic == 1.0
    values = np.array([0.0, 1.0, 3.0, 4.0])
    assert inclusion._ties_by_grid(values) > 1.0
    assert poisson.sf(197, inclusion._ties_by_grid(np.unique(scores))) < 1e-4


def test_levels_are_looked_at_on_either_side():
    scores, included = np.linspace(0, 1, 200), np.arange(200) % 2 == 0
    assert inclusion.no_drift(scores, included)[0] is False
    still = np.where(included, scores, np.arange(200) * 7919 % 200)
    assert inclusion.no_drift(still, included)[0] is False
    assert inclusion.no_drift(still, ~included)[0] is False
    assert inclusion._compute_rank_trend(scores[:29]) == 1.0
    assert inclusion._compute_rank_trend(scores[:30]) == pytest.approx(2 * norm.sf(math.sqrt(29)))


def test_each_side_s_trend_has_half_of_a_false_alarm(monkeypatch):
    for found, steady in (([4e-5, 1.0], False), ([1.0, 4e-5], False), ([6e-5, 6e-5], True)):
        waiting = list(found)
        monkeypatch.setattr(
            inclusion, "_compute_rank_trend", lambda scores, waiting=waiting: waiting.pop(0)
        )
        assert inclusion.no_drift(np.zeros(4), np.arange(4) < 2)[0] is steady


# Independence


def outputs(scores, units, processes=None):
    places = np.asarray(units), np.asarray(units if processes is None else processes)
    return Outputs(np.asarray(scores, dtype=float), *places)


def test_as_many_whole_units_of_every_process_are_compared():
    one = outputs(np.arange(12), np.repeat(np.arange(6), 2), np.repeat([0, 1], 6))
    assert one.first(12) is one
    assert one.first(8).scores.tolist() == [0, 1, 2, 3, 6, 7, 8, 9]
    assert one.first(8).units.tolist() == [0, 0, 1, 1, 3, 3, 4, 4]


def test_joined_outputs_keep_units_and_processes_apart():
    one = outputs([1.0, 2.0], [0, 2], [0, 1])
    found = independence.join_draws([one, one, one])
    assert found.units.tolist() == [0, 2, 3, 5, 6, 8]
    assert found.processes.tolist() == [0, 1, 2, 3, 4, 5]
    assert found.scores.tolist() == [1.0, 2.0] * 3


def test_every_check_has_its_share_of_one_error_probability():
    rng = np.random.default_rng(1)
    units = np.repeat(np.arange(32), 16)
    sides = [outputs(rng.normal(size=512), units, units // 8) for _ in range(2)]
    plain = independence.check_independence(*sides)
    hits = tuple((side.scores > 0).astype(float) for side in sides)
    more = independence.check_independence(*sides, hits)
    assert len(more) == 2 * len(plain) == 46
    for found in (plain, more):
        assert {check.threshold for check in found} == {3e-4 / len(found)}
    assert sum(check.name.startswith("the event") for check in more) == len(plain)


@pytest.mark.parametrize("side", [0, 1])
def test_an_event_is_tested_on_its_own_side_whatever_its_scores_are(side):
    rng = np.random.default_rng(2)
    units = np.repeat(np.arange(64), 16)
    sides = [outputs(rng.normal(size=1024), units, units // 8) for _ in range(2)]
    hits = [rng.integers(2, size=1024).astype(float) for _ in range(2)]
    hits[side] = np.repeat(rng.integers(2, size=64).astype(float), 16)  # one a call
    failed = [
        one.name for one in independence.check_independence(*sides, tuple(hits)) if not one.passed
    ]
    assert failed
    assert all(name.startswith("the event") for name in failed)
    assert all(name.endswith(("dataset", "neighbour")[side]) for name in failed)
    found = independence.check_independence(*sides, (hits[1 - side], hits[1 - side]))
    assert "the event of the two datasets" in [one.name for one in found if not one.passed]


def test_a_crowd_is_as_likely_as_its_group_times_the_groups():
    z = np.zeros(100)
    z[:5] = 1.0
    groups = np.arange(100) // 10
    assert independence.compute_crowding_p_value(z, groups) == pytest.approx(
        10 * binom.sf(4, 10, 0.05)
    )
    assert independence.compute_crowding_p_value(np.zeros(100), groups) == 1.0
    mirrored = independence.compute_crowding_p_value(1 - z, groups)
    assert mirrored == pytest.approx(10 * binom.sf(4, 10, 0.05))


def test_groups_are_joined_until_they_have_enough_and_never_across_larger_ones():
    groups, within = np.arange(12) // 2, np.arange(12) // 6
    assert independence._merge_groups(groups, 4, None).tolist() == [0] * 4 + [1] * 4 + [2] * 4
    found = independence._merge_groups(groups, 4, within)
    assert len(set(found[:6]) & set(found[6:])) == 0
    assert len(set(found)) == 2
    sizes = np.bincount(independence._merge_groups(np.arange(11), 3, None))
    assert min(sizes[sizes > 0]) >= 3


def test_differences_between_groups_are_those_of_their_sums():
    z = np.array([1.0, -1.0, 2.0, -2.0, 0.0])
    between, count = independence._compute_between_groups(z, np.array([0, 0, 3, 3, 3]))
    assert (between, count) == (0.0, 2)
    between, count = independence._compute_between_groups(z, np.array([0, 1, 0, 1, 1]))
    assert (between, count) == (pytest.approx(9 / 2 + 9 / 3), 2)


def test_places_count_within_groups_that_stand_together():
    assert independence._compute_group_positions([5, 5, 2, 2, 2, 5]).tolist() == [0, 1, 0, 1, 2, 0]
    lags = dict(independence._get_lags(np.repeat([0, 1], [10, 3])))
    assert lags == {"and the next ones": 1, "half a call apart": 5}
    assert dict(independence._get_lags(np.zeros(3, dtype=int)))["half a call apart"] == 2


def test_correlations_within_calls_leave_out_pairs_of_two_calls():
    z, units = np.tile([1.0, 1.0, -1.0, -1.0], 1000), np.arange(4000) // 2
    assert independence.compute_serial_correlation_p_value(z, units, 1) == pytest.approx(
        2 * norm.sf(math.sqrt(2000))
    )
    assert independence.compute_serial_correlation_p_value(
        np.roll(z, 1), units, 1
    ) == independence.compute_serial_correlation_p_value(z, units, 1)
    assert independence.compute_serial_correlation_p_value(
        z, np.zeros(4000, dtype=int), 1
    ) == pytest.approx(1.0, abs=0.02)
    assert (
        independence.compute_serial_correlation_p_value(z, np.zeros(4000, dtype=int), 4000) == 1.0
    )
    pairs = [independence._test_correlation(np.ones(n), np.ones(n), 0.5) for n in (399, 400)]
    assert pairs[0] == 1.0
    assert pairs[1] == pytest.approx(2 * norm.sf(20))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_trend_is_seen_within_processes_and_not_between_them(sign):
    order = np.arange(100.0)
    rising = independence.compute_normal_ranks(sign * np.concatenate([order, order]))
    processes = np.repeat([0, 1], 100)
    assert independence.compute_trend_p_value(rising, processes) < 1e-12
    steps = independence.compute_normal_ranks(np.repeat([0.0, 1.0], 100))
    assert independence.compute_trend_p_value(steps, processes) == pytest.approx(1.0)
    assert (
        independence.compute_trend_p_value(
            independence.compute_normal_ranks(order[:99]), np.zeros(99, dtype=int)
        )
        == 1.0
    )


def test_calls_that_repeat_are_as_rare_as_their_values():
    scores = np.concatenate([np.arange(20.0), np.arange(20.0), np.arange(20.0) + 40])
    side = outputs(scores, np.repeat([0, 1, 2], 20))
    alike = (20 * (2 / 60) ** 2) + 20 * (1 / 60) ** 2
    assert independence.compute_repeated_calls_p_value(side) == pytest.approx(
        9 * alike**20, rel=1e-9
    )
    assert (
        independence.compute_repeated_calls_p_value(
            outputs(np.arange(60), np.repeat([0, 1, 2], 20))
        )
        == 1.0
    )
    coins = outputs(np.tile([0.0, 1.0], 3), np.repeat([0, 1, 2], 2))
    assert independence.compute_repeated_calls_p_value(coins) == 1.0


# Checks of a law


def test_moments_are_two_sided():
    normal = np.array([[1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0], [0.1, -0.1, 0.1, -0.1]])
    mean, spread = self_check._moment_p_values(normal)
    assert mean == pytest.approx([2 * norm.sf(2.0), 2 * norm.sf(2.0), 1.0])
    squares = [4.0, 4.0, 0.04]
    expected = [min(1.0, 2 * min(chi2.cdf(s, 4), chi2.sf(s, 4))) for s in squares]
    assert spread == pytest.approx(expected)


def test_the_least_place_is_times_both_tests_of_all_places():
    normal = np.zeros((50, 3, 2))
    normal[:, 1, :] = 1.0
    least, places = self_check._least_along_axes(normal)
    assert places == 5
    found = [self_check._moment_p_values(normal[:, n].ravel()[None]) for n in range(3)]
    found += [self_check._moment_p_values(normal[:, :, n].ravel()[None]) for n in range(2)]
    smallest = min(float(p[0]) for pair in found for p in pair)
    assert least == pytest.approx(min(1.0, 10 * smallest))
    assert self_check._least_along_axes(np.zeros((50, 1))) == (1.0, 1)


def test_the_radius_of_a_mean_is_that_of_maurer_and_pontil():
    values = np.array([0.0, 1.0, 1.0, 0.5])
    log_term = math.log(16 / 1e-7)
    expected = math.sqrt(2 * values.var(ddof=1) * log_term / 4) + 7 * log_term / 9
    assert self_check._compute_bernstein_radius(values) == pytest.approx(expected)
    assert self_check._compute_bernstein_radius(values[:1]) == 1.0


@pytest.mark.parametrize("side", [0, 1])
def test_parts_of_the_overlap_are_compared_one_by_one(side):
    """Losses at 0 count as the neighbour's, and each part alone is enough."""
    p, q = np.full(4000, 1.0), np.full(4000, -1.0)
    p[:1600] = -1.0
    q[:2400] = 1.0  # P(L > 0) = .6 and Q(L > 0) = .6: far from e^-1 of each other
    losses = [p, q]
    found = self_check._check_law_overlap(*losses)
    gaps = abs(0.4 - 0.4 * math.exp(-1)), abs(0.6 * math.exp(-1) - 0.6)
    assert found.statistic == pytest.approx(max(gaps))
    assert not found.passed
    losses[side] = np.full(4000, np.nan)
    assert not self_check._check_law_overlap(*losses).passed
    ties = self_check._check_law_overlap(np.zeros(4000), np.zeros(4000))
    assert (ties.passed, ties.statistic) == (True, 0.0)


# Bets


def test_wealth_is_the_average_over_stakes_of_products_of_factors():
    values, stakes = np.log([2.0, 0.5]), (0.5, 0.25)
    rising = np.mean([(1 + b * 1.0) * (1 - b * 0.5) for b in stakes])
    assert log_wealth_rising(values, 0.0, stakes) == pytest.approx(math.log(rising))
    falling = np.mean([(1 - b * 1.0) * (1 + b * 0.5) for b in stakes])
    assert log_wealth_falling(values, 0.0, stakes) == pytest.approx(math.log(falling))
    moved = log_wealth_rising(values + 3.0, 3.0, stakes)
    assert moved == pytest.approx(math.log(rising))


@pytest.mark.parametrize("ceiling", [math.log(1.5), math.log(2.0), math.log(11.0), math.inf])
def test_stakes_are_planned_for_the_variance_and_stay_within_the_limit(ceiling):
    found = Stakes.planned(4.0, 100, 0.05, ceiling)
    best = math.sqrt(2 * math.log(20) / 100 / 4.0)
    assert found.rise == pytest.approx([0.4 * best, best, 2 * best])
    limit = {math.inf: 0.0}.get(ceiling, min(1.0, 1 / math.expm1(ceiling)))
    assert falling_limit(ceiling) == pytest.approx(limit)
    most = 0.95 * limit
    assert found.fall == pytest.approx([min(one, most) for one in (0.4 * best, best, 2 * best)])
    assert found.floor == (math.inf if ceiling == math.inf else -math.inf)
    small = Stakes.planned(1e-9, 100, 0.05, ceiling)
    assert small.rise == (pytest.approx(0.4), 1.0, 1.0)


def losses_of(loss, tilt=0.0, log_mgf=0.0, bound=math.inf, aim=None):
    loss = np.asarray(loss, dtype=float)
    return TiltedLosses(loss, np.full(len(loss), log_mgf), tilt, bound, aim)


def test_payoffs_are_weighed_back_and_nothing_is_paid_at_epsilon():
    one = losses_of([0.5, 1.0, 3.0], tilt=0.5, log_mgf=0.2)
    found = np.exp(one.log_payoffs(1.0))
    assert found == pytest.approx([0.0, 0.0, math.exp(0.2 - 1.5) * (1 - math.exp(-2))])
    assert one.log_delta(1.0) == pytest.approx(math.log(found.sum() / 3))
    assert one.log_delta(5.0) == -math.inf
    assert one.relative_variance(1.0) == 10.0


@pytest.mark.parametrize(("tilt", "epsilon"), [(0.0, 1.0), (0.5, 2.0), (3.0, 0.1)])
def test_no_payoff_exceeds_the_bound_and_one_nearly_reaches_it(tilt, epsilon):
    one = losses_of(epsilon + np.geomspace(1e-4, 30, 4000), tilt=tilt, log_mgf=0.7, bound=0.7)
    top = one.log_payoffs(epsilon).max()
    assert top <= one.log_payoff_bound(epsilon) <= top + 1e-3
    aim = SimpleNamespace(epsilon=0.3, log_payoff_bound=lambda at: -at)
    assert losses_of([1.0], aim=aim).log_payoff_bound(2.0) == -2.0


def test_floors_are_where_the_pilot_sees_four_times_delta():
    pilot = losses_of(np.linspace(0, 4, 400))
    log_delta = math.log(0.05)
    four = pilot.estimate(log_delta + math.log(4))
    assert exact_loss.epsilon_floor(pilot, 99.0, log_delta) == four < pilot.estimate(log_delta)
    assert exact_loss.epsilon_floor(pilot, four / 2, log_delta) == four / 2
    aim = SimpleNamespace(epsilon=0.3, log_payoff_bound=lambda at: 0.0)
    aimed = losses_of([1.0, 2.0], aim=aim)
    assert exact_loss.epsilon_floor(aimed, 1.0, log_delta) == 0.3
    assert exact_loss.epsilon_floor(aimed, 0.1, log_delta) == 0.1


def test_wealths_of_both_directions_are_half_their_product_and_half_their_mean():
    one, other = math.log(3.0), math.log(0.5)
    expected = math.log(0.5 * 1.5 + 0.5 * 1.75)
    assert exact_loss.combine_log_wealths([one, other]) == pytest.approx(expected)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_ends_are_those_of_the_worse_direction(order):
    """One without an upper end leaves the pair without one; the lower band is the larger."""
    bounded = losses_of(np.full(4000, 1.0), bound=0.0)
    smaller = losses_of(np.full(4000, 0.5), bound=0.0)
    open_ = losses_of(np.full(4000, 0.5))
    log_delta, alpha = math.log(0.05), 0.05
    both = [LossDirection(bounded, bounded), LossDirection(smaller, smaller)]
    alone = exact_loss.upper_end(both[:1], log_delta, alpha)
    assert exact_loss.upper_end([both[n] for n in order], log_delta, alpha) == alone
    without = [both[0], LossDirection(open_, open_)]
    assert exact_loss.upper_end([without[n] for n in order], log_delta, alpha) is None
    assert exact_loss.delta_upper([without[n] for n in order], 0.1, alpha) is None
    lower = [exact_loss.delta_lower([one], 0.1, alpha / 2) for one in both]
    found = exact_loss.delta_lower([both[n] for n in order], 0.1, alpha)
    assert found == max(lower) > min(lower)
    upper = [exact_loss.delta_upper([one], 0.1, alpha) for one in both]
    assert exact_loss.delta_upper([both[n] for n in order], 0.1, alpha) == max(upper)
    top = exact_loss.lower_end([both[n] for n in order], -math.inf, alpha)
    assert top == 1.0


def test_a_loss_below_zero_certifies_nothing_at_delta_zero():
    one = losses_of([-2.0, -1.0])
    assert exact_loss.lower_end([LossDirection(one, one)], -math.inf, 0.05) == 0.0


# Bets on pairs


def test_a_wealth_is_over_with_the_pair_that_reaches_the_goal():
    start = Wealth.start(np.array([3.0, 1.0]), 1, 0.05)
    assert np.exp(start.log_share).tolist() == pytest.approx([0.75, 0.25])
    assert start.log_goal == pytest.approx(math.log(20))
    bets = SimpleNamespace(path=lambda hits, other: np.log(np.array([[[5.0] * 3], [[1.0] * 3]])))
    after, path = start.after(bets, np.ones((2, 3), bool), np.zeros((2, 3), bool))
    totals = [0.75 * 5**k + 0.25 for k in (1, 2, 3)]
    assert np.exp(path[0]).tolist() == pytest.approx(totals)
    assert (after.first_over.tolist(), after.pairs) == ([3], 3)
    assert np.exp(after.log_peak).tolist() == pytest.approx([totals[-1]])
    fallen = SimpleNamespace(path=lambda hits, other: np.full((2, 1, 1), -9.0))
    later, _ = after.after(fallen, np.ones((2, 1), bool), np.zeros((2, 1), bool))
    assert later.first_over.tolist() == [3]
    assert later.log_peak == after.log_peak
    assert lower_bound(later, np.array([0.7])) == 0.7


@pytest.mark.parametrize(
    ("first_over", "ends"),
    [
        ([-1, -1], [4]),
        ([10, 3], [4]),  # fell before these pairs
        ([11, 14], [1, 4]),
        ([13, 11], [1, 3, 4]),
        ([12, 12], [2, 4]),
    ],
)
def test_what_was_counted_ends_a_part_where_a_claim_fell(first_over, ends):
    """After ten pairs, four more: score above 0 are hits."""
    on_p = np.array([[1.0, -1.0, 1.0, 1.0]])
    on_q = np.array([[-1.0, 1.0, 1.0, -1.0]])
    chosen = SimpleNamespace(hits=lambda scores: scores > 0, rate="rate", other_rate="other")
    game = SimpleNamespace(chosen=chosen, wealth=SimpleNamespace(pairs=10))
    after = SimpleNamespace(first_over=np.array(first_over))
    parts = list(BettingGame.bet_counts(game, on_p, on_q, after))
    bounds = [0, *ends]
    assert [one.pairs for one in parts] == np.diff(bounds).tolist()
    favoured = np.array([[1, 0, 1, 1], [1, 0, 0, 1]])  # the dataset's, and the neighbour's below
    other = np.array([[0, 1, 1, 0], [0, 1, 0, 0]])
    for one, start, stop in zip(parts, bounds, ends, strict=False):
        assert (one.rate, one.other_rate) == ("rate", "other")
        assert one.hits.tolist() == favoured[:, start:stop].sum(axis=1).tolist()
        assert one.other_hits.tolist() == other[:, start:stop].sum(axis=1).tolist()


def test_most_of_bets_is_where_all_pairs_tell():
    for pairs, delta, alpha in ((40, 0.0, 0.05), (300, 0.01, 1e-6)):
        cap = most_of_bets(pairs, delta, alpha)
        rate = (math.exp(cap) + delta) / (1 + math.exp(cap))
        assert rate ** (2 * pairs) == pytest.approx(alpha)
    assert most_of_bets(0, 0.0, 0.05) == most_of_bets(2, 0.0, 0.05) == 0.0


@pytest.mark.parametrize("delta", [0.0, 0.1])
def test_bets_on_randomised_response_are_likelihood_ratios(delta):
    """Guessed rates beyond the claim: the factors are p1/p0 and so on, less the claim's gain."""
    epsilon = math.log(2.0)
    p0 = (2 + delta) / 3
    rate, other = np.array([0.9]), np.array([0.1])
    bets = fair_bets(rate, other, np.array([epsilon]), delta, 1.0)
    expected = [0.9 / p0, 0.1 / (1 - p0), 0.1 / (1 - p0), 0.9 / p0]
    found = [bets.hit, bets.miss, bets.other_hit, bets.other_miss]
    assert np.exp([float(one[0, 0]) for one in found]) == pytest.approx(expected, rel=1e-6)


def test_thresholds_count_scores_that_reach_them_on_their_own_side():
    favoured, other = np.array([2.0, 3.0, 3.0]), np.array([0.0, 2.0, 1.0])
    found = Tallies.of(favoured, other)
    for threshold, hits, others in zip(found.thresholds, found.hits, found.other_hits, strict=True):
        assert hits == (favoured >= threshold).sum()
        assert others == (other >= threshold).sum()
    more = found.with_more(favoured, favoured)
    assert more.pairs == 6
    assert (more.hits == 2 * found.hits).all()
    p, q = found._cautious()
    for seen, cautious, sign in ((found.hits, p, -1), (found.other_hits, q, 1)):
        rate = (seen + 0.5) / 4
        expected = np.clip(rate + sign * np.sqrt(rate * (1 - rate) / 3), 0, 1)
        assert cautious[..., 0] == pytest.approx(expected)
    high, low = both_directions(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    assert high.tolist() == [[1.0, 2.0], [-3.0, -4.0]]
    assert low.tolist() == [[3.0, 4.0], [-1.0, -2.0]]


# Divergences


def bet_of(order=2.0, ratios=(-0.5, 0.5), slope=2.0, centre=1.0, stake=10.0, trials=(100, 200)):
    return RenyiBet(order, np.array(ratios), slope, centre, stake, trials)


def test_wealth_of_bins_is_a_product_over_outputs():
    bet, favoured, other = bet_of(), np.array([[30.0, 70.0]]), np.array([[150.0, 50.0]])
    up = [1 + 10 / 100 * (2 * math.exp(g) - 1 - 0.1) for g in (-0.5, 0.5)]
    down = [1 - 10 / 200 * (math.exp(2 * g) - 1) for g in (-0.5, 0.5)]
    expected = 30 * math.log(up[0]) + 70 * math.log(up[1])
    expected += 150 * math.log(down[0]) + 50 * math.log(down[1])
    assert bet.log_wealths(0.1, favoured, other) == pytest.approx([expected])
    ruinous = bet_of(stake=10_000.0)
    assert ruinous.log_wealths(0.1, favoured, other).tolist() == [-math.inf]


@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_the_least_divergence_of_an_excess_is_a_minimum_over_means(order):
    bet, excess = bet_of(order=order, slope=2.5), 0.3
    r = order / (order - 1)
    costs = np.geomspace(1e-3, 1e3, 400_001)
    gains = (excess + costs) / 2.5
    least = (r * np.log(gains) - np.log(costs)).min()
    assert bet.divergence(excess) == pytest.approx(float(least), abs=1e-6)


def test_a_bound_on_a_divergence_is_where_the_wealth_is_one_over_alpha():
    bet, favoured, other = bet_of(), np.array([[5.0, 95.0]]), np.array([[190.0, 10.0]])
    found = bet.lower(favoured, other, 0.05)
    assert found > 0
    low, high = 0.0, 9.0
    for _ in range(60):
        middle = (low + high) / 2
        reached = bet.log_wealths(middle, favoured, other)[0] >= math.log(20)
        low, high = (middle, high) if reached else (low, middle)
    assert found == pytest.approx(bet.divergence(low), rel=1e-6)
    assert bet.lower(favoured, favoured * 2, 0.05) == 0.0
    ever = np.array([[5.0, 95.0], [0.0, 0.0]]), np.array([[190.0, 10.0], [0.0, 500.0]])
    assert bet.lower(*ever, 0.05) == pytest.approx(found)
    with pytest.raises(InvalidArgument, match="other"):
        bet.lower(favoured, np.zeros(3), 0.05)


def test_a_promise_bears_a_dearer_other_side():
    bet, rates, sizes = bet_of(), (np.array([0.05, 0.95]), np.array([0.95, 0.05])), (100, 200)
    more = 1 + 3 * math.sqrt(190 * math.exp(-1.0) ** 2 + 10 * math.exp(1.0) ** 2)
    expected = bet.about(np.array([5.0, 95.0]), np.array([190.0, 10.0 + more]), 0.05)
    assert divergence.estimate_bet_bound(bet, rates, sizes, 0.05) == pytest.approx(expected)
    assert 0 < expected < bet.about(np.array([5.0, 95.0]), np.array([190.0, 11.0]), 0.05)


def test_bins_hold_scores_from_their_threshold_on():
    bins = Bins(np.array([0.0, 1.0]))
    assert bins.counts(np.array([-1.0, 0.0, 0.5, 1.0, 9.0])).tolist() == [1.0, 2.0, 2.0]
    assert len(bins) == 3
    assert Bins.of(np.array([2.0, 2.0]), np.array([2.0])).thresholds.tolist() == []


def test_sides_of_a_divergence():
    assert bet_choice._get_favoured_order(True) == (0, 1)
    assert bet_choice._get_favoured_order(False) == (1, 0)
    counts = [np.array([3.0, 1.0]), np.array([0.0, 4.0])]
    rates = bet_choice._estimate_bin_rates(counts)
    assert rates[0] == pytest.approx([3.25 / 4.5, 1.25 / 4.5])
    assert rates[1] == pytest.approx([0.25 / 4.5, 4.25 / 4.5])
    ratios = bet_choice._compute_counted_log_ratios(counts, np.zeros(2))
    assert ratios == pytest.approx([math.log(3.5 / 0.5), math.log(1.5 / 4.5)])


def test_the_mu_of_two_rates_has_half_an_output_more_on_each():
    found = gaussian_mu(EventCounts(9, 10, 0, 20))
    assert found == pytest.approx(norm.ppf(9.5 / 11) - norm.ppf(0.5 / 21))
    assert gaussian_mu(EventCounts(1, 10, 9, 10)) == 0.0
