r"""Privacy losses that take finitely many values: the profile, exact, and its inverse.

Of a pair of distributions (P, Q), let the loss ``log(P/Q)`` be ``L_0 < L_1 < ...`` with mass
``P_k`` under P. The profile ``delta(epsilon) = sum_k P_k (1 - exp(epsilon - L_k))_+`` is linear in
``exp(epsilon)`` between the losses. With

    S_i = sum_{k >= i} P_k exp(L_i - L_k),        D_i = delta(L_i),

it is ``D_i + (1 - exp(epsilon - L_i)) S_i`` for epsilon in ``[L_{i-1}, L_i]``. Every sum has
positive terms only, and every one is kept as a logarithm: no digits cancel, nothing underflows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln

from dpaudit._typing import Array


@dataclass(frozen=True)
class LossTable:
    """The profile of a finite loss: ``log S_i`` and ``log D_i`` at each loss.

    Build it with `LossTable.of`.

    Examples
    --------
    >>> table = LossTable.of(np.array([-1.0, 1.0]), log_binomial(1, 1.0), np.array([2.0]))
    >>> round(math.exp(table.log_delta(np.array([0.0]))[0]), 6)
    0.462117
    """

    losses: Array
    log_tilted: Array
    log_delta_at: Array

    @classmethod
    def of(cls, losses: Array, log_masses: Array, gaps: Array) -> LossTable:
        """Return the table of ascending losses.

        Parameters
        ----------
        losses, log_masses
            Shape (n,). Masses under P, as logarithms.
        gaps
            Shape (n - 1,): differences of the losses. Asked for because the caller may know them
            to more digits than a subtraction gives.
        """
        tilted = _suffix_sums(log_masses, gaps)
        with np.errstate(divide="ignore"):  # equal losses: no gap, no step
            steps = np.log(-np.expm1(-gaps)) + tilted[1:]
        at = np.append(_suffix_sums(steps, np.zeros(max(len(steps) - 1, 0))), -math.inf)
        return cls(losses, tilted, at)

    def log_delta(self, epsilons: Array) -> Array:
        """Return ``log delta`` at each epsilon, of any sign; same shape."""
        above = np.searchsorted(self.losses, epsilons, side="right")
        index = np.minimum(above, len(self.losses) - 1)
        # Beyond the last loss the gap would be positive. At 0 the step vanishes, and what is left
        # is delta at the last loss, which is 0.
        gap = np.minimum(epsilons - self.losses[index], 0.0)
        with np.errstate(divide="ignore"):  # at a loss itself, or beyond the last
            step = np.log(-np.expm1(gap)) + self.log_tilted[index]
        return np.asarray(np.minimum(np.logaddexp(step, self.log_delta_at[index]), 0.0))

    def epsilon(self, log_delta: float) -> float:
        """Return the real epsilon with this ``log delta``, at most 0; the last loss at -inf."""
        # The first loss at which the profile is down to the target.
        first = int(np.count_nonzero(self.log_delta_at > log_delta))
        loss, lowest = float(self.losses[first]), -math.inf
        if log_delta == -math.inf:
            return loss
        if first:
            lowest = float(self.losses[first - 1])
        # The piece is linear in ``exp(epsilon)``, so that its inverse is one logarithm: no search,
        # and no tolerance.
        excess = -math.expm1(float(self.log_delta_at[first]) - log_delta)
        log_share = log_delta - float(self.log_tilted[first]) + math.log(excess or 1e-300)
        share = math.exp(min(log_share, 0.0))
        return max(lowest, loss + math.log1p(-share)) if share < 1 else lowest


def _suffix_sums(log_terms: Array, gaps: Array) -> Array:
    """Return ``log sum_{k >= i} exp(log_terms[k] - gaps[i] - ... - gaps[k - 1])`` for each i.

    By doubling: each pass joins neighbouring windows, so that a result has gone through as many
    roundings as there are passes, the logarithm of the length.
    """
    total, reach, width = log_terms.copy(), gaps, 1
    while width < len(total):
        total[:-width] = np.logaddexp(total[:-width], total[width:] - reach)
        reach = reach[:-width] + reach[width:]
        width *= 2
    return total


def log_binomial(count: int, log_odds: float) -> Array:
    """Return the logarithms of the binomial probabilities of 0, 1, ..., ``count`` successes.

    By the deviance form of Loader 2000 ("Fast and accurate computation of binomial
    probabilities"), good to 1e-12 also where the logarithm of the coefficient alone would be in
    the thousands and its last digit worth more than that.

    Parameters
    ----------
    count
        How many trials.
    log_odds
        Of a success: ``log(p / (1 - p))``.

    Examples
    --------
    >>> np.exp(log_binomial(2, 0.0)).round(12).tolist()
    [0.25, 0.5, 0.25]
    """
    if log_odds < 0:
        return log_binomial(count, -log_odds)[::-1]
    if count == 0:
        return np.zeros(1)
    successes = np.arange(count + 1.0)
    failures = count - successes
    rare = count * float(expit(-log_odds))  # expected failures: the smaller expectation
    log_rare = math.log(rare) if rare else math.log(count) - log_odds
    usual = count * float(expit(log_odds))
    deviance = _compute_deviance(successes, usual, math.log(usual), rare - failures)
    deviance += _compute_deviance(failures, rare, log_rare, failures - rare)
    # These are of the size of log n. The logarithms of the factorials themselves, of size n log n,
    # would cancel and lose their digits.
    common = (
        _compute_stirling_error(np.array([float(count)]))
        - _compute_stirling_error(successes)
        - _compute_stirling_error(failures)
    )
    return np.asarray(common - deviance)


def _compute_deviance(
    seen: Array, expected: float, log_expected: float, difference: Array
) -> Array:
    """Return ``seen log(seen / expected) - difference``, given ``seen - expected`` exactly."""
    ratio = difference / np.maximum(seen + expected, 1e-300)
    square = ratio * ratio
    series = np.zeros_like(ratio)  # atanh(ratio) / ratio - 1
    for order in range(17, 1, -2):
        series = square * (1 / order + series)
    # For ratios below 0.1 the two terms of the deviance nearly cancel. Loader's series has the
    # difference without subtracting; orders up to 17 leave less than 1e-16 of it.
    near = difference * ratio + 2 * seen * ratio * series
    if expected > 1e-300:  # a difference of two logarithms would lose digits
        log_ratio = np.log(np.maximum(seen, 1.0) / expected)
    else:
        log_ratio = np.log(np.maximum(seen, 1.0)) - log_expected
    far = seen * log_ratio - difference
    return np.where(np.abs(ratio) < 0.1, near, far)


def _compute_stirling_error(number: Array) -> Array:
    """Return ``log(n! e^n / n^n)``, 0 at 0."""
    safe = np.maximum(number, 1.0)
    inverse = 1 / safe**2
    # Stirling's series: from 16 on its next term is about 1e-14. Smaller numbers lose no digits in
    # `gammaln`.
    tail = (1 / 12 - inverse * (1 / 360 - inverse * (1 / 1260 - inverse / 1680))) / safe
    large = 0.5 * np.log(2 * math.pi * safe) + tail
    small = gammaln(safe + 1) - safe * np.log(safe) + safe
    return np.asarray(np.where(number < 1, 0.0, np.where(safe < 16, small, large)))
