"""Events of scores, and how often they happened: all that a worker needs to count them.

Scores are rounded far above the last bits of floats: those that are equal in real arithmetic would
otherwise be told apart by their last bits, and a bound would be about the floats of a score and not
about the mechanism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from dpaudit._typing import Array

Order = Literal["likelihood", "interval"]  # of outcomes: `dpaudit.estimation.orders`


@dataclass(frozen=True)
class ThresholdEvent:
    """An event: scores on one side of a threshold, chosen before anything certifies.

    ``above`` counts scores of at least the threshold, and favours the dataset; else scores of at
    most the threshold are counted, and favour its neighbour. ``promised`` is what the outputs
    that chose it suggest, ``order`` what its test ranks outcomes by.
    """

    above: bool
    threshold: float
    promised: float
    order: Order = "likelihood"

    @property
    def direction(self) -> str:
        """The side that the event favours, in words."""
        return "dataset over neighbour" if self.above else "neighbour over dataset"

    @property
    def complement(self) -> ThresholdEvent:
        """The event of all other scores, which favours the other side.

        Examples
        --------
        >>> event, scores = ThresholdEvent(True, 1.0, 0.0), np.array([0.9, 1.0, 1.1])
        >>> event.hits(scores), event.complement.hits(scores), event.complement.above
        (2, 1, False)
        """
        # The next double over, so that every score is in exactly one of the two events.
        beside = math.nextafter(self.threshold, -math.inf if self.above else math.inf)
        return replace(self, above=not self.above, threshold=beside)

    def hits(self, scores: Array) -> int:
        """Return how many scores are in the event."""
        return int(self.happened(scores).sum())

    def happened(self, scores: Array) -> Array:
        """Return 1 for each score in the event and 0 for the others, shape as given."""
        inside = scores >= self.threshold if self.above else scores <= self.threshold
        return np.asarray(inside, dtype=np.float64)


class Tally(NamedTuple):
    """The counts of an event among outputs of the dataset and of its neighbour."""

    hits: tuple[int, int]
    trials: tuple[int, int]

    @classmethod
    def of(cls, happened: tuple[Array, Array]) -> Tally:
        """Return the tally of a 1 for each output in the event, and a 0 for each other one.

        Examples
        --------
        >>> Tally.of((np.ones(3), np.zeros(2)))
        Tally(hits=(3, 0), trials=(3, 2))
        """
        one, other = happened
        return cls((int(one.sum()), int(other.sum())), (len(one), len(other)))

    def favoured(self, event: ThresholdEvent) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return hits and trials, each of the side that the event favours and of the other."""
        if event.above:
            return self.hits, self.trials
        return self.hits[::-1], self.trials[::-1]


@dataclass(frozen=True)
class ScoreEvent:
    """The counted event: the number of an output that it reads, and the step of its rounding."""

    score: Any
    event: ThresholdEvent
    step: float = 0.0

    def happened(self, scores: Array) -> Array:
        """Return 1 for each score in the event and 0 for the others."""
        return self.event.happened(self.rounded(scores))

    def rounded(self, scores: Array) -> Array:
        """Return scores without the last bits that tell equal ones apart."""
        return round_scores(scores, self.step) if self.step else scores

    def count(self, scores: Array) -> Any:
        """Return how many scores are in the event."""
        return int(self.happened(scores).sum())


_RELATIVE = 1e-9
_COMMON = 0.9


def compute_score_grain(scores: Array) -> float:
    """Return the step that scores are rounded to: a billionth of their common size.

    That is the 90% quantile of what they are in absolute value: a rare huge score must not make
    all others equal. Where it is 0, the largest one counts.

    Examples
    --------
    >>> round(
    ...     compute_score_grain(np.array([1.0, -3.0, 2.0, -1.0, 2.0, 1.0, 3.0, 1.0, 2.0, 3.0]))
    ...     * 1e9,
    ...     6,
    ... )
    3.0
    >>> compute_score_grain(np.append(np.ones(999), 1e300)) * 1e9
    1.0
    """
    finite = np.abs(scores[np.isfinite(scores)])
    if not len(finite):
        return _RELATIVE * 1e-290
    # The floor keeps the step positive where all scores are 0: they are divided by it.
    common = float(np.quantile(finite, _COMMON, method="higher"))
    return _RELATIVE * max(1e-290, common or float(finite.max()))


def round_scores(scores: Array, step: float) -> Array:
    """Return the nearest multiples of a step; scores too large to have any stay as they are.

    Examples
    --------
    >>> one, other, huge = round_scores(np.array([0.1 + 0.2, 0.3, 1e308]), 1e-9)
    >>> bool(one == other), float(huge)
    (True, 1e+308)
    """
    with np.errstate(over="ignore"):
        multiples = np.round(scores / step)
    # From 2^53 steps on doubles have no fraction to round, and the product may overflow.
    return np.where(np.abs(multiples) < 2.0**53, multiples * step, scores)
