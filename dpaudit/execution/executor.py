"""Who computes the units of a stage: this process, or workers beside it."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol, TypeVar

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument, MechanismError, shorten
from dpaudit.execution.failures import CannotTravel, WorkerEnded
from dpaudit.execution.pool import Crew
from dpaudit.execution.threads import one_thread
from dpaudit.execution.units import Unit

ResultT = TypeVar("ResultT")


class Progress(Protocol):
    """Something that can be told how many trials of a stage are done."""

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage of so many trials."""
        ...

    def advance(self, trials: int) -> None:
        """Say that so many more are done."""
        ...


class Silent:
    """Progress nobody sees."""

    def start(self, stage: str, trials: int) -> None:
        """Begin a stage."""

    def advance(self, trials: int) -> None:
        """Say that some are done."""


# Workers for what dpaudit itself or an installed claim computes; they stay for the next stage.
_everybodys = Crew()


@dataclass(frozen=True)
class Executor:
    """The workers that compute units; nothing in it changes a number.

    Parameters
    ----------
    workers
        Worker processes; 1 computes in this process, unless the code is to run apart from it.
    worth
        What is left of a stage is handed to workers once it promises more seconds of work than
        this, as starting them costs time too; below 0 all of it is.
    progress
        Told whenever results are there.

    Examples
    --------
    >>> from dpaudit.execution import planned_units
    >>> import numpy as np
    >>> units = planned_units(100, size=40, seed=np.random.SeedSequence(7))
    >>> [unit.trials for unit in units]
    [40, 40, 20]
    >>> draw = lambda unit: unit.generator().random(unit.trials)
    >>> np.concatenate(list(Executor().map(draw, units, "doctest"))).shape
    (100,)
    """

    workers: int = 1
    worth: float = 0.5
    progress: Progress = field(default_factory=Silent)

    def __post_init__(self) -> None:
        check.integer("workers", self.workers, least=1)
        check.real("worth", self.worth)

    def map(
        self,
        task: Callable[[Unit], ResultT],
        units: Sequence[Unit],
        stage: str,
        crew: Crew | None = None,
    ) -> Iterator[ResultT]:
        """Yield ``task(unit)`` of every unit, in order, as they become ready.

        With a ``crew`` all of it runs there, however short it is.
        """
        self.progress.start(stage, sum(unit.trials for unit in units))
        started = 0
        for results in self._run(task, deque(units), crew):
            stop = started + len(results)
            self.progress.advance(sum(unit.trials for unit in units[started:stop]))
            started = stop
            yield from results

    def deal(
        self,
        task: Callable[[Unit], ResultT],
        hands: Sequence[Sequence[Unit]],
        stage: str,
        crew: Crew | None = None,
    ) -> Iterator[ResultT]:
        """Yield ``task(unit)`` of all units, in order; in a crew each hand has a fresh process."""
        units = [unit for hand in hands for unit in hand]
        if crew is None:
            yield from self.map(task, units, stage)
            return
        self.progress.start(stage, sum(unit.trials for unit in units))
        started = 0
        for results in crew.deal(task, hands, self.workers):
            stop = started + len(results)
            self.progress.advance(sum(unit.trials for unit in units[started:stop]))
            started = stop
            yield from results

    def _run(
        self, task: Callable[[Unit], ResultT], left: deque[Unit], crew: Crew | None
    ) -> Iterator[list[ResultT]]:
        if crew is not None:
            yield from crew.map(task, list(left), self.workers)
            return
        yield from self._computed_here(task, left)
        if left:
            yield from self._handed_out(task, list(left))

    def _computed_here(
        self, task: Callable[[Unit], ResultT], left: deque[Unit]
    ) -> Iterator[list[ResultT]]:
        """Take units and yield their results, until those left are worth handing out."""
        taken, done = 0.0, 0
        while left and (self.workers == 1 or taken / max(done, 1) * len(left) <= self.worth):
            started = monotonic()
            results = [_on_one_thread(task, left.popleft())]
            taken, done = taken + monotonic() - started, done + 1
            yield results

    def _handed_out(
        self, task: Callable[[Unit], ResultT], units: list[Unit]
    ) -> Iterator[list[ResultT]]:
        try:
            yield from _everybodys.map(task, units, self.workers)
        except WorkerEnded as error:
            raise MechanismError(
                f"workers: one of {self.workers} worker processes {error}; try fewer"
            ) from error
        except CannotTravel as error:
            expected = f"1: the mechanism cannot be sent to a worker ({shorten(str(error))})"
            raise InvalidArgument("workers", self.workers, expected) from error


def _on_one_thread(task: Callable[[Unit], Any], unit: Unit) -> Any:
    with one_thread(), redirect_stdout(sys.stderr):  # standard output is for results
        return task(unit)
