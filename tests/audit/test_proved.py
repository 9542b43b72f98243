"""When a claim is *proved*: by a theorem for all neighbours whose assumptions hold."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from dpaudit.auditing.outcome.declared_release import proof_of
from dpaudit.auditing.outcome.evidence import MeasurementEvidence
from dpaudit.auditing.outcome.result import privacy_result
from dpaudit.auditing.outcome.search_result import search_result
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof, SearchCase
from dpaudit.extension.claim import Statement
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP, PureDP
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.refutation import WorstInstance
from dpaudit.report.document import read_report
from dpaudit.report.formatting import as_certain, format_percent, value_of
from dpaudit.verdicts import STATUSES, judge_claimed_number

REPORTS = Path(__file__).parents[2] / "reports"
HOLDS = AssumptionOutcome(name="bounded", holds=True, evidence="seen")
WORDS = Statement(
    name="a-claim",
    title="A claim",
    statement="something is private",
    source="somebody",
    kind="privacy",
    relation="replace-record",
    assumptions={"bounded": "records are bounded"},
)


def a_case(**changed):
    given = {
        "mechanism": None,
        "pair": Pair(np.zeros(2), np.array([0.0, 1.0]), REPLACE_RECORD),
        "claimed": ApproximateDP(1.0, 0.0),
        "at_delta": 0.0,
        "view": "all",
        "data": "two records",
        "default_trials": 100,
        "parameters": {},
        "assumptions": (HOLDS,),
        "proved": Proof(guarantee=PureDP(0.75), source="a theorem"),
    }
    return PrivacyCase(**(given | changed))


def judged(case, lower=0.5):
    evidence = MeasurementEvidence(
        lower=lower,
        upper=None,
        estimate=None,
        estimator="event",
        trials=100,
        budget={"all": 0.05},
        counts={},
        epsilons=(0.0, 1.0),
    )
    return privacy_result(WORDS, case, evidence, Settings(), "again")


def test_a_theorem_within_the_claim_proves_it():
    result = judged(a_case())
    assert (result.verdict, STATUSES[result.verdict]) == ("proved", 0)
    assert "proves at most 0.75" in result.reason
    assert "not evidence" not in result.reason


@pytest.mark.parametrize(
    "changed",
    [
        {"proved": None},
        {"proved": None, "pair_ceiling": Proof(guarantee=PureDP(0.75), source="this pair")},
        {"proved": Proof(guarantee=PureDP(0.75), source="a release", declared=True)},
        {"proved": Proof(guarantee=PureDP(math.nextafter(1.0, 2)), source="a theorem")},
        {"assumptions": (HOLDS, replace(HOLDS, name="public", holds=False))},
    ],
    ids=["none", "of the pair", "as declared", "above the claim", "an assumption"],
)
def test_what_proves_another_thing_proves_no_claim(changed):
    assert judged(a_case(**changed)).verdict == "not refuted"


def test_a_run_contradicts_a_proof_below_it_and_the_claim_above_it_stands():
    between = judged(a_case(), lower=0.8)
    assert between.verdict == "not refuted"
    assert "either the proof or the law is wrong" in between.reason
    assert judged(a_case(), lower=1.1).verdict == "refuted"


def searched(value, bound, proved, **changed):
    case = SearchCase(
        bound=1.0,
        attain=lambda budget, rng: None,
        view="all",
        data="none",
        relation="replace-record",
        pair="none",
        default_trials=1,
        parameters={},
        quantity="a number",
        assumptions=changed.pop("assumptions", (HOLDS,)),
        proved=None if proved is None else (proved, "a theorem"),
    )
    attained = WorstInstance(value=value, bound=bound, instance="here", scale=1.0, **changed)
    words = Statement(**(vars(WORDS) | {"kind": "property"}))
    return search_result(words, case, attained, Settings(), 1, "again").verdict


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ((0.5, 1.0, 1.0), "proved"),
        ((1.0, 1.0, 1.0), "proved"),
        ((0.5, 1.0, None), "not refuted"),
        ((0.5, 1.0, 1.01), "not refuted"),
        ((0.5, 2.0, 1.01), "not refuted"),  # the claim's own bound is 1
        ((0.5, 0.7, 0.8), "not refuted"),  # and that of the instance less
        ((0.6, 1.0, 0.5), "not refuted"),  # what was found contradicts the proof
        ((1.1, 1.0, 1.0), "refuted"),
    ],
)
def test_a_search_is_judged_beside_its_proof(given, verdict):
    assert searched(*given) == verdict


def test_a_proof_that_only_reaches_a_strict_bound_does_not_prove_it():
    assert searched(0.5, 1.0, 1.0, strict=True) == "not refuted"
    assert searched(0.5, 1.0, 0.9, strict=True) == "proved"


def test_a_proof_whose_assumption_fails_proves_nothing():
    assert searched(0.5, 1.0, 0.9, assumptions=(replace(HOLDS, holds=False),)) == "not refuted"


def test_negative_numbers_are_judged_alike():
    assert judge_claimed_number(claimed=-1.0, lower=-2.0, proved=-1.5) == "proved"
    assert judge_claimed_number(claimed=-1.0, lower=-1.2, proved=-1.5) == "not refuted"
    assert judge_claimed_number(claimed=0.0, lower=math.nan, proved=0.0) == "not refuted"


def test_published_reports_say_proved_where_their_three_numbers_do():
    proved = 0
    for path in sorted(REPORTS.glob("*/report.json")):
        for result in read_report(path).results:
            numbers = (value_of(one, result.kind) for one in (result.claimed, result.proved))
            claimed, least = numbers
            if least is None or not all(one.holds for one in result.assumptions):
                assert result.verdict != "proved", path
            elif result.verdict != "refuted":
                stands = least <= claimed and not (result.claimed.strict and least == claimed)
                assert result.verdict == ("proved" if stands else "not refuted"), path
            proved += result.verdict == "proved"
    assert proved > 20


@pytest.mark.parametrize(
    ("confidence", "shown"),
    [(0.95, "95%"), (0.9, "90%"), (0.999, "99.9%"), (0.99999, "99.999%"), (1 - 1 / 3, "66.66%")],
)
def test_a_confidence_is_shown_as_it_was_asked_for_or_rounded_down(confidence, shown):
    assert format_percent(confidence) == shown


@pytest.mark.parametrize("seed", range(3))
def test_no_confidence_is_shown_above_what_it_is(seed):
    for power in np.random.default_rng(seed).uniform(-14, -0.1, 300):
        confidence = 1 - 10**power
        text = as_certain(confidence)
        if text.endswith("%"):
            assert float(text[:-1]) <= 100 * confidence * (1 + 1e-11)
        else:
            assert float(text.removeprefix("1 - ")) >= (1 - confidence) * (1 - 1e-11) - 1e-16
        assert "100%" not in text


def test_what_is_proved_of_several_declared_releases_is_of_all_of_them_in_any_order():
    one = {"kind": "gaussian", "noise_scale": 2.0}
    two = {"kind": "laplace", "noise_scale": 4.0}
    proved = [proof_of(tables).guarantee.epsilon(1e-5) for tables in ([one, two], [two, one])]
    assert proved[0] == pytest.approx(proved[1], rel=1e-9)
    alone = [proof_of(table).guarantee.epsilon(1e-5) for table in (one, [one], two)]
    assert max(alone) + 0.1 < proved[0] < alone[0] + alone[2]
    pure = [dict(two), {"kind": "laplace", "noise_scale": 2.0}]
    assert proof_of(pure).guarantee.epsilon(0.0) == pytest.approx(0.75)
