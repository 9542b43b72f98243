"""Where judgements of one number change, each side alone, with the truth given."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from mpmath import mpf

from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.errors import DpauditError
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.scan.accountants import judge
from dpaudit.scan.accountants.asking import MethodAnswer
from dpaudit.scan.accountants.card import AccountantMethod
from dpaudit.scan.accountants.cases import AccountantQuestion, make_release_part

PARTS = (make_release_part("gaussian", 1.0),)
BRACKET = Bracket(1.0, 2.0)


@dataclass
class Known:
    """A truth that is given: a bracket of delta, and a second opinion."""

    bracket: Bracket
    second: float | None = None
    asked: list[float] = field(default_factory=list)

    def delta(self, epsilon):
        if math.isnan(self.bracket.lower):
            raise DpauditError("nobody knows")
        return self.bracket

    def second_delta(self, epsilon):
        self.asked.append(epsilon)
        return None if self.second is None else (mpf(self.second), "a sum")


def answer(*values, asks="epsilon", at=1e-5, epsilon=0.0):
    return MethodAnswer(
        method="m",
        question=AccountantQuestion(PARTS, asks, at, epsilon),
        outcome="answer",
        values=values,
    )


def method(states="upper bound"):
    return AccountantMethod(name="m", states=states, where="here")


@pytest.fixture
def known(monkeypatch):
    """Return a function that says what is true."""

    def says(bracket, second=None):
        truth = Known(Bracket(0.5, 1.0), second)
        monkeypatch.setattr(judge, "bracket_of", lambda *_: bracket)
        monkeypatch.setattr(judge, "Truth", lambda *_: truth)
        monkeypatch.setattr(judge, "with_noise", lambda *_: truth)
        return truth

    return says


def verdict(given, states="upper bound"):
    (found,) = judge.judge_answer(given, method(states))
    return found.verdict


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.9, "under"), (1 - 2e-6, "under"), (1 - 5e-7, "rounding"), (1.0, "sound"), (9.0, "sound")],
)
def test_an_upper_bound_is_judged_at_the_lower_end(known, value, said):
    known(BRACKET, second=0.7)
    assert verdict(answer(value)) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [(3.0, "above"), (2 + 5e-6, "above"), (2 + 1e-6, "rounding"), (2.0, "sound"), (0.1, "sound")],
)
def test_a_lower_bound_is_judged_at_the_upper_end(known, value, said):
    known(BRACKET)
    assert verdict(answer(value), "lower bound") == said


@pytest.mark.parametrize("asks", ["epsilon", "delta", "advantage"])
def test_of_deltas_doubles_tell_no_less_than_a_hundredth_of_a_trillionth(known, asks):
    known(Bracket(1e-15, 1e-15))
    assert verdict(answer(5e-15, asks=asks), "lower bound") == (
        "above" if asks == "epsilon" else "rounding"
    )
    assert verdict(answer(5e-14, asks=asks), "lower bound") == "above"


@pytest.mark.parametrize("states", ["upper bound", "lower bound"])
def test_what_is_no_number_or_of_no_known_truth_is_said_to_be(known, states):
    known(BRACKET)
    assert verdict(answer(math.nan), states) == "nan"
    known("no theorem")
    assert verdict(answer(1.0), states) == "unknown"


def test_a_lower_bound_of_what_is_infinite_is_never_above(known):
    known(Bracket(1.0, math.inf))
    assert verdict(answer(1e300), "lower bound") == "sound"


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.98, "off"), (1.0, "close"), (2.01, "close"), (2.03, "off"), (1 - 5e-7, "close")],
)
def test_an_estimate_is_close_to_either_end_or_off(known, value, said):
    known(BRACKET)
    assert verdict(answer(value), "estimate") == said


def test_bounds_are_judged_at_both_ends_and_the_estimate_between_at_none(known):
    known(BRACKET, second=0.7)
    found = [one.verdict for one in judge.judge_answer(answer(2.5, 0.1, 0.9), method("bounds"))]
    assert found == ["above", "under"]
    found = [one.verdict for one in judge.judge_answer(answer(1.5, 99.0, 1.5), method("bounds"))]
    assert found == ["sound", "sound"]


@pytest.mark.parametrize(
    ("second", "said"), [(None, "unconfirmed"), (0.5e-5, "unconfirmed"), (2e-5, "under")]
)
def test_nobody_is_accused_without_a_second_opinion(known, second, said):
    truth = known(BRACKET, second)
    assert verdict(answer(0.5)) == said
    assert truth.asked == [0.5]


@pytest.mark.parametrize(("asks", "at"), [("delta", 0.3), ("advantage", 0.0)])
def test_a_delta_is_confirmed_by_the_number_itself(known, asks, at):
    truth = known(Bracket(0.5, 0.6), second=0.55)
    assert verdict(answer(0.4, asks=asks, at=0.3)) == "under"
    assert truth.asked == [at]
    known(Bracket(0.5, 0.6), second=0.4)
    assert verdict(answer(0.45, asks=asks, at=0.3)) == "unconfirmed"


@pytest.mark.parametrize("asks", ["delta", "advantage"])
@pytest.mark.parametrize(
    ("second", "said"), [(1 + 5e-7, "unconfirmed"), (1 + 3e-6, "under"), (1 - 1e-3, "unconfirmed")]
)
def test_a_second_number_has_to_be_larger_by_more_than_rounding(known, asks, second, said):
    known(Bracket(0.5, 0.6), second=0.4 * second)
    assert verdict(answer(0.4, asks=asks)) == said


@pytest.mark.parametrize(("asks", "values"), [("spent", (1.0, 1e-5)), ("noise", (2.0,))])
@pytest.mark.parametrize("upper", [1e-5, 1.00001e-5, 1.0])
def test_a_guarantee_within_the_bracket_of_its_delta_is_sound(monkeypatch, asks, values, upper):
    truth = Known(Bracket(0.9e-5, upper), 2e-5)
    monkeypatch.setattr(judge, "Truth", lambda *_: truth)
    monkeypatch.setattr(judge, "with_noise", lambda *_: truth)
    assert verdict(answer(*values, asks=asks, epsilon=1.0)) == "sound"


@pytest.mark.parametrize(("off", "said"), [(0.9e-14, "rounding"), (2e-14, "under")])
@pytest.mark.parametrize("upper", [1e-8, 1.0])
def test_doubles_tell_deltas_apart_from_a_hundredth_of_a_trillionth_on(
    monkeypatch, off, said, upper
):
    truth = Known(Bracket(1e-9 + off, upper), 1e-3)
    monkeypatch.setattr(judge, "Truth", lambda *_: truth)
    assert verdict(answer(1.0, 1e-9, asks="spent")) == said


@pytest.mark.parametrize(
    ("epsilon", "lowest", "said"),
    [
        (1.0, 1e-3, "sound"),
        (1.0, 1e-3 * (1 + 5e-7), "rounding"),
        (1.0, 1e-3 * (1 + 1e-5), "under"),
        (1.0, 2e-3, "under"),
        (math.inf, 2e-3, "sound"),
        (-1.0, 1e-3, "negative"),
        (math.nan, 1e-3, "nan"),
        (1.0, math.nan, "unknown"),
    ],
)
def test_what_is_spent_is_judged_by_the_delta_at_its_epsilon(monkeypatch, epsilon, lowest, said):
    truth = Known(Bracket(lowest, lowest) if lowest == lowest else NOTHING, 2e-3)
    monkeypatch.setattr(judge, "Truth", lambda *_: truth)
    assert verdict(answer(epsilon, 1e-3, asks="spent")) == said


class NOTHING:
    lower = math.nan


def test_a_delta_of_one_is_never_false_and_one_below_zero_is_none(monkeypatch):
    monkeypatch.setattr(judge, "Truth", lambda *_: Known(Bracket(1.0, 1.0), 1.0))
    assert verdict(answer(0.0, 1.0, asks="spent")) == "sound"
    assert verdict(answer(0.0, -1e-9, asks="spent")) == "negative"
    assert verdict(answer(0.0, math.nan, asks="spent")) == "nan"


@pytest.mark.parametrize(
    ("lowest", "said"), [(1e-5, "sound"), (1.0005e-5, "rounding"), (1.01e-5, "under")]
)
def test_a_noise_is_too_little_where_delta_is_a_thousandth_larger(monkeypatch, lowest, said):
    truth = Known(Bracket(lowest, lowest), lowest)
    monkeypatch.setattr(judge, "with_noise", lambda *_: truth)
    assert verdict(answer(2.0, asks="noise", at=1e-5, epsilon=1.0)) == said


@pytest.mark.parametrize(("value", "said"), [(math.inf, "sound"), (-1.0, "negative")])
def test_a_noise_without_a_release_is_infinite_or_none(monkeypatch, value, said):
    monkeypatch.setattr(judge, "with_noise", lambda *_: None)
    assert verdict(answer(value, asks="noise", epsilon=1.0)) == said


@pytest.mark.parametrize("runs", [200, 5000])
def test_errors_are_too_many_where_their_rate_is_surely_above_what_is_allowed(runs):
    allowed = 0.05
    many = next(n for n in range(runs) if clopper_pearson(n, runs, 1e-6)[0] > allowed)
    for wrong, said in ((many - 1, "sound"), (many, "above")):
        given = answer(float(wrong), float(runs), asks="errors", at=1 - allowed)
        assert verdict(given, "lower bound") == said


def test_a_gap_is_the_truth_over_what_is_claimed_whichever_is_larger(known):
    known(BRACKET, second=0.7)
    (under,) = judge.judge_answer(answer(0.25), method())
    (above,) = judge.judge_answer(answer(8.0), method("lower bound"))
    assert judge._measure_violation_gap(under) == pytest.approx(math.log(4))
    assert judge._measure_violation_gap(above) == pytest.approx(math.log(4))
    (worse,) = judge.judge_answer(answer(0.2), method())
    (sound,) = judge.judge_answer(answer(1.5), method())
    assert judge.find_violations([above, sound, worse]) == (worse, above)
    assert sound.excess == pytest.approx(0.75)
    assert worse.excess is None
