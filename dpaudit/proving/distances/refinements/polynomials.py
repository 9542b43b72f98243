"""Polynomials with rational coefficients in atoms, and the table of the atoms' meanings.

An *atom* is a number that is not expanded further: a cell of a record, a public number, a function
of polynomials, a sum over all records, one number of a sorted column. The table gives atoms that
are formed alike the same number, so what cancels, cancels: ``x - x`` is 0, and ``x < x`` is 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Rational = int | Fraction
Monomial = tuple[int, ...]
"""Numbers of atoms in order, each as often as its power; empty for the constant."""

# A product of two such polynomials has millions of terms; whatever needs more is left to the
# rules.
MOST_TERMS = 4000


class TooLarge(Exception):
    """A value is too large to be written as polynomials."""


class AtomPolynomial:
    """A sum of rational multiples of products of atoms.

    Parameters
    ----------
    terms
        The coefficient of each monomial, none of them zero.

    Examples
    --------
    >>> x = AtomPolynomial({(0,): 1})
    >>> (x * (AtomPolynomial({(): 1}) - x)).terms
    {(0,): 1, (0, 0): -1}
    """

    __slots__ = ("_key", "terms")

    def __init__(self, terms: dict[Monomial, Rational]) -> None:
        if len(terms) > MOST_TERMS:
            raise TooLarge
        self.terms = terms
        self._key: Any = None

    @property
    def key(self) -> Any:
        """A key that equal polynomials share, and no others."""
        if self._key is None:
            self._key = tuple(sorted(self.terms.items()))
        return self._key

    @property
    def constant(self) -> Rational | None:
        """The number that this is, if it is one."""
        if not self.terms:
            return 0
        return self.terms.get(()) if len(self.terms) == 1 else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AtomPolynomial) and self.terms == other.terms

    def __hash__(self) -> int:
        return hash(self.key)

    def __add__(self, other: AtomPolynomial) -> AtomPolynomial:
        # Loops add one term at a time to a long sum: the longer side is copied once, and only
        # the shorter is walked in Python.
        if len(self.terms) < len(other.terms):
            self, other = other, self
        terms = dict(self.terms)
        for monomial, coefficient in other.terms.items():
            _add_term(terms, monomial, coefficient)
        return AtomPolynomial(terms)

    def __neg__(self) -> AtomPolynomial:
        return AtomPolynomial({one: -coefficient for one, coefficient in self.terms.items()})

    def __sub__(self, other: AtomPolynomial) -> AtomPolynomial:
        return self + -other

    def __mul__(self, other: AtomPolynomial) -> AtomPolynomial:
        # Before terms cancel, a product may be longer than its result, so the limit here is
        # looser than that of a polynomial.
        if len(self.terms) * len(other.terms) > 4 * MOST_TERMS:
            raise TooLarge
        terms: dict[Monomial, Rational] = {}
        for one, first in self.terms.items():
            for two, second in other.terms.items():
                product = tuple(sorted(one + two)) if one and two else one or two
                _add_term(terms, product, first * second)
        return AtomPolynomial(terms)

    def scale(self, factor: Rational) -> AtomPolynomial:
        """Return a multiple."""
        if factor == 0:
            return ZERO
        return AtomPolynomial({one: factor * c for one, c in self.terms.items()})

    def atoms(self) -> set[int]:
        """Return the numbers of its atoms."""
        return {atom for monomial in self.terms for atom in monomial}


def _add_term(terms: dict[Monomial, Rational], monomial: Monomial, by: Rational) -> None:
    total = terms.get(monomial, 0) + by
    if total:
        terms[monomial] = total
    else:
        terms.pop(monomial, None)


ZERO = AtomPolynomial({})
ONE = AtomPolynomial({(): 1})


def make_constant_polynomial(value: Any) -> AtomPolynomial:
    """Return the polynomial of a finite number, exactly as it is stored."""
    # From the stored double, not from its decimal form: 0.1 stands for 3602879701896397 /
    # 2**55, which is what the program computes with.
    number = Fraction(value)
    # Integers are added and hashed several times faster than Fractions, and most coefficients
    # are whole.
    exact: Rational = number.numerator if number.denominator == 1 else number
    return AtomPolynomial({(): exact}) if exact else ZERO


def add_all(polynomials: Iterable[AtomPolynomial]) -> AtomPolynomial:
    """Return a sum of many in one pass."""
    terms: dict[Monomial, Rational] = {}
    for one in polynomials:
        for monomial, coefficient in one.terms.items():
            _add_term(terms, monomial, coefficient)
    return AtomPolynomial(terms)


@dataclass(frozen=True, eq=False)
class Atom:
    """The meaning of a polynomial's variable.

    Parameters
    ----------
    operation
        ``cell``, ``public``, ``others`` (leaves); ``sum``, ``order``; or a function's name.
    operands
        Of a function, what it is applied to; of a sum, what is summed; of an order statistic, what
        is sorted.
    parameters
        Which cell, which public number, which place in the order.
    low, high
        Ends of a leaf.
    cells
        Numbers of the atoms of changing cells on which it depends.
    """

    operation: str
    operands: tuple[AtomPolynomial, ...]
    parameters: Any
    low: float
    high: float
    cells: frozenset[int]


@dataclass(eq=False)
class RefinementEffort:
    """The work that is left for one question, in units of about ten microseconds.

    Counted and not timed: the same program has the same bound everywhere.

    Parameters
    ----------
    left
        What may still be done.
    whole
        What may still be done for all questions of which this is one.
    """

    left: float = math.inf
    whole: RefinementEffort | None = None

    def spend(self, units: int) -> None:
        """Do so much.

        Raises
        ------
        TooLarge
            It is more than what is left.
        """
        self.left -= units
        if self.left < 0:
            raise TooLarge
        if self.whole is not None:
            self.whole.spend(units)


class AtomTable:
    """The atoms of one reading, by number.

    Parameters
    ----------
    effort
        What may be done with them.
    """

    def __init__(self, effort: RefinementEffort | None = None) -> None:
        self.effort = effort or RefinementEffort()
        self.atoms: list[Atom] = []
        self._numbers: dict[Any, int] = {}

    def enter(
        self,
        operation: str,
        operands: tuple[AtomPolynomial, ...] = (),
        parameters: Any = None,
        *,
        ends: tuple[float, float] = (0.0, 0.0),
        is_changing: bool = False,
    ) -> AtomPolynomial:
        """Return the atom that is formed so, a new one if there is none, as a polynomial."""
        # Atoms that are formed alike share a number. This is what makes x - x vanish: two
        # numbers for one value would vary freely of each other, and only loosen a bound.
        key = operation, tuple(one.key for one in operands), parameters
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.atoms)
            cells = frozenset([number]) if is_changing else self.cells_of(*operands)
            low, high = (float(one) for one in ends)
            self.atoms.append(Atom(operation, operands, parameters, low, high, cells))
        return AtomPolynomial({(number,): 1})

    def cells_of(self, *polynomials: AtomPolynomial) -> frozenset[int]:
        """Return the changing cells on which polynomials depend."""
        numbers = {atom for one in polynomials for atom in one.atoms()}
        return frozenset().union(*(self.atoms[one].cells for one in numbers))

    def rewrite(
        self, polynomial: AtomPolynomial, replace: Callable[[int], AtomPolynomial | None]
    ) -> AtomPolynomial:
        """Return a polynomial with atoms replaced, also where they stand within functions."""
        # Atoms are nested as a graph, not as a tree: without a memory, a chain of n squarings
        # would be walked 2**n times.
        known: dict[int, AtomPolynomial] = {}

        def write_atom(number: int) -> AtomPolynomial:
            if number not in known:
                atom, new = self.atoms[number], replace(number)
                if new is None and atom.operands:
                    operands = tuple(write(one) for one in atom.operands)
                    new = self.enter(atom.operation, operands, atom.parameters)
                known[number] = AtomPolynomial({(number,): 1}) if new is None else new
            return known[number]

        def write(one: AtomPolynomial) -> AtomPolynomial:
            return add_all(
                math.prod((write_atom(atom) for atom in monomial), start=AtomPolynomial({(): c}))
                for monomial, c in one.terms.items()
            )

        return write(polynomial)
