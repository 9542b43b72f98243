r"""Mechanisms of finitely many outputs: randomised response, the truncated geometric, RAPPOR."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import ONE_ANSWER
from dpaudit.algorithms.known_answer.laws import FiniteLaw, log_ratio
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import REPLACE_RECORD, Pair


@dataclass(frozen=True, kw_only=True)
class RandomisedResponse:
    """A bit, told truthfully with probability ``e^epsilon / (1 + e^epsilon)``.

    Warner 1965. Both outputs have a loss of epsilon in size, so epsilon is exact.

    Parameters
    ----------
    epsilon
        What is claimed and true.

    Examples
    --------
    >>> law = RandomisedResponse(epsilon=np.log(3)).law(np.array([1.0]))
    >>> law.probabilities.round(12)
    array([0.25, 0.75])
    """

    epsilon: float = 1.0
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.require_positive("epsilon", self.epsilon)

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """The same."""
        return self.epsilon

    @property
    def event_epsilon(self) -> float:
        """The same, for both outputs."""
        return self.epsilon

    def pair(self) -> Pair[Array]:
        """Return the bits 1 and 0."""
        return Pair(np.array([1.0]), np.array([0.0]), REPLACE_RECORD)

    def law(self, dataset: Array) -> FiniteLaw:
        """Return the law of the output."""
        # In this form a large epsilon does not overflow.
        truth = 1 / (1 + math.exp(-self.epsilon))
        one = truth if dataset[0] else 1 - truth
        return FiniteLaw(np.array([0.0, 1.0]), np.array([1 - one, one]))

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return bits, shape ``(trials,)``."""
        lies = rng.random(trials) >= 1 / (1 + math.exp(-self.epsilon))
        return np.asarray(np.where(lies, 1 - dataset[0], dataset[0]), dtype=np.float64)

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        return log_ratio(self, outputs)


@dataclass(frozen=True, kw_only=True)
class TruncatedGeometric:
    """A count plus two-sided geometric noise, cut to the range of counts.

    Ghosh, Roughgarden & Sundararajan 2012: noise z with probability proportional to
    ``e^(-epsilon |z|)``, results below 0 reported as 0 and above the number of records as that. The
    cut is post-processing, so epsilon holds, and every output outside the open gap between two
    neighbouring counts attains it. GeoSample of Balcer & Vadhan 2018 with parameter k has this law,
    at epsilon ``log(1 + 2^-k)``.

    Parameters
    ----------
    epsilon
        What is claimed and true.
    records
        The largest count.

    Examples
    --------
    >>> law = TruncatedGeometric(epsilon=np.log(2), records=2).law(np.array([0.0]))
    >>> law.probabilities.round(12) * 12
    array([8., 2., 2.])
    """

    epsilon: float = 1.0
    records: int = 5
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.require_positive("epsilon", self.epsilon)
        check.require_integer("records", self.records, least=1)

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        return self.epsilon

    @property
    def true_epsilon(self) -> float:
        """The same."""
        return self.epsilon

    @property
    def event_epsilon(self) -> float:
        """The same, for each output."""
        return self.epsilon

    def pair(self) -> Pair[Array]:
        """Return two counts in the middle."""
        middle = self.records // 2
        return Pair(np.array([float(middle)]), np.array([middle + 1.0]), ONE_ANSWER)

    def law(self, dataset: Array) -> FiniteLaw:
        """Return the law of the output."""
        ratio = math.exp(-self.epsilon)
        outputs = np.arange(self.records + 1.0)
        # At both ends a whole tail is cut to one output, which gives r^k / (1 + r); inside, (1 - r)
        # of that.
        mass = ratio ** np.abs(outputs - dataset[0]) / (1 + ratio)
        mass[1:-1] *= 1 - ratio
        return FiniteLaw(outputs, mass)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return noisy counts, shape ``(trials,)``."""
        # The difference of two geometric numbers has the two-sided law; expm1 keeps the digits of a
        # small epsilon.
        up, down = rng.geometric(-math.expm1(-self.epsilon), size=(2, trials))
        return np.asarray(np.clip(dataset[0] + up - down, 0.0, self.records))

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        return log_ratio(self, outputs)


@dataclass(frozen=True, kw_only=True)
class Rappor:
    """A string's Bloom filter, randomised bit by bit, once for good and once for each report.

    Erlingsson, Pihur & Korolova 2014. A bit of the filter is kept with probability ``1 - f`` and
    else replaced by a fair coin; a report shows 1 with probability q for a permanent 1 and p for a
    permanent 0. So a report's bit is 1 with probability ``q* = f (p + q) / 2 + (1 - f) q`` where
    the filter has a 1, and ``p* = f (p + q) / 2 + (1 - f) p`` where it has a 0. Two strings whose
    filters of h ones are disjoint differ in 2h independent bits, and their epsilon is

        h log(q* (1 - p*) / (p* (1 - q*)))            (their Theorem 2),

    attained by the report that has every bit of one filter and none of the other; where h is the
    number of bits that hashes set at most, no pair does worse. Seen once without the second step,
    q* is ``1 - f/2`` and p* is ``f/2``, and epsilon ``2 h log((1 - f/2) / (f/2))`` (Theorem 1).

    Parameters
    ----------
    hashes, bits
        h and the size of the filter.
    permanent, low, high
        f, p and q.
    one_time
        Whether the permanent bits themselves are published.

    Examples
    --------
    >>> once = Rappor(permanent=0.95, one_time=True)
    >>> round(Rappor().true_epsilon, 4), round(once.true_epsilon, 4)
    (0.4001, 0.8007)
    """

    hashes: int = 4
    bits: int = 20
    permanent: float = 0.75
    low: float = 0.45
    high: float = 0.55
    one_time: bool = False
    delta: float = 0.0

    def __post_init__(self) -> None:
        check.require_integer("hashes", self.hashes, least=1)
        # Two disjoint filters have to fit.
        check.require_integer("bits", self.bits, least=2 * self.hashes)
        for name in ("permanent", "low", "high"):
            check.require_probability(name, getattr(self, name))
        if self.low >= self.high:
            raise InvalidArgument("low", self.low, f"below high ({self.high})")

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        low, high = self.rates
        return self.hashes * math.log(high * (1 - low) / (low * (1 - high)))

    @property
    def true_epsilon(self) -> float:
        """The same: disjoint filters attain it."""
        return self.claimed_epsilon

    @property
    def event_epsilon(self) -> float:
        """The same, for the report that has one filter's bits and not the other's."""
        return self.claimed_epsilon

    @property
    def rates(self) -> tuple[float, float]:
        """Probabilities p* and q* that a bit is published as 1 where the filter has 0 and 1."""
        f = self.permanent
        low, high = (0.0, 1.0) if self.one_time else (self.low, self.high)
        coin = f * (low + high) / 2
        return coin + (1 - f) * low, coin + (1 - f) * high

    def filter(self, dataset: Array) -> Array:
        """Return the Bloom filter of the one record, shape ``(bits,)``."""
        return bloom_filter(float(dataset[0]), self.hashes, self.bits)

    def pair(self) -> Pair[Array]:
        """Return two values whose filters have h ones each, none shared."""
        first, second = disjoint_values(self.hashes, self.bits)
        return Pair(np.array([first]), np.array([second]), REPLACE_RECORD)

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return reports of fresh permanent bits, shape ``(trials, bits)``."""
        shape = trials, self.bits
        one = rng.random(shape)  # below f a coin, which is 1 below f / 2
        kept = np.where(one < self.permanent, one < self.permanent / 2, self.filter(dataset))
        if self.one_time:
            return np.asarray(kept, dtype=np.float64)
        chances = np.where(kept > 0, self.high, self.low)
        return (rng.random(shape) < chances).astype(np.float64)

    def score(self, outputs: Array) -> Array:
        """Return ``log p/q`` on the pair, shape ``(R,)``."""
        pair, (low, high) = self.pair(), self.rates
        change = self.filter(pair.dataset) - self.filter(pair.neighbour)
        of_one, of_zero = math.log(high / low), math.log((1 - high) / (1 - low))
        return np.asarray((outputs * of_one + (1 - outputs) * of_zero) @ change)


def bloom_filter(value: float, hashes: int, bits: int) -> Array:
    """Return the Bloom filter of a value, shape ``(bits,)``.

    Examples
    --------
    >>> bool(bloom_filter(1.0, 4, 20).sum() <= 4)
    True
    """
    filled = np.zeros(bits)
    for k in range(hashes):
        salt = k.to_bytes(8, "little")
        # Python's own hash of text differs from process to process.
        digest = hashlib.blake2b(repr(value).encode(), digest_size=8, salt=salt).digest()
        filled[int.from_bytes(digest, "little") % bits] = 1.0
    return filled


@lru_cache
def disjoint_values(hashes: int, bits: int) -> tuple[float, float]:
    """Return the first two numbers whose filters are full and share nothing.

    Raises
    ------
    InvalidArgument
        There are none among the first thousand.

    Examples
    --------
    >>> first, second = disjoint_values(4, 20)
    >>> float(bloom_filter(first, 4, 20) @ bloom_filter(second, 4, 20))
    0.0
    """
    filters = np.array([bloom_filter(float(value), hashes, bits) for value in range(1000)])
    full = np.flatnonzero(filters.sum(axis=1) == hashes)
    shared = filters[full] @ filters[full].T
    if not (shared == 0).any():
        raise InvalidArgument("bits", bits, f"enough for two filters of {hashes} bits")
    # The first pair in order of its numbers, so that every run finds the same one.
    first, second = np.argwhere(shared == 0)[0]
    return float(full[first]), float(full[second])
