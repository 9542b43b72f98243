"""What an empty ledger keeps, and how long a worker may take, by a clock that stands still."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.errors import DpauditError
from dpaudit.execution import ledger, processes
from dpaudit.execution.failures import DrawTimeout, WorkerEnded
from dpaudit.execution.ledger import RunLedger
from dpaudit.execution.processes import Limits, UnitRequest, Worker

NOW = 100.0


# --- ledgers --------------------------------------------------------------------------------------


def test_an_empty_ledger_knows_nothing_and_decides_every_time():
    empty, asked = RunLedger(), []
    for _ in range(2):
        assert empty.fact("pace", lambda: asked.append("again") or 7, about=3, measures=True) == 7
    assert asked == ["again"] * 2
    assert empty.knows("pace") is False
    assert empty.stage(None, [], "drawing") is None
    assert empty.stage(None, [], "drawing", measures=True) is None
    assert empty.end() is None
    assert (empty.seconds, empty.elsewhere) == (0.0, ())


def test_a_ledger_is_current_inside_its_block_alone():
    outer, inner, before = RunLedger(), RunLedger(), ledger.get_current_ledger()

    def fail():
        with ledger.set_current_ledger(inner):
            assert ledger.get_current_ledger() is inner
            raise ValueError("mine")

    with ledger.set_current_ledger(outer):
        with pytest.raises(ValueError, match="mine"):
            fail()
        assert ledger.get_current_ledger() is outer
    assert ledger.get_current_ledger() is before


# --- workers --------------------------------------------------------------------------------------


class AKeeper:
    """Keeps the numbers of processes that were ended, and knows how they ended."""

    def __init__(self, ended=None):
        self.killed, self.ended, self.status = [], ended, 0

    def kill(self, pid):
        self.killed.append(pid)

    def status_of(self, pid):
        return self.ended


class AChannel:
    is_open = True

    def close(self):
        self.is_open = False


def worker(asked=(1,), timeout=None, until=None, since=NOW - 3, **given):
    made = Worker(Limits(timeout=timeout), AKeeper(), AChannel(), 7, since=since, until=until)
    made.asked.extend(UnitRequest(0, units) for units in asked)
    for name, value in given.items():
        setattr(made, name, value)
    return made


@pytest.fixture(autouse=True)
def still(monkeypatch):
    monkeypatch.setattr(processes, "monotonic", lambda: NOW)


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({"asked": (), "timeout": 5.0, "until": NOW + 1}, None),
        ({}, None),
        ({"timeout": 5.0}, 2.0),
        ({"timeout": 2.0}, -1.0),
        ({"until": NOW + 4}, 5.0),
        ({"until": NOW - 4}, -3.0),
        ({"timeout": 5.0, "until": NOW + 4}, 2.0),
        ({"timeout": 50.0, "until": NOW + 4}, 5.0),
    ],
)
def test_a_worker_has_what_is_left_of_its_limit_and_of_the_time_for_draws(given, left):
    assert worker(**given).left == left


@pytest.mark.parametrize(
    ("until", "kind"), [(None, WorkerEnded), (NOW + 1, WorkerEnded), (NOW, DrawTimeout)]
)
def test_who_takes_too_long_is_ended_and_told_why(until, kind):
    late = worker(timeout=5.0, until=until)
    assert type(late.overrun()) is kind
    assert late.keeper.killed == [7]
    assert not late.channel.is_open


def test_what_is_asked_is_sent_with_its_units_and_the_clock_starts_at_the_first(monkeypatch):
    sent = []
    monkeypatch.setattr(
        processes.worker,
        "send_message",
        lambda channel, message, value: sent.append((message, value)),
    )
    made = worker(asked=(), since=0.0)
    made.load("task", b"blob")
    assert made.since == NOW
    seed = np.random.SeedSequence(5, spawn_key=(1, 2))
    made.since = 1.0
    made.run("task", 4, [SimpleNamespace(trials=9, seed=seed, which=1)] * 2)
    assert made.since == 1.0  # it had something to do before
    (load, blob), (run, value) = sent
    assert (load["do"], load["task"], load["forget"], blob) == ("load", "task", [], b"blob")
    assert (run["do"], run["task"], value) == ("run", "task", None)
    assert run["units"] == [(9, 5, [1, 2], 1)] * 2
    assert [(one.first, one.units) for one in made.asked] == [(-1, 0), (4, 2)]
    made.load("other", b"")
    assert sent[-1][0]["forget"] == ["task"]


@pytest.mark.parametrize(("message", "killed"), [(None, []), ({}, [7])])
def test_an_answer_that_is_none_ends_the_worker(monkeypatch, message, killed):
    made = worker()
    made.channel.settimeout = lambda seconds: None
    monkeypatch.setattr(processes.worker, "receive_message", lambda channel, most: message)
    with pytest.raises(DpauditError):
        made.answer()
    assert made.keeper.killed == killed


@pytest.mark.parametrize(
    ("given", "seconds"),
    [({"timeout": 5.0}, 2.0), ({"timeout": 1.0}, 1.0), ({"timeout": 9.0, "asked": ()}, None)],
)
def test_an_answer_is_waited_for_as_long_as_is_left_and_a_grace_at_least(
    monkeypatch, given, seconds
):
    def late(channel, most):
        raise TimeoutError

    monkeypatch.setattr(processes.worker, "receive_message", late)
    made, waited = worker(**given), []
    made.channel.settimeout = waited.append
    with pytest.raises(WorkerEnded):
        made.answer()
    assert waited == [seconds]
