"""Linear algebra on one thread: processes are the parallelism, and results stay equal."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from threadpoolctl import threadpool_limits

# Libraries of linear algebra that are loaded later read these when they start.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS"), "1"
)
_limited: ContextVar[bool] = ContextVar("limited", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra on one thread inside the block.

    Asking costs milliseconds, as every loaded library is looked at; asking again inside costs
    nothing. The limit is the process's: threads that ask side by side lift it together, and a
    library that is first loaded inside keeps it.
    """
    if _limited.get():
        yield
        return
    asked = _limited.set(True)
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        _restore_environment(before)
        _limited.reset(asked)


def already_on_one_thread() -> None:
    """Say that this process has no other threads for linear algebra as long as it lives."""
    _limited.set(True)


def available_cores() -> int:
    """Return how many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _restore_environment(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
