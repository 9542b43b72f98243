"""Ranges: the largest and smallest value of a function of a few bounded numbers.

**Theorem.** Let f be a function on a box, and let every box of a finite set that covers it have an
upper end for f: by interval arithmetic, or by the mean value theorem, f(m) + slopes * (x - m).
Then f is at most the largest of the upper ends. Where all slopes of f in a variable have one sign
on a box, f is largest at one of the variable's ends, and the box may be replaced by that face.

*Proof.* Every point lies in some box, and f there is at most the upper end of that box. A function
that does not fall in a variable does not become smaller when the variable goes to its upper end.

The cover is made by halving boxes until none can hold a value above what some point is known to
have, but for 1e-12 of the range; a cover that does not get there in time gives a looser bound,
never a wrong one. To *check* a bound one needs no search for the best: halve until every box has
an upper end of at most the bound and a little.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpaudit.proving.distances.refinements.enclosures import (
    FUNCTIONS,
    Array,
    Enclosure,
    Ends,
    OutsideDomain,
    add_ends,
    multiply_ends,
    raise_to_power,
    widen_ends,
)
from dpaudit.proving.distances.refinements.polynomials import (
    AtomPolynomial,
    AtomTable,
    Monomial,
    Rational,
)

# Relative to the spread of the values: below that, outward rounding keeps boxes from getting
# closer.
TOLERANCE = 1e-12
# Limits of effort alone; where a search stops early, it returns the upper ends that it has.
MOST_BOXES = 500
MOST_LEVELS = 60
MOST_VARIABLES = 6
MOST_PARAMETERS = 8

Range = tuple[float, float]
EVERYWHERE: Range = (-math.inf, math.inf)


@dataclass(eq=False)
class Evaluation:
    """Values of polynomials on boxes of some leaves, and their slopes.

    Parameters
    ----------
    table
        What the atoms are.
    leaves
        The numbers of the atoms that vary, in the order of the rows of ``low`` and ``high``.
    low, high
        The boxes, shape ``(V, B)``.
    has_slopes
        Whether slopes are asked for.
    """

    table: AtomTable
    leaves: list[int]
    low: Array
    high: Array
    has_slopes: bool = True

    def __post_init__(self) -> None:
        self._values: dict[int, Enclosure] = {}
        self._flat = np.zeros(self.low.shape[1:])

    def enclose(self, polynomial: AtomPolynomial) -> Enclosure:
        """Return the enclosure of a polynomial on all boxes."""
        total: Enclosure | None = None
        for monomial, coefficient in polynomial.terms.items():
            term = self._multiply(monomial, coefficient)
            total = term if total is None else total + term
        found = total or self._constant(0.0, 0.0)
        # NaN may come of inf - inf; every comparison with it is false, so a box would be
        # dropped as if it held nothing.
        if any(np.isnan(one).any() for one in (*found.ends, *(found.slopes or ()))):
            raise OutsideDomain
        return found

    def _multiply(self, monomial: Monomial, coefficient: Rational) -> Enclosure:
        """Return the enclosure of one term."""
        self.table.effort.spend(4 + self.low.shape[1] // 50)
        value = float(coefficient)
        ends = (np.asarray(value), np.asarray(value))
        # Python compares a double with a Fraction exactly, so this tells whether the conversion
        # was rounded.
        if value != coefficient:
            ends = widen_ends(*ends)
        product: Enclosure | None = None
        # As a power, x * x is from 0 on; as a product of two intervals it would seem to fall
        # below 0.
        for atom, group in itertools.groupby(monomial):
            factor = raise_to_power(self._atom(atom), len(list(group)))
            product = factor if product is None else product * factor
        if product is None:
            return self._constant(float(ends[0]), float(ends[1]))
        return product if coefficient == 1 else product.scale(ends)

    def _constant(self, low: float, high: float) -> Enclosure:
        none = np.zeros_like(self.low)
        slopes = (none, none) if self.has_slopes else None
        return Enclosure(low + self._flat, high + self._flat, slopes)

    def _atom(self, number: int) -> Enclosure:
        if number not in self._values:
            self._values[number] = self._read(number)
        return self._values[number]

    def _read(self, number: int) -> Enclosure:
        if number in self.leaves:
            return self._leaf(self.leaves.index(number))
        atom = self.table.atoms[number]
        if atom.operation not in FUNCTIONS:
            raise OutsideDomain
        return FUNCTIONS[atom.operation](*(self.enclose(one) for one in atom.operands))

    def _leaf(self, place: int) -> Enclosure:
        slope = np.zeros_like(self.low)
        slope[place] = 1.0
        slopes = (slope, slope) if self.has_slopes else None
        return Enclosure(self.low[place], self.high[place], slopes)


def leaves_of(table: AtomTable, polynomial: AtomPolynomial) -> list[int]:
    """Return the numbers of the leaves on which a polynomial depends, in order."""
    found: set[int] = set()
    pending, seen = list(polynomial.atoms()), set(polynomial.atoms())
    while pending:
        number = pending.pop()
        operands = table.atoms[number].operands
        if not operands:
            found.add(number)
        new = {atom for one in operands for atom in one.atoms()} - seen
        seen |= new
        pending += new
    return sorted(found)


def stand_once(table: AtomTable, polynomial: AtomPolynomial) -> bool:
    """Return whether no leaf stands twice in a form: interval arithmetic is exact on it."""
    found: set[int] = set()
    pending = [atom for monomial in polynomial.terms for atom, _ in itertools.groupby(monomial)]
    while pending:
        number = pending.pop()
        operands = table.atoms[number].operands
        if not operands and number in found:
            return False
        found.add(number)
        pending += [a for p in operands for mono in p.terms for a, _ in itertools.groupby(mono)]
        if len(pending) > MOST_BOXES:
            return False
    return True


def _is_of_leaves(table: AtomTable, polynomial: AtomPolynomial) -> bool:
    """Return whether a polynomial has no functions in it."""
    return not any(table.atoms[one].operands for one in polynomial.atoms())


def make_canonical_form(table: AtomTable, polynomial: AtomPolynomial, leaves: list[int]) -> Any:
    """Return the common form of polynomials with one range: the form, and the ends of leaves.

    Atoms are numbered as they are met, and each is written down once: a form in which they are
    nested in one another many times has a key as long as there are atoms.
    """
    places = {number: place for place, number in enumerate(leaves)}
    entries: list[Any] = [(table.atoms[one].low, table.atoms[one].high) for one in leaves]

    def place_atom(number: int) -> int:
        if number not in places:
            atom = table.atoms[number]
            entry = (atom.operation, *(name(one) for one in atom.operands))
            places[number] = len(entries)
            entries.append(entry)
        return places[number]

    def name(one: AtomPolynomial) -> Any:
        return tuple((tuple(map(place_atom, mono)), value) for mono, value in one.key)

    return name(polynomial), tuple(entries)


@dataclass(eq=False)
class Ranges:
    """The ranges of a table's polynomials, each form found once.

    Parameters
    ----------
    table
        What the atoms are.
    known
        Upper ends that were found before, of tables of the same program or any other.
    """

    table: AtomTable
    known: dict[Any, float]

    def find(self, polynomial: AtomPolynomial) -> Range:
        """Return ends of a polynomial whose leaves are anywhere between their ends.

        Infinite ends where it may not be defined.
        """
        linear = self._find_linear(polynomial)
        return linear or (-self._find_most(-polynomial), self._find_most(polynomial))

    def find_most(self, polynomial: AtomPolynomial) -> float:
        """Return the upper end of a polynomial alone."""
        linear = self._find_linear(polynomial)
        return linear[1] if linear else self._find_most(polynomial)

    def _find_most(self, polynomial: AtomPolynomial) -> float:
        self.table.effort.spend(1 + len(polynomial.terms) // 2)
        leaves = leaves_of(self.table, polynomial)
        # Functions of many numbers take long to enclose and come out loose.
        if len(leaves) > MOST_PARAMETERS and not _is_of_leaves(self.table, polynomial):
            return math.inf
        key = make_canonical_form(self.table, polynomial, leaves)
        # Upper ends depend on the form and on the ends of its leaves alone, both of which the
        # key holds, so they may be used again in other programs.
        if key not in self.known:
            with np.errstate(all="ignore"):
                self.known[key] = self._maximize(polynomial, leaves)
        return self.known[key]

    def _maximize(self, polynomial: AtomPolynomial, leaves: list[int]) -> float:
        """Return an upper bound on the box of the leaves, infinite if undefined."""
        try:
            return self._search(polynomial, leaves)
        except OutsideDomain:
            return math.inf

    def _search(self, polynomial: AtomPolynomial, leaves: list[int]) -> float:
        table = self.table
        low = np.array([[table.atoms[one].low] for one in leaves]).reshape(len(leaves), 1)
        high = np.array([[table.atoms[one].high] for one in leaves]).reshape(len(leaves), 1)
        # Raises where the polynomial may be undefined somewhere in the box, before any time
        # goes into a search.
        whole = Evaluation(table, leaves, low, high, has_slopes=False).enclose(polynomial)
        is_large = len(leaves) > MOST_VARIABLES or not np.isfinite(high - low).all()
        if is_large or not leaves or stand_once(table, polynomial):
            return float(whole.high.max())
        return _Cover(table, polynomial, leaves, low, high).bound()

    def width(self, polynomial: AtomPolynomial) -> float:
        """Return how far two values of a polynomial can be apart, rounded up."""
        low, high = self.find(polynomial)
        return math.nextafter(high - low, math.inf) if high > low else 0.0

    def _find_linear(self, polynomial: AtomPolynomial) -> Range | None:
        """Return ends of a polynomial of degree 1 in leaves: every leaf at one of its own."""
        low = high = 0.0
        for monomial, coefficient in polynomial.terms.items():
            ends = (1.0, 1.0)
            if len(monomial) > 1 or (monomial and self.table.atoms[monomial[0]].operands):
                return None
            if monomial:
                ends = self.table.atoms[monomial[0]].low, self.table.atoms[monomial[0]].high
            one, other = sorted(_multiply_end(coefficient, end) for end in ends)
            # Two roundings, of the product and of the sum: one step outwards for each.
            low = math.nextafter(low + math.nextafter(one, -math.inf), -math.inf)
            high = math.nextafter(high + math.nextafter(other, math.inf), math.inf)
        # Opposite infinite ends of two leaves add up to NaN.
        return EVERYWHERE if math.isnan(low + high) else (low, high)


def _multiply_end(coefficient: Any, end: float) -> float:
    """Return a product within two roundings; infinite ends stay so."""
    if math.isfinite(end):
        return float(coefficient) * end
    return end if coefficient > 0 else -end


@dataclass(eq=False)
class _Cover:
    """Boxes that hold every point at which a polynomial may still be largest."""

    table: AtomTable
    polynomial: AtomPolynomial
    leaves: list[int]
    low: Array
    high: Array

    def bound(self) -> float:
        """Return an upper bound, by halving boxes until it is close."""
        best, spread = self._sample()
        # A constant function has no spread, and with a tolerance of 0 its boxes would be halved
        # until the limit.
        tolerance = TOLERANCE * max(spread, 1e-300)
        found = -math.inf
        for _ in range(MOST_LEVELS):
            value = self._enclose()
            middle = self._middle()
            points = self._evaluate(middle)
            best = max(best, float(points.low.max()))
            # Both are upper bounds: interval arithmetic is better on wide boxes, the mean value
            # form on narrow ones, where its excess shrinks with the square of the width.
            upper = np.minimum(value.high, self._mean_value(value, points, middle))
            is_point = (self.low == self.high).all(axis=0)
            # A box that is dropped leaves its upper end in the result: the bound is over the
            # whole cover, not only over the boxes that are still alive.
            found = max([found, *upper[is_point | (upper <= best + tolerance)].tolist()])
            alive = ~is_point & (upper > best + tolerance)
            if not alive.any() or alive.sum() > MOST_BOXES:
                return float(max([found, *upper[alive].tolist()]))
            self._divide(value, alive)
        return float(max(found, self._enclose().high.max()))

    def _enclose(self) -> Enclosure:
        return Evaluation(self.table, self.leaves, self.low, self.high).enclose(self.polynomial)

    def _evaluate(self, points: Array) -> Enclosure:
        values = Evaluation(self.table, self.leaves, points, points, has_slopes=False)
        return values.enclose(self.polynomial)

    def _sample(self) -> tuple[float, float]:
        """Return the largest value of some points, and how far their values spread."""
        shares = np.array(list(itertools.product((0.0, 0.5, 1.0, 0.25), repeat=len(self.leaves))))
        points = np.clip(self.low + shares.T * (self.high - self.low), self.low, self.high)
        value = self._evaluate(points)
        return float(value.low.max()), float(value.low.max() - value.high.min())

    def _middle(self) -> Array:
        # Halved before they are added, so that large ends do not overflow.
        return np.clip(0.5 * self.low + 0.5 * self.high, self.low, self.high)

    def _mean_value(self, value: Enclosure, points: Enclosure, middle: Array) -> Array:
        """Return upper ends by the mean value theorem."""
        total = points.ends
        least, most = _slopes_of(value)
        for row in range(len(self.leaves)):
            steps = add_ends((self.low[row], self.high[row]), (-middle[row], -middle[row]))
            total = add_ends(total, multiply_ends((least[row], most[row]), steps))
        return total[1]

    def _divide(self, value: Enclosure, alive: Any) -> None:
        """Go on with the faces of boxes where slopes have one sign, and with halves of others."""
        low, high = self.low[:, alive], self.high[:, alive]
        least, most = _slopes_of(value)
        rises, falls = least[:, alive] >= 0, most[:, alive] <= 0
        low, high = np.where(rises, high, low), np.where(falls & ~rises, low, high)
        weight = np.maximum(np.abs(least), np.abs(most))[:, alive]
        # Cut where the value varies most. The cap keeps 0 * inf out of it; -1 keeps variables
        # without a width from being cut at all.
        sizes = np.where(high > low, (high - low) * np.minimum(weight, 1e300), -1.0)
        row, column = sizes.argmax(axis=0), np.arange(low.shape[1])
        # numpy evaluates hundreds of boxes as fast as one; in one dimension eight pieces fill
        # the array three times sooner.
        pieces = 8 if len(self.leaves) == 1 else 2
        cuts = [self._cut(low, high, row, column, k / pieces) for k in range(pieces + 1)]
        lows, highs = [], []
        for start, end in itertools.pairwise(cuts):
            lows.append(low.copy())
            highs.append(high.copy())
            lows[-1][row, column], highs[-1][row, column] = start, end
        self.low, self.high = np.hstack(lows), np.hstack(highs)

    def _cut(self, low: Array, high: Array, row: Any, column: Any, share: float) -> Array:
        start, end = low[row, column], high[row, column]
        # The outer cuts have to be the ends themselves: start + (end - start) may be rounded to
        # less than the end, and the cover would have a gap.
        if share in (0.0, 1.0):
            start = end if share else start
        cut: Array = np.clip(start + share * (end - start), start, end)
        return cut


def _slopes_of(value: Enclosure) -> Ends:
    assert value.slopes is not None
    return value.slopes
