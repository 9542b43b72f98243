"""Numbers of the program that the checker reads, written one node after the other.

A `Scalar` is a number of that program, or one of each record. Noise that nobody has looked at yet
goes with the number it is added to, and a secret coin of a Poisson sample with what it multiplies.
Where numbers of records meet sums over all, products are multiplied out, and sums over records of
polynomials are written as polynomials of sums, so that what is alike on both sides of neighbours
cancels; the checker does nothing of the kind. Lengths
of vectors, and factors that limit these, are remembered by what they are made of, so that vectors
which are shortened to a length are written as such.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import product
from typing import Any

Noise = tuple[tuple[int, Fraction], ...]
Polynomial = Mapping[tuple[int, ...], Fraction]  # by the nodes that are multiplied, in order
FUNCTIONS = frozenset("inverse sqrt exp log sin cos arctan floor rint".split())
_PUBLIC = frozenset("release respond choose".split())
# Terms of a polynomial that is multiplied out: enough for variances of tables of some columns.
_TERMS = 120
_POWER = 16


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
class ClipFactor:
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
    records
        How many there are; None where that is not public.
    """

    nodes: list[dict[str, Any]] = field(default_factory=list)
    place: str = "?"
    most: int = 200_000
    truths: set[int] = field(default_factory=set)
    records: int | None = None
    _known: dict[Any, Scalar] = field(default_factory=dict)
    _squares: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _scalars: list[Scalar] = field(default_factory=list)
    _private: set[int] = field(default_factory=set)
    _positive: set[int] = field(default_factory=set)
    _polynomials: dict[int, Polynomial] = field(default_factory=dict)
    _lengths: dict[int, tuple[Fraction, Fraction, tuple[int, ...]]] = field(default_factory=dict)
    _floors: dict[int, tuple[Fraction, int]] = field(default_factory=dict)
    _limits: dict[int, ClipFactor] = field(default_factory=dict)

    def add(self, operation: str, operands: Sequence[Scalar] = (), **parameters: Any) -> Scalar:
        """Return a node, which is written where there is none like it."""
        local = parameters.pop("local", any(one.is_local for one in operands))
        # Equal operations on equal numbers are one node, so the checker sees that they cancel.
        key = (operation, tuple(one.node for one in operands), repr(sorted(parameters.items())))
        if key not in self._known:
            if len(self.nodes) >= self.most:
                raise NotLowered("it is too large to be checked")
            self._known[key] = Scalar(len(self.nodes), is_local=local)
            self._scalars.append(self._known[key])
            # From a release on, numbers are public, whatever they were made of.
            private = operation not in _PUBLIC and self._private.intersection(key[1])
            if private or operation == "data":
                self._private.add(len(self.nodes))
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
        found = replace(self.add("number", value=to_json_number(exact)), number=exact)
        self._polynomials[found.node] = {(): exact}
        return found

    def inside(
        self, one: Scalar, low: Any, high: Any, *, closed: bool = False, family: Any = None
    ) -> Scalar:
        """Return 1 where a number is in an interval with its lower end, and 0 elsewhere.

        Intervals of a family are disjoint.
        """
        ends = [to_json_number(low), to_json_number(high)]
        given = {"low": ends[0], "high": ends[1], "closed": closed}
        found = self.add("inside", [one], **given, family=family or [*ends, closed])
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
        polynomial = defaultdict[tuple[int, ...], Fraction](Fraction, {(): constant})
        for one, factor in factors.items():
            for nodes, own in self._polynomial(one).items():
                polynomial[nodes] += factor * own
        if len(polynomial) <= _TERMS:
            found = self._multiply_out(polynomial)
        else:
            terms: list[Any] = [
                [to_json_number(f), [[k, 1]]] for k, f in enumerate(factors.values())
            ]
            terms += [[to_json_number(constant), []]] if constant else []
            found = self.add("poly", list(factors), terms=terms)
        if min(constant, *factors.values()) >= 0 and self._positive.issuperset(
            one.node for one in factors
        ):
            self._positive.add(found.node)
        if not constant and {*factors.values()} == {1}:
            parts = [self._squares.get(one.node) for one in factors]
            if None not in parts:
                self._squares[found.node] = tuple(k for part in parts if part for k in part)
        if len(factors) == 1:
            ((one, factor),) = factors.items()
            self._scale(found.node, one.node, factor, constant)
        return found

    def _scale(self, found: int, node: int, factor: Fraction, constant: Fraction) -> None:
        """Remember the multiple of a length or limit, plus a constant."""
        if node in self._lengths and factor > 0 <= constant:
            a, b, vector = self._lengths[node]
            self._lengths[found] = (a * factor, b * factor + constant, vector)
        if node in self._limits and factor > 0 and not constant:
            limit = self._limits[node]
            self._limits[found] = replace(limit, scale=limit.scale * factor)

    def multiply(self, one: Scalar, other: Scalar) -> Scalar:
        """Return a product; a vector times a limit of its length is written as a clip."""
        for a, b in ((one, other), (other, one)):
            if a.number is not None:
                return self.sum([(a.number, b)])
            limit = self._limits.get(b.node)
            if limit is not None and limit.most is not None and a.node in limit.vector:
                return self._add_clip_node(a, limit)
        polynomials = self._polynomial(one), self._polynomial(other)
        is_out = _is_short(*polynomials) and self._is_mixed(*polynomials)
        found = self._multiply_out(_times(*polynomials)) if is_out else None
        if found is None and one.node == other.node:
            found = self.add("poly", [one], terms=[[1, [[0, 2]]]])
        elif found is None:
            # In one order, so that a b and b a are one node.
            pair = sorted((one, other), key=lambda each: each.node)
            found = self.add("poly", pair, terms=[[1, [[0, 1], [1, 1]]]])
        if one.node == other.node:
            self._squares[found.node] = (one.node,)
            self._positive.add(found.node)
        return found

    def _is_mixed(self, *polynomials: Polynomial) -> bool:
        """Return whether numbers of records meet sums over them, or nothing but products meets."""
        scalars = [self._scalars[k] for one in polynomials for nodes in one for k in nodes]
        kinds = {one.is_local for one in scalars if one.node in self._private}
        return len(kinds) > 1 or all(len(one) == 1 for one in polynomials)

    def _polynomial(self, one: Scalar) -> Polynomial:
        """Return a number as a polynomial of nodes that are none."""
        return self._polynomials.get(one.node, {(one.node,): Fraction(1)})

    def _multiply_out(self, polynomial: Polynomial) -> Scalar:
        """Return the node of a polynomial: the same for the same."""
        kept = {nodes: factor for nodes, factor in sorted(polynomial.items()) if factor}
        if not {*kept} - {()}:
            return self.number(kept.get((), 0))
        if list(kept.values()) == [1] and len(next(iter(kept))) == 1:
            return self._scalars[next(iter(kept))[0]]
        operands = sorted({node for nodes in kept for node in nodes})
        terms = [
            [to_json_number(f), [[operands.index(k), nodes.count(k)] for k in dict.fromkeys(nodes)]]
            for nodes, f in kept.items()
        ]
        found = self.add("poly", [self._scalars[k] for k in operands], terms=terms)
        self._polynomials[found.node] = kept
        return found

    def _add_clip_node(self, one: Scalar, limit: ClipFactor) -> Scalar:
        assert limit.most is not None
        rest = [Scalar(k, is_local=one.is_local) for k in limit.vector if k != one.node]
        by, margin = to_json_number(limit.most), to_json_number(limit.margin)
        found = self.add("clip", [one, *rest], by=by, margin=margin)
        return self.sum([(limit.scale, found)])

    # functions

    def function(self, name: str, one: Scalar) -> Scalar:
        """Return a function of one number."""
        if name == "inverse" and one.number:
            return self.number(1 / one.number)
        if name == "sqrt" and one.node in self._squares:
            return self._length(self._squares[one.node])
        # Multiplied out, a sum of squares no longer looks as if it were never negative.
        if name == "sqrt" and one.node in self._positive:
            one = self.extreme("maximum", [one, self.number(0)])
        found = self.add(name, [one])
        if name == "inverse":
            self._invert(found.node, one.node)
        return found

    def _length(self, vector: tuple[int, ...]) -> Scalar:
        """Return a length, by a sum of squares that is not multiplied out: it is no less than 0."""
        parts = [self._scalars[k] for k in vector]
        square = self.add("poly", parts, terms=[[1, [[k, 2]]] for k in range(len(parts))])
        found = self.add("sqrt", [square])
        self._lengths[found.node] = (Fraction(1), Fraction(0), vector)
        return found

    def _invert(self, found: int, node: int) -> None:
        """Remember the inverse of a length, or of the larger of a length and a number."""
        if node in self._lengths:
            a, b, vector = self._lengths[node]
            self._limits[found] = ClipFactor(1 / a, vector, b / a)
        if node in self._floors:
            least, other = self._floors[node]
            a, b, vector = self._lengths[other]
            self._limits[found] = ClipFactor(1 / least, vector, b / a, least / a)

    def extreme(self, name: str, parts: Iterable[Scalar]) -> Scalar:
        """Return the largest or smallest of numbers."""
        pick = max if name == "maximum" else min
        numbers = [one.number for one in parts if one.number is not None]
        others = [one for one in dict.fromkeys(parts) if one.number is None]
        every = others + ([self.number(pick(numbers))] if numbers else [])
        if len(every) == 1:
            return every[0]
        every.sort(key=lambda one: one.node)
        found = self.add("order", every, by=int(name == "maximum"))
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
        """Return the sum of a number of each record, or of those in a sample.

        Of a product, what is of no record comes before the sum.
        """
        found = defaultdict[tuple[int, ...], Fraction](Fraction)
        for nodes, factor in self._polynomial(replace(one, sample=None)).items():
            near = [self._scalars[k] for k in nodes if self._scalars[k].is_local]
            rest = tuple(k for k in nodes if not self._scalars[k].is_local)
            part = self._total_of_product([k.node for k in near], one.sample)
            for more, own in self._polynomial(part).items():
                found[tuple(sorted(rest + more))] += factor * own
        summed = self._multiply_out(found)
        if one.node in self._positive:
            self._positive.add(summed.node)
        return summed

    def _total_of_product(self, nodes: Sequence[int], sample: int | None) -> Scalar:
        # A sum of ones over a public number of records is that number.
        if not nodes and sample is None and self.records is not None:
            return self.number(self.records)
        part = self._multiply_out({tuple(nodes): Fraction(1)})
        return self.add("total", [part], sample=sample, local=False)

    def within(self, one: Scalar, low: Any, high: Any, *, whole: bool) -> Scalar:
        """Return a number that lies between two, and is a whole one."""
        if one.number is not None:
            is_inside = low <= one.number <= high and (not whole or one.number.denominator == 1)
            return one if is_inside else self.add("broken", [one])
        found = self.add(
            "within", [one], low=to_json_number(low), high=to_json_number(high), whole=whole
        )
        for known in (
            self._squares,
            self._lengths,
            self._floors,
            self._limits,
        ):
            if one.node in known:
                known[found.node] = known[one.node]  # type: ignore[assignment]
        return found


def _is_short(one: Polynomial, other: Polynomial) -> bool:
    """Return whether a product of polynomials has few terms, of small powers."""
    powers = [max(map(len, each), default=0) for each in (one, other)]
    return len(one) * len(other) <= _TERMS and sum(powers) <= _POWER


def _times(one: Polynomial, other: Polynomial) -> Polynomial:
    found = defaultdict[tuple[int, ...], Fraction](Fraction)
    for (left, p), (right, q) in product(one.items(), other.items()):
        found[tuple(sorted(left + right))] += p * q
    return found


def to_json_number(value: Any) -> Any:
    """Return a number as JSON has it, exactly.

    Examples
    --------
    >>> (
    ...     to_json_number(Fraction(1, 3)),
    ...     to_json_number(0.5),
    ...     to_json_number(Fraction(2)),
    ...     to_json_number(-float("inf")),
    ... )
    ('1/3', 0.5, 2, '-Infinity')
    """
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    exact = Fraction(value)
    if exact.denominator == 1:
        # Readers of JSON may take numbers for doubles, which hold no larger whole numbers
        # exactly.
        return int(exact) if abs(exact) < 2**53 else str(exact)
    try:
        near = float(exact)
    except OverflowError:
        return str(exact)
    return near if near == exact else str(exact)
