"""The published reports are about the cases that the cards prepare: nothing is run for it."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import dpaudit.extension.registry as registry
from dpaudit.auditing.run import prepare_claim
from dpaudit.cli.publish import _get_published_standing, get_published_settings
from dpaudit.extension.case import PrivacyCase
from dpaudit.report.document import read_report
from dpaudit.report.formatting import value_of

REPORTS = Path(__file__).parents[2] / "reports"
CLAIMS = """
    hu2019-convergence hu2019-corollary1 hu2019-equation42 hu2019-lemma1 hu2019-lemma2
    hu2019-lemma3 hu2019-lemma4 hu2019-lemma5 hu2019-theorem1 hu2020-assumption1 hu2020-corollary1
    hu2020-density hu2020-equation12 hu2020-lemma1 hu2020-theorem1 huang2020-broadcast
    huang2020-definition3 huang2020-equation29 huang2020-equation30 huang2020-equation32
    huang2020-equation33 huang2020-equation34 huang2020-equation36 huang2020-inner-steps
    huang2020-lemma5 huang2020-note1 huang2020-section42 huang2020-theorem4 huang2020-theorem6
    huang2020-theorem7 tables-equation38 tables-theorem1 tables-theorem2 zhang2018-appendixE
    zhang2018-broadcasts zhang2018-equation23 zhang2018-footnote4 zhang2018-section3
    zhang2018-section62 zhang2018-theorem31 zhang2018-theorem32 zhang2018-theorem41
""".split()
CASES = [
    (name, place, variant, settings)
    for name in CLAIMS
    for place, (variant, settings) in enumerate(
        get_published_settings(registry.CLAIMS.get(name), {})
    )
]
# Compositions that take half a second or more to be computed.
LONG = {
    ("hu2020-theorem1", None),
    ("hu2020-theorem1", "corrected sensitivity"),
    ("hu2020-corollary1", "composition alone"),
}


def marked(case):
    name, _, variant, _ = case
    slow = [pytest.mark.slow] if (name, variant) in LONG else []
    return pytest.param(*case, marks=slow, id=f"{name}-{variant}")


@cache
def results_of(name):
    return read_report(REPORTS / name / "report.json").results


def test_all_claims_are_looked_at():
    assert sorted(CLAIMS) == sorted(registry.CLAIMS)


@pytest.mark.parametrize(("name", "place", "variant", "settings"), [*map(marked, CASES)])
def test_a_report_is_about_the_case_of_its_card(name, place, variant, settings):
    claim, result = registry.CLAIMS.get(name), results_of(name)[place]
    case = prepare_claim(name, settings).case
    assert (result.variant, result.standing) == (variant, _get_published_standing(claim, variant))
    assert (result.kind, result.source) == (claim.kind, claim.source)
    own = claim if variant is None else claim.published[variant]
    assert (result.scope or "") == own.scope
    assert (result.view, result.data, result.seed) == (case.view, case.data, settings.seed)
    assert result.trials == settings.trials or result.trials == case.default_trials
    assert result.parameters == json.loads(json.dumps(dict(case.parameters)))
    words = claim.assumptions
    assumed = [(one.name, words.get(one.name, one.name), one.holds) for one in case.assumptions]
    assert [(one.name, one.statement, one.holds) for one in result.assumptions] == assumed
    assert result.notes[: len(case.notes)] == list(case.notes)
    said = said_of_privacy(case) if isinstance(case, PrivacyCase) else said_of_search(case)
    assert {name: said_of_report(result)[name] for name in said} == said


def said_of_privacy(case):
    """Return the relation, the pair, what is claimed and what is proved, as reports have them."""
    proved, relation = case.proved, case.pair.relation
    epsilon = proved and pytest.approx(proved.guarantee.epsilon(case.at_delta), rel=1e-9)
    return {
        "relation": relation.name,
        "pair": f"{relation.statement} (index {case.pair.index})",
        "claimed": case.claimed.epsilon(case.at_delta),
        "delta": case.at_delta,
        "proved": epsilon,
        "because": proved and proved.source,
    }


def said_of_search(case):
    """Return the same, and what is bounded; the bound may be another for every instance."""
    proved, source = case.proved or (None, None)
    return {
        "relation": case.relation,
        "pair": case.pair,
        "quantity": case.quantity,
        "proved": proved and pytest.approx(proved, rel=1e-9),
        "because": source,
    }


def said_of_report(result):
    proved = result.proved
    return {
        "relation": result.relation,
        "pair": result.pair,
        "quantity": result.quantity,
        "claimed": value_of(result.claimed, result.kind),
        "delta": result.claimed.delta,
        "proved": None if proved is None else value_of(proved, result.kind),
        "because": None if proved is None else proved.source,
    }
