"""Instances that calls change: what their first call returns, and what their later ones do.

An instance may count its calls, fill a cache or spend a budget. Then its first output has a law of
its own, which a process draws once and its later calls hide. Whether calls change it is seen by its
pickle, generators left out. Both laws can be drawn: the first with another instance for every call,
the later ones with an instance whose first call does not count.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from numpy.random import Generator

from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.parcels import parcel_of
from dpaudit.laws.calling import Calls, When
from dpaudit.laws.observed import Observed

# What has not been called yet: the object, so that its id stays its own, and its pickle.
_made_as: dict[tuple[int, str], tuple[Any, bytes]] = {}


def remember(mechanism: object, *, anew: bool = False) -> None:
    """Take note of an instance as it is before its first call, or as it is now."""
    if isinstance(mechanism, Observed) and _may_change(mechanism.calls):
        function = mechanism.calls.function
        known = not anew and _key(function) in _made_as
        if not known and (blob := _pickled(function)) is not None:
            _made_as[_key(function)] = function, blob


def is_changed(
    mechanism: object, datasets: Sequence[Any], trials: int, rngs: Sequence[Generator]
) -> bool:
    """Return whether calls change what is called; it is called if it was not before.

    Parameters
    ----------
    mechanism
        Other people's code.
    datasets, trials, rngs
        On which, how often and with which generators.
    """
    if not isinstance(mechanism, Observed) or mechanism.one_a_process:
        return False
    calls = mechanism.calls
    before = _made_as.get(_key(calls.function))
    if before is None or not _may_change(calls):
        return False
    if not calls.has_returned:
        for dataset, rng in zip(datasets, rngs, strict=True):
            mechanism.observations(dataset, trials, rng)
    return _pickled(calls.function) != before[1]


def at_calls(make: Callable[..., Any], arguments: tuple[Any, ...], when: When) -> Observed:
    """Return what is made of arguments, whose outputs are those of its first or its later calls."""
    made: Observed = make(*arguments)
    again = partial(_another, make, arguments, made.calls.function)
    return replace(made, calls=replace(made.calls, when=when, again=again))


def with_calls(mechanism: Observed, when: When) -> Observed:
    """Return a mechanism of this process whose outputs are those of its first or later calls."""
    return at_calls(_itself, (mechanism,), when)


def _itself(mechanism: Observed) -> Observed:
    return mechanism


def _another(make: Callable[..., Any], arguments: tuple[Any, ...], known: Any) -> Any:
    """Return another instance, with generators of its own, that was not called yet."""
    found = make(*arguments).calls.function
    if _key(found) == _key(known):
        kept = _made_as.get(_key(known))
        return found if kept is None else _unpickled(kept[1])
    blob = _pickled(found)
    return found if blob is None else _unpickled(blob)


def _key(function: Any) -> tuple[int, str]:
    """Return what tells objects apart, and a method by its object: each look makes another."""
    if isinstance(function, MethodType):
        return id(function.__self__), function.__name__
    return id(function), ""


def _may_change(calls: Calls) -> bool:
    """Return whether it is one object for all calls, and not only code that others import."""
    if calls.form.made or calls.form.method == "fit":
        return False
    function = calls.function
    return not isinstance(function, BuiltinFunctionType) and not (
        isinstance(function, FunctionType) and not function.__closure__ and not vars(function)
    )


def _pickled(function: Any) -> bytes | None:
    """Return the pickle of what is called, but for its generators; None if it has none."""
    try:
        return parcel_of(function, own_generators=True).blob
    except CannotTravel:
        return None


def _unpickled(blob: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(blob)
