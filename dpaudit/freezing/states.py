"""Kept state that reaches an output: the same frozen noise, after other noise.

What a module draws while it is imported, and what a first call keeps for later ones, is the same in
all runs of a process. It reaches an output where two processes, whose imports and first calls drew
other noise, return others with one and the same frozen noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from . import patching, primitives, recorder
from .observing import Function
from .outputs import Output, flatten_output

_BEFORE = 2  # calls on either dataset whose noise no other process has
_RUNS = 12  # with frozen noise, on either dataset
_SAME = 1e-11  # relative to a number: sums of sets come in any order
_FIRST = 500_000_000  # seeds of such calls, beyond those of all other runs
_LEAST = 16  # processes
_MOST = 512
_SURE = math.log(1e6)
Read = Sequence[Any]  # "structure", "text" or "number", and in which place


def after_others(
    function: Function, data: tuple[Any, Any], own: int, common: int, reads: Sequence[Read]
) -> list[list[Any]]:
    """Return parts of outputs with common noise, after calls with own noise.

    Parameters
    ----------
    function, data
        What is called, and on which two datasets.
    own
        Of this process.
    common
        The first seed that all processes have.
    reads
        What is looked at.

    Returns
    -------
    list
        Of each read what it is in every run, first those on the dataset.
    """
    outputs = list[Output]()
    with patching.patch_primitives(function):
        for n in range(_BEFORE * len(data)):
            seed = _FIRST + own + n
            # Processes begin with either dataset, since the first call may decide what is kept.
            recorder.call_recorded(function, data[(own + n) % 2], seed, primitives.generator())
        for one in data:
            for n in range(_RUNS):
                run = recorder.call_recorded(function, one, common + n, primitives.generator())
                outputs.append(flatten_output(run.value, run.error))
    return [[_read(output, str(what), int(place)) for output in outputs] for what, place in reads]


def _read(output: Output, what: str, place: int) -> Any:
    if what == "structure":
        return output.structure
    held: Sequence[Any] = output.texts if what == "text" else output.numbers
    return held[place] if place < len(held) else None


def agree(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return whether two processes have the same in every run, numbers but for their last bits.

    Examples
    --------
    >>> agree([1.5, "a"], [1.5 + 1e-14, "a"]), agree([1.5], [1.6]), agree([None], [None])
    (True, False, False)
    """
    return all(map(_is_same, one, other))


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=_SAME) or (math.isnan(one) and math.isnan(other))
    return one is not None and bool(one == other)


def processes_for(epsilon: float) -> int:
    """Return in how many processes a kept coin that is epsilon-DP hardly comes up the same.

    Examples
    --------
    >>> processes_for(0.0), processes_for(1.0), processes_for(9.0)
    (32, 64, 131072)
    """
    # An epsilon-DP coin has either side with probability at least ``1 / (1 + e^epsilon)``: in so
    # many processes it comes up the same in all of them with a probability of about one in a
    # million.
    coins = _SURE * (1 + math.exp(min(epsilon, 30.0)))
    return max(_LEAST, 1 << math.ceil(math.log2(coins)))


def are_unmoved(
    values_in: Callable[[int], Sequence[Sequence[Sequence[Any]]]],
    epsilon: float,
    is_over: Callable[[], bool],
) -> list[bool]:
    """Return which reads are the same in so many processes that no kept coin would be.

    None is, where the time is over before there are as many, or where no machine has them: a coin
    that was kept may have come up the same in fewer.

    Parameters
    ----------
    values_in
        Returns what `after_others` does of so many further processes.
    epsilon
        That is claimed: how many processes there are follows from it.
    is_over
        Whether the time for them is over.
    """
    first, *rest = found = list(values_in(_LEAST))
    same, needed = _same_as(first, rest), processes_for(epsilon)
    while any(same) and len(found) < needed <= _MOST and not is_over():
        more = values_in(_LEAST)
        found += more
        same = [held and again for held, again in zip(same, _same_as(first, more), strict=True)]
    return [held and len(found) >= needed for held in same]


def _same_as(
    first: Sequence[Sequence[Any]], others: Sequence[Sequence[Sequence[Any]]]
) -> list[bool]:
    return [all(agree(values, other[n]) for other in others) for n, values in enumerate(first)]
