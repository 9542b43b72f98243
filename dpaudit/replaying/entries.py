"""The findings of a replay, each at its line, for tools that show them beside the code."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import ROUND_FLOOR
from importlib.metadata import version
from pathlib import Path

from dpaudit.escaping import one_line
from dpaudit.faults.catalogue import fault_line
from dpaudit.formats import to_json
from dpaudit.replaying.digits import in_four_digits
from dpaudit.replaying.result import Replay, ReplayFinding
from dpaudit.report.entries import Outcome, ReportEntries, ReportEntry, SourceLine

# A violation breaks what the claim rests on, and proves nothing of the claim itself.
_OUTCOMES: Mapping[str, Outcome] = {
    "proof": "refuted",
    "violation": "withheld",
    "withheld": "withheld",
    "hint": "hint",
}
_PLACE = re.compile(r"^([^/:]+\.py):(\d+)")


def entries_of(
    found: Replay, source: SourceLine | None, root: Path, seconds: float
) -> ReportEntries:
    """Return every finding of a replay, or that there is none.

    Parameters
    ----------
    found
        The replay.
    source
        Where the mechanism is defined, if that is known: lines are looked for in its folder.
    root
        The folder that paths are relative to.
    seconds
        How long it took.
    """
    findings = [_make_finding_entry(found, one, source) for one in found.findings]
    claim = f"({found.epsilon:g}, {found.delta:g})-DP"
    name = one_line(found.mechanism)
    said = f"{name} is {found.verdict} as {claim} by two calls with the same noise."
    nothing = ReportEntry(
        name=name,
        outcome="not refuted",
        headline=said,
        text=said,
        place=source,
    )
    return ReportEntries(
        entries=findings or [nothing],
        summary=said,
        surety=None,
        root=root,
        version=version("dpaudit"),
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=seconds,
    )


def _make_finding_entry(
    found: Replay, one: ReplayFinding, source: SourceLine | None
) -> ReportEntry:
    words = one_line(f"{one.kind}: {one.words}")
    return ReportEntry(
        name=one_line(found.mechanism),
        outcome=_OUTCOMES[one.tier],
        headline=words,
        text=words if one.place is None else f"{words} ({one_line(one.place)})",
        values={}
        if one.epsilon is None
        else {"lower": to_json(_round_shown_epsilon(found, one.epsilon), non_finite="Infinity")},
        place=_resolve_finding_place(one.place, source) or source,
        fault=one.fault,
        lines=() if one.fault is None else (fault_line(one.fault),),
    )


def _round_shown_epsilon(found: Replay, epsilon: float) -> float:
    """Return a lower end with the digits that files have of it."""
    whole = found.shows_records or math.isinf(epsilon)
    return epsilon if whole else in_four_digits(epsilon, ROUND_FLOOR)


def _resolve_finding_place(said: str | None, source: SourceLine | None) -> SourceLine | None:
    """Return the line that a replay names by its file's name alone, if one file can be meant."""
    place = None if said is None else _PLACE.match(said)
    if place is None or source is None:
        return None
    if source.file.name == place[1]:
        return SourceLine(source.file, int(place[2]))
    others = list(source.file.parent.rglob(place[1]))
    return SourceLine(others[0], int(place[2])) if len(others) == 1 else None
