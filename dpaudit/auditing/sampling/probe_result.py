"""Facts about a mechanism from its first outputs: its size, its pace, its randomness."""

from __future__ import annotations

from typing import NamedTuple

from dpaudit.execution import unit_size


class ProbeResult(NamedTuple):
    """Facts about a mechanism from its first outputs.

    ``startup_seconds`` are those of a process that imports and makes the mechanism. ``size`` is
    that of an output in bytes. ``repeats`` and ``has_own_randomness`` say whether randomness is not
    that of the generator.
    """

    seconds_per_output: float
    seconds_per_call: float
    startup_seconds: float
    size: int
    repeats: bool
    has_own_randomness: bool

    def is_slow(self, trials: int, *, several: bool, coarse: bool = False) -> bool:
        """Return whether units have to be smaller for the mechanism's pace."""
        slow = unit_size(trials, self.size, self.seconds_per_output, several=several, coarse=coarse)
        return slow != unit_size(trials, self.size, several=several, coarse=coarse)


NOTHING_SEEN = ProbeResult(0.0, 0.0, 0.0, 8, False, False)
