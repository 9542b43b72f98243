"""Findings about equations whose two sides are polynomials."""

from __future__ import annotations

from dpaudit.extension.ledger import Finding
from dpaudit.polynomials import Polynomial


def make_identity_finding(left: Polynomial, right: Polynomial, instance: str) -> Finding:
    """Return that two sides are the same polynomial: no monomial has another coefficient.

    Where it holds, the two sides are equal whatever the unknowns are; where it does not, they
    differ almost everywhere.

    Parameters
    ----------
    left, right
        The two sides.
    instance
        What the sides are of, in words.

    Examples
    --------
    >>> from dpaudit.polynomials import vectors
    >>> u, v = vectors("u v")
    >>> make_identity_finding((u + v) @ (u - v), u.square - v.square, "any u and v").holds
    True
    >>> make_identity_finding((u + v) @ (u - v), u.square + v.square, "any u and v")
    Finding(left=1, relation='=', right=0, instance='any u and v: monomials of the difference')
    """
    words = f"{instance}: monomials of the difference"
    # Coefficients are exact, so a difference without terms is 0 and not merely small.
    return Finding(left=len((left - right).terms), relation="=", right=0, instance=words)
