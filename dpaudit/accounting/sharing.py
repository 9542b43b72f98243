r"""Shared parts of releases: one sample, one budget of contributions, or nothing but the algorithm.

**One sample.** Let a record's terms in releases of one and the same batch have norms of at most 1,
in the units of their clipping, and noise z_1, z_2, ...: given who is in the batch these are
adaptive Gaussian releases of ``mu^2 = sum 1 / z_i^2`` together, and so a function of one Gaussian
release of that mu, the same function whoever is in the batch (a Gaussian release is cut into
independent ones whose squares add up). So all of them are one release with the noise ``(sum 1 /
z_i^2)^(-1/2)`` on the batch, whichever sampler made it. Each with a batch of its own they would
lose less.

Several Laplace releases of one Poisson sample are likewise one, whose ``sensitivity / scale`` is
the sum, if no query is chosen in the light of the others' answers: between two fixed vectors all
of the shift in one coordinate is the worst (`dpaudit.accounting.pairs.closed_forms.LaplacePair`),
and a sample's two divergences are those of its noise at other levels.

**One budget.** Contributions of a record to all releases together have the L1 norm S at most,
those to one release its own bound. With Laplace noise the loss is at most ``sum |v_i| / b_i``,
which is largest where the least noise is met first: pure DP, also if the split depends on what was
released before. With Gaussian noise and the L2 norm, so is ``mu^2 = sum |v_i|^2 / sigma_i^2``.

**Disjoint data.** Of releases about parts of the data a record is in one of, one alone is about
it: the worst of them counts (McSherry 2009, Theorem 4). Which part that is must not differ between
neighbours.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction

import dpaudit._check as check
from dpaudit.accounting.events import (
    AllocatedGaussian,
    ApproximateRelease,
    BatchedGaussian,
    Event,
    GaussianRelease,
    LaplaceRelease,
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Release,
    Sequence,
    ShuffledGaussian,
    get_releases,
    repeat_event,
)
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.guarantees import rounding

SAMPLED = (
    PoissonSubsampledGaussian,
    BatchedGaussian,
    AllocatedGaussian,
    ShuffledGaussian,
    PoissonSubsampledLaplace,
)
_Noisy = PoissonSubsampledGaussian | BatchedGaussian | AllocatedGaussian | ShuffledGaussian
NORMS = ("l1", "l2")
_MOST_ALTERNATIVES = 256


def one_sample(parts: Iterable[Release], count: int = 1) -> Release:
    """Return the release that several releases of one and the same sample are together.

    Parameters
    ----------
    parts
        Releases of one sampler with the same parameters but for the noise, at least one. The count
        of each says how many such releases there are of the same sample.
    count
        The number of rounds, each with a sample of its own.

    Raises
    ------
    InvalidArgument
        ``parts`` is empty, or a release has no sample or another sample than the rest.

    Examples
    --------
    >>> half = PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=2.0, count=4)
    >>> one_sample([half], 1000)
    PoissonSubsampledGaussian(sampling_ratio=0.01, noise_multiplier=1.0, count=1000)
    """
    parts = tuple(part for part in parts if part.count)
    check.require_integer("count", count, least=0)
    for part in parts:
        if not isinstance(part, SAMPLED):
            expected = "releases of a sample: a round holds no others"
            raise InvalidArgument("release", VerbatimText(type(part).__name__), expected)
    # Samplers with other parameters draw other samples: their releases are not of one batch,
    # whatever the caller says.
    if not parts or len({sampler_of(part) for part in parts}) > 1:
        given = VerbatimText(", ".join(str(sampler_of(part)) for part in parts) or "no release")
        raise InvalidArgument("release", given, "releases of one and the same sample")
    laplace = [part for part in parts if isinstance(part, PoissonSubsampledLaplace)]
    if laplace:
        return _one_laplace(laplace, count)
    noisy = [part for part in parts if isinstance(part, _Noisy)]
    noise = _joint_noise([(part.count, part.noise_multiplier) for part in noisy])
    return replace(noisy[0], noise_multiplier=noise, count=count)


def sampler_of(part: Release) -> Release:
    """Return a sampled release with the noise of all others, so that samplers are compared."""
    if isinstance(part, PoissonSubsampledLaplace):
        return replace(part, sensitivity=1.0, noise_scale=1.0, count=1)
    return replace(part, noise_multiplier=1.0, count=1) if isinstance(part, _Noisy) else part


def _joint_noise(noises: list[tuple[int, float]]) -> float:
    """Return the noise multiplier of so many releases of each noise, rounded down."""
    if len(noises) == 1 and noises[0][0] == 1:
        return noises[0][1]
    # Less noise is more loss: every reading and rounding here goes down.
    squares = (count / rounding.to_smaller_fraction(noise) ** 2 for count, noise in noises)
    return rounding.root_down(1 / sum(squares, Fraction(0)))


def _one_laplace(parts: list[PoissonSubsampledLaplace], count: int) -> Release:
    shifts = ((p.count, rounding.quotient_up(p.sensitivity, p.noise_scale)) for p in parts)
    return replace(parts[0], sensitivity=rounding.sum_up(shifts), noise_scale=1.0, count=count)


def one_budget(norm: str, sensitivity: float, parts: Iterable[Release]) -> Release:
    """Return the joint release of releases to which a record contributes a bounded amount in all.

    Parameters
    ----------
    norm
        The norm: ``l1`` for Laplace releases, or ``l2`` for Gaussian ones.
    sensitivity
        The bound on that norm of a record's contributions to all of the releases together.
    parts
        The releases; the sensitivity of each bounds a record's contribution to that release alone.

    Raises
    ------
    InvalidArgument
        ``parts`` is empty, or the norm does not fit the noise of a release.

    Examples
    --------
    >>> window = LaplaceRelease(sensitivity=65536.0, noise_scale=6553.6, count=144)
    >>> one_budget("l1", 1048576.0, [window])
    ApproximateRelease(epsilon=160.0, delta=0.0, count=1)
    """
    check.require_choice("norm", norm, NORMS)
    check.non_negative("sensitivity", sensitivity)
    kind = LaplaceRelease if norm == "l1" else GaussianRelease
    held = [part for part in parts if isinstance(part, LaplaceRelease | GaussianRelease)]
    if not held or any(not isinstance(part, kind) for part in held) or len(held) < len([*parts]):
        expected = f"Laplace releases under l1, Gaussian ones under l2; here {norm}"
        raise InvalidArgument("release", VerbatimText("other releases, or none"), expected)
    if norm == "l1":
        meant, worst = (
            _compute_largest_power_sum(held, sensitivity, 1, worse) for worse in (False, True)
        )
        return ApproximateRelease(epsilon=rounding.up_from(meant, worst))
    squares = _compute_largest_power_sum(held, sensitivity, 2, True)
    return GaussianRelease(sensitivity=rounding.root_up(squares), noise_scale=1.0)


def _compute_largest_power_sum(
    parts: list[LaplaceRelease | GaussianRelease], budget: float, power: int, worse: bool
) -> Fraction:
    """Return the largest sum of ``(v / scale)^power``, the sum of ``v^power`` being bounded."""
    more: Callable[[float], Fraction] = (
        rounding.to_larger_fraction if worse else rounding.to_written_fraction
    )
    less: Callable[[float], Fraction] = (
        rounding.to_smaller_fraction if worse else rounding.to_written_fraction
    )
    left, spent = more(budget) ** power, Fraction(0)
    # Greedy by the least noise is the maximum of a linear function with one budget and a limit for
    # each part: contributions count most where the noise is least.
    for part in sorted(parts, key=lambda part: part.noise_scale):
        share = min(left, part.count * more(part.sensitivity) ** power)
        spent += share / less(part.noise_scale) ** power
        left -= share
    return spent


def get_alternatives(event: Event) -> tuple[Event, ...]:
    """Return the sequences of releases of which one is about any given record.

    Raises
    ------
    InvalidArgument
        There are more than 256: partitions whose every combination counts.

    Examples
    --------
    >>> one, two = (GaussianRelease(sensitivity=1.0, noise_scale=s) for s in (2.0, 3.0))
    >>> (
    ...     len(get_alternatives(Sequence((one, Parallel((one, two)))))),
    ...     get_alternatives(one) == (one,),
    ... )
    (2, True)
    """
    match event:
        case Parallel(events=events, count=count):
            ways = tuple(way for one in events for way in get_alternatives(one))
            return tuple(repeat_event(way, count) for way in ways) if count else ()
        case Sequence(events=events) if holds_parallel(event):
            # A part without alternatives reveals nothing; kept, it would make the product empty.
            each = [found for one in events if (found := get_alternatives(one))]
            number = math.prod(map(len, each))
            if number > _MOST_ALTERNATIVES:
                expected = f"at most {_MOST_ALTERNATIVES} combinations of groups"
                raise InvalidArgument("groups", number, expected)
            return tuple(Sequence(ways) for ways in itertools.product(*each))
    return (event,)


def holds_parallel(event: Event) -> bool:
    """Return whether parts of an event are about disjoint data."""
    if isinstance(event, Sequence):
        return any(holds_parallel(one) for one in event.events)
    return isinstance(event, Parallel)


def count_sampled_releases(event: Event) -> int:
    """Return how many kinds of release an event has that draw a sample, of any one record."""
    counts = (
        sum(isinstance(part, SAMPLED) for part in get_releases(one))
        for one in get_alternatives(event)
    )
    return max(counts, default=0)
