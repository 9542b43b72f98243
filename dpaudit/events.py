"""Events: what was released, as mathematics and public parameters, without data.

An accountant turns an event into a guarantee. An event it has no theorem for is refused.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees import GaussianDP


@dataclass(frozen=True, kw_only=True)
class GaussianRelease:
    """``count`` adaptive releases, each with Gaussian noise on a query of bounded L2 sensitivity.

    Parameters
    ----------
    sensitivity
        L2 sensitivity of each query, given the releases before it.
    noise_scale
        Standard deviation of each coordinate of the noise, in the unit of the sensitivity.
    count
        How many such releases.
    """

    sensitivity: float
    noise_scale: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("sensitivity", self.sensitivity)
        check.positive("noise_scale", self.noise_scale)
        check.integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class PoissonSubsampledGaussian:
    """``count`` adaptive releases of a sum over a Poisson sample of records, with Gaussian noise.

    Each time, each record enters the sample independently; its term has L2 norm at most 1. Removing
    a record moves the sum by at most 1, replacing it by at most 2.

    Parameters
    ----------
    sampling_ratio
        Probability with which a record enters a sample.
    noise_multiplier
        Standard deviation of each coordinate of the noise, in the unit of a term's largest norm.
    count
        How many such releases.
    """

    sampling_ratio: float
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        if check.positive("sampling_ratio", self.sampling_ratio) > 1:
            raise InvalidArgument("sampling_ratio", self.sampling_ratio, "a number in (0, 1]")
        check.positive("noise_multiplier", self.noise_multiplier)
        check.integer("count", self.count, least=0)


@dataclass(frozen=True)
class Sequence:
    """Events one after the other; each may depend on the outputs before it."""

    events: tuple[Event, ...]


Event = GaussianRelease | PoissonSubsampledGaussian | Sequence


def gaussian_guarantee(event: Event) -> GaussianDP:
    """Return the exact guarantee of a sequence of Gaussian releases.

    The squares of ``sensitivity / noise_scale`` add up (Dong, Roth & Su 2022, Corollary 2), also
    when each release is chosen from the ones before.

    Raises
    ------
    UnsupportedEvent
        Some part is not a Gaussian release.

    Examples
    --------
    >>> release = GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=25)
    >>> gaussian_guarantee(Sequence((release,)))
    GaussianDP(mu=1.0)
    """
    return GaussianDP(math.sqrt(_squares(event)))


def _squares(event: object) -> float:
    match event:
        case GaussianRelease():
            ratio = event.sensitivity / event.noise_scale
            return event.count * ratio * ratio  # a power would overflow with an error of its own
        case Sequence():
            return math.fsum(_squares(part) for part in event.events)
        case _:
            raise UnsupportedEvent(
                f"event: got {type(event).__name__}, expected Gaussian releases: "
                "no theorem here covers anything else"
            )
