"""The mechanism in a worker: the worker makes it once, and answers questions about it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dpaudit._references import build_referenced_object, load_reference
from dpaudit.errors import InvalidArgument, what_happened
from dpaudit.execution.failures import CannotTravel, CodeFailed
from dpaudit.execution.tasks import has_last_task, start_generators_anew, to_pickle
from dpaudit.mechanisms.foreign.instances import register_instance
from dpaudit.mechanisms.mechanism import outside_of
from dpaudit.store.identity import identified
from dpaudit.store.sealing import UnidentifiedValue

_here: dict[str, Any] = {}


def mechanism_of_this_process(
    key: str, make: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    """Return the mechanism that this process has, made the first time."""
    if key not in _here:
        try:
            _here[key] = make(*arguments)
            if not has_last_task():  # else nobody asks what calls have changed
                register_instance(_here[key])
            start_generators_anew()
        except KeyboardInterrupt as error:  # nobody is at the keyboard of a worker
            raise CodeFailed(what_happened(error)) from error
    return _here[key]


def from_pickle(blob: bytes) -> Any:
    """Return the pickled object."""
    import cloudpickle

    return cloudpickle.loads(blob)


def nothing() -> None:
    """Return nothing, to see that there is a worker."""


def start_mechanism(mechanism: Any) -> None:
    """Return nothing, where the mechanism is: a program or a service begins, if it did not."""
    if (outside := outside_of(mechanism)) is not None:
        outside.begin()


def pickle_referenced_object(what: str, reference: str) -> bytes:
    """Return the object that ``"module:object"`` names, or that it makes, pickled."""
    try:
        return to_pickle(build_referenced_object(what, reference, load_reference(what, reference)))
    except CannotTravel as error:
        expected = f"something that can be brought to another process ({error})"
        raise InvalidArgument(what, reference, expected) from error


def identity_of(mechanism: Any) -> tuple[Any, ...]:
    """Return the identity of a mechanism, or the name of a part that has none."""
    try:
        found = identified(mechanism, caches=True)
    except UnidentifiedValue as error:
        return "", str(error)
    return *found, None
