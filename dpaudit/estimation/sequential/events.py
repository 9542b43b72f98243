"""Events to bet on, chosen from earlier scores only: thresholds, and their promises.

Counts at a fixed set of thresholds are all that is remembered of earlier scores, so a stream may be
endless. Everything has leading axes: many audits run side by side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.estimation.sequential.bets import growth

Counts = NDArray[np.int64]

_MIDDLE = 24  # thresholds at quantiles
_ENDS = 8  # further thresholds towards either end
_LEAST = 0.5  # nats that earlier scores must suggest before an epsilon is bet against in earnest


@dataclass(frozen=True)
class Tallies:
    """Counts of the earlier scores that reach each threshold.

    Parameters
    ----------
    thresholds
        Ascending, shape ``(..., C)``.
    hits, other_hits
        Scores of at least the threshold, on the favoured dataset and on the other.
    pairs
        How many scores of each side were counted.
    """

    thresholds: Array
    hits: Counts
    other_hits: Counts
    pairs: int

    @classmethod
    def of(cls, favoured: Array, other: Array) -> Tallies:
        """Return counts of scores of shape ``(..., n)`` at thresholds taken from them.

        Examples
        --------
        >>> int(Tallies.of(np.array([3.0, 4.0]), np.array([1.0, 2.0])).hits.max())
        2
        """
        pooled = np.sort(np.concatenate([favoured, other], axis=-1), axis=-1)
        thresholds = pooled[..., _choose_threshold_indices(pooled.shape[-1])]
        empty = np.zeros(thresholds.shape, dtype=np.int64)
        return cls(thresholds, empty, empty, 0).with_more(favoured, other)

    def with_more(self, favoured: Array, other: Array) -> Tallies:
        """Return the counts with more scores, shape ``(..., n)`` each."""
        return replace(
            self,
            hits=self.hits + _count_reaching_scores(favoured, self.thresholds),
            other_hits=self.other_hits + _count_reaching_scores(other, self.thresholds),
            pairs=self.pairs + favoured.shape[-1],
        )

    def choose(self, epsilons: Array, delta: float) -> EventChoices:
        """Return the event that promises most against the largest epsilon it can hope to exclude.

        Parameters
        ----------
        epsilons
            Ascending, shape ``(E,)``; the last is the one to refute.
        delta
            Of the claim.
        """
        cautious = growth(*self._cautious(), epsilons, delta)  # (..., C, E)
        best = cautious.max(axis=-2) * self.pairs
        hopeful = best >= _LEAST
        last = len(epsilons) - 1 - hopeful[..., ::-1].argmax(axis=-1)
        aim = np.where(hopeful.any(axis=-1), last, 0)
        promised = np.take_along_axis(cautious, aim[..., None, None], axis=-1)[..., 0]
        at = promised.argmax(axis=-1)[..., None]
        rates = ((taken + 0.5) / (self.pairs + 1) for taken in (self.hits, self.other_hits))
        of_each = (self.thresholds, *rates, promised)
        threshold, rate, other, promise = (
            np.take_along_axis(values, at, axis=-1)[..., 0] for values in of_each
        )
        return EventChoices(threshold, rate, other, promise, aim)

    def _cautious(self) -> tuple[Array, Array]:
        """Return rates a standard error worse than was seen, shape ``(..., C, 1)``."""
        n = self.pairs
        p, q = ((taken + 0.5) / (n + 1) for taken in (self.hits, self.other_hits))
        p, q = p - np.sqrt(p * (1 - p) / n), q + np.sqrt(q * (1 - q) / n)
        return np.clip(p, 0, 1)[..., None], np.clip(q, 0, 1)[..., None]


@dataclass(frozen=True)
class EventChoices:
    """An event ``score >= threshold`` and earlier scores' evidence on it, shape ``(...)`` each.

    ``promise`` is the growth of the wealth to expect against the epsilon numbered ``aim``.
    """

    threshold: Array
    rate: Array
    other_rate: Array
    promise: Array
    aim: NDArray[np.int64]

    def hits(self, scores: Array) -> NDArray[np.bool_]:
        """Return which scores of shape ``(..., n)`` are in the event."""
        return np.asarray(scores >= self.threshold[..., None])


def both_directions(on_p: Array, on_q: Array) -> tuple[Array, Array]:
    """Return favoured and other scores of both directions, stacked on the axis before the last.

    High scores favour the dataset; low ones, which are high once negated, its neighbour.

    Parameters
    ----------
    on_p, on_q
        Scores on dataset and neighbour, shape ``(..., J, n)``; the result has ``2 J``.

    Examples
    --------
    >>> both_directions(np.array([[1.0]]), np.array([[0.0]]))[0].tolist()
    [[1.0], [-0.0]]
    """
    favoured = np.concatenate([on_p, -on_q], axis=-2)
    other = np.concatenate([on_q, -on_p], axis=-2)
    return favoured, other


def first_shares(promise: Array, stakes: int) -> Array:
    """Return shares of the wealth: half to the most promising event, half to all alike.

    Parameters
    ----------
    promise
        Of each event, from scores that are not bet on, shape ``(..., J)``.
    stakes
        Bettors an event; they share its share.

    Examples
    --------
    >>> first_shares(np.array([0.1, 0.3]), 1)
    array([0.25, 0.75])
    """
    events = promise.shape[-1]
    best = np.arange(events) == promise.argmax(axis=-1)[..., None]
    shares = 0.5 * best + 0.5 / events
    return np.repeat(shares / stakes, stakes, axis=-1)


def _choose_threshold_indices(size: int) -> Counts:
    """Return which of so many ordered scores become thresholds."""
    ends = np.geomspace(1, max(size / 4, 1), _ENDS).round().astype(np.int64) - 1
    middle = np.linspace(0, size - 1, _MIDDLE).round().astype(np.int64)
    return np.sort(np.concatenate([ends, size - 1 - ends, middle]))


def _count_reaching_scores(scores: Array, thresholds: Array) -> Counts:
    reached = scores[..., None, :] >= thresholds[..., :, None]
    return np.asarray(reached.sum(axis=-1), dtype=np.int64)
