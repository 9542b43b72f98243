"""Mechanisms of packages: primitives that state their own claims.

What one draws inside is frozen and recorded too, as of the mechanism. The noise of one that returns
a number for a number is what it returned less what it was given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from . import recorder, tracked_noise
from .recorder import OWN, active

_SAID = ("epsilon", "delta", "sensitivity")


def replace(undo: list[Callable[[], None]]) -> None:
    """Replace the mechanisms of the packages that are loaded, in place."""
    for kind in _diffprivlib():
        _wrap(kind, "randomise", "diffprivlib", undo)
    opendp = sys.modules.get("opendp.mod")
    measurement = getattr(opendp, "Measurement", None)
    if measurement is not None:
        _wrap(measurement, "__call__", "opendp", undo)


def _diffprivlib() -> list[Any]:
    home = sys.modules.get("diffprivlib.mechanisms")
    kinds = vars(home).values() if home is not None else ()
    return [one for one in kinds if isinstance(one, type) and "randomise" in vars(one)]


def _wrap(kind: Any, method: str, package: str, undo: list[Callable[[], None]]) -> None:
    original = vars(kind)[method]

    def randomise(self: Any, *given: Any, **named: Any) -> Any:
        state = active()
        # A mechanism that another one calls is a part of it: its claim is within that of the outer
        # one.
        if state is None or state.parents:
            return original(self, *given, **named)
        title = f"{package}.{type(self).__name__}"
        said = {name: _number(getattr(self, name, None)) for name in _SAID}
        call = recorder.begin(state, OWN, title, f"{title}.{method}", ())
        call.declared = {name: one for name, one in said.items() if one is not None}
        state.parents.append(call.index)
        try:
            value = original(self, *given, **named)
        finally:
            state.parents.pop()
        _note(call, given[0] if given else next(iter(named.values()), None), value)
        return value

    randomise.__wrapped__ = original  # type: ignore[attr-defined]
    setattr(kind, method, randomise)
    undo.append(lambda: setattr(kind, method, original))


def _note(call: Any, given: Any, value: Any) -> None:
    """Note centre and noise of a mechanism that was given numbers and returned as many."""
    try:
        centre = np.asarray(tracked_noise.plain(given), dtype=float)
        out = np.asarray(tracked_noise.plain(value), dtype=float)
    except (TypeError, ValueError):
        call.parameters = {"value": recorder.describe_parameter(given)}
        return
    call.location = centre
    if centre.shape == out.shape:
        call.shape, call.draw = out.shape, out - centre


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None
