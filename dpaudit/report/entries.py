"""Entries of one command about each audit, for tools that show them beside the code.

Their formats (`dpaudit.report.sarif`, `.junit`, `.annotations`, `.brief`) say the same: what was
refuted and what leaked, what was withheld, and what gave no result, each at its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dpaudit.escaping import one_line
from dpaudit.formats import to_json
from dpaudit.report.acceptance import Acceptance, format_acceptance
from dpaudit.report.formatting import (
    fault_words,
    format_percent,
    format_result_label,
    make_shown_numbers,
    noise_words,
    value_of,
)
from dpaudit.report.render import format_report_summary
from dpaudit.report.schema import Report, Result
from dpaudit.verdicts import Verdict

# A verdict, that there is no result, or of a replay what is a place to look at and no verdict.
Outcome = Verdict | Literal["missing", "hint"]
_SENTENCES = re.compile(r"(?<=\.) (?=[A-Z])")


@dataclass(frozen=True)
class SourceLine:
    """A line of a file, from 1.

    Examples
    --------
    >>> (
    ...     SourceLine(Path("/work/mine/a.py"), 3).under(Path("/work/mine")),
    ...     SourceLine(Path("b.py"), 1).line,
    ... )
    ('a.py', 1)
    """

    file: Path
    line: int

    def under(self, root: Path) -> str | None:
        """Return the file as a path below a folder, with slashes; None if it is not there."""
        try:
            # Both are resolved, since a temporary folder may be reached by a symbolic link.
            return self.file.resolve().relative_to(root.resolve()).as_posix()
        except ValueError:
            return None


@dataclass(frozen=True, kw_only=True)
class ReportEntry:
    """One audit, or one finding.

    Parameters
    ----------
    name, outcome
        What it is called, and its verdict; ``missing`` if there is no result.
    headline
        What has to be known first, in one line: of a refutation what leaked.
    text
        All that is said of it, in one line that begins with the headline.
    cells
        The claimed, the proved and the measured number, as a table has them.
    values
        Numbers, for machines.
    place
        Where in the source it belongs.
    repeat
        The command that repeats it.
    acceptance
        What a baseline says of it.
    fault
        The code of its kind of fault; None where that is not decided.
    lines
        What else is said of it, a line each: where noise is drawn, and its kind of fault.
    component
        The qualified name of what it is about, where that is no source of the reader's.
    is_notification
        Whether it tells how the run went, and asks for no change of code.
    """

    name: str
    outcome: Outcome
    headline: str
    text: str
    cells: tuple[str, str, str] | None = None
    values: Mapping[str, float | str] = field(default_factory=dict)
    place: SourceLine | None = None
    repeat: str | None = None
    acceptance: Acceptance | None = None
    fault: str | None = None
    lines: tuple[str, ...] = ()
    component: str | None = None
    is_notification: bool = False

    @property
    def is_accepted(self) -> bool:
        """Whether it is a refutation that is accepted."""
        known = self.acceptance
        return self.outcome == "refuted" and known is not None and known.state == "accepted"

    @property
    def standing(self) -> str:
        """The outcome, and that it is accepted if it is."""
        return f"{self.outcome}, accepted" if self.is_accepted else self.outcome

    @property
    def numbers(self) -> str | None:
        """The three numbers, in words."""
        if self.cells is None:
            return None
        names = ("claimed", "proved", "measured")
        return ", ".join(f"{n} {v}" for n, v in zip(names, self.cells, strict=True) if v)


@dataclass(frozen=True, kw_only=True)
class ReportEntries:
    """All that one command found.

    Parameters
    ----------
    entries
        Of each audit.
    summary
        The outcome of all, in a sentence.
    surety
        The confidence of all of it together, in a sentence; None where nothing was left to chance.
    root
        The folder that paths are relative to: where the command ran, that of the repository.
    version, created, seconds
        Of dpaudit, when it ended, and how long it took.
    """

    entries: Sequence[ReportEntry]
    summary: str
    surety: str | None
    root: Path
    version: str
    created: str
    seconds: float


def entries_of(
    report: Report,
    audits: Sequence[tuple[str, Result | None, str | None, SourceLine | None]],
    root: Path,
) -> ReportEntries:
    """Return the entries of a report for audits: the name, result, failure and place of each."""
    sure = None
    if report.confidence is not None and report.budget:
        sure = f"All of it together at {format_percent(report.confidence)} confidence."
    return ReportEntries(
        entries=[
            missing(name, failure, place) if result is None else of_result(result, place)
            for name, result, failure, place in audits
        ],
        summary=format_report_summary(report),
        surety=sure,
        root=root,
        version=report.environment.dpaudit,
        created=report.environment.created,
        seconds=report.environment.seconds,
    )


def missing(name: str, failure: str | None, place: SourceLine | None = None) -> ReportEntry:
    """Return the entry of an audit that gave no result."""
    said = one_line(failure or "gave no result")
    return ReportEntry(
        name=one_line(name), outcome="missing", headline=said, text=said, place=place
    )


def of_result(result: Result, place: SourceLine | None = None) -> ReportEntry:
    """Return the entry of a result."""
    first, reason = _format_entry_headline(result), one_line(result.reason)
    rest = reason.replace(first, "").replace("  ", " ").strip()
    return ReportEntry(
        name=format_result_label(result),
        outcome=result.verdict,
        headline=first,
        text=" ".join(part for part in (first, rest, _format_entry_acceptance(result)) if part),
        cells=_format_entry_cells(result),
        values=_get_entry_values(result),
        place=_noise_place(result, place),
        repeat=result.rerun,
        acceptance=result.acceptance,
        fault=result.fault,
        lines=(*noise_words(result), *fault_words(result)),
    )


def _noise_place(result: Result, place: SourceLine | None) -> SourceLine | None:
    """Return the line that draws noise, where it stands below the beginning of the mechanism."""
    if place is None:
        return None
    own = (one.line for one in result.lines if one.file == place.file.name)
    # A line above the mechanism belongs to a helper, beside which a reader would not look for
    # it.
    below = (line for line in own if line >= place.line)
    return SourceLine(place.file, next(below, place.line))


def _format_entry_acceptance(result: Result) -> str:
    return "" if result.acceptance is None else one_line(format_acceptance(result.acceptance))


def _format_entry_headline(result: Result) -> str:
    """Return the sentence that is shown alone: of a refutation the event, with its evidence."""
    event, witness = result.carrying_event, result.witness
    said = result.reason
    if result.verdict == "refuted" and event is not None and event.plain:
        said = event.sentence
    elif result.verdict == "refuted" and witness is not None:
        said = witness.sentence
    return one_line(_SENTENCES.split(said)[0])


def _format_entry_cells(result: Result) -> tuple[str, str, str]:
    shown = make_shown_numbers(result)
    proved = "" if result.proved is None else f"{shown.sign} {shown.proved}"
    return (
        f"{shown.sign} {shown.claimed}{_format_at_delta(shown.claimed_delta)}",
        f"{proved}{_format_at_delta(shown.proved_delta)}" if proved else "",
        f"{shown.measured} {shown.surety}",
    )


def _format_at_delta(delta: str | None) -> str:
    return "" if delta is None else f" (δ = {delta})"


def _get_entry_values(result: Result) -> dict[str, float | str]:
    found = {
        "claimed": value_of(result.claimed, result.kind),
        "proved": value_of(result.proved, result.kind),
        "lower": result.measured.lower,
        "upper": result.measured.upper,
        "confidence": result.measured.confidence,
    }
    given = {name: value for name, value in found.items() if value is not None}
    values: dict[str, float | str] = to_json(given, non_finite="Infinity")
    return values
