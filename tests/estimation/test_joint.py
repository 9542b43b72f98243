"""The joint test of an event's counts: coverage by enumeration, and the physical limit."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import rel_entr
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

import dpaudit.estimation.joint as joint
import dpaudit.estimation.orders as orders
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.joint import _ROUNDED, _Test, joint_lower_bound
from dpaudit.estimation.likelihood import distance, likelihood_bound
from dpaudit.estimation.orders import HitCounts, exponent

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


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize(
    ("n", "m", "alpha"),
    [(12, 9, 0.2), pytest.param(40, 33, 0.05, marks=pytest.mark.slow)],
)
def test_no_coin_is_accused_more_often_than_alpha(n, m, alpha, delta):
    """Every outcome is enumerated: the error is computed, not simulated."""
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
    assert found >= limit - 0.03
    if alpha == 0.05 and n >= 500:
        assert found >= math.log(2 * n / 3.2)


@pytest.mark.sampled(2)
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


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("hits", "other_hits", "delta"),
    [(60_000, 40_000, 0.0), (30_100, 30_000, 0.0), (900, 700, 1e-3)],
)
def test_counting_other_hits_in_groups_loses_hardly_anything(hits, other_hits, delta, monkeypatch):
    n, alpha = 100_000, 0.05
    monkeypatch.setattr(joint, "_ONE_BY_ONE", n)
    monkeypatch.setattr(orders, "_TRIED", n)
    whole = joint_lower_bound(hits, other_hits, n, n, delta=delta, alpha=alpha)
    joint._lower_bound.cache_clear()
    monkeypatch.setattr(joint, "_ONE_BY_ONE", 100)
    monkeypatch.setattr(orders, "_TRIED", 500)
    grouped = joint_lower_bound(hits, other_hits, n, n, delta=delta, alpha=alpha)
    joint._lower_bound.cache_clear()
    assert grouped <= whole + 1e-9
    assert grouped == pytest.approx(whole, abs=0.02 * (math.log(hits / other_hits) - whole))


@pytest.mark.parametrize("groups", [2, 5, 50])
def test_groups_never_make_a_tail_smaller(groups, monkeypatch):
    test = _Test.of(HitCounts(700, 300, 1000, 1000), 0.0, 0.05, "likelihood")
    q = test.edges[5:-5:9]
    p = np.minimum(2.1 * q, 0.99)
    exact = test.tail(p, q)
    monkeypatch.setattr(joint, "_ONE_BY_ONE", 0)
    monkeypatch.setattr(joint, "_GROUPS", groups)
    assert (test.tail(p, q) >= exact * (1 - 1e-9)).all()
    if groups == 50:
        assert test.tail(p, q) == pytest.approx(exact, rel=0.1)


@pytest.mark.parametrize("one_by_one", [0, 1000])
def test_what_is_beyond_the_counts_that_are_summed_over_counts_in_full(one_by_one, monkeypatch):
    test = _Test.of(HitCounts(700, 300, 1000, 1000), 0.0, 0.05, "likelihood")
    q = test.edges[5:-5:9]
    p = np.minimum(2.1 * q, 0.99)
    exact = test.tail(p, q)
    monkeypatch.setattr(joint, "_ONE_BY_ONE", one_by_one)
    short = replace(test, reach=0.5)
    missed = [
        joint._compute_binomial_tails(*joint._choose_count_window(1000, x, 0.5), 1000, x)
        for x in q.tolist()
    ]
    assert min(missed) > 0.1
    assert (short.tail(p, q) >= exact * (1 - 1e-9)).all()
    assert (short.tail(p, q) >= missed).all()


@pytest.mark.parametrize("tried", [7, 40])
def test_fewer_other_hits_that_are_tried_never_make_the_region_smaller(tried, monkeypatch):
    every = _Test.of(HitCounts(700, 300, 1000, 1000), 0.0, 0.05, "likelihood").least
    monkeypatch.setattr(orders, "_TRIED", tried)
    test = _Test.of(HitCounts(700, 300, 1000, 1000), 0.0, 0.05, "likelihood")
    assert (test.least <= every).all()
    assert (np.diff(test.least) >= 0).all()
    assert test.least[300 - test.first] <= 700
    assert (test.least < every).any()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [500, 50_000, 5_000_000])
@pytest.mark.parametrize("epsilon", [0.3, 4.0, 12.0])
def test_the_distance_is_that_of_40_digits(n, epsilon):
    for x, y in ((n, 0), (n - 1, 0), (n, 1), (n - 2, 3), (n // 2, 2), (n // 2, n // 10)):
        computed = float(distance(np.array([x / n]), np.array([y / n]), n, n, epsilon, 1e-9)[0])
        with mpmath.workdps(40):
            assert computed == pytest.approx(slow_distance(x, y, n, epsilon, 1e-9), rel=1e-7)


def slow_distance(x, y, n, epsilon, delta):
    """Return the distance by ternary search in the logarithm of q, in mpmath's precision."""
    a, b, growth = mpmath.mpf(x) / n, mpmath.mpf(y) / n, mpmath.exp(mpmath.mpf(epsilon))
    delta = mpmath.mpf(delta)

    def largest(q):
        return min(growth * q + delta, 1 - (1 - q - delta) / growth)

    def cost(log_q):
        q = mpmath.exp(log_q)
        return n * (divergence(a, largest(q)) + divergence(b, q))

    if a <= largest(b):
        return 0.0
    low, high = mpmath.mpf(-40), mpmath.log(mpmath.mpf("0.999999"))
    for _ in range(150):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (left, high) if cost(left) > cost(right) else (low, right)
    return float(cost((low + high) / 2))


def divergence(a, b):
    hit = a * mpmath.log(a / b) if a > 0 else mpmath.mpf(0)
    return hit + ((1 - a) * mpmath.log((1 - a) / (1 - b)) if a < 1 else 0)


@pytest.mark.parametrize(("n", "m", "delta"), [(30, 20, 0.0), (25, 40, 0.03)])
def test_the_region_holds_all_outcomes_with_a_larger_bound(n, m, delta):
    """The order is recomputed with a bounded minimiser of scipy's, on every outcome."""
    alpha = 0.05
    nats = exponent(alpha)
    x, y = np.meshgrid(np.arange(n + 1), np.arange(m + 1), indexing="ij")
    order = likelihood_bound(x / n, y / m, n, m, delta, nats)
    for hits, other_hits in ((n - 3, 2), (n // 2, 1), (n, 0), (n // 2 + 3, m // 3)):
        test = _Test.of(HitCounts(hits, other_hits, n, m), delta, alpha, "likelihood")
        kept = y[0, test.first : test.first + len(test.least)]
        extreme = x[:, kept] >= test.least[None, :]
        larger = order[:, kept] > order[hits, other_hits] + 1e-5
        assert extreme[larger].all()
        assert extreme[hits, list(kept).index(other_hits)]
        left_out = [(i, kept[j]) for i, j in np.argwhere(~extreme)[::7]]
        near = [exact_distance(*counts, n, m, test.observed, delta) for counts in left_out]
        assert max(near) < nats


def exact_distance(x, y, n, m, epsilon, delta):
    """Return the distance of counts by scipy's bounded minimiser, on its own formulas."""

    def largest(q):
        return min(math.exp(epsilon) * q + delta, 1 - math.exp(-epsilon) * (1 - q - delta), 1.0)

    def cost(q):
        return n * relative_entropy(x / n, largest(q)) + m * relative_entropy(y / m, q)

    if x / n <= largest(y / m):
        return 0.0
    return min(
        minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-10}).fun
        for ends in ((1e-12, 0.3), (0.1, 1 - 1e-12))
    )


def relative_entropy(a, b):
    return float(rel_entr(a, b) + rel_entr(1 - a, 1 - b))


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


COUNTS = [(30, 10, 50, 40), (45, 3, 60, 70), (500, 300, 1000, 900), (20, 0, 100, 100)]


@pytest.mark.parametrize("counts", COUNTS)
def test_what_the_interval_for_q_costs_is_taken_off_the_test(counts):
    """Too small a share to be seen in coverage: two hundredths of the error probability."""
    test = _Test.of(HitCounts(*counts), 0.0, ALPHA, "likelihood")
    spent = ALPHA - test.alpha
    assert 0 < spent < 0.1 * ALPHA
    low, high = proportion_confint(counts[1], counts[3], alpha=spent * (1 + 1e-9), method="beta")
    assert test.edges[0] <= low
    assert high <= test.edges[-1]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_the_bound_is_proved_over_all_rates_and_what_a_rate_allows_is_not(counts, delta):
    x, y, n, m = counts
    test = _Test.of(HitCounts(x, y, n, m), delta, ALPHA, "likelihood")
    found = joint_lower_bound(x, y, n, m, delta=delta, alpha=ALPHA)
    assert test.counterexample(found) is None
    assert test.log_peak(found) <= 0
    root = brentq(test.log_peak, found, found + 8 * test.resolution, xtol=1e-12)
    for step in (1e-6, 1e-3, 1):  # only between two edges of cells is the tail too large
        beyond = root + step * test.resolution
        assert test.log_peak(beyond) > 0
        assert test.counterexample(beyond) > 0


@pytest.mark.parametrize("n", [1, 7, 300])
def test_tails_are_those_of_the_binomial(n):
    k = np.arange(-2.0, n + 3)
    for p in (1e-9, 0.2, 0.5, 0.99):
        assert joint.upper_tails(k, n, p) == pytest.approx(binom.sf(k - 1, n, p), rel=1e-9)
        assert joint.lower_tails(k, n, p) == pytest.approx(binom.cdf(k, n, p), rel=1e-9)


@pytest.mark.parametrize("n", [40, 1000, 2**17 + 1])
def test_sums_of_probabilities_are_tails_and_never_smaller(n):
    rng = np.random.default_rng(n)
    for p in (0.0, 1e-9, 0.03, 0.5, 0.97, 1 - 1e-9, 1.0):
        first = int(np.clip(n * p - 30, 0, n - 1))
        least = np.minimum(first + np.cumsum(rng.integers(0, 3, 60)), n + 1)
        found = _ROUNDED * hits_reached(least, n, p)
        exact = binom.sf(least - 1, n, p)
        assert np.allclose(found, exact, rtol=3e-8, atol=1e-300)
        assert (found >= exact * (1 - 1e-12)).all()


def test_what_is_never_extreme_adds_nothing_and_what_always_is_adds_all():
    found = hits_reached(np.array([-1, 0, 3, 11, 11]), 10, 0.3)
    assert found == pytest.approx([1, 1, binom.sf(2, 10, 0.3), 0, 0], abs=1e-12)


def hits_reached(least, n, p):
    test = _Test.of(HitCounts(n, 0, n, n), 0.0, ALPHA, "likelihood")
    return replace(test, least=least)._hits_reached(least, p)
