r"""The event bound: epsilon from outputs alone, with exact binomial intervals.

For every event S, ``P(S) <= e^epsilon Q(S) + delta``. With S fixed on other transcripts, counts of
S among fresh ones bound both probabilities (Clopper & Pearson 1934), and

    epsilon >= ln((P_lower - delta) / Q_upper).

Both directions are tried: S where the score is high for P over Q, where it is low for Q over P.
The four intervals share one error probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from dpaudit.errors import InvalidArgument, Shown

Array = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class EventBound:
    """What the events certify.

    ``lower`` is at most the pair's true epsilon, with the probability that was asked for.
    """

    lower: float
    estimate: float
    direction: str
    threshold: float
    counts: dict[str, int]


def choose_threshold(
    scores_p: Array, scores_q: Array, delta: float, alpha: float, trials: int
) -> float:
    """Return the threshold whose event promises the best bound with ``trials`` trials a side.

    The event is ``score >= threshold``. The scores are of transcripts that certify nothing.
    """
    candidates = np.unique(np.concatenate([scores_p, scores_q]))
    if len(candidates) > 2000:
        kept = np.linspace(0, len(candidates) - 1, 2000).round().astype(np.int64)
        candidates = candidates[kept]
    rate_p, rate_q = _share_above(scores_p, candidates), _share_above(scores_q, candidates)
    # Half a trial more on Q's side: an event never seen there is rare, not impossible.
    expected_q = np.ceil((rate_q * len(scores_q) + 0.5) / (len(scores_q) + 1) * trials)
    counts_p = np.floor(rate_p * trials).astype(np.int64)
    bound = log_ratio_bound(counts_p, expected_q.astype(np.int64), trials, delta, alpha)
    return float(candidates[int(np.argmax(bound))])


def event_bound(
    scores_p: Array,
    scores_q: Array,
    thresholds: tuple[float, float],
    delta: float,
    alpha: float,
) -> EventBound:
    """Return the bound certified by fresh scores at thresholds fixed beforehand.

    Parameters
    ----------
    scores_p, scores_q
        Scores of independent transcripts on the dataset and on its neighbour, shape ``(R,)``.
    thresholds
        For ``score >= first`` (P over Q) and ``score <= second`` (Q over P).
    delta
        At which epsilon is bounded.
    alpha
        Error probability of the whole.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(1, 1, 4000), rng.normal(0, 1, 4000)
    >>> bound = event_bound(p, q, (1.5, -0.5), delta=1e-5, alpha=0.05)
    >>> 0.5 < bound.lower < bound.estimate < 4.3772
    True
    """
    _require_scores("scores_p", scores_p)
    _require_scores("scores_q", scores_q)
    n_p, n_q = len(scores_p), len(scores_q)
    above = int((scores_p >= thresholds[0]).sum()), int((scores_q >= thresholds[0]).sum())
    below = int((scores_q <= thresholds[1]).sum()), int((scores_p <= thresholds[1]).sum())
    sides = [
        ("dataset over neighbour", thresholds[0], above, (n_p, n_q)),
        ("neighbour over dataset", thresholds[1], below, (n_q, n_p)),
    ]
    bounds = [_bound(*hits, *trials, delta, alpha / 2) for _, _, hits, trials in sides]
    best = int(np.argmax(bounds))
    name, threshold, hits, trials = sides[best]
    counts = {
        "favoured_hits": hits[0],
        "favoured_trials": trials[0],
        "other_hits": hits[1],
        "other_trials": trials[1],
    }
    estimate = _point(hits[0] / trials[0], hits[1] / trials[1], delta)
    return EventBound(max(0.0, bounds[best]), estimate, name, threshold, counts)


def error_rates(scores_p: Array, scores_q: Array) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return false-positive and false-negative rates at up to 400 thresholds: point estimates.

    Thresholds that fewer than five scores of either side lie beyond are left out.

    Examples
    --------
    >>> scores = np.arange(100.0)
    >>> rates = error_rates(scores, scores)
    >>> round(rates[0][0], 9), rates[1][0]
    (0.05, 0.95)
    """
    pooled = np.unique(np.concatenate([scores_p, scores_q]))
    chosen = pooled[np.unique(np.linspace(0, len(pooled) - 1, 400).astype(int))][::-1]
    positive, negative = _share_above(scores_q, chosen), 1 - _share_above(scores_p, chosen)
    shown = (positive * len(scores_q) >= 5) & (negative * len(scores_p) >= 5)
    return tuple(positive[shown].tolist()), tuple(negative[shown].tolist())


def _require_scores(name: str, scores: Array) -> None:
    if not len(scores) or np.isnan(scores).any():
        given = Shown(f"{len(scores)} scores, {int(np.isnan(scores).sum())} of them NaN")
        raise InvalidArgument(name, given, "at least one score and no NaN")


def log_ratio_bound(
    hits: Counts, other_hits: Counts, trials: int, delta: float, alpha: float
) -> Array:
    """Return ``ln((P_lower - delta) / Q_upper)`` for arrays of counts, ``-inf`` where negative.

    Each one-sided interval gets ``alpha / 2``.
    """
    # A two-sided interval at level a spends a/2 on each side.
    lower = proportion_confint(hits, trials, alpha=alpha, method="beta")[0]
    upper = proportion_confint(other_hits, trials, alpha=alpha, method="beta")[1]
    return _log_ratio(np.asarray(lower) - delta, np.asarray(upper))


def _bound(
    hits: int, other_hits: int, trials: int, other_trials: int, delta: float, alpha: float
) -> float:
    lower = proportion_confint(hits, trials, alpha=alpha, method="beta")[0]
    upper = proportion_confint(other_hits, other_trials, alpha=alpha, method="beta")[1]
    return float(_log_ratio(np.array([lower - delta]), np.array([upper]))[0])


def _log_ratio(excess: Array, other: Array) -> Array:
    ratio = np.full(excess.shape, -np.inf)
    positive = excess > 0
    ratio[positive] = np.log(excess[positive] / other[positive])
    return ratio


def _point(rate: float, other: float, delta: float) -> float:
    if rate <= delta:
        return 0.0
    return max(0.0, math.log((rate - delta) / other)) if other > 0 else math.inf


def _share_above(scores: Array, candidates: Array) -> Array:
    below = np.searchsorted(np.sort(scores), candidates, side="left")
    share: Array = 1 - below / len(scores)
    return share
