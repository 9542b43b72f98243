r"""Ratios of discrete noise, of randomised response, and of Laplace noise on a Poisson sample.

With P the law around a shift s and Q that around 0, S = dP/dQ:

* *discrete Laplace*, ``a = exp(-1/b)``: outputs from s on have ``S = exp(s/b)``, those up to 0
  ``exp(-s/b)``, and k between them ``exp((2k - s)/b)``;
* *discrete Gaussian*: ``S = exp((2 k s - s^2) / (2 sigma^2))``, which grows with k: a shift by all
  of the sensitivity is the worst, as S's law under Q spreads with s (a larger shift has the larger
  hockey-stick divergences, the masses being log-concave);
* *randomised response* among k answers: the truth with probability p, each other one with
  ``r = (1 - p) / (k - 1)``;
* *Laplace noise on a Poisson sample*: ``1 - q + q S`` of Laplace noise. For ``a >= 1``,
  ``P - a Q = q N_s - (a - 1 + q) N_0`` and ``Q - a P = (1 - a (1-q)) N_0 - a q N_s``: a sample's
  divergences are those of its noise at other levels, so that its worst shift is the noise's.

Numbers of these laws are known to a few units in the last place, for which losses give way.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit._typing import Array
from dpaudit.accounting.composition import pure_epsilon
from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    GaussianMixtureRelease,
    RandomizedResponse,
)
from dpaudit.accounting.events import PoissonSubsampledLaplace
from dpaudit.accounting.pairs.mixtures import Mixture, MixturePair
from dpaudit.accounting.pairs.pair import Atoms, DominatingPair
from dpaudit.accounting.pairs.ratios import RatioPair, Ratios, round_cells_to_ratios
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees import rounding

# Masses down to exp(-600) are doubles; with more, the ends of the law would vanish.
_MOST_LAPLACE = 600.0  # of a shift beside the noise
_SLACK = 1e-13  # relative, of losses; and absolute
_CELLS = 4096


@dataclass(frozen=True)
class BoundedRatioPair(RatioPair):
    """A pair whose ratio has finitely many values, and whose losses have a bound.

    Parameters
    ----------
    ends
        The largest loss as it is, and of the pair exchanged.
    """

    ends: tuple[float, float] = (math.inf, math.inf)

    @property
    def largest(self) -> float:
        """The largest finite loss."""
        return self.ends[0] if self.removal else self.ends[1]

    def _atoms(self) -> Atoms:
        atoms = super()._atoms()
        # The slack of a law above would push its largest loss beyond what pure DP proves.
        return Atoms(np.minimum(atoms.losses, self.largest), atoms.log_masses)


@dataclass(frozen=True)
class DiscreteLaplaceRatios:
    """The law of the ratio of discrete Laplace noise."""

    shift: int
    scale: float
    upper: bool = True

    def law(self, tail: float) -> Ratios:
        """Return the law."""
        # Outputs up to 0, and those from the shift on, have one ratio each: the infinitely many
        # integers are no more than ``shift + 1`` values.
        inner = np.arange(1.0, self.shift)
        log_all = math.log1p(math.exp(-1 / self.scale))
        # With a large scale ``1 - exp(-1/b)`` is a difference of numbers next to 1, of which
        # `expm1` keeps the digits.
        log_peak = math.log(-math.expm1(-1 / self.scale)) - log_all
        ends = np.array([-log_all]), np.array([-self.shift / self.scale - log_all])
        masses = np.concatenate([ends[0], log_peak - inner / self.scale, ends[1]])
        ratios = (2 * np.concatenate([[0.0], inner, [float(self.shift)]]) - self.shift) / self.scale
        return Ratios(masses, ratios, slack=_SLACK * (1 + self.shift / self.scale))


@dataclass(frozen=True)
class DiscreteGaussianRatios:
    """The law of the ratio of discrete Gaussian noise; its tails are an infinite ratio above."""

    shift: int
    scale: float
    upper: bool = True

    def law(self, tail: float) -> Ratios:
        """Return the law; outputs in tails of this mass need not be told apart."""
        # A Gaussian tail bound, with four deviations to spare for what a discrete law has more.
        reach = math.ceil(self.scale * (math.sqrt(-2 * math.log(tail)) + 4)) + 1
        k = np.arange(-reach, reach + self.shift + 1.0)
        log_masses = -((k / self.scale) ** 2) / 2
        log_masses -= math.log(float(np.exp(log_masses).sum()))
        ratios = (2 * k - self.shift) * self.shift / (2 * self.scale**2)
        slack = _SLACK * (1 + float(np.abs(ratios).max()) * 1e-2)
        # Above, what was cut off counts as an output that gives the dataset away; below, it is an
        # output that is in no test.
        return Ratios(log_masses, ratios, tail if self.upper else 0.0, slack)


@dataclass(frozen=True)
class ResponseRatios:
    """The law of the ratio of randomised response among some answers."""

    truth: float
    categories: int
    upper: bool = True

    def law(self, tail: float) -> Ratios:
        """Return the law."""
        other = (1 - self.truth) / (self.categories - 1)
        epsilon = math.log(self.truth) - math.log(other)
        # Answers other than the two records' own have the same probability on both. With two
        # answers there are none, and the difference would leave rounding.
        rest = max(1 - self.truth - other, 0.0) if self.categories > 2 else 0.0
        with np.errstate(divide="ignore"):
            masses = np.log(np.array([self.truth, rest, other]))
        return Ratios(masses, np.array([-epsilon, 0.0, epsilon]), slack=_SLACK * (1 + epsilon))


@dataclass(frozen=True)
class SampledLaplaceRatios:
    """The law of the ratio of Laplace noise of scale 1 on a Poisson sample, above or below."""

    ratio: float
    shift: float
    upper: bool = True

    def law(self, tail: float) -> Ratios:
        """Return the law: two atoms, and cells between them."""
        s, y = self.shift, np.linspace(0.0, self.shift, _CELLS + 1)
        width = s / _CELLS
        inner = math.log(-math.expm1(-width) / 2)
        log_q = np.concatenate([[math.log(0.5)], inner - y[:-1], [-s - math.log(2)]])
        log_s = np.concatenate([[-s - math.log(2)], inner + y[1:] - s, [math.log(0.5)]])
        edges = self._level(np.concatenate([[-s], 2 * y - s, [s]]))
        found = round_cells_to_ratios(
            self._compute_mixture(log_q, log_s), log_q, edges, upper=self.upper
        )
        return Ratios(found.log_masses, found.log_ratios, slack=_SLACK * (1 + s))

    def _level(self, log_ratio: Array) -> Array:
        # Near a ratio of 1 the logarithm of a sum would lose the digits of a rare sample. The
        # minimum keeps the branch that is not taken from overflowing.
        near = np.log1p(self.ratio * np.expm1(np.minimum(log_ratio, 1.0)))
        return np.where(
            log_ratio < 1, near, self._compute_mixture(np.zeros_like(log_ratio), log_ratio)
        )

    def _compute_mixture(self, log_q: Array, log_s: Array) -> Array:
        """Return the logarithm of ``(1 - q) Q + q N_s``."""
        kept = math.log1p(-self.ratio) if self.ratio < 1 else -math.inf
        return np.asarray(np.logaddexp(kept + log_q, math.log(self.ratio) + log_s))


FINITE = (
    RandomizedResponse,
    DiscreteLaplaceRelease,
    DiscreteGaussianRelease,
    PoissonSubsampledLaplace,
    GaussianMixtureRelease,
)
_Finite = (
    RandomizedResponse
    | DiscreteLaplaceRelease
    | DiscreteGaussianRelease
    | PoissonSubsampledLaplace
    | GaussianMixtureRelease
)


def finite_pair(part: _Finite, *, upper: bool = True) -> DominatingPair | None:
    """Return the pair of such a release, above or below; None if nothing is revealed."""
    match part:
        case RandomizedResponse(truth=truth, categories=categories):
            ends = pure_epsilon(part), pure_epsilon(part)
            return BoundedRatioPair(ResponseRatios(truth, categories, upper), ends=ends)
        case DiscreteLaplaceRelease(sensitivity=shift, noise_scale=scale) if shift:
            most = rounding.quotient_up(float(shift), scale)
            source = DiscreteLaplaceRatios(shift, scale, upper)
            return BoundedRatioPair(source, ends=(most, most))
        case DiscreteGaussianRelease(sensitivity=shift, noise_scale=scale) if shift:
            return RatioPair(DiscreteGaussianRatios(shift, scale, upper))
        case PoissonSubsampledLaplace() if part.sensitivity:
            return _build_sampled_laplace_pair(part, upper)
        case GaussianMixtureRelease() if max(part.sensitivities) > 0:
            return _build_gaussian_mixture_pair(part, upper)
    return None


def _build_sampled_laplace_pair(part: PoissonSubsampledLaplace, upper: bool) -> DominatingPair:
    shift = rounding.quotient_up(part.sensitivity, part.noise_scale)
    if not shift <= _MOST_LAPLACE:
        expected = f"at most {_MOST_LAPLACE:g}"
        raise InvalidArgument("sensitivity / noise_scale", shift, expected)
    source = SampledLaplaceRatios(part.sampling_ratio, shift, upper)
    lost = rounding.bound_above(-float(source._level(np.array(-shift))), shift)
    return BoundedRatioPair(source, ends=(pure_epsilon(part), lost))


def _build_gaussian_mixture_pair(part: GaussianMixtureRelease, upper: bool) -> DominatingPair:
    shifts = (rounding.quotient_up(s, part.noise_scale) for s in part.sensitivities)
    # A component of probability 0 would have a logarithm of minus infinity, and stretch the range
    # of outputs.
    there = [(p, m) for p, m in zip(part.probabilities, shifts, strict=True) if p]
    mixture = Mixture(tuple(p for p, _ in there), tuple(m for _, m in there))
    return RatioPair(MixturePair(mixture, upper=upper))
