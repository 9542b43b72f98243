r"""The place of the largest of noisy scores: report noisy max, and its relatives.

**Theorem.** Let the winner be the largest of ``s_i + b z_i``, z independent of one law with
``P(z >= t) <= e^x P(z >= t + x)`` for x >= 0 (Laplace, logistic, exponential, Gumbel). If the
scores of neighbours differ by ``d_i = s'_i - s_i``, its law costs

    epsilon = max over i, j of (d_j - d_i) / b  <=  2 max |d_i| / b.

*Proof.* Fix the noise of all but i. Then i wins where ``z_i >= T_i = (max over j of (s_j + b z_j)
- s_i) / b``, and on the neighbour ``T'_i <= T_i + max over j of (d_j - d_i) / b``. The tail at
``T'_i`` is so at least that at ``T_i`` divided by the power of e that is claimed, whatever the
noise of the others. Exchange the neighbours for the other direction. Ties have probability 0. []

This is report noisy max (Dwork & Roth 2014, Claim 3.9) for Laplace noise, the exponential mechanism
for Gumbel noise, and permute-and-flip (McKenna & Sheldon 2020) for exponential noise (Ding and
others 2021). Where all scores move in one direction, ``d_j - d_i`` is at most the largest move: the
distance of the differences of scores says so by itself. The smallest of ``s_i + b z_i`` is the
largest of ``-s_i - b z_i``, for which the law of -z counts.

With discrete Laplace noise on whole scores, the same proof holds with whole thresholds and any rule
for ties: i wins where ``z_i >= T_i`` or ``z_i > T_i``, by what the others are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit.guarantees import rounding
from dpaudit.proving.events.draft import Draft
from dpaudit.proving.events.monotone import direction_of
from dpaudit.proving.events.noise_laws import IndependentNoise, tails_of
from dpaudit.proving.events.release_forms import Selection
from dpaudit.proving.events.releases import (
    AdditivePlan,
    Bounds,
    ReleaseCost,
    common_scale,
    make_pure_spending,
)
from dpaudit.proving.refusals import NotProved

_MOST_PAIRS = 64  # scores of which all differences are asked for


@dataclass(frozen=True, eq=False)
class SelectionPlan:
    """The nodes whose distance a selection asks for.

    Parameters
    ----------
    release
        What is released.
    whole
        What it would cost to release all noisy scores: a bound as well.
    has_one_scale
        Whether all scores have noise of one scale.
    differences
        The node of the differences of all pairs of scores, or None.
    """

    release: Selection
    whole: AdditivePlan
    has_one_scale: bool
    differences: int | None

    @classmethod
    def of(cls, draft: Draft, release: Selection) -> SelectionPlan:
        """Append the questions to a draft."""
        whole = AdditivePlan.of(draft, release.scores)
        is_one = _has_one_scale(draft, release.scores.noise)
        row = draft.flatten(draft.broadcast(whole.asked, release.scores.node.shape))
        pairs = differences_of(draft, row, release.node.place) if is_one else None
        return cls(release, whole, is_one, pairs)

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the least cost that the rules prove.

        Raises
        ------
        NotProved
            No rule bounds it.
        """
        epsilon = self._epsilon(bounds)
        try:
            every = self.whole.measure(bounds)
        except NotProved:
            if epsilon == math.inf:
                raise
        else:
            # To show all noisy scores shows the place too, so that cost is a bound as well.
            if epsilon >= every.epsilon:
                return every
        return make_pure_spending(self.release.node, "noisy argmax", epsilon)

    def _epsilon(self, bounds: Bounds) -> float:
        slope = self._slope(bounds) if self.has_one_scale else math.inf
        apart = self._range(bounds)
        if math.inf in (slope, apart):
            return math.inf
        return rounding.quotient_up(rounding.product_up(apart, slope), self.whole.unit)

    def _range(self, bounds: Bounds) -> float:
        """Return how far two scores can move apart."""
        return range_of(bounds, self.whole.asked, self.differences)

    def _slope(self, bounds: Bounds) -> float:
        """Return how fast the logarithm of the tail falls that decides."""
        noise = self.release.scores.noise
        if noise.law == "discrete-laplace":
            return self._discrete_slope(bounds, noise)
        tails = tails_of(noise)
        # The winner's own noise decides by the tail towards winning.
        return tails.right if self.release.node.operation == "argmax" else tails.left

    def _discrete_slope(self, bounds: Bounds, noise: IndependentNoise) -> float:
        # The tail of a discrete law falls in steps: by half a step, a threshold may lose a
        # whole one.
        if noise.scale is not None or not bounds.facts(self.whole.asked).is_integer:
            return math.inf
        assert noise.parameters is not None
        return float(noise.parameters["rate"])


def _has_one_scale(draft: Draft, noise: IndependentNoise) -> bool:
    """Return whether all scores have noise of one scale, above 0 as far as its sign counts."""
    if common_scale(draft, noise) is not None:
        return True
    if noise.scale is None or math.prod(one or 0 for one in draft.shape(noise.scale)) != 1:
        return False
    # A scale of unknown sign turns the tails around, which changes nothing for symmetric laws.
    return noise.law in ("laplace", "logistic")


def range_of(bounds: Bounds, row: int, differences: int | None) -> float:
    """Return how far two entries of a row move apart at most."""
    largest = bounds.distance(row).linf
    # Scores that all rise or all fall are apart by the larger move at most.
    moved = largest if direction_of(bounds, row).is_one_way else 2 * largest
    if differences is None:
        return moved
    return min(moved, bounds.distance(differences).linf)


def differences_of(draft: Draft, row: int, place: str) -> int | None:
    """Append the differences of all pairs of a row of numbers; None where there are many."""
    (count,) = draft.shape(row)
    if count is None or not 1 < count <= _MOST_PAIRS:
        return None
    pairs = [
        draft.program.add("take", [row], shape=(len(one),), place=place, key=[one.tolist()])
        for one in np.triu_indices(count, 1)
    ]
    return draft.apply("subtract", pairs, place=place)
