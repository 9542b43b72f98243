"""Events: releases as mathematics and public parameters, without data.

An accountant turns an event into a guarantee. An event it has no theorem for is refused.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import dpaudit._check as check
from dpaudit.accounting.discrete_events import (
    DiscreteGaussianRelease,
    DiscreteLaplaceRelease,
    GaussianMixtureRelease,
    RandomizedResponse,
)
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees import rounding


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
        The number of such releases.
    """

    sensitivity: float
    noise_scale: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("sensitivity", self.sensitivity)
        check.require_positive("noise_scale", self.noise_scale)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class LaplaceRelease:
    """``count`` adaptive releases, each with Laplace noise on a query of bounded L1 sensitivity.

    Parameters
    ----------
    sensitivity
        L1 sensitivity of each query, given the releases before it.
    noise_scale
        ``b`` of the density ``exp(-|e| / b) / (2 b)`` of each coordinate of the noise.
    count
        The number of such releases.
    """

    sensitivity: float
    noise_scale: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("sensitivity", self.sensitivity)
        check.require_positive("noise_scale", self.noise_scale)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class ExponentialNormRelease:
    """``count`` adaptive releases with noise of density proportional to ``exp(-rate ||e||_2)``.

    Parameters
    ----------
    sensitivity
        L2 sensitivity of each query, given the releases before it.
    noise_rate
        ``alpha``: the larger, the less noise.
    dimension
        The dimension of the query.
    count
        The number of such releases.
    """

    sensitivity: float
    noise_rate: float
    dimension: int
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("sensitivity", self.sensitivity)
        check.require_positive("noise_rate", self.noise_rate)
        check.require_integer("dimension", self.dimension, least=1)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class ObjectivePerturbation:
    """``count`` adaptive minimisers of objectives with exponential-norm noise in the linear term.

    One record of a generalised linear model is replaced. Given the output, that moves the noise
    behind it by ``p u + q w``: u and w are the two records, of norm at most 1, and p and q have
    fixed signs and are at most half the sensitivity. See
    `dpaudit.accounting.pairs.exponential_norm`.

    Parameters
    ----------
    sensitivity
        Bound on ``||p u + q w||``, twice the bound on ``|p|`` and ``|q|``.
    noise_rate, dimension
        The rate and dimension of the noise, like those of `ExponentialNormRelease`.
    log_determinant
        Bound on the absolute log-ratio of the two changes of variables from output to noise.
    count
        The number of such minimisers.
    """

    sensitivity: float
    noise_rate: float
    dimension: int
    log_determinant: float = 0.0
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("sensitivity", self.sensitivity)
        check.require_positive("noise_rate", self.noise_rate)
        check.require_integer("dimension", self.dimension, least=1)
        check.non_negative("log_determinant", self.log_determinant)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class ApproximateRelease:
    """``count`` adaptive releases of which only (epsilon, delta)-DP is known.

    Randomised response that tells the truth with odds ``exp(epsilon)`` attains it at delta = 0.
    """

    epsilon: float
    delta: float = 0.0
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("epsilon", self.epsilon)
        check.require_delta("delta", self.delta)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class ZeroConcentratedRelease:
    """``count`` adaptive releases of which only rho-zero-concentrated DP is known."""

    rho: float
    count: int = 1

    def __post_init__(self) -> None:
        check.non_negative("rho", self.rho)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class PoissonSubsampledGaussian:
    """``count`` adaptive releases of a sum over a Poisson sample of records, with Gaussian noise.

    Each time, each record enters the sample independently; its term has L2 norm at most 1. What
    accountants answer is for adding or removing a record, which moves the sum by at most 1;
    replacing one is a removal and an addition (`dpaudit.guarantees.kinds.Guarantee.group`).

    Parameters
    ----------
    sampling_ratio
        Probability with which a record enters a sample.
    noise_multiplier
        Standard deviation of each coordinate of the noise, in the unit of a term's largest norm.
    count
        The number of such releases.
    """

    sampling_ratio: float
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        if check.require_positive("sampling_ratio", self.sampling_ratio) > 1:
            raise InvalidArgument("sampling_ratio", self.sampling_ratio, "a number in (0, 1]")
        check.require_positive("noise_multiplier", self.noise_multiplier)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class PoissonSubsampledLaplace:
    """``count`` adaptive releases of a sum over a Poisson sample of records, with Laplace noise.

    What accountants answer is for adding or removing a record, as of `PoissonSubsampledGaussian`.

    Parameters
    ----------
    sampling_ratio
        Probability with which a record enters a sample.
    sensitivity
        The largest L1 norm of a record's term.
    noise_scale
        ``b`` of the density ``exp(-|e| / b) / (2 b)`` of each coordinate of the noise.
    count
        The number of such releases.
    """

    sampling_ratio: float
    sensitivity: float = 1.0
    noise_scale: float = 1.0
    count: int = 1

    def __post_init__(self) -> None:
        if check.require_positive("sampling_ratio", self.sampling_ratio) > 1:
            raise InvalidArgument("sampling_ratio", self.sampling_ratio, "a number in (0, 1]")
        check.non_negative("sensitivity", self.sensitivity)
        check.require_positive("noise_scale", self.noise_scale)
        check.require_integer("count", self.count, least=0)


ADD_REMOVE = "add-remove-record"
REPLACE = "replace-record"
ZERO_OUT = "zero-out-record"
RELATIONS = (ADD_REMOVE, REPLACE, ZERO_OUT)
"""One record added or removed; replaced; replaced by one whose term is 0."""


# In the unit of a term's largest norm. At 0.05 one release has a mu of 20, and at 1e6 a loss of
# about 1e-6.
_LEAST_NOISE = 0.05
_MOST_NOISE = 1e6


def _ordinary_noise(noise: float) -> None:
    """Refuse a noise multiplier so small or so large that nobody would use it."""
    if not _LEAST_NOISE <= check.require_positive("noise_multiplier", noise) <= _MOST_NOISE:
        expected = f"a number from {_LEAST_NOISE:g} to {_MOST_NOISE:g}"
        raise InvalidArgument("noise_multiplier", noise, expected)


@dataclass(frozen=True, kw_only=True)
class BatchedGaussian:
    """``count`` adaptive releases of a sum over a fresh random batch of records, with noise.

    Each record's term has L2 norm at most 1; batches are independent of each other.

    Parameters
    ----------
    records, batch_size
        The number of records of the larger of two neighbouring datasets, and the number of records
        in a batch (the average number in a Poisson sample). Both are public.
    noise_multiplier
        Standard deviation of each coordinate of the noise, in the unit of a term's largest norm.
    sampling
        ``poisson``: each record by itself; ``fixed``: a uniform subset of that size;
        ``fixed-replacement``: that many draws of a record, with replacement.
    relation
        The difference of neighbours: ``add-remove-record``, ``replace-record``, or
        ``zero-out-record``, which puts a record with the term 0 in the place of another.
    count
        The number of such releases.
    """

    records: int
    batch_size: int
    noise_multiplier: float
    sampling: str = "poisson"
    relation: str = ADD_REMOVE
    count: int = 1

    def __post_init__(self) -> None:
        check.require_integer("records", self.records, least=1)
        if check.require_integer("batch_size", self.batch_size, least=1) > self.records:
            expected = f"at most the number of records, {self.records}"
            raise InvalidArgument("batch_size", self.batch_size, expected)
        _ordinary_noise(self.noise_multiplier)
        check.require_choice("sampling", self.sampling, ("poisson", "fixed", "fixed-replacement"))
        check.require_choice("relation", self.relation, RELATIONS)
        check.require_integer("count", self.count, least=0)

    @property
    def ratio(self) -> float:
        """Share of the records in a batch, rounded up."""
        # The loss grows with the share, so that a quotient rounded to the nearest might claim too
        # little.
        return rounding.up(Fraction(self.batch_size, self.records))


@dataclass(frozen=True, kw_only=True)
class AllocatedGaussian:
    """``count`` epochs in each of which every record picks one batch at random: balls and bins.

    An epoch releases the sum of each of its batches, one after the other, with Gaussian noise; a
    record's terms have L2 norm at most 1 and may depend on what was released before. What
    accountants answer is for adding, removing or zeroing a record.

    Parameters
    ----------
    batches
        The number of batches of an epoch.
    noise_multiplier
        Standard deviation of each coordinate of the noise, in the unit of a term's largest norm.
    count
        The number of epochs, each with a fresh allocation.
    """

    batches: int
    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        check.require_integer("batches", self.batches, least=1)
        _ordinary_noise(self.noise_multiplier)
        check.require_integer("count", self.count, least=0)


@dataclass(frozen=True, kw_only=True)
class ShuffledGaussian:
    """``count`` epochs that go through the records in a random order, batch by batch, with noise.

    No theorem says what shuffling gains. Upper ends are those without any gain: a record is in one
    batch of an epoch. Lower ends are what some neighbours certainly lose.

    Parameters
    ----------
    batches
        The number of batches of an epoch, all of one size.
    noise_multiplier
        Standard deviation of each coordinate of the noise, in the unit of a term's largest norm.
    relation
        ``zero-out-record`` or ``replace-record``. An added or removed record would change the sizes
        of batches.
    count
        The number of epochs, each in a fresh order.
    """

    batches: int
    noise_multiplier: float
    relation: str = ZERO_OUT
    count: int = 1

    def __post_init__(self) -> None:
        check.require_integer("batches", self.batches, least=1)
        _ordinary_noise(self.noise_multiplier)
        check.require_choice("relation", self.relation, (ZERO_OUT, REPLACE))
        check.require_integer("count", self.count, least=0)

    @property
    def sensitivity(self) -> float:
        """L2 norm by which an epoch's sums differ between neighbours: all of it in one batch."""
        # Both records are in the same batch, one instead of the other: their two terms may point in
        # opposite directions.
        return 2.0 if self.relation == REPLACE else 1.0


SELECTIONS = ("geometric", "logarithmic", "poisson")


@dataclass(frozen=True, kw_only=True)
class PrivateSelection:
    """The best of a random number of runs of one mechanism, and nothing of the others.

    What is best is decided by the runs' outputs alone. How many runs there are is drawn first, and
    is not released.

    Parameters
    ----------
    base
        The event of one run.
    runs
        The average number of runs.
    law
        The law of the number of runs: ``geometric``; ``logarithmic``, the negative binomial law
        whose shape is 0; both have at least one run, and an average above 1; or ``poisson``, which
        may have none.
    count
        The number of such selections.
    """

    base: Event
    runs: float
    law: str = "geometric"
    count: int = 1

    def __post_init__(self) -> None:
        check.require_choice("law", self.law, SELECTIONS)
        # Geometric and logarithmic laws begin at one run, so that an average of 1 is no law but a
        # constant.
        if check.require_positive("runs", self.runs) <= 1 and self.law != "poisson":
            raise InvalidArgument("runs", self.runs, f"above 1 on average where {self.law}")
        check.require_integer("count", self.count, least=0)


Release = (
    GaussianRelease
    | LaplaceRelease
    | ExponentialNormRelease
    | ObjectivePerturbation
    | ApproximateRelease
    | ZeroConcentratedRelease
    | PoissonSubsampledGaussian
    | PoissonSubsampledLaplace
    | BatchedGaussian
    | AllocatedGaussian
    | ShuffledGaussian
    | RandomizedResponse
    | DiscreteLaplaceRelease
    | DiscreteGaussianRelease
    | GaussianMixtureRelease
    | PrivateSelection
)


@dataclass(frozen=True)
class Sequence:
    """Events one after the other; each may depend on the outputs before it."""

    events: tuple[Event, ...]


@dataclass(frozen=True)
class Parallel:
    """Events about disjoint parts of the data, ``count`` times: a record is in one part, always.

    What accountants answer is for neighbours whose differing record is in the same part of both:
    one that moves from one part to another is in two.

    Parameters
    ----------
    events
        The events, one for each part.
    count
        The number of repetitions.
    """

    events: tuple[Event, ...]
    count: int = 1

    def __post_init__(self) -> None:
        check.require_integer("count", self.count, least=0)


Event = Release | Sequence | Parallel


def get_releases(event: Event) -> tuple[Release, ...]:
    """Return the releases of an event, equal ones counted together, in order of appearance.

    Examples
    --------
    >>> one = GaussianRelease(sensitivity=1.0, noise_scale=5.0)
    >>> get_releases(Sequence((one, Sequence((one, one)))))
    (GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=3),)

    Raises
    ------
    UnsupportedEvent
        A part is not an event.
    """
    # Equal releases are one law with a count, which is convolved once by a power of its transform.
    # A counter keeps the order in which keys came, so that answers do not depend on hashes.
    counts: Counter[Release] = Counter()
    stack: list[object] = [event]
    while stack:
        part = stack.pop()
        if isinstance(part, Sequence):
            # The stack is taken from its end: reversed, releases come out in the order in which
            # they were written. Sequences may be nested deeper than Python recurses.
            stack.extend(reversed(part.events))
        elif isinstance(part, Release):
            counts[replace(part, count=1)] += part.count
        else:
            raise UnsupportedEvent(f"event: got {type(part).__name__}, expected an event")
    return tuple(replace(part, count=n) for part, n in counts.items() if n)


def repeat_event(event: Event, count: int) -> Event:
    """Return the event ``count`` times over.

    Examples
    --------
    >>> repeat_event(GaussianRelease(sensitivity=1.0, noise_scale=5.0, count=2), 3).count
    6
    """
    check.require_integer("count", count, least=0)
    if isinstance(event, Parallel):
        return replace(event, count=event.count * count)
    # Parts that are sequences or parallel keep their structure: `get_releases` would refuse what is
    # parallel.
    if isinstance(event, Sequence) and not all(isinstance(one, Release) for one in event.events):
        return Sequence(tuple(repeat_event(one, count) for one in event.events))
    parts = tuple(replace(part, count=part.count * count) for part in get_releases(event))
    return parts[0] if len(parts) == 1 else Sequence(parts)
