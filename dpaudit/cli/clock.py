"""When the command began, as whoever waits for it counts: before its libraries were imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import monotonic

_BEGAN: ContextVar[float | None] = ContextVar("began", default=None)


@contextmanager
def counting_from(moment: float | None) -> Iterator[None]:
    """Count the time of commands inside the block from a moment of `time.monotonic`, or from now.

    Examples
    --------
    >>> with counting_from(3.5):
    ...     get_start_moment()
    3.5
    """
    token = _BEGAN.set(monotonic() if moment is None else moment)
    try:
        yield
    finally:
        _BEGAN.reset(token)


def get_start_moment() -> float:
    """Return the moment when the command began, which is now where nobody has said it."""
    moment = _BEGAN.get()
    return monotonic() if moment is None else moment
