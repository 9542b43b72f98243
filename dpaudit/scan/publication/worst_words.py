"""The worst refutations of a scan, in words."""

from __future__ import annotations

from decimal import ROUND_FLOOR

from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.report.formatting import format_significant
from dpaudit.scan.hypotheses import Hypothesis, Ran
from dpaudit.scan.reproduction.values import format_expression


def find_refuted_relations(ran: Ran, claim: PackageClaim) -> set[str]:
    """Return the relations under which a claim was refuted, by records or by their digits."""
    numbers = [Hypothesis(pair, of, result) for _, pair, of, result in ran.floating.tested]
    return {
        one.candidate.relation
        for one in (*ran.tested, *numbers)
        if one.claim is claim and one.result.refuted
    }


def is_refuted_at(ran: Ran, setting: int, relation: str, claim: PackageClaim) -> bool:
    """Return whether ordinary records refuted a claim already, at a setting and a relation."""
    return any(
        one.result.refuted
        and one.claim is claim
        and one.candidate.setting == setting
        and one.candidate.relation == relation
        and one.candidate.family != "missing value"
        for one in ran.tested
    )


def format_refuted_setting(subject: Subject, one: Hypothesis) -> str:
    """Return under which relation and setting a claim was refuted."""
    given = format_expression(dict(subject.parameters[one.candidate.setting]))
    return f"{one.candidate.relation}: {given}"


def measure_claim_excess(one: Hypothesis) -> float:
    """Return by how much a certified epsilon exceeds the claimed one."""
    return one.result.lower - one.result.claimed


def _format_epsilon_down(lower: float) -> str:
    return format_significant(lower, rounding=ROUND_FLOOR)


def format_worst_sentence(subject: Subject, worst: Hypothesis) -> str:
    """Return a finding in a sentence: its event, its counts, its edit and its bound."""
    event, result = worst.result.event, worst.result
    assert event is not None
    return (
        f"{subject.name}: {event.words} in {event.on_dataset} of {event.runs} outputs on the "
        f"dataset and in {event.on_neighbour} of {event.runs} on its neighbour "
        f"({worst.candidate.edit}); epsilon is at least {_format_epsilon_down(result.lower)} at "
        "delta "
        f"{format_significant(result.at_delta)}, where {format_significant(result.claimed)} is "
        "claimed."
    )
