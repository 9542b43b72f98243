"""Canaries' bounds: against scalar recursions, exact enumeration, broken designs, and medians."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import comb, ndtr, ndtri
from scipy.stats import binom

from dpaudit.errors import InvalidArgument
from dpaudit.estimation import canaries
from dpaudit.estimation.canaries import (
    CanaryGame,
    GuessCount,
    Plan,
    all_right,
    approximate_bound,
    approximate_curve,
    default_plans,
    exact_bound,
    exact_p_value,
    find_excluded_parameters,
    gaussian_bound,
    gaussian_curve,
    independent_gaussian_mu,
    largest_excluded,
    log_probability_of_size,
    make_plans,
    right_guesses,
)
from dpaudit.estimation.one_run import (
    claim_refuted,
    draw_coins,
    gaussian_lower_bound,
    make_guesses,
    p_value,
)
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP

ALPHA = 0.05


@pytest.fixture
def rng():
    return np.random.default_rng(20260119)


def played(canaries, mu, rng):
    coins = draw_coins(canaries, rng)
    return CanaryGame(scores=rng.normal(size=canaries) + mu * (coins == 1), coins=coins)


@pytest.mark.parametrize("canaries", [1, 2, 3, 7, 10, 100, 1000, 10_000, 10**6])
def test_plans_fit_and_spend_what_there_is(canaries):
    plans = default_plans(canaries)
    assert math.isclose(sum(plan.share for plan in plans), 1)
    sizes = [plan.guesses for plan in plans]
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == canaries


def test_guesses_are_counted_as_they_were_one_by_one(rng):
    scores = rng.integers(5, size=(20, 30)).astype(float)
    coins = np.array([draw_coins(30, rng) for _ in range(20)])
    sizes = (1, 2, 7, 30)
    found = right_guesses(scores, coins, sizes)
    for game, signs, row in zip(scores, coins, found, strict=True):
        for size, right in zip(sizes, row, strict=True):
            made = make_guesses(game, (size + 1) // 2, size // 2)
            assert right == (made * signs == 1).sum()


@pytest.mark.parametrize("size", [0, 31])
def test_no_more_guesses_than_canaries(size):
    with pytest.raises(InvalidArgument, match="guesses"):
        right_guesses(np.zeros((1, 30)), np.ones((1, 30), dtype=np.int8), [size])


@pytest.mark.parametrize("share", [0, -0.1, 1.1, math.nan])
def test_a_share_is_one(share):
    with pytest.raises(InvalidArgument, match="share"):
        Plan(3, share)


@pytest.mark.parametrize(("correct", "guesses", "canaries"), [(9, 10, 10), (80, 95, 1000)])
def test_many_parameters_at_once_are_excluded_as_one_by_one(correct, guesses, canaries):
    given = (correct, guesses, canaries)
    mus = np.array([0.01, 0.1, 0.3, 0.6, 0.9, 1.2, 2.0])
    one_by_one = [claim_refuted(*given, GaussianDP(mu), ALPHA) for mu in mus]
    assert find_excluded_parameters(mus, gaussian_curve, *given, ALPHA).tolist() == one_by_one
    one_by_one = [claim_refuted(*given, ApproximateDP(mu, 1e-3), ALPHA) for mu in mus]
    assert (
        find_excluded_parameters(mus, approximate_curve(1e-3), *given, ALPHA).tolist() == one_by_one
    )


def test_the_largest_excluded_is_that_of_bisection():
    found = largest_excluded(gaussian_curve, 85, 95, 1000, ALPHA, 1e3)
    by_halves = gaussian_lower_bound(85, 95, 1000, alpha=ALPHA)
    assert by_halves * (1 - 1e-5) < found <= by_halves * (1 + 1e-9)
    assert largest_excluded(gaussian_curve, 48, 95, 1000, ALPHA, 1e3) == 0


def test_the_exact_p_value_is_never_the_weaker(rng):
    for mu in (0.0, 0.5, 1.0, 3.0):
        game = played(300, mu, rng)
        counted = game.counted(default_plans(300))
        exact = exact_bound(game, counted, 1e-5, ALPHA)
        assert approximate_bound(game, counted, 1e-5, ALPHA) <= exact + 1e-9
        assert exact <= exact_bound(game, all_right(game, counted), 1e-5, ALPHA)


def test_bound_and_p_value_agree(rng):
    game = played(500, 2.0, rng)
    counted = game.counted(default_plans(500))
    bound = exact_bound(game, counted, 1e-5, ALPHA)
    assert exact_p_value(game, counted, bound * (1 - 1e-6), 1e-5) <= ALPHA
    assert exact_p_value(game, counted, bound * (1 + 1e-6), 1e-5) > ALPHA


@pytest.mark.parametrize(("n", "k"), [(2000, 1), (2000, 1000), (40, 3)])
@pytest.mark.parametrize("right", [1.0, 0.75])
def test_a_p_value_given_a_rare_size_is_that_of_a_game_over_its_probability(n, k, right):
    """In fractions: at epsilon 0 and delta 0 of r fair guesses v or more are right."""
    plan, coins = Plan(n, 0.5), np.ones(n, dtype=np.int8)
    game = CanaryGame(scores=np.zeros(n), coins=coins, log_given=log_probability_of_size(k, n))
    correct = int(right * n)
    tail = Fraction(sum(math.comb(n, c) for c in range(correct, n + 1)), 2**n)
    exact = min(Fraction(1), tail / Fraction(math.comb(n, k), 2**n) * 2)
    found = Fraction(exact_p_value(game, (GuessCount(plan, correct),), 0.0, 0.0))
    assert exact <= found * (1 + Fraction(1, 10**9))
    assert found <= max(exact * (1 + Fraction(1, 10**6)), Fraction(1, 10**289))


@pytest.mark.parametrize(("n", "k"), [(1, 0), (4, 2), (10, 3), (200, 100)])
def test_how_probable_a_size_is(n, k):
    assert math.exp(log_probability_of_size(k, n)) == pytest.approx(comb(n, k) / 2**n, rel=1e-10)


def fixed_size_law(n, k, epsilon):
    """Return the law of right guesses where randomised response answers for k of n."""
    q = 1 / (1 + math.exp(-epsilon))
    law = np.zeros(n + 1)
    for inside in itertools.combinations(range(n), k):
        coins = np.full(n, -1)
        coins[list(inside)] = 1
        for told in itertools.product((-1, 1), repeat=n):
            agree = int((coins == told).sum())
            scores = np.array(told) + 1e-3 * np.arange(n)
            right = right_guesses(scores[None], coins[None], [n])[0, 0]
            law[right] += q**agree * (1 - q) ** (n - agree) / comb(n, k)
    return law


@pytest.mark.parametrize(("n", "k", "epsilon"), [(6, 3, 0.0), (6, 3, 1.0), (6, 2, 0.5), (7, 3, 2)])
def test_the_bound_on_a_fixed_size_holds_where_all_is_enumerated(n, k, epsilon):
    law = fixed_size_law(n, k, epsilon)
    given = math.exp(log_probability_of_size(k, n))
    for v in range(1, n + 1):
        assert law[v:].sum() <= min(1.0, p_value(v, n, n, epsilon, 0.0) / given) + 1e-12


def test_coins_of_a_fixed_size_are_not_independent():
    # The control: guessing the half by the highest scores of nothing at all is right more often in
    # pairs, and the bound of independent coins is broken by a mechanism that says nothing.
    law = fixed_size_law(6, 3, 0.0)
    assert any(law[v:].sum() > p_value(v, 6, 6, 0.0, 0.0) * 1.01 for v in range(1, 7))


@pytest.mark.parametrize("canaries", [100, 1000, 10_000])
@pytest.mark.parametrize("bound", ["exact", "gaussian"])
def test_the_error_on_scores_of_nothing_is_exact(canaries, bound):
    """Guesses of nothing are right with probability 1/2 each: every plan errs within its share."""
    total = 0.0
    for plan in default_plans(canaries):
        least = _critical(plan, canaries, 0.0, 0.0)[bound == "gaussian"]
        error = binom.sf(least - 1, plan.guesses, 0.5)
        assert error <= ALPHA * plan.share
        total += error
    assert 0.015 < total <= ALPHA


def errors(games, canaries, mu, rng, size=500):
    """Return how often a Gaussian law's epsilon, and its mu, are excluded at delta = 1e-5."""
    truth, plans = GaussianDP(mu).epsilon(1e-5), default_plans(canaries)
    sizes = [plan.guesses for plan in plans]
    least = np.array([_critical(plan, canaries, truth, mu) for plan in plans])
    wrong = np.zeros(2, dtype=np.int64)
    for _ in range(games // size):
        included = rng.integers(2, size=(size, canaries), dtype=np.uint8) == 1
        scores = rng.standard_normal((size, canaries), dtype=np.float32)
        scores[included] += mu
        counts = by_thresholds(scores, included, sizes)
        wrong += (counts[:, :, None] >= least).any(axis=1).sum(axis=0)
    return wrong


def by_thresholds(scores, included, sizes):
    """Return the counts of `right_guesses` of scores that hardly tie, without sorting them."""
    m = scores.shape[1]
    places = {k for r in sizes for k in (r // 2 - 1, m - (r + 1) // 2) if k >= 0}
    parts = np.partition(scores, sorted(places), axis=1)
    found = []
    for r in sizes:
        right = ((scores >= parts[:, [m - (r + 1) // 2]]) & included).sum(axis=1)
        if r > 1:
            right += ((scores <= parts[:, [r // 2 - 1]]) & ~included).sum(axis=1)
        found.append(right)
    return np.stack(found, axis=1)


def test_counts_by_thresholds_are_those_of_guesses(rng):
    included = rng.random((20, 50)) < 0.5
    scores = rng.normal(size=(20, 50))
    signs = np.where(included, 1, -1).astype(np.int8)
    sizes = (1, 2, 15, 50)
    assert (by_thresholds(scores, included, sizes) == right_guesses(scores, signs, sizes)).all()


def _critical(plan, canaries, epsilon, mu):
    """Return the least counts that exclude epsilon and mu, by bisection as both are monotone."""
    alpha, r = ALPHA * plan.share, plan.guesses
    tests = (
        lambda v: p_value(v, r, canaries, epsilon, 1e-5) <= alpha,
        lambda v: find_excluded_parameters(np.array([mu]), gaussian_curve, v, r, canaries, alpha)[
            0
        ],
    )
    found = []
    for test in tests:
        low, high = 0, r + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if test(middle) else (middle, high)
        found.append(high)
    return found


@pytest.mark.parametrize("mu", [0.0, 1.0])
def test_bounds_on_gaussian_scores_err_no_more_than_they_may(mu, rng):
    games = 4000
    for wrong in errors(games, 200, mu, rng):
        assert binom.sf(wrong - 1, games, ALPHA) > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("canaries", [1000, 10_000])
@pytest.mark.parametrize("mu", [0.0, 1.0, 3.0])
def test_coverage_on_a_hundred_thousand_games(canaries, mu, rng):
    games = 100_000
    wrong = errors(games, canaries, mu, rng, size=2_000_000 // canaries)
    print(canaries, mu, wrong / games)
    assert (wrong <= 0.052 * games).all()


def test_a_bound_that_spends_twice_is_caught(rng):
    """The control: on scores of nothing an error probability of four times 5% shows."""
    games, canaries = 4000, 200
    plans = [Plan(plan.guesses, plan.share) for plan in make_plans([canaries])]
    coins = (2 * rng.integers(2, size=(games, canaries)) - 1).astype(np.int8)
    counts = right_guesses(rng.normal(size=(games, canaries)), coins, [plans[0].guesses])[:, 0]
    wrong = sum(p_value(int(v), canaries, canaries, 0.0, 0.0) <= 4 * ALPHA for v in counts)
    assert binom.sf(wrong - 1, games, ALPHA) < 1e-9


@pytest.mark.parametrize(
    ("canaries", "mu", "today", "factor"),
    [(1000, 1, 1.61, 1.3), (1000, 3, 4.08, 1.3), (10_000, 1, 2.28, 1.15), (10_000, 3, 5.71, 1.3)],
)
def test_medians_on_gaussian_scores(canaries, mu, today, factor, rng):
    """The median of the best plan is at least the best plan's bound at its median count."""
    coins = (2 * rng.integers(2, size=(200, canaries)) - 1).astype(np.int8)
    scores = rng.standard_normal((200, canaries)) + mu * (coins == 1)
    plans = default_plans(canaries)
    counts = np.median(right_guesses(scores, coins, [plan.guesses for plan in plans]), axis=0)
    counted = [GuessCount(plan, int(count)) for plan, count in zip(plans, counts, strict=True)]
    game = CanaryGame(scores=scores[0], coins=coins[0])
    assert exact_bound(game, counted, 1e-5, ALPHA) >= today
    curve = GaussianDP(gaussian_bound(game, counted, ALPHA)).epsilon(1e-5)
    assert factor * today < curve < GaussianDP(mu).epsilon(1e-5)


def published(correct, guesses, canaries, mu, alpha):
    """Return whether mu is excluded by Mahloujifar et al. 2024: right and wrong guesses, by m."""
    right, wrong = alpha * correct / canaries, alpha * (guesses - correct) / canaries
    for count in range(correct - 1, -1, -1):
        more = max(0.0, float(ndtr(ndtri(min(right, 1.0)) - mu)) - wrong)
        wrong, right = wrong + more, right + more * count / (guesses - count)
    return right + wrong > guesses / canaries


@pytest.mark.parametrize(
    ("correct", "guesses", "canaries"), [(60, 95, 1000), (85, 95, 1000), (402, 402, 1000)]
)
def test_the_curve_is_followed_as_far_as_is_published(correct, guesses, canaries):
    given = (correct, guesses, canaries)
    found = largest_excluded(gaussian_curve, *given, ALPHA, 1e3)
    assert published(*given, found * (1 - 1e-5), ALPHA)
    assert not published(*given, found * (1 + 1e-5), ALPHA)


@pytest.mark.parametrize("apart", [0.0, 1.0, 4.0])
def test_a_bound_for_independent_scores_has_the_error_of_the_difference_of_means(apart):
    level = np.tile([-1.0, 1.0], 50)
    included = np.arange(300) < 100
    scores = np.concatenate([level + apart, np.tile(level, 2)])
    d = apart / math.sqrt((100 + 200) / 298)
    error = math.sqrt(1 / 100 + 1 / 200 + d**2 / (2 * 298))
    found = independent_gaussian_mu(scores, included, ALPHA)
    assert found == pytest.approx(max(0.0, d + ndtri(ALPHA) * error))
    assert independent_gaussian_mu(-scores, included, ALPHA) == 0


def test_the_odd_guess_is_of_the_highest_score():
    coins = np.array([[1, 1, 1, 1, -1]], dtype=np.int8)
    found = right_guesses(np.arange(5.0)[None], coins, (1, 2, 3, 4, 5))
    assert found.tolist() == [[0, 0, 1, 1, 2]]
    assert right_guesses(-np.arange(5.0)[None], coins, (1, 2, 3)).tolist() == [[1, 2, 3]]


@pytest.mark.parametrize("edge", [1e-5, 1e-4, 0.37, 0.5, 12.0, 999.999])
def test_the_largest_excluded_is_just_below_where_exclusion_ends(edge, monkeypatch):
    """Whatever excludes: the answer is excluded itself, and in the last cell before the end."""
    asked, tried = [], list[float]()

    def below(parameters, curve, *given):
        asked.append(given)
        tried.extend(parameters.tolist())
        return parameters < edge

    monkeypatch.setattr(canaries, "find_excluded_parameters", below)
    found = largest_excluded(gaussian_curve, 3, 4, 5, 0.25, 1e3)
    grid = np.concatenate([[0.0], np.geomspace(1e-4, 1e3, canaries._GRID)])
    place = int(np.searchsorted(grid, edge))
    cell = (grid[place] - grid[place - 1]) / (canaries._GRID - 1) ** (canaries._PASSES - 1)
    assert found in tried  # and so is excluded, as was seen
    assert found < edge <= found + cell * (1 + 1e-6)
    assert cell <= 1e-5 * max(edge, 1e-4)
    assert set(asked) == {(3, 4, 5, 0.25)}


@pytest.mark.parametrize(("edge", "found"), [(0.0, 0.0), (1e4, 1e3)])
def test_nothing_excluded_is_0_and_all_is_the_most(edge, found, monkeypatch):
    monkeypatch.setattr(
        canaries, "find_excluded_parameters", lambda parameters, *_: parameters < edge
    )
    assert largest_excluded(gaussian_curve, 3, 4, 5, 0.25, 1e3) == found
