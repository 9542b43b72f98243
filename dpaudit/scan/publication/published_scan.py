"""The public part of a scan: the person who ran it sees all of it, and others see this part.

A finding is public if a public thread is about it, or a person lifted the embargo
(`dpaudit.scan.publication.known_findings`). Of any other only the number is said. That has to hold
of everything that is published, so while one finding is withheld nothing is said of single subjects
beside the public findings: a list of what held, or of what was skipped, would name the subject by
leaving it out.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from pydantic import Field

from dpaudit.report.counts import ReportPart
from dpaudit.scan.certification.events import is_of_kind
from dpaudit.scan.finding import (
    Certainty,
    ClaimCheck,
    FloatingCheck,
    PackageEnvironment,
    ScanFinding,
    ScanResult,
    withheld_subjects,
)
from dpaudit.scan.publication.known_findings import PackageNotes, Peer, Thread


class PublicFinding(ReportPart):
    """A finding, and where it is known."""

    finding: ScanFinding
    threads: list[Thread] = Field(default=[])


class PublishedScan(ReportPart):
    """A scan of one release, as others may read it.

    While ``withheld`` is not 0, ``checked``, ``floating``, ``information``, ``skipped`` and
    ``notes`` are empty.
    """

    package: str
    distribution: str
    version: str
    home: str
    date: str
    dpaudit: str
    environment: PackageEnvironment
    certainty: Certainty
    checks: dict[str, int] = Field(description="How many checks were made, by kind.")
    subjects: list[str] = Field(description="All that were looked at, whatever was found.")
    findings: list[PublicFinding]
    withheld: int = Field(description="Findings under disclosure, of which nothing else is said.")
    checked: list[ClaimCheck]
    floating: list[FloatingCheck]
    information: list[ScanFinding]
    skipped: dict[str, str]
    without_verdict: int = Field(
        default_factory=lambda read: len(
            withheld_subjects(read["checked"], read["floating"], read["skipped"])
        ),
        description="Subjects of which the verdict on a claim is withheld.",
    )
    notes: list[str]
    peers: list[Peer]


def make_full_publication(result: ScanResult, known: PackageNotes) -> PublishedScan:
    """Return all of a scan, for who ran it."""
    findings = [_with_threads(one, known) for one in result.findings]
    return _make_published_document(result, known, findings, withheld=0)


def make_public_publication(
    result: ScanResult, known: PackageNotes, today: date | None = None
) -> PublishedScan:
    """Return the public part of a scan.

    Parameters
    ----------
    result
        The scan.
    known
        What a person states of the package.
    today
        For an embargo that ends on a date; the present day by default.
    """
    findings = [_with_threads(one, known) for one in result.findings]
    if known.lifted(today):
        return _make_published_document(result, known, findings, withheld=0)
    public = [_without_another_event(one) for one in findings if one.threads]
    # What nobody claims is no violation; its details wait for a thread all the same.
    with_thread = [one for one in result.information if known.threads_of(one)]
    # A note may say what looked worse than a claim, which is no finding and has no thread.
    fewer = result.model_copy(update={"information": with_thread, "notes": []})
    return _make_published_document(fewer, known, public, withheld=len(findings) - len(public))


def _with_threads(finding: ScanFinding, known: PackageNotes) -> PublicFinding:
    return PublicFinding(finding=finding, threads=known.threads_of(finding))


def _without_another_event(public: PublicFinding) -> PublicFinding:
    """Return a finding without a script that counts an event that its threads may not be about."""
    finding = public.finding
    if finding.reproduction_event is None or is_of_kind(finding.reproduction_event, finding.event):
        return public
    nothing = {"reproduction": None, "reproduced": None, "reproduction_event": None}
    return PublicFinding(finding=finding.model_copy(update=nothing), threads=public.threads)


def _make_published_document(
    result: ScanResult, known: PackageNotes, findings: Sequence[PublicFinding], withheld: int
) -> PublishedScan:
    everything = withheld == 0
    # All subjects are listed, skipped ones too: a list of those that ran would single out the
    # others.
    subjects = dict.fromkeys([*(one.subject for one in result.checked), *result.skipped])
    return PublishedScan(
        package=result.package,
        distribution=result.distribution,
        version=result.version,
        home=result.home,
        date=result.date,
        dpaudit=result.dpaudit,
        environment=result.environment,
        certainty=result.certainty,
        checks=dict(result.checks),
        subjects=list(subjects),
        findings=list(findings),
        withheld=withheld,
        checked=list(result.checked) if everything else [],
        floating=list(result.floating) if everything else [],
        information=list(result.information) if everything else [],
        skipped=dict(result.skipped) if everything else {},
        without_verdict=len(result.withheld),
        notes=result.remarks if everything else [],
        peers=list(known.peer),
    )
