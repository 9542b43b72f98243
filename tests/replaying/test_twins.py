"""Every flaw is found, and no repaired twin is accused."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
_SPEC = importlib.util.spec_from_file_location("replayed", EXAMPLES / "replayed.py")
twins = sys.modules.setdefault("replayed", importlib.util.module_from_spec(_SPEC))
_SPEC.loader.exec_module(twins)

# What each flaw is found as.
KINDS = {
    "unclipped": "sensitivity",
    "order of clip and sum": "sensitivity",
    "wrong divisor": "sensitivity",
    "histogram of replaced records": "budget",
    "coordinates not counted": "budget",
    "scale upside down": "sensitivity",
    "exact mean inside": "sensitivity",
    "budget spent twice": "budget",
    "noise reused for two": "shared noise",
    "a release a call": "budget",
    "maximum of the data": "raw value",
    "noise not used": "raw value",
    "labels from data": "raw structure",
    "NaN": "missing number",
    "exception": "raw exception",
    "size from data": "raw structure",
    "bounds from data": "scale from data",
    "clipped to the data": "range from data",
    "private count": "scale from data",
    "scale from data": "scale from data",
    "branch without noise": "raw value",
    "exact threshold": "raw value",
    "seed in the source": "fixed seed",
    "seed used twice": "shared noise",
    "global numpy": "sensitivity",
    "centre as argument": "sensitivity",
    "standard library": "sensitivity",
    "gauss of the standard library": "sensitivity",
    "secrets": "sensitivity",
    "randomised response": "raw value or counted event",
    "scipy": "sensitivity",
    "law of scipy": "budget",
    "rounded": "sensitivity",
    "choice": "counted event",
    "comparison": "counted event",
}


def _cases(which):
    return [pytest.param(twin, id=f"{twin.flaw}, {which}") for twin in twins.TWINS]


def test_there_are_thirty_flaws_of_different_sources():
    assert len(twins.TWINS) >= 30
    assert {twin.flaw for twin in twins.TWINS} == set(KINDS)


@pytest.mark.sampled(18)
@pytest.mark.parametrize("twin", _cases("broken"))
def test_a_flaw_is_found_as_what_it_is(twin, replay_here):
    found = replay_here(
        twin.broken, twin.dataset, twin.neighbour, epsilon=twin.epsilon, delta=twin.delta
    )
    assert found.verdict == "refuted"
    assert found.findings[0].kind in KINDS[twin.flaw].split(" or ")


@pytest.mark.sampled(18)
@pytest.mark.parametrize("twin", _cases("repaired"))
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_a_repaired_twin_is_not_accused(twin, seed, replay_here):
    sides = (twin.dataset, twin.neighbour) if seed == 0 else (twin.neighbour, twin.dataset)
    found = replay_here(twin.repaired, *sides, epsilon=twin.epsilon, delta=twin.delta, seed=seed)
    assert found.verdict == "not refuted"


@pytest.mark.parametrize("twin", _cases("broken")[:8])
def test_a_flaw_is_nothing_between_equal_datasets(twin, replay_here):
    other = np.array(twin.dataset)
    found = replay_here(twin.broken, twin.dataset, other, relation="declared: the same")
    assert found.verdict == "not refuted"
