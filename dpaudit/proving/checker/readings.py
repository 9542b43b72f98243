"""The reading of a program for one changed record."""

from __future__ import annotations

import math
from fractions import Fraction as F
from typing import Any

from .enclosures import GROWING, ONE, NotVerified
from .entries import Entry
from .frames import Array
from .noise import Noise

STRUCTURE = {"take", "assign", "transpose", "broadcast", "reshape", "concatenate", "decide"}
LAWS = {"normal", "laplace", "exponential", "gumbel", "uniform", "logistic", "cauchy"}


class Reading(Noise):
    """All operations."""

    def value(self, index: int, node: Any) -> Array:
        """Return what a node is."""
        name, given = node["operation"], node["parameters"]
        arrays = [self.arrays[one] for one in node["operands"]]
        ground = self.ground
        if name == "data":
            return self.data(node)
        if name == "size":
            if self.adds:
                return Array((), [ground.sum([(ONE, self.before), (ONE, self.weight)])])
            return Array((), [ground.number(self.count)])
        if name == "constant":
            shape, flat = given["value"]
            return Array(shape, [ground.number(one) for one in flat])
        if name == "draw":
            return self.drawn(index, node)
        if (
            name in ("argmax", "argmin")
            and len(arrays[0].shape) == 1
            and given["axis"] in (None, 0)
        ):
            event = self.selected(node, arrays[0], index)
            if event is not None:
                return Array((), [event])
        linear = name in ("add", "subtract", "multiply", "divide", "negative")
        if any(one.noise for array in arrays for one in array.items):
            if name not in STRUCTURE and not (linear and self.is_linear(name, arrays)):
                arrays = [self.shown(one, index) for one in arrays]
            elif name == "decide":
                arrays = [self.shown(one, index) for one in arrays]
        return self.called(name, given, arrays, index)

    def is_linear(self, name: str, arrays: list[Array]) -> bool:
        try:
            arrays = self.together(arrays)
        except NotVerified:
            return False
        groups = zip(*(one.items for one in arrays), strict=True)
        return all(
            not any(one.noise for one in group)
            or self.linear(name, group[0], group[-1]) is not None
            for group in groups
        )

    def drawn(self, index: int, node: Any) -> Array:
        law, shape = node["parameters"]["law"], node["shape"]
        extra = {k: v for k, v in node["parameters"].items() if k not in ("law", "number")}
        if law not in LAWS or extra or node["operands"] or None in shape:
            raise NotVerified(f"node {index}: no rule knows draws of this law")
        items = []
        for place in range(math.prod(shape)):
            draw = (node["parameters"]["number"], place)
            self.laws[draw] = (law, None)
            items.append(self.noisy(self.ground.number(0), {draw: ONE}))
        return Array(shape, items)

    def called(self, name: str, given: Any, arrays: list[Array], index: int) -> Array:
        if name in ("sum", "mean", "prod", "max", "min", "median", "quantile", "argmax", "argmin"):
            return self.reduced(name, given, arrays[0])
        if name in STRUCTURE:
            return self.rearranged(name, given, arrays)
        if name == "matmul":
            return self.matrices(*arrays)
        if name == "bin_counts":
            return self.counted(arrays[0], given["edges"])
        if name in ("sort", "cumsum"):
            return self.in_order(name, given["axis"], arrays[0])
        arrays = self.together(arrays)
        groups = list(zip(*(one.items for one in arrays), strict=True))
        found = Array(
            arrays[0].shape, [self.entry(name, group) for group in groups], arrays[0].axis
        )
        return self.kept(name, arrays, found)

    def entry(self, name: str, group: tuple[Entry, ...]) -> Entry:
        ground = self.ground
        if any(one.noise for one in group):
            found: Entry = self.linear(name, group[0], group[-1])
            return found
        if name in ("add", "subtract"):
            return ground.sum([(ONE, group[0]), (F(1 if name == "add" else -1), group[1])])
        if name in ("maximum", "minimum"):
            return ground.extreme(name, list(group))
        if name in ("less", "less_equal", "equal", "not_equal"):
            return ground.compare(name, *group)
        if name in ("logical_and", "logical_or", "logical_xor"):
            return ground.logic(name, *group)
        if name == "logical_not":
            return ground.sum([(ONE, ground.number(1)), (-ONE, ground.truth(group[0]))])
        calls: dict[str, Any] = {
            "multiply": ground.multiply,
            "divide": ground.divide,
            "where": ground.choose,
            "power": ground.raised,
            "remainder": ground.remainder,
        }
        if name in calls:
            made: Entry = calls[name](*group)
            return made
        if name in GROWING | {"negative", "absolute", "sin", "cos"}:
            return ground.function(name, group[0])
        raise NotVerified(f"no rule knows {name}")
