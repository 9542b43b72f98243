"""A claim that is stated a unit of distance, as the claim on each pair that it is audited on."""

from __future__ import annotations

from dataclasses import replace

import dpaudit.auditing.outcome.claims as claims
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.case import DistanceClaim, PrivacyCase
from dpaudit.guarantees.currency import currency_of
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, Guarantee, ZeroConcentratedDP
from dpaudit.guarantees.scaling import at_distance
from dpaudit.mechanisms.foreign.distance_calls import distances_of
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import Metric, compare
from dpaudit.report.formatting import format_significant
from dpaudit.report.schema import AUnit as InDocument
from dpaudit.report.schema import Result


def at_distances(case: PrivacyCase, isolation: Isolation | None = None) -> PrivacyCase:
    """Return a case with a claim a unit of distance scaled to the distance of each of its pairs.

    Parameters
    ----------
    case
        Whose claim is that of one unit; of another relation it is returned as it is.
    isolation
        Where somebody's own distance runs.

    Raises
    ------
    InvalidArgument
        The datasets of a pair are at no distance, or nobody knows what the claim is at it.
    """
    metric = case.pair.relation
    if not isinstance(metric, Metric):
        return case
    if case.proved is not None:
        expected = (
            "no release beside a claim per unit of distance: accountants prove guarantees for "
            "neighbours only"
        )
        raise InvalidArgument("release", VerbatimText("a release"), expected)
    cases = [case, *case.candidates]
    if any(one.pair.relation != metric for one in cases):
        raise InvalidArgument("pairs", VerbatimText("several distances"), "pairs of one distance")
    apart = distances_of(metric, [one.pair for one in cases], isolation)
    first, *others = map(_scale_case_claim, cases, apart)
    return replace(first, candidates=tuple(others))


def _scale_case_claim(case: PrivacyCase, apart: float) -> PrivacyCase:
    """Return a case of one pair with the claim scaled to its distance."""
    claimed = claims.resolve_guarantee(None, 0.0, at_distance(case.claimed, apart))
    metric = case.pair.relation
    assert isinstance(metric, Metric)
    return replace(
        case,
        claimed=claimed,
        at_delta=claims.at_delta(claimed),
        currency=currency_of(claimed),
        a_unit=DistanceClaim(claimed=case.claimed, distance=metric.distance, apart=apart),
    )


def number_of(claim: Guarantee) -> float:
    """Return the number of a claim that may be stated a unit of distance."""
    match claim:
        case ApproximateDP(at_epsilon=value) | GaussianDP(mu=value) | ZeroConcentratedDP(rho=value):
            return value
    raise InvalidArgument("claim", VerbatimText(type(claim).__name__), "epsilon, mu or rho")


def in_document(case: PrivacyCase) -> InDocument | None:
    """Return the claim for one unit of distance, as a report has it; None for another claim."""
    if (a_unit := case.a_unit) is None:
        return None
    return InDocument(
        distance=a_unit.distance, claimed=number_of(a_unit.claimed), apart=a_unit.apart
    )


def of_pair(case: PrivacyCase) -> str:
    """Return one line on the difference of a pair, or on the distance between its two datasets."""
    if (a_unit := case.a_unit) is None:
        return compare(case.pair)
    return f"two datasets that are {format_significant(a_unit.apart)} apart ({a_unit.distance})"


def format_pair_distance(result: Result) -> str | None:
    """Return the distance between two datasets, and so the claim about them, in one sentence."""
    if (a_unit := result.a_unit) is None:
        return None
    return (
        f"The two are {format_significant(a_unit.apart)} apart ({a_unit.distance}), at "
        f"{format_significant(a_unit.claimed)} a unit."
    )
