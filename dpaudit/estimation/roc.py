r"""Rates, area and advantage of an attack's scores of members and others, with intervals.

Members' scores are ``n`` independent draws of X, others' ``m`` of Y; higher says "member". All
intervals hold in finite samples, for any two laws, ties included:

* **TPR at a given FPR f**, the most of P(X > t) over thresholds (and coins at a tie) with
  P(Y > t) at most f. The k-th largest of m others is exceeded with a probability that is at most a
  Beta(k, m - k + 1) variable, and reached with one that is at least that. So one order statistic
  has at most, another at least the FPR f, each but for a quarter of the error probability, and
  members above the one and at the other are binomial, as they are independent of it (Clopper &
  Pearson 1934). No threshold is chosen by members' scores.
* **AUROC**, P(X > Y) + P(X = Y) / 2, is the mean of a two-sample U-statistic with values in [0, 1]:
  an average, over all ways to pair, of means of min(n, m) independent ones. By Hoeffding (1963,
  Theorem 1 and section 5b) it exceeds its mean a by t with a probability of at most
  exp(-min(n, m) KL(a + t, a)), and likewise below.
* **advantage**, the most of P(X > t) - P(Y > t): both empirical distributions are uniformly within
  sqrt(ln(2 / alpha) / 2 n) of the true ones (Dvoretzky, Kiefer & Wolfowitz 1956; Massart 1990).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, ndtri, rel_entr

from dpaudit._typing import Array
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.guarantees.kinds import GaussianDP

FEWEST = 50  # false positives of a threshold that an estimate takes


@dataclass(frozen=True)
class RateInterval:
    """A number as counted, and the ends of its interval."""

    estimate: float
    low: float
    high: float


@dataclass(frozen=True)
class RocNumbers:
    """The rates, area and advantage of scores; all intervals hold together.

    Parameters
    ----------
    rates
        True-positive rates, by the false-positive rate at which they are.
    auroc, advantage, accuracy
        The area; the most of true-positive less false-positive rate; the most of right answers
        where half are members.
    """

    rates: tuple[tuple[float, RateInterval], ...]
    auroc: RateInterval
    advantage: RateInterval
    accuracy: RateInterval


def roc_numbers(members: Array, others: Array, fprs: Sequence[float], alpha: float) -> RocNumbers:
    """Return rates, area, advantage and accuracy of scores, at one error probability.

    Parameters
    ----------
    members, others
        Shapes ``(n,)`` and ``(m,)``; higher says member.
    fprs
        False-positive rates at which true-positive ones are asked for.
    alpha
        Of all intervals together, in equal shares.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = roc_numbers(rng.normal(1, 1, 2000), rng.normal(0, 1, 2000), [0.1], 0.05)
    >>> found.auroc.low < 0.7602 < found.auroc.high
    True
    >>> found.rates[0][1].low < 0.3891 < found.rates[0][1].high
    True
    """
    # Rates, area and advantage share alpha; the accuracy follows from the advantage and costs
    # nothing.
    share = alpha / (len(fprs) + 2)
    advantage = _advantage(members, others, share)
    ends = ((1 + one) / 2 for one in (advantage.estimate, advantage.low, advantage.high))
    return RocNumbers(
        tuple((fpr, tpr_at(members, others, fpr, share)) for fpr in fprs),
        auroc(members, others, share),
        advantage,
        RateInterval(*ends),
    )


def tpr_at(members: Array, others: Array, fpr: float, alpha: float) -> RateInterval:
    """Return the true-positive rate at a false-positive rate.

    The estimate is that of the empirical curve, with coins at a tie alone, as the interval is;
    coins between any two thresholds may give more (`hull_tpr`).

    Examples
    --------
    >>> round(tpr_at(np.arange(100) + 9.5, np.arange(100.0), 0.01, 0.05).estimate, 9)
    0.11
    """
    strict, loose = _order_statistics(np.sort(others)[::-1], fpr, alpha / 4)
    n = len(members)
    low = 0.0
    if strict is not None:
        low = clopper_pearson(int((members > strict).sum()), n, alpha / 2)[0]
    high = 1.0
    if loose is not None:
        high = clopper_pearson(int((members >= loose).sum()), n, alpha / 2)[1]
    estimate = _as_counted(members, others, fpr)
    return RateInterval(estimate, low, high)


def _order_statistics(
    falling: Array, fpr: float, alpha: float
) -> tuple[float | None, float | None]:
    """Return thresholds with at most, and with at least, a false-positive rate, but for alpha.

    None where no score of others can show it.
    """
    m = len(falling)
    k = np.arange(1, m + 1)
    below = betainc(k, m - k + 1, fpr)  # P(Beta(k, m - k + 1) <= fpr)
    sure = np.flatnonzero(1 - below <= alpha)
    wide = np.flatnonzero(below <= alpha)
    strict = float(falling[sure[-1]]) if sure.size else None
    return strict, float(falling[wide[0]]) if wide.size else None


def _curve(members: Array, others: Array) -> tuple[Array, Array]:
    """Return false-positive and true-positive rates from no member to all, at every threshold."""
    values = np.unique(np.concatenate([members, others]))[::-1]
    rates = [
        1 - np.searchsorted(np.sort(side), values, side="left") / len(side)
        for side in (others, members)
    ]
    return np.concatenate([[0.0], rates[0]]), np.concatenate([[0.0], rates[1]])


def _as_counted(members: Array, others: Array, fpr: float) -> float:
    """Return the most of members at a false-positive rate, with coins at the tie there."""
    x, y = _curve(members, others)
    # The tolerance lets a rate count as fpr that rounding put just above it.
    n = int(np.searchsorted(x, fpr + 1e-12, side="right")) - 1
    if n + 1 == len(x):
        return float(y[n])
    return float(y[n] + (y[n + 1] - y[n]) * (fpr - x[n]) / (x[n + 1] - x[n]))


def hull_tpr(members: Array, others: Array, fpr: float) -> float:
    """Return the most of members at a false-positive rate, on the hull of the empirical curve.

    An estimate: coins between two thresholds may give more than any threshold.

    Examples
    --------
    >>> hull_tpr(np.array([-1.0, 2.0]), np.array([0.0, 1.0]), 0.5)
    0.75
    """
    x, y = _hull(*_curve(members, others))
    # Several points may lie at 0, where interpolation is ambiguous.
    return float(np.interp(fpr, x, y)) if fpr > 0 else float(y[x == 0].max())


def _hull(x: Array, y: Array) -> tuple[Array, Array]:
    """Return the least concave curve above points that rise together."""
    kept = list[int]()
    for n in range(len(x)):
        while len(kept) > 1 and _is_below(x, y, kept[-2], kept[-1], n):
            kept.pop()
        kept.append(n)
    return x[kept], y[kept]


def _is_below(x: Array, y: Array, first: int, middle: int, last: int) -> bool:
    rise = (y[middle] - y[first]) * (x[last] - x[first])
    return bool(rise <= (y[last] - y[first]) * (x[middle] - x[first]))


def hull_area(members: Array, others: Array) -> float:
    """Return the area under the least concave curve above the empirical one: an estimate.

    Examples
    --------
    >>> round(hull_area(np.arange(100) + 9.5, np.arange(100.0)), 9)
    0.595
    """
    return float(np.trapezoid(*_hull(*_curve(members, others))[::-1]))


def auroc(members: Array, others: Array, alpha: float) -> RateInterval:
    """Return the area under the curve, ties counted half.

    Examples
    --------
    >>> auroc(np.array([1.0, 3.0]), np.array([1.0, 2.0]), 0.05).estimate
    0.625
    """
    ordered = np.sort(others)
    below = np.searchsorted(ordered, members, side="left")
    reached = np.searchsorted(ordered, members, side="right")
    area = float((below + reached).sum() / (2 * len(members) * len(others)))
    pairs = min(len(members), len(others))
    return RateInterval(area, *chernoff_interval(area, pairs, alpha))


def chernoff_interval(mean: float, count: int, alpha: float) -> tuple[float, float]:
    """Return where ``count`` KL(mean, a) is at most ln(2 / alpha), for a in [0, 1].

    Examples
    --------
    >>> [round(end, 3) for end in chernoff_interval(0.5, 1000, 0.05)]
    [0.457, 0.543]
    >>> chernoff_interval(1.0, 1000, 0.05)[1]
    1.0
    """
    most = math.log(2 / alpha) / count

    def excess(a: float) -> float:
        return float(rel_entr(mean, a) + rel_entr(1 - mean, 1 - a)) - most

    # The divergence is infinite at 0 and at 1: the search ends one double short of them, or nearly.
    low = 0.0 if excess(1e-300) <= 0 else float(brentq(excess, 1e-300, mean))
    top = 1 - 1e-16
    high = 1.0 if mean >= top or excess(top) <= 0 else float(brentq(excess, mean, top))
    return low, high


def _advantage(members: Array, others: Array, alpha: float) -> RateInterval:
    x, y = _curve(members, others)
    found = float((y - x).max())
    # Massart's inequality at alpha / 2 for each of the two distributions.
    reach = sum(math.sqrt(math.log(4 / alpha) / (2 * len(side))) for side in (members, others))
    return RateInterval(found, max(0.0, found - reach), min(1.0, found + reach))


# Estimates, which certify nothing


def gaussian_mu(area: float) -> float:
    """Return the mu of the Gaussian curve with an area, infinite for 1; 0 for a half and less.

    Examples
    --------
    >>> round(gaussian_mu(0.7602499), 4)
    1.0
    """
    return max(0.0, math.sqrt(2) * float(ndtri(area)))


def gaussian_epsilon(area: float, delta: float) -> float | None:
    """Return the epsilon at delta of that curve; None where it has none."""
    mu = gaussian_mu(area)
    return GaussianDP(mu).epsilon(delta) if math.isfinite(mu) and delta > 0 else None


def epsilon_as_counted(members: Array, others: Array, delta: float, fewest: int = FEWEST) -> float:
    """Return the most of ln((TPR - delta) / FPR) over thresholds with so many false positives.

    Examples
    --------
    >>> epsilon_as_counted(np.arange(100) + 9.5, np.arange(100.0), 0.0, fewest=10) > 0.5
    True
    """
    x, y = _curve(members, others)
    taken = (x * len(others) >= fewest - 0.5) & (y > delta) & (x > 0)
    if not taken.any():
        return 0.0
    return max(0.0, float(np.log((y[taken] - delta) / x[taken]).max()))
