r"""Minimisers of objectives with exponential-norm noise in the linear term: PP, DVP and their kin.

One record u of a generalised linear model is replaced by w. Given the output f, stationarity says
which noise e was drawn, and on the other dataset it is ``e + p u + q w``: p and q depend on f, have
fixed signs and are at most ``s/2`` each, in units in which the noise has rate 1; the records have
norm at most 1. Besides, the two changes of variables from f to the noise have determinants whose
ratio is within ``exp(j)`` and ``exp(-j)``: the loss is at most ``j + ||e + p u + q w|| - ||e||``.

The norm is convex, so on the rectangle of p and q it is largest at a corner, and

    L <= j + max(0, L_1, L_2, L_3),

where the L_i are losses of *fixed* shifts, of length at most s/2, s/2 and s. With D(epsilon; s) the
divergence of exponential-norm noise (`dpaudit.accounting.pairs.exponential_norm`), for epsilon >= j

    delta(epsilon) <= D(epsilon - j; s) + 2 D(epsilon - j; s/2),

in both directions, as the two datasets play the same part.

Completion. The right-hand side has the derivatives of a profile: it is that of a loss with tails

    G(x) = P_s(L > x - j) + 2 P_{s/2}(L > x - j)                    under P,
    H(x) = exp(-j) (Q_s(L > x - j) + 2 Q_{s/2}(L > x - j))          under Q.

The true profile is convex in ``exp(epsilon)`` and bounded the same way in the other direction, that
is for ``epsilon <= -j``. A convex function below two others is below their convex hull: a straight
piece from -t to t, where the masses add up to 1, that is the least ``t >= j`` with
``G(t) + H(t) <= 1``. So the dominating pair is symmetric, has the tails above beyond t, and all of
its other mass on the losses t and -t, with odds ``exp(t)``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import brentq

from dpaudit._typing import Array
from dpaudit.accounting.pairs.exponential_norm import pair_of
from dpaudit.accounting.pairs.pair import (
    Atoms,
    Complex,
    DominatingPair,
    characteristic_of,
    farthest_moment,
    joined,
    log_mgf_of,
    resolving,
    tilted_moments,
)


@dataclass(frozen=True)
class ObjectivePerturbationPair(DominatingPair):
    """The pair that dominates one minimiser.

    Parameters
    ----------
    shift
        ``s``: rate of the noise times the sensitivity.
    dimension
        Of the minimiser.
    log_determinant
        ``j``.
    """

    shift: float
    dimension: int
    log_determinant: float = 0.0

    @property
    def largest(self) -> float:
        """``j + s``: pure differential privacy."""
        return self.log_determinant + self.shift

    def _beyond(self, edges: Array) -> Atoms:
        """Return the P-masses of both parts between the edges, which are at least j."""
        # An end that rounding moves inwards would lose what sits there: an atom, in one dimension.
        moved = np.where(edges >= self.largest, np.inf, edges - self.log_determinant)
        parts = []
        for shift, copies in ((self.shift, 1), (self.shift / 2, 2)):
            part = pair_of(shift, self.dimension).atoms(moved)
            losses = np.minimum(part.losses + self.log_determinant, self.largest)
            parts.append(Atoms(losses, part.log_masses + math.log(copies)))
        return joined(*parts)

    @cached_property
    def knee(self) -> float:
        """``t``: no loss is nearer to 0."""

        def excess(t: float) -> float:
            return self._mass_beyond(t) - 1

        if excess(self.log_determinant) <= 0:
            return self.log_determinant
        found = brentq(excess, self.log_determinant, self.largest, xtol=1e-13 * self.largest)
        return float(min(found * (1 + 1e-12), self.largest))

    def _mass_beyond(self, t: float) -> float:
        """Return ``G(t) + H(t)``: mass of losses beyond t in size."""
        atoms = self._beyond(np.array([t, self.largest]))
        return float(np.exp(atoms.log_masses) @ (1 + np.exp(-atoms.losses)))

    @cached_property
    def _knees(self) -> Atoms:
        t = self.knee
        rest = max(0.0, 1 - self._mass_beyond(t))
        level = math.log(rest) if rest else -math.inf
        lower = level - float(np.logaddexp(0, t))
        return Atoms(np.array([-t, t]), np.array([lower, lower + t]))

    def atoms(self, edges: Array) -> Atoms:
        """Return the law between the first and the last edge; no panel lies astride an edge."""
        above = np.clip(np.append(edges, self.knee), self.knee, self.largest)
        below = np.clip(np.append(-edges, self.knee), self.knee, self.largest)
        right, left = self._beyond(np.unique(above)), self._beyond(np.unique(below))
        mirrored = Atoms(-left.losses, left.log_masses - left.losses)
        return joined(mirrored, self._knees, right).within(edges[0], edges[-1])

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log E_P[exp(order L)]``, same shape."""
        return tilted_moments(self, -self.largest, self.largest, orders)

    @property
    def farthest_order(self) -> float:
        """Largest order in size up to which `log_mgf` is a moment; beyond, it is a bound of it."""
        return farthest_moment(-self.largest, self.largest)

    def atomic_share(self, order: float) -> float:
        """Return the share of the losses t and -t, and in one dimension of Laplace's atoms."""
        if self.dimension == 1:
            return 1.0
        at = np.array(order)
        return float(np.exp(log_mgf_of(self._knees, at) - self.log_mgf(at)))

    def variation(self, order: float) -> float:
        """Return the sum over the parts above and below the knee: cut, they vary no more."""
        at, total = np.array(order), 0.0
        norm = float(self.log_mgf(at))
        for shift, copies in ((self.shift, 1), (self.shift / 2, 2)):
            part = pair_of(shift, self.dimension)
            for c in (order, -(order + 1)):
                scale = float(part.log_mgf(np.array(c))) + c * self.log_determinant - norm
                total += copies * math.exp(scale) * part.variation(c)
        return total

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]``."""
        edges = resolving(-self.largest, self.largest, order, frequencies)
        return characteristic_of(self.atoms(edges), order, frequencies)
