"""Errors: every failure that a user can cause or repair.

    DpauditError
    ├── InvalidArgument      an argument outside its domain             (also a ValueError)
    ├── UnknownName          a name that nothing installed bears        (also a LookupError)
    ├── DataError            a file that is missing, damaged, or not what it promises
    ├── MechanismError       a mechanism that broke its contract
    ├── ConvergenceError     a solver that stopped short of its tolerance
    ├── UnsupportedEvent     an event that no theorem covers
    ├── BudgetExceeded       a release that does not fit into what is left of a budget
    └── UnsupportedSystem    a system without processes and files as POSIX has them

Each message is a single line that names the argument, its value and what was expected, so that the
command line can print it as it stands.
"""

from __future__ import annotations

import contextlib
import difflib
import itertools
import os
import re
import traceback
from collections.abc import Collection, Iterable
from pathlib import Path
from types import FrameType

from dpaudit._harmless import is_of_a_file, is_of_arithmetic, is_of_code, names_on_the_way
from dpaudit._packages import is_installed
from dpaudit.escaping import make_printable, one_line
from dpaudit.redaction import Record, are_shown, format_message_value

_SYSTEM = os.name


class DpauditError(Exception):
    r"""Base of every error this package raises on purpose.

    Its words are one line that a terminal shows as it stands, whatever a file put into them.

    Examples
    --------
    >>> print(DpauditError("own.csv: line 1: \x1b[2Jdamaged\nerror: none"))
    own.csv: line 1: �[2Jdamaged error: none
    """

    def __init__(self, *said: object) -> None:
        super().__init__(
            *(_to_printable_line(one) if isinstance(one, str) else one for one in said)
        )


class InvalidArgument(DpauditError, ValueError):
    """An argument outside its domain.

    Parameters
    ----------
    name
        The argument as its caller wrote it.
    value
        The given value; long values are shortened.
    expected
        A description of the accepted values.

    Examples
    --------
    >>> raise InvalidArgument("delta", 1.5, "a number in (0, 1)")
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: delta: got 1.5, expected a number in (0, 1)
    """

    def __init__(self, name: str, value: object, expected: str) -> None:
        self.name, self.value, self.expected = name, value, expected
        super().__init__(f"{name}: got {shorten_repr(value)}, expected {expected}")

    def __reduce__(self) -> tuple[type[InvalidArgument], tuple[str, str, str]]:
        # Errors cross process borders; the value may not pickle, its picture always does.
        return type(self), (self.name, VerbatimText(shorten_repr(self.value)), self.expected)


def one_of(known: Iterable[str], given: str) -> str:
    """Return the possible values, and the probable one if something looks like it.

    Examples
    --------
    >>> one_of(["seed", "trials"], "trails")
    "one of: seed, trials; did you mean 'trials'?"
    """
    listed = list(known)
    close = difflib.get_close_matches(given, listed, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return f"one of: {', '.join(listed) or 'none is installed'}{hint}"


class UnknownName(DpauditError, LookupError):
    """A name nobody registered: a claim, an attack, a dataset."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        super().__init__(f"{kind}: got {name!r}, expected {one_of(self.known, name)}")

    def __reduce__(self) -> tuple[type[UnknownName], tuple[str, str, list[str]]]:
        return type(self), (self.kind, self.name, self.known)


class DataError(DpauditError):
    """A data file is missing, damaged, or of another form than its name promises."""


class MechanismError(DpauditError):
    """A mechanism broke its contract: wrong shape, non-finite output, or an exception."""


class ConvergenceError(DpauditError):
    """A solver stopped short of its stated tolerance; the message names the trial."""


class UnsupportedEvent(DpauditError):
    """No theorem covers this event, so no guarantee is given."""


class BudgetExceeded(DpauditError):
    """A release does not fit into the rest of a budget, so nothing was charged."""


class UnsupportedSystem(DpauditError):
    """A system that has no processes and files as POSIX has them."""


def require_posix(what: str) -> None:
    """Refuse a system outside the POSIX family, on which a mechanism would fail later.

    Parameters
    ----------
    what
        What needs it.

    Raises
    ------
    UnsupportedSystem
        The system is another one.
    """
    if _SYSTEM != "posix":
        raise UnsupportedSystem(
            f"{what}: got a system called {_SYSTEM!r}, expected Linux, macOS or another POSIX "
            "system (on Windows: WSL): mechanisms run in processes that are forked"
        )


# What other people's code says when it fails may be a record: `float('Alice')` does.
_OF_SYSTEM = re.compile(r"\[Errno (\d{1,4})\]")
_WORDS = 100_000  # characters that are looked at: a text may be of any size
_MOST = 10_000  # entries of a list or the like that are looked at, of which a line has few
_HIDDEN = "(show_records=True, or --show-records, shows its words)"


def what_happened(error: BaseException) -> str:
    r"""Return on one line how code of somebody else ended, and in which line of it.

    What leaves the program is called by what it does, an error by its type, and by its words where
    records are shown or the words cannot hold any.

    Examples
    --------
    >>> print(what_happened(SystemExit(0)))
    ended the program with sys.exit(0)
    >>> try:
    ...     exec(compile("pass\nfloat('Alice')", "theirs.py", "exec"), {})
    ... except ValueError as error:
    ...     print(what_happened(error))
    ValueError: (show_records=True, or --show-records, shows its words) in theirs.py, line 2
    """
    place = place_of(error)
    return f"{_how_it_ended(error)} in {place}" if place else _how_it_ended(error)


def _how_it_ended(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        # A number is a status; a text may say anything, and with it the values of records.
        status = error.code if error.code is None or type(error.code) is int else Record(error.code)
        given = "" if status is None else shorten_repr(status)
        return f"ended the program with sys.exit({given})"
    words = words_of(error)
    if words is None:
        return f"{type(error).__name__}: its text cannot be shown"
    harmless = hasattr(error, _OF_NO_RECORD) or is_of_a_file(error)
    written = () if harmless else names_on_the_way(error)
    shown = shorten_repr(words) if harmless else format_error_words(type(error), words, written)
    return f"{type(error).__name__}: {shown}"


def let_be_shown(error: BaseException) -> None:
    """Let messages have the words of an error, which were seen to hold no record.

    Examples
    --------
    >>> error = ValueError("no such column")
    >>> let_be_shown(error)
    >>> what_happened(error)
    "ValueError: 'no such column'"
    """
    with contextlib.suppress(Exception):  # one that has no attributes keeps its words to itself
        setattr(error, _OF_NO_RECORD, True)


_OF_NO_RECORD = "_dpaudit_of_no_record"


def format_error_words(kind: type[BaseException], words: str, written: Collection[str] = ()) -> str:
    """Return the words of an error as a message may have them: in full if they hold no record.

    Parameters
    ----------
    kind, words
        Of the error.
    written
        Names in the code on the way to it: such a name in the words is no record.

    Examples
    --------
    >>> print(format_error_words(NameError, "name 'nupmy' is not defined", {"nupmy"}))
    "name 'nupmy' is not defined"
    >>> print(format_error_words(NameError, "name 'Alice' is not defined"))
    (show_records=True, or --show-records, shows its words)
    >>> print(
    ...     format_error_words(
    ...         FileNotFoundError, "[Errno 2] No such file or directory: 'Alice.csv'"
    ...     )
    ... )
    [Errno 2] No such file or directory (show_records=True, or --show-records, shows its words)
    """
    if are_shown() or is_of_code(words, written):
        return shorten_repr(words)
    number = _OF_SYSTEM.match(words) if issubclass(kind, OSError) else None
    if number is None:
        return _HIDDEN
    return f"{number[0]} {os.strerror(int(number[1]))} {_HIDDEN}"  # a file may be named after one


def calls_of(error: BaseException) -> str:
    """Return the calls that led to an error and to those behind it, with each one's safe words.

    Examples
    --------
    >>> print(calls_of(ValueError("Alice, 37")), end="")
    ValueError: (show_records=True, or --show-records, shows its words)
    """
    before, parts = error.__cause__, []
    link = "\nThe above exception was the direct cause of the following exception:\n\n"
    # As Python's own tracebacks do: a cause that is stated comes before the error during which
    # this one arose.
    if before is None and not error.__suppress_context__:
        before = error.__context__
        link = "\nDuring handling of the above exception, another exception occurred:\n\n"
    if before is not None:
        parts += [calls_of(before), link]
    if error.__traceback__ is not None:
        calls = traceback.format_tb(error.__traceback__)
        parts += ["Traceback (most recent call last):\n", *calls]
    return "".join([*parts, *(f"{line}\n" for line in (_last_line(error), *_get_own_notes(error)))])


def _last_line(error: BaseException) -> str:
    if type(error).__module__.partition(".")[0] == "dpaudit":
        with contextlib.suppress(Exception, SystemExit):
            return f"{type(error).__name__}: {error}"
    return _how_it_ended(error)


def _get_own_notes(error: BaseException) -> list[str]:
    """Return the notes of an error of ours."""
    ours = type(error).__module__.partition(".")[0] == "dpaudit"
    return list(getattr(error, "__notes__", ())) if ours else []


def warning_line(message: Warning | str, category: type[Warning], file: str, line: int) -> str:
    """Return a warning on one line: ours, with its words, others as `what_happened` says errors.

    Examples
    --------
    >>> print(warning_line("Alice is 37", UserWarning, "a.py", 2))
    warning: UserWarning: (show_records=True, or --show-records, shows its words) in a.py, line 2
    """
    words = _to_printable_line(str(message))
    if category.__module__.partition(".")[0] == "dpaudit":
        return f"warning: {words}"
    of_use = issubclass(category, _OF_USE) and is_installed(file)
    said = words if of_use or is_of_arithmetic(words) else format_error_words(category, words)
    return f"warning: {category.__name__}: {said} in {_to_relative_file(file)}, line {line}"


# Of versions: no value is in their words.
_OF_USE = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


def words_of(error: BaseException) -> str | None:
    r"""Return the words of an error, on one line; None if it cannot say them.

    Examples
    --------
    >>> words_of(ValueError("two\nlines"))
    'two lines'
    """
    with contextlib.suppress(Exception, SystemExit):  # making the text runs their code too
        return _to_printable_line(str(error)[:_WORDS])
    return None


def _to_printable_line(text: str) -> str:
    return make_printable(" ".join(text.splitlines()))


def place_of(error: BaseException) -> str | None:
    """Return file and line of the last call that is not dpaudit's, None if there is none.

    A library's line is named only where nobody else's code is on the way to the error.

    Examples
    --------
    >>> place_of(ValueError("never raised")) is None
    True
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_to_relative_file(error.filename)}, line {error.lineno}"
    calls = [(frame, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    theirs = [(f.f_code.co_filename, line) for f, line in calls if not _is_ours(f)]
    own = [place for place in theirs if not _is_library(place[0])] or _select_outermost_calls(calls)
    return f"{_to_relative_file(own[-1][0])}, line {own[-1][1]}" if own else None


def _select_outermost_calls(calls: list[tuple[FrameType, int]]) -> list[tuple[str, int]]:
    """Return the calls inside the first package that was called after dpaudit's last line."""
    last = max((i for i, (frame, _) in enumerate(calls) if _is_ours(frame)), default=-1)
    after = [(f, line) for f, line in calls[last + 1 :] if not _is_frozen(f.f_code.co_filename)]
    return [
        (f.f_code.co_filename, n)
        for f, n in after
        if _get_frame_package(f) == _get_frame_package(after[0][0])
    ]


def _get_frame_package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_ours(frame: FrameType) -> bool:
    return _get_frame_package(frame) == "dpaudit"


def _is_library(file: str) -> bool:
    """Return whether a file is Python's or an installed package's: seldom the place to repair."""
    return _is_frozen(file) or is_installed(file)


def _is_frozen(file: str) -> bool:
    return file.startswith("<frozen ")


def _to_relative_file(file: str) -> str:
    """Return the name of a file from here, if it is below; else all of it."""
    with contextlib.suppress(ValueError, OSError):
        return str(Path(file).relative_to(Path.cwd()))
    return file


class VerbatimText(str):
    """Words to show in place of a value, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _truncate_long_value(value: object) -> object:
    """Return the beginning of a long value, of which no more is shown; others as they are."""
    kind = type(value)
    # The exact type is asked for: a subclass may have a `len` or an iterator of its own that
    # never ends.
    if kind is str and len(str(value)) > _WORDS:
        return str(value)[:_WORDS]
    if kind in (dict, set, frozenset, list, tuple) and len(value) > _MOST:  # type: ignore[arg-type]
        first = itertools.islice(value, _MOST)  # type: ignore[call-overload]
        return {key: value[key] for key in first} if kind is dict else kind(first)  # type: ignore[index]
    return value


def shorten_repr(value: object, width: int = 80) -> str:
    """Return ``repr(value)`` on one line of at most ``width`` characters; no arrays but as records.

    Examples
    --------
    >>> shorten_repr("a" * 200, width=12)
    "'aaaaaaaa..."
    """
    line = one_line(format_message_value(_truncate_long_value(value)))
    return line if len(line) <= width else line[: width - 3] + "..."


def shorten_path(path: str, width: int = 80) -> str:
    """Return ``repr(path)`` on one line, of a long one its end, which says which file it is.

    Examples
    --------
    >>> shorten_path("/home/ann/work/mine.py", width=15)
    "'...rk/mine.py'"
    """
    room = width - 2  # between the quotes
    return shorten_repr(path if len(path) <= room else f"...{path[3 - room :]}", width)
