"""A mechanism goes through an audit without detours."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import dpaudit
import dpaudit.auditing.api
from dpaudit.auditing.sampling import probe
from dpaudit.execution import Executor
from dpaudit.mechanisms.foreign.answers import sample_with_state

from .walks import Walk, follow_mechanism

pytestmark = pytest.mark.always

MOST_STAYS = 14
MOST_RETURNS = 4
PAIR = np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0])


def noisy_sum(dataset, rng):
    return dataset.sum() + rng.laplace(scale=1.0)


def walk_through_audit():
    given = {
        "epsilon": 1.0,
        "trials": 1000,
        "distinguisher": "histogram",  # the others import scikit-learn
        "executor": Executor(workers=1),
    }
    return follow_mechanism(noisy_sum, lambda: dpaudit.audit(noisy_sum, *PAIR, **given))


def test_a_mechanism_goes_through_an_audit_without_detours():
    walk = walk_through_audit()
    assert walk.stays[0] == "dpaudit.auditing.api"
    assert len(walk.stays) <= MOST_STAYS, walk.stays
    assert walk.returns <= MOST_RETURNS, walk.stays


def test_a_detour_is_seen(monkeypatch):
    monkeypatch.setattr(probe, "draw_checked_sample", lambda *given: sample_with_state(*given)[0])
    walk = walk_through_audit()
    assert "dpaudit.mechanisms.foreign.answers" in walk.stays
    assert len(walk.stays) > MOST_STAYS


@pytest.fixture
def rooms(monkeypatch):
    """Return two modules: one hands what it is given to the other, and takes it again."""
    sources = {
        "rooms_of_test.first": "def enter(one, other):\n    other.use(one)\n    leave(one)\n"
        "    other.end(one)\n    other.end(0)\n\ndef leave(one): pass\n",
        "rooms_of_test.second": "def use(one): count(1)\n\ndef count(one): pass\n\n"
        "def end(*one): pass\n",
    }
    for name, source in sources.items():
        module = ModuleType(name)
        exec(compile(source, name, "exec"), vars(module))
        monkeypatch.setitem(sys.modules, name, module)
    return [sys.modules[name] for name in sources]


def test_stays_are_in_the_order_of_first_calls_and_count_what_is_given_the_mechanism(rooms):
    first, second = rooms
    walk = follow_mechanism(noisy_sum, lambda: first.enter(noisy_sum, second), ["rooms_of_test"])
    assert walk == Walk((first.__name__, second.__name__) * 2)
    assert walk.returns == 2
    elsewhere = follow_mechanism(noisy_sum, lambda: first.enter(1, second), ["rooms_of_test"])
    assert elsewhere == Walk(())
