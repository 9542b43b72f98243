"""Writers that are killed lose nothing they were told of, and never spend more than there is."""

from __future__ import annotations

import pytest

import dpaudit
from dpaudit import Budget, Sequence
from dpaudit.spending.charges import event_of
from tests.spending.writers import Aftermath, kill_writers

EPSILON, DELTA = 40.0, 1e-6


def check_aftermath(path, found: Aftermath) -> None:
    chain = Budget(path).verify()
    assert found.lost == set()
    assert len(set(found.acknowledged)) == len(found.acknowledged) > 0
    assert len(set(found.written)) == len(found.written)
    assert [entry.number for entry in chain.entries] == [*range(1, len(chain.entries) + 1)]
    overview = Budget(path).overview()
    event = Sequence(tuple(event_of(entry) for entry in chain.charged))
    accounted = dpaudit.account(event, DELTA).proved.upper
    spent = overview.limits[0].spent
    assert accounted <= spent <= EPSILON
    print(
        f"\n{found.kills} kills: {len(found.acknowledged)} acknowledged, {len(found.lost)} lost, "
        f"{len(found.written)} written, {found.torn} torn; epsilon spent {spent:.6f}, accountant "
        f"{accounted:.6f}"
    )


def test_nothing_is_lost_when_writers_are_killed(tmp_path):
    path = tmp_path / "budget.jsonl"
    Budget.create(path, epsilon=EPSILON, delta=DELTA, filter="gaussian")
    check_aftermath(path, kill_writers(path, tmp_path / "acks", 20, seed=3))


@pytest.mark.slow
def test_nothing_is_lost_in_a_thousand_kills(tmp_path):
    path = tmp_path / "budget.jsonl"
    Budget.create(path, epsilon=EPSILON, delta=DELTA, filter="gaussian")
    check_aftermath(path, kill_writers(path, tmp_path / "acks", 1000, seed=11))


@pytest.mark.slow
def test_writers_do_not_take_the_same_rest(tmp_path):
    path = tmp_path / "budget.jsonl"
    Budget.create(path, epsilon=0.5, delta=DELTA, filter="gaussian")
    found = kill_writers(path, tmp_path / "acks", 200, seed=5)
    check_aftermath(path, found)
    assert found.refused > 0  # it was used up, and whoever came later was told
    assert not Budget(path).check("gaussian", noise_scale=10.0).fits
