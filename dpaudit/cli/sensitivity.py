"""``dpaudit sensitivity``: how far a query moves between neighbours, at least."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from decimal import ROUND_FLOOR
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import STYLES, make_console
from dpaudit.cli.ending import FINE, ShowRecords, Traceback
from dpaudit.cli.formats import JSON, Format, Formats, formats_of, show_format, write_formats
from dpaudit.cli.options import Json, integer_option, number_option, reference_of, word_option
from dpaudit.cli.setting_options import takes, values_of
from dpaudit.errors import InvalidArgument
from dpaudit.extension.setting_table import Door, Group, ProcessSettings, names_of, rows_of
from dpaudit.report.formatting import format_significant
from dpaudit.verdicts import Verdict, status_of

if TYPE_CHECKING:
    from dpaudit.mechanisms.foreign.query import QueryMovement
    from dpaudit.report.entries import ReportEntries

_ROWS = rows_of(door=Door.SENSITIVITY)
_CALLS = 2_000


@takes(_ROWS, required=("relation",))
def sensitivity(
    target: Annotated[
        str,
        typer.Argument(
            help="The module:function that takes a dataset and is searched; its code runs.",
            autocompletion=completion.complete_targets,
        ),
    ],
    norm: Annotated[
        str, word_option("--norm", "The norm of the difference of two answers: l1, l2 or linf.")
    ] = "l2",
    claimed: Annotated[
        float | None,
        number_option("--claimed", "The claimed sensitivity, which a larger difference refutes."),
    ] = None,
    search_calls: Annotated[
        int,
        integer_option("--search-calls", "The number of calls of the query.", Group.EFFORT.value),
    ] = _CALLS,
    formats: Format = None,
    as_json: Json = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
    **given: Any,
) -> int:
    """Find two neighbours between which a query moves far: a lower bound on its sensitivity.

    Exit status: 0 if the claimed sensitivity is not refuted or none is given, 1 if it is.
    """
    import dpaudit._check as check

    if ":" not in target:
        raise InvalidArgument("target", target, "module:function")
    if claimed is not None:
        check.non_negative("claimed", claimed)
    asked, began, reference = formats_of(formats, as_json), time.monotonic(), reference_of(target)
    found = _find_query_movement(
        reference, values_of(_ROWS, given), norm=norm, calls=search_calls, claimed=claimed
    )
    answer = _Answer(reference, found, claimed)
    _print_sensitivity(answer, asked, time.monotonic() - began)
    return FINE if answer.verdict is None else status_of([answer.verdict])


@dataclass(frozen=True)
class _Answer:
    """The movement of a query, and a claim about it, if there is one."""

    query: str
    found: QueryMovement
    claimed: float | None

    @property
    def verdict(self) -> Verdict | None:
        """The verdict on the claim; None where nobody makes one."""
        return self.found.verdict

    @property
    def words(self) -> str:
        """The movement, in a sentence."""
        unit = "" if self.found.apart is None else " a unit of distance"
        moved = f"moves by at least {_format_movement(self.found)} ({self.found.norm}){unit}"
        said = f"{self.query} {moved}, as a search of {self.found.pairs} pairs found"
        if self.verdict is None:
            return f"{said}."
        return f"{said}: the claimed {self.claimed:.9g} is {self.verdict}."

    @property
    def document(self) -> str:
        """All of it, as JSON."""
        found = {**asdict(self.found), "claimed": self.claimed}
        found["verdict"] = found.pop("verdict")  # last, beside what it judges
        return json.dumps({"query": self.query, **found}, indent=2)


def _find_query_movement(reference: str, values: dict[str, Any], **given: Any) -> QueryMovement:
    """Return the movement that a search finds in the given domain, or beside the given dataset."""
    from dpaudit.auditing.specification.audits_file import records_from, with_days
    from dpaudit.cli.audit import isolation_of
    from dpaudit.domains import domain_of
    from dpaudit.execution import importable
    from dpaudit.mechanisms.foreign.query import movement_elsewhere

    limits = {name: values.pop(name) for name in names_of(ProcessSettings) if name in values}
    domain = domain_of(values.pop("domain")) if "domain" in values else None
    if "dataset" in values:
        values["dataset"] = with_days(records_from(Path(values["dataset"])), domain)
    isolation = isolation_of(ProcessSettings(**limits))
    with importable(Path.cwd()):
        return movement_elsewhere(reference, isolation, domain=domain, **values, **given)


def _print_sensitivity(answer: _Answer, asked: Formats, seconds: float) -> None:
    """Write the sensitivity in the requested formats, or in words."""
    if asked != Formats():
        entries = _make_sensitivity_entries(answer, seconds)
        write_formats(asked, entries, answer.document)
        if asked.shown is not None and asked.shown != JSON:
            show_format(asked.shown, entries, answer.document)
    if asked.shown == JSON:
        streams.write_result_text(answer.document)
    elif asked.shown is None:
        for line in _render_sensitivity(answer):
            make_console().print(line, soft_wrap=True)


def _render_sensitivity(answer: _Answer) -> Iterator[Text]:
    found = answer.found
    yield Text(answer.words, style=STYLES[answer.verdict] if answer.verdict else "bold")
    if found.relation is None:
        yield Text("No pair moved it.")
        return
    yield Text(f"neighbours: {found.relation}")
    if found.dataset is None or found.neighbour is None:
        yield Text("The pair holds what may be records, or is too long: Python returns it.")
        return
    yield Text(f"dataset = {found.dataset}")
    yield Text(f"neighbour = {found.neighbour}")


def _format_movement(found: QueryMovement) -> str:
    return format_significant(found.at_least, 9, ROUND_FLOOR)


def _make_sensitivity_entries(answer: _Answer, seconds: float) -> ReportEntries:
    from datetime import UTC, datetime
    from importlib.metadata import version

    from dpaudit.auditing.specification.source_places import place_of
    from dpaudit.report.entries import ReportEntries, ReportEntry

    root = Path.cwd()
    claimed = "" if answer.claimed is None else f"{answer.claimed:.9g}"
    entry = ReportEntry(
        name=answer.query,
        outcome=answer.verdict or "hint",
        headline=answer.words,
        text=answer.words,
        cells=(claimed, "", f"at least {_format_movement(answer.found)}"),
        values={"lower": answer.found.at_least},
        place=place_of(answer.query, root),
    )
    return ReportEntries(
        entries=[entry],
        summary=answer.words,
        surety=None,
        root=root,
        version=version("dpaudit"),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=seconds,
    )
