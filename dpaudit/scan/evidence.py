"""Evidence behind the findings of a scan: a reproduction of each, pages, drafts of issues."""

from __future__ import annotations

import itertools
import math
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path

import dpaudit._check as check
from dpaudit.execution import Progress, Silent, available_cores
from dpaudit.extension.package import Package, Subject
from dpaudit.scan.finding import ScanFinding, ScanResult
from dpaudit.scan.publication.disclosure import write_drafts
from dpaudit.scan.publication.gallery import publish_scan, write_scan
from dpaudit.scan.publication.known_findings import PackageNotes
from dpaudit.scan.remote.bench import InstalledPackage
from dpaudit.scan.remote.environments import place_of
from dpaudit.scan.reproduction.reproduction import find_smallest_reproduction
from dpaudit.scan.scan import file_of
from dpaudit.scan.write import write_scan_json

# Seconds for the script of one finding.
_SECONDS = 120.0  # at most
_LEAST = 1.0  # below which there is no use to begin


@dataclass(frozen=True, kw_only=True)
class ScanFiles:
    """The files of a scan: its page, its drafts, and its page in the gallery."""

    page: Path | None
    drafts: tuple[Path, ...]
    published: Path | None


def with_reproductions(
    result: ScanResult,
    package: Package,
    env: str | None = None,
    progress: Progress | None = None,
    seconds: float = math.inf,
    workers: int | None = None,
) -> ScanResult:
    """Return a scan whose findings have their reproductions, as far as a script shows them.

    Parameters
    ----------
    result, package, env
        The scan, and what was scanned where.
    progress
        Is told of findings as they are done.
    seconds
        For all of them; those that are not reached have none, and a note says so.
    workers
        Findings at a time; every core by default.
    """
    if not result.findings:
        return result
    processes = (
        available_cores() if workers is None else check.require_integer("workers", workers, least=1)
    )
    place = place_of(package, env)
    installed = InstalledPackage(python=Path(place.command), code=Path(file_of(package)))
    progress = progress or Silent()
    progress.start("reproducing", len(result.findings))
    until = time.monotonic() + seconds
    run = _Reproducing({one.name: one for one in package.subjects}, installed, until, processes)
    findings = run.all(result.findings, progress)
    left = [
        f"{one.subject}: no standalone script reproduces the finding, or there was no time for one"
        for one in findings
        if one.reproduction is None
    ]
    return result.model_copy(update={"findings": findings, "notes": [*result.notes, *left]})


@dataclass(frozen=True)
class _Reproducing:
    subjects: Mapping[str, Subject]
    installed: InstalledPackage
    until: float
    workers: int

    def all(self, findings: Sequence[ScanFinding], progress: Progress) -> list[ScanFinding]:
        """Return the findings with their scripts; they share the time that is left."""
        lock, waiting = threading.Lock(), itertools.count(len(findings), -1)

        def one(finding: ScanFinding) -> ScanFinding:
            with lock:
                left = next(waiting)
            # As many findings as there are workers run at a time, so that each may take that
            # multiple of an equal share of what is left.
            share = (self.until - time.monotonic()) * min(self.workers, left) / left
            found = self._one(finding, min(_SECONDS, share))
            with lock:
                progress.advance(1)
            return found

        with ThreadPoolExecutor(min(self.workers, len(findings))) as pool:
            # A thread of a pool starts without the caller's context variables, which say what
            # is redacted. One context cannot be entered by two threads, so that each finding
            # has a copy.
            contexts = [copy_context() for _ in findings]
            return list(pool.map(lambda of, given: of.run(one, given), contexts, findings))

    def _one(self, finding: ScanFinding, seconds: float) -> ScanFinding:
        if seconds < _LEAST:
            return finding
        subject = self.subjects[finding.subject]
        found = find_smallest_reproduction(finding, subject, self.installed, seconds=seconds)
        if found is None:
            return finding
        update = {
            "reproduction": found.script,
            "reproduced": found.printed,
            "reproduction_event": found.event,
        }
        return finding.model_copy(update=update)


def write_scan_evidence(
    result: ScanResult, out: Path | None, gallery: Path | None, disclosure: Path
) -> ScanFiles:
    """Write all that was asked for.

    Parameters
    ----------
    result
        The scan, with its reproductions.
    out
        Where the whole report goes, if anywhere.
    gallery
        Where what is public goes, if anywhere; its ``PACKAGE.toml`` states threads.
    disclosure
        Where drafts of issues go, one for each finding.

    Raises
    ------
    DataError
        A file cannot be read or written.
    """
    known = (
        PackageNotes() if gallery is None else PackageNotes.read(gallery / f"{result.package}.toml")
    )
    page = None
    if out is not None:
        write_scan_json(result, out)
        page = write_scan(result, out, known)
    drafts = write_drafts(result, disclosure, known)
    published = None if gallery is None else publish_scan(result, gallery)
    return ScanFiles(page=page, drafts=tuple(drafts), published=published)
