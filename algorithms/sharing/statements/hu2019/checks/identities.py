"""Equal polynomials as findings."""

from __future__ import annotations

from fractions import Fraction

from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial


def identity(left: Polynomial, right: Polynomial, words: str) -> Finding:
    """Return whether two sides are one polynomial: how many monomials their difference has.

    Examples
    --------
    >>> from dpaudit.polynomials import unknowns
    >>> x, y = unknowns("x y")
    >>> identity((x + y) ** 2, x**2 + 2 * x * y + y**2, "a square").holds
    True
    >>> identity((x + y) ** 2, x**2 + y**2, "a square").left  # 2 x y is left
    Fraction(1, 1)
    """
    return Finding(
        left=Fraction(len((left - right).terms)),
        relation="=",
        right=Fraction(0),
        instance=f"{words}: monomials of the difference of the two sides",
    )
