"""The contract of a mechanism: independent outputs of one law on either dataset.

An event audit checks it on the outputs that certify. An audit that bets stops long before these
tests could see much: one that refutes draws further outputs, which certify nothing, for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import dpaudit.estimation.independence as independence
from dpaudit.auditing.draws import Certifying, Drawer, is_ours
from dpaudit.errors import shorten
from dpaudit.estimation.event import Event
from dpaudit.estimation.self_check import SelfCheck
from dpaudit.laws.drawn import projected
from dpaudit.laws.isolated import Isolated

_CALLS = 64  # of further outputs, on either dataset
_LEAST, _MOST = 512, 4096  # further outputs


@dataclass(frozen=True)
class Kept:
    """The checks of a contract, and in how many processes the outputs were drawn."""

    checks: tuple[SelfCheck, ...] = ()
    note: str | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the report says of it."""
        return () if self.note is None else (self.note,)


def of_event(drawer: Drawer, drawn: Certifying, event: Event) -> Kept:
    """Return the checks of the outputs that certify an event; none of this package's own."""
    if is_ours(drawer.mechanism):
        return Kept()
    happened = (event.happened(drawn.scores[0]), event.happened(drawn.scores[1]))
    checks = (*_no_files(drawer), *independence.checks(*drawn.outputs, happened))
    return Kept(checks, _note("Certifying", drawn))


def of_bets(drawer: Drawer, pairs: int) -> Kept:
    """Return the checks of outputs that are drawn for them, after so many pairs refuted a claim."""
    if is_ours(drawer.mechanism):
        return Kept()
    count = min(max(pairs, _LEAST), _MOST)
    fine = replace(drawer, unit=max(1, min(drawer.unit, count // _CALLS)))
    drawn = fine.certifying(projected, count, "contract")
    checks = (*_no_files(drawer), *independence.checks(*drawn.outputs))
    return Kept(checks, _note(f"{count} further", drawn))


def _no_files(drawer: Drawer) -> list[SelfCheck]:
    """Return the check that no file carries a state from call to call, where files are seen."""
    if not isinstance(drawer.mechanism, Isolated):
        return []
    found = drawer.mechanism.crew.kept_files
    named = ", ".join(shorten(path) for path in found[:3])
    return [
        SelfCheck(
            name="no file is written and read",
            statement=f"a file may carry noise from call to call ({named}): write none that is "
            "read again"
            if found
            else "no file carries anything from call to call",
            passed=not found,
            statistic=float(len(found)),
            threshold=0.0,
            evidence=f"files that the mechanism wrote and read: {named or 'none'}",
        )
    ]


def _note(which: str, drawn: Certifying) -> str:
    count = len(np.unique(drawn.outputs[0].processes))
    drawn_in = "this process" if count == 1 else f"{count} fresh processes, a call of each in turn"
    return f"{which} outputs of both datasets were drawn in {drawn_in}."
