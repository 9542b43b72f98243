"""Sums, order statistics, products of matrices, and counts."""

from __future__ import annotations

import math
from fractions import Fraction as F
from itertools import pairwise
from typing import Any

from .enclosures import INF, ONE, ZERO, NotAlike, NotVerified, meet, mul, size, times, total
from .entries import Entry
from .frames import RECORDS, Array
from .shapes import Shapes


class Reductions(Shapes):
    """What takes an axis away."""

    def over_others(self, entry: Entry) -> Entry:
        """Return the sum of an entry over all records but the changed one."""
        ground = self.ground
        ends, move = self.many(entry.ends), self.many(entry.move)
        if self.others == 0:
            return ground.number(0)
        if not entry.local and not entry.bad:
            return ground.multiply(
                entry, self.before if self.others is None else ground.number(self.others)
            )
        if entry.poly is None or entry.bad:
            found = ground.opaque("others", [entry], ends, move, whole=entry.whole)
        else:
            poly: dict[Any, Any] = {}
            for term, coefficient in entry.poly.items():
                near = tuple(one for one in term if ground.entries[one].local)
                rest = tuple(one for one in term if not ground.entries[one].local)
                own = ground.bounds(near)
                args = [ground.entries[one] for one in near]
                if near:
                    atom = ground.opaque(
                        "others",
                        args,
                        self.many(own[0]),
                        self.many(own[1]),
                        whole=all(one.whole for one in args),
                    )
                    atom.local = False
                else:
                    atom = self.before if self.others is None else ground.number(self.others)
                for more, factor in (atom.poly or {}).items():
                    place = tuple(sorted(rest + more))
                    poly[place] = poly.get(place, ZERO) + coefficient * factor
            found = ground.of_poly({t: c for t, c in poly.items() if c}, ends, move)
        found.local = False
        if entry.squares is not None and self.others is not None:
            found.squares = tuple((f * self.others, one) for f, one in entry.squares)
        return found

    def many(self, x: Any) -> Any:
        if self.others is None:
            return times(F(RECORDS), min(x[0], ZERO)), times(F(RECORDS), max(x[1], ZERO))
        return mul((F(self.others), F(self.others)), x)

    def summed(self, array: Array, axes: Any, factor: F = ONE) -> Array:
        """Return sums along axes, times a factor."""
        left = [n for i, n in enumerate(array.shape) if i not in axes]
        axis = array.axis
        records = axis in axes
        kept = None if axis is None or records else axis - sum(one < axis for one in axes)
        items, most, moved = [], 0, 0
        for group in self.indices(array.shape, axes):
            terms = []
            for i in group:
                one = array.items[i]
                if not records:
                    terms.append((factor, one))
                elif not array.is_first(i):
                    terms.append((factor, self.over_others(one)))
                else:
                    terms.append(
                        (factor, self.ground.multiply(one, self.weight) if self.adds else one)
                    )
            most = max(most, sum(self.is_own(array, i) for i in group))
            moved = max(moved, sum(array.items[i].moves for i in group))
            items.append(self.ground.sum(terms))
        found = Array(left, items, kept)
        (far1, far2), (own1, own2) = self.distances(array), self.lengths(array)
        if records and self.adds:
            still = not any(one.moves for one in array.items)
            far1, far2 = (own1, times(F(most), own2)) if still else (INF, INF)
        elif records and any(
            one.moves for i, one in enumerate(array.items) if not array.is_first(i)
        ):
            far2 = INF
        else:
            far2 = times(F(moved), far2)
        found.far1, found.far2 = times(abs(factor), far1), times(factor * factor, far2)
        if not records:
            own1, own2 = times(abs(factor), own1), times(factor * factor * most, own2)
            found.own1, found.own2 = own1, own2
        return found

    def reduced(self, name: str, given: Any, array: Array) -> Array:
        axes = self.axes(given["axis"], array)
        lengths = [array.shape[i] if i != array.axis else self.count for i in axes]
        if name == "sum":
            return self.summed(array, axes)
        if None in lengths:
            raise NotVerified(f"{name} over an unknown number of records")
        number = math.prod(lengths)
        if not number:
            raise NotVerified(f"{name} of nothing")
        if name == "mean":
            return self.summed(array, axes, F(1, number))
        if array.axis in axes and name == "prod":
            raise NotAlike
        left = [n for i, n in enumerate(array.shape) if i not in axes]
        axis = None
        if array.axis is not None and array.axis not in axes:
            axis = array.axis - sum(one < array.axis for one in axes)
        groups = self.indices(array.shape, axes)
        parts = [
            [array.items[i] for i in group if array.is_first(i) or axis is not None or self.others]
            for group in groups
        ]
        if name not in ("median", "quantile"):
            return Array(left, [self.of_group(name, part, number) for part in parts], axis)
        wanted, shape = ([F(1, 2)], ()) if name == "median" else (given["q"][1], given["q"][0])
        if given.get("method", "linear") != "linear" or (shape and axis is not None):
            raise NotVerified("quantile: no rule knows this")
        found = [self.of_order(part, q, number) for q in wanted for part in parts]
        return Array((*shape, *left), found, axis)

    def of_group(self, name: str, part: list[Entry], number: int) -> Entry:
        ground = self.ground
        if name in ("max", "min"):
            return ground.extreme("maximum" if name == "max" else "minimum", part)
        if name == "prod":
            found = ground.number(1)
            for one in part:
                found = ground.multiply(found, one)
            return found
        far = F(number - 1)
        return ground.opaque(name, part, (ZERO, far), (-far, far), whole=True)

    def of_order(self, part: list[Entry], q: F, number: int) -> Entry:
        """Return a quantile, with linear interpolation between two numbers in order.

        It moves by no more than the largest movement. Where one number alone moves, either of the
        two stays between its neighbours in order: of others y, (1 - t) x_k + t x_(k+1) lies between
        (1 - t) y_(k-1) + t y_k and (1 - t) y_k + t y_(k+1): max(t, 1 - t) times the width at most.
        """
        if not 0 <= q <= 1:
            raise NotVerified("a quantile outside 0 to 1")
        low, high = min(one.ends[0] for one in part), max(one.ends[1] for one in part)
        move = min(one.move[0] for one in part), max(one.move[1] for one in part)
        place = q * (number - 1)
        share = max(place % 1, 1 - place % 1)
        moving = [one for one in part if one.moves]
        if len(moving) == 1 and not moving[0].local and high - low < INF:
            move = meet(move, (-share * (high - low), share * (high - low)))
        signs = {one.tends for one in moving}
        return self.ground.opaque(
            "order",
            part,
            (low, high),
            move,
            extra=(q, number),
            tends=signs.pop() if len(signs) == 1 else 0,
        )

    def in_order(self, name: str, axis: Any, array: Array) -> Array:
        """Return sorted numbers, or running sums."""
        axes = self.axes(axis, array)
        if array.axis in axes or len(axes) != 1:
            raise NotAlike
        items: list[Any] = [None] * len(array.items)
        for group in self.indices(array.shape, axes):
            part = [array.items[i] for i in group]
            low, high = min(one.ends[0] for one in part), max(one.ends[1] for one in part)
            move = min(one.move[0] for one in part), max(one.move[1] for one in part)
            whole = all(one.whole for one in part)
            for n, i in enumerate(group):
                if name == "sort":
                    items[i] = self.ground.opaque(
                        "sorted", part, (low, high), move, extra=n, whole=whole
                    )
                else:
                    items[i] = self.ground.sum([(ONE, one) for one in part[: n + 1]])
        found = Array(array.shape, items, array.axis)
        return found.like(array) if name == "sort" else found

    def matrices(self, a: Array, b: Array) -> Array:
        """Return a product of matrices or vectors, row by column."""
        left, right = a, b
        if len(a.shape) == 1:
            left = Array((1, *a.shape), a.items, None if a.axis is None else 1).like(a)
        if len(b.shape) == 1:
            right = Array((*b.shape, 1), b.items, b.axis).like(b)
        if len(left.shape) != 2 or len(right.shape) != 2:
            raise NotVerified("matmul: no rule knows more than two axes")
        middle = left.axis == 1 or right.axis == 0
        if middle:
            left, right = self.compressed(left, 1), self.compressed(right, 0)
        if (left.axis == 0 and right.axis == 1) or (middle and not left.axis == right.axis + 1):
            raise NotAlike
        if left.shape[1] != right.shape[0]:
            raise NotVerified("matmul: shapes do not fit together")
        (n, m), k = left.shape, right.shape[1]
        self.ground.spend(n * m * k)
        cells = [
            self.ground.multiply(left.items[i * m + t], right.items[t * k + j])
            for i in range(n)
            for j in range(k)
            for t in range(m)
        ]
        axis = 2 if middle else 0 if left.axis == 0 else 1 if right.axis == 1 else None
        found = self.summed(Array((n, k, m), cells, axis), {2})
        self.of_outer(left, right, found, middle)
        shape = (*a.shape[:-1], *(b.shape[1:]))
        axis = None if middle or axis is None else 0 if axis == 0 else len(shape) - 1
        return Array(shape, found.items, axis).like(found)

    def of_outer(self, left: Array, right: Array, found: Array, middle: bool) -> None:
        """Bound a product by the lengths of the one pair of rows that changes, or by norms."""
        moves = [any(item.moves for item in one.items) for one in (left, right)]
        m, k = right.shape
        own = {i % m for i, one in enumerate(left.items) if one.moves} | {
            i // k for i, one in enumerate(right.items) if one.moves
        }
        if (
            (middle and not any(moves))
            if self.adds
            else (all(moves) and len(own) == 1 and not (middle and own != {0}))
        ):
            (a1, a2), (b1, b2) = self.lengths(left), self.lengths(right)
            same = [one.key for one in left.items] == [
                one.key for one in self.transposed(right, (1, 0)).items
            ]
            positive = all(item.ends[0] >= 0 for one in (left, right) for item in one.items)
            more = (1, 1) if self.adds else (2, 2 if same or positive else 4)
            found.far1 = min(found.far1, more[0] * times(a1, b1))
            found.far2 = min(found.far2, more[1] * times(a2, b2))
        elif not middle and moves[0] != moves[1]:
            moving, public = (left, right) if moves[0] else (right, left)
            if all(not item.bad and size(item.ends) < INF for item in public.items):
                square = total(size(item.ends) ** 2 for item in public.items)
                found.far2 = min(found.far2, times(square, self.distances(moving)[1]))

    def counted(self, array: Array, edges: Any) -> Array:
        """Return how many entries lie in each bin: each is in one at most."""
        bins = len(edges) - 1
        if bins < 1 or any(not a < b for a, b in pairwise(edges)):
            raise NotVerified("bin_counts: edges that do not grow")
        if any(one.bad for one in array.items):
            raise NotVerified("bin_counts of what may be no number")
        numbers = [
            (self.times_row(array, i), self.is_own(array, i), one.moves)
            for i, one in enumerate(array.items)
        ]
        if self.adds and any(moves for _, _, moves in numbers):
            raise NotVerified("bin_counts of what the added record moves")
        most = total(n for n, own, _ in numbers if own)
        ends = (ZERO, total(n for n, _, _ in numbers))
        found = Array((bins,), [])
        for n in range(bins):
            one = self.ground.opaque(
                "bin", array.items, ends, (-most, most), whole=True, extra=(n, tuple(edges))
            )
            if self.adds and most:
                one.move = (ZERO, most)
            one.local = False
            found.items.append(one)
        found.far1, found.far2 = (most, most * most) if self.adds else (2 * most, 2 * most * most)
        return found
