"""Worker processes as their user sees them: units out, results in order, and how a worker ended.

A `Crew` is the workers of one audit. They take units as they become free, and results come back in
the plan's order. `dpaudit.execution.worker` is the other side.
"""

from __future__ import annotations

import itertools
import selectors
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from time import monotonic
from typing import Any, TypeVar
from weakref import finalize

import numpy as np

from dpaudit.execution.keeper import the_keeper
from dpaudit.execution.processes import Limits, Task, TaskReference, Worker, out_of_time
from dpaudit.execution.tasks import Calling, OnUnit, libraries_of, to_pickle
from dpaudit.execution.units import Unit

ResultT = TypeVar("ResultT")
# Is told of results as they come: the place of the first among the units, and the results.
Arrived = Callable[[int, Sequence[Any]], None]

_REQUEST = 0.02  # seconds that a request is worth
_MOST = 64  # units of a request
# Requests that a worker has at a time, so that it need not wait for the next.
_AHEAD = 2
# Files that are code and no data of the mechanism (`Crew.read_files`).
_MODULES = (".py", ".pyc", ".so")
_INSTALLED = (".egg-info", ".dist-info")
_SYSTEM = ("/etc/", "/usr/", "/lib/", "/opt/", "/bin/")
# Bytes of results that are kept for a consumer that is slower than the workers.
_HELD = 64 * 2**20


class Crew:
    """The worker processes of one audit; each keeps the mechanism that it made.

    Parameters
    ----------
    limits
        What a call may take.
    python
        Of another environment, where tasks are `TaskReference` alone; None for this one.

    Examples
    --------
    >>> from dpaudit.execution.units import plan_units
    >>> import math
    >>> with Crew() as crew:
    ...     crew.call(math.sqrt, 16.0)
    4.0
    """

    def __init__(self, limits: Limits | None = None, python: str | None = None) -> None:
        self.limits, self.python = limits or Limits(), python
        self.started = 0
        self._until: float | None = None
        self._workers: list[Worker] = []
        self._names = (f"task {number}" for number in itertools.count())
        self._files: tuple[set[str], set[str]] = (set(), set())
        # Also a crew that nobody closes ends its workers: when it is collected, or at exit.
        self._ended = finalize(self, _end_all, self._workers)

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the workers; the next call starts others."""
        _end_all(self._workers)

    @contextmanager
    def patient(self, timeout: float) -> Iterator[None]:
        """Let calls inside the block take so many seconds, as those that import a library."""
        before = self.limits
        self._limit(replace(before, timeout=timeout))
        try:
            yield
        finally:
            self._limit(before)

    @contextmanager
    def by(self, until: float | None) -> Iterator[None]:
        """Let draws inside the block go on until a moment of `time.monotonic`, and no longer.

        Then no more units are asked for; those that were have a second to end, and `DrawTimeout` is
        raised in any case, whatever came. A block inside another cannot have more time than that;
        None gives it as much.
        """
        before = self._until
        self._end_by(min((one for one in (before, until) if one is not None), default=None))
        try:
            yield
        finally:
            self._end_by(before)

    @property
    def until(self) -> float | None:
        """The moment of `time.monotonic` by which draws end, None for none."""
        return self._until

    def _end_by(self, until: float | None) -> None:
        self._until = until
        for worker in self._workers:
            worker.until = until

    def _limit(self, limits: Limits) -> None:
        self.limits = limits
        for worker in self._workers:
            worker.limits = limits

    @property
    def kept_files(self) -> list[str]:
        """Files that the workers' code has written and read: a state that outlives processes."""
        wrote, read = self._files
        return sorted(wrote & read)

    @property
    def read_files(self) -> list[str]:
        """Files that the workers' code has read, but for modules and those of the system."""
        return sorted(path for path in self._files[1] if not _is_of_code(path))

    def call(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Return the result of a function in a worker: numbers, arrays, text, or made of these."""
        task = Calling(function, arguments)
        unit = Unit(1, np.random.SeedSequence(0))
        ((found,),) = self.map(task, [unit], workers=1)
        result: ResultT = found
        return result

    def map(
        self,
        task: Callable[[Unit], ResultT],
        units: Sequence[Unit],
        workers: int,
        arrived: Arrived | None = None,
    ) -> Iterator[list[ResultT]]:
        """Yield results of the units in order, a few at a time, from so many workers.

        ``arrived`` is told of each as it comes, in whatever order.

        Raises
        ------
        CannotTravel
            The task does not pickle.
        WorkerEnded
            A worker ended, or took too long.
        DrawTimeout
            The time of the block that this was asked in is over.
        DpauditError
            A task failed.
        """
        stage = _Stage(next(self._names), to_pickle(OnUnit(task)), units, arrived)
        yield from self._run(stage, workers)

    def _run(self, stage: _Stage, workers: int) -> Iterator[list[Any]]:
        with selectors.DefaultSelector() as selector:
            try:
                busy = _Busy(selector, self._files, self._until)
                busy.require_time()
                for worker in itertools.islice(self._hands(), min(workers, stage.total)):
                    busy.begin(stage, worker)
                while busy.working or not stage.finished:
                    yield from stage.taken()
                    busy.go_on()
            finally:
                # A consumer may stop early: answers to its requests must not reach the next stage.
                self._dismiss_busy()

    def draw(self, task: TaskReference, units: Sequence[Unit], workers: int) -> Iterator[list[Any]]:
        """Yield results of units of a task that is found by its name, as `map` does.

        Raises what `map` raises, but for `CannotTravel`.
        """
        yield from self._run(_Stage(next(self._names), task, units), workers)

    def compute(self, name: str, blob: bytes, units: Sequence[Unit]) -> list[Any]:
        """Return results of units of a pickled task, from one worker, which keeps it by its name.

        Raises what `map` raises, but for `CannotTravel`.
        """
        return [one for found in self._run(_Stage(name, blob, units), 1) for one in found]

    def deal(
        self,
        task: Callable[[Unit], ResultT],
        hands: Sequence[Sequence[Unit]],
        workers: int,
        arrived: Arrived | None = None,
    ) -> Iterator[list[ResultT]]:
        """Yield results of all units in order; each hand of units has a process of its own.

        These are fresh ones, of which so many run at a time, and end with their last unit.
        ``arrived`` and what is raised are those of `map`.
        """
        blob = to_pickle(OnUnit(task, is_last=True))
        the_keeper().preload(libraries_of(blob))
        before = itertools.accumulate((len(units) for units in hands), initial=0)
        stages = [
            _Stage(next(self._names), blob, units, arrived, first)
            for units, first in zip(hands, before, strict=False)
        ]
        waiting = deque(stages)
        with selectors.DefaultSelector() as selector:
            try:
                busy = _Busy(selector, self._files, self._until)
                for stage in stages:
                    while not stage.finished:
                        while waiting and len(busy.pairs) < workers:
                            busy.begin(waiting.popleft(), self._fresh())
                        yield from stage.taken()
                        busy.go_on()
                        for worker in busy.remove_idle_workers():
                            worker.end()
                            self._workers.remove(worker)
            finally:
                self._dismiss_busy()

    def _hands(self) -> Iterator[Worker]:
        """Yield the workers there are, but for a parent process's and a dead keeper's, then new."""
        for worker in [one for one in self._workers if not one.keeper.is_ours]:
            worker.channel.close()
            self._workers.remove(worker)
        yield from list(self._workers)
        while True:
            yield self._fresh()

    def _fresh(self) -> Worker:
        self._workers.append(Worker.started(self.limits, self.python))
        self._workers[-1].until = self._until
        self.started += 1
        return self._workers[-1]

    def _dismiss_busy(self) -> None:
        """End workers whose answers nobody waits for any more."""
        for worker in [one for one in self._workers if one.asked or one.channel.fileno() < 0]:
            worker.end()
            self._workers.remove(worker)


def _end_all(workers: list[Worker]) -> None:
    while workers:
        workers.pop().end()


class _Stage:
    """A task, the units that are still to be asked for, and the results there are."""

    def __init__(
        self,
        name: str,
        blob: Task,
        units: Sequence[Unit],
        arrived: Arrived | None = None,
        first: int = 0,
    ) -> None:
        self.name, self.blob, self.arrived, self.first = name, blob, arrived, first
        self.left, self.total, self.next = deque(enumerate(units)), len(units), 0
        self._ready: dict[int, list[Any]] = {}
        self._held, self._pace = 0, 0.0

    @property
    def finished(self) -> bool:
        """Whether all results were taken."""
        return self.next == self.total

    def feed(self, worker: Worker) -> None:
        """Ask a worker for as much as it should have before it."""
        if self.name not in worker.loaded:
            worker.load(self.name, self.blob)
        while self.left and len(worker.asked) < _AHEAD and self._held < _HELD:
            first = self.left[0][0]
            count = min(len(self.left), self._worth())
            worker.run(self.name, first, [self.left.popleft()[1] for _ in range(count)])

    def _worth(self) -> int:
        """Return how many units make a request, by the pace that was seen."""
        return max(1, min(_MOST, int(_REQUEST / self._pace))) if self._pace > 0 else 1

    def taken(self) -> Iterator[list[Any]]:
        """Yield the results that are next in order and there."""
        while (found := self._ready.pop(self.next, None)) is not None:
            self.next += len(found)
            self._held -= size_of(found)
            yield found

    def take(self, worker: Worker) -> dict[str, Any]:
        """Receive a worker's message, and return it."""
        answer = worker.answer()
        request = worker.asked[0]
        if request.units:
            found = answer["value"]
            if self.arrived is not None:
                self.arrived(self.first + request.first, found)
            self._ready[request.first] = found
            self._held += size_of(found)
            self._pace = answer["seconds"] / len(found)
            request.first += len(found)
            request.units -= len(found)
        if not request.units:
            worker.asked.popleft()
        return answer


class _Busy:
    """Workers, and the stage that each works for."""

    def __init__(
        self,
        selector: selectors.BaseSelector,
        files: tuple[set[str], set[str]],
        until: float | None = None,
    ) -> None:
        self.selector, self.files, self.until = selector, files, until
        self.pairs: list[tuple[_Stage, Worker]] = []

    @property
    def working(self) -> bool:
        """Whether an answer is awaited."""
        return any(worker.asked for _, worker in self.pairs)

    @property
    def out_of_time(self) -> bool:
        """Whether nothing more may be asked for."""
        return self.until is not None and monotonic() >= self.until

    def require_time(self) -> None:
        """Raise `DrawTimeout` if nothing more may be asked for."""
        if self.out_of_time:
            raise out_of_time()

    def begin(self, stage: _Stage, worker: Worker) -> None:
        """Let a worker work for a stage."""
        self.pairs.append((stage, worker))
        self.selector.register(worker.channel, selectors.EVENT_READ, (stage, worker))
        stage.feed(worker)

    def go_on(self) -> None:
        """Feed the workers, and receive some of their messages."""
        if not self.out_of_time:
            for stage, worker in self.pairs:
                stage.feed(worker)
        if not self.working:
            if any(stage.left for stage, _ in self.pairs):
                self.require_time()
            return
        limits = [left for _, worker in self.pairs if (left := worker.left) is not None]
        for key, _ in self.selector.select(max(0.0, min(limits)) if limits else None):
            stage, worker = key.data
            answer = stage.take(worker)
            for seen, told in zip(self.files, ("wrote", "read"), strict=True):
                seen.update(answer.get(told, ()))
        for _, worker in self.pairs:
            if (left := worker.left) is not None and left < 0:
                raise worker.overrun()

    def remove_idle_workers(self) -> list[Worker]:
        """Return the workers that have nothing more to do, and forget them."""
        idle = [pair for pair in self.pairs if not pair[0].left and not pair[1].asked]
        for pair in idle:
            self.pairs.remove(pair)
            self.selector.unregister(pair[1].channel)
        return [worker for _, worker in idle]


def _is_of_code(path: str) -> bool:
    """Return whether a file is a module, of an installation, of the system, or hidden."""
    parts = path.split("/")
    # What was typed at a prompt has a name such as <stdin>, which is looked for as a file.
    hidden = any(part.startswith((".", "<")) or part.endswith(_INSTALLED) for part in parts)
    return hidden or path.endswith(_MODULES) or path.startswith(_SYSTEM)


def size_of(found: Any) -> int:
    """Return how many bytes of arrays results hold."""
    if isinstance(found, (list, tuple)):
        return sum(size_of(one) for one in found)
    return int(found.nbytes) if isinstance(found, np.ndarray) else 8
