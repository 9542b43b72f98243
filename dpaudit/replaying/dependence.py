"""Whether centres depend on noise: noisy values whose centre is the same whatever else is drawn.

A movement of two calls with the same frozen noise is a sensitivity only where the centre is a
function of the data alone. Where earlier noise reaches it, what moved is the change of the data
less what the feedback has made up for, and no sum of such movements bounds anything.

Runs alone show it: a centre that is not bit for bit the same in all runs on one dataset depends on
noise. One that is the same in all of them may still depend on noise that none of them had, so that
`DependenceCheck` says how many there were.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpaudit._typing import Array
from dpaudit.freezing.observing import REACHES, Function, SideRuns, runs_of_every_size
from dpaudit.freezing.outputs import Output
from dpaudit.freezing.recorder import Run
from dpaudit.freezing.tracked_noise import Call
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw, draws_of, is_law_held

# Of the runs on one dataset beyond those that are there.
_SECONDS = 0.5  # seconds once noise had every size
_MOST = 10.0  # seconds before it had


@dataclass
class DependenceCheck:
    """The calls whose centres stayed the same, and in how many calls.

    Parameters
    ----------
    steady
        Keys of the calls whose centre, scale and sums were the same in all calls on each dataset.
    same_calls
        Whether all of these made the same calls of primitives.
    lawful
        Whether every call with noise of another size returned what the laws say that were read.
    every_size
        Whether the time sufficed for calls with noise of every size.
    ordinary, graded
        Calls on each dataset with ordinary noise, and with noise that was made large on purpose.
    """

    steady: set[str] = field(default_factory=set)
    same_calls: bool = True
    lawful: bool = True
    every_size: bool = True
    ordinary: int = 0
    graded: int = 0


def make_call_names(run: Run) -> dict[str, Call]:
    """Return the calls of a run by their draw; one that draws the same again has another name."""
    found: dict[str, Call] = {}
    for call in run.calls:
        name = call.key
        while name in found:
            name += " again"
        found[name] = call
    return found


def look_for_dependence(sides: tuple[SideRuns, SideRuns]) -> DependenceCheck:
    """Return which centres were the same in all runs that are there."""
    return _merge_looked(
        [_compare_runs(side.runs[0], [*side.runs[1:], *side.far]) for side in sides], sides
    )


def look_again(
    looked: DependenceCheck,
    function: Function,
    data: tuple[Any, Any],
    known: tuple[tuple[SideRuns, SideRuns], tuple[Laws, Laws]],
    first: int,
) -> DependenceCheck:
    """Return the dependence that remains after more runs, with noise of every size.

    Parameters
    ----------
    looked, function, data, first
        What was found, what is run on which datasets, and the seed of the first run.
    known
        The runs that are there, and the laws that were read off them.
    """
    sides, more = known[0], list[DependenceCheck]()
    for side, laws, one in zip(*known, data, strict=True):
        made = list(runs_of_every_size(function, one, first, _SECONDS, _MOST))
        found = _compare_runs(side.runs[0], (run for run, _ in made))
        found.lawful = _has_lawful_runs(laws, made)
        more.append(found)
    found = _merge_looked(more, sides)
    return DependenceCheck(
        looked.steady & found.steady,
        looked.same_calls and found.same_calls,
        looked.lawful and found.lawful,
        # Noise of every size was there in one run at least.
        found.graded >= len(REACHES),
        looked.ordinary + found.ordinary - 1,  # the first run is in both
        looked.graded + found.graded,
    )


def _compare_runs(first: Run, others: Iterable[Run]) -> DependenceCheck:
    """Return which calls of a run the others made too, with the same centres and scales."""
    calls = make_call_names(first)
    found = DependenceCheck(set(calls), ordinary=1)
    for run in others:
        own = make_call_names(run)
        found.steady = {
            key for key in found.steady if key in own and _is_same_call(calls[key], own[key])
        }
        found.same_calls &= (
            _find_outermost_calls(own) == _find_outermost_calls(calls) and run.error == first.error
        )
        # Runs with noise of another size have negative seeds.
        found.ordinary += run.seed >= 0
        found.graded += run.seed < 0
    return found


def _has_lawful_runs(laws: Laws, made: Sequence[tuple[Run, Output]]) -> bool:
    """Return whether runs agree with the laws that were read off others."""
    side = SideRuns(runs=[run for run, _ in made], outputs=[output for _, output in made])
    if any(one.structure != laws.structure for one in side.outputs):
        return False
    if any(tuple(one.texts) != laws.texts for one in side.outputs):
        return False
    numbers, draws = np.array([one.numbers for one in side.outputs], float), draws_of(side)
    columns = dict(zip(draws.names, draws.columns, strict=True))
    return all(
        law is None or _is_number_lawful(law, numbers[:, n], columns)
        for n, law in enumerate(laws.numbers)
    )


def _is_number_lawful(
    law: NumberLaw, numbers: Array, columns: Mapping[StandardDraw, Array]
) -> bool:
    if law.constant:
        return bool(np.array_equal(numbers, np.full_like(numbers, law.centre), equal_nan=True))
    z = None if law.draw is None else columns.get(law.draw)
    return z is not None and is_law_held(law, numbers, z)


def _merge_looked(
    looked: list[DependenceCheck], sides: tuple[SideRuns, SideRuns]
) -> DependenceCheck:
    one, other = looked
    first = [_find_outermost_calls(make_call_names(side.runs[0])) for side in sides]
    return DependenceCheck(
        one.steady & other.steady,
        one.same_calls and other.same_calls and first[0] == first[1],
        one.lawful and other.lawful,
        one.every_size and other.every_size,
        # What is said of both datasets rests on the one that has fewer runs.
        min(one.ordinary, other.ordinary),
        min(one.graded, other.graded),
    )


def _find_outermost_calls(calls: dict[str, Call]) -> set[str]:
    """Return the calls that no other call contains: a packaged mechanism's draws belong to it."""
    return {name for name, call in calls.items() if call.parent is None}


def _is_same_call(one: Call, other: Call) -> bool:
    return len(one.meetings) == len(other.meetings) and all(
        np.array_equal(a, b, equal_nan=True)
        for a, b in zip(_numbers_of(one), _numbers_of(other), strict=True)
    )


def _numbers_of(call: Call) -> Iterator[Array]:
    for given in (call.location, call.scale):
        # NaN stands for none: the comparison lets it equal itself.
        yield np.asarray(np.nan if given is None else given, float)
    for meeting in call.meetings:
        yield np.asarray(meeting.centre, float)
        yield np.asarray(meeting.factor, float)
