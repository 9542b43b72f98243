r"""The exact composition of releases of which only (epsilon, delta)-DP is known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.events import ApproximateRelease
from dpaudit.accounting.loss_table import LossTable, log_binomial
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import Guarantee

MOST_STATES = 1_000_000


@dataclass(frozen=True)
class OptimalComposition(Guarantee):
    """All that follows from the (epsilon, delta)-DP of each part, and nothing more than follows.

    Some sequence of releases attains every answer, so that no theorem about (epsilon, delta)
    alone gives a smaller one. Answers are good to a relative error of 1e-12 in delta, and
    `epsilon` returns the exact value at a delta that far from the one asked for, also between the
    multiples of the parts' epsilon.

    Sources: Kairouz, Oh & Viswanath 2015, Theorem 3.3; Murtagh & Vadhan 2016, Theorem 1.5.

    Parameters
    ----------
    parts
        The releases. Each distinct epsilon multiplies the number of states of the loss by its
        count plus one; at most `MOST_STATES` are accepted (the general problem is #P-hard).

    Raises
    ------
    InvalidArgument
        There are more states than that, or a part is no `ApproximateRelease`.

    Examples
    --------
    >>> composed = OptimalComposition((ApproximateRelease(epsilon=0.1, count=100),))
    >>> round(composed.epsilon(1e-5), 4)
    4.3068
    """

    parts: tuple[ApproximateRelease, ...]

    def __post_init__(self) -> None:
        states = math.prod(count + 1 for count in _counts(checked_parts(self.parts)).values())
        if states > MOST_STATES:
            raise InvalidArgument("parts", f"{states} states", f"at most {MOST_STATES} states")

    def delta(self, epsilon: float) -> float:
        """Return the exact delta at ``epsilon >= 0``."""
        return min(1.0, math.exp(self.log_deltas([check.non_negative("epsilon", epsilon)])[0]))

    def log_deltas(self, epsilons: ArrayLike) -> Array:
        """Return ``log delta`` at each epsilon, of any sign, shape (n,): the whole profile."""
        lost, log_rest = self._failure()
        log_lost = math.log(lost) if lost else -math.inf
        below = self._table().log_delta(check.finite_array("epsilons", epsilons, ndim=1))
        return np.asarray(np.logaddexp(log_lost, log_rest + below))

    def epsilon(self, delta: float) -> float:
        """Return the exact epsilon at ``delta``; infinite below the delta that stays."""
        delta = check.delta("delta", delta)
        lost, _ = self._failure()
        if delta < lost:
            return math.inf
        left = (delta - lost) / (1 - lost)
        return max(0.0, self._table().epsilon(math.log(left) if left else -math.inf))

    def trade_off(self, false_positive_rate: float) -> float:
        """Return the exact trade-off curve: the highest of the lines that end at the losses."""
        rate = check.real("false_positive_rate", false_positive_rate)
        if not 0 <= rate <= 1:
            raise InvalidArgument("false_positive_rate", rate, "a number in [0, 1]")
        losses = self._table().losses
        log_rate = math.log(rate) if rate else -math.inf
        lines = -np.expm1(self.log_deltas(losses)) - np.exp(np.minimum(losses + log_rate, 700))
        return float(max(0.0, lines.max()))

    def _table(self) -> LossTable:
        return _table(tuple(sorted(_counts(self.parts).items())))

    def _failure(self) -> tuple[float, float]:
        """Return the probability that some release tells the secret, and the log of the rest."""
        log_rest = log_kept(self.parts)
        failing = [part for part in self.parts if part.delta and part.count]
        if len(failing) == 1 and failing[0].count == 1:
            return failing[0].delta, log_rest  # to the last digit: it is asked for as written
        return -math.expm1(log_rest), log_rest

    def __str__(self) -> str:
        parts = (f"{p.count} x (epsilon={p.epsilon:g}, delta={p.delta:g})" for p in self.parts)
        return f"{type(self).__name__}({', '.join(parts)})"


def log_kept(parts: tuple[ApproximateRelease, ...]) -> float:
    """Return the logarithm of the probability that no release fails outright."""
    return math.fsum(part.count * math.log1p(-part.delta) for part in parts)


def checked_parts(parts: Iterable[ApproximateRelease]) -> tuple[ApproximateRelease, ...]:
    """Return the parts as a tuple, after a look at the type of each."""
    parts = tuple(parts)
    for index, part in enumerate(parts):
        if not isinstance(part, ApproximateRelease):
            raise InvalidArgument(f"parts[{index}]", part, "an ApproximateRelease")
    return parts


def _counts(parts: tuple[ApproximateRelease, ...]) -> Counter[float]:
    counts: Counter[float] = Counter()
    for part in parts:
        if part.epsilon and part.count:
            counts[part.epsilon] += part.count
    return counts


@lru_cache(maxsize=8)
def _table(counts: tuple[tuple[float, int], ...]) -> LossTable:
    """Return the loss of randomised responses, given as (epsilon, count)."""
    losses, masses = np.zeros(1), np.zeros(1)
    for epsilon, count in counts:
        step = epsilon * (2 * np.arange(count + 1.0) - count)
        losses = np.add.outer(losses, step).ravel()
        masses = np.add.outer(masses, log_binomial(count, epsilon)).ravel()
    if len(counts) == 1:
        return LossTable.of(losses, masses, np.full(len(losses) - 1, 2 * counts[0][0]))
    order = np.argsort(losses, kind="stable")
    return LossTable.of(losses[order], masses[order], np.diff(losses[order]))
