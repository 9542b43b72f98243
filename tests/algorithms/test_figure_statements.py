"""How statements of figures are judged: means with standard errors, sweeps, and what they keep."""

import math

import numpy as np
import pytest

from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Silent
from dpaudit.reproduction.judgement import (
    SettingFinding,
    in_words,
    judge_all_settings,
    make_judgements,
    with_tried,
)
from dpaudit.reproduction.result import MOST_RUNS, FigureRequest
from dpaudit.reproduction.spread import (
    CLEAR,
    Mean,
    in_errors,
    is_clearly_ahead,
    judge_falling_means,
    measure_in_blocks,
)


def means(*values, error=0.1):
    return {str(place): Mean(value, error) for place, value in enumerate(values)}


def test_a_mean_has_the_standard_error_of_the_textbook():
    mean = Mean.of(np.array([1.0, 2.0, 3.0, 6.0]))
    assert mean.value == 3.0
    assert mean.error == pytest.approx(math.sqrt((4 + 1 + 0 + 9) / 3 / 4))
    assert str(Mean(0.5, 0.25)) == "0.5000 +- 0.2500"


def test_one_run_has_no_standard_error():
    alone = Mean.of(np.array([1.0]))
    assert math.isnan(alone.error)
    assert str(alone) == "1.0000"
    assert is_clearly_ahead(alone.below(Mean(9.0, 0.1))) is None
    assert judge_falling_means({"1": Mean(3.0, math.nan), "2": Mean(1.0, math.nan)}).held is None


def test_what_one_run_cannot_say_is_said_in_words():
    one_run = {name: Mean(value, math.nan) for name, value in (("1", 3.0), ("2", 1.0))}
    assert "nan" not in judge_falling_means(one_run).evidence
    assert in_errors(math.nan) == "unknown, as one run shows no spread"
    assert in_errors(-2.0) == "-2.0 standard errors, 3 counts"


def test_a_caveat_stays_with_the_setting_it_is_of():
    statements = {"small": "x is small"}

    def judge(setting):
        caveat = "beyond the theorem" if setting["x"] > 2 else ""
        return {"small": SettingFinding(held=True, number=1.0, measure="x", caveat=caveat)}

    others = judge_all_settings([{"x": 1}, {"x": 4}], judge, Silent())
    (judged,) = with_tried(make_judgements(statements, judge({"x": 3})), statements, others)
    assert judged.caveat == "beyond the theorem"
    assert [each.caveat for each in judged.tried] == ["", "beyond the theorem"]


def test_without_spread_the_sign_decides():
    assert Mean(1.0, 0.0).below(Mean(2.0, 0.0)) == math.inf
    assert Mean(2.0, 0.0).below(Mean(1.0, 0.0)) == -math.inf
    assert Mean(1.0, 0.0).below(Mean(1.0, 0.0)) == 0.0


@pytest.mark.parametrize(
    ("values", "held"),
    [
        ((3.0, 2.0, 1.0), True),
        ((3.0, 1.0, 1.3), True),  # a rise of 2.1 standard errors
        ((3.0, 1.0, 1.5), False),  # of 3.5
        ((1.0, 2.0), False),
        ((1.0, 0.7), None),  # a fall of 2.1
        ((1.0, 1.2, 1.4, 1.6), False),  # clear only from first to last
    ],
)
def test_a_fall_is_judged_against_the_standard_error(values, held):
    assert judge_falling_means(means(*values)).held is held


def test_noise_alone_is_seldom_called_a_fall_or_a_rise():
    """Seven equal means of ten runs, as in the figures: three standard errors suffice."""
    runs = np.random.default_rng(0).standard_normal((400, 10, 7))
    columns = [dict(enumerate(map(Mean.of, each.T))) for each in runs]
    decided = [judge_falling_means(each).held is not None for each in columns]
    assert np.mean(decided) < 0.08
    shifted = [each | {7: Mean(each[0].value - 4, each[0].error)} for each in columns]
    assert np.mean([judge_falling_means(each).held is True for each in shifted]) > 0.9


def test_a_threshold_is_not_yet_clear():
    assert is_clearly_ahead(CLEAR) is None
    assert is_clearly_ahead(math.nextafter(CLEAR, 9)) is True
    assert is_clearly_ahead(-math.inf) is False


def test_infinite_numbers_are_left_out():
    found = SettingFinding(held=True, number=math.inf, measure="lead")
    assert found.number is None
    assert SettingFinding(held=None, number=math.nan, measure="lead").number is None


def test_the_verdict_stays_that_of_the_setting_drawn():
    statements = {"small": "x is small", "odd": "x is odd"}

    def judge(setting):
        x = setting["x"]
        small = SettingFinding(held=x < 2, number=x, measure="x", evidence=f"x is {x}")
        odd = SettingFinding(held=x % 2 == 1, number=x % 2, measure="x mod 2")
        return {"small": small} if x > 5 else {"small": small, "odd": odd}

    judged = make_judgements(statements, judge({"x": 3}))
    others = judge_all_settings([{"x": 1}, {"x": 2}, {"x": 9}], judge, Silent())
    small, odd = with_tried(judged, statements, others)
    assert (small.held, small.number, small.evidence) == (False, 3, "x is 3")
    assert [(t.setting["x"], t.held) for t in small.tried] == [(1, True), (2, False), (9, False)]
    assert [t.setting["x"] for t in odd.tried] == [1, 2]  # a setting may be silent on a statement


def test_settings_in_words():
    assert in_words({"C": 1750.0, "T": 30, "data": "a9a"}) == "C = 1750, T = 30, data = a9a"


class Counting:
    """A mechanism whose output is its place in the stream."""

    def __init__(self):
        self.asked = []

    def sample(self, dataset, trials, rng):
        self.asked.append(trials)
        return rng.standard_normal((trials, 1))


def test_many_runs_are_drawn_a_few_at_a_time_from_one_stream():
    data, mechanism = Dataset(np.eye(2), [1, -1]), Counting()
    values = measure_in_blocks(
        mechanism, data, 25, np.random.default_rng(0), lambda seen: seen[:, 0]
    )
    assert mechanism.asked == [10, 10, 5]
    np.testing.assert_array_equal(values, np.random.default_rng(0).standard_normal(25))


@pytest.mark.parametrize("runs", [0, -1, MOST_RUNS + 1, 10**12])
def test_runs_are_bounded(runs):
    with pytest.raises(InvalidArgument, match=f"runs: got {runs}, expected an integer"):
        FigureRequest(runs=runs)
