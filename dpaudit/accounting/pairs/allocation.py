r"""Balls and bins: every record picks one of T batches, and the law of the ratio by doubling.

An epoch of T noisy sums, of which one has a record's term: let J be its batch. What another dataset
without the record gives is, batch by batch and given the past, ``N(0, sigma^2 I)``, and with it
``N(1{J = t} g_t, sigma^2 I)`` with ``|g_t| <= 1``, once the sum of the others is taken away. In the
direction of g_t that is ``|g_t| z_t`` plus independent noise of variance ``sigma^2 (1 - |g_t|^2)``,
where ``z_t ~ N(1{J = t}, sigma^2)``; in all others it is noise alone. So everything released is
made of z, whatever the g_t depend on, and the epoch is dominated by (Chua et al. 2024, arXiv
2412.16802)

    P = (1/T) sum_t N(e_t, sigma^2 I),   Q = N(0, sigma^2 I),   both orders.

Terms of norm 1 attain it. The ratio S is a mean of T independent ``W_t = exp((z_t - 1/2) /
sigma^2)``, log-normal under Q with mean 1, and only S's law under Q matters
(`dpaudit.accounting.pairs.ratios`). The convex order is kept by sums of independent terms, so a
law above each W_t gives a law above S, and a law below one below; and rounding what a sum of two
such laws is to few values, above or below, keeps that too. T is reached by doubling, as in a
power: some ``2 log2 T`` sums of two laws with a thousand values each. Nothing is ever subtracted:
masses have small *relative* errors, at 1e-300 as at 1, and no tilt is needed.

**Errors.** A mass is a sum of products of masses. A sum of n terms is off by at most n units in
the last place, n being the values of a block of rows plus the number of blocks. Masses of T terms
are products of T such, so with the quadrature's error they are off by less than the factor ``1 +
T (n u + 1e-13)``. Masses above are multiplied by it, masses below divided; ratios below, which are
quotients of two masses, may be off by twice that, and a value by a few units for every doubling:
losses give way by so much.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri_exp

from dpaudit._typing import Array
from dpaudit.accounting.pairs.mixtures import Mixture, MixturePair
from dpaudit.accounting.pairs.ratios import Ratios, round_cells_to_ratios

_LEAST_NOISE = 0.1
_MOST_NOISE = 1e4
# A sum of two laws takes the square of this number of products, and there are some ``2 log2 T``
# sums: about a million products each.
_NODES = 1024
_ROWS = 16  # of products that are added up at once
_WIDE = 12.0  # standard deviations of the bulk
_QUADRATURE = 1e-13
_UNIT = 2.0**-53


def within_reach(noise: float) -> bool:
    """Return whether ratios are neither too large nor too close to 1 for these laws.

    With less noise, hiding a batch among others gains next to nothing; with more, next to nothing
    is lost.
    """
    return _LEAST_NOISE <= noise <= _MOST_NOISE


@dataclass(frozen=True, eq=False)
class _Mean:
    """The law under Q of a mean of some W_t: masses, values, P-mass at infinity."""

    count: int
    masses: Array
    values: Array
    infinite: float


@dataclass(frozen=True)
class AllocationRatio:
    """The law of an epoch's ratio, above or below.

    Parameters
    ----------
    batches
        T.
    noise
        Sigma.
    upper
        On which side.
    """

    batches: int
    noise: float
    upper: bool = True

    def law(self, tail: float) -> Ratios:
        """Return the law; outputs in tails of this mass need not be told apart."""
        mean = self._power(self.batches, self._nodes(tail))
        off = self.batches * ((_ROWS * _NODES + _NODES) * _UNIT + _QUADRATURE)
        side = 1 if self.upper else -1
        slack = 1e-13 + (0.0 if self.upper else 2 * off)
        with np.errstate(divide="ignore"):
            log_masses, log_ratios = np.log(mean.masses) + side * off, np.log(mean.values)
        infinite = mean.infinite * (1 + off)
        return Ratios(log_masses, log_ratios, infinite if self.upper else 0.0, slack)

    def _power(self, count: int, nodes: Callable[[int], Array]) -> _Mean:
        """Return the law of the mean of this many, half of them and half of them at a time."""
        if count == 1:
            return self._single(nodes(1))
        # Every sum is rounded to nodes, which moves the law: doubling rounds ``log2 T`` times,
        # where adding one batch at a time would round T times.
        half = self._power(count // 2, nodes)
        found = self._mean(half, half, nodes(2 * half.count))
        if count % 2 == 0:
            return found
        return self._mean(found, self._single(nodes(1)), nodes(count))

    def _single(self, nodes: Array) -> _Mean:
        """Return the law of one W: cells between nodes, of which the first is 0."""
        shift = 1 / self.noise
        pair = MixturePair(Mixture((1.0,), (shift,)))
        outputs = np.log(nodes[1:]) / shift + shift / 2
        log_p, log_q = pair.p.log_masses(outputs), pair.q.log_masses(outputs)
        with np.errstate(divide="ignore"):
            ends = np.append(np.log(nodes), np.inf)
        law = round_cells_to_ratios(log_p, log_q, ends, upper=self.upper)
        # Of a law above, the upper end of each cell is the lower end of the next: their masses
        # belong to one value.
        values, at = np.unique(np.exp(law.log_ratios), return_inverse=True)
        masses = np.bincount(at, np.exp(law.log_masses), len(values))
        return _Mean(1, masses.astype(np.float64), values, law.infinite)

    def _mean(self, one: _Mean, other: _Mean, nodes: Array) -> _Mean:
        """Return the law of the mean of both, rounded to nodes or to cells between them."""
        count = one.count + other.count
        shares = one.count / count, other.count / count
        first, second = shares[0] * one.values, shares[1] * other.values
        sums = np.zeros((2, len(nodes) + 1))
        # Blocks of rows keep the outer product in the cache, and the error analysis above counts
        # the values of one block.
        for start in range(0, len(first), _ROWS):
            rows = slice(start, start + _ROWS)
            values = np.add.outer(first[rows], second).ravel()
            masses = np.multiply.outer(one.masses[rows], other.masses).ravel()
            sums += self._rounded(values, masses, nodes)
        infinite = shares[0] * one.infinite + shares[1] * other.infinite
        if self.upper:
            return _Mean(count, sums[0, 1:], nodes, infinite + float(sums[1, -1]))
        there = sums[0] > 0
        return _Mean(count, sums[0, there], sums[1, there] / sums[0, there], 0.0)

    def _rounded(self, values: Array, masses: Array, nodes: Array) -> Array:
        """Return masses at nodes and beyond them; or masses of cells and their moments."""
        size = len(nodes) + 1
        cells = np.searchsorted(nodes, values, side="right")
        if not self.upper:
            return np.stack(
                [np.bincount(cells, masses, size), np.bincount(cells, masses * values, size)]
            )
        # The first node is 0 and no value is below it, so that every value has a node on its left.
        below = nodes[cells - 1]
        gap = np.append(nodes, np.inf)[cells] - below
        up = masses * ((values - below) / gap)
        at = np.bincount(cells, masses - up, size)
        at[1:] += np.bincount(cells, up, size)[:-1]
        beyond = cells == len(nodes)
        lost = np.zeros(size)
        # Beyond the last node the Q-mass stays at that node. The mean of S that this leaves out is
        # P-mass, which becomes an infinite ratio: dropping it would not be a law above.
        lost[-1] = masses[beyond] @ (values[beyond] - below[beyond])
        return np.stack([at, lost])

    def _nodes(self, tail: float) -> Callable[[int], Array]:
        """Return nodes for the mean of so many: half where its bulk is, half up to single jumps."""
        variance = 1 / self.noise**2
        reach = -float(ndtri_exp(math.log(tail)))
        jump = variance / 2 + reach / self.noise  # log of the largest W under P, but for the tail

        def nodes(count: int) -> Array:
            spread = math.sqrt(math.log1p(math.expm1(variance) / count))
            low, high = -_WIDE * spread, _WIDE * spread
            far = math.log(math.exp(min(6 * spread, 600.0)) + math.exp(jump) / count)
            bulk = np.linspace(low, min(high, far), _NODES // 2)
            wide = np.linspace(low, max(far, min(high, jump)), _NODES // 2)
            # Node 0 is the left end for the smallest ratios, of which there is no least one.
            return np.concatenate([[0.0], np.exp(np.unique(np.concatenate([bulk, wide])))])

        return nodes
