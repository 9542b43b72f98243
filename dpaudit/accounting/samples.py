r"""Releases that might be of one sample, where nobody says whether they are.

A sum and a count of one Poisson sample are written as two releases, and so are two that each draw a
sample of their own. The one case is not always worse than the other: without noise two samples of
their own hold a record with probability ``1 - (1 - q)^2``, one sample with q. So the answer is the
worse of both at every delta: of each sampler the first n releases of either are of one sample, as
long as there are two, and beside that all as they are.

One Gaussian and one Laplace release of a Poisson sample have no closed form together. Pure DP of
epsilon e is Gaussian DP of ``mu = 2 Phi^{-1}(e^e / (1 + e^e))``, as the trade-off curve of that is
convex and meets the corner of pure DP (Dong, Roth & Su 2022, Section 2): the Laplace release is
made of a Gaussian one, whatever else is released of the sample. That bounds from above alone.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from scipy.special import expit, ndtri

import dpaudit._check as check
from dpaudit.accounting.events import (
    Event,
    Parallel,
    PoissonSubsampledGaussian,
    PoissonSubsampledLaplace,
    Release,
    Sequence,
)
from dpaudit.accounting.sharing import SAMPLED, get_alternatives, one_sample, sampler_of
from dpaudit.guarantees import rounding

SAMPLES = ("independent",)
"""What may be said of samples: that every release draws its own."""
_FAR = 700.0  # of an epsilon, above which a double has no room for its exponential


@dataclass(frozen=True)
class SampleRelease:
    """A release as it was written.

    Parameters
    ----------
    release
        The release, and how often it is made, each time of a sample of its own.
    said
        Whether what it shares was said: then it shares a sample with those alone that say nothing.
    """

    release: Release
    said: bool = False


Way = tuple[SampleRelease, ...]


@dataclass(frozen=True)
class JointEvent:
    """The joint event of releases if those of one sampler use one sample.

    Parameters
    ----------
    event
        Of all of them.
    exact
        Whether it is what they lose, and not more.
    """

    event: Event
    exact: bool


def ways_of(event: Event) -> tuple[Way, ...]:
    """Return the releases of an event that are about any given record, each as it was written."""
    match event:
        case Sequence(events=events):
            return join_ways(ways_of(one) for one in events)
        case Parallel(events=events, count=count):
            return tuple(repeat_way(way, count) for one in events for way in ways_of(one))
    return ((SampleRelease(event),),) if isinstance(event, Release) else ((),)


def join_ways(parts: Iterable[tuple[Way, ...]]) -> tuple[Way, ...]:
    """Return the ways of a sequence whose parts have these."""
    # A part without any way reveals nothing. In the product it would leave no combination at all,
    # and hide what the others reveal.
    chosen = itertools.product(*(ways for ways in parts if ways))
    return tuple(tuple(itertools.chain(*ways)) for ways in chosen)


def repeat_way(way: Way, count: int) -> Way:
    """Return the releases of a way so many times over."""
    return tuple(
        replace(one, release=replace(one.release, count=one.release.count * count)) for one in way
    )


def worse_reading(event: Event, samples: str | None = None) -> Event:
    """Return the worse of two readings of an event, or the event if there is one alone.

    Parameters
    ----------
    event
        Of which releases of one sampler might be of one sample.
    samples
        ``independent`` says that every release draws a sample of its own.

    Raises
    ------
    InvalidArgument
        Something else is said.

    Examples
    --------
    >>> one = PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=2.0, count=5)
    >>> worse_reading(Sequence((one, one))).events[0].noise_multiplier
    1.4142135623730945
    >>> worse_reading(one) == one
    True
    """
    if samples is not None:
        check.require_choice("samples", samples, SAMPLES)
        return event
    # Asked for its refusal alone, of events with too many combinations: they are counted before
    # they are built.
    get_alternatives(event)
    shared = if_shared(ways_of(event))
    return event if shared is None else make_parallel_readings(shared.event, event)


def make_parallel_readings(*readings: Event) -> Event:
    """Return an event that loses as much as the worst of its readings, at every delta."""
    return Parallel(readings)


def if_shared(ways: Iterable[Way]) -> JointEvent | None:
    """Return the event if releases of one sampler use one sample; None if none can."""
    found = [(way, _of_way(way)) for way in ways]
    if all(shared is None for _, shared in found):
        return None
    events = [
        _to_separate_releases(way) if shared is None else shared.event for way, shared in found
    ]
    exact = all(shared is None or shared.exact for _, shared in found)
    return JointEvent(events[0] if len(events) == 1 else Parallel(tuple(events)), exact)


def _to_separate_releases(way: Way) -> Event:
    return Sequence(tuple(one.release for one in way))


def _of_way(way: Way) -> JointEvent | None:
    groups = defaultdict[Hashable, list[SampleRelease]](list)
    for draw in way:
        if draw.release.count:
            groups[_get_sampling_key(draw.release)].append(draw)
    if not any(_might_share(key, group) for key, group in groups.items()):
        return None
    parts, exact = list[Release](), True
    for key, group in groups.items():
        released = [draw.release for draw in group]
        if not _might_share(key, group):
            parts += released
            continue
        alike = len({type(one) for one in released}) == 1
        parts += _split_into_layers(released if alike else [_as_gaussian(one) for one in released])
        # A Laplace release taken for a Gaussian one loses more than it does, so that the whole is
        # an upper bound and no lower one.
        exact = exact and alike
    return JointEvent(parts[0] if len(parts) == 1 else Sequence(tuple(parts)), exact)


def _get_sampling_key(release: Release) -> Hashable:
    """Return the key that releases of one sample share; None for one that draws no sample."""
    if isinstance(release, PoissonSubsampledGaussian | PoissonSubsampledLaplace):
        return "poisson", release.sampling_ratio
    return sampler_of(release) if isinstance(release, SAMPLED) else None


def _might_share(key: Hashable, group: list[SampleRelease]) -> bool:
    return key is not None and len(group) > 1 and not all(draw.said for draw in group)


def _split_into_layers(parts: list[Release]) -> list[Release]:
    """Return releases of one sample each round, as long as there are any."""
    found, done = list[Release](), 0
    for count in sorted({part.count for part in parts}):
        each = Counter(replace(part, count=1) for part in parts if part.count >= count)
        found.append(one_sample([replace(p, count=n) for p, n in each.items()], count - done))
        done = count
    return found


def _as_gaussian(release: Release) -> Release:
    """Return a Gaussian release of the same sample that a Laplace one is made of."""
    if not isinstance(release, PoissonSubsampledLaplace):
        return release
    epsilon = rounding.quotient_up(release.sensitivity, release.noise_scale)
    mu = -2 * float(ndtri(expit(-epsilon))) if epsilon < _FAR else 2 * math.sqrt(2 * epsilon)
    return PoissonSubsampledGaussian(
        sampling_ratio=release.sampling_ratio,
        # The quantile is good to some units in the last place, for which mu gives way upwards. The
        # last term keeps an epsilon of 0 from dividing by 0.
        noise_multiplier=1 / (mu * (1 + 1e-12) + 1e-15),
        count=release.count,
    )
