"""A bound on a divergence, by hand: which side is which, what is due, and ends that meet."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import dpaudit.auditing.estimators.divergence as divergence
import dpaudit.auditing.sampling.contract_checks as contract_checks
import dpaudit.auditing.sampling.separate_processes as separate_processes
from dpaudit.auditing.estimators.divergence import (
    BinnedEvent,
    DivergenceOutcome,
    _merge_unit_counts,
)
from dpaudit.auditing.sampling.contract_checks import ContractChecks
from dpaudit.auditing.sampling.separate_processes import Against
from dpaudit.estimation.bet_choice import BetChoice
from dpaudit.estimation.divergence import Bins, choose_renyi_bet
from dpaudit.estimation.score_events import Tally, ThresholdEvent
from dpaudit.guarantees.kinds import RenyiDP

from .common import ALPHA, case_of, drawer_of

P, Q = np.array([0.25, 0.75]), np.array([0.75, 0.25])
COUNTED = BinnedEvent(None, ThresholdEvent(True, 0.5, 0.0), 0.0, Bins(np.array([0.5])))
TRIALS = 20_000


def seen_of(above=True, claimed=0.3, p=P, q=Q, trials=TRIALS):
    """Return what was seen at exactly these rates, the first favoured where ``above``."""
    rates = (p, q) if above else (q, p)
    bet = choose_renyi_bet(np.log(rates[0] / rates[1]), rates, (trials, trials), 2.0, ALPHA)
    counts = np.array([trials * p]), np.array([trials * q])
    return DivergenceOutcome(
        COUNTED, BetChoice(COUNTED.bins, above, bet, 0.0), claimed, counts, ALPHA
    )


def scores_of(rates, trials):
    return (np.arange(trials) < round(rates[1] * trials)).astype(float)


@pytest.mark.parametrize("above", [True, False])
def test_the_bound_is_near_the_divergence_of_the_favoured_side(above):
    one = seen_of(above)
    truth = math.log(float(P @ (P / Q)))  # of both directions, as one mirrors the other
    assert 0.9 * truth < one.lower < truth
    np.testing.assert_allclose(one._rates, [P, Q] if above else [Q, P])


def test_a_bound_that_meets_the_claim_does_not_refute_it():
    one = seen_of()
    assert not replace(one, claimed=one.lower).refuted
    assert replace(one, claimed=np.nextafter(one.lower, 0)).refuted


def test_so_many_suffice_as_exceed_the_claim_by_far():
    one = seen_of(claimed=0.3)
    assert [one.suffices(n) for n in (50, 400, 4000)] == [False, False, True]
    assert not seen_of(claimed=math.log(float(P @ (P / Q)))).suffices(10**6)


@pytest.mark.parametrize("above", [True, False])
def test_other_outputs_have_to_certify_as_much_where_they_are_enough(above):
    one = seen_of(above)
    good = one.check("alone", (scores_of(P, 4000), scores_of(Q, 4000)))
    assert good.passed
    assert good.threshold == 0.3
    assert 0.3 < good.statistic < one.lower
    none = one.check("alone", (scores_of(P, 4000), scores_of(P, 4000)))
    assert not none.passed
    turned = one.check("alone", (scores_of(Q, 4000), scores_of(P, 4000)))
    assert not turned.passed
    few = one.check("alone", (scores_of(P, 50), scores_of(P, 4000)))
    assert few.passed
    assert few.threshold == 0.0
    assert "50 outputs on each dataset certify" in few.evidence
    assert few.evidence.endswith("too few to decide")


def test_counts_of_a_score_are_of_the_event_and_of_every_bin():
    scores = np.array([0.0, 0.5, 0.7, 2.0])
    assert COUNTED.count(scores).tolist() == [3.0, 1.0, 3.0]
    coarse = BinnedEvent(None, ThresholdEvent(True, 1.0, 0.0), 1.0, Bins(np.array([0.5])))
    assert coarse.count(np.array([0.6, 0.4])).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("rows", "groups"), [(3, 3), (256, 256), (600, 256)])
def test_units_are_joined_in_order_and_none_is_lost(rows, groups):
    counts = [np.array([float(n), 1.0]) for n in range(rows)]
    found = _merge_unit_counts(counts)
    assert found.shape == (groups, 2)
    assert found.sum(axis=0).tolist() == [rows * (rows - 1) / 2, rows]
    assert found[:, 1].max() - found[:, 1].min() <= 1
    assert (np.diff(found[:, 0] / found[:, 1]) > 0).all()


@pytest.fixture
def drawing(monkeypatch):
    """Return a drawer of counts at the rates, and what was asked of the contract."""
    asked = []

    def counts(counted, trials, purpose, *, certifies=False):
        asked.append(("drawn", trials, purpose, certifies))
        side = [np.concatenate([[one[1]], one]) * trials / 2 for one in (P, Q)]
        return ([side[0], side[0]], [side[1], side[1]]), "kept"

    def of_event(drawer, drawn, tally, counted, against, which="Certifying"):
        asked.append(("checked", drawer, tally, against))
        return ContractChecks()

    monkeypatch.setattr(contract_checks, "of_event", of_event)
    return drawer_of(counts=counts), asked


@pytest.mark.parametrize(("claimed", "times"), [(0.3, 2), (9.0, 1)])
def test_what_refutes_is_drawn_again_in_processes_of_its_own(claimed, times, drawing, monkeypatch):
    drawer, asked = drawing
    other = drawer_of(counts=drawer.counts, name="apart")

    class Apart:
        def __enter__(self):
            return other

        def __exit__(self, *error):
            return False

    monkeypatch.setattr(contract_checks, "make_separate_drawer", lambda case, drawer: Apart())
    case = case_of(RenyiDP(2.0, claimed), 0.01)
    seen, found, kept = divergence._draw_bet_counts(
        case, drawer, TRIALS, (COUNTED, seen_of().chosen, claimed, ALPHA)
    )
    drawn = [one for one in asked if one[0] == "drawn"]
    assert drawn == [("drawn", TRIALS, "certifying", True)] * times
    _, by, tally, against = asked[-1]
    assert by is (other if times == 2 else drawer)
    assert tally == Tally((15_000, 5_000), (TRIALS, TRIALS))
    assert against == Against(case.claimed.epsilon(0.01), 0.01, ALPHA, against.bet)
    assert against.bet.counts[0] is (seen.counts[0] if times == 2 else against.bet.counts[0])
    assert seen.refuted is (times == 2)
    assert separate_processes.is_claim_refuted(COUNTED, tally, against) is (times == 2)
    assert seen.counts[0].sum(axis=0).tolist() == (TRIALS * P).tolist()
    assert (found, kept) == ("kept", ContractChecks())


@pytest.mark.parametrize(("orders", "scale"), [((2.0,), 1.0), ((1.5, 2.0), 2.0)])
def test_of_all_orders_the_bound_and_the_claim_are_over_the_order(orders, scale, monkeypatch):
    seen = SimpleNamespace(lower=0.8, bin_counts=lambda scale: ("bins over", scale))
    best = SimpleNamespace(scores=(np.ones(9), np.zeros(9)), event=COUNTED.event, step=0.0)
    best.rounded = lambda one: one
    first = SimpleNamespace(
        best=best,
        score=None,
        at_delta=0.02,
        counts={"choosing": 5},
        tried=("one",),
        attack=SimpleNamespace(name="one", statement="an attack"),
    )
    asked = {}
    chosen = seen_of().chosen

    def drawn(case, drawer, trials, given):
        asked["claimed"], asked["delta"] = given[2], case.at_delta
        return seen, SimpleNamespace(scores=best.scores), ContractChecks(remark="so")

    monkeypatch.setattr(divergence.event, "chosen_event", lambda *given: first)
    monkeypatch.setattr(divergence, "choose_bet", lambda *given: chosen)
    monkeypatch.setattr(divergence, "_draw_bet_counts", drawn)
    currency = SimpleNamespace(orders=orders, claimed=lambda delta: 0.4 if delta == 0.02 else 9.0)
    case = case_of(RenyiDP(2.0, 0.4), 0.01, currency=currency)
    found = divergence.bound_renyi_by_bet(case, None, 100, ALPHA, None)
    assert asked == {"claimed": 0.4 * scale, "delta": 0.02}
    assert found.lower == 0.8 / scale
    assert found.bins == ("bins over", scale)
    assert found.cap == divergence._compute_largest_bet_bound(chosen.bet, ALPHA) / scale
    assert found.counts["outputs in all, of both datasets"] == 2 * 105
    assert (found.at_delta, found.remark, found.budget) == (
        0.02,
        "so",
        {"one bet on the counts of all bins": ALPHA},
    )
