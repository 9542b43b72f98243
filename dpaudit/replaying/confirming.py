"""The second look of a replay before it accuses: other noise, far out.

A choice that nearly always falls the same way is the same in all runs with ordinary noise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dpaudit.freezing.observing import Function, SideRuns, runs_that_spare
from dpaudit.replaying.counting import OutputEvent
from dpaudit.replaying.events import ReplayEvent, best_event
from dpaudit.replaying.laws import KINDS, Laws, NumberLaw, draws_of, is_law_held

_MARGIN = 1e-9
_TRIES = 4  # of events, each without the laws that the one before was wrong about
_MOST_FAR = 64  # runs, before it is said that no noise reaches a value
_ALONE = 3  # numbers of an event whose noise alone is spared


def exceeds(event: ReplayEvent, laws: tuple[Laws, Laws], claimed: tuple[float, float]) -> bool:
    """Return whether an event proves more than epsilon and delta that are claimed."""
    epsilon, delta = claimed
    return event.proved(delta, *laws) > epsilon * (1 + _MARGIN) + _MARGIN


def select_confirmed_laws(
    laws: tuple[Laws, Laws],
    function: Function,
    data: tuple[Any, Any],
    claimed: tuple[float, float],
    first: int,
) -> tuple[Laws, Laws]:
    """Return laws without those that an event would rest on, and other noise changes.

    A choice that nearly always falls the same way is the same in all runs, and where all draws are
    far out a clipping may hide what it decides. Here all draws but those of the event are.
    """
    for _ in range(_TRIES):
        event = without_constants(laws, claimed[1])
        if event is None or not exceeds(event, laws, claimed):
            break
        wrong = set[int]()
        for side, one in zip(laws, data, strict=True):
            wrong |= _find_changed_numbers(side, event, function, one, first)
        if not wrong:
            return laws
        for side in laws:
            side.numbers = [None if n in wrong else law for n, law in enumerate(side.numbers)]
    else:
        for side in laws:
            # Every try found another law wrong: none with noise is trusted any more.
            side.numbers = [law if law and law.constant else None for law in side.numbers]
    return laws


def _find_changed_numbers(
    laws: Laws, event: ReplayEvent, function: Function, data: Any, first: int
) -> set[int]:
    """Return the numbers of an event whose laws other noise changes, if it is far out."""
    kept = {one.place: laws.numbers[one.place] for one in event.conditions}
    own = [law.draw.entries for law in kept.values() if law is not None and law.draw is not None]
    wrong = set[int]()
    # All noise of the event is spared together, and that of its first numbers alone: one number may
    # depend on the noise of another.
    for spared in {frozenset[tuple[str, int]]().union(*own), *own[:_ALONE]}:
        side = runs_that_spare(function, data, spared, first)
        draws = draws_of(side)
        columns = dict(zip(draws.names, draws.columns, strict=True))
        alike = {output.structure for output in side.outputs} == {laws.structure}
        for place, law in kept.items():
            z = None if law is None or law.draw is None else columns.get(law.draw)
            if law is None or z is None or not alike:
                wrong.add(place)
            elif not is_law_held(law, np.array([o.numbers[place] for o in side.outputs]), z):
                wrong.add(place)
    return wrong


def without_constants(laws: tuple[Laws, Laws], delta: float) -> ReplayEvent | None:
    """Return the best event about numbers that noise reaches; constants are counted instead."""

    def noisy(law: NumberLaw | None) -> NumberLaw | None:
        return None if law is None or law.constant else law

    own = [replace(one, numbers=[noisy(law) for law in one.numbers]) for one in laws]
    return best_event(own[0], own[1], delta)


# Primitives without location and scale of which a far draw is the first or the last.
_WITH_ENDS = ("integers", "randint", "choice", "randrange", "_randbelow", "getrandbits")


def _has_extreme_draws(sides: tuple[SideRuns, SideRuns]) -> bool:
    """Return whether far draws had every primitive at its ends, so that rare choices show."""
    calls = [call for side in sides for run in side.far for call in run.calls]
    return all(
        call.kind in KINDS or call.declared or (call.kind in _WITH_ENDS and not call.shape)
        for call in calls
    )


def is_unmoved_by_far_draws(
    seen: OutputEvent,
    function: Function,
    data: tuple[Any, Any],
    sides: tuple[SideRuns, SideRuns],
    first: int,
) -> bool:
    """Return whether no far draws move the seen event: several rare ones may have to meet."""
    if not _has_extreme_draws(sides) or any(r.elsewhere for s in sides for r in s.runs):
        return False
    own, other = data if seen.favours == "dataset" else data[::-1]
    none = frozenset[tuple[str, int]]()
    kept = runs_that_spare(function, own, none, first, _MOST_FAR).outputs
    gone = runs_that_spare(function, other, none, first, _MOST_FAR).outputs
    return all(map(seen.happened, kept)) and not any(map(seen.happened, gone))
