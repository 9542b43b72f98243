"""Units computed beyond this machine, through joblib's backends: loky, dask.distributed and ray.

A chunk of units travels with the task that computes them and comes back with their results, in
whatever order; the plan's order is put back here, so that no number depends on who computed what.
There a worker computes it as this machine would: in a process of its own, single-threaded, with the
limits of the audit. What the user's code raises comes back as a value, and is never tried again: to
draw once more where a call failed would condition the law on its success. A worker that is lost is
not the code's doing, and its chunk goes to another, with the same seeds.

Chunks are asked for as results come; where these wait for an earlier one in too large a number,
none is asked for until it is there.
"""

from __future__ import annotations

import os
import socket
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Any
from uuid import uuid4

import numpy as np

import dpaudit._check as check
from dpaudit.errors import DpauditError, InvalidArgument, MechanismError, VerbatimText, shorten_repr
from dpaudit.execution.machine import machine_here, own_code
from dpaudit.execution.pool import Arrived, Crew, size_of
from dpaudit.execution.processes import Limits
from dpaudit.execution.shipping import PackedTask, modules_of
from dpaudit.execution.tasks import OnUnit, to_pickle
from dpaudit.execution.units import Unit

NAMES = ("loky", "dask", "ray")
_CHUNK = 1.0  # seconds that a chunk is worth
_MOST = 4096  # units of a chunk
# Bytes of results that wait for an earlier one, from which on no more is asked for.
_HELD = 256 * 2**20
_AHEAD = 3  # chunks per worker that are on their way
_LOST = 5  # times that a window of ray is asked for, as workers are lost
_PATIENCE = 30.0  # seconds for a scheduler to answer


@dataclass
class Backend:
    """Workers that joblib reaches.

    Parameters
    ----------
    name
        ``loky``: processes of this machine; ``dask``: those of a scheduler; ``ray``: of a cluster.
    scheduler
        The address of dask's scheduler, or of ray's cluster (by default one of this machine).
    workers
        How many, for loky.

    Attributes
    ----------
    done
        How many units each worker has computed.
    machines
        What is different about the machines that computed, if anything is.

    Examples
    --------
    >>> Backend("dask")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: scheduler: got None, expected the address of a scheduler, such \
as tcp://127.0.0.1:8786
    """

    name: str
    scheduler: str | None = None
    workers: int = 1
    done: Counter[str] = field(default_factory=Counter)
    machines: set[str] = field(default_factory=set)
    _client: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check.require_choice("backend", self.name, NAMES)
        check.require_integer("workers", self.workers, least=1)
        if self.name == "dask" and self.scheduler is None:
            expected = "the address of a scheduler, such as tcp://127.0.0.1:8786"
            raise InvalidArgument("scheduler", None, expected)
        if self.name == "loky" and self.scheduler is not None:
            expected = "nothing with loky, whose processes are this machine's"
            raise InvalidArgument("scheduler", self.scheduler, expected)

    def compute(
        self,
        task: Callable[[Unit], Any],
        hands: Sequence[Sequence[Unit]],
        limits: Limits,
        arrived: Arrived,
        *,
        fresh: bool,
    ) -> Iterator[list[Any]]:
        """Yield results of all units in order; ``arrived`` is told of each as it comes.

        Parameters
        ----------
        task, hands
            What computes a unit, and the units, in hands that do not share a process if ``fresh``.
        limits
            Of a call.

        Raises
        ------
        CannotTravel, WorkerEnded, DpauditError
            As of a crew.
        MechanismError
            The cluster is gone.
        """
        work = Work.of(task, limits)
        chunks = _Chunks(hands, fresh)
        ready: dict[int, list[Any]] = {}
        following, total = 0, sum(map(len, hands))
        while following < total:
            # Chunks stop coming while too much waits; the next round goes on where they stopped.
            with self._reached() as (options, most):
                for found in self._asked(work, chunks, options, most):
                    self._note(found)
                    arrived(found.first, found.results)
                    ready[found.first] = found.results
                    chunks.came(found)
                    while following in ready:
                        results = ready.pop(following)
                        following += len(results)
                        chunks.taken(results)
                        yield results

    def _asked(
        self, work: Work, chunks: _Chunks, options: dict[str, Any], most: int
    ) -> Iterator[ChunkResults]:
        from joblib import delayed

        asked = (delayed(compute_chunk)(work, *one) for one in chunks.next())
        try:
            yield from (_in_windows if self.name == "ray" else _as_they_come)(asked, options, most)
        except DpauditError:
            raise
        except Exception as error:
            raise MechanismError(
                f"backend {self.name}: {shorten_repr(f'{type(error).__name__}: {error}')}; what "
                "had "
                "arrived is kept where a store is: the same command goes on from it"
            ) from error

    def _note(self, found: ChunkResults) -> None:
        """Raise the failure of a worker; count, and take note of another machine."""
        if found.failed is not None:
            raise found.failed
        self.done[found.worker] += len(found.results)
        self.machines.update(found.differences)

    @contextmanager
    def _reached(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Have the workers inside the block: joblib's options, and how many they are."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of these libraries, about themselves
            if self.name == "loky":
                yield {"backend": "loky"}, self.workers
            elif self.name == "dask":
                self._client = self._client or _client_of(self.scheduler or "")
                with _register_dask_backend(self._client) as (options, most):
                    yield options, most
            else:
                yield _register_ray_backend(self.scheduler)

    @property
    def said(self) -> str:
        """The numbers of units of each worker, in words."""
        counts = ", ".join(f"{name} {count}" for name, count in sorted(self.done.items()))
        return f"Units by worker ({self.name}): {counts or 'none'}."


def _as_they_come(
    asked: Iterator[Any], options: dict[str, Any], most: int
) -> Iterator[ChunkResults]:
    from joblib import Parallel

    # Chunks are measured in seconds here, so that joblib must not join several of them.
    how = {"return_as": "generator_unordered", "pre_dispatch": _AHEAD * most, "batch_size": 1}
    yield from Parallel(n_jobs=most, **how, **options)(asked)


def _in_windows(asked: Iterator[Any], options: dict[str, Any], most: int) -> Iterator[ChunkResults]:
    """Yield the results of joblib's backend of ray: lists only, and not if a worker is lost.

    So it is asked for a chunk of each worker at a time, again with the same units if one is lost.
    """
    from joblib import Parallel
    from ray.exceptions import RayError

    while window := list(islice(asked, most)):
        for left in reversed(range(_LOST)):
            try:
                found = Parallel(n_jobs=most, batch_size=1, **options)(window)
                break
            except RayError:
                if not left:
                    raise
        yield from found


def _client_of(scheduler: str) -> Any:
    """Return a client of a scheduler that answers."""
    try:
        from distributed import Client
    except ImportError:
        raise _make_missing_package_error("dask", "dask.distributed") from None
    try:
        return Client(scheduler, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        expected = f"the address of a scheduler that answers ({shorten_repr(str(error))})"
        raise InvalidArgument("scheduler", scheduler, expected) from error


@contextmanager
def _register_dask_backend(client: Any) -> Iterator[tuple[dict[str, Any], int]]:
    from joblib import parallel_config

    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        expected = f"one with workers; none came within {_PATIENCE:g} seconds"
        raise InvalidArgument("scheduler", client.scheduler.address, expected) from None
    # By default dask takes equal tasks for one and draws again what was lost. Here a chunk is a
    # task of its own, and no call is repeated behind the audit's back.
    with parallel_config(backend="dask", client=client, pure=False, retries=0):
        yield {}, sum(client.ncores().values())


def _register_ray_backend(address: str | None) -> tuple[dict[str, Any], int]:
    try:
        import ray
        from ray.util.joblib import register_ray
    except ImportError:
        raise _make_missing_package_error("ray", "ray") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            expected = f"the address of a cluster that answers ({shorten_repr(str(error))})"
            raise InvalidArgument("scheduler", address, expected) from error
    register_ray()
    return {"backend": "ray"}, int(ray.cluster_resources().get("CPU", 1))


def _make_missing_package_error(extra: str, package: str) -> InvalidArgument:
    expected = f"an installed {package}: pip install 'dpaudit[{extra}]'"
    return InvalidArgument("backend", extra, expected)


# What travels


class Work:
    """The part of a stage that travels with every chunk.

    Parameters
    ----------
    blob
        The pickled task, with the user's modules that it needs.
    key
        Of the stage.
    code
        A digest of the modules: a process that imported others is not for it.
    own
        A digest of dpaudit: the other side must have the same.
    limits, place
        Of a call, and the machine that asks.
    """

    def __init__(
        self, blob: bytes, code: str, own: str, limits: Limits, place: dict[str, str]
    ) -> None:
        self.blob, self.code, self.own = blob, code, own
        self.limits, self.place, self.key = limits, place, uuid4().hex

    @classmethod
    def of(cls, task: Callable[[Unit], Any], limits: Limits) -> Work:
        """Return the work of a task."""
        inner = to_pickle(OnUnit(task))
        shipped = PackedTask(modules_of(inner), inner)
        return cls(to_pickle(shipped), shipped.digest, own_code(), limits, machine_here())

    def __sizeof__(self) -> int:  # dask takes what is large to each worker once
        return object.__sizeof__(self) + len(self.blob)


@dataclass
class ChunkResults:
    """Results of a chunk, or its failure; by which worker, on how different a machine."""

    first: int
    results: list[Any]
    failed: DpauditError | None
    seconds: float
    worker: str
    differences: tuple[str, ...]


# A chunk: the place of its first unit, its units, and its hand.
Chunk = tuple[int, list[tuple[int, Any, list[int], int]], int]


class _Chunks:
    """The units that are still to be asked for, in chunks of about a second."""

    def __init__(self, hands: Sequence[Sequence[Unit]], fresh: bool) -> None:
        self.hands = [list(hand) for hand in hands]
        self.fresh = fresh
        self._pace, self._held = 0.0, 0
        self._hand = self._within = self._first = 0

    def next(self) -> Iterator[Chunk]:
        """Yield chunks until too much waits; called again it goes on."""
        while self._hand < len(self.hands) and self._held < _HELD:
            hand = self.hands[self._hand]
            units = hand[self._within : self._within + self._worth()]
            chunk = (self._first, [_get_unit_parts(unit) for unit in units], self._number)
            self._first += len(units)
            self._within += len(units)
            if self._within == len(hand):
                self._hand, self._within = self._hand + 1, 0
            if units:
                yield chunk

    @property
    def _number(self) -> int:
        return self._hand if self.fresh else -1

    def _worth(self) -> int:
        return max(1, min(_MOST, int(_CHUNK / self._pace))) if self._pace > 0 else 1

    def came(self, found: ChunkResults) -> None:
        """Learn the pace, and how much waits."""
        self._pace = found.seconds / max(len(found.results), 1)
        self._held += size_of(found.results)

    def taken(self, results: list[Any]) -> None:
        """Forget results that wait no more."""
        self._held -= size_of(results)


def _get_unit_parts(unit: Unit) -> tuple[int, Any, list[int], int]:
    return unit.trials, unit.seed.entropy, list(unit.seed.spawn_key), unit.which


# There

# dask computes several chunks in threads of one process, and a crew serves one thread.
_kept = threading.local()


def compute_chunk(work: Work, first: int, parts: list[Any], hand: int) -> ChunkResults:
    """Compute a chunk, in a process that no other hand has had."""
    here, began = machine_here(), monotonic()
    differences = tuple(
        f"{part} {work.place.get(part)}, there {one}"
        for part, one in here.items()
        if work.place.get(part) != one
    )
    worker = f"{socket.gethostname()}:{os.getpid()}"
    results, failed = [], None
    try:
        if own_code() != work.own:
            expected = "workers with the same dpaudit as this machine's"
            raise InvalidArgument("backend", VerbatimText(f"another dpaudit on {worker}"), expected)
        units = [
            Unit(trials, np.random.SeedSequence(entropy, spawn_key=tuple(key)), which)
            for trials, entropy, key, which in parts
        ]
        results = _crew_for(work, hand).compute(work.key, work.blob, units)
    # Returned as a value: an exception would make some backends try the call again.
    except DpauditError as error:
        failed = error
    return ChunkResults(first, results, failed, monotonic() - began, worker, differences)


def _crew_for(work: Work, hand: int) -> Crew:
    """Return this thread's crew: the last one, unless it was another hand's or has other code."""
    # After a fork the crew that is remembered has the workers of the parent process.
    known = (work.code, work.limits, (work.key, hand) if hand >= 0 else None, os.getpid())
    if getattr(_kept, "known", None) != known:
        if (before := getattr(_kept, "crew", None)) is not None:
            before.close()
        _kept.crew, _kept.known = Crew(work.limits), known
    crew: Crew = _kept.crew
    return crew
