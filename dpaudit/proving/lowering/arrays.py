"""Arrays of numbers of the program that the checker reads, and operations that move entries."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dpaudit.proving.lowering.scalars import NotAlike, NotLowered, Scalar


@dataclass(frozen=True, eq=False)
class ScalarBlock:
    """Numbers in the order of C.

    Parameters
    ----------
    shape
        Of the array; on the axis of records, where they are alike, it is 1.
    items
        The numbers, one of each record where they are alike.
    axis
        That of records where they are alike.
    """

    shape: tuple[int, ...]
    items: tuple[Scalar, ...]
    axis: int | None = None

    def moved(self, places: Iterable[int], shape: Sequence[int], axis: int | None) -> ScalarBlock:
        """Return items at places, in another shape."""
        return ScalarBlock(tuple(shape), tuple(self.items[i] for i in places), axis)


def compute_strides(shape: Sequence[int]) -> list[int]:
    """Return by how many items an array steps along each axis."""
    return [math.prod(shape[i + 1 :]) for i in range(len(shape))]


def compute_flat_places(key: Iterable[Iterable[int]], steps: Sequence[int]) -> list[int]:
    """Return the items at the product of positions of each axis."""
    along = ([i * step for i in at] for at, step in zip(key, steps, strict=True))
    return [sum(one) for one in product(*along)]


def axes_of(axis: Any, rank: int) -> list[int]:
    """Return axes as they are named in a program, in order."""
    listed = range(rank) if axis is None else axis if isinstance(axis, list | tuple) else [axis]
    return sorted({range(rank)[one] for one in listed})


@dataclass(frozen=True)
class Arranger:
    """Gives arrays other shapes; ``count`` is the number of records, where it is public."""

    count: int | None

    def together(self, blocks: Sequence[ScalarBlock]) -> list[ScalarBlock]:
        """Return arrays broadcast to one shape."""
        rank = max(len(one.shape) for one in blocks)
        axes = {one.axis + rank - len(one.shape) for one in blocks if one.axis is not None}
        if len(axes) > 1:
            raise NotAlike("records meet along two axes")
        axis = axes.pop() if axes else None
        if axis is not None:
            blocks = [self._with_axis(one, axis - rank + len(one.shape)) for one in blocks]
        shapes = [(1,) * (rank - len(one.shape)) + one.shape for one in blocks]
        target = [max(ns, key=lambda n: (n != 1, n)) for ns in zip(*shapes, strict=True)]
        return [self.broadcast_block(one, target, axis) for one in blocks]

    def _with_axis(self, block: ScalarBlock, axis: int) -> ScalarBlock:
        """Return an array as one that has the axis of records, on which it is alike."""
        if axis < 0 or block.axis is not None or block.shape[axis] == 1:
            return block
        key = [range(n) for n in block.shape]
        rows = [self.picked(block, [*key[:axis], [i], *key[axis + 1 :]]).items for i in key[axis]]
        if len(rows) != self.count or any(row != rows[0] for row in rows):
            raise NotAlike("records meet rows of an array")
        return ScalarBlock((*block.shape[:axis], 1, *block.shape[axis + 1 :]), rows[0], axis)

    def broadcast_block(
        self, block: ScalarBlock, target: Sequence[int], axis: int | None
    ) -> ScalarBlock:
        """Return an array broadcast to a shape."""
        shape = (1,) * (len(target) - len(block.shape)) + block.shape
        if len(shape) != len(target) or any(
            n not in (1, m) for n, m in zip(shape, target, strict=True)
        ):
            raise NotAlike("shapes do not fit together")
        steps = [
            0 if n == 1 else step for n, step in zip(shape, compute_strides(shape), strict=True)
        ]
        return block.moved(compute_flat_places(map(range, target), steps), target, axis)

    def picked(self, block: ScalarBlock, key: Sequence[Sequence[int]]) -> ScalarBlock:
        """Return the items at the product of positions."""
        return block.moved(
            compute_flat_places(key, compute_strides(block.shape)), list(map(len, key)), block.axis
        )

    def arrange_block(
        self, name: str, given: Mapping[str, Any], blocks: Sequence[ScalarBlock]
    ) -> ScalarBlock:
        """Return entries in another order or shape."""
        ways: dict[str, Callable[..., ScalarBlock]] = {
            "take": self._take,
            "transpose": self._transpose,
            "broadcast": self._broadcast,
            "reshape": self._reshape,
            "assign": self._assign,
            "concatenate": self._concatenate,
        }
        return ways[name](given, *blocks)

    def _positions(self, key: Sequence[Any], block: ScalarBlock) -> list[list[int]]:
        if len(key) != len(block.shape) or (block.axis is not None and key[block.axis] is not None):
            raise NotAlike("rows are chosen")
        return [
            [*range(n)] if at is None else [range(n)[int(i)] for i in at]
            for at, n in zip(key, block.shape, strict=True)
        ]

    def _take(self, given: Mapping[str, Any], block: ScalarBlock) -> ScalarBlock:
        return self.picked(block, self._positions(given["key"], block))

    def _transpose(self, given: Mapping[str, Any], block: ScalarBlock) -> ScalarBlock:
        rank = len(block.shape)
        axes = range(rank)[::-1] if given["axes"] is None else given["axes"]
        order = [range(rank)[i] for i in axes]
        shape, steps = [block.shape[i] for i in order], compute_strides(block.shape)
        axis = None if block.axis is None else order.index(block.axis)
        return block.moved(
            compute_flat_places(map(range, shape), [steps[i] for i in order]), shape, axis
        )

    def _broadcast(self, given: Mapping[str, Any], block: ScalarBlock) -> ScalarBlock:
        target, axis = list(given["shape"]), block.axis
        if None in target:
            axis = target.index(None)
        elif axis is not None:
            axis += len(target) - len(block.shape)
        if axis is not None:
            target[axis] = 1
        return self.broadcast_block(block, target, axis)

    def _reshape(self, given: Mapping[str, Any], block: ScalarBlock) -> ScalarBlock:
        """Return an array of another shape; the axes before and after records keep their size."""
        shape, axis = list(given["shape"]), block.axis
        if axis is not None:
            sides = [math.prod(block.shape[:axis]), math.prod(block.shape[axis + 1 :])]
            wide = [one or 0 for one in shape]
            fits = (
                n == self.count and sides == [math.prod(wide[:i]), math.prod(wide[i + 1 :])]
                for i, n in enumerate(shape)
            )
            axis = next((i for i, is_it in enumerate(fits) if is_it), None)
            if axis is None:
                raise NotAlike("records are taken apart")
            shape[axis] = 1
        if math.prod(shape) != len(block.items):
            raise NotLowered("another number of entries")
        return ScalarBlock(tuple(shape), block.items, axis)

    def _assign(
        self, given: Mapping[str, Any], block: ScalarBlock, value: ScalarBlock
    ) -> ScalarBlock:
        if block.axis is not None or value.axis is not None:
            raise NotAlike("rows are written")
        key = self._positions(given["key"], block)
        known = self.broadcast_block(value, [len(at) for at in key], None)
        items = list(block.items)
        for at, one in zip(
            compute_flat_places(key, compute_strides(block.shape)), known.items, strict=True
        ):
            items[at] = one
        return ScalarBlock(block.shape, tuple(items))

    def _concatenate(self, given: Mapping[str, Any], *blocks: ScalarBlock) -> ScalarBlock:
        first = blocks[0]
        (along,) = axes_of(given["axis"], len(first.shape))
        if any(one.axis != first.axis or one.axis == along for one in blocks):
            raise NotAlike("records are put beside others")
        rows = [(one.items, math.prod(one.shape[along:])) for one in blocks]
        outer = range(math.prod(first.shape[:along]))
        items = [one for i in outer for part, n in rows for one in part[i * n : (i + 1) * n]]
        length = sum(one.shape[along] for one in blocks)
        shape = (*first.shape[:along], length, *first.shape[along + 1 :])
        return ScalarBlock(shape, tuple(items), first.axis)


def replace_items(block: ScalarBlock, items: Sequence[Scalar]) -> ScalarBlock:
    """Return an array of the same shape with other numbers."""
    return ScalarBlock(block.shape, tuple(items), block.axis)
