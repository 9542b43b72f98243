"""Mechanisms that keep a state between calls: in globals, classes, closures, defaults and caches.

What every output alone satisfies is not refuted; and a first call that leaks is seen, though a
process has one of them among many.
"""

from __future__ import annotations

import uuid

import pytest

from dpaudit.auditing.api import own_case
from dpaudit.auditing.run import audit_case
from dpaudit.errors import MechanismError
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.mechanisms.foreign.isolation import Isolation, isolate_mechanism, isolate_reference
from dpaudit.neighbours.found_relations import find_pair_relation
from dpaudit.replaying.api import replay

from .folder import reached
from .remembering_broken import BROKEN
from .remembering_private import PRIVATE

PAIR = [1.0, 2.0, 3.0], [1.0, 2.0, 2.0]
MODULES = "remembering_private", "remembering_broken"
SEEDS = pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 3))]
)
FIRST = sorted(name for name in BROKEN if name.startswith("first_call"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    with reached(tmp_path_factory.mktemp(f"remembering-{uuid.uuid4().hex}"), MODULES) as found:
        yield found


@pytest.fixture(autouse=True)
def reachable(folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))


def audited(placed, seed):
    case, words = own_case(
        placed, find_pair_relation(*PAIR, None)[0], claimed=ApproximateDP(1.0, 0.0)
    )
    settings = Settings(trials=600, delta=0.0, seed=seed, confidence=0.9999)
    try:
        return audit_case(case, settings, statement=words)
    except MechanismError:
        return None


def verdict_of(placed, seed):
    found = audited(placed, seed)
    return "withheld" if found is None else found.verdict


def test_there_are_ten_of_either():
    assert min(len(PRIVATE), len(BROKEN)) >= 10


@pytest.mark.sampled(1)
@SEEDS
@pytest.mark.parametrize("name", sorted(PRIVATE))
def test_no_private_one_is_accused(name, seed):
    given = isolate_reference(f"remembering_private:{name}", Isolation())
    assert verdict_of(given, seed) in ("withheld", "not refuted")


@pytest.mark.slow
@SEEDS
@pytest.mark.parametrize("name", sorted(BROKEN))
def test_no_broken_one_is_missed(name, seed):
    assert (
        verdict_of(isolate_reference(f"remembering_broken:{name}", Isolation()), seed) == "refuted"
    )


def test_the_reason_says_that_the_first_call_leaks():
    found = audited(isolate_reference("remembering_broken:first_call_of_a_class", Isolation()), 0)
    assert (found.verdict, found.reason[:19]) == ("refuted", "At the first call: ")


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_a_function_of_a_cell_is_audited_at_its_first_call_too(folder, name):
    """No process can import it: its globals go along, and may be noise beside an exact answer."""
    path = folder / "remembering_broken.py"
    space = {"__name__": "__main__", "__file__": str(path)}
    exec(compile(path.read_text(), "<cell>", "exec"), space)
    carries = name in ("first_call_of_a_list", "first_call_of_a_number")
    expected = "withheld" if carries else "refuted"
    assert verdict_of(isolate_mechanism(space[name], Isolation()), 0) == expected


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(PRIVATE))
def test_a_replay_accuses_no_private_one(folder, name):
    found = replay(f"remembering_private:{name}", *PAIR, epsilon=1.0, seed=0, folder=folder)
    assert found.verdict in ("withheld", "not refuted")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FIRST, "later_calls_of_a_function"])
def test_a_replay_looks_at_first_calls_and_at_later_ones(folder, name):
    found = replay(f"remembering_broken:{name}", *PAIR, epsilon=1.0, seed=0, folder=folder)
    assert (found.verdict, found.first_call) == ("refuted", True)
    assert found.findings[0].call == ("first" if name in FIRST else None)
