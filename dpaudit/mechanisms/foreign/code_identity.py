"""The identity of a mechanism's code: its name, and a hash of its file."""

from __future__ import annotations

import hashlib
import inspect
from pathlib import Path
from typing import Any, NamedTuple

from dpaudit.execution.scripts import MAIN
from dpaudit.execution.surveys import parcel_for_processes
from dpaudit.mechanisms.foreign.calling import function_of
from dpaudit.mechanisms.foreign.changed_modules import owner_of
from dpaudit.mechanisms.foreign.outside import Outside

_LARGEST = 16 * 2**20  # bytes of a source file


class CodeReference(NamedTuple):
    """The name of the code, ``module:object``, and the SHA-256 of its source file."""

    reference: str
    sha256: str


def code_of(mechanism: Any) -> CodeReference | None:
    """Return which code a mechanism is; None where no source file holds it.

    Examples
    --------
    >>> code_of(code_of).reference
    'dpaudit.mechanisms.foreign.code_identity:code_of'
    >>> print(code_of(len))
    None
    """
    place = place_of(mechanism)
    return None if place is None else make_code(*place)


def place_of(mechanism: Any) -> tuple[str, ...] | None:
    """Return the name of the code and its file, without a look at it: that would be a read.

    Of what is no code of Python its own digest stands behind these, and there is no file.
    """
    if isinstance(outside := function_of(mechanism), Outside):
        return outside.name, "", outside.digest
    owner = owner_of(mechanism)
    module = "__main__" if owner.__module__ == MAIN else owner.__module__
    try:
        return f"{module}:{owner.__qualname__}", inspect.getfile(owner)
    except (TypeError, OSError):  # built in, or typed at a prompt
        return None


def make_code(reference: str, file: str, digest: str | None = None) -> CodeReference | None:
    """Return the code of a place, None where there is no such file."""
    if digest is not None:
        return CodeReference(reference, digest)
    source = Path(file)
    try:
        if not source.is_file() or source.stat().st_size > _LARGEST:
            return None
        return CodeReference(reference, hashlib.sha256(source.read_bytes()).hexdigest())
    except (OSError, ValueError):
        return None


def for_another_process(mechanism: Any) -> bytes | str:
    """Return code for another process, which imports or runs it afresh where it can.

    Raises
    ------
    CannotTravel
        It holds what only this process has.
    """
    if isinstance(mechanism, str):
        return mechanism
    return parcel_for_processes(mechanism).blob
