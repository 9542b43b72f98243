"""Schedules of a parameter over iterations and nodes: eta_i(t), theta_i(t), alpha_i(t).

They enter zhang2018's eq. (10), (11) and (24). All three schedules of its section 5 are here:
constant, geometric, and any given table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText


class Schedule(Protocol):
    """A public rule for positive numbers, one an iteration and node."""

    def values(self, iterations: int, nodes: int) -> Array:
        """Return the numbers, shape ``(T, n)``."""
        ...


@dataclass(frozen=True)
class Constant:
    """The same number at every node and iteration.

    Examples
    --------
    >>> Constant(0.5).values(2, 3)
    array([[0.5, 0.5, 0.5],
           [0.5, 0.5, 0.5]])
    """

    value: float

    def __post_init__(self) -> None:
        check.require_positive("Constant.value", self.value)

    def values(self, iterations: int, nodes: int) -> Array:
        """Return the numbers, shape ``(T, n)``."""
        return np.full((iterations, nodes), float(self.value))


@dataclass(frozen=True)
class Geometric:
    """``first_i ratio_i^(t-1)`` at iteration t = 1, 2, ...; one number is every node's.

    Examples
    --------
    >>> Geometric(0.5, (1.0, 2.0)).values(3, 2)
    array([[0.5, 0.5],
           [0.5, 1. ],
           [0.5, 2. ]])
    """

    first: float | Sequence[float]
    ratio: float | Sequence[float]

    def __post_init__(self) -> None:
        for name in ("first", "ratio"):
            object.__setattr__(self, name, _one_or_each(name, getattr(self, name)))

    def values(self, iterations: int, nodes: int) -> Array:
        """Return the numbers, shape ``(T, n)``."""
        first, ratio = np.atleast_1d(self.first), np.atleast_1d(self.ratio)
        for name, numbers in (("first", first), ("ratio", ratio)):
            if len(numbers) not in (1, nodes):
                given = VerbatimText(f"{len(numbers)} numbers")
                raise InvalidArgument(name, given, f"one number, or one for each of {nodes} nodes")
        # Overflow and underflow are found below and refused, with the ratio that led there.
        with np.errstate(over="ignore", under="ignore"):
            values = first * ratio ** np.arange(iterations)[:, None]
        if not (np.isfinite(values).all() and (values > 0).all()):
            expected = f"numbers above 0 and finite after {iterations} iterations"
            raise InvalidArgument("ratio", self.ratio, expected)
        return np.asarray(np.broadcast_to(values, (iterations, nodes)))


@dataclass(frozen=True)
class TableSchedule:
    """Any table of positive numbers, one row an iteration and one column a node.

    Examples
    --------
    >>> TableSchedule(((0.5, 1.0), (0.6, 2.0))).values(1, 2)
    array([[0.5, 1. ]])
    """

    table: ArrayLike

    def __post_init__(self) -> None:
        array = check.finite_array("table", self.table, ndim=2)
        if not (array > 0).all():
            raise InvalidArgument("table", float(array.min()), "numbers above 0")
        # Tuples can be hashed, and nobody can change them from outside.
        object.__setattr__(self, "table", tuple(map(tuple, array.tolist())))

    def values(self, iterations: int, nodes: int) -> Array:
        """Return the first ``iterations`` rows, shape ``(T, n)``."""
        array = np.array(self.table, dtype=np.float64)
        if len(array) < iterations or array.shape[1] != nodes:
            expected = f"at least {iterations} rows of {nodes} numbers"
            raise InvalidArgument("table", VerbatimText(f"shape {array.shape}"), expected)
        return array[:iterations]


def as_schedule(name: str, value: float | Schedule) -> Schedule:
    """Return a schedule as it is, and a number as the `Constant` it stands for.

    Examples
    --------
    >>> as_schedule("dual_step", 0.5)
    Constant(value=0.5)
    >>> as_schedule("dual_step", 0.0)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: dual_step: got 0.0, expected a finite number above 0
    """
    # A dict has a method `values`, too, and a class has it before there is a schedule.
    if callable(getattr(value, "values", None)) and not isinstance(value, type | Mapping):
        return cast(Schedule, value)
    return Constant(check.require_positive(name, value))


def table_of(name: str, value: float | Schedule, iterations: int, nodes: int) -> Array:
    """Return the numbers of a schedule, shape ``(T, n)``; a refusal names the parameter.

    Examples
    --------
    >>> table_of("penalty", TableSchedule(((0.5, 1.0),)), 2, 2)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: penalty.table: got shape (1, 2), expected at least 2 rows of \
2 numbers
    """
    try:
        return as_schedule(name, value).values(iterations, nodes)
    except InvalidArgument as error:
        # The error names the parameter already, as it does for a plain number.
        if error.name == name:
            raise
        raise InvalidArgument(f"{name}.{error.name}", error.value, error.expected) from None


def _one_or_each(name: str, value: float | Sequence[float]) -> float | tuple[float, ...]:
    if isinstance(value, int | float | np.number):
        return check.require_positive(name, value)
    array = check.finite_array(name, value, ndim=1)
    if not (len(array) and (array > 0).all()):
        raise InvalidArgument(name, value, "numbers above 0")
    return tuple(array.tolist())
