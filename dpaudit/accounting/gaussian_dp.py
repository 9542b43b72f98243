"""Exact composition of Gaussian releases."""

from __future__ import annotations

import math

from dpaudit.accounting.events import Event, GaussianRelease, releases
from dpaudit.errors import UnsupportedEvent
from dpaudit.guarantees.kinds import GaussianDP


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
    >>> gaussian_guarantee(release)
    GaussianDP(mu=1.0)
    """
    squares = []
    for part in releases(event):
        if not isinstance(part, GaussianRelease):
            raise UnsupportedEvent(
                f"event: got {type(part).__name__}, expected Gaussian releases: "
                "this theorem covers nothing else"
            )
        ratio = part.sensitivity / part.noise_scale
        squares.append(part.count * ratio * ratio)  # a power would overflow with its own error
    return GaussianDP(math.sqrt(math.fsum(squares)))
