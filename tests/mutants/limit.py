"""A plugin for pytest: a test that runs too long fails; a fault may send it round in a loop."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from typing import NoReturn

import pytest

SECONDS = float(os.environ.get("MUTANT_SECONDS", "120"))


def _late(*_: object) -> NoReturn:
    raise TimeoutError(f"no answer within {SECONDS:g} s")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    signal.signal(signal.SIGALRM, _late)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
