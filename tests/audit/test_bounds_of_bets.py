"""Bounds that no counts of one event carry, worked out again from what was bet on.

Bets and divergences: what follows from the counts in the report is worked out with mpmath by the
text of docs/numbers.md, without a line of the package's mathematics.
"""

import json
import math
from functools import cache

import numpy as np
import pytest
from mpmath import mp
from scipy.optimize import minimize_scalar

from dpaudit.auditing.api import own_case
from dpaudit.auditing.estimators.sequential import Bettor
from dpaudit.auditing.run import audit_case
from dpaudit.estimation.sequential.game import STAKES, BettingTarget
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.report.render import render_html
from dpaudit.report.schema import Environment, Report


def one_number(data, rng):
    return sum(data) + rng.laplace(scale=0.4)


def audited(claimed, mechanism=one_number, **settings):
    pair = Pair([1.0, 0.0], [0.0, 0.0], REPLACE_RECORD)
    here = Isolation(in_process=True)
    case, statement = own_case(mechanism, pair, claimed=claimed, isolation=here)
    asked = Settings(distinguisher="histogram", **settings)
    return audit_case(case, asked, statement=statement, rerun="none")


def nothing_of_the_data(data, rng):
    return rng.laplace()


def html_of(result):
    here = Environment.of_this_machine(1, 0.0)
    return render_html(Report(confidence=0.95, budget=[], results=[result], environment=here))


# A divergence

OTHER_CURRENCIES = [RenyiDP(5.0, 50.0), ZeroConcentratedDP(50.0)]


def least_divergence(bins):
    """Return what counts of bins certify, by the inequality of Birrell et al. and Markov's."""
    a, c, m, s = (mp.mpf(bins[name]) for name in ("order", "slope", "centre", "stake"))
    (n, k), (favoured, other) = bins["trials"], bins["hits"]
    gain = [mp.exp((a - 1) * one) for one in map(mp.mpf, bins["log_ratios"])]
    cost = [mp.exp(a * one) for one in map(mp.mpf, bins["log_ratios"])]

    def wealth(t):
        up = [mp.log(1 + s / n * (c * one - m - t)) for one in gain]
        down = [mp.log(1 - s / k * (one - m)) for one in cost]
        return mp.fdot(favoured, up) + mp.fdot(other, down)

    low, high = mp.mpf(0), c * max(gain)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle) >= -mp.log(bins["alpha"]) else (low, middle)
    return least_of_means(high, a, c) / bins["unit"]


def least_of_means(t, a, c):
    """Return the least of ``r log A - log B`` over all B > 0 and A with ``c A - B >= t``."""
    r = a / (a - 1)
    found = minimize_scalar(
        lambda u: float(r * mp.log((t + mp.exp(u)) / c) - u),
        bracket=(float(mp.log(t)), float(mp.log(t)) + 1),
        tol=1e-12,
    )
    return found.fun


@pytest.mark.parametrize(
    "claimed",
    [RenyiDP(2.0, 50.0), *(pytest.param(one, marks=pytest.mark.slow) for one in OTHER_CURRENCIES)],
    ids=str,
)
def test_counts_of_bins_carry_the_divergence(claimed):
    result = audited(claimed, trials=400)
    printed = json.loads(result.model_dump_json())
    bins = printed["bin_counts"]
    with mp.workdps(30):
        again = least_divergence(bins)
    assert result.measured.lower > 0.1
    assert result.measured.lower == bins["bound"] == pytest.approx(again, rel=2e-3)
    spent = [one["alpha"] for one in printed["budget"]]
    assert sum(spent) == pytest.approx(bins["alpha"])
    assert bins["trials"] == [400, 400]
    assert all(sum(one) <= 400 for one in bins["hits"])
    assert "The counts that carry the bound" in html_of(result)


def test_counts_that_do_not_certify_are_not_printed():
    result = audited(RenyiDP(2.0, 50.0), mechanism=nothing_of_the_data, trials=100)
    assert result.measured.lower == 0
    assert result.bin_counts is None


# Bets


@cache
def log_factors(rate, other_rate, stake, epsilon):
    """Return the logarithms of a bet's four factors: nearest allowed rates, gain, Kelly's stake."""
    p1, q1, grown = rate, other_rate, math.exp(epsilon)

    def allowed(q):
        return np.minimum(grown * q, 1 - (1 - q) / grown)

    def far(q):
        p = allowed(q)
        return kl(p1, p) + kl(q1, q)

    if p1 <= allowed(q1):
        return [0.0] * 4
    edge = 1e-12
    inside = minimize_scalar(far, bounds=(q1 + edge, 1 - edge), method="bounded")
    grid = np.linspace(q1, min(1.0, q1 + 2 * (inside.x - q1)), 4_001)[1:-1]
    q0 = float(grid[np.argmin(far(grid))])
    p0 = allowed(q0)
    up, down = stake * (p1 - p0) / (p0 * (1 - p0)), stake * (q1 - q0) / (q0 * (1 - q0))
    corners = ((0.0, 0.0), (grown / (1 + grown), 1 / (1 + grown)), (1.0, 1.0))
    most = max(0.0, *(up * (p - p0) + down * (q - q0) for p, q in corners))
    return [
        math.log1p(gain) - math.log1p(most / 2)
        for gain in (up * (1 - p0), -up * p0, down * (1 - q0), -down * q0)
    ]


def kl(one, other):
    return one * np.log(one / other) + (1 - one) * np.log((1 - one) / (1 - other))


def wealths(wealth, epsilon):
    """Return the logarithm of the wealth at the end of each row, from what is printed."""
    stakes = wealth["stakes"]
    shares = [one["share"] / len(stakes) for one in wealth["events"] for _ in stakes]
    each, path = np.log(shares), []
    for row in wealth["bets"]:
        factors = []
        for (rate, other_rate), (hits, others) in zip(row["rates"], row["hits"], strict=True):
            counts = [hits, row["pairs"] - hits, others, row["pairs"] - others]
            for stake in stakes:
                logs = log_factors(rate, other_rate, stake, epsilon)
                factors.append(math.fsum(map(math.prod, zip(counts, logs, strict=True))))
        each = each + factors
        path.append(float(np.logaddexp.reduce(each)))
    return path


def require_carried(wealth, lower):
    """Require that the counts exclude the printed bound, some below it, and none beyond."""
    goal, epsilons = wealth["log10_goal"] * math.log(10), wealth["epsilons"]
    (place,) = (n for n, one in enumerate(epsilons) if one == pytest.approx(lower, rel=1e-9))
    for below in [*epsilons[: place + 1 : 12], epsilons[place]]:
        assert max(wealths(wealth, below)) >= goal - 1e-4
    assert max(wealths(wealth, epsilons[place + 1])) < goal


def test_counts_of_bets_carry_the_wealth_and_the_bound():
    result = audited(PureDP(0.7), trials=900, until_refuted=True)
    printed = json.loads(result.model_dump_json())
    wealth, alpha = printed["wealth"], sum(one["alpha"] for one in printed["budget"])
    assert sum(one["share"] for one in wealth["events"]) == pytest.approx(1.0)
    assert 10 ** -wealth["log10_goal"] == pytest.approx(alpha)
    require_carried(wealth, result.measured.lower)
    assert result.measured.lower >= 0.7
    (claim,) = (one for one in wealth["epsilons"] if one == pytest.approx(0.7, rel=1e-5))
    again = wealths(wealth, claim)
    assert again[-1] == pytest.approx(wealth["log10_wealth"][-1] * math.log(10), abs=1e-3)
    fell = next(n for n, one in enumerate(again) if one >= -math.log(alpha) - 1e-4)
    pilot = result.counts["pilot, not bet on, per dataset"]
    before = sum(row["pairs"] for row in wealth["bets"][: fell + 1])
    assert wealth["refuted_after"] == pilot + before
    assert "What was bet on" in html_of(result)


def fed(pieces):
    """Return a bettor after 400 pairs, in pieces of so many."""
    rng = np.random.default_rng(5)
    on_p, on_q = rng.laplace(1, 0.5, (400, 1)), rng.laplace(0, 0.5, (400, 1))
    bettor = Bettor(
        BettingTarget(1.0, 0.0, 0.05), lambda *_: [lambda x: x[:, 0], lambda x: -x[:, 0]]
    )
    for start in range(0, 400, pieces):
        bettor.feed(on_p[start : start + pieces], on_q[start : start + pieces])
    return bettor


def test_counts_do_not_depend_on_the_pieces_of_a_stream():
    whole, parts = fed(400), fed(7)
    assert whole.refuted_after == parts.refuted_after > 0
    rows = [
        [(row.pairs, row.hits.tolist(), row.other_hits.tolist()) for row in one.bet_counts]
        for one in (whole, parts)
    ]
    assert rows[0] == rows[1]
    assert sum(pairs for pairs, _, _ in rows[0]) == 350


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
