"""Neighbours, many at once: corners, ties, constants of the program, and what lies beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.program import PathProgram
from dpaudit.proving.universe import Part, Universe

Data = dict[str, NDArray[np.float64]]
Flags = NDArray[np.bool_]

_BESIDE = 1e-6  # how far beside a constant a value lies, relative
_FAR = (-1000.0, -3.0, 3.0, 1000.0)  # where a part has no end
_WITHIN = 1 - 1e-14  # so that rounding leads out of no ball


@dataclass(frozen=True)
class Pairs:
    """Many pairs of neighbours.

    Parameters
    ----------
    one, other
        The parts of both datasets, pairs first. Under *add-remove* the other holds what the one
        holds too, and more.
    differs
        Which records of the other are no records of the one, of shape ``(pairs, records)``.
    """

    one: Data
    other: Data
    differs: Flags

    @cached_property
    def are_alone(self) -> Flags:
        """Return which pairs differ in one record."""
        return np.asarray(self.differs.sum(axis=1) == 1)

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """Return the first record in which each pair differs."""
        return self.differs.argmax(axis=1) if self.differs.shape[1] else np.zeros(len(self), int)

    def __len__(self) -> int:
        return len(self.differs)

    def among(self, flags: Flags) -> Pairs:
        """Return some of them."""
        one, other = (
            {name: part[flags] for name, part in data.items()} for data in (self.one, self.other)
        )
        return Pairs(one, other, self.differs[flags])

    def pair(self, index: int) -> tuple[Data, Data]:
        """Return one of them."""
        return (
            {name: part[index] for name, part in self.one.items()},
            {name: part[index] for name, part in self.other.items()},
        )


def constants_of(program: PathProgram) -> NDArray[np.float64]:
    """Return the finite numbers that a program mentions."""
    found = {0.0}
    for node in program.nodes:
        if node.operation == "constant":
            found.update(np.ravel(np.asarray(node.parameters["value"], dtype=float)).tolist())
        elif node.operation == "bin_counts":
            found.update(map(float, node.parameters["edges"]))
    return np.array(sorted(one for one in found if math.isfinite(one)))


class Neighbours:
    """Makes neighbours of a universe for a program.

    Parameters
    ----------
    universe
        The datasets.
    constants
        Values to be tried where they lie within the ends.
    generator
        Draws them.
    """

    def __init__(
        self, universe: Universe, constants: NDArray[np.float64], generator: np.random.Generator
    ) -> None:
        self.universe, self.generator = universe, generator
        self._pools = {part.name: _pool(part, constants) for part in universe.parts}

    def make(self, many: int, records: int) -> Pairs:
        """Return pairs; under *add-remove*, the larger dataset has so many records."""
        return self._pairs(self._records(many, records), self._records(many, records))

    def beside(self, pairs: Pairs, indices: Sequence[int], many: int) -> Pairs:
        """Return pairs beside some of those given."""
        rng, records = self.generator, pairs.differs.shape[1]
        chosen = rng.choice(np.asarray(indices), many)
        fresh = self._pairs(self._records(many, records), self._records(many, records))
        old = {name: part[chosen] for name, part in pairs.other.items()}
        other = {name: self._mix(name, part, fresh.other[name]) for name, part in old.items()}
        if self.universe.change == "add-remove":
            return _removed(other, pairs.differs[chosen])
        base = {name: self._back(name, pairs, chosen, old, other) for name in other}
        return self._fitted(Pairs(base, other, pairs.differs[chosen]))

    def _mix(
        self, name: str, part: NDArray[np.float64], fresh: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return a part with some entries new, and some moved."""
        rng, known = self.generator, self.universe.part(name)
        rate = rng.choice((0.1, 0.3, 0.6), (len(part),) + (1,) * (part.ndim - 1))
        mixed = np.where(rng.random(part.shape) < rate, fresh, part)
        if not known.is_integer:
            step = rng.choice((0.0, 0.0, 1e-3, 0.05, 0.3), len(part))
            step = step.reshape(rate.shape) * rng.standard_normal(part.shape)
            mixed = np.clip(mixed + step, known.low, known.high)
        return _within_norm(known, mixed)

    def _back(
        self, name: str, pairs: Pairs, chosen: NDArray[np.int64], old: Data, other: Data
    ) -> NDArray[np.float64]:
        """Return the first dataset: what was alike is alike, what differed is mixed anew."""
        before = pairs.one[name][chosen]
        fresh = self._records(len(chosen), before.shape[1])[name]
        moved = before != old[name]
        if moved.ndim > 2 and not self.universe.of_cells:
            moved = moved.any(axis=2, keepdims=True)
        return np.where(moved, self._mix(name, before, fresh), other[name])

    def _fitted(self, pairs: Pairs) -> Pairs:
        """Return pairs without those that are none: clipping to a norm moves whole rows."""
        if not self.universe.of_cells:
            return pairs
        swapped = replace(pairs, one=pairs.other, other=pairs.one)
        return _cells_alone(_in_norm_alone(self.universe, swapped))

    def _records(self, many: int, records: int) -> Data:
        found = {}
        for part in self.universe.parts:
            shape = (many, records, *part.low.shape)
            found[part.name] = _within_norm(part, self._draw(part, shape))
        return found

    def _draw(self, part: Part, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Return entries of the pool, some uniform ones; of a third of datasets all rows alike."""
        rng, pool = self.generator, self._pools[part.name]
        picked = pool[rng.integers(0, len(pool), shape), *np.indices(part.low.shape, sparse=True)]
        if not part.is_integer:
            low, high = _finite_ends(part)
            uniform = low + (high - low) * rng.random(shape)
            picked = np.where(rng.random(shape) < 0.25, uniform, picked)
        if shape[1]:
            third = shape[0] // 3
            picked[:third] = picked[:third, :1]
        return picked

    def _pairs(self, one: Data, other: Data) -> Pairs:
        many, records = next(iter(one.values())).shape[:2]
        differs = self._differing(many, records)
        if self.universe.change == "add-remove":
            return _removed(other, differs)
        for part in self.universe.parts:
            flags = differs.reshape(many, records, *(1,) * part.low.ndim)
            moved = np.where(flags, other[part.name], one[part.name])
            other[part.name] = moved if part.is_changed else one[part.name]
        return self._one_cell(Pairs(one, other, differs))

    def _differing(self, many: int, records: int) -> Flags:
        """Return so many records as may differ, in some pairs fewer; the first ones more often."""
        rng, count = self.generator, min(self.universe.count, records)
        if self.universe.change == "add-remove":  # as many in all, as they are taken away
            count = int(rng.integers(1, count + 1)) if count else 0
            ranks = rng.random((many, records)).argsort(axis=1).argsort(axis=1)
            return np.asarray(ranks < count)
        counts = np.where(rng.random(many) < 0.8, count, rng.integers(0, count + 1, many))
        ranks = rng.random((many, records)).argsort(axis=1).argsort(axis=1)
        return np.asarray(ranks < counts[:, None])

    def _one_cell(self, pairs: Pairs) -> Pairs:
        """Return pairs whose records differ in one number at most, where cells are replaced."""
        if not self.universe.of_cells:
            return pairs
        sizes = [int(np.prod(part.low.shape)) for part in self.universe.parts]
        cells = self.generator.integers(0, sum(sizes), len(pairs))
        starts, other = np.cumsum([0, *sizes]), {}
        for part, start, size in zip(self.universe.parts, starts, sizes, strict=False):
            flags = (cells[:, None] == np.arange(start, start + size)).reshape(
                len(pairs), 1, *part.low.shape
            )
            other[part.name] = np.where(flags, pairs.other[part.name], pairs.one[part.name])
        return _in_norm_alone(self.universe, replace(pairs, other=other))


def _in_norm_alone(universe: Universe, pairs: Pairs) -> Pairs:
    """Return pairs of which those that left a norm by one cell are equal."""
    other = dict(pairs.other)
    for part in universe.parts:
        if math.isfinite(part.norm):
            value = other[part.name]
            is_within = np.sqrt((value**2).sum(axis=2, keepdims=True)) <= part.norm * _WITHIN
            other[part.name] = np.where(is_within, value, pairs.one[part.name])
    return replace(pairs, other=other)


def _cells_alone(pairs: Pairs) -> Pairs:
    """Return pairs of which those that differ in several cells are equal."""
    flags = [(pairs.one[name] != pairs.other[name]).reshape(len(pairs), -1) for name in pairs.one]
    are_cells = np.concatenate(flags, axis=1).sum(axis=1) <= 1
    other = {
        name: np.where(are_cells.reshape(-1, *(1,) * (part.ndim - 1)), part, pairs.one[name])
        for name, part in pairs.other.items()
    }
    return replace(pairs, other=other)


def _removed(other: Data, differs: Flags) -> Pairs:
    """Return pairs of which the one lacks the records that differ."""
    keep = int((~differs[0]).sum()) if len(differs) else 0
    places = np.argsort(differs, axis=1, kind="stable")[:, :keep]
    one = {
        name: np.take_along_axis(part, places.reshape(*places.shape, *(1,) * (part.ndim - 2)), 1)
        for name, part in other.items()
    }
    return Pairs(one, other, differs)


def _finite_ends(part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    end = part.norm if math.isfinite(part.norm) else 10.0
    low = np.where(np.isfinite(part.low), part.low, -end)
    return low, np.where(np.isfinite(part.high), part.high, end)


def _pool(part: Part, constants: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values to be tried, of each number of a record; ends more often."""
    low, high = _finite_ends(part)
    if part.is_integer:
        inner = np.rint(constants)
        rows = [low, high, low, high, np.rint((low + high) / 2), low + 1, high - 1]
    else:
        beside = _BESIDE * np.maximum(1.0, np.abs(constants))
        inner = np.concatenate([constants, constants - beside, constants + beside])
        rows = [low, high, low, high, (low + high) / 2]
        rows += [np.full(low.shape, one) for one in _FAR]
    rows += [np.full(low.shape, one) for one in inner]
    return np.asarray(np.clip(np.stack(rows), part.low, part.high))


def _within_norm(part: Part, value: NDArray[np.float64]) -> NDArray[np.float64]:
    if not math.isfinite(part.norm):
        return value
    sizes = np.sqrt((value**2).sum(axis=2, keepdims=True))
    factor = part.norm * _WITHIN / np.maximum(sizes, part.norm * _WITHIN)
    return np.asarray(np.clip(value * factor, part.low, part.high))
