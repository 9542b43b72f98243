"""Entries in another order or shape."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import product
from typing import Any

from .enclosures import NotAlike, NotVerified, times, total
from .frames import Array, Frame, strides


class Shapes(Frame):
    """Broadcasting, positions, axes."""

    def together(self, arrays: list[Array]) -> list[Array]:
        """Return arrays broadcast to one shape."""
        rank = max(len(one.shape) for one in arrays)
        axes = {one.axis + rank - len(one.shape) for one in arrays if one.axis is not None}
        if len(axes) > 1:
            raise NotAlike
        axis = axes.pop() if axes else None
        arrays = [
            self.compressed(one, None if axis is None else axis - rank + len(one.shape))
            for one in arrays
        ]
        shapes = [(1,) * (rank - len(one.shape)) + one.shape for one in arrays]
        target = []
        for lengths in zip(*shapes, strict=True):
            longer = {one for one in lengths if one != 1}
            if len(longer) > 1:
                raise NotVerified("shapes do not fit together")
            target.append(longer.pop() if longer else 1)
        return [self.stretched(one, tuple(target), axis) for one in arrays]

    def compressed(self, array: Array, axis: Any) -> Array:
        """Return an array whose rows are all alike with two of them, where others have records."""
        if axis is None or axis < 0 or array.axis is not None or array.shape[axis] == 1:
            return array
        if array.shape[axis] != self.count or array.shape[axis] < 2:
            raise NotAlike
        rows = self.indices(array.shape, {axis})
        if any(len({array.items[i].key for i in group}) > 1 for group in rows):
            raise NotAlike
        key: list[Any] = [None] * len(array.shape)
        key[axis] = [0, 1]
        found = self.picked(array, key)
        return Array(found.shape, found.items, axis).like(found)

    def stretched(self, array: Array, target: Any, axis: Any) -> Array:
        if array.shape == target:
            found = Array(target, array.items, axis)
            return found.like(array)
        shape = (1,) * (len(target) - len(array.shape)) + array.shape
        steps = [0 if n == 1 else step for n, step in zip(shape, strides(shape), strict=True)]
        items = [
            array.items[sum(a * b for a, b in zip(at_, steps, strict=True))]
            for at_ in product(*map(range, target))
        ]
        self.ground.spend(len(items) // 4)
        found = Array(target, items, axis)
        if axis is None or array.axis is not None:
            found.like(array)
            copies = F(len(items), max(len(array.items), 1))
            found.far1, found.far2 = times(copies, found.far1), times(copies, found.far2)
            found.own1, found.own2 = times(copies, found.own1), times(copies, found.own2)
        return found

    def indices(self, shape: Any, axes: Any) -> list[list[int]]:
        """Return the flat places of each group that a reduction along axes makes one entry."""
        steps = strides(shape)
        left = [(n, s) for i, (n, s) in enumerate(zip(shape, steps, strict=True)) if i not in axes]
        gone = [(n, s) for i, (n, s) in enumerate(zip(shape, steps, strict=True)) if i in axes]
        inner = [sum(p) for p in product(*([i * s for i in range(n)] for n, s in gone))]
        outer = [sum(p) for p in product(*([i * s for i in range(n)] for n, s in left))]
        self.ground.spend((len(inner) * len(outer)) // 4)
        return [[a + b for b in inner] for a in outer]

    def picked(self, array: Array, key: Any) -> Array:
        """Return the entries at the product of positions of each axis."""
        if array.axis is not None and key[array.axis] is not None:
            raise NotAlike
        at_ = [list(range(n)) if k is None else k for k, n in zip(key, array.shape, strict=True)]
        steps = strides(array.shape)
        items = [
            array.items[sum(p)]
            for p in product(*([i * s for i in a] for a, s in zip(at_, steps, strict=True)))
        ]
        self.ground.spend(len(items) // 4)
        found = Array([len(one) for one in at_], items, array.axis).like(array)
        copies = math.prod(max((one.count(i) for i in set(one)), default=0) for one in at_)
        for name in ("far1", "far2", "own1", "own2"):
            setattr(found, name, times(F(copies), getattr(found, name)))
        return found

    def rearranged(self, name: str, given: Any, arrays: list[Array]) -> Array:
        """Return entries in another order or shape."""
        array = arrays[0]
        if name == "decide":
            return array
        if name == "take":
            if len(given["key"]) != len(array.shape):
                raise NotVerified("take: a key of another rank")
            if array.axis is not None and given["key"][array.axis] is not None:
                raise NotAlike
            return self.picked(
                array,
                [
                    None if k is None else self.inside(k, n)
                    for k, n in zip(given["key"], array.shape, strict=True)
                ],
            )
        if name == "assign":
            return self.assigned(given["key"], array, arrays[1])
        if name == "transpose":
            return self.transposed(array, given["axes"])
        if name == "broadcast":
            return self.broadcast(array, list(given["shape"]))
        if name == "reshape":
            return self.reshaped(array, list(given["shape"]))
        return self.joined(arrays, given["axis"])

    def broadcast(self, array: Array, target: list[Any]) -> Array:
        lead = len(target) - len(array.shape)
        axis = None if array.axis is None else array.axis + lead
        if axis is not None and lead >= 0 and target[axis] in (self.count, None):
            target[axis] = 2
        elif None in target:
            axis = target.index(None)
            target[axis] = 2
        if (
            lead < 0
            or None in target
            or any(n not in (1, m) for n, m in zip(array.shape, target[lead:], strict=True))
        ):
            raise NotVerified("broadcast: shapes do not fit together")
        return self.stretched(array, tuple(target), axis)

    def inside(self, positions: Any, length: int) -> list[int]:
        found = [one + length if one < 0 else one for one in positions]
        if not all(0 <= one < length for one in found):
            raise NotVerified("a position that is not there")
        return found

    def reshaped(self, array: Array, shape: list[Any]) -> Array:
        axis = array.axis
        if axis is not None:  # rows stay rows: what is before and after them keeps its number
            sides = math.prod(array.shape[:axis]), math.prod(array.shape[axis + 1 :])
            wide = [0 if one is None else one for one in shape]
            for place, n in enumerate(shape):
                if (
                    n == self.count
                    and (math.prod(wide[:place]), math.prod(wide[place + 1 :])) == sides
                ):
                    shape[place], axis = 2, place
                    break
            else:
                raise NotAlike
        if None in shape or math.prod(shape) != len(array.items) or min(shape, default=0) < 0:
            raise NotVerified("reshape: another number of entries")
        return Array(shape, array.items, axis).like(array)

    def transposed(self, array: Array, axes: Any) -> Array:
        axes = list(axes) if axes is not None else list(range(len(array.shape)))[::-1]
        if sorted(axes) != list(range(len(array.shape))):
            raise NotVerified("transpose: no order of the axes")
        steps, shape = strides(array.shape), [array.shape[one] for one in axes]
        items = [
            array.items[sum(i * steps[a] for i, a in zip(p, axes, strict=True))]
            for p in product(*map(range, shape))
        ]
        axis = None if array.axis is None else axes.index(array.axis)
        return Array(shape, items, axis).like(array)

    def assigned(self, key: Any, array: Array, value: Array) -> Array:
        if array.axis is not None or value.axis is not None:
            raise NotAlike
        if len(key) != len(array.shape):
            raise NotVerified("assign: a key of another rank")
        at_ = [
            list(range(n)) if k is None else self.inside(k, n)
            for k, n in zip(key, array.shape, strict=True)
        ]
        if any(len(set(one)) < len(one) for one in at_):
            raise NotVerified("assign: a place twice")
        value = self.broadcast(value, [len(one) for one in at_])
        steps, items = strides(array.shape), list(array.items)
        places = [
            sum(p) for p in product(*([i * s for i in a] for a, s in zip(at_, steps, strict=True)))
        ]
        for place, one in zip(places, value.items, strict=True):
            items[place] = one
        return self.union([array, value], Array(array.shape, items))

    def union(self, parts: list[Array], found: Array) -> Array:
        far, own = [self.distances(one) for one in parts], [self.lengths(one) for one in parts]
        found.far1, found.far2 = total(one[0] for one in far), total(one[1] for one in far)
        found.own1, found.own2 = total(one[0] for one in own), total(one[1] for one in own)
        return found

    def joined(self, arrays: list[Array], axis: int) -> Array:
        first = arrays[0]
        (axis,) = self.axes([axis], first)
        records = {one.axis for one in arrays}
        if len(records) > 1 or axis in records:
            raise NotAlike
        others = {(*one.shape[:axis], *one.shape[axis + 1 :]) for one in arrays}
        if len(others) > 1 or any(len(one.shape) != len(first.shape) for one in arrays):
            raise NotVerified("concatenate: shapes do not fit together")
        inner = [math.prod(one.shape[axis:]) for one in arrays]
        outer = range(math.prod(first.shape[:axis]))
        items = [
            item
            for i in outer
            for one, n in zip(arrays, inner, strict=True)
            for item in one.items[i * n : (i + 1) * n]
        ]
        shape = list(first.shape)
        shape[axis] = sum(one.shape[axis] for one in arrays)
        return self.union(arrays, Array(shape, items, first.axis))

    def axes(self, axis: Any, array: Array) -> set[int]:
        listed = (
            range(len(array.shape)) if axis is None else axis if isinstance(axis, list) else [axis]
        )
        found = {one + len(array.shape) if one < 0 else one for one in listed}
        if len(found) != len(list(listed)) or not found <= set(range(len(array.shape))):
            raise NotVerified("an axis that is not there")
        return found
