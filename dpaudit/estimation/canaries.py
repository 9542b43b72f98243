"""Canaries' scores: the game that each design plays, plans of guesses, and their bounds.

| symbol | name          | meaning                                                                 |
|--------|---------------|-------------------------------------------------------------------------|
| m      | ``canaries``  | fair coins, independent of each other: the other symbols are those of   |
|        |               | `dpaudit.estimation.one_run`                                            |
| r      | ``guesses``   | of the highest and the lowest scores, half each (of pairs, see there)   |
| w      | ``share``     | of the error probability that a plan of r guesses spends                |
| K      |               | how many of n canaries are included                                     |

Every design is the game of one run, or is brought to it:

* **independent**: each canary is included by a coin of its own. That is the game itself.
* **pairs**: of each pair one is included, by a coin, and neighbours are datasets in which one of a
  pair replaces the other. The guess is the one with the higher score, where the two differ most:
  all guesses are of the highest scores, as which of a pair is called the first means nothing.
* **runs**: coins that differ belong to one run or another, runs are independent, and all of them
  together are one mechanism of all coins: the game itself, with the canaries of all runs.
* **fixed-size**: k of n are included, each such set with the same probability. The coins are not
  independent, but they are what fair and independent coins are given K = k. So with the bound of
  the game, ``P(C >= v | K = k) <= P(C >= v) / P(K = k)``: the error probability is spent times
  ``P(K = k) = binom(n, k) / 2^n``, about ``sqrt(2 / (pi n))`` at k = n/2. Nothing is assumed of how
  guesses depend on each other. It is the bound on independent coins too, whatever K is.

The plan is chosen before scores are read, from the number of canaries alone: few guesses, of the
most extreme scores, where little leaks; many, and all, where much does. Their shares of the error
probability add up to 1 (union bound).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr, ndtri

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.one_run import Signs, log_p_value, lower_bound

Design = Literal["independent", "fixed-size", "pairs", "runs"]
DESIGNS: tuple[Design, ...] = ("independent", "fixed-size", "pairs", "runs")

Counts = NDArray[np.int64]
Curve = Callable[[Array, Array], Array]
"""``curve(parameter, y)``: the least probability, under one input, of an event of probability y."""

# By the number of plans; each entry sums to 1, as the union bound over plans asks.
_SHARES = {1: (1.0,), 2: (0.95, 0.05), 3: (0.85, 0.12, 0.03)}
_ROUNDING = 1e-9  # relative: a probability has to exceed 1 by this much
# After the first pass every pass narrows the bracket 47 times.
_GRID = 48
_PASSES = 4
# A product of shares below this nears the least double, and is no longer good to its last digit.
_LEAST_ALPHA = 1e-290
LEAST_P_VALUE = 1e-290
"""What is stated of any smaller p-value: it is one, too, and its inverse is a number."""


@dataclass(frozen=True)
class Plan:
    """So many guesses, at a share of the error probability.

    Raises
    ------
    InvalidArgument
        ``guesses`` is no integer of at least 1, or ``share`` not in (0, 1].
    """

    guesses: int
    share: float

    def __post_init__(self) -> None:
        check.require_integer("guesses", self.guesses, least=1)
        if not 0 < check.require_real("share", self.share, "a number in (0, 1]") <= 1:
            raise InvalidArgument("share", self.share, "a number in (0, 1]")


@dataclass(frozen=True)
class GuessCount:
    """A plan and how many of its guesses were right."""

    plan: Plan
    correct: int


@dataclass(frozen=True, kw_only=True)
class CanaryGame:
    """A finished game: scores and the coins that they are about, shape ``(m,)`` each.

    ``log_given`` is the logarithm of the probability, under fair and independent coins, of what the
    design fixed; 0 where it fixed nothing. With ``highest`` all guesses are +1, of the highest
    scores.
    """

    scores: Array
    coins: Signs
    log_given: float = 0.0
    highest: bool = False

    def counted(self, plans: Sequence[Plan]) -> tuple[GuessCount, ...]:
        """Return how many guesses of each plan are right; ties go by position."""
        sizes = [plan.guesses for plan in plans]
        right = right_guesses(self.scores[None], self.coins[None], sizes, highest=self.highest)
        return tuple(GuessCount(*one) for one in zip(plans, right[0].tolist(), strict=True))

    def spent(self, plan: Plan, alpha: float) -> float:
        """Return the error probability at which a plan's count is judged, as if nothing was fixed.

        Examples
        --------
        >>> game = CanaryGame(scores=np.zeros(2), coins=np.array([1, -1]), log_given=math.log(0.5))
        >>> round(game.spent(Plan(2, 0.8), 0.05), 9)
        0.02
        """
        return alpha * plan.share * math.exp(self.log_given)


def default_plans(canaries: int) -> tuple[Plan, ...]:
    """Return the plans for so many canaries, fewest guesses first.

    Examples
    --------
    >>> default_plans(1000)
    (Plan(guesses=95, share=0.85), Plan(guesses=402, share=0.12), Plan(guesses=1000, share=0.03))
    >>> default_plans(4)
    (Plan(guesses=4, share=1.0),)
    """
    m = check.require_integer("canaries", canaries, least=1)
    sizes = {min(m, math.ceil(3 * math.sqrt(m))), min(m, math.ceil(1.6 * m**0.8)), m}
    return make_plans(sorted(sizes))


def make_plans(sizes: Sequence[int]) -> tuple[Plan, ...]:
    """Return plans of these numbers of guesses: most of the error probability for the first.

    More than three share it evenly.
    """
    even = (1 / len(sizes),) * len(sizes) if sizes else ()
    shares = _SHARES.get(len(sizes), even)
    return tuple(Plan(*one) for one in zip(sizes, shares, strict=True))


def right_guesses(
    scores: Array, coins: Signs, sizes: Sequence[int], *, highest: bool = False
) -> Counts:
    """Return how many guesses are right, for each of many games and numbers of guesses.

    Parameters
    ----------
    scores, coins
        Shape ``(games, m)``; a higher score is a guess of +1.
    sizes
        Numbers of guesses: the odd one is of a highest score.
    highest
        Whether all guesses are of the highest scores.

    Returns
    -------
    Counts
        Shape ``(games, sizes)``.

    Examples
    --------
    >>> coins = np.array([[1, -1, 1, -1]], dtype=np.int8)
    >>> right_guesses(np.array([[4.0, 1.0, 2.0, 3.0]]), coins, (1, 2, 4))
    array([[1, 2, 2]])
    """
    m = scores.shape[1]
    order = np.argsort(scores, axis=1, kind="stable")
    ranked = np.take_along_axis(np.asarray(coins), order, axis=1)
    start = np.zeros((len(ranked), 1), dtype=np.int64)
    low = np.concatenate([start, (ranked == -1).cumsum(axis=1)], axis=1)
    high = np.concatenate([start, (ranked[:, ::-1] == 1).cumsum(axis=1)], axis=1)
    for size in sizes:
        if not 1 <= size <= m:
            raise InvalidArgument("guesses", size, f"from 1 to the {m} canaries")
    places = np.asarray(sizes, dtype=np.int64)
    if highest:
        return np.asarray(high[:, places])
    return np.asarray(high[:, (places + 1) // 2] + low[:, places // 2])


def log_probability_of_size(included: int, canaries: int) -> float:
    """Return ``log P(K = k)`` for n fair coins.

    Examples
    --------
    >>> round(math.exp(log_probability_of_size(2, 4)), 9)
    0.375
    """
    n, k = canaries, included
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    # Rounding of gammaln may put the probability above 1.
    return float(min(0.0, ways - n * math.log(2)))


def exact_bound(
    game: CanaryGame, counted: Sequence[GuessCount], delta: float, alpha: float
) -> float:
    """Return the largest epsilon that any plan excludes at ``delta``, by the exact p-value.

    Formal guarantee: with probability at least ``1 - alpha`` over coins and runs it is at most the
    epsilon of what ran, at ``delta``, between datasets in which one coin differs.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> coins = (2 * rng.integers(2, size=1000) - 1).astype(np.int8)
    >>> game = CanaryGame(scores=rng.normal(size=1000) + 3 * coins, coins=coins)
    >>> 4 < exact_bound(game, game.counted(default_plans(1000)), 1e-5, 0.05) < 6
    True
    """
    return max(_bound_by_exact_guesses(one, game, delta, alpha) for one in counted)


def exact_p_value(
    game: CanaryGame, counted: Sequence[GuessCount], epsilon: float, delta: float
) -> float:
    """Return the p-value of (epsilon, delta)-DP: the least of the plans', each over its share.

    At least `LEAST_P_VALUE`.

    Examples
    --------
    >>> game = CanaryGame(scores=np.zeros(10), coins=np.ones(10, dtype=np.int8))
    >>> round(exact_p_value(game, (GuessCount(Plan(10, 0.5), 10),), 0.0, 0.0) * 2**9, 6)
    1.0
    """
    coins = len(game.coins)
    logs = [
        log_p_value(one.correct, one.plan.guesses, coins, epsilon, delta) - math.log(one.plan.share)
        for one in counted
    ]
    return max(LEAST_P_VALUE, math.exp(min(0.0, min(logs) - game.log_given)))


def gaussian_bound(game: CanaryGame, counted: Sequence[GuessCount], alpha: float) -> float:
    """Return the largest mu that any plan excludes.

    Formal guarantee: with probability at least ``1 - alpha`` what ran is not mu-Gaussian DP for any
    smaller mu. It is followed down the counts by the curve (`dpaudit.estimation.one_run`).
    """
    return max(_bound_along_curve(one, game, gaussian_curve, alpha, 1e3) for one in counted)


def approximate_bound(
    game: CanaryGame, counted: Sequence[GuessCount], delta: float, alpha: float
) -> float:
    """Return the largest epsilon that any plan excludes, by the curve of (epsilon, delta)-DP.

    Formal guarantee: that of `exact_bound`, which is a few percent larger.
    """
    curve = approximate_curve(delta)
    return max(_bound_along_curve(one, game, curve, alpha, 600.0) for one in counted)


def independent_gaussian_mu(scores: Array, included: NDArray[np.bool_], alpha: float) -> float:
    """Return a lower confidence bound for mu, if scores are independent and Gaussian; at least 0.

    The difference of means over the pooled deviation is Gaussian for many canaries, with variance
    ``1/n_1 + 1/n_0 + d^2 / (2 (n_1 + n_0 - 2))`` (Hedges & Olkin 1985, chapter 5). The assumption
    is all that makes it one: canaries that disturb each other break it.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> included = rng.random(10_000) < 0.5
    >>> 0.9 < independent_gaussian_mu(rng.normal(size=10_000) + included, included, 0.05) < 1
    True
    """
    there, apart = scores[included], scores[~included]
    n, m = len(there), len(apart)
    # A variance needs two scores on either side.
    if min(n, m) < 2:
        return 0.0
    within = (n - 1) * there.var(ddof=1) + (m - 1) * apart.var(ddof=1)
    if within == 0:
        return 0.0
    d = float((there.mean() - apart.mean()) / math.sqrt(within / (n + m - 2)))
    error = math.sqrt(1 / n + 1 / m + d * d / (2 * (n + m - 2)))
    return max(0.0, d + float(ndtri(alpha)) * error)


def all_right(game: CanaryGame, counted: Sequence[GuessCount]) -> tuple[GuessCount, ...]:
    """Return the counts of a game in which every guess is right: they cap its bound."""
    return tuple(GuessCount(one.plan, one.plan.guesses) for one in counted)


def gaussian_curve(mu: Array, event: Array) -> Array:
    """Return the least probability of an event under the other input, for mu-Gaussian DP.

    Examples
    --------
    >>> gaussian_curve(np.array([0.0, 1.0]), np.array([0.5, 0.5])).round(4)
    array([0.5   , 0.1587])
    """
    return np.asarray(ndtr(ndtri(event) - mu))


def approximate_curve(delta: float) -> Curve:
    """Return the same of (epsilon, delta)-DP, as a function of epsilon and the event."""

    def curve(epsilon: Array, event: Array) -> Array:
        flat = np.exp(-epsilon) * (event - delta)
        steep = 1 - delta - np.exp(epsilon) * (1 - event)
        return np.asarray(np.maximum(0.0, np.maximum(flat, steep)))

    return curve


def find_excluded_parameters(
    parameters: Array, curve: Curve, correct: int, guesses: int, canaries: int, alpha: float
) -> NDArray[np.bool_]:
    """Return for each parameter whether ``P(C >= correct) = alpha`` is more than its curve allows.

    The recursion of `dpaudit.estimation.one_run`, for many parameters at once. It ends where no S
    grows any more: with ``S_(u-1) = S_u`` the event of the next step is the same, and asks no more.

    Examples
    --------
    >>> find_excluded_parameters(np.array([0.1, 3.0]), gaussian_curve, 80, 100, 1000, 0.05)
    array([ True, False])
    """
    share = np.full(len(parameters), alpha)  # S_u
    beyond = np.zeros(len(parameters))  # D_(u+1)
    for u in range(correct, 0, -1):
        beyond = beyond + share
        event = np.minimum(1.0, (beyond + (u - 1) * share) / canaries)
        # Any share above 1 excludes the parameter; the cap keeps later products finite.
        needed = canaries * curve(parameters, event) + beyond
        grown = np.minimum(np.maximum(share, needed / (guesses - u + 1)), 2.0)
        if (grown == share).all():
            break
        share = grown
    return np.asarray(share > 1 + _ROUNDING)


def largest_excluded(
    curve: Curve, correct: int, guesses: int, canaries: int, alpha: float, most: float
) -> float:
    """Return the largest parameter that is known to be excluded, to six digits; 0 if none is.

    Examples
    --------
    >>> 0.4 < largest_excluded(gaussian_curve, 172, 200, 1000, 0.05, 1e3) < 1.5
    True
    """
    grid = np.concatenate([[0.0], np.geomspace(1e-4, most, _GRID)])
    for _ in range(_PASSES):
        out = find_excluded_parameters(grid, curve, correct, guesses, canaries, alpha)
        if not out[0]:
            return 0.0
        last = int(np.argmin(out)) - 1 if not out.all() else len(grid) - 1
        if last == len(grid) - 1:
            return float(grid[last])
        grid = np.linspace(grid[last], grid[last + 1], _GRID)
    return float(grid[0])


def _bound_by_exact_guesses(one: GuessCount, game: CanaryGame, delta: float, alpha: float) -> float:
    spent = game.spent(one.plan, alpha)
    if spent < _LEAST_ALPHA:
        return 0.0
    given = (one.correct, one.plan.guesses, len(game.coins))
    return lower_bound(*given, delta=delta, alpha=spent)


def _bound_along_curve(
    one: GuessCount, game: CanaryGame, curve: Curve, alpha: float, most: float
) -> float:
    spent = game.spent(one.plan, alpha)
    if spent < _LEAST_ALPHA:
        return 0.0
    given = (one.correct, one.plan.guesses, len(game.coins))
    return largest_excluded(curve, *given, spent, most)
