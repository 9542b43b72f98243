"""Real numbers with an error bound, for verifiers: those of `dpaudit.reals`."""

from dpaudit.reals import (
    ComputationTimeout,
    Matrix,
    Number,
    Real,
    UndecidedComparison,
    binomial,
    chi2_above,
    diagonal,
    dot,
    exp,
    identity,
    largest,
    length,
    log,
    ncdf,
    norm,
    pi,
    precision,
    root,
    sigmoid,
    smallest,
    sort_reals,
    sqrt,
    total,
    vector,
)

_DOUBLE = 17  # digits that tell doubles apart
_MOST_DIGITS = 4000  # digits that anything is computed with


def format_distinct_numbers(one: Number, other: Number, digits: int = 10) -> tuple[str, str]:
    """Return two numbers for people, with as many digits as tell them apart if they differ.

    Examples
    --------
    >>> (
    ...     format_distinct_numbers(Real(1) / 3, 0.5),
    ...     format_distinct_numbers(1 + 2**-40, 1.0),
    ...     format_distinct_numbers(2, 2),
    ... )
    (('0.3333333333', '0.5'), ('1.000000000001', '1'), ('2', '2'))
    """
    first, second = Real(one), Real(other)
    shown = first.shown(digits), second.shown(digits)
    while shown[0] == shown[1] and digits < _MOST_DIGITS and first.ball != second.ball:
        digits += 1 if digits < _DOUBLE else digits
        shown = _digits_of(first, digits), _digits_of(second, digits)
    return shown


def _digits_of(number: Real, digits: int) -> str:
    """Return so many digits: of a double no more than it has, of a ball all that are known."""
    if digits <= _DOUBLE:
        return number.shown(digits)
    return str(number.ball.str(digits, radius=False))


__all__ = [
    "ComputationTimeout",
    "Matrix",
    "Number",
    "Real",
    "UndecidedComparison",
    "binomial",
    "chi2_above",
    "diagonal",
    "dot",
    "exp",
    "format_distinct_numbers",
    "identity",
    "largest",
    "length",
    "log",
    "ncdf",
    "norm",
    "pi",
    "precision",
    "root",
    "sigmoid",
    "smallest",
    "sort_reals",
    "sqrt",
    "total",
    "vector",
]
