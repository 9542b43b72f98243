"""Numbers of a table of parameters as rationals, and the root of a function of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator

from dpaudit.errors import InvalidArgument

if TYPE_CHECKING:
    from flint import fmpq_mat

    from dpaudit.accounting.pairs.composition import Bracket

Read = Callable[[float], Fraction]
"""A double as a number: the one that it stands for, or the one that it is."""

_DIGITS = 60


def _as_lists(given: Any) -> Any:
    """Return an array as lists."""
    return given.tolist() if hasattr(given, "tolist") else given


Numbers = Annotated[tuple[float, ...], BeforeValidator(_as_lists)]
Rows = Annotated[tuple[tuple[float, ...], ...], BeforeValidator(_as_lists)]


def rational_rows(name: str, rows: Sequence[Sequence[float]], read: Read) -> fmpq_mat:
    """Return rows of one length, read as rationals, or raise `InvalidArgument`."""
    from dpaudit.accounting.matrices.strategies import rational_matrix

    if len({len(row) for row in rows}) != 1 or not rows[0]:
        raise InvalidArgument(name, rows, "rows of one length, of one number at least")
    return rational_matrix(rows, read)


def bracket_of_root(squared: Callable[[Read], tuple[Any, Any]]) -> Bracket:
    """Return roots that hold for the numbers that doubles stand for and for the doubles.

    Where what they stand for has a root that a double stands for, it is that double, as ten
    releases of 0.1 spend 1.
    """
    from dpaudit.accounting.matrices.sensitivity import root_down, root_up
    from dpaudit.accounting.pairs.composition import Bracket
    from dpaudit.guarantees.rounding import to_written_fraction
    from dpaudit.reals import precision

    changed = False

    def meant(value: float) -> Fraction:
        nonlocal changed
        changed |= to_written_fraction(value) != Fraction(value)
        return to_written_fraction(value)

    with precision(_DIGITS):
        lower, upper = squared(meant)
        low, high = root_down(lower), root_up(upper)
        # Where some double stands for another number, and the root is not exact, it has to hold for
        # both.
        if changed and low < high:
            lower, upper = squared(Fraction)
            low, high = min(low, root_down(lower)), max(high, root_up(upper))
    return Bracket(low, high)
