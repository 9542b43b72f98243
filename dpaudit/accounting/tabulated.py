"""A guarantee asked once at many points, so that it can be asked again for nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.guarantees.algebra import Guarantee

_POINTS, _LEAST_DELTA = 256, 1e-14


@dataclass(frozen=True)
class TabulatedDP(Guarantee):
    """The chords of a guarantee's profile: an upper bound of it, since it is convex.

    Delta is a convex function of ``exp(epsilon)``, so between two points it is below the line
    through them; beyond the last point it stays at what it was there.

    Parameters
    ----------
    exact
        The guarantee that is asked, at 256 epsilons.

    Examples
    --------
    >>> from dpaudit.guarantees.kinds import GaussianDP
    >>> table = TabulatedDP(GaussianDP(1.0))
    >>> bool(GaussianDP(1.0).epsilon(1e-5) <= table.epsilon(1e-5) < 4.39)
    True
    """

    exact: Guarantee

    @cached_property
    def _table(self) -> tuple[Array, Array]:
        """Epsilons from 0 upwards and the deltas there, falling."""
        far = self.exact.epsilon(_LEAST_DELTA)
        far = far if math.isfinite(far) else 2 * max(1.0, self.exact.epsilon(0.5))
        epsilons = np.linspace(0.0, max(far, 1e-9), _POINTS)
        deltas = np.array([self.exact.delta(float(epsilon)) for epsilon in epsilons])
        return epsilons, np.minimum.accumulate(deltas)

    def delta(self, epsilon: float) -> float:
        """Return a delta implied at ``epsilon >= 0``."""
        epsilon = check.non_negative("epsilon", epsilon)
        epsilons, deltas = self._table
        k = int(np.searchsorted(epsilons, epsilon, side="right"))
        if k == len(epsilons):
            return float(deltas[-1])
        low, high = float(epsilons[k - 1]), float(epsilons[k])
        share = math.expm1(epsilon - low) / math.expm1(high - low)
        return float(deltas[k - 1] + share * (deltas[k] - deltas[k - 1]))

    def epsilon(self, delta: float) -> float:
        """Return an epsilon implied at ``delta``, beyond the table that of the guarantee itself."""
        delta = check.delta("delta", delta)
        epsilons, deltas = self._table
        if delta < deltas[-1]:
            return self.exact.epsilon(delta)
        k = int(np.argmax(deltas <= delta))
        if k == 0:
            return 0.0
        drop = float(deltas[k - 1] - deltas[k])
        share = float(deltas[k - 1] - delta) / drop if drop else 0.0
        low, high = float(epsilons[k - 1]), float(epsilons[k])
        return min(high, low + math.log1p(share * math.expm1(high - low)))
