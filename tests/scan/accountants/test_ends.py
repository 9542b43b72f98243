"""Where an answer lies about a bracket, and what a second opinion says, decide its verdict."""

from __future__ import annotations

import mpmath
import pytest

from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.scan.accountants import judge
from dpaudit.scan.accountants.asking import MethodAnswer
from dpaudit.scan.accountants.card import AccountantMethod
from dpaudit.scan.accountants.cases import AccountantQuestion, make_release_part
from dpaudit.scan.accountants.judge import judge_answer

BRACKET = Bracket(1.0, 1.1)
GAUSSIAN = (make_release_part("gaussian", 1.0, count=1),)


def method(states):
    return AccountantMethod(name="m", states=states, where="its docstring")


def verdict_of(value, states="upper bound", asks="epsilon", at=1e-5):
    answer = MethodAnswer(
        method="m",
        question=AccountantQuestion(release=GAUSSIAN, asks=asks, at=at),
        outcome="answer",
        values=value if isinstance(value, tuple) else (value,),
    )
    (found,) = judge_answer(answer, method(states))
    return found.verdict


@pytest.fixture
def second(monkeypatch):
    """Give the bracket to every question, and let the second opinion say what a test asks."""
    said = {}
    monkeypatch.setattr(judge, "bracket_of", lambda *_: BRACKET)
    monkeypatch.setattr(
        judge,
        "_compute_second_opinion",
        lambda *_: (mpmath.mpf(said["delta"]), "other") if said else None,
    )
    return said


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.2, "sound"),
        (1.1, "sound"),
        (1.05, "sound"),  # between the ends: nobody can say that it is too small
        (1.0, "sound"),
        (1.0 - 1e-7, "rounding"),
        (1.0 - 1e-5, "under"),
        (1.0 - 1e-3, "under"),
        (0.5, "under"),
    ],
)
def test_an_upper_bound_is_judged_by_the_lower_end(second, value, expected):
    second["delta"] = 2e-5
    assert verdict_of(value) == expected


@pytest.mark.parametrize(
    ("delta", "expected"),
    [(None, "unconfirmed"), (1e-5, "unconfirmed"), (0.5e-5, "unconfirmed"), (2e-5, "under")],
)
def test_nothing_is_accused_that_the_second_opinion_does_not_confirm(second, delta, expected):
    if delta is not None:
        second["delta"] = delta
    assert verdict_of(0.5) == expected


@pytest.mark.parametrize(
    ("delta", "expected"), [(0.9, "under"), (0.5, "unconfirmed"), (0.4, "unconfirmed")]
)
def test_a_delta_needs_a_second_opinion_above_it(second, delta, expected):
    second["delta"] = delta
    assert verdict_of(0.5, asks="delta", at=1.0) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.5, "sound"),
        (1.0, "sound"),
        (1.05, "sound"),
        (1.1, "sound"),
        (1.1 + 1e-7, "rounding"),
        (1.1 + 1e-3, "above"),
    ],
)
def test_a_lower_bound_is_judged_by_the_upper_end(second, value, expected):
    assert verdict_of(value, "lower bound") == expected


@pytest.mark.parametrize(
    ("bracket", "expected"),
    [
        (Bracket(0.5e-5, 0.9e-5), "sound"),
        (Bracket(0.5e-5, 2e-5), "sound"),
        (Bracket(1.5e-5, 2e-5), "under"),
    ],
)
def test_a_spending_is_judged_by_the_lower_end_of_its_delta(monkeypatch, bracket, expected):
    monkeypatch.setattr(judge, "_compute_second_opinion", lambda *_: (mpmath.mpf(2e-5), "other"))
    monkeypatch.setattr(judge.Truth, "delta", lambda self, epsilon: bracket)
    assert verdict_of((1.0, 1e-5), asks="spent") == expected


@pytest.mark.parametrize(("wrong", "expected"), [(40, "sound"), (120, "sound"), (200, "above")])
def test_errors_are_accused_where_no_luck_explains_them(wrong, expected):
    """At 90% a hundred of a thousand may be wrong."""
    assert verdict_of((float(wrong), 1000.0), asks="errors", at=0.9) == expected
