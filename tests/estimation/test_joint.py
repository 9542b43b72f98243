"""The joint test of an event's counts: coverage by enumeration, and the physical limit."""

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.joint import exponent, joint_lower_bound
from dpaudit.estimation.likelihood import likelihood_bound

ALPHA = 0.05


def bound(x, y, n, delta=0.0, alpha=ALPHA):
    return joint_lower_bound(x, y, n, n, delta=delta, alpha=alpha)


def two_intervals(x, y, n, delta):
    """Clopper and Pearson's, half of the error probability each."""
    lower = proportion_confint(x, n, alpha=ALPHA, method="beta")[0]
    upper = proportion_confint(y, n, alpha=ALPHA, method="beta")[1]
    return math.log(max(lower - delta, 1e-300) / upper)


def true_epsilon(p, q, delta):
    """Return the epsilon of a pair of coins, both directions and both outcomes."""
    ratios = [
        (a - delta) / b for a, b in ((p, q), (1 - p, 1 - q), (q, p), (1 - q, 1 - p)) if a > delta
    ]
    return max(0.0, math.log(max(ratios)))


@pytest.mark.parametrize("delta", [0.0, 0.05])
def test_no_coin_is_accused_more_often_than_alpha(delta):
    """Every outcome of 12 and 9 trials is enumerated: the error is computed, not simulated."""
    n, m, alpha = 12, 9, 0.2
    table = np.array(
        [
            [joint_lower_bound(x, y, n, m, delta=delta, alpha=alpha) for y in range(m + 1)]
            for x in range(n + 1)
        ]
    )
    worst = 0.0
    for p in np.linspace(0.02, 0.98, 25):
        for q in np.linspace(0.02, 0.98, 25):
            chance = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q))
            worst = max(worst, chance[table > true_epsilon(p, q, delta) + 1e-12].sum())
    assert worst <= alpha
    assert worst > 0.8 * alpha


@pytest.mark.parametrize("n", [50, 500, 50_000, 5_000_000])
@pytest.mark.parametrize("alpha", [0.05, 1e-7])
def test_error_free_outputs_reach_the_physical_limit(n, alpha):
    found = bound(n, 0, n, alpha=alpha)
    limit = -math.log(math.expm1(-math.log(alpha) / (2 * n)))
    assert found <= limit
    assert found >= limit - (0.03 if n <= 50_000 else 0.3)  # the order of outcomes is computed
    if alpha == 0.05 and n >= 500:
        assert found >= math.log(2 * n / 3.2)


@pytest.mark.parametrize(
    ("x", "y", "n", "delta"),
    [
        (900, 37, 1000, 0.0),
        (7200, 1200, 10_000, 1e-5),
        (50_000, 30_000, 100_000, 0.0),
        (20, 0, 100_000, 0.0),
        (1000, 800, 100_000, 0.0),
        (500, 100, 1000, 0.2),
    ],
)
def test_the_joint_bound_beats_an_interval_for_each_count(x, y, n, delta):
    point = math.log((x / n - delta) / (y / n)) if y else math.inf
    assert max(0.0, two_intervals(x, y, n, delta)) < bound(x, y, n, delta=delta) < point


def test_the_complement_counts_too():
    """999 misses of 1000 on one side: the rare event is the complement's, and it decides."""
    assert bound(999, 500, 1000) > 4
    assert bound(500, 1, 1000) == pytest.approx(bound(999, 500, 1000), rel=0.2)


def test_the_p_value_is_that_of_the_worst_allowed_coins():
    """At the bound, no pair that is allowed reaches alpha; a little above, one does (30 digits)."""
    n, alpha = 12, 0.1
    found = bound(10, 2, n, alpha=alpha)
    x, y = np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij")
    order = likelihood_bound(x / n, y / n, n, n, 0.0, exponent(alpha))
    extreme = np.argwhere(order >= order[10, 2] * (1 - 1e-6)).tolist()

    def worst(epsilon):
        best = mpmath.mpf(0)
        for q in np.linspace(0.01, 0.99, 99):
            p = min(math.exp(epsilon) * q, 1 - math.exp(-epsilon) * (1 - q))
            best = max(best, sum(chance(x, n, p) * chance(y, n, q) for x, y in extreme))
        return best

    with mpmath.workdps(30):
        assert worst(found) <= alpha
        assert worst(found * 1.03) > 0.98 * alpha


def chance(k, n, p):
    return mpmath.binomial(n, k) * mpmath.mpf(p) ** k * (1 - mpmath.mpf(p)) ** (n - k)


def test_nothing_is_certified_of_equal_or_reversed_counts():
    assert bound(400, 400, 1000) == 0
    assert bound(100, 900, 1000) == 0
    assert bound(1, 0, 1) == 0


def test_the_bound_falls_with_alpha_and_delta():
    by_alpha = [bound(900, 10, 1000, alpha=a) for a in (0.2, 0.05, 1e-6, 1e-20)]
    by_delta = [bound(900, 10, 1000, delta=d) for d in (0.0, 1e-5, 0.1, 0.8)]
    assert by_alpha == sorted(by_alpha, reverse=True)
    assert by_delta == sorted(by_delta, reverse=True)


@pytest.mark.parametrize(
    ("change", "named"),
    [({"hits": 11}, "hits"), ({"other_hits": -1}, "other_hits"), ({"alpha": 0.0}, "alpha")],
)
def test_bad_arguments_are_named(change, named):
    given = {"hits": 1, "other_hits": 1, "trials": 10, "other_trials": 10, "delta": 0.0}
    given |= {"alpha": 0.05} | change
    with pytest.raises(InvalidArgument, match=f"^{named}: "):
        joint_lower_bound(**given)
