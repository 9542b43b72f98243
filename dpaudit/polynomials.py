"""Exact polynomials in named unknowns, and vectors whose inner products are unknowns.

Two sides of an equation that are the same polynomial are equal whatever the unknowns are: this is
a proof, and needs no drawn instance. Exponents may be negative, so that one may divide by a
product of unknowns: such sides are equal wherever no divisor is zero.

An identity between vectors is checked by their inner products. `vectors` makes vectors of no
particular dimension; the product of two of them is a polynomial in unknowns like ``<u, v>``. Sides
that agree as polynomials in these agree in every dimension. Nothing true is lost by it: in at
least as many dimensions as there are vectors, inner products take all values near those of a basis,
and a polynomial that is zero there is zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from dpaudit.errors import InvalidArgument

Monomial: TypeAlias = tuple[tuple[str, int], ...]  # names in order, exponents other than 0
Scalar: TypeAlias = "Polynomial | Fraction | int"


@dataclass(frozen=True, init=False)
class Polynomial:
    """A sum of monomials with rational coefficients.

    Two polynomials are equal if and only if they have the same monomials with the same
    coefficients. Floats are refused: their rounding would pass for the number that was meant.

    Parameters
    ----------
    terms
        The coefficient of every monomial.

    Examples
    --------
    >>> x, y = make_unknowns("x y")
    >>> (x + y) ** 2 == x**2 + 2 * x * y + y**2
    True
    >>> (x + y) ** 2 - (x - y) ** 2
    4 x y
    >>> (x**2 - y) / (2 * x)
    -1/2 x^-1 y + 1/2 x
    """

    terms: Mapping[Monomial, Fraction]

    def __init__(self, terms: Mapping[Monomial, Fraction]) -> None:
        # A normal form: equal polynomials have equal tables in the same order, so that equality
        # and hashes need no arithmetic.
        kept = {monomial: value for monomial, value in sorted(terms.items()) if value}
        object.__setattr__(self, "terms", kept)

    def __hash__(self) -> int:
        return hash(tuple(self.terms.items()))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Polynomial):
            return self.terms == other.terms
        return isinstance(other, int | Fraction) and self.terms == make_polynomial(other).terms

    def __add__(self, other: Scalar) -> Polynomial:
        return _sum_terms((*self.terms.items(), *make_polynomial(other).terms.items()))

    def __mul__(self, other: Scalar) -> Polynomial:
        if isinstance(other, Vector):  # type: ignore[unreachable]
            return NotImplemented  # and Python asks the vector
        right = make_polynomial(other)
        return _sum_terms((_multiply_monomials(m, n), a * b) for m, a in self for n, b in right)

    def __neg__(self) -> Polynomial:
        return self * -1

    def __sub__(self, other: Scalar) -> Polynomial:
        return self + -make_polynomial(other)

    def __rsub__(self, other: Scalar) -> Polynomial:
        return make_polynomial(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def __truediv__(self, divisor: Scalar) -> Polynomial:
        return self * make_polynomial(divisor) ** -1

    def __rtruediv__(self, other: Scalar) -> Polynomial:
        return make_polynomial(other) / self

    def __pow__(self, exponent: int) -> Polynomial:
        if exponent >= 0:
            power = make_polynomial(1)
            for _ in range(exponent):
                power = power * self
            return power
        # A sum has no inverse among polynomials with integer exponents; only a monomial has
        # one.
        if len(self.terms) != 1:
            raise InvalidArgument("divisor", self, "a single monomial other than 0")
        [(monomial, value)] = self
        inverse = tuple((name, -power) for name, power in monomial)
        return Polynomial({inverse: 1 / value}) ** -exponent

    def __iter__(self) -> Iterator[tuple[Monomial, Fraction]]:
        return iter(self.terms.items())

    def __repr__(self) -> str:
        return " + ".join(_format_monomial(*term) for term in self).replace("+ -", "- ") or "0"

    def substitute(self, values: Mapping[str, Scalar]) -> Polynomial:
        """Return the polynomial with others, or numbers, in place of some unknowns.

        Raises
        ------
        InvalidArgument
            An unknown with a negative exponent is replaced by zero or by a sum.

        Examples
        --------
        >>> x, y = make_unknowns("x y")
        >>> (x**2 + y).substitute({"x": y + 1})
        1 + 3 y + y^2
        """
        parts = (
            _multiply_polynomials(
                (
                    make_polynomial(values.get(name, make_unknown(name))) ** power
                    for name, power in m
                ),
                c,
            )
            for m, c in self
        )
        return sum(parts, make_polynomial(0))

    def value(self, values: Mapping[str, Fraction | int]) -> Fraction:
        """Return the number that the polynomial is where all its unknowns are numbers.

        Raises
        ------
        InvalidArgument
            An unknown has no value, or a divisor is zero.

        Examples
        --------
        >>> x, y = make_unknowns("x y")
        >>> (x / y).value({"x": 1, "y": 3})
        Fraction(1, 3)
        """
        found = self.substitute(values).terms
        if found.keys() - {()}:
            raise InvalidArgument("values", dict(values), f"a number for each unknown of {self!r}")
        return found.get((), Fraction(0))


def make_polynomial(value: Scalar) -> Polynomial:
    """Return a number, which must be rational and no float, as a polynomial.

    Raises
    ------
    InvalidArgument
        It is neither a whole number, nor a fraction, nor a polynomial.
    """
    if isinstance(value, Polynomial):
        return value
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        raise InvalidArgument("value", value, "an int, a Fraction or a Polynomial")
    return Polynomial({(): Fraction(value)})


def make_unknown(name: str) -> Polynomial:
    """Return the unknown of this name."""
    return Polynomial({((name, 1),): Fraction(1)})


def make_unknowns(names: str) -> tuple[Polynomial, ...]:
    """Return unknowns of the names that blanks separate, in that order.

    Examples
    --------
    >>> rho, eta = make_unknowns("rho eta")
    >>> rho * eta
    eta rho
    """
    return tuple(map(make_unknown, names.split()))


@dataclass(frozen=True)
class Vector:
    """A sum of named vectors with polynomials as coefficients, of any dimension.

    Two are equal if and only if every named vector has the same coefficient in both.

    Parameters
    ----------
    parts
        The coefficient of every named vector.

    Examples
    --------
    >>> u, v = vectors("u v")
    >>> (u + v) @ (u - v) == u @ u - v @ v
    True
    >>> rho, = make_unknowns("rho")
    >>> (rho * u) @ v
    <u, v> rho
    """

    parts: Mapping[str, Polynomial]

    def __post_init__(self) -> None:
        kept = {name: part for name, part in sorted(self.parts.items()) if part.terms}
        object.__setattr__(self, "parts", kept)

    def __add__(self, other: Vector) -> Vector:
        names = self.parts.keys() | other.parts.keys()
        return Vector({name: self.of(name) + other.of(name) for name in names})

    def __mul__(self, scalar: Scalar) -> Vector:
        return Vector({name: part * scalar for name, part in self.parts.items()})

    __rmul__ = __mul__

    def __truediv__(self, divisor: Scalar) -> Vector:
        return self * make_polynomial(divisor) ** -1

    def __neg__(self) -> Vector:
        return self * -1

    def __sub__(self, other: Vector) -> Vector:
        return self + -other

    def __matmul__(self, other: Vector) -> Polynomial:
        """Return the inner product."""
        products = (
            part * make_unknown(_inner_name(one, another)) * factor
            for one, part in self.parts.items()
            for another, factor in other.parts.items()
        )
        return sum(products, make_polynomial(0))

    def of(self, name: str) -> Polynomial:
        """Return the coefficient of the vector of this name."""
        return self.parts.get(name, make_polynomial(0))

    @property
    def square(self) -> Polynomial:
        """The square of the norm."""
        return self @ self


def make_vector(name: str) -> Vector:
    """Return the vector of this name.

    Examples
    --------
    >>> make_vector("w").square
    <w, w>
    """
    return Vector({name: make_polynomial(1)})


def vectors(names: str) -> tuple[Vector, ...]:
    """Return vectors of the names that blanks separate, in that order.

    Examples
    --------
    >>> w, z = vectors("w z")
    >>> (w - z).square
    <w, w> - 2 <w, z> + <z, z>
    """
    return tuple(map(make_vector, names.split()))


def total(parts: Iterable[Vector]) -> Vector:
    """Return the sum of vectors, which is zero of none.

    Examples
    --------
    >>> total(()) @ total(vectors("u v"))
    0
    """
    return sum(parts, Vector({}))


def on_line(numbers: Mapping[str, Fraction | int]) -> dict[str, Fraction]:
    """Return values for unknowns and for the products of all vectors, each of which is a number.

    Examples
    --------
    >>> u, v = vectors("u v")
    >>> ((u - v) @ u).value(on_line({"u": 2, "v": 5}))
    Fraction(-6, 1)
    """
    products = {
        _inner_name(one, other): Fraction(a) * b
        for one, a in numbers.items()
        for other, b in numbers.items()
    }
    return {**products, **{name: Fraction(number) for name, number in numbers.items()}}


def _inner_name(one: str, other: str) -> str:
    # Sorted, as inner products are symmetric: <u, v> and <v, u> have to be one unknown.
    first, second = sorted((one, other))
    return f"<{first}, {second}>"


def _sum_terms(terms: Iterable[tuple[Monomial, Fraction]]) -> Polynomial:
    sums: dict[Monomial, Fraction] = {}
    for monomial, value in terms:
        sums[monomial] = sums.get(monomial, Fraction(0)) + value
    return Polynomial(sums)


def _multiply_monomials(one: Monomial, other: Monomial) -> Monomial:
    powers = dict(one)
    for name, power in other:
        powers[name] = powers.get(name, 0) + power
    return tuple((name, power) for name, power in sorted(powers.items()) if power)


def _multiply_polynomials(factors: Iterable[Polynomial], start: Fraction) -> Polynomial:
    product = make_polynomial(start)
    for factor in factors:
        product = product * factor
    return product


def _format_monomial(monomial: Monomial, value: Fraction) -> str:
    names = [name if power == 1 else f"{name}^{power}" for name, power in monomial]
    if abs(value) == 1 and names:
        return ("-" if value < 0 else "") + " ".join(names)
    return " ".join((str(value), *names))
