"""Broken accountants are found, with a second opinion each; correct ones are never accused."""

import math
from collections import Counter

import pytest
from mpmath import mpf

from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.scan.accountants.cases import AccountantQuestion, make_question_grid, make_release_part
from dpaudit.scan.accountants.judge import DEFECTS, VIOLATIONS, _by_delta, find_disorders

DELTAS = (1e-20, 1e-9, 1e-5, 0.1)


def questions(*kinds, asks=("epsilon", "delta", "renyi", "noise")):
    """Those of the grid about these kinds, within what a few lines of doubles can answer."""
    return [
        question
        for question in make_question_grid()
        if question.kind in kinds
        and question.asks in asks
        and all(p.get("ratio", 0.01) >= 0.01 for p in question.parts)
        and all(0.1 <= p.get("noise", 1) <= 1e4 for p in question.parts)
        and all(1 <= p["count"] <= 1000 for p in question.parts)
        and all(p["count"] <= 100 * p.get("noise", 10) ** 2 for p in question.parts)
        and (question.asks != "epsilon" or 1e-9 <= question.at <= 0.5)
        and (question.asks != "delta" or question.at <= 20)
        and (question.asks != "noise" or (question.at >= 1e-9 and question.epsilon <= 10))
    ]


def verdicts(found):
    return Counter(one.verdict for one in found if one.verdict != "nothing")


CORRECT = {
    "gaussian": "METHODS = {'m': gaussian}",
    "sampled": "METHODS = {'m': sampled}",
    "pure": "METHODS = {'m': basic}",
    "response": "METHODS = {'m': basic}",
    "laplace": "METHODS = {'m': basic}",
    "approximate": "METHODS = {'m': spent}",
}


@pytest.mark.parametrize("kind", CORRECT)
def test_a_correct_accountant_is_never_accused(judgements, kind):
    asks = ("epsilon", "delta", "renyi", "noise", "spent")
    found = judgements(CORRECT[kind], questions(kind, asks=asks))
    counts = verdicts(found)
    accused = {*VIOLATIONS, *DEFECTS, "unconfirmed", "unknown"} & counts.keys()
    assert not accused, [one for one in found if one.verdict in accused][:3]
    assert counts["sound"] + counts["rounding"] >= 5
    assert find_disorders(found) == ()


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("gaussian", "METHODS = {'m': lambda q: gaussian(q, counted=False)}"),
        ("gaussian", "METHODS = {'m': lambda q: gaussian(q, factor=0.5)}"),
        ("gaussian", "METHODS = {'m': lambda q: gaussian(q, factor=0.999)}"),
        ("pure", "METHODS = {'m': lambda q: basic(q, rate=0.5)}"),
        ("response", "METHODS = {'m': lambda q: basic(q, rate=0.2)}"),
        ("laplace", "METHODS = {'m': lambda q: basic(q, rate=0.2)}"),
        ("sampled", "METHODS = {'m': lambda q: sampled(q, removed=False)}"),
    ],
    ids=["count", "half", "thousandth", "pure", "response", "laplace", "direction"],
)
def test_a_broken_accountant_is_found(judgements, kind, code):
    found = judgements(code, questions(kind))
    under = [one for one in found if one.verdict == "under"]
    assert under
    for one in under:
        assert one.evidence
        asked = one.answer.question
        if asked.asks == "epsilon":
            assert one.true_delta > asked.at
            assert one.value < one.bracket.lower
    assert not any(one.verdict == "unconfirmed" for one in found)


def test_half_the_squares_is_told_apart_in_every_currency(judgements):
    found = judgements("METHODS = {'m': lambda q: gaussian(q, factor=0.5)}", questions("gaussian"))
    assert {one.answer.question.asks for one in found if one.verdict == "under"} == {
        "epsilon",
        "delta",
        "renyi",
        "noise",
    }


def test_a_replaced_record_moves_a_sum_twice_as_far(judgements):
    asked = questions("gaussian", asks=("epsilon",))
    found = judgements("METHODS = {'m': gaussian}", asked, relation="replace-record")
    assert "under" in verdicts(found)
    found = judgements(
        "METHODS = {'m': lambda q: gaussian(q, factor=4.0)}", asked, relation="replace-record"
    )
    assert not set(VIOLATIONS) & verdicts(found).keys()


def test_a_delta_that_forgets_the_count_is_found(judgements):
    code = """
def forgetting(question):
    found = parts(question, "approximate")
    if found is None or question["asks"] != "spent":
        return None
    (p,) = found
    return p["count"] * p["epsilon"], p["delta"]

METHODS = {"m": forgetting}
"""
    asked = [
        AccountantQuestion((make_release_part("approximate", 0.1, 0.01, count=n),), "spent")
        for n in (1, 1000)
    ]
    few, many = judgements(code, asked)
    assert (few.verdict, many.verdict) == ("sound", "under")
    assert many.true_delta == pytest.approx(1 - 0.99**1000, abs=1e-3)


def test_an_accountant_that_is_not_monotone_is_found(judgements):
    code = """
def jumping(question):
    answer = gaussian(question)
    return None if answer is None else answer * (9 if question["release"][0]["count"] == 10 else 1)

METHODS = {"m": jumping}
"""
    found = judgements(code, questions("gaussian", asks=("epsilon",)))
    assert not set(VIOLATIONS) & verdicts(found).keys()
    assert {one.coordinate for one in find_disorders(found)} == {"count"}


def test_bounds_are_judged_at_both_ends(judgements):
    code = """
def bounds(question):
    answer = gaussian(question)
    return None if answer is None else (answer * LOW, answer, answer * HIGH)

METHODS = {"m": bounds}
"""
    asked = questions("gaussian", asks=("epsilon",))
    sound = judgements("LOW, HIGH = 0.9, 1.1\n" + code, asked, states="bounds")
    assert verdicts(sound).keys() <= {"sound", "rounding"}
    above = judgements("LOW, HIGH = 1.05, 1.1\n" + code, asked, states="bounds")
    assert {"sound", "above"} <= verdicts(above).keys()
    assert "under" not in verdicts(above)
    under = judgements("LOW, HIGH = 0.8, 0.9\n" + code, asked, states="bounds")
    assert "under" in verdicts(under)
    assert "above" not in verdicts(under)


def test_an_estimate_is_off_and_refutes_nothing(judgements):
    code = "METHODS = {'m': lambda q: gaussian(q, factor=0.5)}"
    found = judgements(code, questions("gaussian", asks=("epsilon",)), states="estimate")
    assert verdicts(found).keys() <= {"off", "close"}
    assert "off" in verdicts(found)


@pytest.mark.parametrize(("factor", "verdict"), [(1.0, "close"), (1.5, "off"), (0.5, "off")])
def test_an_estimate_is_off_on_either_side(judgements, factor, verdict):
    code = f"METHODS = {{'m': lambda q: {factor} * gaussian(q)}}"
    asked = [one for one in questions("gaussian", asks=("epsilon",)) if one.at == 1e-5][:2]
    found = judgements(code, asked, states="estimate")
    assert verdicts(found).keys() == {verdict}


@pytest.mark.parametrize(
    ("delta", "second", "verdict"),
    [
        (1e-5, 1.1e-5, "under"),
        (1e-12, 1.1e-12, "under"),
        (1e-15, 2e-15, "rounding"),
        (1e-5, 1e-5, "unconfirmed"),
    ],
)
def test_what_rounding_explains_is_no_false_claim(delta, second, verdict):
    bracket = Bracket(1.0, 1.0)
    assert _by_delta(None, 0.9, bracket, (mpf(second), "a sum"), delta).verdict == verdict


@pytest.mark.parametrize(
    ("body", "verdict"),
    [
        ("return -1.0", "under"),  # equal outputs need delta 1 - 1/e
        ("return -1e-12", "negative"),
        ("return float('nan')", "nan"),
        ("return math.inf", "sound"),
        ("raise ValueError('no')", "raised"),
        ("import os; os._exit(3)", "died"),
        ("while True: pass", "slow"),
        ("return None", "nothing"),
    ],
)
def test_what_is_no_number_has_a_verdict_of_its_own(judgements, body, verdict):
    question = AccountantQuestion((make_release_part("gaussian", 1.0),))
    found = judgements(f"def m(q):\n    {body}\n\nMETHODS = {{'m': m}}", [question], seconds=1.0)
    assert [one.verdict for one in found] == [verdict]


def test_the_next_question_is_answered_after_one_that_ended_the_process(judgements):
    code = """
import os

def m(q):
    if q["at"] == 1e-9:
        os.kill(os.getpid(), 9)
    return gaussian(q)

METHODS = {"m": m}
"""
    asked = [
        AccountantQuestion((make_release_part("gaussian", 1.0),), at=delta)
        for delta in (1e-5, 1e-9, 1e-3)
    ]
    found = judgements(code, asked)
    assert [one.answer.outcome for one in found] == ["answer", "died", "answer"]
    assert found[1].answer.words.endswith("-9")


def test_a_difference_that_doubles_cannot_tell_is_rounding(judgements):
    code = "METHODS = {'m': lambda q: gaussian(q, factor=1 - 1e-9)}"
    found = judgements(code, questions("gaussian", asks=("epsilon",)))
    assert verdicts(found).keys() <= {"rounding", "sound"}  # sound where both are zero
    assert verdicts(found)["rounding"] > 20


def test_the_least_epsilon_that_is_infinite_is_asked_of_a_release_without_noise(judgements):
    code = "METHODS = {'m': lambda q: 1e6}"
    (found,) = judgements(code, [AccountantQuestion((make_release_part("gaussian", 0.0),))])
    assert (found.verdict, found.bracket.lower) == ("under", math.inf)


# Lower bounds of audits, where nothing leaks

AUDITS = """
from statistics import NormalDist


def errors(question, bound):
    import random
    rng = random.Random(0)
    draw = lambda: [rng.gauss(0, 1) for _ in range(60)]
    return sum(bound(draw(), draw(), question["at"]) > 0 for _ in range(200)), 200


def ordinary(there, others, confidence):
    gap = sum(there) / 60 - sum(others) / 60
    return gap - NormalDist().inv_cdf(confidence) * (2 / 60) ** 0.5


def either_sign(there, others, confidence):
    return abs(sum(there) / 60 - sum(others) / 60) - NormalDist().inv_cdf(confidence) * 0.1
"""


@pytest.mark.parametrize(("bound", "verdict"), [("ordinary", "sound"), ("either_sign", "above")])
def test_a_lower_bound_is_judged_by_how_often_it_errs(judgements, bound, verdict):
    asked = [one for one in make_question_grid() if one.asks == "errors"]
    code = f"{AUDITS}\nMETHODS = {{'m': lambda q: errors(q, {bound})}}"
    found = judgements(code, asked, states="lower bound")
    assert [one.verdict for one in found] == [verdict] * len(asked)
    assert find_disorders(found) == ()
    assert all(one.bracket.upper == pytest.approx(1 - one.answer.question.at) for one in found)
