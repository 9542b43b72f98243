"""``dpaudit sheet``: one page for the person who signs, on evidence in reports and its gaps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.audited_code import (
    ROWS,
    DataPath,
    Mechanism,
    Outputs,
    add_current_folder_to_path,
    read_reader_options,
)
from dpaudit.cli.ending import ShowRecords, Traceback
from dpaudit.cli.options import folder_option
from dpaudit.cli.setting_options import takes
from dpaudit.escaping import one_line

if TYPE_CHECKING:
    from dpaudit.sheet import Sheet, SheetSubject
    from dpaudit.verification import Reader


@takes(ROWS)
def sheet(
    reports: Annotated[
        list[str],
        typer.Argument(help="Reports: their folders, or their JSON files."),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="NAME", help="The person who makes the sheet and signs for it."
        ),
    ] = None,
    valid_until: Annotated[
        str | None,
        typer.Option("--valid-until", metavar="DAY", help="The last day on which it is valid."),
    ] = None,
    mechanism: Mechanism = None,
    outputs: Outputs = None,
    data_path: DataPath = None,
    out: Annotated[
        str | None, folder_option("Write sheet.html and sheet.md into this directory.")
    ] = None,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
    **named: Any,
) -> int:
    """Make one page for the person who signs: the evidence, the claims, and the unchecked rest.

    The questions are those of NIST SP 800-226. Certificates are checked again, and the first line
    states why the sheet is void, if it is, and the results, the gravest first.

    Exit status: 0 if the sheet was written, whatever its content.
    """
    from dpaudit.auditing.specification.baseline import day_of, today_of
    from dpaudit.sheet import Signer, make_sheet
    from dpaudit.verification import Reader

    until = None if valid_until is None else day_of("--valid-until", valid_until)
    reader = Reader(**read_reader_options(mechanism, outputs, data_path, named))
    with add_current_folder_to_path(mechanism):
        subjects = _read_report_subjects(reports, reader)
    signer = Signer(by=None if by is None else one_line(by), on=today_of(), until=until)
    _write_sheet(make_sheet(subjects, signer, _compute_named_digest(reader)), out)
    return 0


def _read_report_subjects(reports: list[str], reader: Any) -> list[SheetSubject]:
    """Return the results of all reports; of a report that is given twice, once."""
    from dpaudit.sheet import read_subjects

    found: dict[tuple[str, str], list[SheetSubject]] = {}
    for given in reports:
        results = read_subjects(given, reader)
        # A copy of a report may lie beside another certificate, and is then another piece of
        # evidence.
        beside = repr([one.certificate for one in results])
        found.setdefault((results[0].digest, beside), results)
    return [one for results in found.values() for one in results]


def _compute_named_digest(reader: Reader) -> str | None:
    """Return the digest of the named mechanism; an empty one where no file of it is found."""
    from dpaudit.sheet.subjects import sha256_of

    named = reader.mechanism
    if named is None:
        return None
    if not isinstance(named, str):
        asked, _, _ = named.settled(None).read_as(reader.read, reader.fresh)
        return str(asked.digest)
    # The folders are searched in the order in which an import would search them, and nothing is
    # imported.
    folders = (Path.cwd(), *map(Path, sys.path))
    return next((found for one in folders if (found := sha256_of(named, one))), "")


def _write_sheet(made: Sheet, out: str | None) -> None:
    """Write both renderings; show where, or the text where nobody wants files."""
    from dpaudit.files import write_files
    from dpaudit.redaction import are_shown
    from dpaudit.sheet import render_page, render_text

    text = render_text(made)
    if out is None:
        streams.write_result_text(text.rstrip("\n"))
        return
    folder = Path(out)
    files = {folder / "sheet.html": render_page(made), folder / "sheet.md": text}
    contents = {path: content.encode("utf-8") for path, content in files.items()}
    write_files(folder, contents, private=are_shown())
    streams.write_result_text(f"{made.headline}\nSheet: {folder / 'sheet.html'}")
