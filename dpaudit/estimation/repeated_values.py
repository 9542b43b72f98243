"""Values that repeat, and more often on one dataset than on the other.

A continuous output hardly ever repeats but for its last bits. What does, such as a record that is
released as it is now and then, is an outcome of its own, however rare, and the values around it
say nothing of how probable it is. Where nearly all outputs are one value, the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.estimation.score_events import compute_score_grain, round_scores

_OFTEN = 4  # times that a value was seen, on both sides together
_BY_CHANCE = 0.2  # values that stand out where none does


Counts = NDArray[np.int64]


@dataclass(frozen=True)
class RepeatedValues:
    """Values that repeat, ascending, and how often each was seen, of how many, on either side.

    They are rounded to multiples of a step, as those that differ in their last bits are one.
    """

    values: Array
    of_p: Counts
    of_q: Counts
    sizes: tuple[int, int]
    step: float = 0.0

    def place(self, values: Array) -> Counts:
        """Return the place of each number among these values, -1 where it is none of them."""
        if not len(self.values):
            # A number above all values would point past the last one.
            return np.full(len(values), -1)
        near = round_scores(values, self.step)
        at = np.minimum(np.searchsorted(self.values, near), len(self.values) - 1)
        return np.where(self.values[at] == near, at, -1)

    def stand_out(self, share: Any = None) -> RepeatedValues:
        """Return those that fall to the first side more, or less, often than a share of them would.

        By a likelihood ratio, so large that of all values a fifth of one would by chance; a value
        that is most of all outputs by what the others do. The share is that of the side's size, if
        no other is given.

        Examples
        --------
        >>> of_p, of_q = np.array([9, 0, 5]), np.array([0, 9, 4])
        >>> RepeatedValues(np.array([0.3, 0.7, 1.0]), of_p, of_q, (99, 99)).stand_out().values
        array([0.3, 0.7])
        >>> RepeatedValues(np.zeros(1), np.array([90]), np.array([99]), (99, 99)).stand_out().values
        array([0.])
        """
        p, q = self.sizes
        usual = p / (p + q)
        most = (2 * self.of_p > p) & (2 * self.of_q > q)
        others = np.where(most, _compute_count_nats(p - self.of_p, q - self.of_q, usual), 0.0)
        found = np.maximum(
            _compute_count_nats(self.of_p, self.of_q, usual if share is None else share), others
        )
        chosen = found > np.log(max(1, len(found)) / _BY_CHANCE)
        of_p, of_q = self.of_p[chosen], self.of_q[chosen]
        return RepeatedValues(self.values[chosen], of_p, of_q, self.sizes, self.step)


def find_repeated_scores(p: Array, q: Array) -> RepeatedValues:
    """Return the values that repeat in samples of two sides, finite, shape ``(R,)`` each.

    Examples
    --------
    >>> find_repeated_scores(np.array([0.3, 0.3, 0.3, 0.1]), np.array([0.2, 0.3])).values
    array([0.3])
    """
    step = compute_score_grain(np.concatenate([p, q]))
    sides = [np.sort(round_scores(side, step)) for side in (p, q)]
    pooled = np.sort(np.concatenate(sides), kind="stable")  # which merges what is in order
    # In sorted order a value that is there so often equals the one so many places further on.
    starts = np.flatnonzero(pooled[_OFTEN - 1 :] == pooled[: len(pooled) - _OFTEN + 1])
    values = np.unique(pooled[starts])
    of_p, of_q = (_count_values(side, values) for side in sides)
    return RepeatedValues(values, of_p, of_q, (len(p), len(q)), step)


def some_stand_out(on_p: Array, on_q: Array) -> bool:
    """Return whether any entry of outputs has values that stand out.

    Examples
    --------
    >>> on_p, on_q = np.random.default_rng(0).normal(size=(2, 99, 3))
    >>> some_stand_out(on_p, on_q)
    False
    >>> on_p[:9, 1] = 0.3
    >>> some_stand_out(on_p, on_q)
    True
    """
    columns = (side.reshape(len(side), -1).T for side in (on_p, on_q))
    return any(
        len(find_repeated_scores(p, q).stand_out().values) for p, q in zip(*columns, strict=True)
    )


def _compute_count_nats(of_p: Counts, of_q: Counts, share: Any) -> Array:
    from scipy.special import rel_entr  # late: cards of distinguishers name this module

    both = of_p + of_q
    return np.asarray(rel_entr(of_p, both * share) + rel_entr(of_q, both * (1 - share)))


def _count_values(ordered: Array, values: Array) -> Counts:
    ends = (np.searchsorted(ordered, values, side=end) for end in ("left", "right"))
    first, last = ends
    return np.asarray(last - first)
