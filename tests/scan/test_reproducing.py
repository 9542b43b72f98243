"""The numbers of a reproduction: on how many runs, at which error probability, of which claim."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.scan.reproduction.reproduction as reproduction
from dpaudit.errors import InvalidArgument
from dpaudit.extension.package import PackageClaim
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP, ZeroConcentratedDP
from dpaudit.scan.certification.events import (
    ExpressionEvent,
    best_event,
    deltas_of,
    is_guarantee_refuted,
    is_of_kind,
)
from dpaudit.scan.finding import SeenEvent, make_claimed_guarantee
from dpaudit.scan.reproduction.reproduction import (
    CONFIDENCE,
    _Case,
    _find_refuting_script,
    _generate_record_subsets,
    _round_dataset,
    _rounder_records,
    _rounder_setting,
    _Study,
    claim_of,
    find_needed_outputs,
)

CLAIM = PackageClaim(epsilon="epsilon", where="its docstring")


def event(hits, runs=(100, 100), promised=2.0, topic="number"):
    return ExpressionEvent("out > 0.5", hits, runs, promised, 1, topic)


# On how many runs


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("hits", "claim"),
    [((90, 10), PureDP(1.0)), ((60, 0), PureDP(2.0)), ((90, 10), ApproximateDP(0.5, 0.3))],
)
def test_so_many_runs_are_needed_that_somewhat_worse_counts_refute(turned, hits, claim):
    """One standard error worse as a rate, and one more as a count, either side favoured."""
    rates = np.array(hits) / 100
    spread = np.sqrt(np.where(rates % 1 > 0, np.maximum(rates * (1 - rates), 0.01), 0) / 100)
    worse = rates + spread * [-1, 1]
    expected = None
    for runs in reproduction._LADDER:
        slack = np.sqrt(worse * (1 - worse) * runs)
        counts = np.round(worse * runs + slack * [-1, 1]).astype(int)
        if is_guarantee_refuted(tuple(map(int, counts)), (runs, runs), claim, 1e-4):
            expected = runs
            break
    assert expected is not None
    found = find_needed_outputs(event(hits[::-1] if turned else hits), claim)
    assert found == expected


@pytest.mark.parametrize("hits", [(50, 50), (0, 0), (100, 100), (52, 50), (50, 52)])
def test_an_event_that_shows_nothing_needs_more_runs_than_there_can_be(hits):
    assert find_needed_outputs(event(hits), PureDP(0.5)) is None


@pytest.mark.slow
def test_a_shift_that_is_worth_more_than_the_claim_needs_fewer_runs_than_one_that_hardly_is():
    found = [find_needed_outputs(event((95, 5)), PureDP(claim)) for claim in (0.5, 1.0, 2.0)]
    assert found == sorted(found)
    assert found[0] < found[-1]


# At which deltas, and what refutes


@pytest.mark.parametrize(
    ("claim", "deltas"),
    [
        (PureDP(1.0), (0.0,)),
        (ApproximateDP(1.0, 1e-5), (1e-5,)),
        (ApproximateDP(1.0, 0.0), (0.0,)),
        (GaussianDP(1.0), (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.2)),
        (ZeroConcentratedDP(1.0), (1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.05, 0.2)),
    ],
)
def test_a_claim_is_tried_at_its_own_delta_or_along_its_curve(claim, deltas):
    assert deltas_of(claim) == deltas


def test_equal_rates_refute_nothing_and_no_run_is_none():
    assert not is_guarantee_refuted((50, 50), (100, 100), PureDP(0.0), 0.5)
    assert not is_guarantee_refuted((0, 0), (100, 100), PureDP(0.0), 0.5)
    assert not is_guarantee_refuted((100, 100), (100, 100), PureDP(0.0), 0.5)
    assert is_guarantee_refuted((60, 40), (100, 100), PureDP(0.0), 0.5)


# What is shipped


@pytest.fixture
def ran(monkeypatch):
    """Return a study's place: scripts are not run, and print what is asked for."""
    seen = SimpleNamespace(printed=[], alphas=[], texts=[], seconds=[])

    def run(text, seconds):
        seen.texts.append(text)
        seen.seconds.append(seconds)
        return seen.printed.pop(0)

    def judge(hits, runs, guarantee, alpha):
        seen.alphas.append(alpha)
        return is_guarantee_refuted(hits, runs, guarantee, alpha)

    monkeypatch.setattr(reproduction, "is_guarantee_refuted", judge)
    source = "def noisy(data, epsilon):\n    return sum(data)\n"
    seen.installed = SimpleNamespace(
        code=SimpleNamespace(read_text=lambda encoding: source), run=run
    )
    return seen


def said(a, b, n=100, m=100):
    counted = f"{a} of {n} outputs on the first, {b} of {m} on the second"
    return f"seen in {counted}; claimed: epsilon = 1\n"


def shipped(ran, *printed, runs=100):
    ran.printed = list(printed)
    case = _Case({"epsilon": 1.0}, ([0.0], [1.0]), event((0, 100)), runs, PureDP(1.0))
    finding = SimpleNamespace(code="noisy")
    return _find_refuting_script(case, finding, CLAIM, ran.installed, math.inf)


def test_what_a_script_printed_has_to_refute_at_the_confidence_of_reproductions(ran):
    found = shipped(ran, said(0, 100))
    assert (found.hits, found.runs) == ((0, 100), (100, 100))
    assert (found.printed, found.claimed) == (said(0, 100), "epsilon = 1")
    assert ran.alphas == [pytest.approx(0.001 / 4)]


def test_all_scripts_that_may_be_tried_share_the_error_probability(ran):
    """Two numbers of runs of the smaller case, and two of the first."""
    assert shipped(ran, said(30, 60), said(30, 60)) is None
    assert shipped(ran, said(30, 60), said(30, 60)) is None
    assert len(ran.alphas) == 4
    assert sum(ran.alphas) <= (1 - CONFIDENCE) * (1 + 1e-9)


def test_counts_that_do_not_refute_are_shipped_by_nobody_and_tried_once_more(ran):
    assert shipped(ran, said(30, 60), said(60, 120, 200, 200)) is None
    assert len(ran.texts) == 2
    assert "), 100\n" in ran.texts[0]
    assert "), 200\n" in ran.texts[1]
    assert shipped(ran, said(30, 60), said(0, 200, 200, 200)).runs == (200, 200)


@pytest.mark.parametrize("printed", [None, "", "nothing of the kind", "seen in 3 of 4 outputs"])
def test_a_script_that_printed_no_counts_is_not_shipped(ran, printed):
    assert shipped(ran, printed, said(0, 200)) is None


# What is tried


def parts(values):
    return [{"out": ["number", float(one)]} for one in values]


@pytest.mark.parametrize(("claim", "shown"), [(PureDP(1.0), True), (PureDP(4.0), False)])
def test_a_case_is_kept_where_its_event_refutes(claim, shown):
    asked = []

    def draw(parameters, datasets, runs, seconds):
        asked.append((runs, seconds))
        return parts([0.0] * runs), parts([1.0] * runs)

    bench = SimpleNamespace(parts=draw, left=10.0)
    study = _Study(
        bench, PackageClaim(epsilon=claim.at_epsilon, where="it"), False, "", lambda *_: True
    )
    case = study.tried({"epsilon": 1.0}, ([0.0], [1.0]))
    assert case is not None
    assert case.guarantee == claim
    assert is_guarantee_refuted((0, case.runs), (case.runs, case.runs), claim, 1e-4)
    assert [runs for runs, _ in asked] == ([40] if shown else [40, 400, 4000])
    assert {seconds for _, seconds in asked} == {1.0}  # a tenth of what is left


def test_of_data_that_are_not_allowed_nothing_is_tried():
    def draw(*_):
        raise AssertionError("drawn")

    for refused in ([0.0], [1.0]):
        study = _Study(
            SimpleNamespace(parts=draw, left=10.0),
            CLAIM,
            False,
            "",
            lambda data, _, bad=refused: data != bad,
        )
        assert study.tried({"epsilon": 1.0}, ([0.0], [1.0])) is None


@pytest.mark.parametrize(
    ("topic", "runs", "kept"), [("number", 200, True), ("NaN", 200, False), ("number", 500, False)]
)
def test_a_smaller_case_shows_the_same_on_as_few_runs(monkeypatch, topic, runs, kept):
    case = _Case({}, ([0.0, 1.0], [0.0]), event((0, 100)), 100, PureDP(1.0))
    found = _Case({}, ([1.0], []), event((0, 100), topic=topic), runs, PureDP(1.0))
    study = _Study(None, CLAIM, False, "", None)
    monkeypatch.setattr(_Study, "tried", lambda *_: found)
    assert study._first(case, lambda _: iter([({}, ([1.0], []))]), math.inf) is (
        found if kept else None
    )
    assert study._first(case, lambda _: iter([({}, ([1.0], []))]), -math.inf) is None


# What is smaller and rounder


@pytest.mark.parametrize(
    ("size", "kept"),
    [
        (0, []),
        (1, [[]]),
        (2, [[], [1], [0]]),
        (4, [[], [2, 3], [0, 1], [1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]),
    ],
)
def test_records_are_left_out_all_then_by_halves_then_one_by_one(size, kept):
    assert list(_generate_record_subsets(size)) == kept


def test_numbers_are_rounded_and_stay_within_what_was_there():
    assert _round_dataset([0.44, 0.66, 1], 0, 0.2, 0.9) == [0.2, 0.9, 1]
    assert _round_dataset((0.44, {"a": 0.66}), 1, 0.0, 1.0) == (0.4, {"a": 0.7})
    assert _round_dataset(math.inf, 0, 0.0, 1.0) == math.inf
    rounder = _round_dataset(np.array([0.44, math.nan, -math.inf, 7.0]), 0, 0.2, 0.9)
    np.testing.assert_array_equal(rounder, [0.2, math.nan, -math.inf, 0.9])


def test_rounder_pairs_are_of_the_relation_and_shorter():
    case = _Case({}, ([0.25, 0.125], [0.25, 0.875]), event((0, 100)), 100, PureDP(1.0))
    found = [pair for _, pair in _rounder_records("replace-record", lambda _: (0.0, 1.0))(case)]
    assert found == [
        ([0.0, 0.0], [0.0, 1.0]),
        ([0.2, 0.1], [0.2, 0.9]),
        ([0.25, 0.12], [0.25, 0.88]),
    ]


def test_a_setting_is_rounded_to_1_where_it_is_an_epsilon_else_to_one_digit():
    case = _Case(
        {"epsilon": 2.25, "scale": 0.37, "count": 12},
        ([], []),
        event((0, 100)),
        100,
        PureDP(2.25),
    )
    found = [given for given, _ in _rounder_setting(CLAIM)(case)]
    assert found == [
        {"epsilon": 1.0, "scale": 0.37, "count": 12},
        {"epsilon": 2.0, "scale": 0.37, "count": 12},
    ]


def test_the_claim_of_a_finding_is_the_one_that_says_the_same_in_the_same_place():
    one, other = CLAIM, PackageClaim(epsilon=2.0, where="elsewhere")
    subject = SimpleNamespace(name="x", claims=(one, other))
    for claim in (one, other):
        claimed = make_claimed_guarantee(claim, {"epsilon": 2.0})
        finding = SimpleNamespace(parameters="{'epsilon': 2.0}", claimed=claimed)
        assert claim_of(finding, subject) is claim
    moved = make_claimed_guarantee(one, {"epsilon": 3.0})
    with pytest.raises(InvalidArgument):
        claim_of(SimpleNamespace(parameters="{'epsilon': 2.0}", claimed=moved), subject)


# Which event


def seen(test="equals", value="nan", part="output", words=""):
    return SeenEvent(
        words=words, part=part, test=test, value=value, on_dataset=0, on_neighbour=9, runs=9
    )


@pytest.mark.parametrize(
    ("expression", "event", "same"),
    [
        ("out != out", seen(), True),
        ("out == out", seen(), True),
        ("out != out", seen(value="inf"), False),
        ('abs(out) == float("inf")', seen(value="inf"), True),
        ('abs(out) == float("inf")', seen(value="-inf"), True),
        ('abs(out) == float("inf")', seen(), False),
        ("type(out).__name__ == 'KeyError'", seen("raised", "KeyError"), True),
        ("type(out).__name__ == 'KeyError'", seen(), False),
        ("'key' in str(out)", seen("raised", "KeyError"), True),
        ("'key' in str(out)", seen("above", 2.0), False),
        ("out > 3.0", seen("raised", "KeyError"), False),
        ("out['mean'] > 3.0", seen("above", 2.0, "output['mean']"), True),
        ("out['mode'] > 3.0", seen("above", 2.0, "output['mean']"), False),
        ("out['mean'] != out['mean']", seen("above", 2.0, "output['mean']"), False),
        ("out > 3.0", seen("above", 2.0, "warnings[0]"), False),
        ("out > 3.0", seen("above", 2.0, words="warnings are new"), False),
        ("not isinstance(out, Exception) and out != out", seen(), True),
    ],
)
def test_a_script_asks_for_the_same_oddity_or_part_as_the_finding(expression, event, same):
    assert is_of_kind(expression, event) is same


def test_of_events_that_promise_as_much_the_plainest_is_taken_and_else_the_most_telling():
    """One length of ten differs always; a number, which is less plain, most of the time."""
    sides = [
        [{"len(out)": ["number", 1.0], "out[0]": ["number", 0.0]}] * 50,
        [{"len(out)": ["number", 2.0], "out[0]": ["number", 9.0]}] * 50,
    ]
    assert best_event(sides, 0.0).expression.startswith("len(out)")
    weaker = [dict(one) for one in sides[1]]
    for one in weaker[:25]:
        one["len(out)"] = ["number", 1.0]
    found = best_event([sides[0], weaker], 0.0)
    assert found.expression.startswith("out[0]")
    assert found.hits in ((50, 0), (0, 50))
    preferred = [
        [{"a": ["number", 0.0], "b": ["number", 0.0]}] * 50,
        [{"a": ["number", 1.0], "b": ["number", 1.0]}] * 50,
    ]
    for part in ("a", "b"):
        assert best_event(preferred, 0.0, part=part).expression.startswith(part)
