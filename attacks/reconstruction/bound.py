r"""Reconstruction robustness: how often anybody can guess a whole record right.

An attacker knows everything but one record Z, drawn from a prior, and sees one output. A guess is
right when it is near enough, by whatever measure of nearness; without the output the best guess is
right with probability kappa. Let Q be the output's law when a fixed record (or none) stands in for
Z, and E_z the outputs whose guess is right for z. As Q does not depend on Z, E_Z has probability at
most kappa under Q, averaged over Z. A guarantee bounds the probability of E_z under the true
output's law by F(Q(E_z)), F = 1 - f with f the trade-off curve. F is concave, so by Jensen

    P(the guess is right)  <=  F(kappa)  =  1 - f(kappa).

Balle, Cherubin & Hayes 2022 ("Reconstructing training data with informed adversaries") define this
robustness and bound it for pure and Renyi guarantees; Hayes, Mahloujifar & Balle 2023 ("Bounding
training data reconstruction in DP-SGD") have it for any, F as their blow-up function. The guarantee
has to relate Z's dataset to the fixed one: replacing the record does, and so does removing it.

| guarantee           | F(kappa)                                                              |
|---------------------|-----------------------------------------------------------------------|
| mu-Gaussian         | Phi(Phi^-1(kappa) + mu)                                               |
| epsilon-DP          | min(e^epsilon kappa, 1 - e^-epsilon (1 - kappa))                      |
| (epsilon, delta)-DP | min(e^epsilon kappa + delta, 1 - e^-epsilon (1 - delta - kappa), 1)   |
| any other           | 1 - its trade-off curve, which never overstates what an attack misses |
"""

from __future__ import annotations

import math
import sys

from scipy.special import expit, ndtr, ndtri

import dpaudit._check as check
from dpaudit.guarantees.guarantee import require_fraction
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, Guarantee, PureDP


def reconstruction_success(guarantee: Guarantee, prior_success: float) -> float:
    """Return the greatest probability of guessing a record right after seeing the output.

    Parameters
    ----------
    guarantee
        For replacing the record, or for adding and removing it.
    prior_success
        ``kappa``: the probability of guessing it right without the output.

    Raises
    ------
    InvalidArgument
        ``prior_success`` is not a number in [0, 1].

    Notes
    -----
    Source: Hayes, Mahloujifar & Balle 2023. Small kappa keep their relative accuracy for
    the guarantees with a closed form.

    Examples
    --------
    >>> round(reconstruction_success(PureDP(2.0), 0.01), 6)  # e^2 / 100
    0.073891
    >>> round(reconstruction_success(GaussianDP(1.0), 0.5), 4)
    0.8413
    """
    kappa = require_fraction("prior_success", prior_success)
    match guarantee:
        case GaussianDP(mu=mu):
            return float(ndtr(ndtri(kappa) + mu))
        case PureDP(at_epsilon=epsilon):
            return _bound_success_from_approximate(epsilon, 0.0, kappa)
        case ApproximateDP(at_epsilon=epsilon, at_delta=delta):
            return _bound_success_from_approximate(epsilon, delta, kappa)
        case _:
            # A numerical curve may round below kappa, which needs no output at all.
            return max(kappa, guarantee.true_positive_rate(kappa))


def candidates_success(guarantee: Guarantee, candidates: int) -> float:
    r"""Return the greatest probability of picking the right one of equally likely records.

    Under replace-one a candidate may be the fixed record Q belongs to. That one is then picked with
    probability x of its own outputs, the others with at most F of what is left:

        (x + (N - 1) F((1 - x) / (N - 1))) / N,  greatest over x in [0, 1].

    For two candidates it is exact: (1 + delta(0)) / 2. Never above `reconstruction_success` at
    ``1 / N``, which is for any fixed record.

    Parameters
    ----------
    guarantee
        For replacing the record.
    candidates
        ``N``, at least 2.

    Raises
    ------
    InvalidArgument
        ``candidates`` is not an integer, at least 2.

    Examples
    --------
    >>> round(candidates_success(PureDP(1.0), 2), 6), round(PureDP(1.0).success(0.5), 6)
    (0.731059, 0.731059)
    >>> round(candidates_success(GaussianDP(1.0), 1000), 4)
    0.0183
    """
    others = check.require_integer("candidates", candidates, least=2) - 1
    # With y = (1 - x) / (N - 1) the expression above is (1 + (N - 1) (F(y) - y)) / N.
    gain = _greatest_gain(guarantee, 1 / others)
    at_any = reconstruction_success(guarantee, 1 / candidates)
    return min(1.0, (1 + others * gain) / candidates, at_any)


def _greatest_gain(guarantee: Guarantee, most: float) -> float:
    """Return a bound on F(y) - y over y in [0, most]; it is concave: greatest where it peaks."""
    match guarantee:
        case GaussianDP(mu=mu):
            # Each peak is where F has slope 1.
            best = float(ndtr(-mu / 2))
        case PureDP(at_epsilon=epsilon):
            best = float(expit(-epsilon))
        case ApproximateDP(at_epsilon=epsilon, at_delta=delta):
            best = (1 - delta) * float(expit(-epsilon))
        case _:
            # A numerical curve has no known peak; the advantage is the most over all y.
            return guarantee.advantage()
    at = min(most, best)
    if at < sys.float_info.min:  # it underflowed, or lost its digits
        return guarantee.advantage()
    return reconstruction_success(guarantee, at) - at


def _bound_success_from_approximate(epsilon: float, delta: float, kappa: float) -> float:
    # In logarithms and capped at 1, a large epsilon does not overflow.
    steep = math.exp(min(epsilon + math.log(kappa), 0.0)) if kappa else 0.0
    shallow = -math.expm1(-epsilon) + math.exp(-epsilon) * (delta + kappa)
    return min(1.0, steep + delta, shallow)
