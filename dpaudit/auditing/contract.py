"""The contract of a mechanism: independent outputs of one law on either dataset.

An event audit checks it on the outputs that certify. An audit that bets stops long before these
tests could see much: one that refutes draws further outputs, which certify nothing, for them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import dpaudit.estimation.independence as independence
from dpaudit._typing import Array
from dpaudit.auditing.draws import Drawer, is_ours
from dpaudit.estimation.event import Event
from dpaudit.estimation.independence import Outputs
from dpaudit.estimation.self_check import SelfCheck

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


def of_event(drawer: Drawer, outputs: tuple[Outputs, Outputs], event: Event) -> Kept:
    """Return the checks of the outputs that certify an event; none of this package's own."""
    if is_ours(drawer.mechanism):
        return Kept()
    happened = (event.happened(outputs[0].scores), event.happened(outputs[1].scores))
    return Kept(tuple(independence.checks(*outputs, happened)), _note("Certifying", outputs))


def of_bets(drawer: Drawer, pairs: int) -> Kept:
    """Return the checks of outputs that are drawn for them, after so many pairs refuted a claim."""
    if is_ours(drawer.mechanism):
        return Kept()
    count = min(max(pairs, _LEAST), _MOST)
    fine = replace(drawer, unit=max(1, min(drawer.unit, count // _CALLS)))
    outputs = fine.certifying(projected, count, "contract")
    return Kept(tuple(independence.checks(*outputs)), _note(f"{count} further", outputs))


def projected(transcripts: Array) -> Array:
    """Return one number of each transcript that all of its entries have a part in.

    Examples
    --------
    >>> projected(np.ones((2, 3))).shape
    (2,)
    """
    flat = transcripts.reshape(len(transcripts), -1)
    weights = np.random.default_rng(0).uniform(0.5, 1.5, flat.shape[1])
    return np.asarray(flat @ weights)


def _note(which: str, outputs: tuple[Outputs, Outputs]) -> str:
    count = len(np.unique(outputs[0].processes))
    drawn_in = "this process" if count == 1 else f"{count} fresh processes, a call of each in turn"
    return f"{which} outputs of both datasets were drawn in {drawn_in}."
