r"""Numbers that rest on a model: close where the model is right, certificates nowhere.

| symbol | name                            | meaning                                             |
|--------|---------------------------------|-----------------------------------------------------|
| TPR    | ``hits / trials``               | how often the event was seen on the favoured dataset|
| FPR    | ``other_hits / other_trials``   | how often on the other one; FNR is 1 - TPR          |
| mu     |                                 | of the Gaussian mechanism with these error rates    |

**Gaussian fit.** If the trade-off curve of the pair is that of N(0, 1) against N(mu, 1), one point
of it gives ``mu = Phi^-1(TPR) - Phi^-1(FPR)`` and so epsilon at any delta (Dong, Roth & Su 2022).
For another mechanism it may be far above the truth: Laplace noise has a bounded privacy loss and
Gaussian noise has not, so at a small delta the fit accuses Laplace mechanisms that keep their
claim.

**Bayesian interval** (Zanella-Beguelin et al. 2023). With independent Jeffreys priors on both rates
their posteriors are Beta, and that of epsilon follows: it is at most e exactly if the rates are
where (e, delta)-indistinguishability allows them, for the event and its complement in both
directions. A credible interval covers on average over the prior, and not for every mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, ndtri

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import gaussian

_PRIOR = 0.5  # Jeffreys
_CELLS = 4000
_LARGEST = 60.0


@dataclass(frozen=True, kw_only=True)
class ModelBasedEstimate:
    """A number for epsilon that holds if a model does.

    ``upper`` is None for a point estimate; then ``lower`` is it, and ``confidence`` None.
    """

    name: str
    lower: float
    upper: float | None
    confidence: float | None
    assumes: str
    source: str


@dataclass(frozen=True)
class EventCounts:
    """Counts of an event: on the dataset that it favours, and on the other.

    Raises
    ------
    InvalidArgument
        A count is not an integer between 0 and its trials.
    """

    hits: int
    trials: int
    other_hits: int
    other_trials: int

    def __post_init__(self) -> None:
        for name in ("", "other_"):
            trials = check.require_integer(f"{name}trials", getattr(self, f"{name}trials"), least=1)
            hits = check.require_integer(f"{name}hits", getattr(self, f"{name}hits"), least=0)
            if hits > trials:
                raise InvalidArgument(f"{name}hits", hits, f"at most the {trials} trials")


def model_based(
    counts: EventCounts, delta: float, confidence: float
) -> tuple[ModelBasedEstimate, ...]:
    """Return both estimates; the Gaussian one only where delta is above 0, else it is infinite."""
    low, high = bayesian_interval(counts, delta, confidence)
    bayesian = ModelBasedEstimate(
        name="Bayesian interval",
        lower=low,
        upper=high,
        confidence=confidence,
        assumes="Jeffreys priors on the two error rates of the event; epsilon is that of the event",
        source="Zanella-Beguelin et al. 2023",
    )
    if delta == 0:
        return (bayesian,)
    fit = ModelBasedEstimate(
        name="Gaussian fit",
        lower=gaussian_epsilon(counts, delta),
        upper=None,
        confidence=None,
        assumes="the trade-off curve of the pair is that of a Gaussian mechanism",
        source="Dong, Roth & Su 2022",
    )
    return fit, bayesian


def gaussian_mu(counts: EventCounts) -> float:
    """Return the mu of the Gaussian mechanism with these error rates, at least 0.

    Half an output is added to every count, so that rates of 0 and 1 have a finite answer.

    Examples
    --------
    >>> round(gaussian_mu(EventCounts(84134, 100_000, 50_000, 100_000)), 3)
    1.0
    """
    rate = (counts.hits + 0.5) / (counts.trials + 1)
    other = (counts.other_hits + 0.5) / (counts.other_trials + 1)
    return max(0.0, float(ndtri(rate) - ndtri(other)))


def gaussian_epsilon(counts: EventCounts, delta: float) -> float:
    """Return epsilon at delta if the pair is a Gaussian one: an assumption, not a certificate.

    Examples
    --------
    >>> counts = EventCounts(84134, 100_000, 50_000, 100_000)  # mu = 1, whose epsilon is 4.377
    >>> round(gaussian_epsilon(counts, 1e-5), 2)
    4.38
    """
    mu = gaussian_mu(counts)
    return (
        gaussian.epsilon_at(mu, math.log(delta))
        if check.require_delta("delta", delta)
        else math.inf
    )


def bayesian_interval(counts: EventCounts, delta: float, confidence: float) -> tuple[float, float]:
    """Return the central credible interval of the epsilon that the event needs.

    Examples
    --------
    >>> low, high = bayesian_interval(EventCounts(7311, 10_000, 2689, 10_000), 0.0, 0.95)
    >>> low < 1.0 < high, round(high - low, 2)
    (True, 0.07)
    """
    check.require_delta("delta", delta)
    tail = (1 - check.require_probability("confidence", confidence)) / 2
    return _find_posterior_quantile(counts, delta, tail), _find_posterior_quantile(
        counts, delta, 1 - tail
    )


def compute_posterior(counts: EventCounts, delta: float, epsilon: float) -> float:
    """Return the posterior probability that the event needs at most this epsilon.

    Examples
    --------
    >>> round(compute_posterior(EventCounts(50, 100, 50, 100), 0.0, 60.0), 3)
    1.0
    """
    q = _compute_posterior_cells(counts.other_hits, counts.other_trials)
    grown = math.exp(epsilon)
    high = np.minimum(grown * q + delta, 1 - (1 - q - delta) / grown)
    low = np.maximum((q - delta) / grown, 1 - grown * (1 - q) - delta)
    a, b = _get_beta_parameters(counts.hits, counts.trials)
    inside = betainc(a, b, np.clip(high, 0, 1)) - betainc(a, b, np.clip(low, 0, 1))
    return float(np.clip(inside, 0, 1).mean())


@lru_cache(maxsize=8)
def _compute_posterior_cells(hits: int, trials: int) -> Array:
    """Return rates that cut the posterior into cells of one probability."""
    return np.asarray(
        betaincinv(*_get_beta_parameters(hits, trials), (np.arange(_CELLS) + 0.5) / _CELLS)
    )


def _get_beta_parameters(hits: int, trials: int) -> tuple[float, float]:
    return hits + _PRIOR, trials - hits + _PRIOR


def _find_posterior_quantile(counts: EventCounts, delta: float, share: float) -> float:
    if compute_posterior(counts, delta, 0.0) >= share:
        return 0.0
    if compute_posterior(counts, delta, _LARGEST) < share:
        return math.inf
    root = brentq(lambda e: compute_posterior(counts, delta, e) - share, 0.0, _LARGEST, xtol=1e-9)
    return float(root)
