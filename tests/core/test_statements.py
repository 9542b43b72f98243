"""What runs say of a paper's statements: means, their errors, and what was tried beside them."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument
from dpaudit.execution import Silent
from dpaudit.reproduction.judgement import (
    AlternativeSetting,
    SettingFinding,
    StatementJudgement,
    all_held,
    in_words,
    judge_all_settings,
    make_judgements,
    with_tried,
)
from dpaudit.reproduction.result import (
    MOST_RUNS,
    FigureRequest,
    Reproduction,
    _format_statements_csv,
)
from dpaudit.reproduction.spread import (
    Mean,
    in_errors,
    is_clearly_ahead,
    judge_falling_means,
    measure_in_blocks,
)


def test_a_mean_has_the_standard_error_of_its_runs():
    found = Mean.of(np.array([1.0, 2.0, 3.0, 6.0]))
    assert found.value == 3.0
    assert found.error == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    assert math.isnan(Mean.of(np.array([1.0])).error)


@pytest.mark.parametrize(
    ("one", "other", "errors"),
    [
        ((1.0, 3.0), (11.0, 4.0), 2.0),
        ((11.0, 3.0), (1.0, 4.0), -2.0),
        ((1.0, 0.0), (2.0, 0.0), math.inf),
        ((2.0, 0.0), (1.0, 0.0), -math.inf),
        ((1.0, 0.0), (1.0, 0.0), 0.0),
        ((1.0, math.nan), (2.0, 0.1), math.nan),
    ],
)
def test_a_difference_is_in_errors_of_both(one, other, errors):
    assert Mean(*one).below(Mean(*other)) == pytest.approx(errors, nan_ok=True)


@pytest.mark.parametrize(
    ("ahead", "said"), [(3.0, None), (3.01, True), (-3.0, None), (-3.01, False), (math.nan, None)]
)
def test_more_than_three_errors_are_clear(ahead, said):
    assert is_clearly_ahead(ahead) is said
    assert ("unknown" in in_errors(ahead)) is math.isnan(ahead)


@pytest.mark.parametrize(
    ("means", "held"),
    [
        ([3.0, 2.0, 1.0], True),
        ([3.0, 1.0, 1.4], True),  # a rise of less than three errors
        ([3.0, 1.0, 1.5], False),
        ([1.0, 2.0, 3.0], False),
        ([1.0, 0.9, 1.0], None),
        ([1.4, 1.0], None),
        ([1.43, 1.0], True),
        ([1.0, 1.43], False),
    ],
)
def test_means_fall_where_the_last_is_clearly_below_and_none_clearly_rises(means, held):
    found = judge_falling_means({str(n): Mean(one, 0.1) for n, one in enumerate(means)})
    assert found.held is held
    assert found.number == pytest.approx((means[0] - means[-1]) / (0.1 * math.sqrt(2)))


def test_one_run_says_nothing():
    found = judge_falling_means({"1": Mean(3.0, math.nan), "2": Mean(1.0, math.nan)})
    assert (found.held, found.number) == (None, None)


def test_runs_are_measured_a_few_at_a_time_and_all_of_them():
    class Counting:
        def __init__(self):
            self.asked = []

        def sample(self, dataset, trials, rng):
            self.asked.append(trials)
            return rng.random(trials)

    mechanism = Counting()
    found = measure_in_blocks(mechanism, None, 23, np.random.default_rng(1), lambda drawn: drawn)
    assert mechanism.asked == [10, 10, 3]
    assert found.tolist() == np.random.default_rng(1).random(23).tolist()


def finding(held, number=1.0, **given):
    return SettingFinding(held=held, number=number, measure="m", **given)


STATEMENTS = {"a": "first", "b": "second", "c": "third"}


def test_a_statement_is_judged_by_its_own_finding():
    found = make_judgements(
        STATEMENTS, {"b": finding(False, 2.0, evidence="e", caveat="v"), "a": finding(True)}
    )
    assert [(one.statement, one.held, one.number) for one in found] == [
        ("first", True, 1.0), ("second", False, 2.0),
    ]  # fmt: skip
    assert (found[1].evidence, found[1].caveat) == ("e", "v")
    others = [({"x": 1}, {"a": finding(False, 5.0)}), ({"x": 2}, {"b": finding(None)})]
    tried = with_tried(found, STATEMENTS, others)
    assert tried[0].tried == (AlternativeSetting(setting={"x": 1}, number=5.0, held=False),)
    assert tried[1].tried == (AlternativeSetting(setting={"x": 2}, number=1.0, held=None),)
    assert tried[0].held is True
    assert len(with_tried(tried, STATEMENTS, others)[0].tried) == 2


@pytest.mark.parametrize(
    ("held", "all_of_them"),
    [([True, True], True), ([True, False], False), ([True, None], False), ([], True)],
)
def test_all_held_where_every_one_did(held, all_of_them):
    made = [StatementJudgement(statement="s", held=one, evidence="") for one in held]
    assert all_held(made) is all_of_them


def test_every_setting_is_judged_and_told():
    found = judge_all_settings([{"x": 1}, {"x": 3}], lambda s: {"a": finding(s["x"] < 2)}, Silent())
    assert [(setting["x"], one["a"].held) for setting, one in found] == [(1, True), (3, False)]
    assert in_words({"C": 0.5, "n": 30, "s": "z"}) == "C = 0.5, n = 30, s = z"
    assert finding(True, math.inf).number is finding(True, math.nan).number is None


def test_a_table_has_every_statement_at_every_setting():
    judged = StatementJudgement(
        statement="s", held=True, evidence="e", number=0.0, measure="m",
        tried=(AlternativeSetting(setting={"x": 1}, number=None, held=None, caveat="v"),),
    )  # fmt: skip
    made = Reproduction(
        figure="f", title="t", source="s", panels=(), judgements=(judged,), parameters={}
    )
    rows = list(csv.reader(io.StringIO(_format_statements_csv(made))))
    assert rows[1:] == [
        ["s", "as drawn", "m", "0.0", "held", ""],
        ["s", "x = 1", "m", "", "could not be judged", "v"],
    ]


@pytest.mark.parametrize(
    "given", [{"runs": 0}, {"runs": MOST_RUNS + 1}, {"seed": -1}, {"runs": True}]
)
def test_a_request_has_numbers_in_their_ranges(given):
    with pytest.raises(InvalidArgument):
        FigureRequest(**given)
    assert FigureRequest(runs=MOST_RUNS).runs == MOST_RUNS
