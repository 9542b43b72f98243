"""Trials in blocks over worker processes: one seed, one result, bounded memory.

A block is a fixed number of trials with a seed of its own, spawned from the audit's. The plan
fixes the blocks; workers and chunks (how many blocks a worker takes at once) only decide who
computes them and when. Results come back in the plan's order, and each block runs on one thread,
so that they are the same to the last bit whatever the number of workers.
"""

from __future__ import annotations

import os
import sys
import warnings
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from pickle import PicklingError
from time import monotonic
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.random import Generator, SeedSequence
from threadpoolctl import threadpool_limits

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument, MechanismError, shorten

ResultT = TypeVar("ResultT")

# What a block's transcripts may take; what a step needs besides is of the same order.
_BLOCK_BYTES = 64 * 2**20
_LARGEST_BLOCK = 256
# How many chunks per worker are handed out before the consumer has taken their results.
_WINDOW = 4
# Libraries of linear algebra that are loaded later read these when they start.
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")
_limited: ContextVar[bool] = ContextVar("limited", default=False)
_for_life = ExitStack()


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


@dataclass(frozen=True)
class Block:
    """``trials`` trials that share one random stream."""

    trials: int
    seed: SeedSequence

    def generator(self) -> Generator:
        """Return the block's own stream, the same at every call."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Executor:
    """The workers that compute blocks; nothing in it changes a number.

    Parameters
    ----------
    workers
        Worker processes; 1 computes in this process.
    chunk
        Blocks handed to a worker at a time.
    worth
        What is left of a stage is handed to workers once it promises more seconds of work than
        this, as starting them costs seconds too; below 0 all of it is.
    progress
        Told after every chunk.

    Examples
    --------
    >>> blocks = plan_blocks(100, block=40, seed=np.random.SeedSequence(7))
    >>> [block.trials for block in blocks]
    [40, 40, 20]
    >>> draw = lambda block: block.generator().random(block.trials)
    >>> np.concatenate(list(Executor().map(draw, blocks, "doctest"))).shape
    (100,)
    """

    workers: int = 1
    chunk: int = 1
    worth: float = 2.0
    progress: Progress = field(default_factory=Silent)

    def __post_init__(self) -> None:
        check.integer("workers", self.workers, least=1)
        check.integer("chunk", self.chunk, least=1)
        check.real("worth", self.worth)

    def map(
        self, task: Callable[[Block], ResultT], blocks: Sequence[Block], stage: str
    ) -> Iterator[ResultT]:
        """Yield ``task(block)`` of every block, in order, as they become ready."""
        self.progress.start(stage, sum(block.trials for block in blocks))
        chunks = [blocks[i : i + self.chunk] for i in range(0, len(blocks), self.chunk)]
        for chunk, results in zip(chunks, self._run(task, chunks), strict=True):
            self.progress.advance(sum(block.trials for block in chunk))
            yield from results

    def _run(
        self, task: Callable[[Block], ResultT], chunks: list[Sequence[Block]]
    ) -> Iterator[list[ResultT]]:
        left = deque(chunks)
        yield from self._computed_here(task, left)
        if left:
            yield from self._handed_out(task, list(left))

    def _computed_here(
        self, task: Callable[[Block], ResultT], left: deque[Sequence[Block]]
    ) -> Iterator[list[ResultT]]:
        """Take chunks and yield their results, until those left are worth handing out."""
        taken, done = 0.0, 0
        while left and (self.workers == 1 or taken / max(done, 1) * len(left) <= self.worth):
            started = monotonic()
            results = _on_one_thread(task, left.popleft())
            taken, done = taken + monotonic() - started, done + 1
            yield results

    def _handed_out(
        self, task: Callable[[Block], ResultT], chunks: list[Sequence[Block]]
    ) -> Iterator[list[ResultT]]:
        from joblib import Parallel, delayed
        from joblib.externals.loky import BrokenProcessPool

        calls = [delayed(_on_one_thread)(task, chunk) for chunk in chunks]
        # joblib runs ahead of a slow consumer without limit: it gets one window at a time.
        window = _WINDOW * self.workers
        # Other import paths than those a pool was started with make joblib start a new one.
        paths = {"initializer": _start_worker, "initargs": (tuple(sys.path),)}
        workers = Parallel(n_jobs=self.workers, return_as="generator", batch_size=1, **paths)
        try:
            with workers as parallel:
                for start in range(0, len(calls), window):
                    yield from _closing(parallel(calls[start : start + window]))
        except BrokenProcessPool as error:
            raise MechanismError(
                f"workers: one of {self.workers} worker processes died, for lack of memory or "
                f"because the mechanism does not pickle; try fewer ({shorten(str(error))})"
            ) from error
        except PicklingError as error:
            expected = f"1: the mechanism cannot be sent to a worker ({shorten(str(error))})"
            raise InvalidArgument("workers", self.workers, expected) from error


def plan_blocks(trials: int, block: int, seed: SeedSequence) -> list[Block]:
    """Return ``trials`` trials cut into blocks, each with a seed spawned from ``seed``."""
    check.integer("trials", trials, least=1)
    check.integer("block", block, least=1)
    sizes = [block] * (trials // block) + ([trials % block] if trials % block else [])
    # Spawned by hand, so that planning twice from one sequence gives the same seeds twice.
    keys = [(*seed.spawn_key, i) for i in range(len(sizes))]
    return [
        Block(size, SeedSequence(seed.entropy, spawn_key=key))
        for size, key in zip(sizes, keys, strict=True)
    ]


def block_size(bytes_per_trial: int) -> int:
    """Return how many trials make a block: a power of two whose transcripts stay in bounds.

    Examples
    --------
    >>> block_size(8), block_size(2**20), block_size(2**40)
    (256, 64, 1)
    """
    fitting = max(1, _BLOCK_BYTES // max(bytes_per_trial, 1))
    return int(min(_LARGEST_BLOCK, 2 ** (fitting.bit_length() - 1)))


def stream(seed: int, *names: str) -> SeedSequence:
    """Return the seed sequence of a named purpose: the same name, the same stream.

    Examples
    --------
    >>> stream(1, "pilot").spawn_key == stream(1, "certify").spawn_key
    False
    """
    check.integer("seed", seed, least=0)
    key = tuple(zlib.crc32(name.encode()) for name in names)
    return SeedSequence(seed, spawn_key=key)


def available_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


@contextmanager
def importable(folder: Path | None) -> Iterator[None]:
    """Let modules of a folder be imported inside the block, here and in workers; None for none.

    They come first, as those beside a script do.
    """
    place = None if folder is None else str(folder.resolve())
    if place is None or place in sys.path:
        yield
        return
    sys.path.insert(0, place)
    try:
        yield
    finally:
        sys.path.remove(place)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra on one thread: workers are the parallelism, and results stay equal.

    Asking costs milliseconds, as every loaded library is looked at; asking again inside costs
    nothing. The limit is the process's: threads that ask side by side lift it together, and a
    library that is first loaded inside keeps it.
    """
    if _limited.get():
        yield
        return
    asked = _limited.set(True)
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        _restore(before)
        _limited.reset(asked)


def _restore(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _closing(results: Any) -> Iterator[ResultT]:
    try:
        for result in results:  # noqa: UP028  `yield from` would hand a close on before `finally`
            yield result
    finally:
        # A consumer may stop early; joblib finds that wasteful.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _start_worker(paths: tuple[str, ...]) -> None:
    """Let a worker import what this process can, and keep it on one thread as long as it lives."""
    sys.path.extend(path for path in paths if path not in sys.path)
    _for_life.enter_context(one_thread())


def _on_one_thread(task: Callable[[Block], Any], blocks: Sequence[Block]) -> list[Any]:
    with one_thread(), redirect_stdout(sys.stderr):  # standard output is for results
        return [task(block) for block in blocks]
