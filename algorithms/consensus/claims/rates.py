"""Statements of zhang2018 about delta(t) itself: the condition (23) on it, and how it moves.

Instances are those of `dpaudit.algorithms.consensus.claims.steps`. Of (22), which compares
matrices, both sides are quadratic forms along ``start``.
"""

from __future__ import annotations

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.claims.networks import EXCESS, Family, Searchable
from dpaudit.algorithms.consensus.claims.steps import divide_by_sizes, searchable_on
from dpaudit.algorithms.consensus.quadratics import compute_contraction_rate, forms_22
from dpaudit.extension.claim import Statement
from dpaudit.refutation.search import Batch


def condition_22(
    claim: Statement, family: Family, factor: float, *, proved: bool
) -> Searchable[Batch]:
    """Return that the delta of (23), or the one that is proved, meets (22).

    For a shared penalty the value is the left form over the right one, which is above 0. Where
    nodes have penalties of their own it need not be: both are divided by what they are made of.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.equation23 import CLAIM
    >>> for proved in (False, True):
    ...     inequality, climb = condition_22(CLAIM, Family(nodes=2), 1.0, proved=proved)
    ...     print(inequality.ratio(climb(1_000, np.random.default_rng(0))) > 1)
    True
    False
    """

    def sides(batch: Batch) -> tuple[Array, Array]:
        delta = compute_contraction_rate(batch, family.dual_step, proved=proved)
        left, right, size = forms_22(batch, family.dual_step)
        if not family.shared:
            return divide_by_sizes(delta * left, size), factor * divide_by_sizes(right, size)
        ratio = divide_by_sizes(delta * left, right)
        return ratio, np.full_like(ratio, factor)

    return searchable_on(
        claim,
        family,
        sides,
        ("adjacency", "penalty", "curvature", "start", "mu"),
        parameters={"rate": "proved" if proved else "printed", "factor": factor},
        quantities=lambda batch: {
            "rate": float(compute_contraction_rate(batch, family.dual_step, proved=proved)[0])
        },
        because=_BECAUSE_22,
        difference=not family.shared,
    )


_BECAUSE_22 = (
    "Where all nodes agree (W - theta I)(D - A) is 0: its smallest nonzero singular value, which "
    "(23) adds to 2 m_o, is none that (22) has."
)


def grow_penalties(family: Family, batch: Batch) -> Batch:
    """Return instances with penalties that grew by ``|start|`` of themselves, within the limits."""
    growth = np.abs(batch["start"])
    growth = growth[:, :1] * np.ones_like(growth) if family.shared else growth
    # Grown penalties stay within the limits of the search, so that both sides are evaluated on
    # networks of one family.
    most = family.dual_step * (1 + EXCESS[1])
    later = np.minimum(batch["penalty"] * (1 + growth), most)
    return {**batch, "later": later}


def make_falling_rate_search(
    claim: Statement, family: Family, factor: float, *, proved: bool
) -> Searchable[Batch]:
    """Return that the delta of (23), or the one that is proved, is no larger for larger penalties.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.section3 import CLAIM
    >>> for proved in (False, True):
    ...     inequality, climb = make_falling_rate_search(CLAIM, Family(nodes=2), 1.0, proved=proved)
    ...     print(inequality.ratio(climb(1_000, np.random.default_rng(0))) > 1)
    True
    False
    """

    def rates(batch: Batch) -> tuple[Array, Array]:
        later = {**batch, "penalty": grow_penalties(family, batch)["later"]}
        theta = family.dual_step
        return compute_contraction_rate(later, theta, proved=proved), compute_contraction_rate(
            batch, theta, proved=proved
        )

    def sides(batch: Batch) -> tuple[Array, Array]:
        after, before = rates(batch)
        # The sentence is about the rate 1 + delta, which is above 0 on both sides.
        return 1 + after, factor * (1 + before)

    return searchable_on(
        claim,
        family,
        sides,
        ("adjacency", "penalty", "later", "curvature", "mu"),
        parameters={"rate": "proved" if proved else "printed", "factor": factor},
        quantities=lambda batch: {
            "rate after": float(rates(batch)[0][0]),
            "rate before": float(rates(batch)[1][0]),
        },
        because=_BECAUSE_FALLING,
        further=lambda batch: grow_penalties(family, batch),
    )


_BECAUSE_FALLING = (
    "The second term of (23) has the smallest singular value, which grows with the penalties, on "
    "top: while the penalties are near theta it grows faster than what is below."
)
