"""Hypotheses of a scan of one subject: their candidates, and their outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dpaudit.extension.package import PackageClaim, Subject
from dpaudit.scan.candidates.pairs import FAMILIES, SubjectCandidate
from dpaudit.scan.certification.certify import CertifiedBound
from dpaudit.scan.certification.floating import FloatingRan
from dpaudit.scan.finding import FailedSearch


class Hypothesis(NamedTuple):
    """A hypothesis to certify, and its result: a claim on one pair."""

    candidate: SubjectCandidate
    claim: PackageClaim
    result: CertifiedBound


class WeighedClaim(NamedTuple):
    """A claim on a pair, and the nats by which second looks speak against it."""

    candidate: SubjectCandidate
    claim: PackageClaim
    nats: float


@dataclass
class Ran:
    """The outcome of one subject."""

    subject: Subject
    tested: list[Hypothesis] = field(default_factory=list)
    pairs: int = 0
    first: int = 0
    second: int = 0
    drawn: dict[str, int] = field(default_factory=dict)
    why: str = ""
    unreached: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    failed_searches: list[FailedSearch] = field(default_factory=list)
    declares_more: bool = False
    seconds: float = 0.0
    floating: FloatingRan = field(default_factory=FloatingRan)


def remarks_of(ran: Sequence[Ran]) -> dict[str, Any]:
    """Return the remarks on subjects beside their verdicts, as the document has them."""
    return {
        "unreached": [f"{one.subject.name}: {note}" for one in ran for note in one.unreached],
        "notes": [f"{one.subject.name}: {note}" for one in ran for note in one.notes],
        "failed_searches": [failed for one in ran for failed in one.failed_searches],
    }


def count_hypotheses(subject: Subject) -> int:
    """Return how many hypotheses a subject has, whatever is drawn."""
    settings, relations = len(subject.parameters), len(subject.relations)
    return settings * relations * len(FAMILIES) * len(subject.claims)
