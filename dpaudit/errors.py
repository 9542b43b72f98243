"""Errors: every failure that a user can cause or repair.

    DpauditError
    ├── InvalidArgument      an argument outside its domain             (also a ValueError)
    ├── UnknownName          a name that nothing installed bears        (also a LookupError)
    ├── DataError            a file that is missing, damaged, or not what it promises
    ├── MechanismError       a mechanism that broke its contract
    ├── ConvergenceError     a solver that stopped short of its tolerance
    └── UnsupportedEvent     an event that no theorem covers

Each message is a single line that names the argument, its value and what was expected, so that the
command line can print it as it stands.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class DpauditError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidArgument(DpauditError, ValueError):
    """An argument outside its domain.

    Parameters
    ----------
    name
        The argument as its caller wrote it.
    value
        What was given; long values are shortened.
    expected
        What would have been accepted.

    Examples
    --------
    >>> raise InvalidArgument("delta", 1.5, "a number in (0, 1)")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: delta: got 1.5, expected a number in (0, 1)
    """

    def __init__(self, name: str, value: object, expected: str) -> None:
        self.name, self.value, self.expected = name, value, expected
        super().__init__(f"{name}: got {shorten(value)}, expected {expected}")

    def __reduce__(self) -> tuple[type[InvalidArgument], tuple[str, str, str]]:
        # Errors cross process borders; the value may not pickle, its picture always does.
        return type(self), (self.name, Shown(shorten(self.value)), self.expected)


class UnknownName(DpauditError, LookupError):
    """A name nobody registered: a claim, an attack, a dataset."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        close = difflib.get_close_matches(name, self.known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        listed = ", ".join(self.known) or "none is installed"
        super().__init__(f"{kind}: got {name!r}, expected one of: {listed}{hint}")

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, list[str]]]:
        return type(self), (self.kind, self.name, self.known)


class DataError(DpauditError):
    """A data file is missing, damaged, or not what its name promises."""


class MechanismError(DpauditError):
    """A mechanism broke its contract: wrong shape, non-finite output, or an exception."""


class ConvergenceError(DpauditError):
    """A solver stopped short of its stated tolerance; the message names the trial."""


class UnsupportedEvent(DpauditError):
    """No theorem covers this event, so no guarantee is given."""


class Shown(str):
    """Words to show in place of a value, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def shorten(value: object, width: int = 80) -> str:
    """Return ``repr(value)`` on one line of at most ``width`` characters.

    Examples
    --------
    >>> shorten("a" * 200, width=12)
    "'aaaaaaaa..."
    """
    line = " ".join(repr(value).split())
    return line if len(line) <= width else line[: width - 3] + "..."
