"""Quotients of sums, and whatever else is a function of a few sums: both sides at once.

**Theorem.** Let a number be f(R + m(t)) for a record t, with R_1, R_2, ... sums over the other
records of m_1, m_2, ... It moves by at most the largest value, over R in any region that holds the
sums of all datasets and over two records s and t, of

    D(R, s, t) = f(R + m(s)) - f(R + m(t)).

The region is the box of the ends of each R_k, and for two sums also, for any number a,

    (n - 1) min(m_1 - a m_2) <= R_1 - a R_2 <= (n - 1) max(m_1 - a m_2).

Where D is affine in R_1, it is largest where R_1 is as small or as large as these allow.

*Proof.* The others are the same on both sides. R_1 - a R_2 is a sum of n - 1 values of m_1 - a m_2.
An affine function on an interval is largest at one of its ends. ∎ D is bounded by
`dpaudit.proving.distances.refinements.ranges`; a is the slope of the chord of (m_2, m_1) over a
cell, with which sum x^2 / (1 + sum x) has R_1 <= R_2 on [0, 1], as x^2 <= x there.
"""

from __future__ import annotations

import math
from fractions import Fraction

from dpaudit.proving.distances.refinements.contract import RefinementKnowledge
from dpaudit.proving.distances.refinements.one_record import (
    ROUNDING,
    RecordSubstitution,
    RecordView,
    compute_move_norms,
)
from dpaudit.proving.distances.refinements.polynomials import (
    AtomPolynomial,
    AtomTable,
    TooLarge,
    make_constant_polynomial,
)
from dpaudit.proving.distances.refinements.ranges import Ranges, leaves_of
from dpaudit.proving.distances.refinements.reading import SymbolReading
from dpaudit.proving.distances.refinements.symbols import Unread
from dpaudit.proving.universe import UNBOUNDED, Distance

# Each entry is a search of its own over boxes, and all of them share the effort of one question.
MOST_ENTRIES = 8
MOST_LEAVES = 6


def bound_pairs(analysis: RefinementKnowledge, index: int) -> Distance:
    """Return how far a value moves, by the theorem of this module."""
    universe = analysis.universe
    # Where a record is added, one side has no term m(t), so D would not be a difference of two
    # values of the same f.
    if universe.change != "replace":
        return UNBOUNDED
    try:
        reading = SymbolReading(analysis, is_uniform=True)
        symbols = reading.read(index)
        if symbols.axis is not None or symbols.entries.size > MOST_ENTRIES:
            return UNBOUNDED
        view = RecordView(reading, Ranges(reading.table, reading.upper_ends), is_added=False)
        moves = [_bound_entry(view, one) * universe.count for one in symbols.entries.flat]
    except (Unread, TooLarge, OverflowError):
        return UNBOUNDED
    return compute_move_norms(moves)


def _bound_entry(view: RecordView, polynomial: AtomPolynomial) -> float:
    """Return how far one number moves."""
    table = view.reading.table
    # Sums without a quotient are polynomials, which one_record bounds faster and as well.
    if not any(table.atoms[a].operation == "reciprocal" for a in polynomial.atoms()):
        raise Unread
    seen = RecordSubstitution(view).apply(polynomial)
    difference = seen - _copy_record(view, seen)
    leaves = leaves_of(table, difference)
    others = [one for one in leaves if table.atoms[one].operation == "others"]
    affine = [one for one in others if is_affine(table, difference, one)]
    if len(leaves) > MOST_LEAVES or len(others) > 2:
        raise Unread
    if len(others) < 2 or not affine:
        return max(view.ranges.find_most(difference), 0.0) * ROUNDING
    slave = affine[0]
    master = next(one for one in others if one != slave)
    ends = _find_ends(view, slave, master)
    return max(0.0, *(_largest_at(view, difference, slave, end) for end in ends)) * ROUNDING


def _largest_at(
    view: RecordView, difference: AtomPolynomial, leaf: int, end: AtomPolynomial
) -> float:
    """Return the largest difference where one sum is at the end that another allows."""
    replaced = view.reading.table.rewrite(difference, lambda a: end if a == leaf else None)
    return view.ranges.find_most(replaced)


def _copy_record(view: RecordView, polynomial: AtomPolynomial) -> AtomPolynomial:
    """Return a polynomial of another record's cells, which have the same ends."""
    table = view.reading.table

    def replace(number: int) -> AtomPolynomial | None:
        atom = table.atoms[number]
        if atom.operation != "cell" or not atom.cells:
            return None
        name = ("other", atom.parameters)
        return table.enter("cell", parameters=name, ends=(atom.low, atom.high), is_changing=True)

    return table.rewrite(polynomial, replace)


def is_affine(table: AtomTable, polynomial: AtomPolynomial, leaf: int) -> bool:
    """Return whether a leaf stands in a polynomial to the first power, and in no function."""
    atoms = [one for one in polynomial.atoms() if one != leaf]
    single = (AtomPolynomial({(one,): 1}) for one in atoms)
    return all(monomial.count(leaf) <= 1 for monomial in polynomial.terms) and not any(
        leaf in leaves_of(table, one) for one in single
    )


def _find_ends(view: RecordView, slave: int, master: int) -> tuple[AtomPolynomial, AtomPolynomial]:
    """Return the least and the most of one sum over the others, by another one."""
    table = view.reading.table
    one, other = (table.atoms[k].parameters for k in (slave, master))
    low, high = table.atoms[slave].low, table.atoms[slave].high
    if not math.isfinite(low + high):
        raise Unread
    # The theorem holds for any slope, so an estimate will do: a poor one loosens the region,
    # and the bound stays right.
    slope = _estimate_chord_slope(view, one, other)
    shear = one - other.scale(slope)
    least, most = view.others(shear)
    if slope == 0 or not math.isfinite(least + most):
        return make_constant_polynomial(low), make_constant_polynomial(high)
    line = AtomPolynomial({(master,): slope})
    return (
        table.enter(
            "maximum", (make_constant_polynomial(low), line + make_constant_polynomial(least))
        ),
        table.enter(
            "minimum", (make_constant_polynomial(high), line + make_constant_polynomial(most))
        ),
    )


def _estimate_chord_slope(view: RecordView, one: AtomPolynomial, other: AtomPolynomial) -> Fraction:
    """Return by how much one function grows for each step of the other, from end to end."""
    cells = leaves_of(view.reading.table, one + other)
    rises = [_estimate_rise(view, function, cells) for function in (one, other)]
    if not all(math.isfinite(rise) for rise in rises) or rises[1] == 0:
        return Fraction(0)
    # A short fraction keeps the rational coefficients of everything that is multiplied by it
    # short.
    return Fraction(rises[0] / rises[1]).limit_denominator(2**40)


def _estimate_rise(view: RecordView, function: AtomPolynomial, cells: list[int]) -> float:
    """Return about how much a function grows from the lower ends of cells to the upper."""
    table = view.reading.table
    ends = []
    for name in ("low", "high"):
        values = {one: make_constant_polynomial(getattr(table.atoms[one], name)) for one in cells}
        low, high = view.ranges.find(table.rewrite(function, values.get))
        ends.append((low + high) / 2)
    return ends[1] - ends[0]
