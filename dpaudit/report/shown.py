"""A single result where somebody looks at it: in a terminal, in a notebook, in a folder."""

from __future__ import annotations

import os
import textwrap
from time import monotonic

from dpaudit.execution import available_cores
from dpaudit.notebook import own_prefix, piece, table
from dpaudit.report.document import ReportPaths, write_report
from dpaudit.report.figures import three_numbers
from dpaudit.report.formatting import NONE, Numbers, label, numbers
from dpaudit.report.schema import BudgetEntry, Environment, Report, Result
from dpaudit.text import printable

_WIDTH = 96
_BEGAN = monotonic()


def saved(result: Result, directory: str | os.PathLike[str]) -> ReportPaths:
    """Write a result as a report of its own, with its certificate if there is one."""
    report = Report(
        confidence=result.measured.confidence,
        budget=[BudgetEntry(purpose=label(result), alpha=result.alpha)] if result.alpha else [],
        results=[result],
        environment=Environment.of_this_machine(available_cores(), monotonic() - _BEGAN),
    )
    certificates = () if result.certificate is None else (result.certificate,)
    return write_report(report, directory, certificates, holds_records=result.holds_records)


def as_text(result: Result) -> str:
    """Return a result as a few lines."""
    shown = numbers(result)
    lines = [
        f"{label(result)}: {result.verdict}",
        f"  claimed   {_stated(shown, shown.claimed, shown.claimed_delta)}",
        f"  proved    {_stated(shown, shown.proved, shown.proved_delta)} {shown.proved_of or ''}",
        f"  measured  {shown.measured} {shown.surety}",
        *textwrap.wrap(result.reason, _WIDTH, initial_indent="  ", subsequent_indent="  "),
    ]
    return printable("\n".join(line.rstrip() for line in lines))


def as_html(result: Result) -> str:
    """Return a result as a piece of HTML: its three numbers as a table and as a picture."""
    shown = numbers(result)
    rows = (
        ("claimed", _stated(shown, shown.claimed, shown.claimed_delta)),
        ("proved", f"{_stated(shown, shown.proved, shown.proved_delta)} {shown.proved_of or ''}"),
        ("measured", f"{shown.measured} {shown.surety}"),
    )
    title = f"{label(result)}: {result.verdict}"
    picture = three_numbers(result, prefix=own_prefix(f"{title} {rows} {result.seed}"))
    caption = "What is claimed, what is proved, what was measured"
    return piece(title, [result.reason], table(caption, ("", shown.unit), rows), picture)


def _stated(shown: Numbers, value: str, delta: str | None) -> str:
    if value == NONE:
        return value
    return f"{shown.sign} {value}" + ("" if delta is None else f" at delta = {delta}")
