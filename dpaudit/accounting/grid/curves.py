"""Privacy curves read from a grid of losses: one from above, one from below."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpaudit._typing import Array
from dpaudit.accounting.grid.convolution import Convolution


@dataclass(frozen=True)
class UpperCurve:
    """Upper ends, from the law rounded upwards; ``betrayed`` is the mass of infinite losses."""

    law: Convolution
    order: float
    betrayed: float

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        return self.law.suffix_profile(self.order), self.law.suffix_sums(self.order + 1)

    @cached_property
    def _errors(self) -> Array:
        return self.law.profile_errors(self.order, self._sums[0])

    def delta(self, epsilon: float) -> float:
        """Return an upper bound of delta at epsilon."""
        points, (profile, q) = self.law.points, self._sums
        k = int(np.searchsorted(points, epsilon, side="right"))
        # Errors come in at every epsilon, also beyond the grid, where no mass is left but what was
        # wrapped around.
        # Between points the error weighs more than at the next one, by a cell at most.
        inner = float(self._errors[min(k, len(points) - 1)])
        inner *= math.exp(min(self.order * self.law.spacing, 700.0))
        if k < len(points):
            gap = float(points[k]) - epsilon
            inner += math.exp(-self.order * gap) * float(profile[k] - math.expm1(-gap) * q[k])
        log_delta = self.law.log_total - self.order * epsilon + math.log(inner)
        log_delta += self.law.slack(self.order)
        return self.betrayed + math.exp(min(log_delta, 0.0))

    def epsilon(self, delta: float) -> float:
        """Return an upper bound of epsilon at a delta above ``betrayed``."""
        points, (profile, q) = self.law.points, self._sums
        c, total = self.order, self.law.log_total
        with np.errstate(over="ignore"):
            wanted = (delta - self.betrayed) * np.exp(c * points - total - self.law.slack(c))
        enough = profile + self._errors <= wanted
        if not enough.any():
            return math.inf
        k = int(np.argmax(enough))
        # within the cell to the left of x_k the same masses count, and the error weighs more
        room = wanted[k] - profile[k] - self._errors[k] * math.exp(c * self.law.spacing)
        if room <= 0:
            return float(points[k])
        # Within a cell the profile is linear in ``exp(epsilon)``, of slope q: this is how far to
        # the left of the point delta still suffices.
        share = float(room / q[k]) if q[k] > 0 else math.inf
        return float(points[k]) + math.log1p(-share) if share < 1 else -math.inf


@dataclass(frozen=True)
class LowerCurve:
    """Lower ends: attained by tests on the sum of cell numbers, or from the law rounded downwards.

    The first is close where cells are wide. It is a difference of two masses, so that where delta
    is far smaller than either, the second is closer: the P-masses alone, every loss counted as the
    lower end of its cell, or ``blur`` below it.
    """

    under_p: Convolution
    under_q: Convolution
    order: float
    betrayed: float
    blur: float

    @cached_property
    def _sums(self) -> tuple[Array, Array]:
        """Return least P- and most Q-masses beyond each threshold, tilted as at their points."""
        slack = self.under_p.slack(self.order), self.under_q.slack(self.order + 1)
        p, q = self.under_p.suffix_sums(self.order), self.under_q.suffix_sums(self.order + 1)
        # For a lower bound on ``P(A) - exp(epsilon) Q(A)`` every doubt goes against the test: less
        # P, more Q.
        p = p - self.under_p.errors(self.order, p)
        q = q + self.under_q.errors(self.order + 1, q)
        return p * math.exp(-slack[0]), q * math.exp(slack[1])

    @cached_property
    def _profile(self) -> Array:
        """Return the least delta at each point, tilted."""
        profile = self.under_p.suffix_profile(self.order)
        profile = profile - self.under_p.profile_errors(self.order, profile)
        return np.asarray(profile * math.exp(-self.under_p.slack(self.order)))

    def delta(self, epsilon: float) -> float:
        """Return a lower bound of delta at epsilon."""
        points, (p, q) = self.under_p.points, self._sums
        ratio = epsilon - points + self.under_q.log_total - self.under_p.log_total
        with np.errstate(over="ignore"):
            # Each threshold is an event of its own, and every event gives a lower bound: the best
            # may be picked afterwards, as these are probabilities and no counts.
            tested = p - np.exp(ratio) * q
        inner = np.maximum(tested, np.where(points >= epsilon + self.blur, self._profile, 0.0))
        scale = self.under_p.log_total - self.order * points
        good = inner > 0
        if not good.any():
            return self.betrayed
        best = float(np.max(scale[good] + np.log(inner[good])))
        return self.betrayed + math.exp(min(best, 0.0)) * (1 - 1e-15)

    def epsilon(self, delta: float) -> float:
        """Return a lower bound of epsilon at delta."""
        points, (p, q) = self.under_p.points, self._sums
        with np.errstate(over="ignore"):
            wanted = (delta - self.betrayed) * np.exp(self.order * points - self.under_p.log_total)
        enough = np.flatnonzero(self._profile >= wanted)
        # The last point at which the profile is still above delta: epsilon is at least there.
        # Losses may have been taken for the end of the cell beside theirs, which `blur` pays for.
        found = float(points[enough[-1]]) - self.blur if enough.size else -math.inf
        inner = p - wanted
        good = inner > 0
        if not good.any():
            return found
        shift = self.under_p.log_total - self.under_q.log_total
        tested = np.log(inner[good]) - np.log(q[good]) + points[good] + shift
        return max(found, float(np.max(tested)))
