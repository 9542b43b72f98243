"""Arrays that a function makes itself: bounded ones, so that noisy values can be written into them.

``np.zeros`` and its like give plain arrays, into which nothing bounded can be written, and
``np.array`` of a list has no protocol by which an entry could say what it is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from dpaudit.freezing import tracked_noise
from dpaudit.tracing.bounded_arrays import BoundedArray, BoundedReading, as_spread
from dpaudit.tracing.spread import make_constant_spread

_MADE = ("zeros", "ones", "empty", "full")
_CONVERTED = ("array", "asarray", "asanyarray", "ascontiguousarray")


@contextmanager
def own_constructors(reading: BoundedReading) -> Iterator[None]:
    """Let constructors of numpy that code of no library calls return bounded arrays."""
    originals = {name: getattr(np, name) for name in (*_MADE, *_CONVERTED)}
    for name in _MADE:
        setattr(np, name, _make_bounded_maker(reading, originals[name]))
    for name in _CONVERTED:
        setattr(np, name, _make_bounded_converter(reading, originals[name]))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(np, name, original)


def _make_bounded_maker(
    reading: BoundedReading, original: Callable[..., Any]
) -> Callable[..., Any]:
    def make(*given: Any, **named: Any) -> Any:
        # Libraries rely on their own arrays being plain, and numpy's functions in Python call these
        # constructors as well.
        if _is_of_a_library(sys._getframe(1)):
            return original(*given, **named)
        plain = [as_spread(reading, one).sample if _is_bounded(one) else one for one in given]
        return BoundedArray(reading, make_constant_spread(original(*plain, **named)))

    return make


def _make_bounded_converter(
    reading: BoundedReading, original: Callable[..., Any]
) -> Callable[..., Any]:
    def convert(value: Any, *given: Any, **named: Any) -> Any:
        if not _holds_bounded(value):
            return original(value, *given, **named)
        found = BoundedArray(reading, as_spread(reading, value))
        dtype = given[0] if given else named.get("dtype")
        return found if dtype is None else found.astype(dtype)

    return convert


def _is_of_a_library(frame: Any) -> bool:
    name = frame.f_globals.get("__name__", "")
    return name.startswith("dpaudit.") or tracked_noise.is_installed(frame.f_code.co_filename)


def _is_bounded(value: Any) -> bool:
    return isinstance(value, BoundedArray)


def _holds_bounded(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_holds_bounded, value))
    return _is_bounded(value)
