"""Distances and lengths of whole arrays: what an operation keeps, and clipping by norm."""

from __future__ import annotations

from typing import Any

from .enclosures import INF, ONE, ZERO, inverse, meet, root, rounded, size, total
from .entries import Entry
from .frames import Array
from .reductions import Reductions


class Norms(Reductions):
    """What is known of an array beyond its entries."""

    def kept(self, name: str, arrays: list[Array], found: Array) -> Array:
        """Give an array of entries what is known of its distance and length as a whole."""
        moving = [one for one in arrays if any(item.moves for item in one.items)]
        plain = name in ("add", "subtract", "minimum", "maximum", "where") and not (
            name == "where" and any(item.moves for item in arrays[0].items)
        )
        if plain and moving:
            both = [self.distances(one) for one in moving]
            found.far1 = total(one[0] for one in both)
            found.far2 = (
                both[0][1]
                if len(both) == 1
                else rounded(total(root(one[1], True) for one in both) ** 2, True)
            )
        elif name in ("negative", "absolute", "sin", "arctan", "tanh"):
            found.like(arrays[0])
        elif name in ("multiply", "divide"):
            self.scaled(name, arrays, found)
        return found

    def scaled(self, name: str, arrays: list[Array], found: Array) -> None:
        for one, other in ((arrays[0], arrays[1]), (arrays[1], arrays[0])):
            if name == "divide" and one is arrays[1] and one is not other:
                continue
            if any(item.moves or item.bad for item in other.items):
                continue
            ends = [item.ends if name == "multiply" else inverse(item.ends) for item in other.items]
            if all(x is not None and size(x) < INF for x in ends):
                factor = max((size(x) for x in ends), default=ZERO)
                found.like(one, factor)
        self.clipped(name, arrays, found)

    def clipped(self, name: str, arrays: list[Array], found: Array) -> None:
        """Bound the length of what is scaled by a limit over its own length, or less."""
        for values, factors in ((arrays[0], arrays[1]), (arrays[1], arrays[0])):
            if name == "divide" and factors is arrays[0]:
                continue
            own = [
                i
                for i in range(len(found.items))
                if self.is_own(found, i) or values.items[i].moves or factors.items[i].moves
            ]
            scales = {factors.items[i].key for i in own}
            every = [self.limit(self.ground.entries[one], name) for one in scales]
            for i, value in enumerate(values.items):
                known = self.limit(factors.items[i], name)
                if known and self.is_part(value, known[1]) and not value.bad:
                    one, most = found.items[i], known[0]
                    one.bad = None
                    one.ends = meet(one.ends, (-most, most))
                    one.ends = (
                        meet(one.ends, (-size(value.ends), size(value.ends)))
                        if known[2]
                        else one.ends
                    )
                    if one.moves:
                        one.move = meet(one.move, (-2 * most, 2 * most))
                        self.ground.narrow(one)
            if len(scales) == 1 and every[0] is not None:
                most, length, _ = every[0]
                parts = [values.items[i] for i in own]
                if (
                    all(self.is_part(one, length) and not one.bad for one in parts)
                    and len({one.key for one in parts}) == len(parts)
                    and all(found.is_first(i) for i in own)
                ):
                    found.own2 = min(found.own2, most * most)
                    if not self.adds:
                        found.far2 = min(found.far2, self.apart(found, INF, found.own2)[1])

    def is_part(self, value: Entry, length: Entry) -> bool:
        """Return whether a length is at least that of a number and others of its own."""
        return any(one.key == value.key and f >= 1 for f, one in length.args[0].squares or ())

    def limit(self, factor: Entry, name: str) -> Any:
        """Return (c, length, small): times or over it, a value is at most c / length as large."""
        if name == "divide":
            found = self.over(factor)
            if found is None or factor.bad or factor.ends[0] <= 0:
                return None
            return found[1], found[0], factor.ends[0] >= 1
        if factor.op == "divide" and not factor.bad and self.is_positive(factor.args[0]):
            found = self.limit(factor.args[1], "divide")
            return found and (factor.args[0].constant * found[0], found[1], False)
        if factor.op == "minimum":
            for one in factor.args:
                rest = [other for other in factor.args if other is not one]
                if one.op == "divide" and all(map(self.is_positive, (*rest, one.args[0]))):
                    found = self.over(one.args[1])  # where it is 0, the minimum is another
                    if found is not None:
                        small = any(other.constant <= 1 for other in rest)
                        return one.args[0].constant * found[1], found[0], small
        return None

    def is_positive(self, entry: Entry) -> bool:
        return entry.constant is not None and not entry.bad and entry.constant > 0

    def over(self, entry: Entry) -> Any:
        """Return (length, c) where an entry is at least a Euclidean length over c."""
        if entry.bad:
            return None
        if entry.op == "sqrt" and entry.args[0].squares:
            return entry, ONE
        if entry.op == "maximum":
            return next((found for found in map(self.over, entry.args) if found), None)
        if entry.op == "sum" and entry.poly and len(entry.poly) - (() in entry.poly) == 1:
            ((term, factor),) = [(t, c) for t, c in entry.poly.items() if t]
            if len(term) == 1 and factor > 0 and entry.poly.get((), ZERO) >= 0:
                found = self.over(self.ground.entries[term[0]])
                return found and (found[0], found[1] / factor)
        return None
