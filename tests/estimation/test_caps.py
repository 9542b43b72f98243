"""The most that so many outputs can certify: no outputs certify more, and the best come close."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpaudit.auditing.estimators.divergence import (
    BinnedEvent,
    DivergenceOutcome,
    _compute_largest_bet_bound,
)
from dpaudit.estimation.bet_choice import choose_bet
from dpaudit.estimation.event import most_of
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.orders import ORDERS
from dpaudit.estimation.score_events import ThresholdEvent
from dpaudit.estimation.sequential.game import BettingGame, BettingTarget, most_of_bets


def largest_on_a_grid(epsilon, delta):
    """Return the largest ``p (1 - q)`` of the rates that an epsilon allows, by brute force."""
    p, q = np.meshgrid(np.linspace(0, 1, 801), np.linspace(0, 1, 801), indexing="ij")
    grown = math.exp(epsilon)
    allowed = (p <= grown * q + delta + 1e-12) & (1 - q <= grown * (1 - p) + delta + 1e-12)
    return (p * (1 - q))[allowed].max()


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize("pairs", [5, 40, 300])
def test_the_cap_is_where_the_best_pairs_just_reach_the_goal(pairs, delta):
    cap = most_of_bets(pairs, delta, 0.05)
    assert cap > 0
    reached = -pairs * math.log(largest_on_a_grid(cap, delta))
    assert reached == pytest.approx(math.log(20), rel=0.02 + pairs / 150)
    assert ((math.exp(cap) + delta) / (1 + math.exp(cap))) ** (2 * pairs) == pytest.approx(0.05)


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_bets_on_outputs_that_never_overlap_stay_below_the_cap_and_come_near(delta):
    target = BettingTarget(1.0, delta, 0.05)
    above, below = np.ones((1, 400)), np.zeros((1, 400))
    game = BettingGame.open(
        above[:, :50],
        below[:, :50],
        epsilons=target.epsilons,
        claim=target.claim,
        delta=delta,
        alpha=0.05,
    )
    for start in range(50, 400, 50):
        part = slice(start, start + 50)
        game = game.play(above[:, part], below[:, part])[0].learn(above[:, part], below[:, part])
    cap = most_of_bets(350, delta, 0.05)
    assert 0.5 * cap < float(game.lower) <= cap


def test_a_renyi_bet_certifies_no_more_than_its_cap():
    rng = np.random.default_rng(5)
    p, q = rng.normal(1, 1, (2, 4000)), rng.normal(0, 1, (2, 4000))
    chosen = choose_bet(p[0], q[0], [2.0], 4000, 0.05)
    most = _compute_largest_bet_bound(chosen.bet, 0.05)
    real = chosen.lower(*[chosen.bins.counts(side[1]) for side in (p, q)], 0.05)
    assert 0 < real < most
    for _ in range(50):
        sides = rng.dirichlet(np.full(len(chosen.bins), 0.05), size=2)
        counts = [rng.multinomial(4000, side).astype(float) for side in sides]
        assert chosen.lower(*counts, 0.05) <= most * (1 + 1e-9)


@pytest.mark.parametrize("sizes", [(1000, 60), (60, 1000)])
def test_the_cap_of_counts_is_that_of_both_sizes(sizes):
    """Few outputs on either side certify little, however many there are on the other."""
    cap = most_of({"favoured_trials": sizes[0], "other_trials": sizes[1]}, 0.0, 0.05)
    given = {"delta": 0.0, "alpha": 0.05}
    assert cap == max(joint_lower_bound(sizes[0], 0, *sizes, order=o, **given) for o in ORDERS)
    alike = (most_of({"favoured_trials": n, "other_trials": n}, 0.0, 0.05) for n in (60, 1000))
    least, most = alike
    assert least < cap < most


@pytest.mark.parametrize("trials", [400, 4000])
def test_a_renyi_bet_suffices_for_the_neighbour_where_its_mirror_does_for_the_dataset(trials):
    """A bit that is rare on one side alone: the divergences of both directions are far apart."""
    rates = np.array([0.6, 0.4]), np.array([0.98, 0.02])
    scores = [np.repeat([0.0, 1.0], (4000 * one).astype(int)) for one in rates]
    chosen = choose_bet(*scores, [2.0], 4000, 0.05)
    counted = BinnedEvent(None, ThresholdEvent(True, 0.5, 0.0), 0.0, chosen.bins)
    counts = tuple(np.array([chosen.bins.counts(side)]) for side in scores)
    seen = DivergenceOutcome(counted, chosen, 0.2, counts, 0.05)
    mirrored = DivergenceOutcome(
        counted, replace(chosen, above=not chosen.above), 0.2, counts[::-1], 0.05
    )
    assert seen.lower == mirrored.lower > 1.0
    assert seen.suffices(trials) is mirrored.suffices(trials) is (trials > 400)


def test_what_is_learned_anew_forgets_the_scores_before():
    rng = np.random.default_rng(6)
    first, second = rng.normal(size=(2, 1, 200)), rng.normal([[[2.0]], [[0.0]]], 1, (2, 1, 200))
    options = {"epsilons": np.array([0.5, 1.0]), "claim": 1, "delta": 0.0, "alpha": 0.05}
    game, alone = BettingGame.open(*first, **options), BettingGame.open(*second, **options)
    anew, more = game.learn(*second, anew=True).chosen, game.learn(*second).chosen
    assert np.array_equal(anew.rate, alone.chosen.rate)
    assert np.array_equal(anew.other_rate, alone.chosen.other_rate)
    assert not np.array_equal(more.rate, alone.chosen.rate)
