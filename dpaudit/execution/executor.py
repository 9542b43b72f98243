"""Execution of the units of a stage: in this process, or in workers beside it."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Protocol, TypeVar

import numpy as np

import dpaudit._check as check
from dpaudit._references import stop_here
from dpaudit.errors import InvalidArgument, MechanismError, VerbatimText, shorten_repr
from dpaudit.execution.backends import Backend
from dpaudit.execution.failures import CannotTravel, WorkerEnded
from dpaudit.execution.ledger import KeptStage, get_current_ledger
from dpaudit.execution.pool import Arrived, Crew
from dpaudit.execution.processes import Limits, out_of_time
from dpaudit.execution.threads import one_thread
from dpaudit.execution.units import Stage, Unit, stage_of
from dpaudit.notebook import notebook_bar

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


def get_default_progress() -> Progress:
    """Return who is told unless somebody else is named: a notebook's reader, or nobody."""
    return notebook_bar() or Silent()


# Workers for what dpaudit itself or an installed claim computes; they stay for the next stage.
_everybodys = Crew()


class ShareDrawn(Exception):
    """A share of the units was drawn and kept; the others' are missing.

    Parameters
    ----------
    stage, shard, units, missing
        Of what; which share of how many; how many units it has, and how many are missing in all.
    """

    def __init__(self, stage: str, shard: tuple[int, int], units: int, missing: int) -> None:
        super().__init__(stage, shard, units, missing)
        self.stage, self.shard, self.units, self.missing = stage, shard, units, missing

    def __str__(self) -> str:
        number, count = self.shard
        return (
            f"share {number} of {count} of '{self.stage}': {self.units} units are kept, "
            f"{self.missing} of others are missing"
        )


ItemT = TypeVar("ItemT")


def of_each(items: Iterable[ItemT], do: Callable[[ItemT], ResultT]) -> list[ResultT]:
    """Return ``do(item)`` of every item; where shares are drawn, of all before the first is missed.

    Examples
    --------
    >>> of_each([1, 2], lambda x: x + 1)
    [2, 3]
    """
    results, missed = list[ResultT](), list[ShareDrawn]()
    for item in items:
        try:
            results.append(do(item))
        except ShareDrawn as drawn:
            missed.append(drawn)
    if missed:
        raise missed[0]
    return results


@dataclass(frozen=True)
class Executor:
    """The workers that compute units; nothing in it changes a number.

    Parameters
    ----------
    workers
        The number of worker processes; 1 computes in this process, unless the code is to run apart
        from it.
    worth
        The seconds of work from which on workers take the rest of a stage, as their start costs
        time too; below 0 they take all of it.
    progress
        A function that learns of new results; by default a bar below the cell of a notebook.
    backend
        The backend that computes in place of this machine's own workers, if there is one.
    shard
        ``(k, n)``: of the certifying units only the k-th of n shares is computed, and kept; 0 for
        none of them.
    since
        The moment of `time.monotonic` at which a budget of time begins; by default the beginning of
        the audit.
    until
        The moment of `time.monotonic` at which the wait for results ends, and `DrawTimeout` is
        raised.

    Examples
    --------
    >>> from dpaudit.execution import plan_units
    >>> import numpy as np
    >>> units = plan_units(100, size=40, seed=np.random.SeedSequence(7))
    >>> [unit.trials for unit in units]
    [40, 40, 20]
    >>> draw = lambda unit: unit.generator().random(unit.trials)
    >>> np.concatenate(list(Executor().map(draw, units, "doctest"))).shape
    (100,)
    """

    workers: int = 1
    worth: float = 0.5
    progress: Progress = field(default_factory=get_default_progress)
    backend: Backend | None = None
    shard: tuple[int, int] | None = None
    since: float | None = None
    until: float | None = None

    def __post_init__(self) -> None:
        check.require_integer("workers", self.workers, least=1)
        check.require_real("worth", self.worth)

    def map(
        self,
        task: Callable[[Unit], ResultT],
        units: Sequence[Unit],
        stage: Stage | str,
        crew: Crew | None = None,
    ) -> Iterator[ResultT]:
        """Yield ``task(unit)`` of every unit, in order, as they become ready.

        With a ``crew`` all of it runs there, however short it is.
        """
        left = list(units)

        def run(places: Sequence[int], arrived: Arrived) -> Iterator[list[ResultT]]:
            units = [left[place] for place in places]
            if self.backend is not None:
                limits = Limits() if crew is None else crew.limits
                return self.backend.compute(task, [units], limits, arrived, fresh=False)
            return self._run(task, deque(units), crew, arrived)

        yield from self._all(task, left, stage_of(stage), run)

    def deal(
        self,
        task: Callable[[Unit], ResultT],
        hands: Sequence[Sequence[Unit]],
        stage: Stage | str,
        crew: Crew | None = None,
    ) -> Iterator[ResultT]:
        """Yield ``task(unit)`` of all units, in order; in a crew each hand has a fresh process."""
        units = [unit for hand in hands for unit in hand]
        if crew is None:
            yield from self.map(task, units, stage)
            return
        owner = [number for number, hand in enumerate(hands) for _ in hand]

        def run(places: Sequence[int], arrived: Arrived) -> Iterator[list[ResultT]]:
            dealt = [[units[i] for i in places if owner[i] == n] for n in range(len(hands))]
            filled = [hand for hand in dealt if hand]
            if self.backend is not None:
                return self.backend.compute(task, filled, crew.limits, arrived, fresh=True)
            return crew.deal(task, filled, self.workers, arrived)

        yield from self._all(task, units, stage_of(stage), run)

    def _all(
        self,
        task: Callable[[Unit], ResultT],
        units: Sequence[Unit],
        stage: Stage,
        run: Callable[[Sequence[int], Arrived], Iterator[list[ResultT]]],
    ) -> Iterator[ResultT]:
        """Yield the results of all units: those that are kept, and those that ``run`` computes."""
        stop_here()
        self.progress.start(stage.shown, sum(unit.trials for unit in units))
        kept = get_current_ledger().stage(task, units, stage.key, measures=stage.measures)
        if self.shard is not None and stage.certifies:
            _draw_share(kept, self.shard, units, stage, run)
            # Asked for anew, as what was just drawn is kept by now.
            kept = get_current_ledger().stage(task, units, stage.key)
        started = 0
        for results in _fill_kept_stage(kept, len(units), run):
            stop = started + len(results)
            self.progress.advance(sum(unit.trials for unit in units[started:stop]))
            started = stop
            yield from results
            # A stage whose last result is there is not out of time.
            if self.until is not None and stop < len(units) and monotonic() > self.until:
                raise out_of_time()

    def _run(
        self,
        task: Callable[[Unit], ResultT],
        left: deque[Unit],
        crew: Crew | None,
        arrived: Arrived,
    ) -> Iterator[list[ResultT]]:
        if crew is not None:
            yield from crew.map(task, list(left), self.workers, arrived)
            return
        total = len(left)
        for results in self._compute_units_locally(task, left):
            arrived(total - len(left) - len(results), results)
            yield results
        if left:
            done = total - len(left)
            yield from self._hand_out_units(
                task, list(left), lambda first, found: arrived(done + first, found)
            )

    def _compute_units_locally(
        self, task: Callable[[Unit], ResultT], left: deque[Unit]
    ) -> Iterator[list[ResultT]]:
        """Take units and yield their results, until those left are worth handing out."""
        taken, done = 0.0, 0
        while left and (self.workers == 1 or taken / max(done, 1) * len(left) <= self.worth):
            started = monotonic()
            results = [_on_one_thread(task, left.popleft())]
            taken, done = taken + monotonic() - started, done + 1
            yield results

    def _hand_out_units(
        self, task: Callable[[Unit], ResultT], units: list[Unit], arrived: Arrived
    ) -> Iterator[list[ResultT]]:
        try:
            yield from _everybodys.map(task, units, self.workers, arrived)
        except WorkerEnded as error:
            raise MechanismError(
                f"workers: one of {self.workers} worker processes {error}; try fewer"
            ) from error
        except CannotTravel as error:
            expected = f"1: the mechanism cannot be sent to a worker ({shorten_repr(str(error))})"
            raise InvalidArgument("workers", self.workers, expected) from error


def _draw_share(
    kept: KeptStage | None,
    shard: tuple[int, int],
    units: Sequence[Unit],
    stage: Stage,
    run: Callable[[Sequence[int], Arrived], Iterator[list[Any]]],
) -> None:
    """Compute and keep a share of the units; raise `ShareDrawn` unless all are there then."""
    if kept is None:
        expected = "a mechanism that something identifies: its outputs could not be put together"
        raise InvalidArgument("shard", VerbatimText(f"{shard[0]}/{shard[1]}"), expected)
    number, count = shard
    own = [place for place in range(len(units)) if number and place % count == number - 1]
    left = [place for place in own if place not in kept.there]
    if left:

        def keep_arrivals(first: int, results: Sequence[Any]) -> None:
            kept.keep(left[first : first + len(results)], results)

        for _ in run(left, keep_arrivals):  # they are kept as they come
            pass
    missing = len(units) - len(kept.there.union(left))
    if missing:
        raise ShareDrawn(stage.shown, shard, len(own), missing)


def _fill_kept_stage(
    kept: KeptStage | None,
    count: int,
    run: Callable[[Sequence[int], Arrived], Iterator[list[ResultT]]],
) -> Iterator[list[ResultT]]:
    """Yield all results in order; those that are not kept are computed, and kept as they come."""
    if kept is None:
        yield from run(range(count), _ignore_results)
        return
    there = kept.there
    places = [place for place in range(count) if place not in there]

    def keep_arrivals(first: int, results: Sequence[Any]) -> None:
        kept.keep(places[first : first + len(results)], results)

    computed = run(places, keep_arrivals) if places else iter(())
    ready = deque(next(computed, ()))  # what is missing is begun before what is kept is read
    for place in range(count):
        if place not in there and not ready:
            ready.extend(next(computed))
        yield [kept.load(place) if place in there else ready.popleft()]
    for _ in computed:  # its end
        pass


def _ignore_results(first: int, results: Sequence[Any]) -> None:
    """Keep nothing."""


def _on_one_thread(task: Callable[[Unit], Any], unit: Unit) -> Any:
    with one_thread(), redirect_stdout(sys.stderr):  # standard output is for results
        return _make_contiguous(task(unit))


def _make_contiguous(value: Any) -> Any:
    """Return a result with its arrays laid out as those that come from a worker or a store.

    The order in which numbers are added follows how they lie, and the last digits follow that.
    """
    # Only the types themselves: a named tuple, which is a tuple, takes its members one by one.
    if type(value) in (list, tuple):
        return type(value)(map(_make_contiguous, value))
    if type(value) is dict:
        return {name: _make_contiguous(one) for name, one in value.items()}
    if type(value) is not np.ndarray or (value.flags.c_contiguous and value.flags.aligned):
        return value
    return value.copy(order="C")
