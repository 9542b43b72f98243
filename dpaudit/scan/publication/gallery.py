"""The gallery: findings in released packages, as far as they are public.

A folder a release, each with ``scan.json``, ``scan.html`` and ``scan.md``, and an index of all of
them, in which the releases of a package stand beside each other: where a known bug came and went.
A person's words on a package stand in ``NAME.toml`` beside them
(`dpaudit.scan.publication.known_findings`). The index is made of what is published alone, so it can
tell nothing that the releases do not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from dpaudit.errors import DataError
from dpaudit.escaping import json_escaped, one_line
from dpaudit.files import write_files
from dpaudit.formats import add_schema, read_json
from dpaudit.report.counts import ReportPart
from dpaudit.report.formatting import format_integer
from dpaudit.scan.accountants.document import PublishedAccountant
from dpaudit.scan.accountants.page import NAME as ACCOUNTANT
from dpaudit.scan.accountants.page import format_false_claim_count, format_group_sentence
from dpaudit.scan.finding import ScanResult
from dpaudit.scan.publication.known_findings import PackageNotes, Peer, Thread
from dpaudit.scan.publication.pages import (
    format_finding_count,
    release_name,
    render_filled_template,
    render_scan_page,
)
from dpaudit.scan.publication.published_scan import (
    PublishedScan,
    make_full_publication,
    make_public_publication,
)

SCAN = "scan.json"
_Document = TypeVar("_Document", bound=ReportPart)


def write_scan(result: ScanResult, folder: Path, known: PackageNotes | None = None) -> Path:
    """Write all of a scan for who ran it, as a page and as Markdown; return the page.

    Raises
    ------
    DataError
        The folder or a file cannot be written.
    """
    pages = _render_published_pages(make_full_publication(result, known or PackageNotes()), folder)
    write_files(folder, pages)
    return folder / "scan.html"


def publish_scan(result: ScanResult, gallery: Path, today: date | None = None) -> Path:
    """Write the public part of a scan into a gallery, and the index; return the release's page.

    Parameters
    ----------
    result
        The scan, all of it.
    gallery
        The folder of all; ``PACKAGE.toml`` there says what is public.
    today
        For an embargo that ends on a date; the present day by default.

    Raises
    ------
    DataError
        A file cannot be read or written, or states what it may not.
    """
    # The notes are read from the gallery itself, so that nothing is published on the word of a
    # file that readers of the gallery cannot see.
    known = PackageNotes.read(gallery / f"{result.package}.toml")
    public = make_public_publication(result, known, today)
    folder = gallery / release_name(public)
    text = json.dumps(add_schema("published-scan", public.model_dump(mode="json")), indent=2) + "\n"
    pages = {
        **_render_published_pages(public, folder),
        folder / SCAN: json_escaped(text).encode("utf-8"),
    }
    write_files(folder, pages)
    write_index(gallery)
    return folder / "scan.html"


def _render_published_pages(scan: PublishedScan, folder: Path) -> dict[Path, bytes]:
    return {
        folder / "scan.md": render_scan_page(scan, html=False).encode("utf-8"),
        folder / "scan.html": render_scan_page(scan, html=True).encode("utf-8"),
    }


def read_published(path: Path) -> PublishedScan:
    """Return a release of a gallery, after checking every part of it.

    Raises
    ------
    DataError
        It cannot be read, is of a later schema, or is no published scan.
    """
    return _read_published_document(path, "published-scan", PublishedScan)


def _read_published_document(path: Path, name: str, kind: type[_Document]) -> _Document:
    content = read_json(path, name)
    if isinstance(content, dict):
        content.pop("schema", None)
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise DataError(one_line(f"{path}: {where}: {first['msg']}")) from None


# The index


@dataclass(frozen=True)
class PackageVersion:
    """A line of the index: one version of a package."""

    folder: str
    scan: PublishedScan

    @property
    def version(self) -> str:
        """The version that was scanned."""
        return self.scan.version

    @property
    def date(self) -> str:
        """The day of the scan."""
        return self.scan.date

    @property
    def findings(self) -> int:
        """The number of public findings."""
        return len(self.scan.findings)

    @property
    def withheld(self) -> int:
        """The number of findings under disclosure."""
        return self.scan.withheld

    @property
    def sentence(self) -> str:
        """The number of findings, in words."""
        return format_finding_count(self.findings, self.withheld)

    @property
    def checks(self) -> str:
        """The number of checks of each kind, in words."""
        return ", ".join(f"{format_integer(of)} {kind}" for kind, of in self.scan.checks.items())


@dataclass(frozen=True)
class Bug:
    """A public thread, and the releases in which its bug was found."""

    thread: Thread
    by_release: Mapping[str, str]

    @property
    def title(self) -> str:
        """The subject of the finding."""
        return self.thread.title

    @property
    def url(self) -> list[str]:
        """The address of a public thread."""
        return self.thread.url

    @property
    def state(self) -> str:
        """Whether it is open, as a person stated."""
        return self.thread.state


@dataclass(frozen=True)
class Shelf:
    """One package: its releases, the facts known of them, and other people's reports."""

    name: str
    home: str
    releases: Sequence[PackageVersion]
    bugs: Sequence[Bug]
    peers: Sequence[Peer]


def list_gallery_shelves(gallery: Path) -> list[Shelf]:
    """Return the packages of a gallery, by name, each with its releases in order of version.

    Raises
    ------
    DataError
        A release or a file of threads is damaged.
    """
    by_package = dict[str, list[PackageVersion]]()
    for path in sorted(gallery.glob(f"*/{SCAN}")):
        scan = read_published(path)
        by_package.setdefault(scan.package, []).append(PackageVersion(path.parent.name, scan))
    return [_make_gallery_shelf(name, found, gallery) for name, found in sorted(by_package.items())]


@dataclass(frozen=True)
class AccountantVersion:
    """One version of an accountant, as its page in the gallery tells of it."""

    folder: str
    scan: PublishedAccountant

    @property
    def sentence(self) -> str:
        """The number of false claims, in words."""
        return format_false_claim_count(self.scan)

    @property
    def claims(self) -> list[str]:
        """The false claims that are public, a sentence each."""
        return [f"{one.method}: {format_group_sentence(one)}" for one in self.scan.violations]


def list_gallery_accountants(gallery: Path) -> list[AccountantVersion]:
    """Return the accountants of a gallery, by name and version.

    Raises
    ------
    DataError
        One is damaged.
    """
    found_there = [
        AccountantVersion(
            path.parent.name,
            _read_published_document(path, f"published-{ACCOUNTANT}", PublishedAccountant),
        )
        for path in gallery.glob(f"*/{ACCOUNTANT}.json")
    ]
    return sorted(found_there, key=lambda one: (one.scan.accountant, _in_order(one.scan.version)))


def _make_gallery_shelf(name: str, releases: Sequence[PackageVersion], gallery: Path) -> Shelf:
    known = PackageNotes.read(gallery / f"{name}.toml")
    ordered = sorted(releases, key=lambda one: _in_order(one.version))
    bugs = [
        Bug(one, {each.version: _get_thread_state(one, each) for each in ordered})
        for one in known.thread
    ]
    return Shelf(name, ordered[-1].scan.home, ordered, bugs, known.peer)


def _in_order(version: str) -> list[tuple[int, int, str]]:
    """Return a key by which versions are sorted: numbers as numbers."""
    parts = re.findall(r"\d+|[a-z]+", version)
    # A word sorts before a number: 1.0rc1 comes before 1.0.1, as a candidate precedes what
    # follows it.
    return [(1, int(one), "") if one.isdigit() else (0, 0, one) for one in parts]


def _get_thread_state(thread: Thread, release: PackageVersion) -> str:
    """Return whether the subject of a thread was found in a release."""
    seen = [one.finding for one in release.scan.findings]
    if any(thread.is_about(one) for one in seen):
        return "found"
    return "not seen" if thread.names_any(release.scan.subjects) else "not looked at"


def write_index(gallery: Path) -> Path:
    """Write ``index.html``, ``index.md`` and ``index.json`` of a gallery; return the page.

    Raises
    ------
    DataError
        A release is damaged, or a file cannot be written.
    """
    found_there, asked = list_gallery_shelves(gallery), list_gallery_accountants(gallery)
    values: dict[str, Any] = {
        "packages": found_there,
        "accountants": asked,
        "outcome": _format_gallery_outcome(found_there),
    }
    entries = [_make_gallery_entry(one) for one in found_there]
    told_of = [_accountant_entry(one) for one in asked]
    content = add_schema("packages", {"packages": entries, "accountants": told_of})
    text = json_escaped(json.dumps(content, indent=2, allow_nan=False)) + "\n"
    files = {
        gallery / "index.html": render_filled_template("packages.html.j2", html=True, **values),
        gallery / "index.md": render_filled_template("packages.md.j2", html=False, **values),
        gallery / "index.json": text,
    }
    write_files(gallery, {path: one.encode("utf-8") for path, one in files.items()})
    return gallery / "index.html"


def _format_gallery_outcome(found_there: Sequence[Shelf]) -> str:
    releases = [one for shelf in found_there for one in shelf.releases]
    findings, withheld = (sum(getattr(one, name) for one in releases) for name in _NUMBERS)
    packages = "1 package" if len(found_there) == 1 else f"{len(found_there)} packages"
    several = "1 release" if len(releases) == 1 else f"{len(releases)} releases"
    return f"{format_finding_count(findings, withheld).capitalize()} in {several} of {packages}."


_NUMBERS = ("findings", "withheld")


def _make_gallery_entry(shelf: Shelf) -> dict[str, Any]:
    return {
        "package": shelf.name,
        "home": shelf.home,
        "releases": [
            {
                "version": one.version,
                "date": one.date,
                "findings": one.findings,
                "under_disclosure": one.withheld,
                "checks": one.scan.checks,
                "report": f"{one.folder}/scan.html",
            }
            for one in shelf.releases
        ],
        "known": [
            {"title": one.title, "url": one.url, "state": one.state, "releases": one.by_release}
            for one in shelf.bugs
        ],
        "peers": [one.model_dump(mode="json") for one in shelf.peers],
    }


def _accountant_entry(one: AccountantVersion) -> dict[str, Any]:
    return {
        "accountant": one.scan.accountant,
        "version": one.scan.version,
        "date": one.scan.date,
        "questions": one.scan.questions,
        "answers": one.scan.answers,
        "false_claims": len(one.scan.violations),
        "under_disclosure": one.scan.under_disclosure,
        "report": f"{one.folder}/{ACCOUNTANT}.md",
    }
