r"""One run against a whole trade-off curve: sharper than any single (epsilon, delta) of it.

Coins, guesses, m, r, v and C are those of `dpaudit.estimation.one_run`. Let a guarantee hold for
inputs in which one coin differs, in both directions, and let f be its trade-off curve: an event of
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
`dpaudit.estimation.one_run.p_value` is exact, and a few percent smaller. To follow the counts down
is the idea of Mahloujifar, Melis & Chaudhuri 2024 ("Auditing f-differential privacy in one run").

A guarantee's ``trade_off`` is asked for once a count; where that is a search, it takes a while.
"""

from __future__ import annotations

import math

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.betting import last_true
from dpaudit.guarantees import GaussianDP, Guarantee

_ROUNDING = 1e-9  # relative: S_0 has to exceed 1 by this much
_SMALLEST = -690.0  # logarithm of the least p-value that is told apart
_LARGEST = 1e3  # no mu above this is certified
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
    return _impossible(check.probability("alpha", alpha), correct, guesses, canaries, claim)


def claim_p_value(correct: int, guesses: int, canaries: int, claim: Guarantee) -> float:
    """Return the greatest P(C >= correct) that the inequalities allow under a guarantee.

    Arguments and errors are those of `claim_refuted`.

    Examples
    --------
    >>> from dpaudit.estimation.one_run import p_value
    >>> from dpaudit.guarantees import ApproximateDP
    >>> exact = p_value(90, 100, 1000, 1.0, 1e-4)
    >>> 1 <= claim_p_value(90, 100, 1000, ApproximateDP(1.0, 1e-4)) / exact < 1.1
    True
    """
    _require(correct, guesses, canaries)

    def impossible(log_tau: float) -> bool:
        return _impossible(math.exp(log_tau), correct, guesses, canaries, claim)

    if impossible(_SMALLEST):
        return math.exp(_SMALLEST)
    if not impossible(-_ROUNDING):
        return 1.0
    return math.exp(last_true(impossible, -_ROUNDING, _SMALLEST, steps=_STEPS))


def gaussian_lower_bound(correct: int, guesses: int, canaries: int, *, alpha: float) -> float:
    """Return a mu below which no Gaussian guarantee can be true of what was run; 0 if none.

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
    alpha = check.probability("alpha", alpha)

    def refuted(mu: float) -> bool:
        return _impossible(alpha, correct, guesses, canaries, GaussianDP(mu))

    return last_true(refuted, 0.0, _LARGEST, steps=_STEPS) if refuted(0.0) else 0.0


def _impossible(tau: float, correct: int, guesses: int, canaries: int, claim: Guarantee) -> bool:
    """Return whether ``P(C >= correct) = tau`` would need more than probability 1 in all."""
    share, beyond = tau, 0.0  # S_u and D_(u+1)
    for u in range(correct, 0, -1):
        beyond += share
        event = min(1.0, (beyond + (u - 1) * share) / canaries)
        needed = canaries * claim.trade_off(1 - event) + beyond
        share = max(share, needed / (guesses - u + 1))
        if share > 1 + _ROUNDING:
            return True
    return False


def _require(correct: int, guesses: int, canaries: int) -> None:
    check.integer("canaries", canaries, least=1)
    for name, count, most in (("guesses", guesses, canaries), ("correct", correct, guesses)):
        check.integer(name, count, least=0)
        if count > most:
            raise InvalidArgument(name, count, f"at most {most}")
