"""Bounds from a table of an attack: how often it said "in", with the target and without it.

A row is one attack, or one threshold of it: of ``trials`` runs with the target it said "in" for
``hits``, of ``other_trials`` runs without for ``other_hits``. That "in" favours the runs with the
target is fixed by what the word means, before a count is seen, so that no error probability is
spent on the direction. Of k rows each has the share 1/k: which of them is best is not known
beforehand, and rows may be about the same runs. In a row both orders of the exact test are tried
(`dpaudit.estimation.joint`), the one that is mostly ahead with nine tenths of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import dpaudit._check as check
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.clopper_pearson import clopper_pearson
from dpaudit.estimation.joint import joint_lower_bound, largest_lower_bound
from dpaudit.estimation.score_events import Order

# The likelihood order is ahead for most counts. The shares sum to 1, so that both orders hold
# together by the union bound.
SHARES: dict[Order, float] = {"likelihood": 0.9, "interval": 0.1}


@dataclass(frozen=True)
class AttackRow:
    """The counts of an attack's answer "in".

    Parameters
    ----------
    hits, trials
        Of runs with the target: said "in", and all.
    other_hits, other_trials
        Of runs without it.

    Examples
    --------
    >>> AttackRow(471, 500, 23, 500).rates
    (0.942, 0.046)
    """

    hits: int
    trials: int
    other_hits: int
    other_trials: int

    def __post_init__(self) -> None:
        for name, runs in (("trials", self.trials), ("other_trials", self.other_trials)):
            check.require_integer(name, runs, least=1)
        for name, count, runs in (
            ("hits", self.hits, self.trials),
            ("other_hits", self.other_hits, self.other_trials),
        ):
            check.require_integer(name, count, least=0)
            if count > runs:
                raise InvalidArgument(name, count, f"at most the {runs} runs")

    @property
    def rates(self) -> tuple[float, float]:
        """True-positive and false-positive rate, as counted."""
        return self.hits / self.trials, self.other_hits / self.other_trials

    @property
    def other_way(self) -> bool:
        """Whether "in" was said more often of runs without the target."""
        # Products of integers compare the rates without rounding.
        return self.other_hits * self.trials > self.hits * self.other_trials


@dataclass(frozen=True)
class RowBound:
    """The bound that a row certifies, its order, and its error probability."""

    row: AttackRow
    epsilon: float
    order: Order
    alpha: float


def bound_rows(rows: Sequence[AttackRow], *, delta: float, alpha: float) -> tuple[RowBound, ...]:
    """Return the bound of each row; all of them hold together.

    Formal guarantee: if runs are independent, with probability at least ``1 - alpha`` no bound is
    above the epsilon at ``delta`` of the pair, in whichever order rows stand.

    Parameters
    ----------
    rows
        At least one.
    delta
        Where epsilon is bounded.
    alpha
        Error probability of all rows together.

    Examples
    --------
    >>> (one,) = bound_rows([AttackRow(471, 500, 23, 500)], delta=1e-5, alpha=0.05)
    >>> round(one.epsilon, 2)
    2.63
    """
    if not rows:
        raise InvalidArgument("rows", rows, "one row at least")
    # Rows may count the same runs, so that only the union bound is left to join them.
    return tuple(_bound_row_epsilon(row, delta, alpha / len(rows)) for row in rows)


def _bound_row_epsilon(row: AttackRow, delta: float, alpha: float) -> RowBound:
    counts = row.hits, row.other_hits, row.trials, row.other_trials
    found = [
        RowBound(
            row,
            joint_lower_bound(*counts, delta=delta, alpha=share * alpha, order=order),
            order,
            share * alpha,
        )
        for order, share in SHARES.items()
    ]
    return max(found, key=lambda one: one.epsilon)


def largest_bound(rows: Sequence[AttackRow], *, delta: float, alpha: float) -> float:
    """Return the most that so many runs could certify, with an attack that is always right.

    Examples
    --------
    >>> round(largest_bound([AttackRow(471, 500, 23, 500)], delta=0.0, alpha=0.05), 2)
    5.76
    """
    # No order has a larger share, so that neither can certify more than this.
    share = max(SHARES.values()) * alpha / len(rows)
    return max(
        largest_lower_bound(row.trials, row.other_trials, delta=delta, alpha=share) for row in rows
    )


def rate_intervals(row: AttackRow, alpha: float) -> tuple[tuple[float, float], ...]:
    """Return Clopper and Pearson's intervals of both rates, which each err with ``alpha``.

    Examples
    --------
    >>> [round(end, 3) for end in rate_intervals(AttackRow(471, 500, 23, 500), 0.05)[0]]
    [0.918, 0.961]
    """
    return (
        clopper_pearson(row.hits, row.trials, alpha),
        clopper_pearson(row.other_hits, row.other_trials, alpha),
    )


def excess_of_intervals(
    rows: Sequence[AttackRow], epsilon: float, *, delta: float, alpha: float
) -> float:
    """Return by how much the intervals of the best row exceed a claim: above 1, it is refuted.

    This is what a certificate states: it is weaker than the exact test, and easier to check again.

    Examples
    --------
    >>> row = AttackRow(471, 500, 23, 500)
    >>> [excess_of_intervals([row], one, delta=1e-5, alpha=0.05) > 1 for one in (2.0, 2.7)]
    [True, False]
    """
    odds, found = math.exp(epsilon), 0.0
    for row in rows:
        # The claim limits the event and its complement: each limit needs one end of either
        # interval.
        (low, _), (_, high) = rate_intervals(row, alpha / len(rows))
        found = max(found, (low - delta) / (odds * high), (1 - high - delta) / (odds * (1 - low)))
    return found
