"""The event bound: epsilon from outputs alone, with one exact binomial test.

For every event S, ``P(S) <= e^epsilon Q(S) + delta``, and the same with P and Q exchanged. Which
event is counted (scores above a threshold, for P over Q, or below one, for Q over P) is decided on
other outputs; counts of it among fresh ones exclude epsilons (`dpaudit.estimation.joint`). As
one event is tested once, it has the whole error probability.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.estimation.joint import choose_order, joint_lower_bound, largest_lower_bound
from dpaudit.estimation.likelihood import distance, largest_likelihood_bound
from dpaudit.estimation.orders import exponent
from dpaudit.estimation.score_events import Tally, ThresholdEvent

_SELECTION = 1e-4  # how rarely a promise errs
_SEEN = 1e-2  # the same of rates that were seen, where fresh ones have to stand out as well
_CANDIDATES = 400
_BINS = 40  # bins of a histogram
_WIDEST = 20.0  # spreads that it shows on either side


@dataclass(frozen=True)
class EventBound:
    """The bound that an event certifies.

    ``lower`` is at most the pair's true epsilon, with the probability that was asked for.
    """

    lower: float
    estimate: float
    counts: dict[str, int]


def choose_event(
    scores_p: Array, scores_q: Array, delta: float, sure: tuple[int, float] = (0, 1.0)
) -> ThresholdEvent:
    """Return the event, of either direction, that promises the best bound.

    Of many events the best looks better than it is, and most so where few hits tell: what an event
    promises is a bound that rarely errs, less what fresh outputs have to leave for their own
    errors, which ranks such events where they belong. An event and
    its complement promise the same: the one is returned that is rarer where it is rare, so that the
    counts which certify a bound are those that show it.

    Parameters
    ----------
    scores_p, scores_q
        Scores of outputs that certify nothing, on dataset and neighbour, shape ``(R,)``.
    delta
        At which epsilon will be bounded.
    sure
        How many outputs will certify, of each dataset, and with which error probability.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> event = choose_event(rng.normal(1, 1, 4000), rng.normal(0, 1, 4000), 1e-5)
    >>> event.direction in ("dataset over neighbour", "neighbour over dataset")
    True
    """
    threshold, promised = _best_threshold(scores_p, scores_q, delta, sure)
    # Low scores favour the neighbour: negated and with the sides exchanged, high scores do.
    mirrored, promised_below = _best_threshold(-scores_q, -scores_p, delta, sure)
    found = (
        ThresholdEvent(True, threshold, promised),
        ThresholdEvent(False, -mirrored, promised_below),
    )
    return _select_rarer_event(max(found, key=lambda event: event.promised), scores_p, scores_q)


def _select_rarer_event(event: ThresholdEvent, scores_p: Array, scores_q: Array) -> ThresholdEvent:
    """Return an event or its complement, whichever is rarer on the side where it is rare."""
    rates = [float(event.happened(side).mean()) for side in (scores_p, scores_q)]
    other = event.complement
    rare = min(rates) <= 1 - max(rates) or other.threshold == event.threshold  # of all scores
    return event if rare else other


def with_order(
    event: ThresholdEvent, scores_p: Array, scores_q: Array, delta: float, sure: tuple[int, float]
) -> ThresholdEvent:
    """Return an event with the order that promises the larger bound.

    Rates are those of the scores, which certify nothing; half a hit stands for none.

    Parameters
    ----------
    event
        What will be counted.
    scores_p, scores_q, delta, sure
        As `choose_event` takes them.

    Examples
    --------
    >>> p, q = np.arange(1000.0), np.arange(1000.0) - 940
    >>> with_order(ThresholdEvent(True, 57.0, 0.0), p, q, 0.0, (1000, 0.05)).order
    'interval'
    >>> with_order(ThresholdEvent(True, 0.0, 0.0), p, q, 0.0, (1000, 0.05)).order
    'likelihood'
    """
    trials, alpha = sure
    if not trials:
        return event
    sides = (scores_p, scores_q) if event.above else (scores_q, scores_p)
    hits, sizes = [event.hits(one) for one in sides], [len(one) for one in sides]
    rate = min(hits[0], sizes[0] - 0.5) / sizes[0]
    other = max(hits[1], 0.5) / sizes[1]
    order = choose_order((rate, other), (trials, trials), delta=delta, alpha=alpha)
    return replace(event, order=order)


def _best_threshold(
    favoured: Array, other: Array, delta: float, sure: tuple[int, float]
) -> tuple[float, float]:
    """Return the threshold whose event ``score >= threshold`` promises most, and how much."""
    pooled = np.unique(np.concatenate([favoured, other]))
    kept = _select_candidate_indices(len(pooled))
    candidates = pooled[kept]
    rates = _share_above(favoured, candidates), _share_above(other, candidates)
    sizes = len(favoured), len(other)
    best, promised = largest_likelihood_bound(
        *rates, *sizes, delta, _compute_ranking_nats(min(sizes), *sure)
    )
    if promised == 0:  # nothing stands out: take what differs most
        best = int(np.argmax(distance(*rates, *sizes, 0.0, delta)))
    return _compute_score_midpoint(pooled, int(kept[best])), promised


def _compute_ranking_nats(seen: int, trials: int, alpha: float) -> float:
    """Return the nats of a bound that events are ranked by, of rates of so many outputs.

    What fresh outputs leave for their errors goes beside those of the rates that were seen.
    """
    errors = math.sqrt(2 * exponent(_SEEN)) + fresh_errors(seen, trials, alpha)
    return max(exponent(_SELECTION), errors**2 / 2)


def fresh_errors(seen: int, trials: int, alpha: float) -> float:
    """Return by how many standard errors of rates that were seen fresh rates have to stand out.

    Examples
    --------
    >>> round(fresh_errors(500, 1000, 0.05), 2), fresh_errors(500, 0, 0.05)
    (1.16, 0.0)
    """
    return math.sqrt(2 * exponent(alpha) * seen / trials) if trials else 0.0


def estimate_promised_epsilons(
    scores_p: Array, scores_q: Array, deltas: Sequence[float], errors: float = 0.0
) -> Array:
    """Return about the largest epsilon that events of scores promise at each delta.

    By normal laws of the two rates, which is enough to choose among deltas: of the rates that are
    so many standard errors away, or those that choosing among events takes.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> found = estimate_promised_epsilons(
    ...     rng.normal(1, 1, 4000), rng.normal(0, 1, 4000), [1e-5, 0.1]
    ... )
    >>> bool(found[0] > found[1] > 0)
    True
    """
    sides = (scores_p, scores_q), (-scores_q, -scores_p)
    far = max(2 * exponent(_SELECTION), errors**2)
    found = [_nearly_promised(*side, np.asarray(deltas)[:, None], far) for side in sides]
    return np.asarray(np.maximum(*found))


def _nearly_promised(favoured: Array, other: Array, delta: Array, far: float) -> Array:
    """Return the largest epsilon with ``p - exp(epsilon) q - delta`` some deviations above 0."""
    pooled = np.unique(np.concatenate([favoured, other]))
    candidates = pooled[_select_candidate_indices(len(pooled))]
    rates, spreads = [], []
    for scores in (favoured, other):  # with the counts that keep a normal interval honest
        size = len(scores) + far
        rate = (_share_above(scores, candidates) * len(scores) + far / 2) / size
        rates.append(rate)
        spreads.append(far * rate * (1 - rate) / size)
    excess, q = rates[0] - delta, rates[1]
    least = excess**2 - spreads[0]
    # The root of (excess - x q)^2 = spread_p + x^2 spread_q at which the left is not negative.
    inner = (excess * q) ** 2 - (q**2 - spreads[1]) * least
    told = (excess > 0) & (least > 0)
    # The smaller root, in the form that does not cancel where the quadratic coefficient is about 0.
    ratio = np.where(told, least, 0) / np.where(told, excess * q + np.sqrt(np.abs(inner)), 1)
    found: Array = np.log(np.maximum(ratio.max(axis=1), 1.0))
    return found


def _compute_score_midpoint(ordered: Array, at: int) -> float:
    """Return the middle between a score and the next one below, if there is any.

    No score that was seen is there; of fresh ones, those a little below belong to the event.
    """
    here, below = float(ordered[at]), float(ordered[max(at - 1, 0)])
    # Each is halved first, as the sum of two large scores may overflow.
    middle = here / 2 + below / 2
    return middle if math.isfinite(middle) and below < middle else here


def _select_candidate_indices(size: int) -> NDArray[np.int64]:
    """Return which of so many ordered candidates are tried: more towards both ends."""
    if size <= _CANDIDATES:
        return np.arange(size)
    ends = np.geomspace(1, size / 2, _CANDIDATES // 4).round().astype(np.int64) - 1
    middle = np.linspace(0, size - 1, _CANDIDATES // 2).round().astype(np.int64)
    return np.unique(np.concatenate([ends, size - 1 - ends, middle]))


def event_bound(
    scores_p: Array, scores_q: Array, event: ThresholdEvent, delta: float, alpha: float
) -> EventBound:
    """Return the bound certified by fresh scores for an event fixed beforehand.

    Parameters
    ----------
    scores_p, scores_q
        Scores of independent outputs on the dataset and on its neighbour, shape ``(R,)``.
    event
        What is counted.
    delta
        At which epsilon is bounded.
    alpha
        Error probability.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> p, q = rng.normal(1, 1, (2, 4000)), rng.normal(0, 1, (2, 4000))
    >>> event = choose_event(p[0], q[0], delta=1e-5)
    >>> bound = event_bound(p[1], q[1], event, delta=1e-5, alpha=0.05)
    >>> 0 < bound.lower < bound.estimate
    True
    """
    _require_scores("scores_p", scores_p)
    _require_scores("scores_q", scores_q)
    tally = Tally.of((event.happened(scores_p), event.happened(scores_q)))
    return bound_of_counts(tally, event, delta, alpha)


def bound_of_counts(tally: Tally, event: ThresholdEvent, delta: float, alpha: float) -> EventBound:
    """Return the bound certified by how often an event happened that was fixed beforehand.

    Parameters
    ----------
    tally
        Counts of independent outputs on the dataset and on its neighbour.
    event, delta, alpha
        As `event_bound` takes them.

    Examples
    --------
    >>> tally = Tally((900, 100), (1000, 1000))
    >>> 1.5 < bound_of_counts(tally, ThresholdEvent(True, 0.0, 0.0), 0.0, 0.05).lower < 2.2
    True
    """
    (hits, other), (trials, others) = tally.favoured(event)
    lower = joint_lower_bound(
        hits, other, trials, others, delta=delta, alpha=alpha, order=event.order
    )
    counts = {
        "favoured_hits": hits,
        "favoured_trials": trials,
        "other_hits": other,
        "other_trials": others,
    }
    return EventBound(lower, _estimate_point_epsilon(hits / trials, other / others, delta), counts)


def most_of(counts: Mapping[str, int], delta: float, alpha: float) -> float:
    """Return the largest bound that so many outputs can certify, all of them right.

    Examples
    --------
    >>> round(most_of({"favoured_trials": 10_000, "other_trials": 10_000}, 0.0, 0.05), 2)
    8.79
    """
    trials, others = counts["favoured_trials"], counts["other_trials"]
    return largest_lower_bound(trials, others, delta=delta, alpha=alpha)


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


@dataclass(frozen=True)
class ScoreHistogram:
    """The numbers of scores of either side between two edges, by their distance from the threshold.

    The unit is the spread of all scores, half of which lie within it, so that no score is told.
    What is beyond the first and the last edge is counted next to them.
    """

    edges: tuple[float, ...]
    on_dataset: tuple[int, ...]
    on_neighbour: tuple[int, ...]
    above: bool


def score_counts(scores_p: Array, scores_q: Array, event: ThresholdEvent) -> ScoreHistogram:
    """Return a histogram of scores around the threshold of an event, in about 40 bins.

    Examples
    --------
    >>> found = score_counts(
    ...     np.arange(100.0), np.arange(100.0) - 9, ThresholdEvent(True, 50.0, 0.0)
    ... )
    >>> sum(found.on_dataset), 0.0 in found.edges
    (100, True)
    >>> sum(n for low, n in zip(found.edges, found.on_dataset) if low >= 0)
    50
    """
    # Differences of numbers up to a quarter of the largest double are still finite.
    largest = np.finfo(float).max / 4
    threshold, p, q = (
        np.clip(one, -largest, largest) for one in (event.threshold, scores_p, scores_q)
    )
    p, q = p - threshold, q - threshold
    pooled = np.concatenate([p, q])
    # Where most scores are alike the quartiles coincide, and the farthest score sets the unit.
    unit = float(np.subtract(*np.quantile(pooled, [0.75, 0.25]))) or float(np.abs(pooled).max())
    p, q = (side / (unit or 1.0) for side in (p, q))
    ends = np.clip(np.quantile(np.concatenate([p, q]), [0.005, 0.995]), -_WIDEST, _WIDEST)
    step = max(float(ends[1] - ends[0]), 1e-3) / _BINS
    # Edges are multiples of the step, so that the threshold, at 0, is one of them.
    low, high = min(math.floor(ends[0] / step), -1), max(math.ceil(ends[1] / step), 1)
    edges = step * np.arange(low, high + 1)
    counts = [np.histogram(np.clip(side, edges[0], edges[-1]), edges)[0] for side in (p, q)]
    found = [tuple(one.tolist()) for one in counts]
    return ScoreHistogram(tuple(edges.tolist()), found[0], found[1], event.above)


def _require_scores(name: str, scores: Array) -> None:
    if not len(scores) or np.isnan(scores).any():
        given = VerbatimText(f"{len(scores)} scores, {int(np.isnan(scores).sum())} of them NaN")
        raise InvalidArgument(name, given, "at least one score and no NaN")


def _estimate_point_epsilon(rate: float, other: float, delta: float) -> float:
    """Return the epsilon that the observed rates need, for the event or for its complement."""
    excesses = ((rate - delta, other), (1 - other - delta, 1 - rate))
    return max(0.0, *(_log_ratio(*pair) for pair in excesses))


def _log_ratio(excess: float, other: float) -> float:
    if excess <= 0:
        return 0.0
    return math.log(excess / other) if other > 0 else math.inf


def _share_above(scores: Array, candidates: Array) -> Array:
    below = np.searchsorted(np.sort(scores), candidates, side="left")
    share: Array = 1 - below / len(scores)
    return share
