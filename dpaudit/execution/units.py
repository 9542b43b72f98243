"""Units of work: so many trials with a seed of their own, and how many make one.

A unit is what one call of a mechanism draws: the unit of seed, of the arrays' leading axis, and of
what an interruption loses. The plan fixes it, and the report says what it was, so that one seed
gives one result whoever computes which unit and when.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, SeedSequence

import dpaudit._check as check

# What a unit's outputs may take; what a step needs besides is of the same order.
_BYTES = 64 * 2**20
# A stage has about so many units, as they are dealt to processes and compared with one another...
_UNITS = 128
# Trials of a unit: below the least a call costs more than its trials.
_LEAST = 256
_MOST = 2**17
# Where units are compared.
_SEVERAL = 16  # units of a short stage
_FEWEST = 8  # trials of each at least
# ... and fewer where a call has a price of its own: no fewer than a drawer asks for.
_COMPARED = 8
# Trials of such a unit from which on it is no power of two: the program is idle between calls, and
# a power of two may ask it nearly twice as often.
_LARGE = 2**13
# Seconds that a unit may take by the rate that was seen: half of what it may lose.
_SECONDS = 1.0


@dataclass(frozen=True)
class Stage:
    """The purpose of units.

    Parameters
    ----------
    key
        What their results are kept under. Seeds have keys of their own: see `stream`.
    label
        What progress shows; the key unless another is given. No number depends on it.
    certifies
        Whether nothing that is drawn later depends on the results, so that units can be shared
        out.
    measures
        Whether seconds are among the results, which no seed decides.

    Examples
    --------
    >>> Stage("certifying (dataset)", certifies=True).shown
    'certifying (dataset)'
    """

    key: str
    label: str | None = None
    certifies: bool = False
    measures: bool = False

    @property
    def shown(self) -> str:
        """The label, or the key."""
        return self.key if self.label is None else self.label


def stage_of(given: Stage | str) -> Stage:
    """Return a stage; a key alone is one that certifies nothing."""
    return given if isinstance(given, Stage) else Stage(given)


@dataclass(frozen=True)
class Unit:
    """``trials`` trials that share one random stream; of which of several kinds, if there are.

    Examples
    --------
    >>> Unit(3, np.random.SeedSequence(7)).generator().random(3).shape
    (3,)
    """

    trials: int
    seed: SeedSequence
    which: int = 0

    def generator(self) -> Generator:
        """Return the unit's own stream, the same at every call."""
        return np.random.default_rng(self.seed)


def plan_units(trials: int, size: int, seed: SeedSequence, which: int = 0) -> list[Unit]:
    """Return ``trials`` trials cut into units, each with a seed spawned from ``seed``."""
    check.require_integer("trials", trials, least=1)
    check.require_integer("unit", size, least=1)
    sizes = [size] * (trials // size) + ([trials % size] if trials % size else [])
    # Spawned by hand, so that planning twice from one sequence gives the same seeds twice.
    keys = [(*seed.spawn_key, i) for i in range(len(sizes))]
    return [
        Unit(size, SeedSequence(seed.entropy, spawn_key=key), which)
        for size, key in zip(sizes, keys, strict=True)
    ]


def unit_size(
    trials: int,
    bytes_per_trial: int,
    seconds_per_trial: float = 0.0,
    *,
    several: bool = False,
    coarse: bool = False,
) -> int:
    """Return how many trials make a unit: a power of two, but for large coarse ones.

    Parameters
    ----------
    trials
        Of the longest stage. It has about a hundred units, where they are at least 256 trials.
    bytes_per_trial
        Of an output: a unit's stay in bounds.
    seconds_per_trial
        As seen: a unit takes about a second at most. Faster ones do not depend on it.
    several
        Whether short stages have several units too, to be dealt to processes and compared.
    coarse
        Whether a call has a price of its own, as a question to another program has: a stage has
        only as many units as it takes to compare them.

    Examples
    --------
    >>> unit_size(10_000, 8), unit_size(10**7, 8), unit_size(10**6, 2**20)
    (256, 65536, 64)
    >>> unit_size(10_000, 8, seconds_per_trial=0.05), unit_size(100_000, 8, coarse=True)
    (16, 12500)
    """
    fitting = max(1, _BYTES // max(bytes_per_trial, 1))
    in_time = max(1, int(_SECONDS / seconds_per_trial)) if seconds_per_trial > 0 else _MOST
    spread = max(_LEAST, trials // (_COMPARED if coarse else _UNITS))
    if several:
        spread = min(spread, max(_FEWEST, trials // (_COMPARED if coarse else _SEVERAL)))
    most = min(fitting, in_time, spread, _MOST)
    return most if coarse and most == spread >= _LARGE else _power_of_two(most)


def _power_of_two(most: int) -> int:
    return 1 << (most.bit_length() - 1)


def stream(seed: int, *names: str) -> SeedSequence:
    """Return the seed sequence of a named purpose: the same name, the same stream.

    Examples
    --------
    >>> stream(1, "pilot").spawn_key == stream(1, "certify").spawn_key
    False
    """
    check.require_integer("seed", seed, least=0)
    # The built-in hash of a text is another one in every process.
    key = tuple(zlib.crc32(name.encode()) for name in names)
    return SeedSequence(seed, spawn_key=key)
