"""From events to the pairs that dominate them."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache

from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    Release,
    Sequence,
    releases,
)
from dpaudit.accounting.gaussian_dp import gaussian_guarantee
from dpaudit.accounting.pairs.exponential_norm import pair_of
from dpaudit.accounting.pairs.known import GaussianPair, LaplacePair, RandomizedResponsePair
from dpaudit.accounting.pairs.objective import ObjectivePerturbationPair
from dpaudit.accounting.pairs.pair import DominatingPair
from dpaudit.accounting.pairs.subsampled import SubsampledGaussianPair
from dpaudit.errors import InvalidArgument, UnsupportedEvent

Counted = tuple[DominatingPair, int]


def dominating_pairs(event: Event) -> tuple[Counted, ...]:
    """Return pairs that dominate the event's releases, each with its count.

    Gaussian releases, also sampled ones with a ratio of 1, become one pair. What reveals nothing
    is left out.

    Raises
    ------
    UnsupportedEvent
        No pair is known for a release, such as one of which only zCDP is known.
    InvalidArgument
        Two parameters together pass what a number can hold.
    """
    gaussian, pairs = [], []
    for part in releases(event):
        whole = _whole_sample(part)
        if isinstance(whole, GaussianRelease):
            gaussian.append(whole)
        else:
            pairs.append((_pair(replace(part, count=1)), part.count))
    mu = gaussian_guarantee(Sequence(tuple(gaussian))).mu
    if mu > 0:
        pairs.insert(0, (GaussianPair(mu), 1))
    return tuple((pair, count) for pair, count in pairs if pair is not None)


def directions(pairs: tuple[Counted, ...]) -> tuple[tuple[Counted, ...], ...]:
    """Return the pairs, and the reversed ones where that makes a difference."""
    if all(pair.symmetric for pair, _ in pairs):
        return (pairs,)
    return pairs, tuple((pair.reversed(), count) for pair, count in pairs)


def trimmed(pairs: tuple[Counted, ...], tails: float) -> tuple[Counted, ...]:
    """Return pairs without tails whose P-probabilities add up to at most ``tails``."""
    share = tails / (2 * max(1, sum(count for _, count in pairs)))
    return tuple((pair.trimmed(share), count) for pair, count in pairs)


def trimmed_mass(pairs: tuple[Counted, ...]) -> float:
    """Return a bound on the P-probability that some tail was met."""
    return math.fsum(count * pair.trimmed_mass for pair, count in pairs)


def infinite_mass(pairs: tuple[Counted, ...]) -> float:
    """Return the P-probability of an infinite total loss."""
    if len(pairs) == 1 and pairs[0][1] == 1:
        return pairs[0][0].infinite_mass
    logs = math.fsum(count * math.log1p(-pair.infinite_mass) for pair, count in pairs)
    return abs(math.expm1(logs))


def _whole_sample(part: Release) -> Release:
    if isinstance(part, PoissonSubsampledGaussian) and part.sampling_ratio == 1:
        return GaussianRelease(sensitivity=1.0, noise_scale=part.noise_multiplier, count=part.count)
    return part


@lru_cache(maxsize=256)  # pairs keep what they worked out about themselves
def _pair(part: Release) -> DominatingPair | None:
    match part:
        case LaplaceRelease():
            shift = _finite("sensitivity / noise_scale", part.sensitivity / part.noise_scale)
            return LaplacePair(shift) if shift else None
        case ExponentialNormRelease():
            shift = _finite("sensitivity * noise_rate", part.sensitivity * part.noise_rate)
            return pair_of(shift, part.dimension) if shift else None
        case ObjectivePerturbation():
            return _objective(part)
        case ApproximateRelease():
            if part.epsilon == part.delta == 0:
                return None
            return RandomizedResponsePair(part.epsilon, part.delta)
        case PoissonSubsampledGaussian():
            return SubsampledGaussianPair(part.sampling_ratio, part.noise_multiplier)
        case _:
            raise UnsupportedEvent(
                f"event: got {type(part).__name__}, expected a release with a dominating pair: "
                "Renyi and zero-concentrated accounting may cover it"
            )


def _objective(part: ObjectivePerturbation) -> DominatingPair | None:
    shift = _finite("sensitivity * noise_rate", part.sensitivity * part.noise_rate)
    if shift:
        return ObjectivePerturbationPair(shift, part.dimension, part.log_determinant)
    return RandomizedResponsePair(part.log_determinant) if part.log_determinant else None


def _finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidArgument(name, value, "a finite number")
    return value
