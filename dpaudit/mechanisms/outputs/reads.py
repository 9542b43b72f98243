"""Observations read one by one where they are made, and the layout that they make together.

A layout of slow code is made by several workers. What a worker hands on of an observation is plain:
numbers, and the codes of what is discrete, so that nothing of other people's types arrives here.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.mechanisms.outputs.layout import MOST, Layout, Plain, doubles_of, kind_of, layout_of
from dpaudit.mechanisms.outputs.leaves import CodeToken, LeafToken, Part
from dpaudit.mechanisms.outputs.observations import PartsOf, split_observation
from dpaudit.mechanisms.outputs.steadiness import drifts_in
from dpaudit.mechanisms.outputs.steadiness import steady_in as steady_columns
from dpaudit.mechanisms.outputs.texts import find_numbers_by_path

# Orders that observations of some processes may have: of fewer, chance picks the one that grows.
_ORDERS = math.log(1e5)


class Read(NamedTuple):
    """The facts about an observation.

    Parameters
    ----------
    process
        Where it was made.
    kind, doubles
        Of what types it is made, empty if it is no number or array of them; and these.
    found
        Its parts by path, a discrete one as its kind and its code; None where it is a large array
        of finite numbers.
    ignored
        Names of parts that are left out.
    numbers
        Of texts that have numbers these, and what is around them, as ``found`` has parts.
    """

    process: str
    kind: str
    doubles: Array
    found: dict[str, list[Any]] | None
    ignored: tuple[str, ...] = ()
    numbers: dict[str, dict[str, list[Any]]] | None = None


def read_of(observation: Any, process: str, ignored: Sequence[str] = ()) -> Read:
    """Return the reading of an observation.

    Examples
    --------
    >>> read_of({"a": 1.5}, "1").found["a"], read_of([1.0, 2.0], "1").kind
    ([1.5], 'list of float')
    """
    kind = kind_of(observation)
    doubles = doubles_of(observation) if kind else np.empty(0)
    if doubles.size > MOST and np.isfinite(doubles).all():
        return Read(process, kind, doubles, None, tuple(ignored))
    parts = split_observation(observation)
    numbers = {path: _to_plain_parts(one) for path, one in find_numbers_by_path(parts).items()}
    return Read(process, kind, doubles, _to_plain_parts(parts), tuple(ignored), numbers)


def _to_plain_parts(parts: Mapping[str, tuple[Part, ...]]) -> dict[str, list[Any]]:
    return {path: list(map(_to_plain_part, one)) for path, one in parts.items()}


def _to_plain_part(part: Part) -> Any:
    return [part.kind, part.code] if isinstance(part, LeafToken) else float(part)


def layout_of_reads(sides: Sequence[Sequence[Read]]) -> Layout | None:
    """Return the layout of observations of each dataset; None where it takes more of them.

    Which process made which observation is left to chance. A part drifts if it does so in each
    process.

    Raises
    ------
    InvalidArgument
        No part has the name of one that is ignored.
    """
    every = [one for side in sides for one in side]
    ignored = every[0].ignored
    processes = np.unique([one.process for one in every], return_inverse=True)[1]
    if not ignored and (plain := _merge_plain_layout(sides, processes)) is not None:
        return plain
    if any(one.found is None for one in every):
        return None
    read = [[_parse_read(one) for one in side] for side in sides]
    return layout_of(read, ignored, lambda rows: drifts_by_process(rows, processes))


def _parse_read(read: Read) -> PartsOf:
    numbers = {path: _parse_read_parts(one) for path, one in (read.numbers or {}).items()}
    return PartsOf(_parse_read_parts(read.found or {}), numbers)


def _parse_read_parts(told: Mapping[str, list[Any]]) -> dict[str, tuple[Part, ...]]:
    return {path: tuple(map(_parse_read_part, one)) for path, one in told.items()}


def _parse_read_part(told: Any) -> Part:
    return (
        float(told) if isinstance(told, int | float) else CodeToken(told[0], repr(float(told[1])))
    )


def _merge_plain_layout(
    sides: Sequence[Sequence[Read]], processes: NDArray[np.int64]
) -> Plain | None:
    every = [one for side in sides for one in side]
    first = every[0]
    for one in every:
        if not one.kind or one.kind != first.kind or one.doubles.shape != first.doubles.shape:
            return None
        if not one.doubles.size or not np.isfinite(one.doubles).all():
            return None
    rows = [np.stack([one.doubles.reshape(-1) for one in side]) for side in sides]
    drifts = drifts_by_process(rows, processes)
    return Plain(first.doubles.shape, first.kind, steady_columns(rows), drifts)


def drifts_by_process(sides: Sequence[Array], processes: NDArray[np.int64]) -> tuple[int, ...]:
    """Return which columns of rows only grow, or only fall, in each process that made some.

    Examples
    --------
    >>> clock = np.arange(12.0)[:, None]
    >>> drifts_by_process([clock % 6], np.arange(12) // 6)
    (0,)
    >>> drifts_by_process([clock % 6], np.zeros(12, int)), drifts_by_process([clock], np.arange(12))
    ((), ())
    """
    rows = np.concatenate(sides)
    counts = Counter(processes.tolist())
    # Of processes with one output each no order is known.
    if sum(math.lgamma(1 + count) for count in counts.values()) < _ORDERS:
        return ()
    return drifts_in([rows[processes == one] for one in sorted(counts)], apart=True)
