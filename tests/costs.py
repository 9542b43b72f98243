"""What the cases of a parametrised test cost together, and how many of them the fast suite runs.

``costs.toml`` holds CPU seconds of whole families, where they are more than `FEW`; a family that
costs more runs as many of its cases as cost about that much, drawn by its name, and the rest is
slow. As a plugin, this module measures, on a machine that does nothing else:

    make test PYTEST_ARGS="-p tests.costs"
"""

from __future__ import annotations

import os
import tomllib
from collections import Counter
from pathlib import Path

import pytest

COSTS = Path(__file__).with_name("costs.toml")
FEW = 2.0  # CPU seconds that a family may take of the fast suite
_TICKS = os.sysconf("SC_CLK_TCK")


def family_of(nodeid: str) -> str:
    """Return the name of a test without its case."""
    return nodeid.partition("[")[0]


def fast_cases(family: str, cases: int, costs: dict[str, float]) -> int:
    """Return how many cases of a family the fast suite runs; two at least, where there are two."""
    cost = costs.get(family, 0.0)
    return cases if cost <= FEW else min(cases, max(2, int(cases * FEW / cost)))


def read_costs() -> dict[str, float]:
    """Return the CPU seconds of each family that was measured to cost more than a few."""
    found: dict[str, float] = tomllib.loads(COSTS.read_text(encoding="utf-8"))
    return found


def cpu_seconds() -> float:
    """Return the CPU seconds of this process and of all that it started, living ones too."""
    parents, spent = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            after = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it ended meanwhile
            continue
        parents[int(folder.name)] = int(after[1])
        spent[int(folder.name)] = sum(map(int, after[11:15]))
    ours = {os.getpid()}
    while more := {one for one, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(spent.get(one, 0) for one in ours) / _TICKS


def write_costs(found: Counter[str], path: Path = COSTS) -> None:
    """Write the families that cost more than a few seconds, the dearest first."""
    lines = [f'"{name}" = {cost:.1f}' for name, cost in found.most_common() if cost > FEW]
    path.write_text("\n".join(["# CPU seconds; see costs.py.", *lines, ""]), encoding="utf-8")


_SPENT: Counter[str] = Counter()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Add what a test and its processes took to its family."""
    before = cpu_seconds()
    try:
        return (yield)
    finally:
        _SPENT[family_of(item.nodeid)] += max(0.0, cpu_seconds() - before)


@pytest.hookimpl
def pytest_sessionfinish(session):
    """Write what was measured, each worker of pytest-xdist its own part; the first one adds up."""
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["costs"] = dict(_SPENT)
    else:
        write_costs(_SPENT)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Take what a worker of pytest-xdist measured."""
    _SPENT.update(node.workeroutput.get("costs", {}))
