"""What stands behind the findings of a scan: a reproduction of each, pages, drafts of issues."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dpaudit.execution import Progress, Silent
from dpaudit.extension.package import Package, Subject
from dpaudit.scan.bench import Installed
from dpaudit.scan.disclosure import write_drafts
from dpaudit.scan.environments import place_of
from dpaudit.scan.finding import Finding, ScanResult
from dpaudit.scan.gallery import publish, write_scan
from dpaudit.scan.known import Known
from dpaudit.scan.reproduction import reproduced
from dpaudit.scan.scan import file_of
from dpaudit.scan.write import write

_SECONDS = 40.0  # that smaller cases of one finding are looked for


@dataclass(frozen=True, kw_only=True)
class Written:
    """The files of a scan: its page, its drafts, and its page in the gallery."""

    page: Path | None
    drafts: tuple[Path, ...]
    published: Path | None


def with_reproductions(
    result: ScanResult,
    package: Package,
    env: str | None = None,
    progress: Progress | None = None,
    seconds: float = _SECONDS,
) -> ScanResult:
    """Return a scan whose findings have their reproductions, as far as a script shows them.

    Parameters
    ----------
    result, package, env
        The scan, and what was scanned where.
    progress
        Is told of findings as they are done.
    seconds
        About so long smaller cases of each are looked for.
    """
    if not result.findings:
        return result
    place = place_of(package, env)
    installed = Installed(python=Path(place.command), code=Path(file_of(package)))
    subjects = {one.name: one for one in package.subjects}
    told = progress or Silent()
    told.start("reproducing", len(result.findings))
    findings, left = list[Finding](), list[str]()
    for one in result.findings:
        findings.append(_with_reproduction(one, subjects, installed, seconds))
        if findings[-1].reproduction is None:
            left.append(f"{one.subject}: no script of its own shows the finding again")
        told.advance(1)
    return result.model_copy(update={"findings": findings, "notes": [*result.notes, *left]})


def _with_reproduction(
    finding: Finding, subjects: Mapping[str, Subject], installed: Installed, seconds: float
) -> Finding:
    found = reproduced(finding, subjects[finding.subject], installed, seconds=seconds)
    if found is None:
        return finding
    update = {"reproduction": found.script, "reproduced": found.printed}
    return finding.model_copy(update=update)


def written(
    result: ScanResult, out: Path | None, gallery: Path | None, disclosure: Path
) -> Written:
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
    known = Known() if gallery is None else Known.read(gallery / f"{result.package}.toml")
    page = None
    if out is not None:
        write(result, out)
        page = write_scan(result, out, known)
    drafts = write_drafts(result, disclosure, known)
    published = None if gallery is None else publish(result, gallery)
    return Written(page=page, drafts=tuple(drafts), published=published)
