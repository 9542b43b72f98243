"""What refutes is seen again, ranked and made smaller: sizes, shares and sides, each by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.estimators.worst_pair as worst_pair
import dpaudit.auditing.pairs.smallest_pair as smallest_pair
from dpaudit.auditing.estimators.sequential import Bettor, evidence_of
from dpaudit.auditing.sampling.sampler import ProcessGrid, first_of
from dpaudit.auditing.sampling.separate_processes import (
    Against,
    _choose_process_counts,
    _estimate_available_draws,
    _SideCounts,
    check_lone_outputs,
)
from dpaudit.estimation.independence import FALSE_ALARM, Outputs
from dpaudit.estimation.score_events import ScoreEvent, Tally, ThresholdEvent
from dpaudit.estimation.sequential.game import STAKES, BettingTarget, most_of_bets
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.search.shrinking import _without_a_part

from .common import case_of

ABOVE = ThresholdEvent(True, 0.0, 0.0)
QUICK = {
    "sparing": False,
    "startup_seconds": 0.01,
    "seconds_per_call": 0.001,
    "seconds_per_output": 1e-6,
    "timed": False,
}


def seen(epsilon=1.0, bet=None):
    against = Against(epsilon, 0.0, 1e-6, bet)
    return _SideCounts.of(Tally((10_000, 0), (10_000, 10_000)), ABOVE, against)


class Alone:
    """A drawer whose outputs are 1 where they are the first of their process, and else -1."""

    def __init__(self, **known):
        self.__dict__ |= QUICK | known

    def draw_separately(self, score, processes, calls, purpose):
        self.asked = processes, calls
        owners = np.repeat(np.arange(processes), calls)
        begins = np.array([first_of(process * calls) for process in range(processes)])
        first = np.arange(processes * calls) % calls == 0
        sides = [np.where(first & (begins[owners] == which), 1.0, -1.0) for which in range(2)]
        outputs = [Outputs(side, np.arange(len(side)), owners) for side in sides]
        return SimpleNamespace(scores=tuple(sides), outputs=tuple(outputs))


def checked(drawer, bet=None):
    counted, tally = ScoreEvent(lambda runs: runs, ABOVE), Tally((9000, 10), (10_000, 10_000))
    found, _, _ = check_lone_outputs(
        drawer, counted, tally, Against(1.0, 0.0, 1e-6, bet), ProcessGrid(8, 1000)
    )
    return found


def test_the_first_outputs_are_those_with_which_each_process_began():
    drawer = Alone()
    found = next(one for one in checked(drawer) if one.name.startswith("the first outputs"))
    processes, calls = drawer.asked
    begun = sum(first_of(process * calls) for process in range(processes))
    assert found.name == f"the first outputs of {processes} processes"
    assert f"in {processes - begun} of {processes - begun} and {begun} of {begun}" in found.evidence


@pytest.mark.parametrize("timed", [False, True])
def test_an_event_of_run_times_is_not_compared_from_call_to_call(timed):
    names = [one.name for one in checked(Alone(timed=timed))]
    assert any(name.startswith("alone: the event") for name in names) is not timed
    assert any(name.startswith("alone: outputs") for name in names)


def test_as_many_are_due_as_the_smaller_side_has():
    known, many = seen(), (np.ones(400), np.zeros(16))
    assert known.suffices(400)
    assert not known.suffices(16)
    for sides in (many, (np.ones(16), np.zeros(400))):
        found = known.check("alone", sides)
        assert found.threshold == FALSE_ALARM / 8
        assert found.passed


def test_a_bet_may_ask_for_more_outputs_than_the_event():
    bet = SimpleNamespace(suffices=lambda size: size >= 2048)
    few, more = (
        _choose_process_counts(SimpleNamespace(**QUICK), seen(bet=one), 8192) for one in (None, bet)
    )
    assert few == (52, 16)
    assert more == (52, 40)
    easy = SimpleNamespace(suffices=lambda size: True)
    assert _choose_process_counts(SimpleNamespace(**QUICK), seen(bet=easy), 8192) == few


def test_there_is_room_for_what_fits_in_a_fifth_of_the_time():
    slow = SimpleNamespace(
        sparing=False, startup_seconds=1.0, seconds_per_call=0.5, seconds_per_output=0.5
    )
    assert _estimate_available_draws(slow, 1000) == (int(100 / (1.0 + 0.02 + 1.0)), int(100 / 1.0))
    short = SimpleNamespace(
        sparing=False, startup_seconds=0.3, seconds_per_call=0.01, seconds_per_output=1e-6
    )
    assert _estimate_available_draws(short, 1000) == (int(3 / (0.3 + 0.02 + 0.02)), int(3 / 0.02))
    assert _estimate_available_draws(SimpleNamespace(**QUICK), 1000) == (512, 4096)


# The worst pair


def test_what_ranks_pairs_is_taken_off_what_certifies(monkeypatch):
    cases = tuple(case_of() for _ in range(3))
    case = SimpleNamespace(candidates=cases)
    monkeypatch.setattr(worst_pair, "_compute_pair_promises", lambda *_: [0.1, 0.7, 0.3])
    found = worst_pair.choose_worst_pair(case, None, Settings(), 301)
    assert found.case is cases[1]
    assert found.trials == 301 - 3 * 20
    assert (found.search.chosen, found.search.transcripts, found.search.of_trials) == (2, 60, 301)


def test_every_pair_is_ranked_on_draws_of_its_own(monkeypatch):
    purposes = list[str]()
    monkeypatch.setattr(worst_pair, "replace", lambda executor, **_: executor)
    monkeypatch.setattr(worst_pair, "make_drawer", lambda *_, **__: None)
    monkeypatch.setattr(
        worst_pair, "_estimate_pair_promise", lambda *given: purposes.append(given[-1]) or 0.5
    )
    progress = SimpleNamespace(start=lambda *_: None, advance=lambda *_: None)
    executor = SimpleNamespace(progress=progress)
    cases = tuple(case_of() for _ in range(3))
    assert worst_pair._compute_pair_promises(cases, executor, Settings(), 20) == [0.5] * 3
    assert len(set(purposes)) == 3


# The smallest pair


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        (2, [[3, 4], [0, 1, 2]]),
        (3, [[2, 3, 4], [0, 1, 4], [0, 1, 2, 3]]),
        (5, [[1, 2, 3, 4], [0, 2, 3, 4], [0, 1, 3, 4], [0, 1, 2, 4], [0, 1, 2, 3]]),
    ],
)
def test_each_part_is_left_out_in_turn_and_nothing_else(parts, left):
    assert list(_without_a_part(list(range(5)), parts)) == left


@pytest.mark.parametrize(("outputs", "tries"), [(1599, 0), (1600, 1), (3200, 2), (100_000, 8)])
def test_so_many_outputs_allow_so_many_tries_that_share_one_error(monkeypatch, outputs, tries):
    asked = list[tuple[int, float]]()
    seeds = list[int]()

    def looked_at(case, drawer, *, runs, alpha):
        asked.append((runs, alpha))
        seeds.append(drawer.seed)

    rows = np.arange(12.0)[:, None]
    pair = Pair(rows, np.vstack([rows[:-1], [[99.0]]]), REPLACE_RECORD)
    monkeypatch.setattr(smallest_pair, "is_observed", lambda _: True)
    monkeypatch.setattr(smallest_pair.witness, "of", looked_at)
    monkeypatch.setattr(smallest_pair, "replace", lambda one, **new: SimpleNamespace(**new))
    case = SimpleNamespace(pair=pair)
    drawer = SimpleNamespace(mechanism=None, seed=5)
    assert smallest_pair.find_smallest_pair(case, drawer, outputs, 0.03) is None
    assert len(asked) == tries
    assert len(set(seeds)) == tries
    runs = max(100, outputs // 4 // 32)
    assert asked == [(runs, pytest.approx(0.03 / tries))] * tries if tries else not asked
    assert 4 * runs * len(asked) <= outputs / 4


# Bets


def test_bets_certify_no_more_than_the_largest_epsilon_that_is_bet_against():
    target = BettingTarget(0.1, 0.0, 0.05)
    bettor = Bettor(target, lambda p, q: [lambda x: x[:, 0]])
    rng = np.random.default_rng(0)
    bettor.feed(rng.normal(9, 1, (200, 1)), rng.normal(0, 1, (200, 1)))
    found = evidence_of(bettor, ["one"], None)
    assert found.cap == most_of_bets(150, 0.0, 0.05) < most_of_bets(200, 0.0, 0.05)
    bettor.pairs = 10**12  # as if there had been so many
    assert evidence_of(bettor, ["one"], None).cap == target.epsilons[-1]


def test_what_won_most_has_won_it_with_its_share():
    bettor = Bettor(BettingTarget(1.0, 0.0, 0.05), lambda p, q: [])
    scores = [object(), object()]
    shares = np.repeat([0.7, 0.1, 0.1, 0.1], len(STAKES)) / len(STAKES)
    log_wealth = np.zeros((4 * len(STAKES), 3))
    log_wealth[2 * len(STAKES), 1] = math.log(5)  # of the first score, for the neighbour
    bettor._game = SimpleNamespace(
        claim=1,
        wealth=SimpleNamespace(log_wealth=log_wealth, log_share=np.log(shares)),
        chosen=SimpleNamespace(threshold=np.array([1.0, 2.0, 3.0, 4.0])),
    )
    bettor._scores, bettor._steps = scores, [0.1, 0.2]
    assert bettor.counted == ScoreEvent(scores[0], ThresholdEvent(True, 1.0, 0.0), 0.1)
    log_wealth[2 * len(STAKES), 1] = math.log(8)
    assert bettor.counted == ScoreEvent(scores[0], ThresholdEvent(False, -3.0, 0.0), 0.1)
    log_wealth[4 * len(STAKES) - 1, 1] = math.log(9)
    assert bettor.counted == ScoreEvent(scores[1], ThresholdEvent(False, -4.0, 0.0), 0.2)
