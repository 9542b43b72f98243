"""Code that its calls change: what its first call returns, and what its later ones do.

An instance, or a module by its globals, may count its calls, fill a cache or spend a budget. Then
its first output has a law of its own, which a process draws once and its later calls hide. Whether
calls change anything is seen by a pickle of the code: the user's own modules go into it with the
globals, class attributes, defaults and closures that are referred to, generators and the caches of
`functools` left out. Both laws can be drawn: the first with another copy for every call, the later
ones with what a first call, which does not count, has left.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from types import BuiltinFunctionType, MethodType, ModuleType
from typing import Any

from numpy.random import Generator

import dpaudit.watching.outside as outside
from dpaudit.execution.failures import CannotTravel
from dpaudit.execution.parcels import parcel_of
from dpaudit.laws.calling import Calls, When
from dpaudit.laws.observed import Observed

_LARGEST = 2**25  # bytes of a pickle that is kept and compared
# What has not been called yet: the object, so that its id stays its own, and its pickle.
_made_as: dict[tuple[int, str], tuple[Any, bytes]] = {}
# The same of what `Pristine` keeps, as it was when it was kept last.
_kept: dict[tuple[int, str], tuple[Any, bytes]] = {}


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


class Pristine:
    """Code of this process as it is before a call: what makes others of it, and tells a change.

    Parameters
    ----------
    calls
        Of the code. None were made yet, or `keep` was called before they were.
    again
        Whether some were made: then what was kept counts, where this process has it.
    """

    def __init__(self, calls: Calls, *, again: bool = False) -> None:
        self._calls = calls
        kept = _kept.get(_key(calls.function)) if again else None
        changing = _may_change(calls)
        self._blob = kept[1] if kept else _pickled(calls.function) if changing else None

    def keep(self) -> None:
        """Keep it as it is now for those who come after the calls of this process."""
        if self._blob is not None:
            _kept[_key(self._calls.function)] = self._calls.function, self._blob

    @property
    def is_changed(self) -> bool:
        """Whether calls have changed what is called, as its pickle shows."""
        return self._blob is not None and _pickled(self._calls.function) != self._blob

    def first(self) -> Calls:
        """Return calls each of which is the first one, of another copy."""
        blob = self._blob
        return (
            self._calls
            if blob is None
            else replace(self._calls, when="first", again=lambda: _unpickled(blob))
        )


def at_calls(make: Callable[..., Any], arguments: tuple[Any, ...], when: When) -> Observed:
    """Return what is made of arguments, whose outputs are those of its first or its later calls."""
    made: Observed = make(*arguments)
    remember(made)
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
    """Return whether calls can leave anything to the next ones: of an estimator each has a copy."""
    return calls.form.method != "fit" and not isinstance(calls.function, BuiltinFunctionType)


def _pickled(function: Any) -> bytes | None:
    """Return the pickle of what is called, but for its generators; None if it has none.

    Modules of the user's are in it with what of them is referred to, where that can be pickled.
    """
    how = partial(parcel_of, own_generators=True, at_most=_LARGEST, names_held=False)
    for by_value in (_homes(function), ()):
        try:
            return how(function, by_value=by_value).blob
        except CannotTravel:
            continue
    return None


def _homes(function: Any) -> list[str]:
    """Return the names of the user's own modules that what is called comes from, and uses."""
    waiting, found = [_home_of(function)], dict[str, None]()
    while waiting:
        module = sys.modules.get(waiting.pop())
        if module is None or module.__name__ in found or not _is_users(module):
            continue
        found[module.__name__] = None
        waiting += map(_home_of, list(vars(module).values()))
    return list(found)


def _home_of(value: Any) -> str:
    """Return the name of the module that something is, or comes from."""
    inner = getattr(value, "__self__", value) if isinstance(value, MethodType) else value
    if isinstance(inner, ModuleType):
        return inner.__name__
    home = getattr(inner, "__module__", None) or getattr(type(inner), "__module__", None)
    return home if isinstance(home, str) else ""


def _is_users(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    ours = module.__name__.partition(".")[0] in ("dpaudit", "__main__")
    return not ours and isinstance(file, str) and outside.place_of(file) == "user"


def _unpickled(blob: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(blob)
