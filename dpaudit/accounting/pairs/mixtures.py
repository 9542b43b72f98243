r"""Gaussian mixtures on a line: batches of a fixed size, replaced records, and shuffled epochs.

All means are in the unit of the noise's standard deviation. Let a set A of outputs have the
probability a under N(0, I). Under N(c, I) it has at least ``Phi(Phi^-1(a) - |c|)`` (Neyman &
Pearson), and the half-space that attains this for one c attains it for all c of one direction. So
for weights of one sign the worst centres lie on one ray, as far away as they may:

    sup_A  N_0(A) - sum_j w_j N_{c_j}(A)  =  sup_t  Phi(t) - sum_j w_j Phi(t - |c_j|)   at most,

and likewise with plus signs. What the samplers leave is of this form, once every expectation over
the other records is taken outside (hockey-stick divergences are jointly convex) and, in a batch of
fixed size, the record that is in the data's batch is coupled with the one whose place it takes.
With q the probability of being in a batch, u and v the terms of the two records, w that of a record
displaced, all of norm at most ``m = 1 / sigma``, and N_0 the law without the record:

* *Poisson, replace*: ``P = (1-q) N_0 + q N_u`` against ``Q = (1-q) N_0 + q N_v``. For a >= 1,
  ``P(A) - a Q(A) = q [N_u(A) - ((1-q)(a-1)/q) N_0(A) - a N_v(A)]``: from u the others are at most m
  and 2m away, so ``u = m, v = -m`` is the worst; the pair is its own reverse, so for a < 1 as well.
* *fixed size, add/remove*: ``P = (1-q) N_0 + q N_{u-w}`` against ``Q = N_0``: the Poisson-sampled
  pair with terms of norm 2m.
* *fixed size, replace* (and zero-out, which replaces by a term of 0): the others are at most 2m and
  2m away from ``u - w``: for a >= 1 the profile of the Poisson-sampled pair with terms of 2m, in
  both orders; `dpaudit.accounting.pairs.ratios.mirror_ratio_laws` completes it. Neighbours whose
  other terms are all -m, and u = m, v = -m, attain one direction of it; with v = 0 they attain the
  pair of shifts 2m and m, which is the lower end of zero-out.
* *with replacement*: a record is drawn ``K ~ Binomial(b, 1/n)`` times. Add/remove: ``P = sum_k p_k
  N_{2mk}`` against N_0. Replace: given that K > 0, K is told besides: a mixture over k of pairs
  ``(1-q) N_0 + q N_{2mk}`` against N_0, ``q = P(K > 0)``, completed as above.
* *shuffled*, a lower end: where all other terms are -m and the record's is m, the sum of its batch
  is 2m above that of others. Replaced by a term of 0 it is m above, by one of -m not at all: ``P``
  has 2m in one of T coordinates, ``Q`` m or nothing in one of them. The largest coordinate is a
  function of the outputs, with the distribution functions ``Phi(c - 2m) Phi(c)^(T-1)`` and
  ``Phi(c - m) Phi(c)^(T-1)`` or ``Phi(c)^T``: its law is below. The event that it passes C is what
  Chua et al. 2024 (arXiv 2403.17673) use, once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import log_ndtr, logsumexp, ndtri_exp

from dpaudit._typing import Array
from dpaudit.accounting.pairs.ratios import Ratios, mirror_ratio_laws, round_cells_to_ratios
from dpaudit.errors import ConvergenceError

# Cells of a law at least; more, up to the next number, where its range is wide.
_CELLS = 2**13
_MOST_CELLS = 2**15
# Of a cell, in deviations of the noise: the rule of six nodes is then exact to rounding.
_WIDEST = 2.0**-5
_QUADRATURE_RULE = np.polynomial.legendre.leggauss(6)
_NODES = _QUADRATURE_RULE[0]
_WEIGHTS = _QUADRATURE_RULE[1]


@dataclass(frozen=True)
class Mixture:
    """``sum_k weight_k N(mean_k, 1)`` on the real line.

    Parameters
    ----------
    weights, means
        Both with an entry a component.
    """

    weights: tuple[float, ...]
    means: tuple[float, ...]

    def log_density(self, y: Array) -> Array:
        """Return the log-density, same shape."""
        shifted = y[..., None] - np.array(self.means)
        terms = np.log(self.weights) - shifted**2 / 2
        return np.asarray(logsumexp(terms, axis=-1)) - math.log(2 * math.pi) / 2

    def log_tails(self, low: float, high: float) -> tuple[float, float]:
        """Return the logarithms of the masses below and above."""
        means, logs = np.array(self.means), np.log(self.weights)
        below, above = log_ndtr(low - means), log_ndtr(means - high)
        return float(logsumexp(logs + below)), float(logsumexp(logs + above))

    def log_masses(self, edges: Array) -> Array:
        """Return the logarithms of the masses of cells, and of the two tails beyond them."""
        half = np.diff(edges)[:, None] / 2
        nodes = edges[:-1, None] + half * (1 + _NODES)
        logs = self.log_density(nodes) + np.log(half * _WEIGHTS)
        low, high = self.log_tails(float(edges[0]), float(edges[-1]))
        return np.concatenate([[low], logsumexp(logs, axis=1), [high]])


ORIGIN = Mixture((1.0,), (0.0,))


def _make_narrow_cell_edges(low: float, high: float) -> Array:
    """Return edges of cells that are small beside the noise's deviation, 1, or raise."""
    # An infinite range has no ceiling; the limit leaves a number that is refused below.
    cells = max(_CELLS, math.ceil(min((high - low) / _WIDEST, 1e300)))
    if cells > _MOST_CELLS:
        raise ConvergenceError(
            f"batches: outputs are {high - low:.1e} standard deviations of the noise apart, "
            f"expected at most {_MOST_CELLS * _WIDEST:.1e}: the noise is too small"
        )
    return np.linspace(low, high, cells)


@dataclass(frozen=True)
class MixturePair:
    """P and Q, two mixtures whose ratio grows with the output.

    Parameters
    ----------
    p, q
        The mixtures.
    lost
        Weight of components that P has besides.
    upper
        Whether `law` is above or below.
    """

    p: Mixture
    q: Mixture = ORIGIN
    lost: float = 0.0
    upper: bool = True

    def edges(self, tail: float) -> Array:
        """Return edges of cells; all but tails of this mass lies between."""
        reach = -float(ndtri_exp(math.log(tail)))
        means = (*self.p.means, *self.q.means)
        return _make_narrow_cell_edges(min(means) - reach, max(means) + reach)

    def law(self, tail: float) -> Ratios:
        """Return the ratio's law, above or below."""
        edges = self.edges(tail)
        at = self.p.log_density(edges) - self.q.log_density(edges)
        ends = np.concatenate([[-np.inf], at, [np.inf]])
        log_p, log_q = self.p.log_masses(edges), self.q.log_masses(edges)
        found = round_cells_to_ratios(log_p, log_q, ends, upper=self.upper)
        # Components that were left out for being too light still have their P-mass, which must not
        # vanish from a law above.
        return replace(found, infinite=found.infinite + self.lost)


def make_sampled_mixture_pair(ratio: float, shift: float) -> MixturePair:
    """Return ``(1-q) N(0, 1) + q N(shift, 1)`` against N(0, 1)."""
    if ratio == 1:
        return MixturePair(Mixture((1.0,), (shift,)))
    return MixturePair(Mixture((1 - ratio, ratio), (0.0, shift)))


def poisson_replaced(ratio: float, shift: float) -> MixturePair:
    """Return the pair of a Poisson sample in which one record is replaced."""
    if ratio == 1:
        return MixturePair(Mixture((1.0,), (shift,)), Mixture((1.0,), (-shift,)))
    weights = (1 - ratio, ratio)
    return MixturePair(Mixture(weights, (0.0, shift)), Mixture(weights, (0.0, -shift)))


def make_replacement_draw_pair(records: int, batch: int, shift: float) -> MixturePair:
    """Return ``sum_k p_k N(k shift, 1)`` against N(0, 1), k drawn as often as a record is."""
    weights, lost = _compute_draw_probabilities(records, batch)
    return MixturePair(_make_multiples_mixture(weights, shift), lost=lost)


def _make_multiples_mixture(weights: tuple[float, ...], shift: float) -> Mixture:
    """Return the mixture of shifts 0, 1, 2, ... times one, as far as they have a weight."""
    means = [k * shift for k in range(len(weights))]
    there = [(weight, mean) for weight, mean in zip(weights, means, strict=True) if weight]
    return Mixture(tuple(w for w, _ in there), tuple(m for _, m in there))


# Far below any delta asked for: what is drawn more often is `lost`, and counts as infinite.
_LEAST_WEIGHT = 1e-60
_MOST_DRAWS = 64


def _compute_draw_probabilities(records: int, batch: int) -> tuple[tuple[float, ...], float]:
    """Return the probabilities of being drawn 0, 1, ... times, and of being drawn more often."""
    from scipy.stats import binom  # takes half a second: for those alone who need it

    k = np.arange(min(batch, _MOST_DRAWS) + 1)
    weights = binom.pmf(k, batch, 1 / records)
    last = int(np.flatnonzero(weights > _LEAST_WEIGHT)[-1])
    return tuple(weights[: last + 1].tolist()), float(binom.sf(last, batch, 1 / records))


@dataclass(frozen=True)
class FixedSizeReplacement:
    """A record of a batch of fixed size is replaced: a law above, see the module's text.

    Parameters
    ----------
    weights
        Probability of being in the batch 0, 1, 2, ... times.
    shift
        ``2 / sigma``.
    lost
        Probability of being there more often.
    """

    weights: tuple[float, ...]
    shift: float
    lost: float = 0.0

    @property
    def upper(self) -> bool:
        """The law is above."""
        return True

    def law(self, tail: float) -> Ratios:
        """Return the law."""
        sampled = 1 - self.weights[0]
        return mirror_ratio_laws(
            [
                (weight / sampled, self._beyond_one(sampled, k * self.shift, tail))
                for k, weight in enumerate(self.weights)
                if k and weight
            ]
        )

    def _beyond_one(self, sampled: float, shift: float, tail: float) -> Ratios:
        """Return the law above of the ratios of at least 1, whose outputs are beyond the middle."""
        pair = make_sampled_mixture_pair(sampled, shift)
        edges = pair.edges(tail)
        # At half the shift the two components weigh the same, and the ratio is 1. The first edge is
        # put there so that no cell has ratios on both sides of 1.
        edges = np.concatenate([[shift / 2], edges[edges > shift / 2]])
        at = pair.p.log_density(edges) - pair.q.log_density(edges)
        # The ratio at the first edge is 1 by construction; rounding must not put it below.
        at[0] = 0.0
        log_p, log_q = (side.log_masses(edges)[1:] for side in (pair.p, pair.q))
        return round_cells_to_ratios(log_p, log_q, np.append(at, np.inf), upper=True)

    def attained(self, *, zeroed: bool) -> MixturePair:
        """Return one direction as some neighbours attain it, or as some with a zeroed record do."""
        q = _make_multiples_mixture(self.weights, self.shift / 2) if zeroed else ORIGIN
        return MixturePair(_make_multiples_mixture(self.weights, self.shift), q, upper=False)


@dataclass(frozen=True)
class ShuffledMaximum:
    """The largest output of an epoch, of which one has a larger mean: a law below, and no other.

    Parameters
    ----------
    batches
        Of the epoch.
    shift, other
        What one mean is larger by under P and under Q.
    """

    batches: int
    shift: float
    other: float

    @property
    def upper(self) -> bool:
        """The law is below."""
        return False

    def law(self, tail: float) -> Ratios:
        """Return the law."""
        reach = -float(ndtri_exp(math.log(tail)))
        low = min(-float(ndtri_exp(math.log(tail) / self.batches)), 0.0)
        edges = _make_narrow_cell_edges(-reach + low, reach + self.shift)
        log_p, log_q = (self._log_masses(edges, mean) for mean in (self.shift, self.other))
        # A law below asks for the means of cells alone, so that the ratios at their edges are not
        # needed.
        return round_cells_to_ratios(log_p, log_q, np.zeros(len(edges) + 1), upper=False)

    def _log_masses(self, edges: Array, mean: float) -> Array:
        """Return the logarithms of the masses of cells and beyond: densities have two terms."""
        half = np.diff(edges)[:, None] / 2
        y = edges[:-1, None] + half * (1 + _NODES)
        rest = self.batches - 1
        own = -((y - mean) ** 2) / 2 + rest * log_ndtr(y)
        # One batch has no others, and the logarithm of 0 is not asked for.
        others = np.full_like(own, -np.inf)
        if rest:
            others = math.log(rest) + log_ndtr(y - mean) + (rest - 1) * log_ndtr(y) - y**2 / 2
        logs = np.logaddexp(own, others) - math.log(2 * math.pi) / 2 + np.log(half * _WEIGHTS)
        low = float(log_ndtr(edges[0] - mean) + rest * log_ndtr(edges[0]))
        log_below = float(log_ndtr(edges[-1] - mean) + rest * log_ndtr(edges[-1]))
        # The distribution function rounds to 1 far out, where nothing is left beyond.
        high = math.log(-math.expm1(log_below)) if log_below < 0 else -math.inf
        return np.concatenate([[low], logsumexp(logs, axis=1), [high]])


def make_fixed_size_pair(records: int, batch: int, shift: float) -> FixedSizeReplacement:
    """Return the pair of a replaced record in a batch drawn without replacement."""
    ratio = batch / records
    return FixedSizeReplacement((1 - ratio, ratio), shift)


def make_fixed_size_redraw_pair(records: int, batch: int, shift: float) -> FixedSizeReplacement:
    """Return the pair of a replaced record in a batch drawn with replacement."""
    weights, lost = _compute_draw_probabilities(records, batch)
    return FixedSizeReplacement(weights, shift, lost)
