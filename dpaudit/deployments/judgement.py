"""The verdict on a record: agrees, does not, or cannot be said because."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from dpaudit.deployments.check import Check
from dpaudit.deployments.conversions import check_conversions
from dpaudit.deployments.facts import RecordFacts
from dpaudit.deployments.naming import check_names
from dpaudit.deployments.noise import check_noise
from dpaudit.deployments.totals import check_totals
from dpaudit.report.counts import ReportPart

Verdict = Literal["agrees", "does not", "cannot be said"]


class RecordJudgement(ReportPart):
    """All that is said of one record."""

    facts: RecordFacts
    verdict: Verdict
    checks: list[Check]
    missing: list[str] = Field(description="Keys of what a reader needs and is not stated.")

    @property
    def discrepancies(self) -> list[Check]:
        """The comparisons that do not agree."""
        return [one for one in self.checks if one.outcome == "does not"]

    @property
    def reasons(self) -> list[Check]:
        """The comparisons that cannot be made."""
        return [one for one in self.checks if one.outcome == "cannot be said"]


def make_judgement(facts: RecordFacts) -> RecordJudgement:
    """Return the verdict on a record's facts, with every comparison that led to it.

    It *does not* agree if one comparison fails; it *agrees* if none fails, none is open, and one
    was made.

    Examples
    --------
    >>> from dpaudit.deployments.documents import DocumentScalar
    >>> from dpaudit.deployments.reading import facts_of
    >>> entries = [
    ...     DocumentScalar(("variant",), "pure"),
    ...     DocumentScalar(("epsilon",), "1"),
    ...     DocumentScalar(("delta",), "1e-6"),
    ... ]
    >>> judgement = make_judgement(facts_of(entries, "mine"))
    >>> judgement.verdict, judgement.discrepancies[0].code
    ('does not', 'pure-delta')
    """
    checks = list(_run_distinct_checks(facts))
    outcomes = {one.outcome for one in checks}
    verdict: Verdict = "cannot be said"
    if "does not" in outcomes:
        verdict = "does not"
    elif "agrees" in outcomes and "cannot be said" not in outcomes:
        verdict = "agrees"
    return RecordJudgement(
        facts=facts, verdict=verdict, checks=checks, missing=list(_find_missing_facts(facts))
    )


def _run_distinct_checks(facts: RecordFacts) -> Iterator[Check]:
    seen: set[tuple[str, str]] = set()
    found = (check_names, check_conversions, check_noise, check_totals)
    for check in (one for each in found for one in each(facts)):
        # A text that repeats a field is compared as the field is, in the same words: that counts
        # once.
        key = (check.code, check.words)
        if key not in seen:
            seen.add(key)
            yield check


def _find_missing_facts(facts: RecordFacts) -> Iterator[str]:
    """Yield the keys of missing statements that decide the meaning of the numbers."""
    if not facts.variants:
        yield "variant"
    if facts.field("epsilon") is None and facts.field("rho") is None and facts.field("mu") is None:
        yield "parameters"
    if not (facts.entities or facts.unit_periods):
        yield "unit"
    if not (facts.relations or facts.metrics):
        yield "relation"
    if not facts.model:
        yield "model"
    if not facts.mechanisms:
        yield "mechanism"
    if not any(_NOISE & {n.kind for n in scope.numbers} for scope in facts.scopes) and not any(
        one.kind in _NOISE for one in facts.fields
    ):
        yield "noise"
    if facts.releases != "one" and (not facts.composition or facts.composition == ["none-said"]):
        yield "composition"
    # Whether a delta is small depends on how many people there are.
    if facts.field("delta") is not None and facts.field("people") is None:
        yield "people"


_NOISE = frozenset({"scale", "sigma", "variance", "multiplier", "flip", "truth"})
