"""Facts about a mechanism from its first outputs: its size, its pace, its randomness."""

from __future__ import annotations

from typing import NamedTuple

from dpaudit.execution import unit_size


class ProbeResult(NamedTuple):
    """Facts about a mechanism from its first outputs.

    ``pace``, ``call`` and ``start`` are seconds: of a trial, of a call, and of a process that
    imports and makes the mechanism. ``size`` is that of an output in bytes. ``repeats`` and
    ``own`` say whether randomness is not that of the generator.
    """

    pace: float
    call: float
    start: float
    size: int
    repeats: bool
    own: bool

    def is_slow(self, trials: int, *, several: bool, coarse: bool = False) -> bool:
        """Return whether units have to be smaller for the mechanism's pace."""
        slow = unit_size(trials, self.size, self.pace, several=several, coarse=coarse)
        return slow != unit_size(trials, self.size, several=several, coarse=coarse)


NOTHING_SEEN = ProbeResult(0.0, 0.0, 0.0, 8, False, False)
