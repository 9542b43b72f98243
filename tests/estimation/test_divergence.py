"""The Renyi bound: against closed forms, brute force, exact expectations and simulated audits."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.bet_choice import choose_bet
from dpaudit.estimation.divergence import Bins, RenyiBet, choose_renyi_bet, resize_renyi_bet

ALPHA = 0.05


def divergence(p, q, order):
    return math.log(np.sum(p**order * q ** (1 - order))) / (order - 1)


def laws(seed, size=7):
    """Return two random laws on so many values."""
    return np.random.default_rng(seed).dirichlet(np.full(size, 2.0), 2)


def bet_on(p, q, order, trials=1000):
    return choose_renyi_bet(np.log(p / q), (p, q), (trials, trials), order, ALPHA)


def counts(rng, law, trials, units=1, audits=1):
    """Return counts of each value by unit, shape ``(audits, units, K)``."""
    return rng.multinomial(trials // units, law, (audits, units))


@pytest.mark.parametrize("order", [1.05, 1.5, 2.0, 8.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_wealth_is_expected_to_be_one_at_most_and_nearly_is(seed, order):
    p, q = laws(seed)
    bet = bet_on(p, q, order)
    gain, cost = p @ bet.gains, q @ bet.costs
    excess = bet.slope * gain - cost
    n, m = bet.trials
    expected = n * math.log1p(bet.stake / n * (bet.slope * gain - bet.centre - excess))
    expected += m * math.log1p(-bet.stake / m * (cost - bet.centre))
    assert -1.0 < expected <= 1e-9


def test_the_wealth_is_the_product_of_all_factors():
    p, q = laws(5)
    bet = bet_on(p, q, 3.0, trials=50)
    rng = np.random.default_rng(0)
    first, second = rng.choice(7, 50, p=p), rng.choice(7, 50, p=q)
    factors = 1 + bet.stake / 50 * (bet.slope * bet.gains[first] - bet.centre - 0.01)
    others = 1 - bet.stake / 50 * (bet.costs[second] - bet.centre)
    wealth = bet.log_wealths(
        0.01, *(np.bincount(one, minlength=7)[None] for one in (first, second))
    )
    assert math.isclose(wealth[0], np.log(factors).sum() + np.log(others).sum(), rel_tol=1e-9)


@pytest.mark.parametrize("order", [1.05, 2.0, 6.0])
@pytest.mark.parametrize("excess", [1e-3, 0.4])
def test_the_divergence_of_an_excess_is_the_least_of_all_means(order, excess):
    bet = RenyiBet(order, np.zeros(2), 1.7, 0.1, 1.0, (10, 10))
    r = order / (order - 1)

    def of_gain(log_gain):
        gain = math.exp(log_gain)
        cost = bet.slope * gain - excess
        return r * log_gain - math.log(cost) if cost > 0 else math.inf

    start = math.log(excess / bet.slope)
    found = minimize_scalar(
        of_gain, bounds=(start, start + 12), method="bounded", options={"xatol": 1e-10}
    )
    assert math.isclose(bet.divergence(excess), found.fun, rel_tol=1e-6, abs_tol=1e-6)


@pytest.mark.parametrize("order", [1.05, 1.5, 4.0])
@pytest.mark.parametrize("seed", range(4))
def test_means_of_any_function_say_less_than_the_divergence_and_of_the_right_one_all(seed, order):
    p, q = laws(seed)
    truth = divergence(p, q, order)
    exact = bet_on(p, q, order)
    any_function = np.random.default_rng(seed).normal(size=7)
    for ratios, near in ((np.log(p / q), True), (any_function, False)):
        gain, cost = p @ np.exp((order - 1) * ratios), q @ np.exp(order * ratios)
        said = order / (order - 1) * math.log(gain) - math.log(cost)
        assert said <= truth + 1e-12
        assert math.isclose(said, truth, rel_tol=1e-9) == near
    assert exact.lower(1e9 * p, 1e9 * q, ALPHA) <= truth


def false_bounds(order, trials, pilots, audits, *, copies=1):
    """Return how many audits certify more than there is, on laws of which some cells are rare."""
    wrong = 0
    for seed in range(pilots):
        rng = np.random.default_rng(seed)
        p, q = rng.dirichlet(np.full(12, 0.7), 2) + 1e-4
        p, q = p / p.sum(), q / q.sum()
        on = [rng.choice(12, trials, p=law).astype(float) for law in (p, q)]
        chosen = choose_bet(*on, [order], trials, ALPHA)
        truth = divergence(p, q, order) if chosen.above else divergence(q, p, order)
        cells = np.searchsorted(chosen.bins.thresholds, np.arange(12.0), side="right")
        sides = [copies * counts(rng, law, trials // copies, 4, audits) for law in (p, q)]
        binned = [
            np.stack([side[..., cells == k].sum(-1) for k in range(cells.max() + 1)], axis=-1)
            for side in sides
        ]
        lower = [chosen.lower(*pair, ALPHA) for pair in zip(*binned, strict=True)]
        wrong += int(np.sum(np.array(lower) > truth))
    return wrong


@pytest.mark.parametrize(
    ("pilots", "audits"), [(8, 40), pytest.param(100, 100, marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("order", [1.2, 3.0])
def test_a_bound_is_rarely_above_the_truth(order, pilots, audits):
    wrong = false_bounds(order, 1000, pilots, audits)
    assert wrong <= binom.isf(1e-6, pilots * audits, ALPHA)


def test_outputs_that_are_counted_ten_times_are_caught():
    wrong = false_bounds(1.2, 1000, 8, 40, copies=10)
    assert wrong > binom.isf(1e-6, 320, ALPHA)


def gaussian(mu):
    return lambda n, rng: (rng.normal(mu, 1, n), rng.normal(0, 1, n)), lambda a: a * mu**2 / 2


def response(epsilon):
    rate = 1 / (1 + math.exp(-epsilon))
    law = np.array([rate, 1 - rate])
    return (
        lambda n, rng: (1.0 * (rng.random(n) < rate), 1.0 * (rng.random(n) > rate)),
        lambda a: divergence(law, law[::-1], a),
    )


def laplace(shift):
    def truth(a):
        down = (a - 1) / (2 * a - 1) * math.exp(-a * shift)
        return math.log(a / (2 * a - 1) * math.exp((a - 1) * shift) + down) / (a - 1)

    return lambda n, rng: (rng.laplace(shift, 1, n), rng.laplace(0, 1, n)), truth


CLOSE = {
    "gaussian .5, order 2": (gaussian(0.5), 2.0),
    "gaussian 1, order 2": (gaussian(1.0), 2.0),
    "laplace 1, order 8": (laplace(1.0), 8.0),
    "response .5, order 8": (response(0.5), 8.0),
    "response 2, order 1.5": (response(2.0), 1.5),
}


@pytest.mark.parametrize(("law", "order"), CLOSE.values(), ids=CLOSE)
def test_a_hundred_thousand_outputs_come_within_a_tenth(law, order):
    sample, truth = law
    rng = np.random.default_rng(3)
    chosen = choose_bet(*sample(50_000, rng), [order], 100_000, ALPHA)
    fresh = [
        np.stack([chosen.bins.counts(part) for part in np.array_split(side, 32)])
        for side in sample(100_000, rng)
    ]
    assert 0.9 * truth(order) < chosen.lower(*fresh, ALPHA) < 1.02 * truth(order)


def test_laws_apart_are_certified_nearly_up_to_what_so_many_outputs_can_show():
    rng = np.random.default_rng(0)
    sides = [rng.normal(mean, 1, (2, 100_000)) for mean in (20, 0)]
    chosen = choose_bet(sides[0][0], sides[1][0], [4.0], 100_000, ALPHA)
    lower = chosen.lower(*(chosen.bins.counts(side[1]) for side in sides), ALPHA)
    assert 0.8 * math.log(1e5 / 3) < lower < math.log(1e5 / 3)


def test_the_best_unit_counts_and_no_later_one_takes_it_back():
    p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    bet = bet_on(p, q, 2.0)
    good, bad = 900 * p, 100 * q
    units = np.stack([good, bad]), np.stack([900 * q, 100 * p])
    one_by_one = bet.lower(*units, ALPHA)
    assert one_by_one == bet.lower(good, 900 * q, ALPHA) > bet.lower(good + bad, bad + good, ALPHA)
    carried = bet.decisive(*units, ALPHA)
    assert [one.tolist() for one in carried] == [good.tolist(), (900 * q).tolist()]
    assert bet.lower(*carried, ALPHA) == one_by_one


def test_a_bet_for_other_sizes_has_their_stake():
    p, q = np.array([0.8, 0.2]), np.array([0.2, 0.8])
    bet = resize_renyi_bet(bet_on(p, q, 2.0), (p, q), 500, ALPHA)
    assert bet.trials == (500, 500)
    assert bet.lower(500 * p, 500 * q, ALPHA) > 0
    up = bet.stake / 500 * (bet.slope * bet.gains - bet.centre)
    down = -bet.stake / 500 * (bet.costs - bet.centre)
    assert min(up.min(), down.min()) > -1


def test_a_bet_is_of_both_halves_and_a_promise_over_the_order_where_all_orders_count():
    rng = np.random.default_rng(3)
    sides = rng.normal(1, 1, 300), rng.normal(0, 1, 300)
    one, many = (choose_bet(*sides, orders, 300, ALPHA) for orders in ([3.0], [3.0, 3.0]))
    assert many.promised == pytest.approx(one.promised / 3)
    assert many.bet.log_ratios.tolist() == one.bet.log_ratios.tolist()
    exchanged = [side.reshape(-1, 2)[:, ::-1].ravel() for side in sides]
    again = choose_bet(*exchanged, [3.0], 300, ALPHA)
    assert again.bet.log_ratios == pytest.approx(one.bet.log_ratios)
    assert again.promised == pytest.approx(one.promised)


def test_bins_hold_every_score_once_and_keep_apart_what_is_apart():
    rng = np.random.default_rng(1)
    low, high = rng.normal(0, 1, 5000), rng.normal(30, 1, 5000)
    bins = Bins.of(low, high)
    on_low, on_high = bins.counts(low), bins.counts(high)
    assert on_low.sum() == on_high.sum() == 5000
    assert not (on_low * on_high).any()


@pytest.mark.parametrize(
    ("given", "named"),
    [((np.ones(3), np.ones(2)), "favoured"), ((np.ones(2), np.ones(3)), "other")],
)
def test_counts_of_other_bins_are_refused(given, named):
    bet = bet_on(np.array([0.6, 0.4]), np.array([0.4, 0.6]), 2.0)
    with pytest.raises(InvalidArgument, match=f"{named}: .*2 counts a unit"):
        bet.lower(*given, ALPHA)
