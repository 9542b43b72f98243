"""The largest movement of one number, by a search in boxes."""

from __future__ import annotations

import heapq
from fractions import Fraction as F
from typing import Any

from .enclosures import (
    GROWING,
    INF,
    ONE,
    STEPS,
    ZERO,
    add,
    hull,
    image,
    inverse,
    meet,
    mul,
    neg,
    power,
    size,
    slope,
    times,
    total,
)
from .entries import Entry
from .norms import Norms

BOXES, VARIABLES = 300, 7
FOLLOWED = (
    GROWING - STEPS
    | {"absolute", "sin", "cos", "total", "multiply", "divide", "maximum"}
    | {
        "minimum",
        "where",
        "less",
        "less_equal",
        "equal",
        "not_equal",
    }
)


class Searches(Norms):
    """Bounds on movements that no rule gives at once."""

    def sharpened(self, entry: Entry) -> Any:
        return size(self.sharpened_ends(entry))

    def sharpened_ends(self, entry: Entry) -> Any:
        """Return by how much an entry moves: the best of its rules and of a search."""
        if not entry.moves or entry.poly is None or entry.made == "sharp":
            return entry.move
        entries, boxes = self.ground.entries, dict[Any, Any]()
        alone = all(
            len(t) == 1 and entries[t[0]].op == "leaf" for t in entry.poly if self.moving(t)
        )
        if alone or not all(self.variables(t, boxes) for t in entry.poly if self.moving(t)):
            return entry.move
        if not 0 < len(boxes) <= VARIABLES:
            return entry.move
        high = self.largest(entry, boxes, 1)
        low = -high if not self.adds else -self.largest(entry, boxes, -1)
        entry.move = meet(entry.move, (low, high))
        return entry.move

    def moving(self, term: Any) -> bool:
        return any(self.ground.entries[one].moves for one in term)

    def variables(self, keys: Any, boxes: dict[Any, Any]) -> bool:
        """Collect the numbers that decide entries; return whether a search can follow them all."""
        for one in (self.ground.entries[key] for key in keys):
            if one.constant is not None:
                continue
            if not one.moves:
                boxes[one.key, 2] = one.ends
            elif one.op == "leaf":
                boxes[one.key, 0], boxes[one.key, 1] = one.ends, one.ends
                if self.adds:
                    boxes[one.key, 0], boxes[one.key, 1] = (ZERO, ZERO), (ONE, ONE)
            elif one.op == "sum":
                if not all(self.variables(term, boxes) for term in one.poly):
                    return False
            elif (
                one.bad
                or one.op not in FOLLOWED
                or not self.variables([a.key for a in one.args], boxes)
            ):
                return False
            if len(boxes) > VARIABLES or (not one.moves and isinstance(size(one.ends), float)):
                return False
        return True

    def largest(self, entry: Entry, boxes: Any, sign: int, sides: Any = (0, 1)) -> Any:
        """Return a number that the movement, times a sign, is never above.

        Where the two sides have no number in common, each is searched by itself.
        """
        if len(sides) > 1 and all(side < 2 for _, side in boxes):
            apart = [{v: box for v, box in boxes.items() if v[1] == side} for side in sides]
            return sum(
                self.largest(entry, own, sign, (side,)) if own else 0
                for side, own in zip(sides, apart, strict=True)
            )
        best, heap, order = -INF, list[Any](), 0
        pending = [dict(boxes)]
        for _ in range(BOXES):
            for box in pending:
                above, below, slopes = self.bounded(entry, box, sign, sides)
                if above is None:
                    return INF
                best, order = max(best, below), order + 1
                heapq.heappush(heap, (-above, order, box, slopes))
            top, _, box, slopes = heap[0]
            if -top <= best + abs(best) / 10**11 or all(low == high for low, high in box.values()):
                break
            heapq.heappop(heap)
            wide = max(
                box,
                key=lambda v: times(
                    box[v][1] - box[v][0], min(size(slopes.get(v, (ZERO, ZERO))), 10**9)
                ),
            )
            low, high = box[wide]
            middle = (low + high) / 2
            pending = [{**box, wide: (low, middle)}, {**box, wide: (middle, high)}]
        return -heap[0][0]

    def bounded(self, entry: Entry, box: dict[Any, Any], sign: int, sides: Any) -> Any:
        """Return a bound from above, a value that is attained, and slopes; shrink the box."""
        while True:
            found = self.difference(entry, box, sign, sides)
            if found is None:
                return None, None, None
            value, slopes = found
            steep = [
                v
                for v, (a, b) in box.items()
                if a < b and v in slopes and (slopes[v][0] >= 0 or slopes[v][1] <= 0)
            ]
            for v in steep:
                box[v] = (box[v][1],) * 2 if slopes[v][0] >= 0 else (box[v][0],) * 2
            if not steep:
                break
        middle = {v: ((a + b) / 2,) * 2 for v, (a, b) in box.items()}
        inner = self.difference(entry, middle, sign, sides)
        if inner is None:
            return None, None, None
        above = value[1]
        reach = total(
            times(size(slopes.get(v, (ZERO, ZERO))), (b - a) / 2) for v, (a, b) in box.items()
        )
        return min(above, inner[0][1] + reach), inner[0][0], slopes

    def difference(self, entry: Entry, box: Any, sign: int, sides: Any) -> Any:
        """Return the movement of an entry over a box, or one side's part in it, and its slopes."""
        parts = []
        for term, coefficient in entry.poly.items():
            if not self.moving(term):
                continue
            near = [one for one in term if self.ground.entries[one].moves]
            rest = [one for one in term if not self.ground.entries[one].moves]
            values = [(ONE if side else -ONE, self.of_term(near, box, side)) for side in sides]
            still = self.of_term(rest, box, 0)
            if still is None or any(one is None for _, one in values):
                return None
            apart = plus_dual(values)
            parts.append((coefficient * sign, times_dual(apart, still)))
        return plus_dual(parts)

    def of_term(self, keys: Any, box: Any, side: int) -> Any:
        found: Any = ((ONE, ONE), {})
        for key in dict.fromkeys(keys):
            one = self.of_entry(self.ground.entries[key], box, side)
            if one is None:
                return None
            n = list(keys).count(key)
            if n > 1:
                slope_ = mul((F(n), F(n)), power(one[0], n - 1))
                one = power(one[0], n), {v: mul(slope_, g) for v, g in one[1].items()}
            found = times_dual(found, one)
        return found

    def of_entry(self, entry: Entry, box: Any, side: int) -> Any:
        """Return ends and slopes of an entry on one side over a box; None where it has none."""
        self.ground.spend(3)
        if entry.constant is not None:
            return entry.ends, {}
        place = (entry.key, side if entry.moves else 2)
        if place in box:
            return box[place], {place: (ONE, ONE)}
        if entry.op == "sum":
            terms = [(c, self.of_term(t, box, side)) for t, c in entry.poly.items()]
            return None if any(one is None for _, one in terms) else plus_dual(terms)
        args = [self.of_entry(one, box, side) for one in entry.args]
        if any(one is None for one in args):
            return None
        name, (x, slopes) = entry.op, args[0]
        if name == "total":
            return plus_dual(list(zip(entry.made, args, strict=True)))
        if name == "multiply":
            return times_dual(*args)
        if name == "divide":
            upside = inverse(args[1][0])
            if upside is None:
                return None
            fall = neg(power(upside, 2))
            return times_dual(args[0], (upside, {v: mul(fall, g) for v, g in args[1][1].items()}))
        if len(args) == 1:
            value = image(name, x)
            if value is None:
                return None
            steep = slope(name, x, value)
            return value, {v: mul(steep, g) for v, g in slopes.items()}
        return self.of_choice(name, args)

    def of_choice(self, name: str, args: Any) -> Any:
        values = [one[0] for one in args]
        every = {v for one in args for v in one[1]}
        if name in ("maximum", "minimum"):
            pick = max if name == "maximum" else min
            value = pick(x[0] for x in values), pick(x[1] for x in values)
            alive = [
                one
                for one in args
                if (one[0][1] >= value[0] if name == "maximum" else one[0][0] <= value[1])
            ]
        elif name == "where":
            alive = (
                args[1:2]
                if values[0][0] > 0
                else args[2:]
                if values[0] == (ZERO, ZERO)
                else args[1:]
            )
            value = alive[0][0] if len(alive) == 1 else hull(alive[0][0], alive[1][0])
            if len(alive) > 1:
                return value, {v: (-INF, INF) for v in every}
        else:
            low, high = add(values[0], neg(values[1]))
            if name in ("less", "less_equal"):
                sure, never = (high < 0, low >= 0) if name == "less" else (high <= 0, low > 0)
            else:
                sure, never = low == high == 0, low > 0 or high < 0
                sure, never = (sure, never) if name == "equal" else (never, sure)
            if sure or never:
                return (F(sure), F(sure)), {}
            return (ZERO, ONE), {v: (-INF, INF) for v in every}
        slopes = {}
        for v in every:
            found = [one[1].get(v, (ZERO, ZERO)) for one in alive]
            slopes[v] = min(x[0] for x in found), max(x[1] for x in found)
        return value, slopes


def plus_dual(terms: Any) -> Any:
    value, slopes = (ZERO, ZERO), dict[Any, Any]()
    for factor, (x, g) in terms:
        value = add(value, mul((factor, factor), x))
        for v, one in g.items():
            slopes[v] = add(slopes.get(v, (ZERO, ZERO)), mul((factor, factor), one))
    return value, slopes


def times_dual(a: Any, b: Any) -> Any:
    slopes = {v: mul(g, b[0]) for v, g in a[1].items()}
    for v, g in b[1].items():
        slopes[v] = add(slopes.get(v, (ZERO, ZERO)), mul(g, a[0]))
    return mul(a[0], b[0]), slopes
