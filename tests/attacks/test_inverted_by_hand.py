"""Attacks on small cases that are worked out by hand: what is found, and what chance would find."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import beta, binom

from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
from dpaudit.attacks.prediction_inversion.inversion import (
    Report,
    SubspaceReport,
    _compute_mean_guess_error,
    _estimate_tuple_rank,
    column_space,
    invert_predictions,
    principal_angle,
    recover_all_tuples,
    relative_error,
    select_nonzero_singular_values,
)
from dpaudit.attacks.prediction_inversion.study import _format_inversion_verdict, _space_verdict
from dpaudit.attacks.reconstruction import study
from dpaudit.attacks.reconstruction.bound import (
    _bound_success_from_approximate,
    candidates_success,
    reconstruction_success,
)
from dpaudit.attacks.stationarity.inversion import (
    Conditions,
    estimate_averaged_direction,
    recover_missing_record,
)
from dpaudit.attacks.stationarity.likelihood import (
    _compute_cost_at_shares,
    _compute_profile_cost,
    into_ball,
    out_of_ball,
)
from dpaudit.attacks.stationarity.measures import (
    Closeness,
    chance_above,
    chance_quantile,
    label_of,
    match_estimates_to_records,
    most_by_chance,
    rarely_more,
)
from dpaudit.attacks.stationarity.runs import (
    Row,
    Setting,
    _estimate_typical_record,
    _split_runs_into_ranges,
)
from dpaudit.attacks.stationarity.study import noiseless_reading
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP

# Closeness, and what a guess gets


@pytest.mark.parametrize("dimension", [2, 3, 10])
@pytest.mark.parametrize("cosine", [-0.9, 0.0, 0.6, 1.0])
def test_a_guess_has_a_larger_cosine_with_the_mass_beyond_it(dimension, cosine):
    """The density of the cosine is proportional to (1 - c^2)^((d - 3) / 2)."""
    half = (dimension - 1) / 2
    law = beta(half, half)
    assert chance_above(cosine, dimension) == pytest.approx(law.sf((1 + cosine) / 2), abs=1e-12)
    if dimension == 3:
        assert chance_above(cosine, 3) == pytest.approx((1 - cosine) / 2)
    level = chance_quantile(0.05, dimension)
    assert chance_above(level, dimension) == pytest.approx(0.05)


@pytest.mark.parametrize(
    ("runs", "probability", "error"),
    [(20, 0.5, 1e-6), (5, 0.5, 0.5), (30, 0.01, 0.3), (4, 1.0, 0.1)],
)
def test_the_count_by_chance_is_the_least_that_is_rarely_exceeded(runs, probability, error):
    found = rarely_more(runs, probability, error)
    assert binom.sf(found, runs, probability) <= error
    assert found == 1 or binom.sf(found - 1, runs, probability) > error
    dimension, cosine = 3, 1 - 2 * probability
    assert most_by_chance(runs, cosine, dimension, error) == found


def test_norm_errors_are_relative_to_the_record_and_labels_are_those_of_both():
    one, other = np.array([0.3, 0.4]), np.array([-0.6, -0.8])
    assert Closeness.of(one, other) == Closeness(cosine=-1.0, norm_error=0.5)
    assert Closeness.of(other, one).norm_error == pytest.approx(1.0)
    assert Closeness.of(one, other, non_negative=True).right_label is False
    assert Closeness.of(one, one, non_negative=True).right_label is True
    assert Closeness.of(np.zeros(2), one).cosine == 0.0
    assert [label_of(np.array(v)) for v in ([1.0, -0.5], [-1.0, 0.5], [0.0, 0.0])] == [1, -1, -1]


def test_estimates_are_matched_by_the_sum_of_cosines():
    records = np.array([[1.0, 0.0], [0.0, 1.0]])
    estimates = np.array([[0.2, 0.9], [0.9, 0.3]])
    found = match_estimates_to_records(estimates, records)
    assert [one.cosine for one in found] == pytest.approx(
        [0.9 / math.hypot(0.2, 0.9), 0.9 / math.hypot(0.9, 0.3)]
    )


# Reconstruction


@pytest.mark.parametrize(
    ("epsilon", "delta", "kappa", "bound"),
    [
        (math.log(2), 0.0, 0.1, 0.2),
        (math.log(2), 0.0, 0.9, 0.95),
        (math.log(2), 0.1, 0.1, 0.3),
        (math.log(2), 0.1, 0.8, 0.95),
        (math.log(2), 0.5, 0.8, 1.0),
        (0.0, 0.0, 0.3, 0.3),
        (3.0, 0.2, 0.0, 0.2),
        (800.0, 0.0, 0.5, 1.0),
    ],
)
def test_a_guess_is_right_as_often_as_both_lines_allow(epsilon, delta, kappa, bound):
    assert _bound_success_from_approximate(epsilon, delta, kappa) == pytest.approx(bound)
    assert reconstruction_success(ApproximateDP(epsilon, delta), kappa) == pytest.approx(bound)
    if not delta:
        assert reconstruction_success(PureDP(epsilon), kappa) == pytest.approx(bound)


@pytest.mark.parametrize("guarantee", [PureDP(1.0), GaussianDP(1.0), ApproximateDP(0.5, 0.1)])
@pytest.mark.parametrize("candidates", [2, 3, 10])
def test_candidates_are_the_best_split_by_trying_all(guarantee, candidates):
    """Picking the fixed record with probability x leaves 1 - x to the others."""
    others = candidates - 1
    splits = np.linspace(0, 1, 1001)
    values = [
        (x + others * reconstruction_success(guarantee, (1 - x) / others)) / candidates
        for x in splits
    ]
    found = candidates_success(guarantee, candidates)
    at_any = reconstruction_success(guarantee, 1 / candidates)
    assert found == pytest.approx(min(1.0, max(values), at_any), rel=2e-4)
    assert found >= min(max(values), at_any) - 1e-12


def guess(claims, candidates=None, runs=100, chance=0.1):
    return study._GuessCase(
        names={}, claims=claims, chance=chance, candidates=candidates, runs=runs, count=None
    )


def test_all_that_is_proved_bounds_a_guess_and_the_least_is_shown():
    claims = (PureDP(2.0), GaussianDP(0.5))
    one, some = guess(claims), guess(claims, candidates=10)
    for prior in (0.01, 0.5):
        assert one.bound(prior) == min(reconstruction_success(each, prior) for each in claims)
    assert one.at_most() == one.bound(0.1)
    assert some.at_most() == min(candidates_success(each, 10) for each in claims)


def test_a_row_has_the_interval_of_its_own_counts_and_share_of_the_error():
    given = SimpleNamespace(delta=1e-3, priors=[0.01, 0.5])
    case = guess((PureDP(2.0), GaussianDP(0.5)), runs=40)
    row = study._make_reconstruction_row(given, case, 10, 0.01)
    assert row["right"] == 0.25
    assert binom.sf(9, 40, row["lower"]) == pytest.approx(0.005)
    assert binom.cdf(10, 40, row["upper"]) == pytest.approx(0.005)
    assert row["proved epsilon"] == min(2.0, GaussianDP(0.5).epsilon(1e-3))
    assert (row["by chance"], row["at most"]) == (0.1, case.bound(0.1))
    assert (row["prior 0.01"], row["prior 0.5"]) == (case.bound(0.01), case.bound(0.5))


def test_the_likeliest_candidate_is_guessed_and_ties_are_broken_evenly(monkeypatch):
    class Names:
        def sample(self, truth, runs, rng):
            return np.full(runs, truth)

    def told(mechanism, candidates, outputs):
        return np.stack([(outputs == one).astype(float) for one in candidates])

    monkeypatch.setattr(study, "_log_likelihoods", told)
    rng = np.random.default_rng(3)
    assert study.right_guesses(Names(), [0, 1, 2], 300, rng) == 300
    monkeypatch.setattr(
        study, "_log_likelihoods", lambda m, c, outputs: np.zeros((3, len(outputs)))
    )
    assert 60 < study.right_guesses(Names(), [0, 1, 2], 300, rng) < 140


# Tuples from predictions

TUPLES = np.array([[1.0, 2.0], [0.0, 3.0], [2.0, 1.0]])


def test_a_system_of_full_rank_gives_the_tuples_and_one_of_less_the_shortest():
    models = np.array([[[1.0], [0.0]], [[1.0], [2.0]]])
    found = invert_predictions(TUPLES @ models, models)
    assert np.allclose(found.tuples, TUPLES)
    assert (found.rank, found.condition) == (2, pytest.approx(np.linalg.cond(models[:, :, 0])))
    one = invert_predictions((TUPLES @ models)[:1], models[:1])
    assert np.allclose(one.tuples, TUPLES * [1.0, 0.0])
    assert (one.rank, one.condition) == (1, 1.0)
    nothing = invert_predictions(np.zeros((1, 3, 1)), np.zeros((1, 2, 1)))
    assert (nothing.rank, nothing.condition, nothing.tuples.any()) == (0, math.inf, False)


def test_two_predictions_a_round_are_two_equations():
    models = np.array([[[1.0, 1.0], [0.0, 2.0]]])
    assert np.allclose(invert_predictions(TUPLES @ models, models).tuples, TUPLES)
    assert column_space(TUPLES @ models).shape == (3, 2)


@pytest.mark.parametrize(
    ("values", "kept"),
    [([2.0, 1.0, 1e-9], 3), ([2.0, 1.0, 1e-11], 2), ([0.0, 0.0], 0), ([1e-300, 1e-311], 1)],
)
def test_singular_values_below_a_share_of_the_largest_are_rounding(values, kept):
    assert select_nonzero_singular_values(np.array(values)).sum() == kept


def test_angles_between_spaces():
    x, y = np.eye(3)[:, :1], np.eye(3)[:, 1:2]
    assert principal_angle(x, x) == 0.0
    assert principal_angle(x, y) == pytest.approx(math.pi / 2)
    assert principal_angle(x, np.eye(3)[:, :2]) == pytest.approx(0.0)
    assert principal_angle(np.eye(3)[:, :2], x) == pytest.approx(0.0)
    turned = np.array([[1.0], [1.0], [0.0]])
    assert principal_angle(np.eye(3)[:, [0, 2]], turned) == pytest.approx(math.pi / 4)
    assert principal_angle(np.zeros((3, 0)), x) == math.pi / 2


@pytest.mark.parametrize("rows", [[0, 3], [-1, 0], [0], [0.0, 1.0], []])
def test_known_tuples_are_of_the_table(rows):
    with pytest.raises(InvalidArgument, match="from 0 to 2"):
        recover_all_tuples(TUPLES @ np.ones((1, 2, 1)), np.array(rows), TUPLES[:2])


def test_errors_are_relative_and_chance_guesses_the_mean():
    assert relative_error(TUPLES * 1.1, TUPLES) == pytest.approx(0.1)
    assert _compute_mean_guess_error(TUPLES) == pytest.approx(
        np.linalg.norm(TUPLES - TUPLES.mean(axis=0)) / np.linalg.norm(TUPLES)
    )
    assert (
        _estimate_tuple_rank(TUPLES),
        _estimate_tuple_rank(TUPLES[:, :1] @ np.ones((1, 2))),
    ) == (2, 1)


def report(**given):
    usual = {"relative_error": 1e-9, "rank": 2, "needed": 2, "condition": 1.0, "control": 1.0}
    return Report(**{**usual, "chance": 0.5, **given})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "hides nothing of the tuples."),
        ({"rank": 3}, "hides nothing of the tuples."),
        ({"rank": 1}, "the tuples are not determined (error 1e-09)."),
        ({"relative_error": 2e-3}, "rounding leaves an error of 0.002."),
        ({"relative_error": 1e-3}, "hides nothing of the tuples."),
    ],
)
def test_tuples_are_said_to_be_found_only_where_they_are(given, said):
    assert _format_inversion_verdict("models", report(**given)).endswith(said)


@pytest.mark.parametrize(
    ("rank", "angle", "said"),
    [
        (3, 1e-9, "all linear relations between tuples."),
        (2, 1e-9, "a part of its column space, no more."),
        (3, 0.01, "is off by up to 0.01 radians."),
    ],
)
def test_a_column_space_is_said_to_be_seen_only_where_it_is(rank, angle, said):
    one = SubspaceReport(rank=rank, true_rank=3, angle=angle, chance=1.0)
    assert _space_verdict(one).endswith(said)


# Stationarity


def conditions(record, models, *, shares=(0.5, 0.25), rates=None):
    """Return conditions that a record of this node explains without noise."""
    models, record = np.asarray(models), np.asarray(record)
    known = np.array([[0.3, -0.1, 0.2], [0.1, 0.4, -0.2]])[: len(models), : len(record)]
    slopes = LOGISTIC.margin.slope(models @ record)
    pulls = 0.5 * slopes[:, None] * record
    given = np.asarray(shares)[: len(models)]
    return Conditions(
        models=models, moves=given[:, None] * (known + pulls), known=known,
        others=np.zeros((0, len(record))), weight=0.5, ridge=0.0, loss=LOGISTIC, rates=rates,
        shares=given, largest=np.ones(len(models)),
    )  # fmt: skip


RECORD = np.array([0.3, -0.5, 0.4])
MODELS = np.array([[0.2, 0.1, -0.3], [-0.4, 0.2, 0.1]])


def test_a_record_is_recovered_with_and_without_the_penalties():
    one = conditions(RECORD, MODELS)
    found = recover_missing_record(one)
    assert np.allclose(found.record, RECORD)
    assert found.iterations == 1
    hidden = recover_missing_record(one.private())
    assert np.allclose(hidden.record, RECORD)
    assert hidden.iterations == 2
    assert np.allclose(estimate_averaged_direction(one), RECORD / np.linalg.norm(RECORD))


def test_the_second_iteration_tells_two_norms_apart():
    """Along the record the margin is large, where the slope falls faster than the norm grows."""
    record = 0.9 * np.array([1.0, 0.0, 0.0])
    models = np.array([[2.5, 0.0, 0.0], [-1.0, 0.2, 0.0]])
    found = recover_missing_record(conditions(record, models))
    assert (len(found.roots), found.iterations) == (2, 2)
    assert np.allclose(found.record, record)
    with pytest.raises(MechanismError, match="a second one is needed"):
        recover_missing_record(conditions(record, models[:1]))


def test_with_noise_nothing_is_exact():
    with pytest.raises(InvalidArgument, match="noise_rate"):
        recover_missing_record(conditions(RECORD, MODELS, rates=np.ones(2)))
    with pytest.raises(InvalidArgument, match="private"):
        estimate_averaged_direction(conditions(RECORD, MODELS).private())


def test_first_iterations_are_cut_everywhere():
    one = conditions(RECORD, MODELS, rates=np.array([1.0, 2.0])).first(1)
    assert [len(part) for part in (one.models, one.moves, one.known, one.rates, one.shares,
                                   one.largest)] == [1] * 6  # fmt: skip
    for iterations in (0, 3):
        with pytest.raises(InvalidArgument, match="iterations"):
            conditions(RECORD, MODELS).first(iterations)


def test_the_cost_is_the_rate_times_the_noise_and_the_profile_is_at_its_best_share():
    rates, brackets = np.array([2.0, 3.0]), np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
    one = conditions(RECORD, MODELS, rates=rates)
    one = Conditions(**{**vars(one), "moves": np.array([[0.5, 1.0, 0.0], [0.0, 6.0, 0.5]])})
    value, towards = _compute_cost_at_shares(one, rates, np.array([0.5, 1.0]), brackets)
    assert value == pytest.approx(2 * 1.0 + 3 * math.hypot(4.0, 0.5))
    step = 1e-6
    for row, column in ((0, 1), (1, 1), (1, 2)):
        moved = brackets.copy()
        moved[row, column] += step
        change = _compute_cost_at_shares(one, rates, np.array([0.5, 1.0]), moved)[0] - value
        assert change / step == pytest.approx(towards[row, column], abs=1e-4)
    # The best shares are .5, and 3 cut to the largest, 1.
    assert _compute_profile_cost(one, rates, brackets)[0] == pytest.approx(value)


def test_records_stay_in_the_ball():
    free = np.array([[0.0, 0.0], [3.0, 4.0], [1e-3, 0.0]])
    found = into_ball(free)
    assert np.linalg.norm(found, axis=1) == pytest.approx([0.0, math.tanh(5.0), math.tanh(1e-3)])
    slope = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 1.0]])
    back = out_of_ball(free, slope)
    step = 1e-6
    for row in (1, 2):
        for column in (0, 1):
            moved = free.copy()
            moved[row, column] += step
            change = ((into_ball(moved) - found) * slope).sum() / step
            assert change == pytest.approx(back[row, column], abs=1e-4)


def test_what_the_known_records_say_of_a_missing_one_is_their_mean_direction_and_norm():
    others = np.array([[3.0, 0.0], [0.0, 1.0]])
    assert _estimate_typical_record(others) == pytest.approx(
        2.0 * np.array([3.0, 1.0]) / math.hypot(3.0, 1.0)
    )
    assert _split_runs_into_ranges(23) == [(0, 10), (10, 20), (20, 23)]
    assert _split_runs_into_ranges(10) == [(0, 10)]
    row = Row(noise_rate=1.0, iterations=3, estimator="x", cosines=(0.1, 0.9, 0.3), norm_error=0.0)
    assert row.median == 0.3


@pytest.mark.parametrize("norm", [0.0, -0.5, 1.5])
def test_a_norm_is_above_0_and_at_most_1(norm):
    with pytest.raises(InvalidArgument, match="norm"):
        Setting(norm=norm)
    assert Setting(norm=1.0, spread=1.0, growth=1.0).norm == 1.0
    for name in ("spread", "growth"):
        with pytest.raises(InvalidArgument, match=name):
            Setting(**{name: 0.99})
    with pytest.raises(InvalidArgument, match="missing"):
        Setting(records=5, missing=5)


def test_only_what_is_recovered_in_every_run_is_said_to_be():
    rows = [
        {"T": 1, "penalties": "known", "recovered": 0.99},
        {"T": 2, "penalties": "known", "recovered": 1.0},
        {"T": 2, "penalties": "private", "recovered": 1.0, "undecided": 0.0},
    ]
    first, *rest = noiseless_reading(rows, Setting())
    assert "from T = 2 with known penalties; T = 2 with private penalties." in first
    assert rest == []
    assert "in every run" in noiseless_reading(rows[:1], Setting())[0]
    told = noiseless_reading([{**rows[0], "undecided": 0.5}], Setting(participates=False))
    assert [one.partition(":")[0] for one in told[1:]] == ["Undecided", "The record takes no part"]
