"""Arrays that a function makes itself: forms, so that forms can be written into them.

``np.zeros`` and its like give plain arrays, into which no form can be written, and ``np.array`` of
a list has no protocol by which an entry could say what it is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from importlib.machinery import EXTENSION_SUFFIXES
from types import ModuleType
from typing import Any

import numpy as np

from dpaudit.affine.form import Form, Tracing, holds_form
from dpaudit.freezing import tracked

_MADE = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
_CONVERTED = ("array", "asarray", "asanyarray", "ascontiguousarray")
# Functions that take lists for arrays, of which numpy does not ask the entries what they are.
_OF_ARRAYS = (
    *("sum", "mean", "average", "cumsum", "diff", "dot", "vdot", "inner", "outer", "kron"),
    *("tensordot", "convolve", "roll", "flip", "take", "repeat", "tile", "reshape", "ravel"),
    *("transpose", "squeeze", "pad", "broadcast_to", "atleast_1d", "atleast_2d"),
    *("shape", "ndim", "size"),
)
_JOINED = ("concatenate", "stack", "vstack", "hstack", "dstack", "column_stack")
_COMPILED = tuple(EXTENSION_SUFFIXES)
# Functions of scipy that are linear in the columns of one argument, and which one that is.
_OF_COLUMNS = {
    **{f"linalg.{name}": 1 for name in ("solve", "cho_solve", "lu_solve", "solve_triangular")},
    **{f"linalg.{name}": 1 for name in ("solve_toeplitz", "matmul_toeplitz", "solveh_banded")},
    "linalg.solve_banded": 2,
    "signal.lfilter": 2,
}


@contextmanager
def own_constructors(tracing: Tracing, function: Any) -> Iterator[None]:
    """Let constructors of numpy that code of no library calls return forms.

    So do functions that code has imported by name: they are replaced in modules of no library, and
    where the globals of ``function`` hold them. Compiled modules, whose calls have no frame and
    which take what they get for an array, go on with those of numpy.
    """
    instead = {id(one): (one, new) for one, new in _replacements(tracing)}
    undo = list[Callable[[], None]]()
    try:
        _spare_compiled(undo)
        for held in _holders(function):
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


def _replacements(tracing: Tracing) -> Iterator[tuple[Any, Any]]:
    """Yield functions and what stands in for them."""
    for names, instead in ((_MADE, _maker), (_CONVERTED, _converter), (_OF_ARRAYS, _caller)):
        for name in names:
            yield getattr(np, name), instead(tracing, getattr(np, name))
    for name in _JOINED:
        yield getattr(np, name), _joiner(tracing, getattr(np, name))
    for path, place in _OF_COLUMNS.items():
        room, name = path.split(".")
        if (module := sys.modules.get(f"scipy.{room}")) is not None:
            yield getattr(module, name), _mapper(tracing, getattr(module, name), place)
    yield np.r_, _Joiner(tracing, np.r_, np.concatenate)
    yield np.c_, _Joiner(tracing, np.c_, np.column_stack)


def _holders(function: Any) -> list[dict[str, Any]]:
    """Return the names of numpy, of two rooms of scipy, and of all code that is of no library."""
    rooms = (sys.modules.get(f"scipy.{room}") for room in ("linalg", "signal"))
    held = [vars(np), getattr(inspect.unwrap(function), "__globals__", {})]
    held += [vars(room) for room in rooms if room is not None]
    for name, module in list(sys.modules.items()):
        names = getattr(module, "__dict__", None)
        if isinstance(names, dict) and name.partition(".")[0] != "dpaudit":
            if not tracked.is_installed(getattr(module, "__file__", None) or "<frozen"):
                held.append(names)
    return held


def _maker(tracing: Tracing, original: Callable[..., Any]) -> Callable[..., Any]:
    def make(*given: Any, **named: Any) -> Any:
        if _is_of_a_library(sys._getframe(1)):
            return original(*given, **named)
        if holds_form(list(given)) or holds_form(list(named.values())):
            return _make_of_forms(tracing, original, given, named)
        made = original(*given, **named)
        return made if made.dtype.kind in "biu" else tracing.public(made)

    return make


def _make_of_forms(tracing: Tracing, original: Any, given: Any, named: Any) -> Form:
    """Return an array of the shape of a form, or one that is full of a form."""
    first, *others = given
    fill = others[0] if others else named.get("fill_value")
    if original in (_FULL, _FULL_LIKE) and holds_form([fill]):
        form = tracing.form_of(fill)
        shape = first if original is _FULL else np.shape(first)
        ids, value = (np.broadcast_to(one, shape) for one in (form.ids, form.value))
        return Form(tracing, ids.copy(), value.copy())
    made = original(first.value if isinstance(first, Form) else first, *others, **named)
    return tracing.form_of(made)


def _converter(tracing: Tracing, original: Callable[..., Any]) -> Callable[..., Any]:
    def convert(value: Any, *given: Any, **named: Any) -> Any:
        of_sparse = original is _AS_ANY_ARRAY and isinstance(value, Form) and not value.is_public
        if of_sparse and _is_sparse(sys._getframe(1)):
            return np.full((), None)  # of objects: so the product is left to the form
        if not holds_form(value) or _is_of_another_package(sys._getframe(1)):
            return original(value, *given, **named)
        if len(given) > 1 or named.keys() - {"dtype", "copy", "order"}:
            name = original.__name__
            raise tracing.refuse(f"numpy.{name} is given arguments that are not followed")
        dtype = given[0] if given else named.get("dtype")
        found = tracing.form_of(value)
        shares = original in _SHARING and found.is_array
        found = found if shares else found.as_array()
        return found if dtype is None else found.astype(dtype)

    return convert


def _caller(tracing: Tracing, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def call(*given: Any, **named: Any) -> Any:
        def form_of(value: Any) -> Any:
            listed = isinstance(value, list | tuple) and holds_form(value)
            return tracing.form_of(value) if listed else value

        return original(*map(form_of, given), **{key: form_of(one) for key, one in named.items()})

    return call


def _joiner(tracing: Tracing, original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def join(arrays: Any, *given: Any, **named: Any) -> Any:
        if isinstance(arrays, list | tuple) and holds_form(arrays):
            arrays = [tracing.form_of(one) for one in arrays]
        return original(arrays, *given, **named)

    return join


def _mapper(tracing: Tracing, original: Callable[..., Any], place: int) -> Callable[..., Any]:
    """Return what maps the columns of a form as all unit vectors are mapped."""

    @wraps(original)
    def apply(*given: Any, **named: Any) -> Any:
        if len(given) <= place or not holds_form(given[place]):
            return original(*given, **named)
        form = tracing.form_of(given[place])
        if original.__name__ == "lfilter":
            if named.keys() - {"axis"} or named.get("axis", -1) % max(form.ndim, 1):
                reason = "scipy.signal.lfilter has a state, or goes along no first axis"
                raise tracing.refuse(reason)
            named = {"axis": 0}
        before, after = given[:place], given[place + 1 :]
        found = original(*before, np.eye(len(form)), *after, **named) @ form
        return found.laid_out_as(original(*before, form.value, *after, **named))

    return apply


@dataclass(frozen=True)
class _Joiner:
    """``np.r_`` or ``np.c_``, with forms among what is joined."""

    tracing: Tracing
    original: Any
    join: Callable[[list[Any]], Any]

    def __getitem__(self, key: Any) -> Any:
        parts = list(key) if isinstance(key, tuple) else [key]
        if not holds_form(parts):
            return self.original[key]
        if any(isinstance(one, str | slice) for one in parts):
            raise self.tracing.refuse("numpy.r_ or numpy.c_ joins data or noise and a range")
        return self.join([np.atleast_1d(self.tracing.form_of(one)) for one in parts])


_AS_ANY_ARRAY = np.asanyarray
_SHARING = (np.asarray, np.asanyarray)  # memory of what is an array
_FULL, _FULL_LIKE = np.full, np.full_like


def _is_of_a_library(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.startswith("dpaudit.") or _is_of_another_package(frame)


def _is_sparse(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__", "")).startswith("scipy.sparse.")


def _is_of_another_package(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return not name.startswith("dpaudit.") and tracked.is_installed(frame.f_code.co_filename)
