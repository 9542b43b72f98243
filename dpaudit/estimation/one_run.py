"""One run: p-values of a guarantee from the coins of many canaries, guessed after the run.

| symbol | name         | meaning                                                              |
|--------|--------------|----------------------------------------------------------------------|
| m      | ``canaries`` | records that a fair coin decides about, independently of each other  |
| S_i    | coin         | +1 or -1; inputs in which one coin differs are neighbours            |
| T_i    | guess        | +1, -1 or 0 (none), a function of the output and of fresh randomness |
| r      | ``guesses``  | how many T_i are not 0; fixed before the run                         |
| C, v   | ``correct``  | how many guesses are right                                           |
| W      |              | Bin(r, q), q = e^epsilon / (1 + e^epsilon)                           |
| b, B   |              | P(W = v) and P(W >= v)                                               |

How many guesses to make is fixed beforehand, as a number of the highest and of the lowest scores;
of several such plans each pays its share of the error probability.

An (epsilon, delta) guarantee
-----------------------------

If coins to output is (epsilon, delta)-DP then, for 1 <= v <= r,

    P(C >= v)  <=  B + m delta B (1 - B) / (v b),

and no smaller bound holds: some (epsilon, delta)-DP mechanism attains it (or 1, if that is less).

*Proof.* Let U be a set of counts, and fix the other coins. The outputs t with C in U and t_i right
for S_i = s are those with C + 1 in U and t_i wrong for S_i = -s. So the first event has at most
e^epsilon times the probability of the second, plus delta. Average over the coins and add over i;
as C guesses are right and r - C wrong, with P_c = P(C = c),

    sum over c in U of e_c <= m delta,    e_c = c P_c - e^epsilon (r - c + 1) P_(c-1).

For b_c = P(W = c) the e_c are 0. With h_c = P_c / b_c, therefore, e_c = c b_c (h_c - h_(c-1)), and
by parts P(C >= v) - B = sum over u of K_u (h_u - h_(u-1)), where K_u = P(W >= max(u, v)) -
B P(W >= u) >= 0. This is at most m delta max over u of K_u / (u b_u), taking U = {e_c > 0}. As b is
log-concave that ratio rises up to u = v and falls from there. QED. It is attained by h that jumps
once, at v, in a mechanism that treats canaries and signs alike.

Without delta this is Steinke, Nasr & Jagielski 2023 ("Privacy auditing with one (1) training run"),
Theorem 5.2. Their Corollary 5.4, ``B + 2 m delta max over i of P(v - i <= W < v) / i``, is larger
where it matters, but near 1 it is up to 2% too small: m = r = 2, v = 1, epsilon = 2, delta = 0.1
give .9915, and a linear program over all mechanisms finds one that reaches .9991.

A whole trade-off curve
-----------------------

A curve is sharper than any single (epsilon, delta) of it. Let a guarantee hold for inputs in which
one coin differs, in both directions, and let f be its trade-off curve: an event of
probability y under one input has at least ``G(y) = f(1 - y)`` under the other, and G is convex.

With ``S_u = P(C >= u)`` and ``D_u = sum over j >= u of S_j``, for every u >= 1

    (r - u + 1) S_(u-1)  >=  m G((D_u + (u - 1) S_u) / m) + D_u.

*Proof.* Fix a canary i and the other coins. The outputs with C >= u and i right for one value of
its coin are those with C >= u - 1 and i wrong for the other. Average over coins and over i, by
Jensen: with y the sum over i of P(C >= u, i right) and x that of P(C >= u - 1, i wrong),
``x >= m G(y / m)``. As C guesses are right, ``y = sum over c >= u of c P_c = D_u + (u - 1) S_u``,
and as r - C are wrong, ``x = sum over c >= u - 1 of (r - c) P_c = (r - u + 1) S_(u-1) - D_u``. QED.

G grows, so the right-hand side grows with every S_j. Starting from S_v = tau and S_j = 0 beyond,
the least S_(v-1), S_(v-2), ..., S_0 follow one after the other; where S_0 exceeds 1, P(C >= v) is
not tau, nor more. That is a p-value of the guarantee, if not the least: for (epsilon, delta)-DP
`p_value` is exact, and a few percent smaller. To follow the counts down
is the idea of Mahloujifar, Melis & Chaudhuri 2024 ("Auditing f-differential privacy in one run").

A guarantee's ``trade_off`` is asked for once a count; where that is a search, it takes a while.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation.betting import last_true
from dpaudit.guarantees.kinds import GaussianDP, Guarantee

Signs = NDArray[np.int8]

P_VALUE_ROUNDING = (
    1e-8  # added to the logarithm of every p-value, which is good to 1e-9 at 1e6 guesses
)
_LARGEST = 700.0  # no epsilon above this is certified
_UNFAIR = 1e-9  # coins less likely than this were not drawn fairly


@dataclass(frozen=True)
class OneRunBound:
    """The certificate of one run: ``lower`` is at most epsilon at ``delta``, with ``confidence``.

    ``guesses`` and ``correct`` are of the plan that certifies it, one of ``plans``.
    """

    lower: float
    guesses: int
    correct: int
    canaries: int
    plans: int
    delta: float
    confidence: float


def p_value(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return the greatest P(C >= correct) of any (epsilon, delta)-DP mechanism.

    Formal guarantee: exact (module docstring), rounded up by 1e-8 of itself.

    The counts are ``v <= r <= m``, and ``guesses`` was fixed before the run; epsilon and delta are
    for two datasets in which one coin differs.

    Raises
    ------
    InvalidArgument
        The counts are not integers with ``v <= r <= m``, or there is no such guarantee.

    Examples
    --------
    >>> round(p_value(75, 100, 1000, 0.673, 1e-4), 4)  # by Corollary 5.4 it is 0.05
    0.0408
    >>> round(p_value(10, 10, 10, 0.0, 0.0) * 1024, 6)
    1.0
    """
    found = math.exp(log_p_value(correct, guesses, canaries, epsilon, delta))
    return max(found, math.ulp(0.0))


def log_p_value(correct: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """Return the logarithm of `p_value`, also where that is too small for a double.

    Examples
    --------
    >>> round(log_p_value(2000, 2000, 2000, 0.0, 0.0), 3), round(-2000 * math.log(2), 3)
    (-1386.294, -1386.294)
    """
    _require(correct, guesses, canaries)
    check.non_negative("epsilon", epsilon)
    return _log_p_value(correct, guesses, canaries, epsilon, _log_delta(delta))


def lower_bound(correct: int, guesses: int, canaries: int, *, delta: float, alpha: float) -> float:
    """Return the largest epsilon that the count excludes at ``delta``; 0 if it excludes none.

    Formal guarantee: with probability at least ``1 - alpha`` over coins and run, the result is at
    most the epsilon of the mechanism at ``delta``. The exact p-value grows with epsilon, so that
    whatever lies below an excluded epsilon is excluded.

    Counts as in `p_value`; ``delta`` is where epsilon is bounded, ``alpha`` the error probability.

    Raises
    ------
    InvalidArgument
        As `p_value`, or ``alpha`` is not in (0, 1).

    Examples
    --------
    >>> found = lower_bound(100, 100, 1000, delta=0.0, alpha=0.05)
    >>> round(found, 4), round(-math.log(0.05 ** (-1 / 100) - 1), 4)
    (3.493, 3.493)
    """
    _require(correct, guesses, canaries)
    log_delta = _log_delta(delta)
    log_alpha = math.log(check.require_probability("alpha", alpha))

    def is_excluded(epsilon: float) -> bool:
        return _log_p_value(correct, guesses, canaries, epsilon, log_delta) <= log_alpha

    # 45 halvings of the range leave about 2e-11.
    return last_true(is_excluded, 0.0, _LARGEST, steps=45) if is_excluded(0.0) else 0.0


def draw_coins(canaries: int, rng: Generator) -> Signs:
    """Return fair coins, -1 or +1, shape ``(m,)``.

    Examples
    --------
    >>> sorted(set(draw_coins(100, np.random.default_rng(0)).tolist()))
    [-1, 1]
    """
    check.require_integer("canaries", canaries, least=1)
    return (2 * rng.integers(2, size=canaries) - 1).astype(np.int8)


def make_guesses(scores: Array, high: int, low: int) -> Signs:
    """Return +1 for the ``high`` highest scores, -1 for the ``low`` lowest, else 0; shape ``(m,)``.

    Ties go by position, which says nothing about a coin.

    Raises
    ------
    InvalidArgument
        A score is NaN, or more guesses are asked for than there are scores.

    Examples
    --------
    >>> make_guesses(np.array([0.3, 2.0, -1.0, 0.1]), high=1, low=1)
    array([ 0,  1, -1,  0], dtype=int8)
    """
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim != 1 or np.isnan(scores).any():
        raise InvalidArgument(
            "scores", VerbatimText(f"shape {scores.shape}"), "one axis and no NaN"
        )
    check.require_integer("high", high, least=0)
    check.require_integer("low", low, least=0)
    if high + low > len(scores):
        raise InvalidArgument("high + low", high + low, f"at most the {len(scores)} scores")
    order = np.argsort(scores, kind="stable")
    guesses = np.zeros(len(scores), dtype=np.int8)
    guesses[order[:low]] = -1
    guesses[order[len(scores) - high :]] = 1
    return guesses


def one_run_bound(
    scores: Array, coins: Signs, plans: Sequence[int], *, delta: float, alpha: float
) -> OneRunBound:
    """Return the best bound that the scores of one run certify.

    Formal guarantee: that of `lower_bound`, by the union bound over the plans.

    Parameters
    ----------
    scores
        Shape ``(m,)``: higher means rather +1. They may depend on the output, not on the coins.
    coins
        Shape ``(m,)``, from `draw_coins`.
    plans
        Numbers of guesses, fixed before the run, half for the highest scores and half for the
        lowest; each is certified at ``alpha / len(plans)``.

    Raises
    ------
    InvalidArgument
        The coins are not signs or were plainly not fair, or a plan asks for too many guesses.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> coins = draw_coins(1000, rng)
    >>> one_run_bound(coins * rng.random(1000), coins, (50,), delta=1e-5, alpha=0.05).lower > 2
    True
    """
    check.require_probability("alpha", alpha)
    signs = require_fair(coins)
    if len(scores) != len(signs):
        raise InvalidArgument(
            "scores", VerbatimText(f"{len(scores)} scores"), f"{len(signs)}, as coins"
        )
    if not len(plans):
        raise InvalidArgument("plans", plans, "at least one number of guesses")
    found = []
    for plan in plans:
        count = check.require_integer("plans", plan, least=1)
        correct = int((make_guesses(scores, (count + 1) // 2, count // 2) * signs == 1).sum())
        share = alpha / len(plans)
        lower = lower_bound(correct, count, len(signs), delta=delta, alpha=share)
        found.append((lower, count, correct))
    return OneRunBound(*max(found), len(signs), len(plans), delta, 1 - alpha)


def require_fair(coins: Signs) -> Signs:
    """Return coins as signs; refuse those that fair tosses give less often than once in 1e9.

    Examples
    --------
    >>> require_fair(np.ones(100, dtype=np.int8))
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: coins: got 100 of 100 are +1, expected tosses of a fair coin
    """
    signs = np.asarray(coins)
    if signs.ndim != 1 or not len(signs) or not np.isin(signs, (-1, 1)).all():
        raise InvalidArgument("coins", coins, "one axis of -1 and +1")
    heads = int((signs == 1).sum())
    from scipy.stats import binomtest  # takes half a second: for those alone who need it

    if binomtest(heads, len(signs)).pvalue < _UNFAIR:
        given = VerbatimText(f"{heads} of {len(signs)} are +1")
        raise InvalidArgument("coins", given, "tosses of a fair coin")
    return signs.astype(np.int8)


def _log_delta(delta: float) -> float:
    return math.log(delta) if check.require_delta("delta", delta) else -math.inf


def _log_p_value(
    correct: int, guesses: int, canaries: int, epsilon: float, log_delta: float
) -> float:
    """Return the logarithm of the bound of the module docstring, rounded up; at most 0."""
    if correct == 0:
        return 0.0
    here, tail, rest = _log_tails(correct, guesses, epsilon)
    term = math.log(canaries / correct) + log_delta + tail + rest - here
    return min(0.0, float(np.logaddexp(tail, term)) + P_VALUE_ROUNDING)


def _log_tails(correct: int, guesses: int, epsilon: float) -> tuple[float, float, float]:
    """Return the logarithms of P(W = v), P(W >= v) and P(W < v)."""
    log_b = _log_binomial(guesses, epsilon)
    tail, rest = float(logsumexp(log_b[correct:])), float(logsumexp(log_b[:correct]))
    return float(log_b[correct]), min(0.0, tail), min(0.0, rest)


def _log_binomial(guesses: int, epsilon: float) -> Array:
    """Return ``log P(W = c)`` for c = 0..r."""
    right = np.arange(guesses + 1)
    wrong = guesses - right
    ways = gammaln(guesses + 1) - gammaln(right + 1) - gammaln(wrong + 1)
    return np.asarray(ways - guesses * math.log1p(math.exp(-epsilon)) - wrong * epsilon)


def _require(correct: int, guesses: int, canaries: int) -> None:
    check.require_integer("canaries", canaries, least=1)
    for name, count, most in (("guesses", guesses, canaries), ("correct", correct, guesses)):
        check.require_integer(name, count, least=0)
        if count > most:
            raise InvalidArgument(name, count, f"at most {most}")


_SHARE_ROUNDING = 1e-9  # relative: S_0 has to exceed 1 by this much
_SMALLEST = -690.0  # logarithm of the least p-value that is told apart
_LARGEST_MU = 1e3  # no mu above this is certified
_STEPS = 40


def claim_refuted(
    correct: int, guesses: int, canaries: int, claim: Guarantee, alpha: float
) -> bool:
    """Return whether so many right guesses have probability below ``alpha`` under a guarantee.

    Formal guarantee: a claim that is true is refuted with probability ``alpha`` at most.

    Parameters
    ----------
    correct, guesses, canaries
        ``v <= r <= m``; ``guesses`` was fixed before the run.
    claim
        Holds, by hypothesis, for inputs in which one coin differs.
    alpha
        In (0, 1).

    Raises
    ------
    InvalidArgument
        The counts are not integers with ``v <= r <= m``, or ``alpha`` is not in (0, 1).

    Examples
    --------
    >>> claim_refuted(80, 100, 1000, GaussianDP(0.1), alpha=0.05)
    True
    """
    _require(correct, guesses, canaries)
    return _is_impossible_tail(
        check.require_probability("alpha", alpha), correct, guesses, canaries, claim
    )


def claim_p_value(correct: int, guesses: int, canaries: int, claim: Guarantee) -> float:
    """Return the greatest P(C >= correct) that the inequalities allow under a guarantee.

    Arguments and errors are those of `claim_refuted`.

    Examples
    --------
    >>> from dpaudit.estimation.one_run import p_value
    >>> from dpaudit.guarantees.kinds import ApproximateDP
    >>> exact = p_value(90, 100, 1000, 1.0, 1e-4)
    >>> 1 <= claim_p_value(90, 100, 1000, ApproximateDP(1.0, 1e-4)) / exact < 1.1
    True
    """
    _require(correct, guesses, canaries)

    def impossible(log_tau: float) -> bool:
        return _is_impossible_tail(math.exp(log_tau), correct, guesses, canaries, claim)

    if impossible(_SMALLEST):
        return math.exp(_SMALLEST)
    if not impossible(-_SHARE_ROUNDING):
        return 1.0
    # The least tau that is still impossible: the p-value is never above it.
    return math.exp(last_true(impossible, -_SHARE_ROUNDING, _SMALLEST, steps=_STEPS))


def gaussian_lower_bound(correct: int, guesses: int, canaries: int, *, alpha: float) -> float:
    """Return a mu below which no Gaussian guarantee can be true of the run; 0 if none.

    Formal guarantee: with probability at least ``1 - alpha`` what was run is not mu-Gaussian DP for
    any mu below the result. ``GaussianDP(mu).epsilon(delta)`` of it is a lower bound on epsilon
    only where the mechanism's own curve is Gaussian: an assumption, not part of the guarantee.

    Arguments and errors are those of `claim_refuted`.

    Examples
    --------
    >>> 0.4 < gaussian_lower_bound(172, 200, 1000, alpha=0.05) < 1.5
    True
    """
    _require(correct, guesses, canaries)
    alpha = check.require_probability("alpha", alpha)

    def is_refuted(mu: float) -> bool:
        return _is_impossible_tail(alpha, correct, guesses, canaries, GaussianDP(mu))

    return last_true(is_refuted, 0.0, _LARGEST_MU, steps=_STEPS) if is_refuted(0.0) else 0.0


def _is_impossible_tail(
    tau: float, correct: int, guesses: int, canaries: int, claim: Guarantee
) -> bool:
    """Return whether ``P(C >= correct) = tau`` would need more than probability 1 in all."""
    share, beyond = tau, 0.0  # S_u and D_(u+1)
    for u in range(correct, 0, -1):
        beyond += share
        event = min(1.0, (beyond + (u - 1) * share) / canaries)
        needed = canaries * claim.trade_off(1 - event) + beyond
        # S never falls as u does, also where the inequality asks for less.
        share = max(share, needed / (guesses - u + 1))
        if share > 1 + _SHARE_ROUNDING:
            return True
    return False
