"""Bounds that no counts of one event carry, worked out again from what was bet on.

Bets and divergences: their outputs are looked at as the audit counts them, and all that follows is
worked out with mpmath by the text of the theorem, without a line of the package's mathematics.
"""

import json
import math

import numpy as np
import pytest
from mpmath import mp
from scipy.optimize import minimize_scalar

import dpaudit.auditing.divergence as divergence
from dpaudit.auditing.api import own_case
from dpaudit.auditing.betting import Bettor
from dpaudit.auditing.run import audit_case
from dpaudit.estimation.sequential.game import STAKES, Game
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import PureDP, RenyiDP
from dpaudit.laws.isolated import Isolation
from dpaudit.neighbours import REPLACE_RECORD, Pair


def one_number(data, rng):
    return sum(data) + rng.laplace(scale=0.4)


def audited(claimed, **settings):
    pair = Pair([1.0, 0.0], [0.0, 0.0], REPLACE_RECORD)
    here = Isolation(in_process=True)
    case, statement = own_case(one_number, pair, claimed=claimed, isolation=here)
    asked = Settings(distinguisher="histogram", **settings)
    return audit_case(case, asked, statement=statement, rerun="none")


# A divergence


def least_divergence(seen):
    """Return what the counts of bins certify, by the inequality of Birrell et al. and Markov's."""
    bet, (on_p, on_q) = seen.chosen.bet, seen.counts
    favoured, other = (on_p, on_q) if seen.chosen.above else (on_q, on_p)
    a, c, m, s = map(mp.mpf, (bet.order, bet.slope, bet.centre, bet.stake))
    n, k = bet.trials
    gain = [mp.exp((a - 1) * one) for one in map(mp.mpf, bet.log_ratios)]
    cost = [mp.exp(a * one) for one in map(mp.mpf, bet.log_ratios)]
    prefixes = list(zip(np.cumsum(favoured, axis=0), np.cumsum(other, axis=0), strict=True))

    def wealth(t):
        up = [mp.log(1 + s / n * (c * one - m - t)) for one in gain]
        down = [mp.log(1 - s / k * (one - m)) for one in cost]
        return max(
            mp.fsum(int(x) * b for x, b in zip(f, up, strict=True))
            + mp.fsum(int(y) * b for y, b in zip(o, down, strict=True))
            for f, o in prefixes[:: max(1, len(prefixes) // 8)] + prefixes[-1:]
        )

    low, high = mp.mpf(0), c * max(gain)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle) >= -mp.log(seen.alpha) else (low, middle)
    return least_of_means(high, a, c)


def least_of_means(t, a, c):
    """Return the least of ``r log A - log B`` over all B > 0 and A with ``c A - B >= t``."""
    r = a / (a - 1)
    found = minimize_scalar(
        lambda u: float(r * mp.log((t + mp.exp(u)) / c) - u),
        bracket=(float(mp.log(t)), float(mp.log(t)) + 1),
        tol=1e-12,
    )
    return found.fun


@pytest.mark.parametrize("order", [2.0, pytest.param(5.0, marks=pytest.mark.slow)])
def test_counts_of_bins_carry_the_divergence(monkeypatch, order):
    kept, drawn = [], divergence._drawn

    def watched(*given):
        kept.append(drawn(*given))
        return kept[-1]

    monkeypatch.setattr(divergence, "_drawn", watched)
    result = audited(RenyiDP(order, 50.0), trials=400)
    ((seen, _, _),) = kept
    with mp.workdps(30):
        again = least_divergence(seen)
    assert result.measured.lower > 0.1
    assert result.measured.lower == pytest.approx(again, rel=2e-3)
    spent = [one["alpha"] for one in json.loads(result.model_dump_json())["budget"]]
    assert sum(spent) == pytest.approx(seen.alpha)
    assert seen.chosen.bet.trials == (400, 400)


# Bets


def log_factors(rate, other_rate, stake, epsilon):
    """Return the logarithms of a bet's four factors: nearest allowed rates, gain, Kelly's stake."""
    p1, q1, grown = rate, other_rate, math.exp(epsilon)

    def allowed(q):
        return min(grown * q, 1 - (1 - q) / grown)

    def far(q):
        p = allowed(q)
        return kl(p1, p) + kl(q1, q)

    if p1 <= allowed(q1):
        return [0.0] * 4
    edge = 1e-12
    inside = minimize_scalar(far, bounds=(q1 + edge, 1 - edge), method="bounded")
    grid = np.linspace(q1, min(1.0, q1 + 2 * (inside.x - q1)), 4_001)[1:-1]
    q0 = min(grid, key=far)
    p0 = allowed(q0)
    up, down = stake * (p1 - p0) / (p0 * (1 - p0)), stake * (q1 - q0) / (q0 * (1 - q0))
    corners = ((0.0, 0.0), (grown / (1 + grown), 1 / (1 + grown)), (1.0, 1.0))
    most = max(0.0, *(up * (p - p0) + down * (q - q0) for p, q in corners))
    return [
        math.log1p(gain) - math.log1p(most / 2)
        for gain in (up * (1 - p0), -up * p0, down * (1 - q0), -down * q0)
    ]


def kl(one, other):
    return one * math.log(one / other) + (1 - one) * math.log((1 - one) / (1 - other))


def wealth_again(rounds, shares, epsilon):
    """Return the path of the logarithm of the wealth, from rates, shares and hits of each round."""
    each, path = np.log(shares), []
    for chosen, hits, other in rounds:
        factors = [
            log_factors(p, q, stake, epsilon)
            for p, q in zip(chosen.rate, chosen.other_rate, strict=True)
            for stake in STAKES
        ]
        for n in range(hits.shape[1]):
            for k, (hit, miss, other_hit, other_miss) in enumerate(factors):
                event = k // len(STAKES)
                each[k] += hit if hits[event, n] else miss
                each[k] += other_hit if other[event, n] else other_miss
            path.append(float(np.logaddexp.reduce(each)))
    return path


def test_bets_carry_the_wealth_the_refutation_and_the_bound(monkeypatch):
    rounds, opened, bettors = [], [], []
    play, start = Game.play, Bettor.__init__

    def watched(game, on_p, on_q):
        opened.append(game)
        favoured, other = np.concatenate([on_p, -on_q]), np.concatenate([on_q, -on_p])
        threshold = game.chosen.threshold[:, None]
        rounds.append((game.chosen, favoured >= threshold, other >= threshold))
        return play(game, on_p, on_q)

    def begun(bettor, *given):
        bettors.append(bettor)
        start(bettor, *given)

    monkeypatch.setattr(Game, "play", watched)
    monkeypatch.setattr(Bettor, "__init__", begun)
    result = audited(PureDP(0.7), trials=900, until_refuted=True)
    target, path = bettors[0].target, result.wealth
    shares = np.exp(opened[0].wealth.log_share)
    assert shares.sum() == pytest.approx(1.0)
    goal = -math.log(target.alpha)
    assert path.log10_goal == pytest.approx(goal / math.log(10))
    again = wealth_again(rounds, shares, float(target.epsilons[target.claim]))
    assert path.log10_wealth[-1] == pytest.approx(again[-1] / math.log(10), abs=1e-4)
    reached = next(n for n, one in enumerate(again, start=1) if one >= goal)
    assert path.refuted_after == reached + bettors[0].learned_from
    below, above = largest_passed(rounds, shares, target, goal, result.measured.lower)
    assert below >= goal > above


def largest_passed(rounds, shares, target, goal, lower):
    """Return how far the wealth went against the printed bound, and against the next epsilon."""
    place = int(np.argmin(np.abs(target.epsilons - lower)))
    assert target.epsilons[place] == pytest.approx(lower, rel=1e-9)
    return [
        max(wealth_again(rounds, shares, float(target.epsilons[n]))) for n in (place, place + 1)
    ]


@pytest.mark.parametrize("stake", STAKES)
@pytest.mark.parametrize(("rate", "other"), [(0.9, 0.1), (0.3, 0.01), (0.99, 0.6)])
def test_the_oracle_s_bet_is_fair_and_no_other_one_is_it(rate, other, stake):
    """Where the claim allows the most, its mean is at most 1; a swapped one differs."""
    epsilon = 1.0
    hit, miss, other_hit, other_miss = np.exp(log_factors(rate, other, stake, epsilon))
    for q in np.linspace(1e-6, 1 - 1e-6, 101):
        p = min(math.exp(epsilon) * q, 1 - (1 - q) / math.exp(epsilon))
        mean = (p * hit + (1 - p) * miss) * (q * other_hit + (1 - q) * other_miss)
        assert mean <= 1 + 1e-6
    assert hit > 1 > other_hit
