"""A replay of code that its calls change: at its first call, and at its later ones."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import replace
from statistics import NormalDist

import numpy as np
import pytest

from dpaudit.replaying.api import replay
from dpaudit.replaying.counting import most_of_counts
from dpaudit.replaying.running import Task, run_replay

PAIR = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 2.0])


class Noisy:
    """A sum with Laplace noise, of one scale at the first call and of another one thereafter."""

    def __init__(self, first, later):
        self.scales, self.calls = (first, later), 0

    def __call__(self, data, rng):
        scale = self.scales[min(self.calls, 1)]
        self.calls += 1
        return float(np.sum(data)) + rng.laplace(scale=scale)


class Telling(Noisy):
    """Returns the sum itself at its first call."""

    def __call__(self, data, rng):
        noisy = super().__call__(data, rng)
        return float(np.sum(data)) if self.calls == 1 else noisy


class Keyed:
    """Has noise of a stream of its own, and little fresh noise in the same number."""

    def __init__(self):
        self.key, self.drawn = os.urandom(16), 0

    def __call__(self, data, rng):
        self.drawn += 1
        digest = hashlib.sha256(self.key + bytes([self.drawn % 256])).digest()
        own = NormalDist(0.0, 3.0).inv_cdf((int.from_bytes(digest[:6], "big") + 0.5) / 2**48)
        return float(np.sum(data)) + own + rng.laplace(scale=0.05)


def unchanging(data, rng):
    return float(np.sum(data)) + rng.laplace(scale=0.5)


def run(code, **given):
    task = Task(code, None, None, ((*PAIR, ""),), 1.0, 0.0, 0)
    return json.loads(run_replay(replace(task, **given)))


def proved(found):
    return [one["epsilon"] for one in found["findings"] if one["tier"] == "proof"]


@pytest.mark.parametrize(
    ("first", "later", "at_first", "at_later"),
    [(0.05, 2.0, [20.0], []), (2.0, 0.25, [], [4.0]), (2.0, 1.5, [], [])],
)
def test_first_and_later_calls_are_replayed_each_for_itself(first, later, at_first, at_later):
    found = run(Noisy(first, later))
    assert found["changes"]
    assert proved(found) == pytest.approx(at_later, rel=1e-9)
    assert proved(run(Noisy(first, later), when="first", tests=2)) == pytest.approx(at_first)


def test_a_first_call_in_this_process_is_that_of_what_was_there_before_any():
    noisy = Noisy(2.0, 0.25)
    assert proved(run(noisy)) == pytest.approx([4.0])
    assert proved(run(noisy, when="first", tests=2)) == []
    later = Noisy(0.05, 2.0)
    assert proved(run(later)) == []
    assert proved(run(later, when="first", tests=2)) == pytest.approx([20.0])
    assert proved(run(later)) == []


def test_code_that_no_call_changes_is_replayed_once():
    found = run(unchanging)
    assert not found["changes"]
    assert proved(found) == pytest.approx([2.0])


def test_both_replays_share_the_error_probability():
    alone, shared = (run(Telling(0.1, 2.0), when="first", tests=n) for n in (1, 2))
    assert 1.0 < proved(shared)[0] < proved(alone)[0]


def test_a_first_call_of_copies_that_repeat_noise_says_so():
    assert run(Keyed(), when="first", tests=2)["repeated"]
    assert not run(Noisy(0.05, 2.0), when="first", tests=2)["repeated"]
    assert not run(Noisy(0.05, 2.0))["repeated"]


@pytest.mark.slow
def test_noise_that_copies_bring_along_withholds():
    found = replay(Keyed(), *PAIR, epsilon=1.0)
    assert (found.verdict, found.findings[0].call) == ("withheld", "first")
    assert "pass the class" in found.reasons[0]
    assert replay(Keyed, *PAIR, epsilon=1.0).verdict == "not refuted"


@pytest.mark.slow
def test_a_first_call_whose_answers_are_all_the_same_withholds():
    """They may be noise that the instance has carried along."""
    found = replay(Telling(0.1, 2.0), *PAIR, epsilon=1.0)
    assert (found.verdict, found.first_call) == ("withheld", True)
    assert [(one.kind, one.call) for one in found.findings] == [("hidden state", "first")]


@pytest.mark.slow
def test_a_first_call_that_leaks_refutes():
    found = replay(Noisy(0.05, 2.0), *PAIR, epsilon=1.0)
    assert (found.verdict, found.first_call, found.findings[0].call) == ("refuted", True, "first")
    assert found.document()["findings"][0]["call"] == "first"
    assert found.cap == most_of_counts(1.0, 0.0, 2) < most_of_counts(1.0, 0.0, 1)


@pytest.mark.slow
def test_what_leaks_at_no_call_is_not_refuted():
    found = replay(Noisy(2.0, 1.5), *PAIR, epsilon=1.0)
    assert (found.verdict, found.first_call) == ("not refuted", True)


@pytest.mark.slow
def test_what_cannot_be_called_as_a_copy_withholds(monkeypatch):
    """No other copy may take its first call: the verdict is not the later calls' alone."""
    from dpaudit.errors import MechanismError
    from dpaudit.replaying import api

    judged = api._judge_replay

    def failing(task, *given):
        if task.when == "first":
            raise MechanismError("it holds a lock")
        return judged(task, *given)

    monkeypatch.setattr(api, "_judge_replay", failing)
    found = replay(Noisy(2.0, 1.5), *PAIR, epsilon=1.0)
    assert (found.verdict, found.findings[0].kind) == ("withheld", "first call")
    assert "it holds a lock" in found.reasons[0]
