r"""Laws of a likelihood ratio with finitely many values: above and below a law that is continuous.

Of a pair P, Q all hockey-stick divergences are ``E_Q (S - a)_+`` plus the P-mass that Q has not,
where ``S = dP/dQ``: they depend on the law of S under Q alone, and grow with it in the convex
order. So, of a partition of the outputs into cells,

* *below*: each cell becomes one output. Its ratio is the mean of S in it, and means lower convex
  functions (this is also the data-processing inequality);
* *above*: the Q-mass of each cell is put on the least and the largest ratio in it, so that the mean
  of S, which is the P-mass, stays. Beyond the last cell, where S has no bound, the Q-mass goes to
  the cell's lower end and the P-mass that this leaves becomes an infinite ratio.

Both are off to second order in the size of the cells, and hold in both directions: exchanging P
and Q turns S into 1/S.

Of a P and a Q that are known for ratios above 1 alone (a relation that is symmetric, one profile f
of which is proved for ``a >= 1``) the rest follows: ``H_a(P || Q) = 1 - a + a H_{1/a}(Q || P)``
with ``H(Q || P)`` bounded by the same f. The pair with this profile has, besides the ratios above
1, each of them once more as ``1/S`` with P- and Q-mass exchanged, and what is left at 1
(`mirror_ratio_laws`; Zhu, Dong & Wang 2022, Theorem 11, for fixed batches).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np

from dpaudit._typing import Array
from dpaudit.accounting.pairs.pair import (
    Atoms,
    Complex,
    DominatingPair,
    characteristic_of,
    log_mgf_of,
)

# Tails of a law that nobody asked to trim.
# Masses of tails are multiplied by ratios and shared among steps, for which this leaves room above
# the smallest double, 5e-324.
LEAST_TAIL = 1e-240
_ORDINARY = 1e-40
_DECADES = 20


@dataclass(frozen=True, eq=False)
class Ratios:
    """The law of S under Q.

    Parameters
    ----------
    log_masses
        Logarithms of Q-masses, shape ``(n,)``.
    log_ratios
        Logarithms of the values of S, ascending, shape ``(n,)``; minus infinity is 0.
    infinite
        P-mass of outputs that Q does not have.
    slack
        By how much losses are to give way, to the side on which the law is.
    """

    log_masses: Array
    log_ratios: Array
    infinite: float = 0.0
    slack: float = 0.0

    @property
    def vanishing(self) -> float:
        """Q-mass of outputs that P does not have."""
        return float(np.exp(self.log_masses[np.isneginf(self.log_ratios)]).sum())

    def kept(self) -> Ratios:
        """Return the outputs that both laws have."""
        keep = np.isfinite(self.log_masses) & np.isfinite(self.log_ratios)
        return replace(self, log_masses=self.log_masses[keep], log_ratios=self.log_ratios[keep])


class RatioSource(Protocol):
    """A law that encloses a pair's ratio from one side; hashable, so that its ratios are kept."""

    @property
    def upper(self) -> bool:
        """Whether the law is above the pair's, or below."""
        ...

    def law(self, tail: float) -> Ratios:
        """Return the law; outputs in tails of this mass need not be told apart."""
        ...

    def __hash__(self) -> int: ...


@lru_cache(maxsize=64)
def _compute_ratio_law(source: RatioSource, tail: float) -> Ratios:
    return source.law(tail)


def round_cells_to_ratios(log_p: Array, log_q: Array, edges: Array, *, upper: bool) -> Ratios:
    """Return the law of cells with these masses, ratios at whose edges are ascending.

    Parameters
    ----------
    log_p, log_q
        Logarithms of the cells' masses, shape ``(n,)``.
    edges
        Logarithms of the ratios at their ends, shape ``(n + 1,)``: from minus infinity to
        infinity where the ratio has no bounds.
    upper
        Whether the law is to be above or below.

    Examples
    --------
    >>> halves = np.log([0.5, 0.5])
    >>> law = round_cells_to_ratios(
    ...     np.log([0.25, 0.75]), halves, np.log([0.2, 1.0, 2.0]), upper=True
    ... )
    >>> np.exp(law.log_masses).round(4).tolist()  # at .2 and 1, and at 1 and 2
    [0.3125, 0.1875, 0.25, 0.25]
    """
    with np.errstate(invalid="ignore"):
        # A cell without Q-mass has no ratio under Q, whatever its P-mass: minus infinity less minus
        # infinity is no number.
        mean = np.where(np.isneginf(log_q), np.inf, log_p - log_q)
    if not upper:
        return Ratios(log_q, mean)
    low, high = edges[:-1], edges[1:]
    # The mean of a cell is between the ratios at its ends, but by rounding, which would make a
    # share negative or above 1.
    mean = np.clip(mean, low, high)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        share = _compute_upper_end_share(mean, low, high)
        masses = np.stack([log_q + np.log1p(-share), log_q + np.log(share)])
    infinite = np.isposinf(high)
    # All of the last cell's Q-mass is put at its lower end. The P-mass beyond what that accounts
    # for is counted as an infinite ratio, which errs upwards.
    lost = np.exp(log_p[infinite]) - np.exp(log_q[infinite] + low[infinite])
    keep = ~np.isposinf(np.stack([low, high]))
    masses[0, infinite] = log_q[infinite]
    values = np.stack([low, high])
    # Transposed, each cell's two ends follow each other, so that the ratios ascend.
    order = keep.T.ravel()
    return Ratios(masses.T.ravel()[order], values.T.ravel()[order], max(float(lost.sum()), 0.0))


def _compute_upper_end_share(mean: Array, low: Array, high: Array) -> Array:
    """Return the share of a cell's mass that goes to its upper end."""
    width = np.where(np.isneginf(low), np.inf, high - low)
    part = np.exp(mean - high) - np.where(np.isneginf(low), 0.0, np.exp(low - high))
    share = part / np.where(np.isinf(width), 1.0, -np.expm1(-width))
    return np.asarray(np.where(width > 0, np.clip(share, 0.0, 1.0), 1.0))


def mirror_ratio_laws(laws: list[tuple[float, Ratios]]) -> Ratios:
    """Return the symmetric law of a mixture of laws, each known for ratios above 1 alone.

    Parameters
    ----------
    laws
        Weights that add up to at most 1, and laws of ratios of at least 1 whose masses do not: the
        rest is at a ratio of 1, that of the weights at an infinite one.
    """
    logs = [(math.log(weight) + law.log_masses, law.log_ratios) for weight, law in laws]
    log_q, log_r = (np.concatenate([each[k] for each in logs]) for k in range(2))
    lost = math.fsum(weight * law.infinite for weight, law in laws)
    # Weights that are missing belong to outputs that nothing is known of: all their mass is lost.
    lost += max(0.0, 1 - math.fsum(weight for weight, _ in laws))
    q, p = float(np.exp(log_q).sum()), float(np.exp(log_q + log_r).sum())
    rest = max(1 - q - p - lost, 0.0)
    log_lost, log_rest = (math.log(mass) if mass else -math.inf for mass in (lost, rest))
    order = np.argsort(log_r, kind="stable")
    log_q, log_r = log_q[order], log_r[order]
    masses = np.concatenate([[log_lost], (log_q + log_r)[::-1], [log_rest], log_q])
    return Ratios(masses, np.concatenate([[-np.inf], -log_r[::-1], [0.0], log_r]), lost)


@dataclass(frozen=True)
class RatioPair(DominatingPair):
    """A pair whose ratio has finitely many values: it dominates another, or is dominated by it.

    Parameters
    ----------
    source
        Where the law comes from, and on which side it is.
    removal
        The direction: P and Q, or Q and P.
    tail
        Mass of tails that need not be resolved.
    """

    source: RatioSource
    removal: bool = True
    tail: float = _ORDINARY

    @property
    def largest(self) -> float:
        """Infinite: tails are trimmed, not bounded."""
        return math.inf

    @property
    def symmetric(self) -> bool:
        """P and Q exchanged give another law."""
        return False

    def reversed(self) -> RatioPair:
        """Return the other direction."""
        return replace(self, removal=not self.removal)

    def trimmed(self, tail: float) -> RatioPair:
        """Return the pair without outputs in tails of this probability."""
        # Rounded down to one of a few powers: less is cut off than was allowed.
        power = math.floor(math.log10(min(max(tail, LEAST_TAIL), 0.01)) / _DECADES) * _DECADES
        return replace(self, tail=10.0**power)  # so that laws are not worked out too often

    @property
    def truncation_mass(self) -> float:
        """The mass that a law above leaves without a finite loss."""
        if not self.source.upper:
            return 0.0
        law = _compute_ratio_law(self.source, self.tail)
        return law.infinite if self.removal else law.vanishing

    def atoms(self, edges: Array) -> Atoms:
        """Return the atoms between the first and the last edge."""
        return self._atoms().within(edges[0], edges[-1])

    def log_mgf(self, orders: Array) -> Array:
        """Return ``log E_P[exp(order L)]`` over finite losses, same shape."""
        return log_mgf_of(self._atoms(), orders)

    def atomic_share(self, order: float) -> float:
        """Return 1: there is nothing but atoms."""
        return 1.0

    def characteristic(self, order: float, frequencies: Array) -> Complex:
        """Return ``E_P[exp((order + i u) L)] / E_P[exp(order L)]`` over finite losses."""
        return characteristic_of(self._atoms(), order, frequencies)

    def _atoms(self) -> Atoms:
        return _atoms_of(self.source, self.removal, self.tail)


@lru_cache(maxsize=64)
def _atoms_of(source: RatioSource, removal: bool, tail: float) -> Atoms:
    law = _compute_ratio_law(source, tail).kept()
    # Losses give way to the side on which the law has to stay: up for a law above, down for one
    # below.
    slack = law.slack if source.upper else -law.slack
    if removal:
        return Atoms(law.log_ratios + slack, law.log_masses + law.log_ratios)
    # In the other direction the loss is ``-log S`` and its law that under Q. Reversed, losses
    # ascend again.
    return Atoms((slack - law.log_ratios)[::-1], law.log_masses[::-1])
