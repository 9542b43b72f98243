"""A pair of datasets looked at through a function: runs with frozen, other, far and real noise."""

from __future__ import annotations

import random
import sys
import time
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import SeedSequence

from . import patching, primitives, recorder
from .outputs import Output, flatten_output
from .recorder import Run

FROZEN = 1  # the seed of the pair of runs that is shown
_FEW = 8  # runs with other noise where one takes long
_SLOW = 0.3  # seconds of such a run
_SPARING = 500  # seeds from the first
# Real runs of this purpose have other noise than real runs that count, which have whole numbers as
# seeds: an event that these suggest is not certified on them.
_CHOOSING = (zlib.crc32(b"runs that choose"),)
Function = Callable[[Any, Any], Any]


@dataclass
class SideRuns:
    """The runs on one dataset.

    Parameters
    ----------
    runs
        With seeds 1, 2, ...; the first is the one that is shown.
    far
        With draws that are far out.
    outputs, far_outputs, plain
        What those returned, and what runs returned in which nothing was replaced.
    repeated
        Whether a second run with the first seed returned the same.
    """

    runs: list[Run] = field(default_factory=list)
    far: list[Run] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)
    far_outputs: list[Output] = field(default_factory=list)
    plain: list[Output] = field(default_factory=list)
    repeated: bool = True


@dataclass
class ObservedRuns:
    """The runs on two datasets, and whether the first of all made draws that a later one lacked.

    Or whether a run copied a generator, so that draws which are recorded as new may come again.
    """

    dataset: SideRuns = field(default_factory=SideRuns)
    neighbour: SideRuns = field(default_factory=SideRuns)
    keeps_state: bool = False
    copies: bool = False

    @property
    def sides(self) -> tuple[SideRuns, SideRuns]:
        """The dataset's and the neighbour's."""
        return self.dataset, self.neighbour


def observe_runs(
    function: Function,
    dataset: Any,
    neighbour: Any,
    *,
    first: int = FROZEN,
    runs: int = 16,
    far: int = 4,
    plain: int = 4,
) -> ObservedRuns:
    """Return the runs of ``function(data, rng)`` on two datasets, real ones last."""
    found, data = ObservedRuns(), (dataset, neighbour)
    drawn = 0
    for _ in range(2):  # once more where the first run has loaded what is to be replaced
        before = _late()
        with patching.patch_primitives(function):
            began = time.perf_counter()
            once = recorder.call_recorded(function, dataset, first, primitives.generator())
            drawn = max(drawn, len(once.calls))
            # A module that was loaded by this run holds primitives that were not replaced: once
            # more, with them.
            if _late() != before:
                continue
            if time.perf_counter() - began > _SLOW:
                runs, far = min(runs, _FEW), min(far, 2)
            for side, one in zip(found.sides, data, strict=True):
                _frozen(function, side, one, first, runs, far)
        break
    found.copies = any(run.copied for side in found.sides for run in (*side.runs, *side.far))
    # A first call that draws more than a later one fills what the later ones reuse.
    found.keeps_state = found.copies or drawn > len(found.dataset.runs[0].calls)
    for side, one in zip(found.sides, data, strict=True):
        # Last, as real runs may change what the process keeps.
        seeds = SeedSequence(first, spawn_key=_CHOOSING).spawn(max(1, plain))
        side.plain = [really(function, one, seed) for seed in seeds]
    return found


_LATE = ("torch", "scipy.stats", "diffprivlib.mechanisms", "opendp.mod", "secrets")


def _late() -> set[str]:
    return {name for name in _LATE if name in sys.modules}


def _frozen(function: Function, side: SideRuns, data: Any, first: int, runs: int, far: int) -> None:
    _run(function, side, data, [first])
    again = recorder.call_recorded(function, data, first, primitives.generator())
    side.repeated = same(side.outputs[0], flatten_output(again.value, again.error))
    _run(function, side, data, range(first + 1, first + runs))
    _run(function, side, data, [-2 * first - n for n in range(far)])


def runs_that_spare(
    function: Function,
    data: Any,
    spared: frozenset[tuple[str, int]],
    first: int,
    most: int = 2 * _FEW,
) -> SideRuns:
    """Return runs in which all draws are far out but those that are named."""
    side = SideRuns()
    began, seed = time.perf_counter(), -2 * (first + _SPARING)
    with patching.patch_primitives(function):
        for n in range(most):
            if n >= 4 and time.perf_counter() - began > _SLOW * n:
                break
            rng = primitives.generator()
            run = recorder.call_recorded(function, data, seed - n, rng, spared=spared)
            side.outputs.append(flatten_output(run.value, run.error))
            run.value = None
            side.runs.append(run)
    return side


REACHES = tuple(2.0**level for level in range(14))


def runs_of_every_size(
    function: Function, data: Any, first: int, seconds: float, most: float
) -> Iterator[tuple[Run, Output]]:
    """Yield runs with other ordinary noise, and with noise of every size up to 16,384 scales.

    Of the latter each has all its draws between one power of two and the next, up or down by
    chance. They take turns, so that both kinds were there whenever the time is over: after some
    ``seconds`` where every size was there, and before that after ``most``.
    """
    start = time.perf_counter()
    seeds = first + 2 * _SPARING
    with patching.patch_primitives(function):
        for n in range(4 * len(REACHES)):
            spent = time.perf_counter() - start
            if n >= 4 and spent > (seconds if n >= 2 * len(REACHES) else most):
                break
            graded, half = n % 2 == 1, n // 2
            seed = -2 * (seeds + n) - half % 2 if graded else seeds + n
            reach = REACHES[5 * half % len(REACHES)]  # large and small ones mixed
            run = recorder.call_recorded(function, data, seed, primitives.generator(), reach=reach)
            output = flatten_output(run.value, run.error)
            run.value = None
            yield run, output


def _run(function: Function, side: SideRuns, data: Any, seeds: Any) -> None:
    for seed in seeds:
        run = recorder.call_recorded(function, data, seed, primitives.generator())
        output = flatten_output(run.value, run.error)
        run.value = None
        (side.far if seed < 0 else side.runs).append(run)
        (side.far_outputs if seed < 0 else side.outputs).append(output)


def really(function: Function, data: Any, seed: int | SeedSequence) -> Output:
    """Return the output of a run in which nothing is replaced.

    Its randomness follows from a seed where it can be given: the generator that it is handed, and
    the global ones of numpy and of the standard library, which have their own state back after it.
    """
    rng = np.random.default_rng(seed)
    before, state = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(rng.integers(2**32, size=4, dtype=np.uint32))  # noqa: NPY002
    random.seed(int(rng.integers(2**63)))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function(recorder.fresh_copy(data), rng)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        return flatten_output(None, type(error).__name__)
    finally:
        np.random.set_state(before)  # noqa: NPY002
        random.setstate(state)
    return flatten_output(value)


def same(one: Output, other: Output) -> bool:
    """Return whether two outputs are equal, a missing number to a missing number."""
    return (
        one.structure == other.structure
        and one.texts == other.texts
        and np.array_equal(one.numbers, other.numbers, equal_nan=True)
    )
