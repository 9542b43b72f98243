"""One record's view: a polynomial of one record whose coefficients are formed of the others.

**Theorem.** Let v be an array of which every entry e is, for a record with cells t and for all
others o, v_e = a_e(o) + sum of C_k(o) m_k(t) + sum of c_j r_j(t, o), where m_k and r_j are
functions, c_j numbers, and C_k(o) lies between public ends. If the record is replaced, v_e moves
by at most

    b_e = max over the corners C of the ends of width(sum of C_k m_k) + sum of |c_j| width(r_j),

where the width of a function is its largest less its smallest value over the domain. So v moves by
at most the norm of b, for the record for which that is largest; and by ``count`` times as much if
``count`` records are replaced.

*Proof.* a_e and each C_k are the same on both sides. The difference of the middle sum is affine
in each C_k, hence largest at a corner, where it is the difference of two values of one function
of t. Each r_j moves by its width at most. Of several records, replace one after the other: all
datasets in between are in the domain, and norms obey the triangle inequality.

If a record is *added*, sums over all records gain its terms: v_e moves by the sum of C_k(o) m_k(t)
itself, with what it gains where nothing of t is left (sums of ones), and the width becomes the
largest absolute value. Functions of sums that are no polynomials are not bounded so.

**Sums.** Where all records are treated alike, an entry is a polynomial of sums P_m over all
records of monomials m of one row: P_m = R_m + m(t), and R_m, a sum over n - 1 records, lies
between n - 1 times the ends of m (between the smallest and the largest of 0 and infinitely often,
where n is not public). So ((sum x)^2 - sum x^2) / 2 is C t and a term without t, with C = R_x
between the ends of n - 1 records; and sum (x - m)^2 = P_xx - P_x^2 / n is (1 - 1/n) t^2 - 2/n R_x
t: no size of n matters.

**Order.** Let x_(1) <= ... <= x_(n) be sorted values g(x_i) of records, of which every one has
the width R. If a record is replaced, either all x_(k) rise or stay, or all fall or stay, and the
rises sum to at most R. So v = W (x_(1), ..., x_(n)) moves, in any norm, by at most R times the
largest norm of a column of W. *Proof.* Say g(x_i) rises from a to b <= a + R. Those between a and
b move down one place each: the rises are the gaps between a, those in between, and b, each at its
own place; their sum is b - a. The image of the simplex {d >= 0, sum d <= R} under W has the
corners 0 and R W_k.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from dpaudit.proving.distances.refinements.contract import RefinementKnowledge
from dpaudit.proving.distances.refinements.polynomials import (
    ZERO,
    AtomPolynomial,
    Monomial,
    Rational,
    TooLarge,
)
from dpaudit.proving.distances.refinements.ranges import Range, Ranges
from dpaudit.proving.distances.refinements.reading import SymbolReading
from dpaudit.proving.distances.refinements.symbols import Entries, Unread
from dpaudit.proving.universe import UNBOUNDED, Distance

# The number of corners doubles with every coefficient: 16 widths are to be searched at most.
MOST_CORNERS = 4
MOST_WORK = 20_000
Size = Callable[[AtomPolynomial], float]
# fsum and hypot err by a unit in the last place each; 1e-14 is 45 of them.
ROUNDING = 1 + 1e-14


def bound_uniform(
    analysis: RefinementKnowledge, reading: SymbolReading, entries: Entries
) -> Distance:
    """Return how far entries move that were read uniformly."""
    view = RecordView(
        reading,
        Ranges(reading.table, reading.upper_ends),
        is_added=analysis.universe.change == "add-remove",
    )
    return view.bound(entries)


def bound_by_record(reading: SymbolReading, entries: Entries) -> Distance:
    """Return how far entries move that were read record by record: for the worst of the records."""
    ranges = Ranges(reading.table, reading.upper_ends)
    distance = Distance(0.0, 0.0, 0.0)
    for record, moving in _part_by_record(reading, entries).items():
        changed = frozenset(reading.cells[record])
        moves = [
            _bound_polynomial_move(reading, ranges, AtomPolynomial(p), changed)
            for p in moving.values()
        ]
        distance = _merge_larger_distance(distance, compute_move_norms(moves))
    return distance


def _part_by_record(
    reading: SymbolReading, entries: Entries
) -> dict[int, dict[int, dict[Monomial, Rational]]]:
    """Return of each record, and each entry that it moves, the terms that stem from it."""
    parts: dict[int, dict[int, dict[Monomial, Rational]]] = defaultdict(lambda: defaultdict(dict))
    owner = {cell: record for record, cells in reading.cells.items() for cell in cells}
    work = 0
    for entry, polynomial in enumerate(entries.flat):
        for monomial, coefficient in polynomial.terms.items():
            cells = {c for atom in monomial for c in reading.table.atoms[atom].cells}
            work += len(cells) ** 2
            if work > MOST_WORK:
                raise TooLarge
            for record in {owner[one] for one in cells}:
                parts[record][entry][monomial] = coefficient
    return parts


def _merge_larger_distance(one: Distance, other: Distance) -> Distance:
    return Distance(max(one.l1, other.l1), max(one.l2, other.l2), max(one.linf, other.linf))


def compute_move_norms(moves: list[float]) -> Distance:
    """Return the norms of how far entries move at most, rounded up."""
    # max() would keep or drop a NaN according to its place among the others.
    if any(math.isnan(one) for one in moves):
        return UNBOUNDED
    if len(moves) == 1:
        return Distance(moves[0], moves[0], moves[0])
    total = math.fsum(moves) * ROUNDING
    length = math.hypot(*moves) * ROUNDING
    return Distance(total, length, max(moves, default=0.0))


@dataclass(eq=False)
class RecordView:
    """The influence of one record on entries that treat all records alike.

    Parameters
    ----------
    reading
        A uniform one.
    ranges
        Of its table.
    is_added
        Whether the record is added, and not replaced.
    """

    reading: SymbolReading
    ranges: Ranges
    is_added: bool

    def bound(self, entries: Entries) -> Distance:
        """Return how far an array moves."""
        flat = list(entries.flat)
        pieces = [self._split_order(one) for one in flat]
        moves = [self.move(rest) for rest, _ in pieces]
        order = self._bound_order([weights for _, weights in pieces])
        plain = compute_move_norms(moves)
        total = [move + step for move, step in zip(moves, order[1], strict=True)]
        # Lengths may be added by entry or as wholes, by the triangle inequality; neither is
        # always the smaller.
        jointly = Distance(plain.l1 + order[0].l1, plain.l2 + order[0].l2, math.inf)
        return compute_move_norms(total).tighten(jointly)

    def move(self, polynomial: AtomPolynomial) -> float:
        """Return how far a polynomial of sums moves."""
        table = self.reading.table
        # An added record moves even a sum of ones, which no cell enters; a replaced one does
        # not.
        if not any(table.atoms[one].cells for one in polynomial.atoms()) and not self.is_added:
            return 0.0
        seen = RecordSubstitution(self).apply(polynomial)
        cells = frozenset().union(*self.reading.cells.values())
        changed = frozenset(one for one in cells if table.atoms[one].cells)
        if not self.is_added:
            return _bound_polynomial_move(self.reading, self.ranges, seen, frozenset(changed))
        gain = seen - RecordSubstitution(self, is_present=False).apply(polynomial)
        return _bound_record_gain(self.reading, self.ranges, gain, cells)

    def _split_order(
        self, polynomial: AtomPolynomial
    ) -> tuple[AtomPolynomial, dict[tuple[AtomPolynomial, int], Rational]]:
        """Part a polynomial into order statistics, with their weights, and the remainder."""
        rest, weights = {}, {}
        for monomial, coefficient in polynomial.terms.items():
            atom = self.reading.table.atoms[monomial[0]] if len(monomial) == 1 else None
            if atom is not None and atom.operation == "order":
                weights[atom.operands[0], atom.parameters] = coefficient
            else:
                rest[monomial] = coefficient
        return AtomPolynomial(rest), weights

    def _bound_order(
        self, weights: list[dict[tuple[AtomPolynomial, int], Rational]]
    ) -> tuple[Distance, list[float]]:
        """Return how far combinations of order statistics move together, and each by itself."""
        columns: dict[tuple[AtomPolynomial, int], list[float]] = defaultdict(list)
        each = [0.0] * len(weights)
        largest: dict[AtomPolynomial, Distance] = {}
        for entry, known in enumerate(weights):
            own: dict[AtomPolynomial, float] = {}
            for (inner, place), weight in known.items():
                step = abs(float(weight)) * self._width(inner) * ROUNDING
                columns[inner, place].append(step)
                own[inner] = max(own.get(inner, 0.0), step)
            each[entry] = math.fsum(own.values()) * ROUNDING
        for (inner, _), steps in columns.items():
            norms = compute_move_norms(steps)
            largest[inner] = _merge_larger_distance(largest.get(inner, norms), norms)
        l1 = math.fsum(one.l1 for one in largest.values()) * ROUNDING
        l2 = math.fsum(one.l2 for one in largest.values()) * ROUNDING
        return Distance(l1, l2, max(each, default=0.0)), each

    def _width(self, inner: AtomPolynomial) -> float:
        # An added record makes the sorted column longer: every place above it shifts, by gaps
        # that no width bounds.
        return math.inf if self.is_added else self.ranges.width(inner)

    def others(self, inner: AtomPolynomial) -> Range:
        """Return ends of a sum over all records but one."""
        low, high = self.ranges.find(inner)
        count = self.reading.count
        if count is None:
            # Of any number of records a sum is 0 (of none) or grows without end in the
            # directions in which one term can go.
            return (0.0 if low >= 0 else -math.inf), (0.0 if high <= 0 else math.inf)
        # Separately, because 0 times an infinite end is NaN.
        times = count - 1
        if times == 0:
            return 0.0, 0.0
        return math.nextafter(low * times, -math.inf), math.nextafter(high * times, math.inf)


@dataclass(eq=False)
class RecordSubstitution:
    """Every sum over all records becomes one over the others and the record's own term.

    Parameters
    ----------
    view
        The record's.
    is_present
        Whether the record is there at all.
    """

    view: RecordView
    is_present: bool = True

    def apply(self, polynomial: AtomPolynomial) -> AtomPolynomial:
        """Return a polynomial after the substitution."""
        return self.view.reading.table.rewrite(polynomial, self._replace)

    def _replace(self, number: int) -> AtomPolynomial | None:
        table = self.view.reading.table
        atom = table.atoms[number]
        # Within a function, an order statistic of all records cannot be split into the record's
        # own part and a part of the others.
        if atom.operation == "order":
            raise Unread
        if atom.operation != "sum":
            return None
        inner = atom.operands[0]
        rest = table.enter("others", parameters=inner, ends=self.view.others(inner))
        return rest + inner if self.is_present else rest


def _split_by_record(
    reading: SymbolReading, polynomial: AtomPolynomial, changed: frozenset[int]
) -> tuple[dict[Monomial, AtomPolynomial], dict[frozenset[int], AtomPolynomial]]:
    """Part a polynomial into powers of one record with their coefficients, and mixed terms."""
    table = reading.table
    pure: dict[Monomial, AtomPolynomial] = {}
    mixed: dict[frozenset[int], AtomPolynomial] = {}
    for monomial, coefficient in polynomial.terms.items():
        own = tuple(one for one in monomial if table.atoms[one].cells & changed)
        rest = tuple(one for one in monomial if not table.atoms[one].cells & changed)
        if all(_is_of(reading, one, changed) for one in own):
            pure[own] = pure.get(own, ZERO) + AtomPolynomial({rest: coefficient})
        else:
            cells = table.cells_of(AtomPolynomial({monomial: 1}))
            mixed[cells] = mixed.get(cells, ZERO) + AtomPolynomial({monomial: coefficient})
    return pure, mixed


def _is_of(reading: SymbolReading, atom: int, changed: frozenset[int]) -> bool:
    """Return whether an atom is a function of the changed cells, and of nothing else."""
    known = reading.table.atoms[atom]
    if not known.operands:
        return atom in changed
    return all(
        _is_of(reading, one, changed) for operand in known.operands for one in operand.atoms()
    )


def _bound_polynomial_move(
    reading: SymbolReading, ranges: Ranges, polynomial: AtomPolynomial, changed: frozenset[int]
) -> float:
    """Return how far a polynomial moves when one record changes."""
    pure, mixed = _split_by_record(reading, polynomial, changed)
    # The term without the record is the same on both sides, so it adds nothing to a width.
    pure.pop((), None)
    total = math.fsum(ranges.width(one) for one in mixed.values())
    for group in _split_by_cells(reading, pure):
        total += _at_corners(ranges, group, ranges.width)
    return math.nextafter(total * ROUNDING, math.inf) if total else 0.0


def _bound_record_gain(
    reading: SymbolReading, ranges: Ranges, gain: AtomPolynomial, changed: frozenset[int]
) -> float:
    """Return a bound on the size of the terms that a record adds."""
    pure, mixed = _split_by_record(reading, gain, changed)

    def size(polynomial: AtomPolynomial) -> float:
        return max(abs(end) for end in ranges.find(polynomial))

    total = math.fsum(size(one) for one in mixed.values()) + _at_corners(ranges, pure, size)
    return math.nextafter(total * ROUNDING, math.inf)


def _split_by_cells(
    reading: SymbolReading, pure: dict[Monomial, AtomPolynomial]
) -> list[dict[Monomial, AtomPolynomial]]:
    """Part powers by the cells on which they depend: of numbers that vary by themselves."""
    groups: list[tuple[frozenset[int], dict[Monomial, AtomPolynomial]]] = []
    for monomial, coefficient in pure.items():
        cells = reading.table.cells_of(AtomPolynomial({monomial: 1}))
        joined = {monomial: coefficient}
        apart = []
        for others, group in groups:
            if others & cells:
                cells |= others
                joined |= group
            else:
                apart.append((others, group))
        groups = [*apart, (cells, joined)]
    return [group for _, group in groups]


def _at_corners(ranges: Ranges, pure: dict[Monomial, AtomPolynomial], size: Size) -> float:
    """Return the largest size of the sum of powers over all corners of their coefficients."""
    fixed: dict[Monomial, Rational] = {}
    loose: list[tuple[Monomial, tuple[Fraction, Fraction]]] = []
    for monomial, coefficient in pure.items():
        number = coefficient.constant
        if number is not None:
            fixed[monomial] = number
            continue
        low, high = ranges.find(coefficient)
        if not (math.isfinite(low) and math.isfinite(high)):
            return math.inf
        loose.append((monomial, (Fraction(low), Fraction(high))))
    # The triangle inequality instead of corners: each coefficient at its largest absolute
    # value, which is looser but never too small.
    if len(loose) > MOST_CORNERS:
        each = [
            float(max(abs(one) for one in ends)) * size(AtomPolynomial({monomial: 1}))
            for monomial, ends in loose
        ]
        return size(AtomPolynomial(fixed)) + math.fsum(each) * ROUNDING
    found = 0.0
    for corner in itertools.product(*(ends for _, ends in loose)):
        terms: dict[Monomial, Rational] = {
            m: c for (m, _), c in zip(loose, corner, strict=True) if c
        }
        found = max(found, size(AtomPolynomial(fixed | terms)))
    return found


def bound_one_record(analysis: RefinementKnowledge, index: int) -> Distance:
    """Return how far a value moves, by the theorem of this module."""
    universe = analysis.universe
    for is_uniform in (True, False):
        if not is_uniform and universe.change != "replace":
            return UNBOUNDED
        try:
            reading = SymbolReading(analysis, is_uniform=is_uniform)
            symbols = reading.read(index)
            # A value that has a row for each record is no polynomial of one record; the other
            # reading may still write it out.
            if symbols.axis is not None:
                continue
            found = (
                bound_uniform(analysis, reading, symbols.entries)
                if is_uniform
                else bound_by_record(reading, symbols.entries)
            )
        # OverflowError is what Python raises where a rational is too large for a double.
        except (Unread, TooLarge, OverflowError):
            continue
        if math.isfinite(found.linf):
            # One record is replaced after the other, so each replacement moves the value by at
            # most the bound.
            times = float(universe.count)
            return Distance(found.l1 * times, found.l2 * times, found.linf * times)
    return UNBOUNDED
