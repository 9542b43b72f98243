"""Numbers of a replay with the digits that its pages show."""

from __future__ import annotations

from decimal import Context


def in_four_digits(value: float, rounding: str) -> float:
    """Return a number with the digits that pages show, rounded as said.

    Examples
    --------
    >>> from decimal import ROUND_CEILING, ROUND_FLOOR
    >>> in_four_digits(8675309.4242, ROUND_CEILING), in_four_digits(0.12345, ROUND_FLOOR)
    (8676000.0, 0.1234)
    """
    return float(Context(prec=4, rounding=rounding).create_decimal_from_float(value))
