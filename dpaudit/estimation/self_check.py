r"""Tests that tie the law that is audited to the code that runs.

A white-box bound is only as good as the law it computes with. Three checks on outputs drawn
without tilting, on both datasets, each with a false-alarm probability far below any report's:

* ``E_Q[e^L] <= 1`` and ``E_P[e^-L] <= 1``: the likelihood ratio of two densities. Tested by
  betting on a mean above 1.
* ``P(L <= 0) = E_Q[e^L; L <= 0]`` and ``Q(L > 0) = E_P[e^-L; L > 0]``: the two parts of the overlap
  of the laws. They are bounded, so a wrong loss shows even where ``e^L`` has no finite variance;
  and one by one, so a loss that is too small shows even where the two laws mirror each other.
* The probability-integral transform of the noise is uniform (Kolmogorov-Smirnov, and mean and
  variance of all of it and of every step, node and coordinate): the noise that was drawn is the
  noise the law assumes.

And two on tilted trials: the weights average to at most 1, and the loss summed while sampling
equals the loss of the output. Aimed trials also pay on average what untilted ones do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtr, chdtrc, ndtr, ndtri

from dpaudit._typing import Array
from dpaudit.estimation.betting import log_wealth_rising

# A check fires on a correct law with at most this probability.
FALSE_ALARM = 1e-7
_STAKES = (0.01, 0.1, 0.5)
_MISMATCH = 1e-7


@dataclass(frozen=True, kw_only=True)
class CheckOutcome:
    """The outcome of one check: the tested statement, whether it passed, and the numbers.

    ``fault`` is the code of the kind of fault that a check which failed shows, where that is known.
    """

    name: str
    statement: str
    passed: bool
    statistic: float
    threshold: float
    evidence: str
    fault: str | None = None


def likelihood_ratio_checks(loss_p: Array, loss_q: Array) -> list[CheckOutcome]:
    """Return the checks of the privacy loss, from losses ``log p/q`` on both datasets, ``(R,)``."""
    return [
        _mean_at_most_one("likelihood ratio on the neighbour", "E_Q[e^L] <= 1", loss_q),
        _mean_at_most_one("likelihood ratio on the dataset", "E_P[e^-L] <= 1", -loss_p),
        _check_law_overlap(loss_p, loss_q),
    ]


def weight_check(direction: str, log_weight: Array) -> CheckOutcome:
    """Return the check that tilted trials weigh at most 1 on average, ``log p/r`` shape ``(R,)``.

    It ties the tilted draws and ``log_mgf`` to each other: a weight that is too large would raise
    the lower end.
    """
    return _mean_at_most_one(f"weights of the tilted {direction}", "E_r[p/r] <= 1", log_weight)


def uniformity_check(name: str, residuals: Array) -> CheckOutcome:
    """Return the check that probability-integral transforms, shape ``(R, ...)``, are uniform.

    All of them together, and along every axis after the first each place of its own: a vector's
    norm may be wrong while its many angles are right.
    """
    from scipy.stats import kstest  # takes half a second: for those alone who need it

    result = kstest(residuals.ravel(), "uniform")
    # The normal quantile function is infinite at 0 and at 1.
    normal = ndtri(np.clip(residuals, 1e-300, 1 - 1e-16))
    mean, spread = (float(p) for p in _moment_p_values(normal.ravel()))
    least, places = _least_along_axes(normal)
    return CheckOutcome(
        name=f"noise residuals on the {name}",
        statement="the probability-integral transform of the noise is uniform",
        # Four p-values share the probability of a false alarm.
        passed=bool(min(result.pvalue, mean, spread, least) >= FALSE_ALARM / 4),
        statistic=float(result.statistic),
        threshold=math.sqrt(math.log(2 / FALSE_ALARM) / (2 * residuals.size)),
        evidence=f"Kolmogorov-Smirnov on {residuals.size} residuals, p = {result.pvalue:.3g}; "
        f"as normal values: mean, p = {mean:.3g}; variance, p = {spread:.3g}; "
        f"least of {places} places, p = {least:.3g}",
    )


def _moment_p_values(normal: Array) -> tuple[Array, Array]:
    """Return two-sided p-values of mean 0 and variance 1 along the last axis.

    They see a wrong scale of the noise far sooner than the Kolmogorov-Smirnov distance does.
    """
    n = normal.shape[-1]
    mean = 2 * ndtr(-np.abs(normal.sum(axis=-1)) / math.sqrt(n))
    square = np.square(normal).sum(axis=-1)
    return mean, np.minimum(1.0, 2 * np.minimum(chdtr(n, square), chdtrc(n, square)))


def _least_along_axes(normal: Array) -> tuple[float, int]:
    """Return the least p-value of a place along any axis, times their number, and the number."""
    by_place = [
        np.moveaxis(normal, axis, 0).reshape(size, -1)
        for axis, size in enumerate(normal.shape)
        if axis > 0 and size > 1
    ]
    found = [p for groups in by_place for p in _moment_p_values(groups)]
    if not found:
        return 1.0, 1
    tests = sum(map(len, found))
    return min(1.0, tests * float(np.min(np.concatenate(found)))), tests // 2


def payoff_check(name: str, plain: Array, aimed: Array, most: float) -> CheckOutcome:
    """Return the check that two ways to draw pay the same on average, shapes ``(n,)``, ``(R,)``.

    It is two-sided: weights that are too small would lower the upper end. Payoffs of untilted
    outputs are at most 1, of aimed ones at most ``most``.
    """
    gap = abs(float(plain.mean() - aimed.mean()))
    # The radius is that of values in [0, 1], to which the bound of aimed payoffs scales them.
    threshold = _compute_bernstein_radius(plain) + most * _compute_bernstein_radius(aimed / most)
    return CheckOutcome(
        name=f"payoffs of aimed draws of the {name}",
        statement="E_r[p/r (1 - e^(epsilon - L))_+] = E_P[(1 - e^(epsilon - L))_+]",
        passed=gap <= threshold,
        statistic=gap,
        threshold=threshold,
        evidence=f"{aimed.mean():.4g} weighed, {plain.mean():.4g} of untilted outputs",
    )


def consistency_check(name: str, while_sampling: Array, from_outputs: Array) -> CheckOutcome:
    """Return the check that two computations of the same losses agree, shape ``(R,)``."""
    scale = 1 + np.abs(from_outputs)
    gap = float(np.max(np.abs(while_sampling - from_outputs) / scale))
    return CheckOutcome(
        name=f"loss of outputs of the {name}",
        statement="the loss summed while sampling equals the loss computed from the output",
        passed=bool(gap <= _MISMATCH),
        statistic=gap,
        threshold=_MISMATCH,
        evidence=f"largest relative gap over {len(while_sampling)} tilted outputs: {gap:.2g}",
    )


def digits_check(losses: Array, in_digits: Array) -> CheckOutcome:
    """Return the check that losses are those that other code computes in many digits, ``(R,)``."""
    gap = float(np.max(np.abs(losses - in_digits) / (1 + np.abs(in_digits))))
    return CheckOutcome(
        name="loss in many digits",
        statement="other code, in 50-digit arithmetic, computes the same loss",
        passed=bool(gap <= _MISMATCH),
        statistic=gap,
        threshold=_MISMATCH,
        evidence=f"largest relative gap over {len(losses)} outputs: {gap:.2g}",
    )


def _mean_at_most_one(name: str, statement: str, log_values: Array) -> CheckOutcome:
    wealth = log_wealth_rising(log_values, 0.0, _STAKES)
    values = np.exp(np.minimum(log_values, 350.0))  # its square is a number too
    error = values.std() / math.sqrt(len(values))
    return CheckOutcome(
        name=name,
        statement=statement,
        passed=bool(wealth < -math.log(FALSE_ALARM)),
        statistic=wealth,
        threshold=-math.log(FALSE_ALARM),
        evidence=f"mean {values.mean():.4g} +- {error:.2g} over {len(values)} outputs; "
        f"log-wealth of the bet against it {wealth:.3g}",
    )


def _check_law_overlap(loss_p: Array, loss_q: Array) -> CheckOutcome:
    parts = [
        # The minimum matters where the other branch is taken: the exponential must not overflow
        # there.
        ((loss_p <= 0).astype(np.float64), np.where(loss_q <= 0, np.exp(np.minimum(loss_q, 0)), 0)),
        (np.where(loss_p > 0, np.exp(np.minimum(-loss_p, 0)), 0), (loss_q > 0).astype(np.float64)),
    ]
    gaps = [abs(float(on_p.mean() - on_q.mean())) for on_p, on_q in parts]
    thresholds = [
        _compute_bernstein_radius(on_p) + _compute_bernstein_radius(on_q) for on_p, on_q in parts
    ]
    worse = int(np.argmax(np.divide(gaps, thresholds)))
    on_p, on_q = parts[worse]
    gap, threshold = gaps[worse], thresholds[worse]
    return CheckOutcome(
        name="overlap of the two laws",
        statement="P(L <= 0) = E_Q[e^L; L <= 0] and Q(L > 0) = E_P[e^-L; L > 0]",
        # A NaN loss is on neither side of 0, and would pass unseen.
        passed=gap <= threshold and not np.isnan(np.concatenate([loss_p, loss_q])).any(),
        statistic=gap,
        threshold=threshold,
        evidence=f"{on_p.mean():.4g} on the dataset, {on_q.mean():.4g} on the neighbour",
    )


def _compute_bernstein_radius(values: Array) -> float:
    """Return the empirical Bernstein radius (Maurer & Pontil 2009) of a mean in [0, 1]."""
    # Four means and two sides of each share the false alarm; the inequality itself takes ln(2 / d).
    n, log_term = len(values), math.log(16 / FALSE_ALARM)
    if n < 2:
        return 1.0
    return math.sqrt(2 * values.var(ddof=1) * log_term / n) + 7 * log_term / (3 * (n - 1))
