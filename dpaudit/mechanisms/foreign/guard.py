"""Guards that name the code at fault if a process ends, or other people's code in it fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution.failures import CodeFailed, WorkerEnded


@contextmanager
def add_mechanism_name(name: str) -> Iterator[None]:
    """Say whose process ended, or whose code failed, if one does."""
    try:
        yield
    except WorkerEnded as error:
        raise MechanismError(f"mechanism {name}: its process {error}") from error
    except CodeFailed as error:
        raise MechanismError(f"mechanism {name}: {error}") from error


@contextmanager
def convert_import_failures(what: str, reference: str) -> Iterator[None]:
    """Name the import at which a process ended or its code failed."""
    try:
        yield
    except (WorkerEnded, CodeFailed) as error:
        ended = f"its process {error}" if isinstance(error, WorkerEnded) else error
        expected = f"something that can be imported ({ended})"
        raise InvalidArgument(what, reference, expected) from error
