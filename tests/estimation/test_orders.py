"""Orders of outcomes: each is sound whatever is counted, and the one that is chosen is sharp."""

import math

import mpmath
import numpy as np
import pytest
from scipy.stats import binom
from statsmodels.stats.proportion import proportion_confint

import dpaudit.estimation.orders as orders
from dpaudit.auditing.estimators.event import choose_promising_event
from dpaudit.estimation.event import bound_of_counts, with_order
from dpaudit.estimation.joint import _Test, choose_order, joint_lower_bound, largest_lower_bound
from dpaudit.estimation.orders import ORDERS, HitCounts, interval_bound, make_ranking
from dpaudit.estimation.score_events import Tally, ThresholdEvent

ALPHA = 0.05


def two_intervals(x, y, n, m, delta, alpha):
    """Return what two intervals of statsmodels' bound, of the event and of its complement."""
    low = proportion_confint(x, n, alpha=alpha, method="beta")[0]
    high = proportion_confint(y, m, alpha=alpha, method="beta")[1]
    ends = ((low - delta, high), (1 - high - delta, 1 - low))
    return max(math.log(a / b) if a > 0 else -math.inf for a, b in ends)


def true_epsilon(p, q, delta):
    pairs = ((p, q), (1 - p, 1 - q), (q, p), (1 - q, 1 - p))
    return max([0.0, *(math.log((a - delta) / b) for a, b in pairs if a > delta)])


@pytest.mark.parametrize(
    ("x", "y", "n", "m"), [(300, 10, 4830, 4830), (45, 3, 60, 70), (499, 300, 500, 900)]
)
@pytest.mark.parametrize("delta", [0.0, 0.03])
def test_the_bound_of_two_intervals_is_that_of_statsmodels(x, y, n, m, delta):
    for alpha in (0.05, 1e-6):
        exact = two_intervals(x, y, n, m, delta, alpha)
        assert interval_bound(HitCounts(x, y, n, m), delta, alpha) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("n", "m", "delta"), [(30, 20, 0.0), (25, 40, 0.03)])
def test_the_region_holds_all_outcomes_whose_intervals_say_as_much(n, m, delta):
    table = np.array(
        [[two_intervals(x, y, n, m, delta, ALPHA) for y in range(m + 1)] for x in range(n + 1)]
    )
    for hits, other in ((n - 3, 2), (n - 1, 0), (n, m // 3)):
        seen = HitCounts(hits, other, n, m)
        rank = make_ranking("interval", seen, delta, ALPHA)
        assert rank.rank <= table[hits, other] <= rank.rank + 1e-4
        least = rank.region(np.arange(m + 1))
        extreme = np.arange(n + 1)[:, None] >= least[None, :]
        assert extreme[table >= table[hits, other] - 1e-9].all()
        assert not extreme[table < table[hits, other] - 1e-4].any()
        assert (np.diff(least) >= 0).all()


@pytest.mark.parametrize("tried", [7, 40])
def test_fewer_other_hits_that_are_tried_never_make_a_region_smaller(tried, monkeypatch):
    every = make_ranking("interval", HitCounts(700, 300, 1000, 1000), 0.0, ALPHA)
    others = np.arange(200, 420)
    whole = every.region(others)
    monkeypatch.setattr(orders, "_TRIED", tried)
    found = every.region(others)
    assert (found <= whole).all()
    assert (found < whole).any()
    assert found[100] <= 700


@pytest.mark.slow
@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize(("n", "m", "alpha"), [(12, 9, 0.2), (40, 33, 0.05)])
def test_no_coin_is_accused_by_intervals_more_often_than_alpha(n, m, alpha, delta):
    """Every outcome is enumerated: the error is computed, not simulated."""
    worst = most_accused(n, m, alpha, delta)
    assert worst <= alpha
    assert worst > 0.8 * alpha


def test_no_coin_is_accused_by_few_intervals_more_often_than_alpha():
    assert 0.15 < most_accused(7, 6, 0.2, 0.0) <= 0.2


def most_accused(n, m, alpha, delta):
    given = {"delta": delta, "alpha": alpha, "order": "interval"}
    table = [[joint_lower_bound(x, y, n, m, **given) for y in range(m + 1)] for x in range(n + 1)]
    worst = 0.0
    for p in np.linspace(0.02, 0.98, 25):
        for q in np.linspace(0.02, 0.98, 25):
            chance = np.outer(binom.pmf(range(n + 1), n, p), binom.pmf(range(m + 1), m, q))
            accused = np.array(table) > true_epsilon(p, q, delta) + 1e-12
            worst = max(worst, chance[accused].sum())
    return worst


def test_the_p_value_is_that_of_the_worst_allowed_coins():
    """At the bound, no pair that is allowed reaches alpha; a little above, one does (30 digits)."""
    n, alpha = 12, 0.1
    found = joint_lower_bound(10, 2, n, n, delta=0.0, alpha=alpha, order="interval")
    rank = two_intervals(10, 2, n, n, 0.0, alpha)
    extreme = [
        (x, y)
        for x in range(n + 1)
        for y in range(n + 1)
        if two_intervals(x, y, n, n, 0.0, alpha) >= rank - 1e-9
    ]

    def chance(k, p):
        return mpmath.binomial(n, k) * mpmath.mpf(p) ** k * (1 - mpmath.mpf(p)) ** (n - k)

    def worst(epsilon):
        best = mpmath.mpf(0)
        for q in np.linspace(0.01, 0.99, 99):
            p = min(math.exp(epsilon) * q, 1 - math.exp(-epsilon) * (1 - q))
            best = max(best, sum(chance(x, p) * chance(y, q) for x, y in extreme))
        return best

    with mpmath.workdps(30):
        assert worst(found) <= alpha
        assert worst(found * 1.03) > 0.98 * alpha


@pytest.mark.sampled(4)
@pytest.mark.parametrize("alpha", [0.05, 1e-3, 1e-6])
@pytest.mark.parametrize(
    ("x", "y", "n", "delta"),
    [
        (300, 10, 4830, 0.0),
        (60, 10, 500, 0.0),
        (200, 3, 5000, 1e-5),
        (4900, 20, 5000, 0.0),
        (3000, 100, 4830, 1e-3),
        (900, 700, 1000, 0.0),
        (100, 0, 5000, 0.0),
    ],
)
def test_no_order_is_below_the_bound_that_orders(x, y, n, delta, alpha):
    """Buehler's bound is the largest that keeps an order, at what the interval for q leaves."""
    counts = HitCounts(x, y, n, n)
    for order in ORDERS:
        test = _Test.of(counts, delta, alpha, order)
        found = joint_lower_bound(x, y, n, n, delta=delta, alpha=alpha, order=order)
        if order == "interval":
            assert found >= interval_bound(counts, delta, alpha)
        if test is not None:
            assert test.counterexample(found) is None


def test_what_is_gained_where_the_other_dataset_has_few_hits():
    """300 and 10 of 4830: two intervals alone certify 2.680, today's order 2.366."""
    given = {"delta": 0.0, "alpha": ALPHA}
    found = {o: joint_lower_bound(300, 10, 4830, 4830, order=o, **given) for o in ORDERS}
    assert found["likelihood"] == pytest.approx(2.366, abs=2e-3)
    assert found["interval"] == pytest.approx(2.846, abs=4e-3)
    none = {o: joint_lower_bound(100, 0, 5000, 5000, order=o, **given) for o in ORDERS}
    assert none["likelihood"] > none["interval"] + 0.2


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(12))
def test_the_chosen_order_is_the_better_one_at_the_rates_that_chose(seed):
    rng = np.random.default_rng(seed)
    for _ in range(8):
        n = int(10 ** rng.uniform(2, 4.5))
        y = int(10 ** rng.uniform(0, math.log10(n) - 0.2))
        x = min(n, int(y * 10 ** rng.uniform(0.1, 2)) + 1)
        x, y = (x, y) if rng.random() < 0.6 else (n - y, n - x)
        given = {
            "delta": float(rng.choice([0.0, 1e-5, 0.05])),
            "alpha": float(rng.choice([0.05, 1e-6])),
        }
        order = choose_order((x / n, y / n), (n, n), **given)
        found = {o: joint_lower_bound(x, y, n, n, order=o, **given) for o in ORDERS}
        assert found[order] >= max(found.values()) - 0.02


def test_the_side_that_an_event_favours_is_the_one_whose_hits_are_many():
    p, q = np.arange(1000.0), np.arange(1000.0) - 940
    above = with_order(ThresholdEvent(True, 57.0, 0.0), p, q, 0.0, (1000, ALPHA))
    below = with_order(ThresholdEvent(False, -57.0, 0.0), -q, -p, 0.0, (1000, ALPHA))
    swapped = with_order(ThresholdEvent(True, 57.0, 0.0), q, p, 0.0, (1000, ALPHA))
    assert (above.order, below.order, swapped.order) == ("interval", "interval", "likelihood")
    assert above.complement.order == "interval"


def test_without_a_number_of_trials_the_order_stays():
    p, q = np.arange(1000.0), np.arange(1000.0) - 940
    assert with_order(ThresholdEvent(True, 57.0, 0.0), p, q, 0.0, (0, 1.0)).order == "likelihood"


def test_counts_are_tested_in_the_order_of_their_event():
    tally = Tally((300, 10), (4830, 4830))
    for order in ORDERS:
        event = ThresholdEvent(True, 0.0, 0.0, order)
        found = bound_of_counts(tally, event, 0.0, ALPHA).lower
        given = {"delta": 0.0, "alpha": ALPHA, "order": order}
        assert found == joint_lower_bound(300, 10, 4830, 4830, **given)


def test_an_audit_chooses_the_order_for_the_outputs_that_will_certify():
    rng = np.random.default_rng(0)
    on_p, on_q = rng.laplace(4.0, 1.0, (1, 2000)), rng.laplace(0.0, 1.0, (1, 2000))
    found = choose_promising_event(on_p, on_q, 0.0, sure=(2000, ALPHA))
    event = found.event
    hits = [event.hits(side) for side in found.scores]
    favoured, other = hits if event.above else hits[::-1]
    due = choose_order((favoured / 2000, max(other, 0.5) / 2000), (2000, 2000), delta=0.0,
                       alpha=ALPHA)  # fmt: skip
    assert event.order == due


@pytest.mark.parametrize("n", [10, 50, 1000])
def test_no_order_certifies_more_than_the_most_that_is_stated(n):
    """With no error at all, the order of intervals is a little ahead."""
    most = largest_lower_bound(n, n, delta=0.0, alpha=ALPHA)
    for x, y in ((n, 0), (n - 1, 0), (n, 1), (n // 2, 0)):
        given = {"delta": 0.0, "alpha": ALPHA}
        found = [joint_lower_bound(x, y, n, n, order=order, **given) for order in ORDERS]
        assert max(found) <= most
    assert most <= -math.log(math.expm1(-math.log(ALPHA) / (2 * n)))
