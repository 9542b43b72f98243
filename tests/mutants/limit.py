"""A plugin for pytest: a test that takes too much CPU fails; a fault may send it round in a loop.

One that waits for what does not come is told so by SIGALRM (`tests.mutants.nursery`). No limit is
one of a clock on the wall, which a busy machine would reach.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import NoReturn

import pytest

SECONDS = float(os.environ.get("MUTANT_SECONDS", "120"))


def _late(*_: object) -> NoReturn:
    raise TimeoutError(f"no answer within {SECONDS:g} s of CPU")


def _waits(*_: object) -> NoReturn:
    raise TimeoutError("it waits for something that does not come")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    signal.signal(signal.SIGPROF, _late)
    signal.signal(signal.SIGALRM, _waits)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
