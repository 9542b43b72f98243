"""A probe of a mechanism: its size, its pace, and whether its randomness is the generator's."""

from __future__ import annotations

import math
from time import monotonic
from typing import Any, NamedTuple

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.auditing.sampling.first_outputs import FirstOutputs
from dpaudit.errors import MechanismError
from dpaudit.execution import stream, unit_size
from dpaudit.execution.ledger import get_current_ledger
from dpaudit.mechanisms.foreign.code_identity import outside_of
from dpaudit.mechanisms.foreign.isolated import Isolated, is_ours
from dpaudit.mechanisms.mechanism import Mechanism, draw_checked_sample, name_of
from dpaudit.neighbours import Pair

_ROWS = (3, 64, 2048)  # rows that show whether randomness comes from the generator, fewest first
_COLLISION = 1e-9  # probability of an agreement that chance may explain
# Seconds from which on the pace of a mechanism shows.
_SHOWS = 0.05


class ProbeResult(NamedTuple):
    """What the first transcripts showed of a mechanism.

    ``pace``, ``call`` and ``start`` are seconds: of a trial, of a call, and of a process that
    imports and makes the mechanism. ``size`` is that of a transcript in bytes. ``repeats`` and
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


def make_probe_of_first_outputs(mechanism: Any, first: FirstOutputs) -> ProbeResult:
    """Return what the first outputs showed, each of a call of its own: nothing more is drawn."""
    start = mechanism.start if isinstance(mechanism, Isolated) else 0.0
    size = 8 * max(1, len(mechanism.layout.columns))
    return ProbeResult(first.pace, first.pace, start, size, repeats=False, own=first.own)


def get_probe_result(
    mechanism: Mechanism[Any], pair: Pair[Any], seed: int, trials: int, unit: int | None
) -> ProbeResult:
    """Return what is seen of a mechanism: what an audit that goes on saw when it began."""
    given = mechanism, pair, seed, trials, unit
    return get_current_ledger().fact(
        "what was seen", lambda: _run_probe(*given), given, measures=True
    )


def _run_probe(
    mechanism: Mechanism[Any], pair: Pair[Any], seed: int, trials: int, unit: int | None
) -> ProbeResult:
    began = monotonic()
    shapes = {
        draw_checked_sample(mechanism, dataset, 2, default_rng(stream(seed, "probe"))).shape
        for dataset in (pair.dataset, pair.neighbour)
    }
    pace, call = (monotonic() - began) / 4, _seconds_per_call(mechanism, pair.dataset, seed)
    repeats = _is_repeating_outputs(mechanism, pair.dataset, seed)
    own = not is_ours(mechanism) and _has_own_randomness(mechanism, pair.dataset, seed)
    if len(shapes) > 1:
        raise MechanismError(
            f"mechanism {name_of(mechanism)}: outputs of shapes {sorted(shapes)} on "
            "the two datasets, expected the same shape on both"
        )
    size = int(np.prod(shapes.pop()[1:])) * 8
    start = mechanism.start if isinstance(mechanism, Isolated) else 0.0
    seen = ProbeResult(pace, call, start, size, repeats, own)
    theirs = not is_ours(mechanism)
    # Few trials show the pace of a slow mechanism, of a quick one the costs of a call.
    if theirs and unit is None and seen.is_slow(trials, several=trials > 0):
        pace = seconds_per_trial(mechanism, pair.dataset, seed)
    return seen._replace(pace=pace)


def _seconds_per_call(mechanism: Mechanism[Any], dataset: Any, seed: int) -> float:
    """Return what a call takes, less the way to its process and back."""
    began = monotonic()
    draw_checked_sample(mechanism, dataset, 1, default_rng(stream(seed, "pace of a call")))
    taken = monotonic() - began
    if not isinstance(mechanism, Isolated):
        return taken
    return max(0.0, taken - mechanism.way())


def seconds_per_trial(mechanism: Mechanism[Any], dataset: Any, seed: int) -> float:
    """Return what one more trial takes, not what a call does: seen on ever more trials."""

    def time_rows(rows: int) -> float:
        began = monotonic()
        draw_checked_sample(mechanism, dataset, rows, default_rng(stream(seed, "pace", str(rows))))
        return monotonic() - began

    few, rows = 2, 4
    before, seconds = time_rows(few), time_rows(rows)
    while seconds - before < _SHOWS and rows < _ROWS[-1]:
        few, rows, before = rows, 4 * rows, seconds
        seconds = time_rows(rows)
    return max(0.0, seconds - before) / (rows - few)


def _is_repeating_outputs(mechanism: Mechanism[Any], dataset: Any, seed: int) -> bool:
    """Return whether transcripts differ, but not with the generator the mechanism is given.

    Outputs that take few values may be the same by chance: then more are drawn, but of what is no
    code of Python, where each is a request or a process.
    """
    for rows in _ROWS if outside_of(mechanism) is None else _ROWS[:-1]:
        first, second = (
            draw_checked_sample(mechanism, dataset, rows, default_rng(stream(seed, name)))
            for name in ("one generator", "another generator")
        )
        if not np.array_equal(first, second):
            return False
        if _log_collision(first) < math.log(_COLLISION):
            return True
    return False


def _has_own_randomness(mechanism: Mechanism[Any], dataset: Any, seed: int) -> bool:
    """Return whether transcripts differ with one and the same generator."""
    first, second = (
        draw_checked_sample(
            mechanism, dataset, _ROWS[0], default_rng(stream(seed, "one generator"))
        )
        for _ in range(2)
    )
    return not np.array_equal(first, second)


def _log_collision(rows: Array) -> float:
    """Return the logarithm of how probable it is that as many rows of that law are the same."""
    _, counts = np.unique(rows.reshape(len(rows), -1), axis=0, return_counts=True)
    return len(rows) * math.log(float(np.sum((counts / len(rows)) ** 2)))
