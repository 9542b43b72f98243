"""The studies' small parts by hand: limits of what is asked, rows, curves and sentences."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.attacks.canaries import study as canaries
from dpaudit.attacks.canaries.audit import CanaryAudit
from dpaudit.attacks.distinguishers import message_support
from dpaudit.attacks.membership import study as membership
from dpaudit.attacks.membership.inference import MembershipInference, Operating, Rate
from dpaudit.attacks.prediction_inversion import study as inversion
from dpaudit.attacks.prediction_inversion.inversion import Report, SubspaceReport
from dpaudit.attacks.reconstruction import study as reconstruction
from dpaudit.attacks.stationarity import study as stationarity
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import ApproximateDP, PureDP
from dpaudit.neighbours import REPLACE_COLUMN, Pair
from tests.attacks.parameters import make_parameters

# What may be asked: both ends, and what is just beyond them


@pytest.mark.parametrize(
    ("module", "name", "inside", "outside"),
    [
        (stationarity, "noise_rates", [[1e-6, 1e12]], [[0.9e-6], [1.1e12], [1.0, 0.0], [math.nan]]),
        (stationarity, "shorter", [[1.0, 1e-9], []], [[0.0], [0.5, 1.01]]),
        (stationarity, "iterations", [[1]], [[0], [3, -1]]),
        (reconstruction, "priors", [[0.0, 1.0], []], [[-1e-9], [0.5, 1.01]]),
    ],
)
def test_numbers_from_one_end_to_the_other_are_taken(module, name, inside, outside):
    for numbers in inside:
        module._require(make_parameters(module, **{name: numbers}))
    for numbers in outside:
        with pytest.raises(InvalidArgument, match=rf"^{name}: "):
            module._require(make_parameters(module, **{name: numbers}))


def test_one_amount_of_noise_is_enough_for_a_reconstruction():
    reconstruction._require(reconstruction.ReconstructionParameters(epsilons=[]))
    reconstruction._require(reconstruction.ReconstructionParameters(noise_rates=[]))
    with pytest.raises(InvalidArgument, match=r"^epsilons: "):
        reconstruction._require(
            reconstruction.ReconstructionParameters(epsilons=[], noise_rates=[])
        )


def test_real_records_have_norms_of_their_own():
    stationarity._require(stationarity.StationarityParameters(norm=0.5))
    stationarity._require(stationarity.StationarityParameters(data="adult"))
    with pytest.raises(InvalidArgument, match=r"^norm: "):
        stationarity._require(stationarity.StationarityParameters(data="adult", norm=0.5))


def test_canaries_are_at_most_as_many_as_records():
    for epsilons in ([1e-6, 1e6], [1.0]):
        canaries._require(canaries.CanaryParameters(canaries=30, epsilons=epsilons), 30)
    for epsilons in ([0.9e-6], [1.0, 1.1e6]):
        with pytest.raises(InvalidArgument, match=r"^epsilons: "):
            canaries._require(canaries.CanaryParameters(canaries=30, epsilons=epsilons), 30)
    with pytest.raises(InvalidArgument, match=r"^canaries: "):
        canaries._require(canaries.CanaryParameters(canaries=31), 30)


def test_fdml_has_scales_and_the_others_have_epsilons():
    given = {"epsilons": [1e-6, 1e6], "start_scales": [0.0, 1e100]}
    for algorithm, axis in (
        ("fdml", membership._SCALE),
        ("multi-step", membership._PROVED),
        ("tables", membership._PROVED),
    ):
        one = membership.MembershipParameters(algorithm=algorithm, **given)
        assert membership._choose_noise_axis(one) == axis
        name = "start_scales" if algorithm == "fdml" else "epsilons"
        assert membership._list_noise_amounts(one) == given[name]
    for scales in ([-0.1], [0.5, 1.1e100]):
        with pytest.raises(InvalidArgument, match=r"^start_scales: "):
            membership._list_noise_amounts(
                membership.MembershipParameters(algorithm="fdml", start_scales=scales)
            )
    for epsilons in ([0.9e-6], [1.0, 1.1e6]):
        with pytest.raises(InvalidArgument, match=r"^epsilons: "):
            membership._list_noise_amounts(membership.MembershipParameters(epsilons=epsilons))


@pytest.mark.parametrize("parties", [1, 2, 3, 5])
def test_columns_are_dealt_out_evenly_in_order(parties):
    data = Dataset(np.eye(5), np.ones(5))
    found = message_support._split_feature_blocks(data, parties)
    assert found == {1: (5,), 2: (3, 2), 3: (2, 2, 1), 5: (1,) * 5}[parties]
    with pytest.raises(InvalidArgument, match=r"^parties: "):
        message_support._split_feature_blocks(data, 6)


# Rows


def test_the_row_of_a_run_with_canaries():
    found = CanaryAudit(
        lower=1.5, if_gaussian=2.5, claimed=4.0, p_value=0.25, guesses=30, correct=20,
        canaries=50, delta=1e-5, confidence=0.95, seconds=1.0,
    )  # fmt: skip
    assert canaries._make_canary_row(found) == {
        "proved": 4.0, "certified": 1.5, "if Gaussian": 2.5, "guesses": 30, "right": 20,
        "p-value of the claim": 0.25,
    }  # fmt: skip


def rate(hits, lower, upper):
    return Rate(hits=hits, trials=100, lower=lower, upper=upper)


def test_the_row_of_membership():
    best, rare = (
        Operating(threshold=1.0, true_positive=one, false_positive=other, power_bound=bound)
        for one, other, bound in (
            (rate(60, 0.5, 0.7), rate(20, 0.125, 0.25), 0.9),
            (rate(30, 0.25, 0.375), rate(5, 0.0, 0.125), 0.8),
        )
    )
    found = MembershipInference(
        best=best, rare=rare, target_rate=0.05, advantage_bound=0.75, confidence=0.95
    )
    assert membership._make_membership_row("proved", 4.0, found) == pytest.approx(
        {
            "proved": 4.0, "advantage": 0.4, "lower": 0.25, "upper": 0.575, "at most": 0.75,
            "FPR": 0.05, "TPR": 0.3, "TPR lower": 0.25, "TPR upper": 0.375, "TPR at most": 0.8,
        }
    )  # fmt: skip


REPORT = Report(relative_error=0.25, rank=3, needed=4, condition=9.0, control=1.5, chance=0.5)
SPACE = SubspaceReport(rank=3, true_rank=4, angle=0.75, chance=1.25)


def test_rows_of_inversions():
    assert list(inversion._make_inversion_row("models", "error of x", REPORT).values()) == [
        "models", "error of x", 0.25, 1.5, 3, 4, 9.0,
    ]  # fmt: skip
    assert list(inversion._angle_row(SPACE).values())[2:] == [0.75, 1.25, 3, 4, None]


def test_the_row_of_a_guess_has_the_least_of_all_claims():
    claims = (PureDP(3.0), ApproximateDP(1.0, 1e-5))
    case = reconstruction._GuessCase(
        names={"guess": "x"}, claims=claims, chance=0.25, candidates=4, runs=20, count=lambda rng: 5
    )
    given = reconstruction.ReconstructionParameters(priors=[0.5, 0.01], delta=1e-5)
    row = reconstruction._make_reconstruction_row(given, case, 5, 0.05)
    assert (row["guess"], row["right"], row["by chance"], row["proved epsilon"]) == (
        "x", 0.25, 0.25, 1.0,
    )  # fmt: skip
    assert row["lower"] < 0.25 < row["upper"]
    each = [reconstruction.candidates_success(claim, 4) for claim in claims]
    assert row["at most"] == min(each)
    for prior in (0.5, 0.01):
        bounds = [reconstruction.reconstruction_success(claim, prior) for claim in claims]
        assert row[f"prior {prior:g}"] == min(bounds)
    alone = reconstruction._GuessCase(
        names={}, claims=claims, chance=0.01, candidates=None, runs=20, count=lambda rng: 5
    )
    assert alone.at_most() == alone.bound(0.01) == row["prior 0.01"]


def row_of(estimator, cosines, rate=1.0, iterations=5, **more):
    return stationarity.Row(
        noise_rate=rate, iterations=iterations, estimator=estimator, cosines=cosines,
        **{"norm_error": 0.5} | more,
    )  # fmt: skip


def test_lines_of_estimators_are_one_a_setting():
    rows = [
        row_of(stationarity.AVERAGED, (0.5, 0.75, 1.0)),
        row_of(stationarity.KNOWN, (0.25,), norm_error=0.125),
        row_of(stationarity.MEAN, (0.1,), norm_error=0.2),
        row_of(stationarity.UNIFORM, (0.0,), iterations=7, right_labels=0.5),
    ]
    first, second = stationarity._build_stationarity_rows(rows, 1.0)
    assert first == {
        "alpha": 1.0, "T": 5, "norm": 1.0, "averaged": 0.75, "likelihood": 0.25, "known mean": 0.1,
        "norm error, likelihood": 0.125,
    }  # fmt: skip
    assert second == {
        "alpha": 1.0, "T": 7, "norm": 1.0, "guess": 0.0, "norm error, guess": 0.5,
        "label, guess": 0.5,
    }  # fmt: skip
    real, _ = stationarity._build_stationarity_rows(rows, None)
    assert "norm" not in real
    assert real["norm error, known mean"] == 0.2
    assert "norm error, averaged" not in real


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({}, ["AVERAGED", "KNOWN", "INTEGRATED", "MEAN", "UNIFORM"]),
        ({"missing": 2}, ["KNOWN", "INTEGRATED", "MEAN", "UNIFORM"]),
        ({"algorithm": "DVP"}, ["AVERAGED", "KNOWN", "MEAN", "UNIFORM"]),
    ],
)
def test_estimators_that_make_sense(changes, names):
    found = stationarity._choose_estimators(stationarity.StationarityParameters(**changes))
    assert found == tuple(getattr(stationarity, name) for name in names)


def test_settings_of_stationarity():
    given = stationarity.StationarityParameters(
        nodes=4, records=9, dimension=7, loss_weight=3.0, missing=2
    )
    found = stationarity._make_attack_setting(given, None, 0.5)
    assert (found.nodes, found.records, found.dimension, found.missing) == (4, 9, 7, 2)
    assert (found.loss_weight, found.norm, found.participates) == (3.0, 0.5, True)
    assert min(found.spread, found.growth) > 1
    still = stationarity.StationarityParameters(algorithm="DVP", record="does not")
    found = stationarity._make_attack_setting(still, Dataset(np.ones((3, 6)), np.ones(3)), 1.0)
    assert (found.dimension, found.participates, found.spread, found.growth) == (6, False, 1.0, 1.0)


def test_errors_and_labels_of_what_is_recovered():
    wanted = [np.array([3.0, 4.0]), np.array([-1.0, -1.0])]
    assert stationarity._compute_relative_error(np.array([3.0, 3.0]), wanted[0]) == pytest.approx(
        0.2
    )
    assert stationarity._compute_relative_error(None, wanted[0]) == math.inf
    right = stationarity._labels_right([np.array([1.0, 1.0]), None], wanted)
    assert right == 0.5
    assert stationarity._labels_right([-wanted[0], wanted[1]], wanted) == 0.5


# Curves


def curves_of(panel):
    return {one.label: (list(one.x), list(one.y)) for one in panel.curves}


def test_curves_of_canaries_and_of_membership():
    rows = [
        {"proved": 1.0, "certified": 0.5, "if Gaussian": 0.75},
        {"proved": 4.0, "certified": 1.5, "if Gaussian": 3.0},
    ]
    assert curves_of(canaries._make_canary_panel(rows)) == {
        "proved": ([1.0, 4.0], [1.0, 4.0]),
        "certified": ([1.0, 4.0], [0.5, 1.5]),
        "if Gaussian": ([1.0, 4.0], [0.75, 3.0]),
    }
    rows = [{"noise": 2.0, "lower": 0.1, "upper": 0.3, "advantage": 0.2, "at most": 0.5}]
    panel = membership._make_membership_panel("noise", rows)
    assert curves_of(panel) == {
        "found": ([2.0], [0.2]), "at most": ([2.0], [0.5]), "chance": ([2.0], [0.0]),
    }  # fmt: skip
    assert (list(panel.curves[0].low), list(panel.curves[0].high)) == ([0.1], [0.3])
    assert panel.x_label == "noise"


def test_curves_of_guesses_are_one_panel_a_kind():
    rows = [
        {
            "algorithm": name, "guess": "g", "proved epsilon": float(at), "lower": 0.1,
            "upper": 0.4, "right": 0.3, "at most": 0.5, "by chance": 0.2,
        }
        for at, name in enumerate(["a", "b", "a"])
    ]  # fmt: skip
    first, second = reconstruction._make_reconstruction_panels(rows)
    assert (first.title, second.title) == ("a, g", "b, g")
    assert curves_of(first) == {
        "right": ([0.0, 2.0], [0.3, 0.3]),
        "at most": ([0.0, 2.0], [0.5, 0.5]),
        "by chance": ([0.0, 2.0], [0.2, 0.2]),
    }
    assert (list(first.curves[0].low), list(first.curves[0].high)) == ([0.1] * 2, [0.4] * 2)
    assert first.log_x


def test_curves_of_messages_and_of_rounds():
    rows = [
        {"noise on": noise, "sigma": sigma, "certified epsilon": sigma + (noise == "message")}
        for noise in ("message", "whitened")
        for sigma in (1.0, 10.0)
    ]
    found = message_support._make_message_panel(["whitened", "message"], rows)
    assert found.log_x
    assert curves_of(found) == {
        "whitened": ([1.0, 10.0], [1.0, 10.0]), "message": ([1.0, 10.0], [2.0, 11.0]),
    }  # fmt: skip
    found = inversion._make_inversion_panel(np.array([0.5, 0.25]), np.array([1.0, 2.0]), 0.75)
    assert found.log_y
    assert curves_of(found) == {
        "inverted": ([1, 2], [0.5, 0.25]), "with other models": ([1, 2], [1.0, 2.0]),
        "every column's mean": ([1, 2], [0.75, 0.75]),
    }  # fmt: skip


# Sentences that depend on numbers


@pytest.mark.parametrize(
    ("certified", "said"), [((0.0, 1.0), 1), ((1.0, 0.5), 1), ((0.5, 1.0), 0), ((1.0, 0.0), 2)]
)
def test_remarks_on_runs_with_canaries(certified, said):
    rows = [{"proved": p, "certified": c} for p, c in zip((1.0, 4.0), certified, strict=True)]
    for order in (rows, rows[::-1]):
        assert len(canaries._format_canary_remarks(canaries.CanaryParameters(), order)) == said


def test_the_best_line_is_that_of_the_largest_median():
    rows = [row_of(stationarity.KNOWN, (0.5,)), row_of(stationarity.UNIFORM, (0.75,), 3.0, 7)]
    (words,) = [stationarity._format_best_estimator(rows)]
    assert "guess, median cosine 0.750 at alpha = 3 after 7 iterations" in words


def test_the_norm_is_told_at_the_largest_alpha_and_most_iterations():
    given = stationarity.StationarityParameters(noise_rates=[1.0, 3.0], iterations=[9, 4])
    lines = [
        {"alpha": a, "T": t, "norm": n, "norm error, likelihood": n / 2, "norm error, guess": n / 4}
        for a, t, n in ((3.0, 9, 0.5), (1.0, 9, 0.6), (3.0, 4, 0.7), (3.0, 9, 1.0))
    ]
    first, _ = stationarity._format_norm_findings(given, lines)
    assert "alpha = 3 and T = 9, for a norm of 0.5: 0.25, 0.12 by a guess; 1: 0.50, 0.25" in first


def test_what_is_certified_of_messages_has_a_largest_value():
    """All n of both sides told right: their error is alpha / 2 each, ``(alpha)^(1 / 2n)``."""
    given = message_support.MessageSupportParameters(messages=10, confidence=0.75)
    rows = [
        {"noise on": "parameter", "sigma": 2.0, "told right": 1.0},
        {"noise on": "whitened", "sigma": 3.0, "told right": 0.75},
        {"noise on": "message", "sigma": 4.0, "told right": 0.5},
    ]
    told, missed = message_support._format_distinguished_rows(given, rows)
    most = -math.log(4 ** (1 / 20) - 1)
    assert f"{most:.3g} at the most" in told
    assert "(parameter at sigma = 2)" in told
    assert "(whitened at sigma = 3)" in missed
    assert "0.75 are told right" in missed
    assert message_support._format_distinguished_rows(given, rows[2:]) == []


def test_the_reading_says_which_column_and_how_far():
    one, other = Dataset([[0.6, 0.25]], [1.0]), Dataset([[0.6, -0.25]], [1.0])
    pair = Pair(one, other, REPLACE_COLUMN)
    first, *_ = message_support._format_message_reading(
        message_support.MessageSupportParameters(), pair, []
    )
    assert "column 1 with its sign flipped, ||D - D'||_F = 0.5;" in first


@pytest.mark.parametrize(
    ("rank", "error", "said"),
    [(3, 0.25, "not determined (error 0.25)"), (4, 0.25, "rounding leaves an error of 0.25"),
     (4, 1e-12, "hides nothing"), (5, 1e-12, "hides nothing")],
)  # fmt: skip
def test_verdicts_on_inversions(rank, error, said):
    one = Report(relative_error=error, rank=rank, needed=4, condition=9.0, control=1.5, chance=0.5)
    assert said in inversion._format_inversion_verdict("models", one)


@pytest.mark.parametrize(
    ("rank", "angle", "said"),
    [(4, 0.75, "off by up to 0.75 radians"), (3, 1e-12, "a part of its column space"),
     (4, 1e-12, "all linear relations")],
)  # fmt: skip
def test_verdicts_on_spaces(rank, angle, said):
    one = SubspaceReport(rank=rank, true_rank=4, angle=angle, chance=1.25)
    assert said in inversion._space_verdict(one)


def test_messages_outside_are_the_medians_of_the_side_where_they_are_larger():
    """Three runs of one message of the second party: medians of 0.8 and of 0."""
    score = SimpleNamespace(party=1)
    axes = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    here = np.array([[9.0, 9.0], [0.6, 0.8]])[None, None] * np.ones((3, 1, 1, 1))
    here[0, 0, 1] = 0.0, 1.0
    there = np.array([[9.0, 9.0], [0.0, 2.0]])[None, None] * np.ones((3, 1, 1, 1))
    there[2, 0, 1] = 1.0, 0.0
    assert message_support._measure_median_residual(score, (here, there), axes) == pytest.approx(
        0.8
    )
    assert message_support._measure_median_residual(
        score, (there, here), axes[::-1]
    ) == pytest.approx(0.8)
    assert message_support._measure_median_residual(score, (there, there), axes) == pytest.approx(
        1.0
    )
