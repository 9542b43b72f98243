"""Reports on disk: written all at once or not at all, and checked before they are believed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any

from pydantic import ValidationError

from dpaudit.errors import DataError, InvalidArgument
from dpaudit.escaping import json_escaped, one_line
from dpaudit.execution import available_cores
from dpaudit.files import write_files
from dpaudit.formats import add_schema, make_later_schema_error, read_json, schema_of, to_json
from dpaudit.refutation.certificate import Certificate, certificates_text
from dpaudit.report.catalogue import Catalogue
from dpaudit.report.display import Result as Result
from dpaudit.report.formatting import format_result_label, make_shown_numbers, value_of
from dpaudit.report.index import NOTHING_KNOWN, IndexRow, MissingAudit, render_index
from dpaudit.report.render import render_html, render_markdown
from dpaudit.report.schema import SCHEMA_VERSION, BudgetEntry, Environment, Report
from dpaudit.report.views import save_report

_BEGAN = monotonic()
AGAIN = "run the audit again, or take the file from a backup"


@dataclass(frozen=True, kw_only=True)
class ReportPaths:
    """Paths of the three renderings of one report, and of the certificate if there is one."""

    json: Path
    markdown: Path
    html: Path
    certificate: Path | None = None

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file that was written."""
        three = (self.json, self.markdown, self.html)
        return three if self.certificate is None else (*three, self.certificate)


def write_report(
    report: Report,
    directory: str | os.PathLike[str],
    certificates: Sequence[Certificate] = (),
    *,
    holds_records: bool = False,
) -> ReportPaths:
    """Write ``report.json``, ``report.md`` and ``report.html`` into ``directory``.

    What was certified goes to ``certificate.json`` beside them; a certificate of an earlier report
    is removed, as nothing in the new one stands behind it.

    The Markdown and the HTML are drawn from the JSON as a reader will get it, so the three cannot
    disagree. Each file is complete under another name before it takes its place: an interrupted
    write leaves the earlier files as they were. The same report gives the same bytes.

    Parameters
    ----------
    report
        What to write.
    directory
        Where; it is created if it does not exist.
    certificates
        Of the results that were refuted.
    holds_records
        Whether records or outputs may stand in it: then nobody else may read the files.

    Returns
    -------
    ReportPaths
        The three files, and the certificate if there is one.

    Raises
    ------
    InvalidArgument
        If ``report`` holds a value that JSON cannot, such as an array among its parameters.
    DataError
        If the directory or a file in it cannot be written.
    """
    text = _to_json(report)
    as_read = Report.model_validate_json(text)
    folder = Path(directory)
    paths = ReportPaths(
        json=folder / "report.json", markdown=folder / "report.md", html=folder / "report.html"
    )
    certificate = folder / "certificate.json"
    contents = {certificate: certificates_text(certificates)} if certificates else {}
    # The JSON comes last: where it is after a kill, all that it speaks of is there.
    contents |= {
        paths.markdown: render_markdown(as_read),
        paths.html: render_html(as_read),
        paths.json: text,
    }
    files = {path: content.encode("utf-8") for path, content in contents.items()}
    gone = () if certificates else (certificate,)
    write_files(folder, files, gone=gone, private=holds_records)
    return replace(paths, certificate=certificate if certificates else None)


@save_report.register
def save_result(result: Result, directory: str | os.PathLike[str]) -> ReportPaths:
    """Write a result as a report of its own, with its certificate if there is one."""
    report = Report(
        confidence=result.measured.confidence,
        budget=[BudgetEntry(purpose=format_result_label(result), alpha=result.alpha)]
        if result.alpha
        else [],
        results=[result],
        environment=Environment.of_this_machine(available_cores(), monotonic() - _BEGAN),
    )
    certificates = () if result.certificate is None else (result.certificate,)
    return write_report(report, directory, certificates, holds_records=result.holds_records)


def write_index(
    reports: Mapping[str, tuple[Report, Sequence[bool]]],
    folder: Path,
    missing: Mapping[str, MissingAudit] | None = None,
    catalogue: Catalogue = NOTHING_KNOWN,
) -> Path:
    """Write ``index.html``, ``index.md`` and ``index.json``; return the HTML page.

    Parameters
    ----------
    reports
        By the name of their folder: the report, and for each result whether it has a certificate.
    folder
        Where the folders are.
    missing
        The audits that were asked for and gave no result, and why. The index says how many of all
        are there, and its JSON has an entry without a verdict for each that is not.
    catalogue
        The claims' names, and why they fall.

    Raises
    ------
    DataError
        If a file cannot be written.
    """
    page, missing = folder / "index.html", missing or {}
    rows = [
        IndexRow(
            folder=name, place=place, result=result, shown=make_shown_numbers(result), certified=has
        )
        for name, (report, certified) in reports.items()
        for place, (result, has) in enumerate(zip(report.results, certified, strict=True), start=1)
    ]
    without = [_without_verdict(name, one.why) for name, one in missing.items()]
    entries = [*map(_make_index_entry, rows), *without]
    content = add_schema("index", {"audits": entries})
    self_test = (folder / "selftest" / "selftest.json").exists()
    known: dict[str, Any] = {"self_test": self_test, "catalogue": catalogue}
    contents = {
        page: render_index(rows, missing, html=True, **known),
        folder / "index.md": render_index(rows, missing, html=False, **known),
        folder / "index.json": json.dumps(content, indent=2, allow_nan=False) + "\n",
    }
    write_files(folder, {path: text.encode("utf-8") for path, text in contents.items()})
    return page


def read_index(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return the entries of an ``index.json``; before there were schemas, the file was their list.

    Raises
    ------
    DataError
        If the file cannot be read, is no index, or is of a later schema.
    """
    content = read_json(os.fspath(path), "index")
    entries = content.get("audits") if isinstance(content, dict) else content
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise DataError(f"{one_line(os.fspath(path))}: not the index of a folder of reports")
    return entries


def _make_index_entry(row: IndexRow) -> dict[str, Any]:
    result = row.result
    return {
        "claim": result.claim,
        "variant": result.variant,
        "label": format_result_label(result),
        "kind": result.kind,
        "verdict": result.verdict,
        "unit": row.shown.unit,
        "claimed": to_json(value_of(result.claimed, result.kind), non_finite="Infinity"),
        "proved": to_json(value_of(result.proved, result.kind), non_finite="Infinity"),
        "lower": to_json(result.measured.lower, non_finite="Infinity"),
        "upper": to_json(result.measured.upper, non_finite="Infinity"),
        "alpha": result.alpha,
        "reason": result.reason,
        "standing": result.standing,
        "scope": result.scope,
        "report": f"{row.folder}/report.html",
        "certificate": f"{row.folder}/certificate.json" if row.certified else None,
        "rerun": result.rerun,
    }


def _without_verdict(name: str, why: str) -> dict[str, Any]:
    """Return the entry of an audit that is missing: one that looks for verdicts finds null."""
    return {"label": name, "verdict": None, "reason": why}


def read_report(path: str | os.PathLike[str]) -> Report:
    """Return the report in a ``report.json``, after checking every part of it.

    A document of an earlier 1.x version is read, with or without a schema, and one of a later too,
    without the fields that this version of dpaudit does not know.

    Raises
    ------
    DataError
        If the file is missing or damaged, is not a report, or is of a later schema.

    Examples
    --------
    >>> read_report("missing.json")
    Traceback (most recent call last):
    dpaudit.errors.DataError: missing.json: no such file; give the report.json that an audit wrote
    """
    name = one_line(os.fspath(path))
    data = _load_report_json(Path(path), name)
    schema_of(name, data, "report")
    newer = _is_newer(data, name)
    try:
        return _validate_report(data, drop_unknown=newer)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the document"
        what = one_line(f"{where}: {first['msg']}")
        raise DataError(f"{name}: not a valid report ({what}); {AGAIN}") from None


def _to_json(report: Report) -> str:
    try:
        text = json_escaped(report.model_dump_json(indent=2)) + "\n"
        # A lone surrogate, as Python reads it from a file name that is not UTF-8, cannot be
        # written; it is refused here and not halfway through the files.
        text.encode("utf-8")
    except ValueError as error:  # pydantic's refusal of a type, or text that is not Unicode
        expected = f"values that JSON can hold ({one_line(str(error))})"
        raise InvalidArgument("report", report, expected) from None
    return text


def _load_report_json(path: Path, name: str) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"{name}: no such file; give the report.json that an audit wrote") from None
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DataError(f"{name}: cannot be read ({why}); give a readable report.json") from None
    except (ValueError, RecursionError):
        raise DataError(f"{name}: damaged, it is not complete JSON; {AGAIN}") from None


def _is_newer(data: Any, name: str) -> bool:
    """Return whether a document of our major version has a later minor one; refuse any other."""
    version = data.get("schema_version") if isinstance(data, dict) else None
    if not isinstance(version, str):
        raise DataError(
            f"{name}: not a report, it has no schema_version; "
            "give the report.json that an audit wrote"
        )
    major, minor = _parse_version(SCHEMA_VERSION)
    try:
        its_major, its_minor = _parse_version(version)
    except ValueError:
        its_major, its_minor = -1, 0
    if its_major > major:
        raise make_later_schema_error(
            name, f"schema_version {one_line(version)[:20]!r}", f"{major}.x"
        )
    if its_major != major:
        raise DataError(
            f"{name}: schema_version {one_line(version)[:20]!r}, expected {major}.x; "
            "read it with the version of dpaudit that wrote it"
        )
    return its_minor > minor


def _parse_version(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _validate_report(data: Any, drop_unknown: bool) -> Report:
    try:
        return Report.model_validate(data)
    except ValidationError as error:
        # Only fields that are unknown are dropped, and only from a newer document. Whatever
        # else is wrong stays an error, as a report that is half understood is none.
        unknown = [each["loc"] for each in error.errors() if each["type"] == "extra_forbidden"]
        if not (drop_unknown and unknown):
            raise
    for *parents, field in unknown:
        part = data
        for key in parents:
            part = part[key]
        del part[field]
    return Report.model_validate(data)
