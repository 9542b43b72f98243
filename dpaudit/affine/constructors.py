"""Arrays that a function makes itself: forms, so that forms can be written into them.

``np.zeros`` and its like give plain arrays, into which no form can be written, and ``np.array`` of
a list has no protocol by which an entry could say what it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
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


@contextmanager
def own_constructors(tracing: Tracing) -> Iterator[None]:
    """Let constructors of numpy that code of no library calls return forms."""
    originals = {name: getattr(np, name) for name in (*_MADE, *_CONVERTED, *_OF_ARRAYS)}
    for name in _MADE:
        setattr(np, name, _maker(tracing, originals[name]))
    for name in _CONVERTED:
        setattr(np, name, _converter(tracing, originals[name]))
    for name in _OF_ARRAYS:
        setattr(np, name, _caller(tracing, originals[name]))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(np, name, original)


def _maker(tracing: Tracing, original: Callable[..., Any]) -> Callable[..., Any]:
    def make(*given: Any, **named: Any) -> Any:
        if _is_of_a_library(sys._getframe(1)):
            return original(*given, **named)
        if holds_form(list(given)) or holds_form(list(named.values())):
            return _make_of_forms(tracing, original, given, named)
        return tracing.public(original(*given, **named))

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
        if not holds_form(value):
            return original(value, *given, **named)
        dtype = given[0] if given else named.get("dtype")
        found = tracing.form_of(value)
        found = found if original is _AS_ARRAY else found.copy()
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


_AS_ARRAY = np.asarray
_FULL, _FULL_LIKE = np.full, np.full_like


def _is_of_a_library(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.startswith("dpaudit.") or tracked.is_installed(frame.f_code.co_filename)
