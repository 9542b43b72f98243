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

import contextlib
import difflib
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType

from dpaudit.text import one_line, printable

_STANDARD = sysconfig.get_path("stdlib")


class DpauditError(Exception):
    r"""Base of every error this package raises on purpose.

    Its words are one line that a terminal shows as it stands, whatever a file put into them.

    Examples
    --------
    >>> print(DpauditError("own.csv: line 1: \x1b[2Jdamaged\nerror: none"))
    own.csv: line 1: �[2Jdamaged error: none
    """

    def __init__(self, *said: object) -> None:
        super().__init__(*(_line(one) if isinstance(one, str) else one for one in said))


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


def what_happened(error: BaseException) -> str:
    r"""Return on one line how code of somebody else ended, and in which line of it.

    What leaves the program is called by what it does, an error by its type and its words.

    Examples
    --------
    >>> print(what_happened(SystemExit(0)))
    ended the program with sys.exit(0)
    >>> try:
    ...     exec(compile("pass\nraise OSError('full')", "theirs.py", "exec"), {})
    ... except OSError as error:
    ...     print(what_happened(error))
    OSError: 'full' in theirs.py, line 2
    """
    place = place_of(error)
    return f"{_how_it_ended(error)} in {place}" if place else _how_it_ended(error)


def _how_it_ended(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        given = "" if error.code is None else shorten(error.code)
        return f"ended the program with sys.exit({given})"
    words = words_of(error)
    shown = "its text cannot be shown" if words is None else shorten(words)
    return f"{type(error).__name__}: {shown}"


def words_of(error: BaseException) -> str | None:
    r"""Return what an error says, on one line; None if it cannot say it.

    Examples
    --------
    >>> words_of(ValueError("two\nlines"))
    'two lines'
    """
    with contextlib.suppress(Exception, SystemExit):  # making the text runs their code too
        return _line(str(error))
    return None


def _line(text: str) -> str:
    return printable(" ".join(text.splitlines()))


def place_of(error: BaseException) -> str | None:
    """Return file and line of the last call that is not dpaudit's, None if there is none.

    A library's line is named only where nobody else's code is on the way to the error.

    Examples
    --------
    >>> place_of(ValueError("never raised")) is None
    True
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_short(error.filename)}, line {error.lineno}"
    calls = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [(f.f_code.co_filename, line) for f, line in calls if not _is_ours(f)]
    own = [place for place in theirs if not _is_library(place[0])] or _outermost(calls)
    return f"{_short(own[-1][0])}, line {own[-1][1]}" if own else None


def _outermost(calls: list[tuple[FrameType, int]]) -> list[tuple[str, int]]:
    """Return the calls inside the first package that was called after dpaudit's last line."""
    last = max((i for i, (frame, _) in enumerate(calls) if _is_ours(frame)), default=-1)
    after = [(f, line) for f, line in calls[last + 1 :] if not _is_frozen(f.f_code.co_filename)]
    return [(f.f_code.co_filename, n) for f, n in after if _package(f) == _package(after[0][0])]


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_ours(frame: FrameType) -> bool:
    return _package(frame) == "dpaudit"


def _is_library(file: str) -> bool:
    """Return whether a file is Python's or an installed package's: seldom the place to repair."""
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or file.startswith(_STANDARD) or _is_frozen(file)


def _is_frozen(file: str) -> bool:
    return file.startswith("<frozen ")


def _short(file: str) -> str:
    """Return the name of a file from here, if it is below; else all of it."""
    with contextlib.suppress(ValueError, OSError):
        return str(Path(file).relative_to(Path.cwd()))
    return file


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
    line = one_line(repr(value))
    return line if len(line) <= width else line[: width - 3] + "..."
