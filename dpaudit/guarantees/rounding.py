"""Ends of proved brackets, in doubles: upper ends are rounded up, and lower ends down.

A double of at most twelve digits stands for the number that somebody wrote: ten times 0.1 is 1,
though the double nearest to a tenth is above it. Any other double stands for itself. Sums and
quotients of what was written are worked out in fractions; where a formula has none, it is enclosed
at the worse of the double and the written number (`to_larger_fraction`, `to_smaller_fraction`), or
the result of doubles gives way by more than they can be off (`bound_above`, `bound_below`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import lru_cache

from flint import arb, ctx, fmpq

UNIT = 2.0**-53  # relative error of one operation on doubles
# People write fewer digits than this, and less than one in ten thousand of the doubles that are
# computed has so short a form by chance.
_DIGITS = 12
_BITS = 256  # of a square root
_MOST_STEPS = 2200  # doublings from the smallest double to the largest
_HALVINGS = 60  # halvings between two doubles


@lru_cache(maxsize=4096)
def to_written_fraction(value: float) -> Fraction:
    """Return the number that a finite double stands for.

    Examples
    --------
    >>> to_written_fraction(0.1) == Fraction(1, 10), to_written_fraction(1 / 3) == Fraction(1 / 3)
    (True, True)
    """
    exact = Fraction(value)
    # Fraction reads the decimal digits themselves; through a float they would be the double again.
    short = Fraction(f"{value:.{_DIGITS}g}")
    return short if value and float(short) == value else exact


def is_short(value: float) -> bool:
    """Return whether a double stands for a number of at most twelve digits, or is infinite."""
    return float(f"{value:.{_DIGITS}g}") == value


def to_larger_fraction(value: float) -> Fraction:
    """Return the larger of a finite double and the number that it stands for."""
    return max(Fraction(value), to_written_fraction(value))


def to_smaller_fraction(value: float) -> Fraction:
    """Return the smaller of a finite double and the number that it stands for."""
    return min(Fraction(value), to_written_fraction(value))


def up(value: Fraction) -> float:
    """Return the least double that stands for no less than a fraction, or infinity.

    Examples
    --------
    >>> up(10 * to_written_fraction(0.1)), up(Fraction(1, 3)) > 1 / 3
    (1.0, True)
    >>> up(Fraction(2, 3)) == math.nextafter(2 / 3, 1)
    True
    """
    try:
        near = float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.nextafter(math.inf, 0.0)
    # `float` of a fraction rounds to the nearest, so that the next double is enough.
    return near if to_written_fraction(near) >= value else math.nextafter(near, math.inf)


def round_fraction_down(value: Fraction) -> float:
    """Return the largest double that stands for no more than a fraction."""
    return -up(-value)


def up_from(meant: Fraction, worst: Fraction) -> float:
    """Return a double for a number worked out from doubles, rounded up.

    Parameters
    ----------
    meant
        From what the doubles stand for.
    worst
        From the worse of that and the doubles, which counts unless a double stands for the result.

    Examples
    --------
    >>> up_from(
    ...     to_written_fraction(0.3) / to_written_fraction(0.1),
    ...     to_larger_fraction(0.3) / to_smaller_fraction(0.1),
    ... )
    3.0
    """
    near = up(meant)
    # Where no double stands for the result, nobody reads it as exact, and it has to hold for the
    # doubles themselves as well.
    return near if near == math.inf or to_written_fraction(near) == meant else max(near, up(worst))


def quotient_up(numerator: float, denominator: float) -> float:
    """Return a quotient of doubles that are at least 0, rounded up; infinity where it overflows."""
    meant = to_written_fraction(numerator) / to_written_fraction(denominator)
    return up_from(meant, to_larger_fraction(numerator) / to_smaller_fraction(denominator))


def product_up(one: float, other: float) -> float:
    """Return a product of doubles that are at least 0, rounded up; infinity where it overflows."""
    return up_from(
        to_written_fraction(one) * to_written_fraction(other),
        to_larger_fraction(one) * to_larger_fraction(other),
    )


def half_square_up(value: float) -> float:
    """Return half the square of a double, rounded up: rho of a mu, or of an epsilon."""
    if value == math.inf:
        return value
    return up_from(to_written_fraction(value) ** 2 / 2, to_larger_fraction(value) ** 2 / 2)


def sum_up(terms: Iterable[tuple[int, float]]) -> float:
    """Return the sum of doubles that are at least 0, each so many times, rounded up.

    Examples
    --------
    >>> sum_up([(10, 0.1)]), sum_up([(1, 0.1), (1, 0.2)]), sum_up([])
    (1.0, 0.3, 0.0)
    """
    terms = [(count, value) for count, value in terms if count and value]
    if any(value == math.inf for _, value in terms):
        return math.inf
    meant = sum((count * to_written_fraction(value) for count, value in terms), Fraction(0))
    return up_from(
        meant, sum((count * to_larger_fraction(value) for count, value in terms), Fraction(0))
    )


def times_up(count: int, value: float) -> float:
    """Return so many times a double that is at least 0, rounded up.

    Examples
    --------
    >>> times_up(7, 0.7), 7 * 0.7
    (4.9, 4.8999999999999995)
    """
    return sum_up([(count, value)])


def sum_down(terms: Iterable[tuple[int, float]]) -> float:
    """Return the same sum, rounded down."""
    terms = [(count, value) for count, value in terms if count and value]
    if any(value == math.inf for _, value in terms):
        return math.inf
    return round_fraction_down(
        sum((count * to_written_fraction(value) for count, value in terms), Fraction(0))
    )


_FEW = 64  # events, for which the probability of any is worked out as a fraction


def any_of(terms: Iterable[tuple[int, float]]) -> tuple[Fraction, Fraction] | None:
    """Return the probability that one of independent events happens, or None for too many.

    By what the doubles stand for, and by the worse of that and the doubles.

    Parameters
    ----------
    terms
        How many events have which probability.
    """
    terms = [(count, value) for count, value in terms if count and value]
    if sum(count for count, _ in terms) > _FEW:
        return None
    meant, worst = (
        1 - math.prod(((1 - number(value)) ** count for count, value in terms), start=Fraction(1))
        for number in (to_written_fraction, to_larger_fraction)
    )
    return meant, worst


def any_up(terms: Iterable[tuple[int, float]]) -> float:
    """Return the same probability, rounded up.

    Examples
    --------
    >>> any_up([(1, 0.1), (1, 0.2)]), any_up([])
    (0.28, 0.0)
    """
    terms = list(terms)
    if (known := any_of(terms)) is not None:
        return up_from(*known)
    return min(1.0, round_ball_up(_compute_any_ball(terms, to_larger_fraction)))


def any_down(terms: Iterable[tuple[int, float]]) -> float:
    """Return the same probability, rounded down.

    Examples
    --------
    >>> any_down([(1, 0.1), (1, 0.2)]), any_down([(1000, 1e-5)]) < any_up([(1000, 1e-5)])
    (0.28, True)
    """
    terms = list(terms)
    if (known := any_of(terms)) is not None:
        return round_fraction_down(known[0])
    return max(0.0, round_ball_down(_compute_any_ball(terms, to_smaller_fraction)))


def _compute_any_ball(
    terms: Iterable[tuple[int, float]], number: Callable[[float], Fraction]
) -> arb:
    with ctx.workprec(_BITS):
        logs = [count * (-to_ball(number(value))).log1p() for count, value in terms]
        return -sum(logs, arb(0)).expm1()


def exp_up(exponent: float) -> float:
    """Return a power of e that is at most 1, rounded up: 0 at minus infinity alone."""
    if exponent == -math.inf:
        return 0.0
    return min(1.0, max(bound_above(math.exp(exponent), 0.0), math.ulp(0.0)))


def bound_above(value: float, magnitude: float, units: float = 8.0) -> float:
    """Return a number that is not below the true one behind a value that may be off.

    Parameters
    ----------
    value
        As doubles have it.
    magnitude
        Sum of the sizes of the terms that it was made of.
    units
        How many roundings of such a size it may be off by.
    """
    # An exact 0 stays 0: pure DP has a delta of 0 and not of the smallest double.
    if value == 0 == magnitude:
        return value
    off = units * UNIT * (abs(value) + magnitude)
    # The margin itself was rounded, and may vanish against the value: one double more is always
    # further out.
    return math.nextafter(value + off, math.inf)


def bound_below(value: float, magnitude: float, units: float = 8.0) -> float:
    """Return a number that is not above the true one behind a value that may be off."""
    return -bound_above(-value, magnitude, units)


def to_ball(value: Fraction) -> arb:
    """Return a ball around a fraction, of the precision that is set."""
    return arb(fmpq(value.numerator, value.denominator))


def round_ball_up(value: arb) -> float:
    """Return a double that is not below a ball; infinity for one that is not finite.

    Examples
    --------
    >>> round_ball_up(arb(2).sqrt()) ** 2 > 2 > round_ball_down(arb(2).sqrt()) ** 2
    True
    """
    if not value.is_finite():
        return math.inf
    top = value.upper()
    near = float(top)
    # The conversion rounds to the nearest, below or above the ball's end.
    while not arb(near) >= top:
        near = math.nextafter(near, math.inf)
    return near


def round_ball_down(value: arb) -> float:
    """Return a double that is not above a ball."""
    return -round_ball_up(-value)


def root_up(square: Fraction) -> float:
    """Return a double that stands for no less than a square root, nor much more.

    Examples
    --------
    >>> root_up(Fraction(4, 9)) == math.nextafter(2 / 3, 1), root_up(Fraction(25))
    (True, 5.0)
    """
    exact = _exact_root(square)
    return up(exact) if exact is not None else round_ball_up(_compute_root_ball(square))


def root_down(square: Fraction) -> float:
    """Return a double that stands for no more than a square root, nor much less."""
    exact = _exact_root(square)
    return (
        round_fraction_down(exact)
        if exact is not None
        else round_ball_down(_compute_root_ball(square))
    )


def _exact_root(square: Fraction) -> Fraction | None:
    # A fraction in lowest terms is a square only if its numerator and its denominator are.
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    return root if root * root == square else None


def _compute_root_ball(square: Fraction) -> arb:
    with ctx.workprec(_BITS):
        return to_ball(square).sqrt()


def first_above(guess: float, step: float, holds: Callable[[float], bool]) -> float:
    """Return the guess, or a number a little above it, at which something is proved to hold.

    Parameters
    ----------
    guess
        At least 0, and near where it begins to hold.
    step
        How far the guess may be off; steps double, and are at least a unit in the last place.
    holds
        Whether it holds, also at all larger numbers.
    """
    failed, at, step = None, guess, max(step, math.ulp(guess))
    for _ in range(_MOST_STEPS):
        if at == math.inf or holds(at):
            break
        failed, at, step = at, at + step, 2 * step
    return at if failed is None else _bisect_towards_failure(at, failed, holds)


def last_below(guess: float, step: float, holds: Callable[[float], bool]) -> float:
    """Return the guess, or a number a little below it but not below 0, at which something holds."""
    failed, at, step = None, guess, max(step, math.ulp(guess))
    for _ in range(_MOST_STEPS):
        if at <= 0 or holds(at):
            break
        failed, at, step = at, at - step, 2 * step
    at = max(at, 0.0)
    return at if failed is None else _bisect_towards_failure(at, failed, holds)


def _bisect_towards_failure(at: float, failed: float, holds: Callable[[float], bool]) -> float:
    """Return where something holds, nearer to where it fails."""
    for _ in range(_HALVINGS):
        middle = at + (failed - at) / 2
        if middle in (at, failed) or abs(failed - at) <= 4 * math.ulp(at) or at == math.inf:
            break
        at, failed = (middle, failed) if holds(middle) else (at, middle)
    return at
