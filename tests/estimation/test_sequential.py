"""Bets are fair to every mechanism that keeps its claim, and wealth is one wealth."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.likelihood import compute_allowed_boundary, distance
from dpaudit.estimation.sequential.bets import fair_bets, growth, largest_gain, nearest_allowed
from dpaudit.estimation.sequential.events import Tallies, both_directions, first_shares
from dpaudit.estimation.sequential.game import (
    STAKES,
    BettingGame,
    BettingTarget,
    Wealth,
    find_confirmed_pairs,
    lower_bound,
)

RATES = st.floats(0, 1)
EPSILONS = st.floats(0, 8)
DELTAS = st.sampled_from([0.0, 1e-9, 1e-3, 0.1, 0.6])


def mean_factor(bets, p, q):
    """The exact mean of a bet's factor when the event has these rates."""
    factor = {
        (True, True): bets.hit + bets.other_hit,
        (True, False): bets.hit + bets.other_miss,
        (False, True): bets.miss + bets.other_hit,
        (False, False): bets.miss + bets.other_miss,
    }
    weight = {True: (p, q), False: (1 - p, 1 - q)}
    return sum(weight[x][0] * weight[y][1] * np.exp(f[0, 0]) for (x, y), f in factor.items())


def bets_on(rate, other, epsilon, delta, stake=1.0):
    return fair_bets(np.array([rate]), np.array([other]), np.array([epsilon]), delta, stake)


def allowed_corners(epsilon, delta):
    """Rates on the edge of what the claim allows, where a bet gains most."""
    q = np.concatenate([np.linspace(0, 1, 21), [(1 - delta) / (1 + math.exp(epsilon))]])
    return [
        *zip(compute_allowed_boundary(q, epsilon, delta), q, strict=True),
        (0.0, 0.0),
        (0.0, 1.0),
    ]


@given(RATES, RATES, EPSILONS, DELTAS, st.floats(0.01, 1.0))
def test_no_mechanism_that_keeps_the_claim_makes_a_bet_gain(rate, other, epsilon, delta, stake):
    bets = bets_on(rate, other, epsilon, delta, stake)
    for p, q in allowed_corners(epsilon, delta):
        assert mean_factor(bets, p, q) <= 1 + 1e-9


@pytest.mark.parametrize("delta", [0.0, 0.05])
@pytest.mark.parametrize(("a", "b"), [(1.0, 0.0), (1.0, -0.2), (1.0, -0.9), (1.0, -2.0), (0.1, -1)])
def test_the_largest_gain_is_that_of_the_best_allowed_rates(a, b, delta):
    q = np.concatenate([np.linspace(0, 1, 2001), [(1 - delta) / (1 + math.e), 1 - delta]])
    best = float(np.max(a * (compute_allowed_boundary(q, 1.0, delta) - 0.3) + b * (q - 0.2)))
    given = (np.array(each) for each in (a, b, 0.3, 0.2, 1.0))
    assert float(largest_gain(*given, delta)) == pytest.approx(max(best, 0.0), abs=1e-9)


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.05, 3), DELTAS)
def test_a_bet_on_a_right_guess_gains_and_is_the_likelihood_ratio(rate, other, epsilon, delta):
    bets = bets_on(rate, other, epsilon, delta)
    if rate <= float(compute_allowed_boundary(other, epsilon, delta)) + 1e-6:
        assert abs(float(bets.hit[0, 0])) < 1e-4
        return
    p0, q0 = (float(v) for v in nearest_allowed(rate, other, np.array(epsilon), delta))
    assert float(bets.hit[0, 0]) == pytest.approx(math.log(rate / p0), abs=1e-6)
    assert float(bets.other_miss[0, 0]) == pytest.approx(math.log((1 - other) / (1 - q0)), abs=1e-6)
    assert mean_factor(bets, rate, other) > 1


@given(st.floats(0.02, 0.98), st.floats(0.02, 0.98), st.floats(0.05, 3), DELTAS)
def test_the_growth_is_the_divergence_from_what_is_allowed(rate, other, epsilon, delta):
    """A second implementation, of the fixed-sample test, minimises the same divergence."""
    found = float(growth(np.array(rate), np.array(other), np.array(epsilon), delta))
    expected = float(distance(rate, other, 1, 1, epsilon, delta))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize(
    ("forgotten", "guess"),
    [
        ("e^epsilon", {"epsilon": 0.0, "delta": 0.1}),
        ("delta", {"epsilon": 1.0, "delta": 0.0}),
    ],
)
def test_a_bet_that_forgets_a_part_of_the_claim_is_not_fair(forgotten, guess):
    bets = bets_on(0.9, 0.1, **guess)
    assert max(mean_factor(bets, p, q) for p, q in allowed_corners(1.0, 0.1)) > 1.02


def test_a_bet_with_its_direction_swapped_is_not_fair():
    bets = bets_on(0.9, 0.1, 1.0, 0.0)
    swapped = replace(
        bets, hit=bets.miss, miss=bets.hit, other_hit=bets.other_miss, other_miss=bets.other_hit
    )
    q_first = [(q, p) for p, q in allowed_corners(1.0, 0.0)]
    assert max(mean_factor(swapped, p, q) for p, q in q_first) <= 1 + 1e-9  # its own claim
    both = replace(bets, other_hit=bets.other_miss, other_miss=bets.other_hit)
    assert max(mean_factor(both, p, q) for p, q in allowed_corners(1.0, 0.0)) > 1.02


@pytest.mark.parametrize("shares", [[1.0], [1.0, 1.0, 1.0], [0.2, 5.0]])
def test_many_bettors_start_with_one_wealth_and_share_it(shares):
    """Summing their wealths instead would start at the number of bettors."""
    wealth = Wealth.start(np.array(shares), 2, 0.05)
    assert wealth.log_total == pytest.approx([0.0, 0.0], abs=1e-12)
    k = len(shares)
    bets = fair_bets(np.full(k, 0.9), np.full(k, 0.1), np.array([0.5, 1.0]), 0.0, np.ones(k))
    after, path = wealth.after(bets, np.ones((k, 3), bool), np.zeros((k, 3), bool))
    one = 3 * (bets.hit + bets.other_miss)[0]
    assert after.log_total == pytest.approx(one)
    assert path[:, -1] == pytest.approx(one)


def test_the_average_is_over_wealths_and_not_over_their_logarithms():
    wealth = Wealth.start(np.array([0.5, 0.5]), 1, 0.05)
    bets = fair_bets(np.array([0.9, 0.5]), np.array([0.1, 0.5]), np.array([1.0]), 0.0, 1.0)
    after, _ = wealth.after(bets, np.ones((2, 1), bool), np.zeros((2, 1), bool))
    gain = math.exp((bets.hit + bets.other_miss)[0, 0])
    assert after.log_total[0] == pytest.approx(math.log((gain + 1) / 2))


def test_slices_of_the_path_change_nothing():
    rng = np.random.default_rng(0)
    bets = fair_bets(np.array([0.7]), np.array([0.2]), np.array([0.5, 1.0]), 0.0, 1.0)
    hits, others = rng.random((2, 1, 1000)) < 0.5
    at_once, path = Wealth.start(np.ones(1), 2, 0.05).after(bets, hits, others)
    piecewise = Wealth.start(np.ones(1), 2, 0.05)
    for part in np.split(np.arange(1000), [7, 300, 301, 900]):
        piecewise, _ = piecewise.after(bets, hits[:, part], others[:, part])
    assert piecewise.log_total == pytest.approx(at_once.log_total)
    assert piecewise.log_peak == pytest.approx(path.max(axis=-1).clip(0))
    assert (piecewise.first_over == at_once.first_over).all()


def test_a_lower_bound_needs_every_smaller_epsilon_excluded():
    """The second point was not reached, so the third, though reached, certifies nothing."""
    start = Wealth.start(np.ones(1), 4, 0.05)
    wealth = replace(start, first_over=np.array([5, 0, 3, 0]))
    assert float(lower_bound(wealth, np.arange(1.0, 5.0))) == 1.0
    assert find_confirmed_pairs(np.array([5, 2, 3, 0])).tolist() == [5, 5, 5, 0]


def test_the_claim_is_on_the_grid_of_lower_bounds_just_above_itself():
    for epsilon in (0.0, 0.1, 1.0, 20.0):
        target = BettingTarget(epsilon, 0.0, 0.05)
        assert (np.diff(target.epsilons) > 0).all()
        assert epsilon < target.epsilons[target.claim] <= epsilon * (1 + 1e-5) + 1e-5


def test_thresholds_are_counted_alike_whenever_scores_come():
    rng = np.random.default_rng(1)
    p, q = rng.normal(1, 1, (3, 2, 500)), rng.normal(0, 1, (3, 2, 500))
    tallies = Tallies.of(p[..., :100], q[..., :100])
    grown = tallies.with_more(p[..., 100:], q[..., 100:])
    expected = (p[..., None, :] >= tallies.thresholds[..., None]).sum(axis=-1)
    assert (grown.hits == expected).all()
    assert grown.pairs == 500
    assert grown.choose(np.array([0.5, 1.0]), 0.0).threshold.shape == (3, 2)


def test_both_directions_favour_each_side_once():
    p, q = np.array([[3.0, 4.0]]), np.array([[1.0, 2.0]])
    favoured, other = both_directions(p, q)
    assert (favoured > other).tolist() == [[True, True], [True, True]]
    assert favoured[1].tolist() == [-1.0, -2.0]


def test_shares_sum_to_one_with_half_on_what_promises_most():
    shares = first_shares(np.array([[0.0, 0.3, 0.1]]), len(STAKES))
    assert shares.sum() == pytest.approx(1)
    assert shares[0, 2:4].sum() == pytest.approx(0.5 + 0.5 / 3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((-1.0, 0.0, 0.05), "epsilon"), ((1.0, 1.0, 0.05), "delta"), ((1.0, 0.0, 0.0), "alpha")],
)
def test_bad_targets_are_refused(arguments, words):
    with pytest.raises(InvalidArgument, match=words):
        BettingTarget(*arguments)


def test_scores_that_are_no_numbers_are_refused():
    bad = np.array([[0.0, math.nan]])
    with pytest.raises(InvalidArgument, match="NaN"):
        BettingGame.open(bad, bad, epsilons=np.ones(1), claim=0, delta=0.0, alpha=0.05)


def test_an_epsilon_is_confirmed_only_after_all_smaller_ones():
    """Bets against a larger epsilon alone say nothing: what it allows, a smaller one may forbid."""
    assert find_confirmed_pairs(np.array([0, 5, 3])).tolist() == [0, 0, 0]
    assert find_confirmed_pairs(np.array([2, 7, 5, 0, 4])).tolist() == [2, 7, 7, 0, 0]


@pytest.mark.parametrize("alpha", [0.2, 0.05, 1e-6])
def test_the_goal_is_one_over_alpha(alpha):
    assert Wealth.start(np.array([0.5, 0.5]), 3, alpha).log_goal == pytest.approx(-math.log(alpha))


def test_a_wealth_may_be_over_with_its_first_pair():
    start = Wealth.start(np.ones(1), 2, 0.5)
    now, _ = start._after(np.log(np.array([[[3.0, 1.0], [1.0, 3.0]]])))
    assert now.first_over.tolist() == [1, 2]
    assert float(lower_bound(now, np.array([0.5, 1.0]))) == 1.0
