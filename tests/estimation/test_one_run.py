"""The one-run bound: against closed forms, a linear program over all mechanisms, and itself."""

import itertools
import math
from functools import cache

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng
from scipy import sparse
from scipy.optimize import linprog
from scipy.stats import binom

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.one_run import (
    claim_p_value,
    claim_refuted,
    draw_coins,
    gaussian_lower_bound,
    log_p_value,
    lower_bound,
    make_guesses,
    one_run_bound,
    p_value,
    require_fair,
)
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP


def published_p_value(correct, guesses, canaries, epsilon, delta):
    """Return Corollary 5.4 of Steinke, Nasr & Jagielski 2023, as their Appendix D computes it."""
    accuracy = 1 / (1 + math.exp(-epsilon))
    below = binom.pmf(np.arange(correct - 1, -1, -1), guesses, accuracy)
    alpha = (np.cumsum(below) / np.arange(1, correct + 1)).max(initial=0.0)
    tail = binom.sf(correct - 1, guesses, accuracy)
    return min(1.0, float(tail + 2 * canaries * delta * alpha))


def best_mechanism(correct, guesses, canaries, epsilon, delta):
    """Return max P(C >= correct) over all (epsilon, delta)-DP mechanisms: a linear program.

    The variables are P(t | s), then by how much each exceeds e^epsilon P(t | s') of a neighbour.
    """
    coins = list(itertools.product((-1, 1), repeat=canaries))
    every = itertools.product((-1, 0, 1), repeat=canaries)
    outputs = [t for t in every if np.abs(t).sum() == guesses]
    right = np.array([[np.multiply(s, t).clip(0).sum() for t in outputs] for s in coins])
    pairs = [p for p in itertools.permutations(range(len(coins)), 2) if hamming(coins, *p) == 1]
    one = np.array([np.eye(len(coins))[a] for a, _ in pairs])
    other = np.array([np.eye(len(coins))[b] for _, b in pairs])
    each = sparse.identity(len(outputs))
    excess = sparse.hstack(
        [
            sparse.kron(one - math.exp(epsilon) * other, each),
            -sparse.identity(len(pairs) * len(outputs)),
        ]
    )
    all_outputs = np.ones((1, len(outputs)))
    budget = sparse.hstack(
        [
            sparse.csr_matrix((len(pairs), right.size)),
            sparse.kron(sparse.identity(len(pairs)), all_outputs),
        ]
    )
    total = sparse.hstack(
        [
            sparse.kron(sparse.identity(len(coins)), all_outputs),
            sparse.csr_matrix((len(coins), excess.shape[0])),
        ]
    )
    gain = np.concatenate([(right >= correct).ravel() / len(coins), np.zeros(excess.shape[0])])
    solved = linprog(
        -gain,
        A_ub=sparse.vstack([excess, budget]).tocsr(),
        b_ub=np.repeat([0.0, delta], [excess.shape[0], len(pairs)]),
        A_eq=total.tocsr(),
        b_eq=np.ones(len(coins)),
    )
    return -solved.fun


def hamming(coins, one, other):
    return sum(a != b for a, b in zip(coins[one], coins[other], strict=True))


def randomised_response(coins, epsilon, rng):
    """Return every coin, flipped with probability 1 / (1 + e^epsilon): exactly epsilon-DP."""
    flipped = rng.random(coins.shape) < 1 / (1 + math.exp(epsilon))
    return np.where(flipped, -coins, coins)


@pytest.mark.parametrize(("canaries", "guesses"), [(1, 1), (2, 1), (2, 2), (3, 2), (3, 3)])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.05), (1.0, 0.0), (0.5, 0.2), (2.0, 0.1)])
def test_no_mechanism_does_better_and_one_does_as_well(canaries, guesses, epsilon, delta):
    for correct in range(1, guesses + 1):
        best = best_mechanism(correct, guesses, canaries, epsilon, delta)
        assert p_value(correct, guesses, canaries, epsilon, delta) == pytest.approx(best, abs=1e-6)


def test_the_published_bound_is_too_small_near_one():
    assert published_p_value(1, 2, 2, 2.0, 0.1) < best_mechanism(1, 2, 2, 2.0, 0.1) - 0.007


def test_the_published_bound_is_larger_where_it_matters(rng):
    for _ in range(500):
        guesses = int(rng.integers(1, 400))
        canaries, epsilon = guesses + int(rng.integers(500)), float(rng.exponential(2))
        delta = 10 ** rng.uniform(-8, -2)
        correct = int(binom.ppf(rng.uniform(0.5, 1), guesses, 1 / (1 + math.exp(-epsilon))))
        mine = p_value(max(correct, 1), guesses, canaries, epsilon, delta)
        if mine < 0.5:
            assert mine <= published_p_value(max(correct, 1), guesses, canaries, epsilon, delta) * (
                1 + 1e-7
            )


def test_the_published_example_is_reproduced():
    # Appendix D: 75 of 100 guesses right of 1000 canaries at delta = 1e-4 certify 0.673 at 95%.
    assert published_p_value(75, 100, 1000, 0.673, 1e-4) == pytest.approx(0.05, abs=2e-4)
    assert lower_bound(75, 100, 1000, delta=1e-4, alpha=0.05) == pytest.approx(0.695, abs=1e-3)


@pytest.mark.parametrize(
    ("correct", "guesses", "epsilon", "delta"),
    [(95, 100, 1.0, 1e-5), (500, 900, 0.0, 1e-4), (990, 1000, 4.0, 1e-6), (50, 50, 20.0, 1e-9)],
)
def test_every_p_value_is_rounded_up_from_fifty_digits(correct, guesses, epsilon, delta):
    with mpmath.workdps(50):
        q = 1 / (1 + mpmath.exp(-mpmath.mpf(epsilon)))
        pmf = [
            mpmath.binomial(guesses, c) * q**c * (1 - q) ** (guesses - c)
            for c in range(guesses + 1)
        ]
        tail = mpmath.fsum(pmf[correct:])
        exact = tail + 1000 * mpmath.mpf(delta) * tail * (1 - tail) / (correct * pmf[correct])
        found = p_value(correct, guesses, 1000, epsilon, delta)
        assert exact <= found <= exact * (1 + mpmath.mpf(2e-8))


@pytest.mark.parametrize("guesses", [5, 100, 10_000])
@pytest.mark.parametrize("alpha", [0.01, 0.05])
def test_guesses_that_are_all_right_certify_the_closed_form(guesses, alpha):
    closed = max(0.0, -math.log(alpha ** (-1 / guesses) - 1))
    found = lower_bound(guesses, guesses, guesses, delta=0.0, alpha=alpha)
    assert closed - 1e-6 <= found <= closed


def test_more_delta_more_canaries_and_fewer_right_certify_less():
    deltas = [lower_bound(95, 100, 1000, delta=d, alpha=0.05) for d in (0.0, 1e-7, 1e-5, 1e-3)]
    canaries = [lower_bound(95, 100, m, delta=1e-4, alpha=0.05) for m in (100, 1000, 10_000)]
    correct = [lower_bound(v, 100, 1000, delta=1e-5, alpha=0.05) for v in (100, 90, 70, 50, 0)]
    for found in (deltas, canaries, correct):
        assert found == sorted(found, reverse=True)
    assert correct[-2:] == [0.0, 0.0]


def test_the_p_value_grows_with_epsilon():
    values = [p_value(180, 200, 1000, e, 1e-4) for e in np.linspace(0, 6, 100)]
    assert values == sorted(values)


@cache
def bounds_of(canaries):
    """Return the bound of every outcome: no epsilon changes it."""
    every = range(canaries + 1)
    return np.array([lower_bound(v, canaries, canaries, delta=0.0, alpha=0.05) for v in every])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("canaries", [5, 30, 200])
def test_randomised_response_is_accused_with_probability_alpha_at_most(epsilon, canaries):
    # All of its outcomes, with their probabilities: no simulation.
    law = binom.pmf(np.arange(canaries + 1), canaries, 1 / (1 + math.exp(-epsilon)))
    bounds = bounds_of(canaries)
    wrong = law[bounds > epsilon].sum()
    assert wrong <= 0.05
    assert wrong + law[bounds <= epsilon][-1] > 0.05  # one count more would be too many


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_randomised_response_is_hardly_ever_accused(epsilon, rng):
    runs, canaries, alpha = 4000, 100, 0.05
    coins = 2 * rng.integers(2, size=(runs, canaries)) - 1
    answers = randomised_response(coins, epsilon, rng)
    correct = [
        int((make_guesses(a, 30, 30) * c == 1).sum()) for a, c in zip(answers, coins, strict=True)
    ]
    bounds = {v: lower_bound(v, 60, canaries, delta=0.0, alpha=alpha) for v in set(correct)}
    rate = np.mean([bounds[v] > epsilon for v in correct])
    assert rate <= alpha + 3 * math.sqrt(alpha * (1 - alpha) / runs)


def test_a_mechanism_that_attains_delta_is_hardly_ever_accused(rng):
    # With probability delta per canary the coin itself is shown; else randomised response.
    epsilon, delta, canaries, runs, alpha = 1.0, 0.02, 50, 4000, 0.05
    coins = 2 * rng.integers(2, size=(runs, canaries)) - 1
    shown = rng.random(coins.shape) < delta
    answers = np.where(shown, coins, randomised_response(coins, epsilon, rng))
    correct = (answers == coins).sum(axis=1).tolist()
    bounds = {v: lower_bound(v, 50, canaries, delta=delta, alpha=alpha) for v in set(correct)}
    assert np.mean([bounds[v] > epsilon for v in correct]) <= alpha
    without = {v: lower_bound(v, 50, canaries, delta=0.0, alpha=alpha) for v in set(correct)}
    assert np.mean([without[v] > epsilon for v in correct]) > np.mean(
        [bounds[v] > epsilon for v in correct]
    )


@pytest.mark.slow
@pytest.mark.parametrize("runs", [80, pytest.param(200, marks=pytest.mark.slow)])
def test_choosing_among_plans_is_paid_for(rng, runs):
    wrong, epsilon = 0, 0.5
    for _ in range(runs):
        coins = draw_coins(60, rng)
        scores = randomised_response(coins, epsilon, rng) + 0.01 * rng.normal(size=60)
        wrong += one_run_bound(scores, coins, (4, 10, 30, 60), delta=0.0, alpha=0.1).lower > epsilon
    assert wrong / runs <= 0.1


def test_scores_that_know_nothing_certify_nothing(rng):
    found = [
        one_run_bound(rng.normal(size=1000), draw_coins(1000, rng), (100,), delta=1e-5, alpha=0.05)
        for _ in range(100)
    ]
    assert np.mean([bound.lower > 0 for bound in found]) <= 0.1
    assert max(bound.lower for bound in found) < 0.5


def test_swapped_coins_certify_nothing(rng):
    coins = draw_coins(500, rng)
    assert one_run_bound(coins.astype(float), coins, (100,), delta=0.0, alpha=0.05).lower > 3
    assert one_run_bound(-coins.astype(float), coins, (100,), delta=0.0, alpha=0.05).lower == 0


@pytest.mark.parametrize(
    "coins",
    [
        np.ones(100),
        -np.ones(60),
        np.where(np.arange(400) < 300, 1, -1),
        np.arange(100) % 2,
        np.zeros(0),
        np.ones((2, 2)),
    ],
)
def test_coins_that_are_not_fair_signs_are_refused(coins):
    with pytest.raises(InvalidArgument, match="coins"):
        one_run_bound(np.zeros(len(coins)), coins, (2,), delta=0.0, alpha=0.05)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"plans": ()}, "plans"),
        ({"plans": (0,)}, "plans"),
        ({"plans": (101,)}, "high"),
        ({"plans": (2.0,)}, "plans"),
        ({"alpha": 1.2, "plans": (2, 4)}, "alpha"),
        ({"delta": 1.0}, "delta"),
        ({"scores": np.zeros(99)}, "scores"),
        ({"scores": np.full(100, np.nan)}, "scores"),
    ],
)
def test_a_bad_argument_is_named(arguments, name, rng):
    given = {"plans": (10,), "delta": 0.0, "alpha": 0.05, "scores": np.arange(100.0)} | arguments
    with pytest.raises(InvalidArgument, match=name):
        one_run_bound(given["scores"], draw_coins(100, rng), given["plans"], **only(given))


def only(given):
    return {name: given[name] for name in ("delta", "alpha")}


@pytest.mark.parametrize("counts", [(3, 2, 10), (2, 11, 10), (-1, 2, 10), (1, 2, 0), (1.0, 2, 10)])
def test_impossible_counts_are_refused(counts):
    with pytest.raises(InvalidArgument):
        lower_bound(*counts, delta=0.0, alpha=0.05)


# Whole trade-off curves


def test_a_curve_is_never_sharper_than_the_exact_bound_and_close_to_it(rng):
    for _ in range(150):
        guesses = int(rng.integers(1, 200))
        canaries, epsilon = guesses + int(rng.integers(300)), float(rng.exponential(1.5))
        delta, correct = 10 ** rng.uniform(-7, -2), int(rng.integers(1, guesses + 1))
        exact = p_value(correct, guesses, canaries, epsilon, delta)
        found = claim_p_value(correct, guesses, canaries, ApproximateDP(epsilon, delta))
        assert found >= exact * (1 - 1e-7)
        if 1e-200 < exact < 0.05:
            assert found <= exact * 1.25


def test_a_curve_is_sharper_than_each_of_its_points():
    claim = GaussianDP(0.5)
    points = [p_value(180, 200, 1000, e, claim.delta(e)) for e in np.linspace(0, 6, 200)]
    assert claim_p_value(180, 200, 1000, claim) < 0.5 * min(points)


def gaussian_scores(mu, canaries, rng):
    """Return coins, and what mu-Gaussian DP may show of each."""
    coins = draw_coins(canaries, rng)
    return coins, mu / 2 * coins + rng.normal(size=canaries)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mu", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("guesses", [20, 200])
def test_a_true_gaussian_claim_is_hardly_ever_refuted(mu, guesses, rng):
    counts = []
    for _ in range(1000):
        coins, scores = gaussian_scores(mu, 200, rng)
        counts.append(int((make_guesses(scores, guesses // 2, guesses // 2) * coins == 1).sum()))
    wrong = {v: claim_refuted(v, guesses, 200, GaussianDP(mu), 0.05) for v in set(counts)}
    assert np.mean([wrong[v] for v in counts]) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 1000)
    most = max(gaussian_lower_bound(v, guesses, 200, alpha=1e-6) for v in set(counts))
    assert most <= mu


def test_two_fifths_of_a_gaussian_guarantee_are_refuted(rng):
    coins, scores = gaussian_scores(2.0, 1000, rng)
    correct = int((make_guesses(scores, 100, 100) * coins == 1).sum())
    assert claim_refuted(correct, 200, 1000, GaussianDP(0.8), 0.05)
    assert 0.8 < gaussian_lower_bound(correct, 200, 1000, alpha=0.05) < 2.0


@pytest.mark.parametrize("claim", [PureDP(1.0), ApproximateDP(1.0, 1e-4)])
def test_refuting_and_p_values_agree(claim):
    for correct in (50, 85, 100):
        p = claim_p_value(correct, 100, 200, claim)
        assert claim_refuted(correct, 100, 200, claim, min(0.999, p * 1.01)) or p == 1
        assert not claim_refuted(correct, 100, 200, claim, p * 0.99)


def test_no_right_guess_refutes_nothing():
    assert claim_p_value(0, 10, 10, PureDP(0.0)) == 1
    assert gaussian_lower_bound(0, 10, 10, alpha=0.05) == 0


@pytest.fixture
def rng():
    return default_rng(20260)


def test_every_plan_pays_its_share(rng):
    coins = draw_coins(200, rng)
    scores = coins + rng.normal(size=200)
    for plans in ((60, 60), (60, 60, 60, 60, 60)):
        many = one_run_bound(scores, coins, plans, delta=1e-5, alpha=0.1)
        one = one_run_bound(scores, coins, (60,), delta=1e-5, alpha=0.1 / len(plans))
        assert many.lower == pytest.approx(one.lower, rel=1e-9)
        assert many.lower > 0


def test_an_odd_guess_is_of_the_highest_score():
    scores, coins = np.arange(101.0), np.ones(101, dtype=np.int8)
    coins[::2] = -1
    coins[-1] = 1
    found = one_run_bound(scores, coins, (1,), delta=0.0, alpha=0.6)
    assert (found.correct, found.guesses) == (1, 1)
    coins[0], coins[-1] = -1, -1
    assert one_run_bound(scores, coins, (1,), delta=0.0, alpha=0.6).correct == 0


def test_coins_are_refused_that_fair_tosses_give_once_in_a_billion():
    """All on one side, either one: 2^-30 for 31 of them, which is below 1e-9, and 2^-29 for 30."""
    assert len(require_fair(np.ones(30, dtype=np.int8))) == 30
    with pytest.raises(InvalidArgument, match="31 of 31"):
        require_fair(np.ones(31, dtype=np.int8))


def test_a_p_value_that_no_double_tells_from_0_is_above_it():
    assert 0 < p_value(2000, 2000, 2000, 0.01, 0.0) < 1e-300
    exact = 2000 * math.log(math.exp(0.01) / (1 + math.exp(0.01)))
    assert log_p_value(2000, 2000, 2000, 0.01, 0.0) == pytest.approx(exact + 1e-8, rel=1e-10)
