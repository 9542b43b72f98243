"""Arrays that a function makes itself: forms, so that forms can be written into them.

``np.zeros`` and its like give plain arrays, into which no form can be written, and ``np.array`` of
a list has no protocol by which an entry could say what it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpaudit.affine.form import Form, Tracing, holds_form
from dpaudit.freezing import tracked

_MADE = ("zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like", "full_like")
_CONVERTED = ("array", "asarray", "asanyarray", "ascontiguousarray")


@contextmanager
def own_constructors(tracing: Tracing) -> Iterator[None]:
    """Let constructors of numpy that code of no library calls return forms."""
    originals = {name: getattr(np, name) for name in (*_MADE, *_CONVERTED)}
    for name in _MADE:
        setattr(np, name, _maker(tracing, originals[name]))
    for name in _CONVERTED:
        setattr(np, name, _converter(tracing, originals[name]))
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
            first, *others = given
            made = original(first.value if isinstance(first, Form) else first, *others, **named)
            return tracing.form_of(made)
        return tracing.public(original(*given, **named))

    return make


def _converter(tracing: Tracing, original: Callable[..., Any]) -> Callable[..., Any]:
    def convert(value: Any, *given: Any, **named: Any) -> Any:
        if not holds_form(value):
            return original(value, *given, **named)
        dtype = given[0] if given else named.get("dtype")
        found = tracing.form_of(value)
        found = found if original is _AS_ARRAY else found.copy()
        return found if dtype is None else found.astype(dtype)

    return convert


_AS_ARRAY = np.asarray


def _is_of_a_library(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.startswith("dpaudit.") or tracked.is_installed(frame.f_code.co_filename)
