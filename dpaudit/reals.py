"""Real numbers with an error bound, for proofs.

A `Real` is a ball that holds the true number: a midpoint of some digits and a radius. Every
operation returns a ball that holds every possible result (Arb, Johansson 2017, through
python-flint). Doubles enter exactly. Where balls overlap, a comparison raises
`UndecidedComparison`, and whoever asked computes again with more digits: whatever has been decided
is proved.

So whoever computes with them never branches on rounding. What is continuous across a branch is
written without one: `largest` and `smallest` where a comparison would choose.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from typing import Any, TypeAlias

from flint import acb_mat, arb, arb_mat, arb_poly, ctx, fmpq

Number: TypeAlias = "Real | Fraction | float"
DIGITS = (60, 250, 1000, 4000)  # one after the other, until everything is decided
SECONDS = 60.0  # of the processor, for one computation with all of them, at most
_SQUARINGS = 50  # of roots: their moduli are told apart to 1e-14
_MOST_STEPS = 20_000  # of the search for a root; halving alone needs a few thousand


class UndecidedComparison(ArithmeticError):
    """These digits do not tell: more are needed."""


class ComputationTimeout(ArithmeticError):
    """The time that was given is over."""


class _Limits:
    """Until when results are of use; one computation at a time, as FLINT has one precision."""

    end = math.inf


@contextmanager
def precision(digits: int, seconds: float = math.inf) -> Iterator[None]:
    """Compute with so many decimal digits inside the block, and for so many CPU seconds at most."""
    before = _Limits.end
    _Limits.end = min(before, time.process_time() + seconds)
    try:
        with ctx.workdps(digits):
            yield
    finally:
        _Limits.end = before


class Real:
    """A real number, enclosed.

    Parameters
    ----------
    value
        A finite number: a double, an integer and a fraction enter without error.

    Examples
    --------
    >>> third = Real(1) / 3
    >>> third * 3 < 2, third > Fraction(1, 4)
    (True, True)
    >>> third * 3 == 1
    Traceback (most recent call last):
    dpaudit.reals.UndecidedComparison
    >>> big, small = Real(1e300), Real(1e-300)
    >>> with precision(1300):
    ...     (big + small) ** 2 - big**2 > 0
    True
    """

    __slots__ = ("ball",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Number | arb) -> None:
        self.ball: arb = value if isinstance(value, arb) else _ball(value)

    def __add__(self, other: Number) -> Real:
        return _finite(self.ball + _ball(other))

    def __sub__(self, other: Number) -> Real:
        return _finite(self.ball - _ball(other))

    def __rsub__(self, other: Number) -> Real:
        return _finite(_ball(other) - self.ball)

    def __mul__(self, other: Number) -> Real:
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        return _finite(self.ball * _ball(other))

    def __truediv__(self, other: Number) -> Real:
        return _quotient(self.ball, _ball(other))

    def __rtruediv__(self, other: Number) -> Real:
        return _quotient(_ball(other), self.ball)

    def __pow__(self, exponent: int) -> Real:
        return _finite(_power(self.ball, exponent)) if exponent >= 0 else 1 / self**-exponent

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Real:
        return Real(-self.ball)

    def __abs__(self) -> Real:
        return Real(abs(self.ball))

    def __lt__(self, other: Number) -> bool:
        one, two = self.ball, _ball(other)
        return _decide_truth(one < two, one >= two)

    def __le__(self, other: Number) -> bool:
        one, two = self.ball, _ball(other)
        return _decide_truth(one <= two, one > two)

    def __gt__(self, other: Number) -> bool:
        return not self <= other

    def __ge__(self, other: Number) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _NUMBERS):
            return NotImplemented
        one, two = self.ball, _ball(other)
        return _decide_truth(one == two, one != two)

    def __bool__(self) -> bool:
        return self != 0

    def __float__(self) -> float:
        return float(self.ball.mid())

    def __repr__(self) -> str:
        return f"Real({self.ball.str(15)})"

    def middle(self) -> Real:
        """Return the midpoint, a number without error: not this one, but near it."""
        return Real(self.ball.mid())

    def shown(self, digits: int = 10) -> str:
        """Return the number for people, also far beyond the range of doubles."""
        near = float(self)
        if near == 0 or 1e-300 < abs(near) < 1e300:
            return f"{near:.{digits}g}"
        return str(self.ball.str(digits, radius=False))


# Tuples, as ``int | float`` would be put together anew for every product.
_PLAIN = (int, float)
_NUMBERS = (Real, Fraction, *_PLAIN)


def _ball(value: Number) -> arb:
    if isinstance(value, Real):
        return value.ball
    if isinstance(value, Fraction):
        return arb(fmpq(value.numerator, value.denominator))
    if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)):
        return arb(value)
    raise TypeError(f"{value!r} is no number that a ball can hold")


def _finite(ball: arb) -> Real:
    if not ball.is_finite():
        raise UndecidedComparison
    return Real(ball)


def _quotient(one: arb, two: arb) -> Real:
    if two.is_zero():
        raise ZeroDivisionError("a division by 0")
    return _finite(one / two)


def _power(ball: arb, exponent: int) -> arb:
    """Return a power; FLINT's own is not a number where the ball holds 0."""
    if not ball.contains(0):
        return ball**exponent
    product = reduce(lambda one, other: one * other, [ball] * exponent, arb(1))
    return product if exponent % 2 else product.nonnegative_part()


def _decide_truth(true: bool, false: bool) -> bool:
    if time.process_time() > _Limits.end:
        raise ComputationTimeout
    if not true and not false:
        raise UndecidedComparison
    return bool(true)


# --- functions ------------------------------------------------------------------------------------


def sqrt(x: Number) -> Real:
    """Return the square root of a number that is at least 0.

    Raises
    ------
    ArithmeticError
        The number is below 0.
    """
    one = Real(_ball(x))
    if one.ball.is_zero():
        return one
    if one < 0:
        raise ArithmeticError(f"the square root of {one.shown()}")
    return _finite(one.ball.sqrt())


def exp(x: Number) -> Real:
    """Return e to the power of x."""
    return _finite(_ball(x).exp())


def log(x: Number) -> Real:
    """Return the natural logarithm of a number above 0, or raise ``ArithmeticError``."""
    one = Real(_ball(x))
    if one <= 0:
        raise ArithmeticError(f"the logarithm of {one.shown()}")
    return _finite(one.ball.log())


def sigmoid(x: Number) -> Real:
    """Return ``1 / (1 + exp(-x))``; never out of range, however large x is."""
    one = Real(_ball(x))
    if one.middle() < 0:
        power = exp(one)
        return power / (1 + power)
    return 1 / (1 + exp(-one))


def pi() -> Real:
    """Return the circumference of a circle of diameter 1."""
    return Real(arb.pi())


def ncdf(x: Number) -> Real:
    """Return the standard Gaussian's distribution function."""
    return _finite((-(_ball(x)) / arb(2).sqrt()).erfc() / 2)


def chi2_above(degrees: int, x: Number) -> Real:
    """Return the probability that a chi-squared variable is above x."""
    return _finite((_ball(x) / 2).gamma_upper(arb(degrees) / 2, regularized=1))


def binomial(n: int, k: int) -> Real:
    """Return the number of subsets of k among n."""
    return Real(math.comb(n, k))


def largest(values: Iterable[Number]) -> Real:
    """Return the largest, which a tie does not leave undecided; there is at least one."""
    return Real(reduce(lambda a, b: a.max(b), map(_ball, values)))


def smallest(values: Iterable[Number]) -> Real:
    """Return the smallest, which a tie does not leave undecided; there is at least one."""
    return Real(reduce(lambda a, b: a.min(b), map(_ball, values)))


def total(values: Iterable[Number]) -> Real:
    """Return the sum."""
    return sum((Real(_ball(value)) for value in values), Real(0))


def dot(one: Iterable[Number], other: Iterable[Number]) -> Real:
    """Return the inner product."""
    return total(Real(_ball(a) * _ball(b)) for a, b in zip(one, other, strict=True))


def norm(values: Iterable[Number]) -> Real:
    """Return the Euclidean length, of 0 as well."""
    return length(total(Real(_ball(value)) ** 2 for value in values))


def length(square: Number) -> Real:
    """Return the square root of a number that is at least 0, though its ball may not say so."""
    return _finite(_ball(square).nonnegative_part().sqrt())


def root(function: Callable[[Real], Real], rise: Number, guess: Number) -> Real:
    """Return the zero of a function that rises by at least ``rise`` times every step to the right.

    Secants inside a bracket that is also halved lead to a point x without error; the zero is within
    ``|function(x)| / rise`` of it, wherever the search has stopped.

    Examples
    --------
    >>> x = root(lambda x: x + exp(x), 1, 0.0)
    >>> x.shown()
    '-0.5671432904'
    """
    steepness = Real(_ball(rise))
    x = _search_root(function, steepness, Real(_ball(guess)).middle())
    radius = (abs(function(x)) / steepness).ball.abs_upper()
    return _finite(arb(x.ball, radius))


def _search_root(function: Callable[[Real], Real], rise: Real, x: Real) -> Real:
    """Return a point where the function is as near to 0 as these digits tell."""
    at, least = function(x), rise.middle()
    low, high = (x, None) if _below(at) else (None, x)
    slope = least
    for count in range(_MOST_STEPS):
        if _vanishes(at):
            break
        step = (x - at.middle() / slope).middle()
        if low is not None and high is not None:
            inside = low.ball < step.ball < high.ball and count % 8 < 7
            step = step if inside else ((low + high) / 2).middle()
        if step.ball == x.ball:
            break
        found = function(step)
        moved = ((found.middle() - at.middle()) / (step - x)).middle()
        slope = moved if moved.ball > least.ball else least
        x, at = step, found
        low, high = (x, high) if _below(at) else (low, x)
    return x


def _below(value: Real) -> bool:
    return bool(value.ball.mid() < 0)


def _vanishes(value: Real) -> bool:
    """Return whether a value is 0 as far as its own radius tells."""
    _decide_truth(true=True, false=False)  # the time
    return bool(value.ball.contains(0))


# --- matrices -------------------------------------------------------------------------------------


class Matrix:
    """A matrix of `Real` numbers; a vector is a matrix of one column.

    Examples
    --------
    >>> a = Matrix([[2, 0], [0, 4]])
    >>> [float(x) for x in a.solve(vector([1, 1])).entries()]
    [0.5, 0.25]
    """

    __slots__ = ("inner",)

    def __init__(self, rows: Sequence[Sequence[Number]] | arb_mat) -> None:
        if isinstance(rows, arb_mat):
            self.inner = rows
        else:
            self.inner = arb_mat([[_ball(entry) for entry in row] for row in rows])

    @property
    def rows(self) -> int:
        """The number of rows."""
        return int(self.inner.nrows())

    @property
    def cols(self) -> int:
        """The number of columns."""
        return int(self.inner.ncols())

    @property
    def T(self) -> Matrix:
        """The transpose."""
        return Matrix(self.inner.transpose())

    def __getitem__(self, place: tuple[int, int]) -> Real:
        return Real(self.inner[place])

    def entries(self) -> list[Real]:
        """Return all entries, row after row."""
        return [Real(entry) for entry in self.inner.entries()]

    def row(self, i: int) -> list[Real]:
        """Return a row."""
        return [self[i, j] for j in range(self.cols)]

    def column(self, j: int) -> list[Real]:
        """Return a column."""
        return [self[i, j] for i in range(self.rows)]

    def __add__(self, other: Matrix) -> Matrix:
        return Matrix(self.inner + other.inner)

    def __sub__(self, other: Matrix) -> Matrix:
        return Matrix(self.inner - other.inner)

    def __neg__(self) -> Matrix:
        return Matrix(-self.inner)

    def __mul__(self, other: Matrix | Number) -> Matrix:
        right = other.inner if isinstance(other, Matrix) else _ball(other)
        return Matrix(self.inner * right)

    def __rmul__(self, other: Number) -> Matrix:
        return Matrix(self.inner * _ball(other))

    def solve(self, right: Matrix) -> Matrix:
        """Return x with ``self x = right``; every matrix that the balls hold can be inverted."""
        try:
            return Matrix(self.inner.solve(right.inner))
        except ZeroDivisionError as error:
            raise UndecidedComparison from error

    def det(self) -> Real:
        """Return the determinant."""
        return _finite(self.inner.det())

    def eigenvalues(self) -> list[Real]:
        """Return the eigenvalues of a symmetric matrix, in no order, each as often as it counts."""
        return [Real(value.real) for value in self._spectrum()]

    def spectral_radius(self) -> Real:
        """Return the largest modulus of an eigenvalue, of defective matrices too.

        The characteristic polynomial's roots are squared m times (Graeffe). One of degree n, of
        coefficients ``c_j`` and a largest root r, has ``|c_j| <= binomial(n, j) r^j`` for all j
        (Vieta) and ``r <= 2 max |c_j|^(1/j)`` (Fujiwara 1916), so that r is known up to a factor
        which m squarings take to the power ``1 / 2^m``.

        Examples
        --------
        >>> with precision(60):
        ...     Matrix([[1, 1], [0, 1]]).spectral_radius().shown()
        '1'
        """
        polynomial = self.inner.charpoly()
        for _ in range(_SQUARINGS):
            polynomial = _roots_squared(polynomial)
        return _largest_modulus(polynomial)

    def _spectrum(self) -> list[Any]:
        try:
            return list(acb_mat(self.inner).eig(multiple=True))
        except ValueError as error:  # not enclosed with these digits
            raise UndecidedComparison from error


def _roots_squared(polynomial: arb_poly) -> arb_poly:
    """Return the polynomial whose roots are the squares, up to a sign."""
    coefficients = polynomial.coeffs()
    flipped = arb_poly([c * (-1) ** i for i, c in enumerate(coefficients)])
    return arb_poly((polynomial * flipped).coeffs()[::2])


def _largest_modulus(polynomial: arb_poly) -> Real:
    """Return the largest modulus of a root before all squarings."""
    *rest, leading = polynomial.coeffs()
    degree, power = len(rest), 2**_SQUARINGS
    low, high = arb(0), arb(0)
    for j, coefficient in enumerate(reversed(rest), start=1):
        size = _finite(abs(coefficient / leading)).ball
        low = low.max(_root_of((size / math.comb(degree, j)).abs_lower(), j * power))
        high = high.max(_root_of(size.abs_upper(), j * power))
    return _finite(low.union(high * arb(2) ** (arb(1) / power)))


def _root_of(value: arb, degree: int) -> arb:
    return (value.log() / degree).exp() if value > 0 else arb(0)


def vector(values: Iterable[Number]) -> Matrix:
    """Return a matrix of one column."""
    return Matrix([[value] for value in values])


def identity(size: int) -> Matrix:
    """Return the matrix of ones on the diagonal."""
    return diagonal([1] * size)


def diagonal(values: Sequence[Number]) -> Matrix:
    """Return a matrix with these on its diagonal and zeros elsewhere."""
    size = len(values)
    return Matrix([[values[i] if i == j else 0 for j in range(size)] for i in range(size)])


def sort_reals(values: Sequence[Real]) -> list[Real]:
    """Return order statistics, smallest first, without deciding ties between them."""
    found = list(values)
    for end in range(len(found) - 1, 0, -1):
        for i, _ in pairwise(range(end + 1)):
            one, two = found[i], found[i + 1]
            found[i], found[i + 1] = smallest((one, two)), largest((one, two))
    return found
