"""How often a true claim is refuted, when false ones are, and what broken auditors do."""

import math
from functools import cache

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimation.sequential.game import PILOT, BettingGame, make_bet_boundaries
from dpaudit.guarantees.gaussian import log_delta

ALPHA = 0.05
FEW, TINY = 1e-7, 1e-6

MU_1_AT_1 = math.exp(log_delta(1.0, 1.0))


def randomised_response(epsilon, delta=0.0):
    """Attain (epsilon, delta): with probability delta the answer gives the dataset away."""
    truth = delta + (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))

    def sample(side, audits, n, rng):
        u = rng.random((audits, 1, n))
        said = np.where(u < delta, 2.0, np.where(u < truth, 1.0, -1.0))
        return -said if side else said

    return sample


def laplace(scale):
    return lambda side, audits, n, rng: rng.laplace(1.0 - side, scale, (audits, 1, n))


def gaussian(mu):
    return lambda side, audits, n, rng: rng.normal(mu * (1.0 - side), 1.0, (audits, 1, n))


# Each attains its epsilon at its delta: nothing may refute it, and nothing stronger is true.
CORRECT = {
    "randomised response": (randomised_response(1.0), 1.0, 0.0),
    "Laplace": (laplace(1.0), 1.0, 0.0),
    "Gaussian": (gaussian(1.0), 1.0, MU_1_AT_1),
    "randomised response with delta": (randomised_response(1.0, 0.1), 1.0, 0.1),
}
BROKEN = {
    "randomised response": (randomised_response(2.0), 1.0, 0.0),
    "Laplace": (laplace(0.5), 1.0, 0.0),
    "Gaussian": (gaussian(2.0), 1.0, MU_1_AT_1),
    "randomised response with delta": (randomised_response(2.0, 0.1), 1.0, 0.1),
}


def games(
    sample, epsilon, delta, *, audits, most, seed=0, alpha=0.05, epsilons=None, order="honest"
):
    """Play side by side until ``most`` outputs a dataset; return the games after the last.

    ``order`` "reuses" bets on what the bets were learned from.
    """
    rng = np.random.default_rng(seed)
    grid = np.array([epsilon]) if epsilons is None else epsilons
    options = {"epsilons": grid, "claim": len(grid) - 1, "delta": delta, "alpha": alpha}
    ends = make_bet_boundaries()
    seen = next(ends)
    game = BettingGame.open(*(sample(side, audits, seen, rng) for side in (0, 1)), **options)
    while seen < most:
        end = min(next(ends), most)
        batch = [sample(side, audits, end - seen, rng) for side in (0, 1)]
        if order == "reuses":
            game, _ = game.learn(*batch, anew=True).play(*batch)
        else:
            game, _ = game.play(*batch)
            game = game.learn(*batch)
        seen = end
    return game


def stopping_times(game):
    """Return outputs of each dataset until the refutation, infinite where there is none."""
    after = game.refuted_after
    return np.where(after > 0, after + PILOT, np.inf)


def too_many(audits, alpha=ALPHA):
    """Return the number of refutations that chance gives with probability 1e-6."""
    return binom.isf(TINY, audits, alpha)


def refuted(game, alpha=ALPHA):
    return int((game.wealth.log_peak[:, -1] >= np.log(1 / alpha)).sum())


@cache
def correct_games(name):
    return games(*CORRECT[name], audits=600, most=1000)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", CORRECT)
def test_true_claims_are_rarely_refuted_however_often_one_looks(name):
    game = correct_games(name)
    assert refuted(game) <= too_many(600)
    assert refuted(game, FEW) == 0
    assert refuted(game, 0.5) > 0  # bets are made


@pytest.mark.slow
@pytest.mark.parametrize("name", CORRECT)
def test_of_ten_thousand_audits_of_a_true_claim_at_most_alpha_refute_it(name):
    """10,000 audits with up to 10,000 outputs of each dataset."""
    parts = [games(*CORRECT[name], audits=500, most=10_000, seed=[7, part]) for part in range(20)]
    assert sum(map(refuted, parts)) <= too_many(10_000)
    assert sum(refuted(part, FEW) for part in parts) == 0


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "median"),
    [
        ("randomised response", 90),
        ("Laplace", 130),
        ("Gaussian", 120),
        ("randomised response with delta", 110),
    ],
)
def test_false_claims_are_refuted_and_soon(name, median):
    """The exact fixed-sample test needs 92 outputs of half the Laplace noise for even odds."""
    times = stopping_times(games(*BROKEN[name], audits=60, most=1500))
    assert np.isfinite(times).all()
    assert np.median(times) < median


@pytest.mark.slow
def test_lower_bounds_hold_all_at_once_and_come_close():
    grid = np.linspace(0.1, 1.3, 13)
    game = games(laplace(1.0), 1.0, 0.0, audits=60, most=1500, epsilons=grid)
    assert int((game.lower > 1.0 + 1e-9).sum()) <= too_many(60)
    assert np.median(game.lower) > 0.75


def test_what_is_bet_on_after_learning_from_it_is_caught():
    """A reused sample refutes true claims: this is what the order of play prevents."""
    game = games(*CORRECT["Laplace"], audits=100, most=500, order="reuses")
    assert refuted(game) > too_many(100)


def test_a_fixed_sample_test_that_is_looked_at_again_and_again_is_caught():
    """A one-sided test at 5% with a known event, looked at after every ten outputs."""
    rng = np.random.default_rng(0)
    grown = np.exp(1.0)
    p, q = (rng.random((600, 1000)) < rate for rate in (grown / (1 + grown), 1 / (1 + grown)))
    n = np.arange(1, 1001)
    right = np.cumsum(p, axis=1) + n - np.cumsum(q, axis=1)
    looks = slice(49, None, 10)
    tails = binom.sf(right[:, looks] - 1, 2 * n[looks], grown / (1 + grown))
    at_the_end = int((tails[:, -1] <= ALPHA).sum())
    peeking = int((tails <= ALPHA).any(axis=1).sum())
    assert at_the_end <= too_many(600) < peeking
    assert refuted(correct_games("randomised response")) < peeking


def test_wealth_that_is_summed_over_bettors_is_caught():
    """Four bettors with a wealth of 1 each: the sum starts at 4 and errs four times as often."""
    game = correct_games("randomised response")
    bettors = game.wealth.log_share.shape[-1]
    summed = game.wealth.log_peak[:, -1] + np.log(bettors)
    assert int((summed >= np.log(1 / ALPHA)).sum()) > 2 * max(refuted(game), 1)
