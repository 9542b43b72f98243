"""``dpaudit replay``: two calls with the same frozen noise, compared."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import STYLES, make_cell, make_console
from dpaudit.cli.ending import ShowRecords, Traceback, report_failures
from dpaudit.cli.formats import JSON, Format, Formats, formats_of, show_format, write_formats
from dpaudit.cli.options import Json, folder_option, reference_of
from dpaudit.cli.pictures import Picture, PictureWidth, drawing_of
from dpaudit.cli.setting_options import takes, values_of
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.extension.setting_table import Door, ProcessSettings, names_of, rows_of
from dpaudit.verdicts import status_of

if TYPE_CHECKING:
    from dpaudit.replaying.result import Replay


_ROWS = rows_of(door=Door.REPLAY)


@takes(_ROWS, required=("epsilon",))
def replay(
    target: Annotated[
        str,
        typer.Argument(
            help="The module:function that is replayed; its code runs.",
            autocompletion=completion.complete_targets,
        ),
    ],
    out: Annotated[str | None, folder_option("Write the report into this directory.")] = None,
    formats: Format = None,
    picture: Picture = None,
    picture_width: PictureWidth = None,
    as_json: Json = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
    **given: Any,
) -> int:
    """Run a mechanism on two neighbours with frozen noise, and name all that moved too far.

    Every random primitive that is known is intercepted; no line of the code is changed.

    Exit status: 0 if the claim is not refuted, 1 if it is, 2 if the verdict is withheld.
    """
    from dpaudit.auditing.specification.audits_file import records_from, with_days
    from dpaudit.cli.audit import isolation_of
    from dpaudit.domains import domain_of
    from dpaudit.files import prepare_directory
    from dpaudit.replaying.api import replay as replayed

    if ":" not in target:
        raise InvalidArgument("target", target, "module:function")
    asked, began = formats_of(formats, as_json), time.monotonic()
    drawing = drawing_of(picture, picture_width)
    if out is not None:
        prepare_directory(out)
    values = values_of(_ROWS, given)
    allowed = {name: values.pop(name) for name in names_of(ProcessSettings) if name in values}
    if "dataset" not in values and "domain" not in values:
        raise InvalidArgument("dataset", None, "a file of records, or a --domain in its place")
    domain = domain_of(values["domain"]) if "domain" in values else None
    dataset, neighbour = (
        None if one is None else with_days(records_from(Path(one)), domain)
        for one in (values.pop("dataset", None), values.pop("neighbour", None))
    )
    found = replayed(
        reference_of(target),
        dataset,
        neighbour,
        isolation=isolation_of(ProcessSettings(**allowed)),
        folder=Path.cwd(),
        **values,
    )
    written = [] if out is None else _write_replay(found, Path(out))
    if drawing is not None:
        drawing.draw(found)
        written.append(drawing.file)
    _print_replay(found, written, asked, reference_of(target), time.monotonic() - began)
    said = f"{found.mechanism}: withheld: {'; '.join(found.reasons)}"
    return report_failures(
        status_of([found.verdict]), [DpauditError(said)] if found.reasons else []
    )


def _write_replay(found: Replay, folder: Path) -> list[Path]:
    """Write the report, whole or not at all, and return its files."""
    from dpaudit.files import write_files
    from dpaudit.refutation.certificate import certificates_text
    from dpaudit.replaying.page import render_replay_html, render_replay_markdown

    files = {}
    if found.certificates:
        files["certificate.json"] = certificates_text(found.certificates).encode("utf-8")
    files["replay.html"] = render_replay_html(found).encode("utf-8")
    files["replay.md"] = render_replay_markdown(found).encode("utf-8")
    files["replay.json"] = (json.dumps(found.document(), indent=2) + "\n").encode("utf-8")
    # A certificate of an earlier replay would lie beside a report that does not refute.
    gone = [] if found.certificates else [folder / "certificate.json"]
    write_files(folder, {folder / name: content for name, content in files.items()}, gone)
    return [folder / name for name in files]


def _print_replay(
    found: Replay, written: list[Path], asked: Formats, target: str, seconds: float
) -> None:
    if asked != Formats():
        _say_to_others(found, asked, target, seconds)
    if asked.shown is not None:
        return
    for shown in _render_replay(found):
        make_console().print(shown, soft_wrap=isinstance(shown, Text))
    for path in written:
        make_console().print(Text(str(path)), soft_wrap=True)


def _say_to_others(found: Replay, asked: Formats, target: str, seconds: float) -> None:
    from dpaudit.auditing.specification.source_places import place_of
    from dpaudit.replaying.entries import entries_of

    root = Path.cwd()
    entries = entries_of(found, place_of(target, root), root, seconds)
    document = json.dumps(found.document(), indent=2)
    write_formats(asked, entries, document)
    if asked.shown == JSON:
        streams.write_result_text(document)
    elif asked.shown is not None:
        show_format(asked.shown, entries, document)


def _render_replay(found: Replay) -> Iterator[Text | Table]:
    from dpaudit.replaying.page import finding_lines, format_replay_summary

    yield Text(f"{found.mechanism}: {found.verdict}", style=STYLES[found.verdict])
    for line in format_replay_summary(found):
        yield Text(line)
    if found.calls:
        yield _make_primitive_table(found)
    yield from map(make_cell, finding_lines(found))


def _make_primitive_table(found: Replay) -> Table:
    from dpaudit.replaying.page import SHORT, short_row

    table = Table(title="Calls of random primitives", title_justify="left")
    for column in SHORT:
        table.add_column(column, overflow="fold")
    # A terminal shows what fits.
    for one in found.calls[:40]:
        table.add_row(*(make_cell(text) for text in short_row(one, found.moved_a_unit(one))))
    return table
