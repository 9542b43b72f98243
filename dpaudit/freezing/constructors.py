"""Arrays that a function makes itself: stand-ins of arrays, into which others can be written.

``np.zeros`` and its like give plain arrays, into which no stand-in can be written, and ``np.array``
of a list has no protocol by which an entry could say what it is. So these functions are replaced,
in the modules of no library, while a function is run on stand-ins.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any, Protocol

import numpy as np

from . import tracked_noise

MADE = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
CONVERTED = ("array", "asarray", "asanyarray", "ascontiguousarray")
JOINED = ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")
_COMPILED = tuple(EXTENSION_SUFFIXES)
_AS_ANY_ARRAY = np.asanyarray
_IN_ROWS = np.ascontiguousarray
_SHARING = (np.asarray, np.asanyarray)  # memory of what is an array


class StandIns(Protocol):
    """Stand-ins of arrays, and the results of constructors on them."""

    def holds(self, value: Any) -> bool:
        """Return whether nested lists and tuples hold one."""

    def of(self, value: Any) -> Any:
        """Return a number, an array or nested lists of such as one."""

    def own(self, found: Any) -> Any:
        """Return an array of the same entries, of its own memory."""

    def lying_in_rows(self, found: Any) -> Any:
        """Return an array that lies row after row: itself, or a copy."""

    def is_array(self, found: Any) -> bool:
        """Return whether one is an array, and no number."""

    def of_made(self, made: Any) -> Any:
        """Return the stand-in for an array of plain numbers that was made."""

    def of_converted(self, value: Any, made: Any) -> Any:
        """Return the stand-in for an array to which plain numbers were converted."""

    def make(self, original: Any, given: Any, named: Any) -> Any:
        """Return the result of a constructor on arguments that hold stand-ins."""

    def is_hidden(self, value: Any) -> bool:
        """Return whether something is a stand-in of numbers that are not public."""

    def refusal(self, reason: str) -> Exception:
        """Note a refusal, and return the error to raise for it."""


@contextmanager
def replace_functions(
    replacements: Iterable[tuple[Any, Any]], function: Any, rooms: Iterable[str] = ()
) -> Iterator[None]:
    """Replace functions in numpy, in rooms of scipy, and where code of no library holds them.

    Compiled modules, whose calls have no frame and which take what they get for an array, go on
    with those of numpy.
    """
    instead = {id(one): (one, new) for one, new in replacements}
    undo = list[Callable[[], None]]()
    try:
        _spare_compiled(undo)
        for held in _holders(function, rooms):
            for name, value in list(held.items()):
                original, new = instead.get(id(value), (None, None))
                if original is value and new is not None:
                    undo.append(partial(held.__setitem__, name, value))
                    held[name] = new
        yield
    finally:
        for one in undo:
            one()


def _spare_compiled(undo: list[Callable[[], None]]) -> None:
    """Give modules that are compiled a numpy of their own, as it is now."""
    own = ModuleType(np.__name__)
    vars(own).update(vars(np))
    for module in list(sys.modules.values()):
        if str(getattr(module, "__file__", None)).endswith(_COMPILED):
            names = vars(module)
            for name in [name for name, value in names.items() if value is np]:
                undo.append(partial(names.__setitem__, name, np))
                names[name] = own


def _holders(function: Any, rooms: Iterable[str]) -> list[dict[str, Any]]:
    """Return the names of numpy, of rooms of packages, and of all code that is of no library."""
    # The function's own globals as well: a module that was run from text is in no list of modules.
    held = [vars(np), getattr(inspect.unwrap(function), "__globals__", {})]
    held += [vars(sys.modules[room]) for room in rooms if room in sys.modules]
    for name, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict) and name.partition(".")[0] != "dpaudit":
            if not tracked_noise.is_installed(getattr(module, "__file__", None) or "<frozen"):
                held.append(names)
    return held


def common_replacements(stand_ins: StandIns, of_arrays: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield constructors, functions of arrays and joiners of numpy, and their replacements."""
    for name in MADE:
        yield getattr(np, name), maker(stand_ins, getattr(np, name))
    for name in CONVERTED:
        yield getattr(np, name), converter(stand_ins, getattr(np, name))
    for function in of_arrays:
        yield function, caller(stand_ins, function)
    for name in JOINED:
        yield getattr(np, name), joiner(stand_ins, getattr(np, name))
    yield np.r_, Joiner(stand_ins, np.r_, np.concatenate)
    yield np.c_, Joiner(stand_ins, np.c_, np.column_stack)


def _standing_for(function: Callable[..., Any], original: Any) -> Callable[..., Any]:
    vars(function)["stands_for"] = original
    return function


def original_of(function: Any) -> Any:
    """Return the function of numpy for which another stands in, or itself."""
    return getattr(function, "stands_for", function)


def maker(stand_ins: StandIns, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a constructor whose arrays others can be written into."""

    @wraps(original)
    def make(*given: Any, **named: Any) -> Any:
        if is_of_a_library(sys._getframe(1)):
            return original(*given, **named)
        if stand_ins.holds(list(given)) or stand_ins.holds(list(named.values())):
            return stand_ins.make(original, given, named)
        made = original(*given, **named)
        return stand_ins.of_made(made) if isinstance(made, np.ndarray) else made

    return _standing_for(make, original)


def converter(stand_ins: StandIns, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a conversion to arrays that returns stand-ins unchanged."""

    @wraps(original)
    def convert(value: Any, *given: Any, **named: Any) -> Any:
        frame = sys._getframe(1)
        if original is _AS_ANY_ARRAY and stand_ins.is_hidden(value) and _is_sparse(frame):
            return np.full((), None)  # of objects: so the product is left to the stand-in
        if not stand_ins.holds(value) or _is_of_another_package(frame):
            found = original(value, *given, **named)
            return found if is_of_a_library(frame) else stand_ins.of_converted(value, found)
        return _convert(stand_ins, original, value, given, named)

    return _standing_for(convert, original)


def _convert(stand_ins: StandIns, original: Any, value: Any, given: Any, named: Any) -> Any:
    """Return a stand-in of the memory that numpy gives: that of the value where it can."""
    if (
        len(given) > 1
        or named.keys() - {"dtype", "copy", "order"}
        or named.get("order") not in (None, "K")
    ):
        name = original.__name__
        raise stand_ins.refusal(f"no rule covers these arguments of numpy.{name}")
    dtype = given[0] if given else named.get("dtype")
    found = stand_ins.of(value)
    # `asarray` shares memory with its argument, and `array` copies: writing into one of two shared
    # arrays has to show in the other.
    copies = named.get("copy", None if original in _SHARING else True)
    shares = copies is not True and stand_ins.is_array(found)
    if dtype is not None and np.dtype(dtype) != found.dtype:
        return found.astype(dtype)
    if original is _IN_ROWS:
        return stand_ins.lying_in_rows(found)
    return found if shares else stand_ins.own(found)


def caller(stand_ins: StandIns, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that takes lists of stand-ins for arrays."""

    @wraps(original)
    def call(*given: Any, **named: Any) -> Any:
        def of(value: Any) -> Any:
            listed = isinstance(value, list | tuple) and stand_ins.holds(value)
            return stand_ins.of(value) if listed else value

        return original(*map(of, given), **{key: of(one) for key, one in named.items()})

    return _standing_for(call, original)


def joiner(stand_ins: StandIns, original: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that joins lists of lists of stand-ins."""

    @wraps(original)
    def join(arrays: Any, *given: Any, **named: Any) -> Any:
        if isinstance(arrays, list | tuple) and stand_ins.holds(arrays):
            arrays = [stand_ins.of(one) for one in arrays]
        return original(arrays, *given, **named)

    return _standing_for(join, original)


@dataclass(frozen=True)
class Joiner:
    """``np.r_`` or ``np.c_``, with stand-ins among the joined values.

    Parameters
    ----------
    stand_ins
        What they are.
    original
        The object of numpy.
    join
        What it does to arrays.
    """

    stand_ins: StandIns
    original: Any
    join: Callable[[list[Any]], Any]

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        if not self.stand_ins.holds(parts):
            return self.original[key]
        if any(isinstance(one, str | slice) for one in parts):
            reason = "numpy.r_ or numpy.c_ joins data or noise and a range"
            raise self.stand_ins.refusal(reason)
        return self.join([np.atleast_1d(self.stand_ins.of(one)) for one in parts])


def is_of_a_library(frame: Any) -> bool:
    """Return whether a frame is of this package or of an installed one."""
    name = frame.f_globals.get("__name__", "")
    return name.startswith("dpaudit.") or _is_of_another_package(frame)


def _is_sparse(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse.")


def _is_of_another_package(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return not name.startswith("dpaudit.") and tracked_noise.is_installed(frame.f_code.co_filename)
