"""What tests take, and how much of a file the fast suite runs.

``costs.toml`` holds the CPU seconds of whole families, a family being the cases of one function.
Of a family that takes more than `FAMILY` seconds so many cases are fast as take about that much,
drawn by its name. Of the tests of a file that take more than `DEAR` seconds each, the shortest are
fast as long as the file takes no more than `FILE`; one is in any case. The rest is slow, but for
tests that catch a seeded fault (``tests/mutants``) in at most `CATCH` seconds. As a plugin, this
module measures what processors did, so that a machine may do other things beside it:

    make test PYTEST_ARGS="-p tests.costs"
"""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

COSTS = Path(__file__).with_name("costs.toml")
FAMILY = 0.15  # seconds that the cases of one function take in the fast suite
FILE = 0.6  # seconds of a file, within which its longer tests are fast
CATCH = 0.5  # seconds within which a test that catches a seeded fault is fast in any case
DEAR = 0.15  # seconds from which a test is one of the longer ones
_LEAST = 0.15  # of what is written down


def family_of(nodeid: str) -> str:
    """Return the name of a test without its case."""
    return nodeid.partition("[")[0]


def choose_fast(cases: Mapping[str, int], costs: Mapping[str, float]) -> dict[str, int]:
    """Return how many cases of each family of one file the fast suite runs.

    Parameters
    ----------
    cases
        How many each family has.
    costs
        The seconds of a whole family, where they are known.

    Examples
    --------
    >>> choose_fast({"quick": 3, "dear": 4, "dearest": 1}, {"dear": 20.0, "dearest": 9.0})
    {'quick': 3, 'dear': 1, 'dearest': 0}
    """
    each = {name: costs.get(name, 0.0) / count for name, count in cases.items()}
    fast = {name: _affordable(FAMILY, each[name], count) for name, count in cases.items()}
    dear = sorted((one for one in cases if each[one] > DEAR), key=lambda one: (each[one], one))
    left = FILE - sum(each[name] * count for name, count in fast.items() if name not in dear)
    for place, name in enumerate(dear):
        many = min(fast[name], int(max(left, 0.0) / each[name]))
        fast[name] = max(many, 1) if place == 0 else many
        left -= fast[name] * each[name]
    return fast


def _affordable(seconds: float, each: float, count: int) -> int:
    """Return how many cases take so long together, at least one."""
    return count if each * count <= seconds else max(1, int(seconds / each))


def is_quick_catch(nodeid: str, cases: int, costs: Mapping[str, float]) -> bool:
    """Return whether a test catches a seeded fault, and takes no longer than that may.

    Parameters
    ----------
    nodeid
        The test with its case.
    cases
        How many cases its family has.
    costs
        The seconds of a whole family, where they are known.

    Examples
    --------
    >>> one = "tests/core/test_gaussian_profile.py::test_mu_at_is_the_calibration"
    >>> is_quick_catch(one, 1, {one: 0.4}), is_quick_catch(one, 1, {one: 9.0})
    (True, False)
    """
    known = nodeid in read_catching_tests()
    return known and costs.get(family_of(nodeid), 0.0) / cases <= CATCH


@cache
def read_catching_tests() -> frozenset[str]:
    """Return the tests that catch seeded faults, each the first that caught one."""
    path = COSTS.with_name("mutants") / "killers.json"
    return frozenset(json.loads(path.read_text(encoding="utf-8")).values())


def read_costs() -> dict[str, float]:
    """Return the seconds of each family that was measured to take more than a moment."""
    found: dict[str, float] = tomllib.loads(COSTS.read_text(encoding="utf-8"))
    return found


def write_costs(found: Counter[str], path: Path = COSTS) -> None:
    """Write the families that take more than a moment, the longest first."""
    lines = [f'"{name}" = {cost:.2f}' for name, cost in found.most_common() if cost > _LEAST]
    path.write_text("\n".join(["# Seconds; see costs.py.", *lines, ""]), encoding="utf-8")


_SPENT: Counter[str] = Counter()
_BEGAN = pytest.StashKey[float]()
_MEASURED = "cpu seconds"


def spent() -> float:
    """Return the CPU seconds of this process, and of those that it started and that ended."""
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item):
    """Start to measure before anything is prepared for a test."""
    item.stash[_BEGAN] = spent()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item):
    """Say what a test took, in its last report."""
    try:
        return (yield)
    finally:
        item.user_properties.append((_MEASURED, spent() - item.stash[_BEGAN]))


@pytest.hookimpl
def pytest_runtest_logreport(report):
    """Add what a test took to its family: with pytest-xdist, where all reports arrive."""
    if report.when == "teardown":
        _SPENT[family_of(report.nodeid)] += dict(report.user_properties)[_MEASURED]


@pytest.hookimpl
def pytest_sessionfinish(session):
    """Write what was measured, where all of it is known."""
    if _SPENT and not hasattr(session.config, "workerinput"):
        write_costs(_SPENT)
