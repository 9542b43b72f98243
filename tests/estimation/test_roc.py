"""Rates, areas and advantage of an attack's scores: closed forms, and intervals that hold."""

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

import dpaudit
from dpaudit.estimation import roc
from dpaudit.estimation.roc import (
    auroc,
    chernoff_interval,
    epsilon_as_counted,
    gaussian_epsilon,
    gaussian_mu,
    hull_area,
    roc_numbers,
    tpr_at,
)

RNG = np.random.default_rng(21)
FPRS = (0.01, 0.1, 0.5)


def gaussian(mu, n, m):
    return RNG.normal(mu, 1, n), RNG.normal(0, 1, m)


def tied(mu, n, m):
    return tuple(np.round(side) for side in gaussian(mu, n, m))


def of_gaussian(mu):
    """Return the closed forms: rates, area, and advantage of N(mu, 1) against N(0, 1)."""
    rates = [norm.cdf(mu + norm.ppf(fpr)) for fpr in FPRS]
    return rates, norm.cdf(mu / math.sqrt(2)), 2 * norm.cdf(mu / 2) - 1


def of_rounded(mu):
    """Return the same of rounded scores, by their probabilities; the curve has coins at ties."""
    values = np.arange(-12, 13)
    p, q = (norm.cdf(values + 0.5 - m) - norm.cdf(values - 0.5 - m) for m in (mu, 0))
    above = [np.concatenate([[0.0], np.cumsum(one[::-1])]) for one in (q, p)]
    rates = [float(np.interp(fpr, *above)) for fpr in FPRS]
    area = float(sum(p[i] * (q[:i].sum() + q[i] / 2) for i in range(len(values))))
    return rates, area, float((above[1] - above[0]).max())


@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0, 3.0])
def test_estimates_come_near_to_closed_forms(mu):
    members, others = gaussian(mu, 10_000, 10_000)
    rates, area, advantage = of_gaussian(mu)
    found = roc_numbers(members, others, FPRS, 0.05)
    assert [one.estimate for _, one in found.rates] == pytest.approx(rates, abs=0.04)
    assert found.auroc.estimate == pytest.approx(area, abs=0.02)
    assert found.advantage.estimate == pytest.approx(advantage, abs=0.04)
    assert found.accuracy.estimate == pytest.approx((1 + advantage) / 2, abs=0.02)
    assert gaussian_mu(area) == pytest.approx(mu, abs=1e-9)
    assert all(one.low <= one.estimate <= one.high for _, one in found.rates)


def test_the_area_is_that_of_every_pair():
    members, others = tied(0.7, 40, 30)
    every = np.mean([(x > y) + (x == y) / 2 for x in members for y in others])
    assert auroc(members, others, 0.05).estimate == pytest.approx(every, abs=1e-12)
    turned = auroc(-members, -others, 0.05)
    assert turned.estimate == pytest.approx(1 - every, abs=1e-12)
    assert turned.low == pytest.approx(1 - auroc(members, others, 0.05).high, abs=1e-9)


def test_ends_are_where_the_theorem_has_them():
    low, high = chernoff_interval(0.8, 300, 0.05)
    for end in (low, high):
        kl = 0.8 * math.log(0.8 / end) + 0.2 * math.log(0.2 / (1 - end))
        assert 300 * kl == pytest.approx(math.log(2 / 0.05), rel=1e-9)
    assert low < 0.8 < high
    # With nothing but ones the probability of that is a^n.
    assert chernoff_interval(1.0, 100, 0.05)[0] == pytest.approx((0.05 / 2) ** (1 / 100))
    assert chernoff_interval(0.0, 100, 0.05) == pytest.approx(
        tuple(1 - end for end in chernoff_interval(1.0, 100, 0.05)[::-1])
    )


def test_the_interval_of_a_rate_holds_whatever_members_are():
    # P(interval misses), exactly: others are uniform, members above a threshold binomial.
    n, m, fpr, alpha = 60, 80, 0.1, 0.2
    others = np.sort(RNG.random((300, m)), axis=1)
    missed = 0.0
    tpr = 0.4  # of the curve at fpr; at another threshold t it is 1 - (1 - t) ** power
    power = math.log(1 - tpr) / math.log(1 - fpr)
    k = np.arange(n + 1)
    ends = [roc.clopper_pearson(int(i), n, alpha / 2) for i in k]
    for one in others:
        strict, loose = roc._order_statistics(one[::-1], fpr, alpha / 4)
        over = 1 - (strict if strict is not None else 1.0)
        below = 1 - (loose if loose is not None else 0.0)
        too_high = binom.pmf(k, n, 1 - (1 - over) ** power)[[e[0] > tpr for e in ends]].sum()
        too_low = binom.pmf(k, n, 1 - (1 - below) ** power)[[e[1] < tpr for e in ends]].sum()
        missed += (too_high + too_low) / len(others)
    assert missed <= alpha


@pytest.mark.slow
@pytest.mark.parametrize("draw", [gaussian, tied])
@pytest.mark.parametrize(("mu", "n", "m"), [(0.0, 100, 100), (1.0, 100, 300), (2.0, 500, 60)])
def test_all_intervals_hold_together(draw, mu, n, m):
    truth = (of_gaussian if draw is gaussian else of_rounded)(mu)
    wrong, games, alpha = 0, 2000, 0.2
    for _ in range(games):
        found = roc_numbers(*draw(mu, n, m), FPRS, alpha)
        rates, area, advantage = truth
        held = [
            one.low <= true <= one.high for (_, one), true in zip(found.rates, rates, strict=True)
        ]
        held.append(found.auroc.low <= area <= found.auroc.high)
        held.append(found.advantage.low <= advantage <= found.advantage.high)
        wrong += not all(held)
    assert wrong <= binom.ppf(0.999, games, alpha)


@pytest.mark.slow
def test_each_interval_of_an_area_holds_and_is_no_wider_than_it_needs():
    for mu, n, m in ((0.0, 80, 80), (1.5, 80, 300), (3.0, 200, 50)):
        area, wrong, games = of_gaussian(mu)[1], 0, 4000
        for _ in range(games):
            one = auroc(*gaussian(mu, n, m), 0.2)
            wrong += not one.low <= area <= one.high
        assert wrong <= binom.ppf(0.999, games, 0.2)
    # Halved in width it would not hold: the test can fail.
    wrong = 0
    for _ in range(1000):
        one = auroc(*gaussian(0.0, 80, 80), 0.2)
        half = (one.high - one.low) / 6
        wrong += abs(one.estimate - 0.5) > half
    assert wrong > binom.ppf(0.999, 1000, 0.2)


# What jax_privacy.auditing.CanaryScoreAuditor answers, each stated anew by a closed form.


def test_tpr_at_given_fpr_with_coins_between_thresholds():
    members, others = np.arange(100) + 9.5, np.arange(100.0)
    # Of members 9.5, ..., 108.5 ten lie above 99: that is 10% at FPR 0, and one more per hundredth.
    for fpr, tpr in ((0.0, 0.1), (0.01, 0.11), (0.1, 0.2), (0.005, 0.105), (1.0, 1.0)):
        assert roc.hull_tpr(members, others, fpr) == pytest.approx(tpr)


def test_attack_auroc_of_the_hull():
    members, others = np.arange(100) + 9.5, np.arange(100.0)
    # The hull is TPR = min(1, 0.1 + FPR): its area is 1 less half the square of 0.9.
    assert hull_area(members, others) == pytest.approx(1 - 0.9**2 / 2)
    assert auroc(members, others, 0.05).estimate <= hull_area(members, others)
    assert hull_area(others, others) == pytest.approx(0.5)


def test_epsilon_raw_counts():
    members, others = np.r_[np.ones(80), np.zeros(20)], np.r_[np.ones(10), np.zeros(90)]
    assert epsilon_as_counted(members, others, 0.0, fewest=10) == pytest.approx(math.log(8))
    assert epsilon_as_counted(members, others, 0.3, fewest=10) == pytest.approx(math.log(5))
    assert epsilon_as_counted(members, others, 0.0, fewest=11) == 0.0


def test_epsilon_from_gdp():
    # delta(epsilon) of mu-GDP is Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
    epsilon = gaussian_epsilon(norm.cdf(1 / math.sqrt(2)), 1e-5)
    delta = norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon)
    assert delta == pytest.approx(1e-5, rel=1e-6)
    assert gaussian_epsilon(0.4, 1e-5) == 0.0
    assert gaussian_epsilon(1.0, 1e-5) is None


def test_max_accuracy():
    members, others = np.r_[np.ones(80), np.zeros(20)], np.r_[np.ones(10), np.zeros(90)]
    found = roc_numbers(members, others, [0.1], 0.05)
    assert found.accuracy.estimate == pytest.approx((0.8 + 0.9) / 2)
    assert tpr_at(members, others, 0.1, 0.05).estimate == pytest.approx(0.8)


@pytest.mark.slow
def test_epsilon_lower_bound_and_what_is_known_of_it():
    members, others = gaussian(2.0, 4000, 4000)
    result = dpaudit.audit_membership(members, others, delta=1e-5, epsilon=0.5)
    truth = gaussian_epsilon(norm.cdf(2 / math.sqrt(2)), 1e-5)
    assert result.verdict == "refuted"
    assert 0.5 < result.measured.lower < truth
    assert sum(entry.alpha for entry in result.budget) == pytest.approx(0.05)
    none = dpaudit.audit_membership(*gaussian(0.0, 1000, 1000), delta=1e-5, epsilon=0.5)
    assert none.verdict == "not refuted"
    turned = dpaudit.audit_membership(others, members, delta=1e-5)
    assert any("other sign" in note for note in turned.notes)


def test_one_error_probability_for_all(monkeypatch):
    seen = list[float]()
    real = {name: getattr(roc, name) for name in ("tpr_at", "auroc", "_advantage")}
    for name, function in real.items():
        monkeypatch.setattr(
            roc,
            name,
            lambda *given, function=function: (seen.append(given[-1]), function(*given))[1],
        )
    roc.roc_numbers(*gaussian(1.0, 50, 50), FPRS, 0.05)
    assert sum(seen) == pytest.approx(0.05)


def test_the_estimate_of_a_curve_with_a_dent_is_inside_its_interval():
    rng = np.random.default_rng(0)
    members = np.where(rng.random(20_000) < 0.5, -10.0, 10.0)
    found = tpr_at(members, rng.random(20_000), 0.1, 0.05)
    assert found.low <= found.estimate <= found.high < 0.52
    assert roc.hull_tpr(members, rng.random(20_000), 0.1) == pytest.approx(0.55, abs=0.01)
