"""What the studies say is what they found: readings, columns, and refusals of bad numbers."""

import math
import os

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.tables.claims.noise import Theorem2
from dpaudit.attacks.canaries import study as canaries
from dpaudit.attacks.distinguishers import message_support as column_space
from dpaudit.attacks.prediction_inversion import study as prediction_inversion
from dpaudit.attacks.prediction_inversion.inversion import Report
from dpaudit.attacks.stationarity import study as stationarity
from dpaudit.attacks.stationarity.study import EXACT_TO
from dpaudit.datasets.sources import DATA_VARIABLE
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Silent
from tests.attacks.parameters import make_parameters

TINY = {
    "iterations": [6, 12],
    "noise_rates": [100.0],
    "runs": 2,
    "records": 10,
    "dimension": 3,
    "loss_weight": 10.0,
}


def found(module, **changes):
    return module.run(make_parameters(module, **changes), 0, Silent())


def words(module, **changes):
    return " ".join(found(module, **changes).reading)


# Messages' column spaces


def test_one_message_is_said_to_tell_only_where_it_does():
    same = words(column_space, records=2, messages=50)
    assert "one message does not always tell the two apart: 0.5" in same
    assert "no epsilon is finite" not in same
    told = words(column_space, records=80, messages=50)
    assert "one message tells the two apart" in told
    assert "does not always" not in told


def test_nothing_is_said_of_noise_that_was_not_tried():
    said = words(column_space, records=60, messages=50, variants=["message"])
    assert "With noise on the model" not in said


# Predictions of joined tables


def test_too_few_rounds_are_said_to_determine_nothing():
    result = found(prediction_inversion, tuples=80, columns=8, known=10, iterations=3)
    said = " ".join(result.reading)
    assert "rank 3 of the 8 needed: the tuples are not determined" in said
    assert "hides nothing" not in said
    assert [row["rank needed"] for row in result.rows] == [8, 8, 8]
    assert result.rows[0]["error"] > 0.1
    whole = found(prediction_inversion, tuples=80, columns=8, known=10)
    assert "rank 8 of the 8 needed" in " ".join(whole.reading)
    assert sum("hides nothing of the tuples" in line for line in whole.reading) == 2


def test_a_determined_system_that_rounding_spoils_is_not_called_open():
    report = Report(relative_error=0.2, rank=3, needed=3, condition=1e12, control=1.0, chance=0.3)
    said = prediction_inversion._format_inversion_verdict("models", report)
    assert "rounding leaves an error of 0.2" in said


@pytest.mark.parametrize("rounds", [3, 15])
def test_the_noise_is_that_of_theorem_2_for_the_whole_run(rounds):
    given = prediction_inversion.PredictionInversionParameters(epsilon=2.0, delta=1e-6)
    noise = prediction_inversion._make_private_tables_admm(given, rounds).solver.noise_multiplier
    assert noise == Theorem2(epsilon=2.0, delta=1e-6, iterations=rounds).noise_multiplier
    assert noise == pytest.approx(4 * math.sqrt(rounds * math.log(1e6)) / 2)


def test_without_the_knowledge_a_column_mean_is_the_better_guess():
    result = found(prediction_inversion, tuples=80, columns=6, known=10)
    chance = float(result.chance.rsplit(" ", 1)[-1])
    models, space, tuples = (row["without the knowledge"] for row in result.rows)
    assert min(models, tuples) > chance
    assert space > 1.2  # radians: a random space


# Stationarity


@pytest.mark.slow
def test_norm_errors_and_labels_have_columns():
    (first, *_, shorter) = found(stationarity, **TINY, shorter=[0.3]).rows
    assert (first["norm"], shorter["norm"], shorter["T"]) == (1.0, 0.3, 12)
    for name in ("likelihood", "private eta", "guess"):
        assert f"norm error, {name}" in first
    assert shorter["norm error, guess"] == pytest.approx((2 / 3 - 0.3) / 0.3)
    assert first["norm error, guess"] == pytest.approx(1 / 3)
    assert not any(column.startswith("label") for column in first)
    real = TINY | {"data": "breast-cancer", "noise_rates": [1e5]}
    (row, _) = found(stationarity, **real).rows
    assert "norm" not in row
    assert row["label, likelihood"] == 1
    assert row["norm error, likelihood"] < 0.3


def test_a_guess_of_two_thirds_is_off_by_a_third_half_of_the_time():
    norms = default_rng(0).uniform(0, 1, 200_000)
    at = {guess: np.median(np.abs(guess - norms) / norms) for guess in (0.5, 0.6, 2 / 3, 0.75, 0.9)}
    assert min(at, key=at.get) == 2 / 3
    assert at[2 / 3] == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.slow
def test_norms_below_one_are_found_where_there_is_little_noise():
    rows = found(stationarity, **(TINY | {"noise_rates": [1e6]}), shorter=[0.3, 0.6]).rows
    for row in rows[-2:]:
        assert row["norm error, likelihood"] < 0.05 < row["norm error, guess"]


@pytest.mark.slow
def test_several_missing_records_are_wanted_from_the_command():
    row = found(stationarity, **(TINY | {"noise_rates": [1e6]}), missing=2, shorter=[]).rows[-1]
    assert "averaged" not in row
    assert row["likelihood"] > 0.95
    assert row["likelihood"] > row["guess"]


def test_dual_variable_perturbation_has_no_private_penalty():
    result = found(stationarity, **TINY, algorithm="DVP")
    assert "private eta" not in result.rows[0]
    assert result.rows[-3]["likelihood"] > 0.8
    assert "private eta" not in " ".join(result.reading)


def test_without_noise_one_iteration_is_enough_or_two_without_the_penalties():
    rows = found(stationarity, algorithm="M-ADMM", **(TINY | {"runs": 6})).rows
    assert [(row["T"], row["penalties"]) for row in rows] == [
        (1, "known"),
        (2, "known"),
        (2, "private"),
    ]
    for row in rows:
        assert row["recovered"] == 1
        assert row["largest error"] <= EXACT_TO < 0.1 < row["error of known mean"]


@pytest.mark.slow
def test_two_roots_leave_one_iteration_undecided():
    rows = found(stationarity, algorithm="M-ADMM", loss_weight=1e6, runs=6).rows
    assert rows[0]["undecided"] > 0
    assert rows[0]["recovered"] + rows[0]["undecided"] == pytest.approx(1)
    assert rows[1]["recovered"] == 1


def test_a_record_that_takes_no_part_is_not_recovered_without_noise():
    result = found(stationarity, algorithm="M-ADMM", record="does not", **TINY)
    assert all(row["recovered"] == 0 for row in result.rows)
    assert "takes no part" in " ".join(result.reading)
    real = TINY | {"data": "breast-cancer", "runs": 20, "loss_weight": 5.0}
    for row in found(stationarity, algorithm="M-ADMM", record="does not", **real).rows:
        assert row["recovered"] == 0
        assert row["label"] < 0.9


@pytest.mark.slow
@pytest.mark.skipif(not os.environ.get(DATA_VARIABLE), reason="Adult's files are not at hand")
def test_a_person_of_adult_is_recovered_with_the_label():
    rows = found(stationarity, algorithm="M-ADMM", data="adult", runs=5).rows
    for row in rows:
        assert row["recovered"] == row["label"] == 1


def test_an_averaged_estimate_that_seems_ahead_is_weighed_by_its_standard_error():
    rows = [
        stationarity.Row(
            noise_rate=1.0, iterations=5, estimator=name, cosines=cosines, norm_error=0.0
        )
        for name, cosines in (
            (stationarity.AVERAGED, (0.9, 0.5, 0.7)),
            (stationarity.KNOWN, (0.8, 0.6, 0.6)),
        )
    ]
    (said,) = stationarity._format_median_reliability(rows)
    assert "in 1 of 1 lines" in said
    assert "ahead by 0.5 standard errors" in said
    assert "do not tell the two apart" in said
    assert stationarity._format_median_reliability([rows[1]]) == []


def rows_of(averaged, known, iterations=5):
    return [
        stationarity.Row(
            noise_rate=1.0, iterations=iterations, estimator=name, cosines=one, norm_error=0.0
        )
        for name, one in ((stationarity.AVERAGED, averaged), (stationarity.KNOWN, known))
    ]


def test_two_runs_have_a_standard_error_and_one_has_none():
    assert stationarity._format_median_reliability(rows_of((0.9,), (0.5,))) == []
    (said,) = stationarity._format_median_reliability(rows_of((0.9, 0.8), (0.5, 0.6)))
    assert "over the 2 runs its cosine is ahead by 3.0 standard errors" in said
    assert "do not tell" not in said


def test_without_a_spread_nothing_is_ahead_by_standard_errors():
    (said,) = stationarity._format_median_reliability(rows_of((0.75, 0.75), (0.5, 0.5)))
    assert "ahead by 0.0 standard errors" in said
    (said,) = stationarity._format_median_reliability(
        [*rows_of((0.9, 0.8), (0.5, 0.6)), *rows_of((0.9, 0.5, 0.7), (0.8, 0.6, 0.6), 9)]
    )
    assert "in 2 of 2 lines" in said
    assert "ahead by 3.0 standard errors" in said


# One run with canaries


def test_a_view_that_certifies_nothing_is_said_to():
    said = words(canaries, epsilons=[1.0], canaries=60, view="final")
    assert "The final view certifies nothing at a proved epsilon of 1." in said
    strong = words(canaries, epsilons=[10.0], canaries=200)
    assert "certifies nothing" not in strong


# Numbers that no run can use


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("module", "changes", "name"),
    [
        (stationarity, {"noise_rates": [1e-300]}, "noise_rates"),
        (stationarity, {"noise_rates": [math.inf]}, "noise_rates"),
        (stationarity, {"shorter": [0.0]}, "shorter"),
        (stationarity, {"data": "breast-cancer", "norm": 0.5}, "norm"),
        (stationarity, {"data": "breast-cancer", "records": 200}, "records"),
        (stationarity, {"missing": 50}, "missing"),
        (stationarity, {"missing": 2, "algorithm": "M-ADMM"}, "missing"),
        (column_space, {"noise_scales": [1e300]}, "noise_scales"),
        (canaries, {"canaries": 10**6}, "canaries"),
        (canaries, {"epsilons": [1e-300]}, "epsilons"),
    ],
)
def test_a_bad_number_is_refused_before_any_work(module, changes, name):
    with pytest.raises(InvalidArgument, match=f"^{name}: "):
        found(module, **changes)
