"""Numbers of the program that the checker reads, written one node after the other.

A `Scalar` is a number of that program, or one of each record. Noise that nobody has looked at yet
goes with the number it is added to, and a secret coin of a Poisson sample with what it multiplies.
Lengths of vectors, and factors that limit these, are remembered by what they are made of, so that
vectors which are shortened to a length are written as such.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

Noise = tuple[tuple[int, Fraction], ...]
FUNCTIONS = frozenset("inverse sqrt exp log sin cos arctan floor rint".split())


class NotLowered(Exception):
    """Why a program is not one that the checker reads."""


class NotAlike(NotLowered):
    """A program does not treat records alike."""


class NotSampled(NotLowered):
    """Somebody looks at the coins of a Poisson sample."""


@dataclass(frozen=True)
class Scalar:
    """A number: a node of the program, plus noise, times a coin.

    Parameters
    ----------
    node
        Of the number without noise.
    number
        Its value, where it is a public constant.
    is_local
        Whether there is one for each record.
    noise
        Draws and their factors.
    sample
        The draw that decides whether a record takes part.
    """

    node: int
    number: Fraction | None = None
    is_local: bool = False
    noise: Noise = ()
    sample: int | None = None


@dataclass(frozen=True)
class Limit:
    """``scale * min(1, most / (length + margin))``, or without the minimum where most is None."""

    scale: Fraction
    vector: tuple[int, ...]
    margin: Fraction
    most: Fraction | None = None


@dataclass(eq=False)
class Core:
    """A program, as it is written.

    Parameters
    ----------
    nodes
        As JSON has them.
    place
        Of the source, for what is written next.
    most
        How many there may be.
    truths
        The nodes that are 0 or 1.
    """

    nodes: list[dict[str, Any]] = field(default_factory=list)
    place: str = "?"
    most: int = 200_000
    truths: set[int] = field(default_factory=set)
    _known: dict[Any, Scalar] = field(default_factory=dict)
    _squares: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _sums_of_squares: dict[int, int] = field(default_factory=dict)
    _lengths: dict[int, tuple[Fraction, Fraction, tuple[int, ...]]] = field(default_factory=dict)
    _floors: dict[int, tuple[Fraction, int]] = field(default_factory=dict)
    _limits: dict[int, Limit] = field(default_factory=dict)

    def add(self, operation: str, operands: Sequence[Scalar] = (), **parameters: Any) -> Scalar:
        """Return a node, which is written where there is none like it."""
        local = parameters.pop("local", any(one.is_local for one in operands))
        key = (operation, tuple(one.node for one in operands), repr(sorted(parameters.items())))
        if key not in self._known:
            if len(self.nodes) >= self.most:
                raise NotLowered("it is too large to be checked")
            self._known[key] = Scalar(len(self.nodes), is_local=local)
            self.nodes.append(
                {
                    "operation": operation,
                    "operands": [one.node for one in operands],
                    "parameters": parameters,
                    "place": self.place,
                }
            )
        return self._known[key]

    def number(self, value: Fraction | int) -> Scalar:
        """Return a public constant."""
        exact = Fraction(value)
        return replace(self.add("number", value=written(exact)), number=exact)

    def truth(self, name: str, one: Scalar, other: Scalar) -> Scalar:
        """Return 1 where a comparison holds, and 0 elsewhere."""
        found = self.add(name, [one, other])
        self.truths.add(found.node)
        return found

    # sums and products

    def sum(self, terms: Iterable[tuple[Fraction, Scalar]]) -> Scalar:
        """Return a sum of numbers times public factors."""
        factors: dict[Scalar, Fraction] = {}
        constant = Fraction(0)
        for factor, one in terms:
            if one.number is not None:
                constant += factor * one.number
            else:
                factors[one] = factors.get(one, Fraction(0)) + factor
        factors = {one: factor for one, factor in factors.items() if factor}
        if not factors:
            return self.number(constant)
        if len(factors) == 1 and not constant and list(factors.values()) == [1]:
            return next(iter(factors))
        return self._linear(factors, constant)

    def _linear(self, factors: dict[Scalar, Fraction], constant: Fraction) -> Scalar:
        terms: list[Any] = [[written(f), [[k, 1]]] for k, f in enumerate(factors.values())]
        terms += [[written(constant), []]] if constant else []
        found = self.add("poly", list(factors), terms=terms)
        if not constant and {*factors.values()} == {1}:
            parts = [self._squares.get(one.node) for one in factors]
            if None not in parts:
                self._squares[found.node] = tuple(k for part in parts if part for k in part)
        if len(factors) == 1:
            ((one, factor),) = factors.items()
            self._scale(found.node, one.node, factor, constant)
        return found

    def _scale(self, found: int, node: int, factor: Fraction, constant: Fraction) -> None:
        """Remember what a multiple of a length or limit, plus a constant, is."""
        if node in self._lengths and factor > 0 <= constant:
            a, b, vector = self._lengths[node]
            self._lengths[found] = (a * factor, b * factor + constant, vector)
        if node in self._limits and factor > 0 and not constant:
            limit = self._limits[node]
            self._limits[found] = replace(limit, scale=limit.scale * factor)

    def multiply(self, one: Scalar, other: Scalar) -> Scalar:
        """Return a product; a vector times a limit of its length is written as what it is."""
        for a, b in ((one, other), (other, one)):
            if a.number is not None:
                return self.sum([(a.number, b)])
            limit = self._limits.get(b.node)
            if limit is not None and limit.most is not None and a.node in limit.vector:
                return self._shortened(a, limit)
        if one.node == other.node:
            found = self.add("poly", [one], terms=[[1, [[0, 2]]]])
            self._squares[found.node] = (one.node,)
            return found
        pair = sorted((one, other), key=lambda each: each.node)
        return self.add("poly", pair, terms=[[1, [[0, 1], [1, 1]]]])

    def _shortened(self, one: Scalar, limit: Limit) -> Scalar:
        assert limit.most is not None
        rest = [Scalar(k, is_local=one.is_local) for k in limit.vector if k != one.node]
        by, margin = written(limit.most), written(limit.margin)
        found = self.add("clip", [one, *rest], by=by, margin=margin)
        return self.sum([(limit.scale, found)])

    # functions

    def function(self, name: str, one: Scalar) -> Scalar:
        """Return a function of one number."""
        if name == "inverse" and one.number:
            return self.number(1 / one.number)
        if name == "sqrt" and one.node in self._sums_of_squares:
            rows = Scalar(self._sums_of_squares[one.node], is_local=True)
            return self.add("rows", [rows], of="norm", by=0, local=False)
        if name == "sqrt" and one.node in self._squares:
            return self._length(one)
        found = self.add(name, [one])
        if name == "inverse":
            self._invert(found.node, one.node)
        return found

    def _length(self, square: Scalar) -> Scalar:
        """Return the length of a vector whose squares add up to a number."""
        vector = self._squares[square.node]
        parts = [Scalar(k, is_local=square.is_local) for k in vector]
        found = self.add("norm", parts, local=square.is_local)
        self._lengths[found.node] = (Fraction(1), Fraction(0), vector)
        return found

    def _invert(self, found: int, node: int) -> None:
        """Remember what one over a length is, or over the larger of a length and a number."""
        if node in self._lengths:
            a, b, vector = self._lengths[node]
            self._limits[found] = Limit(1 / a, vector, b / a)
        if node in self._floors:
            least, other = self._floors[node]
            a, b, vector = self._lengths[other]
            self._limits[found] = Limit(1 / least, vector, b / a, least / a)

    def extreme(self, name: str, parts: Iterable[Scalar]) -> Scalar:
        """Return the largest or smallest of numbers."""
        pick = max if name == "maximum" else min
        numbers = [one.number for one in parts if one.number is not None]
        others = [one for one in dict.fromkeys(parts) if one.number is None]
        every = others + ([self.number(pick(numbers))] if numbers else [])
        if len(every) == 1:
            return every[0]
        found = self.add(name, sorted(every, key=lambda one: one.node))
        if len(others) == 1 and numbers and pick(numbers) > 0:
            self._bound(name, found.node, others[0].node, pick(numbers))
        return found

    def _bound(self, name: str, found: int, node: int, number: Fraction) -> None:
        """Remember ``max(number, length)``, and ``min(number, most / length)``."""
        if name == "maximum" and node in self._lengths:
            self._floors[found] = (number, node)
        limit = self._limits.get(node) if name == "minimum" else None
        if limit is not None and limit.most is None:
            self._limits[found] = replace(limit, scale=number, most=limit.scale / number)
        elif limit is not None and limit.most is not None:
            scale = min(number, limit.scale)
            most = limit.most * limit.scale / scale
            self._limits[found] = replace(limit, scale=scale, most=most)

    def total(self, one: Scalar) -> Scalar:
        """Return the sum of a number of each record, or of those in a sample."""
        part = replace(one, sample=None)
        found = self.add("total", [part], sample=one.sample, local=False)
        if one.node in self._squares and len(self._squares[one.node]) == 1 and one.sample is None:
            (self._sums_of_squares[found.node],) = self._squares[one.node]
        return found

    def within(self, one: Scalar, low: Any, high: Any, *, whole: bool) -> Scalar:
        """Return a number that lies between two, and is a whole one."""
        if one.number is not None:
            is_inside = low <= one.number <= high and (not whole or one.number.denominator == 1)
            return one if is_inside else self.add("broken", [one])
        found = self.add("within", [one], low=written(low), high=written(high), whole=whole)
        for known in (
            self._squares,
            self._sums_of_squares,
            self._lengths,
            self._floors,
            self._limits,
        ):
            if one.node in known:
                known[found.node] = known[one.node]  # type: ignore[assignment]
        return found


def written(value: Any) -> Any:
    """Return a number as JSON has it, exactly.

    Examples
    --------
    >>> written(Fraction(1, 3)), written(0.5), written(Fraction(2)), written(-float("inf"))
    ('1/3', 0.5, 2, '-Infinity')
    """
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    exact = Fraction(value)
    if exact.denominator == 1:
        return int(exact) if abs(exact) < 2**53 else str(exact)
    try:
        near = float(exact)
    except OverflowError:
        return str(exact)
    return near if near == exact else str(exact)
