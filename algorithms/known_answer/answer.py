"""A mechanism with a known answer: its numbers, its neighbours, its grid and its ideal attack.

Neighbours are inputs of mechanisms that are given answers of queries, or a vector, in place of
records.

The grid keeps the last bits of floats from telling more than real numbers would. The laws of this
package are those of real numbers. Noise added in double precision has another one: which doubles
can occur depends on the answer, so that the true epsilon of the sum is infinite
(`dpaudit.algorithms.known_answer.laplace.FloatingPointLaplace`), whatever the noise. Rounded down
to a multiple of 2^-20, an output no longer tells: 20 to 30 bits below what is published decide
about a tiny part of the outputs only.

The ideal attack knows everything: what it misses, no attack finds with as many trials.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.neighbours import Pair, Relation, Table
from dpaudit.redaction import Record

_QUICK = (
    "laplace",
    "noisy-max-2",
    "laplace-floating-point",
    "noisy-histogram-inverted",
    "noisy-max-3",
    "svt-5",
)


class KnownMechanism(Protocol):
    """A mechanism whose exact epsilon is known; its class derives it."""

    @property
    def delta(self) -> float:
        """At which all epsilons are meant."""
        ...

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        ...

    @property
    def true_epsilon(self) -> float:
        """The least epsilon that holds for all neighbours; may be infinite."""
        ...

    @property
    def event_epsilon(self) -> float:
        """The supremum over events of ``log((P(S) - delta) / Q(S))`` on the pair, either way."""
        ...

    def pair(self) -> Pair[Array]:
        """Return the worst pair of inputs."""
        ...

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return outputs, shape ``(trials, ...)``."""
        ...

    def score(self, outputs: Array) -> Array:
        """Return the score of an attack that knows everything, shape ``(R,)``."""
        ...


@dataclass(frozen=True, kw_only=True)
class KnownAnswer:
    """A mechanism, and the result that an audit of it should have.

    Parameters
    ----------
    name
        In the registry.
    mechanism
        States all numbers.
    attack
        What an attack has to see in an output.
    published
        The epsilon that DP-Sniper found at these parameters (Bichsel et al. 2021, Table 1), if any.
    """

    name: str
    mechanism: KnownMechanism
    attack: str
    published: float | None = None

    @property
    def quick(self) -> bool:
        """Whether it is among the few that a quick self-test audits: two correct, four broken."""
        return self.name in _QUICK

    @property
    def pair(self) -> Pair[Array]:
        """The worst pair of inputs."""
        return self.mechanism.pair()

    @property
    def delta(self) -> float:
        """At which all epsilons are meant."""
        return self.mechanism.delta

    @property
    def claimed(self) -> float:
        """The epsilon that the source claims."""
        return self.mechanism.claimed_epsilon

    @property
    def true(self) -> float:
        """The epsilon of the mechanism, over all pairs."""
        return self.mechanism.true_epsilon

    @property
    def event(self) -> float:
        """The exact epsilon of the best event on the pair: no audit of this pair finds more."""
        return self.mechanism.event_epsilon

    @property
    def broken(self) -> bool:
        """Whether the claim is false."""
        return self.claimed < self.true


# Inputs are doubles, whose differences may exceed 1 by rounding.
_ROUNDING = 1e-9


def _one_answer(one: Table, other: Table) -> int:
    moved = _compute_answer_moves(one, other)
    if int((moved > 0).sum()) != 1:
        given = VerbatimText(f"{int((moved > 0).sum())} differing answers")
        raise InvalidArgument("pair", given, "exactly one")
    return _at_most_one(moved, float(moved.max()))


def _every_answer(one: Table, other: Table) -> int:
    moved = _compute_answer_moves(one, other)
    return _at_most_one(moved, float(moved.max()))


def _measure_euclidean_distance(one: Table, other: Table) -> int:
    moved = _compute_answer_moves(one, other)
    return _at_most_one(moved, float(np.linalg.norm(moved)))


def _compute_answer_moves(one: Table, other: Table) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    if one.features.shape != other.features.shape:
        given = VerbatimText(f"shapes {one.features.shape} and {other.features.shape}")
        raise InvalidArgument("pair", given, "as many answers on both sides")
    return np.abs(one.features - other.features).ravel()


def _at_most_one(moved: np.ndarray[tuple[int], np.dtype[np.float64]], distance: float) -> int:
    if not 0 < distance <= 1 + _ROUNDING:
        given = VerbatimText(f"a distance of {Record(distance)!r}")
        raise InvalidArgument("pair", given, "above 0, at most 1")
    return int(np.argmax(moved))


ONE_ANSWER = Relation("one-answer", "one query's answer moves, by at most 1", _one_answer)
EVERY_ANSWER = Relation(
    "every-answer", "every query's answer moves, by at most 1 each", _every_answer
)
EUCLIDEAN = Relation(
    "euclidean", "the vector moves by at most 1 in Euclidean norm", _measure_euclidean_distance
)


STEP = 2.0**-20


@dataclass(frozen=True)
class OnGrid:
    """A mechanism whose outputs are published rounded down to multiples of 2^-20.

    Rounding is post-processing: no epsilon grows. "Below 0" is the same event before and after,
    and any other threshold moves by less than the grid's step: what the best event shows is the
    same, for Gaussian noise up to a millionth. Where it is infinite at a point, as with the wrong
    radius of `dpaudit.algorithms.known_answer.norm`, it is so in real numbers only: in d dimensions
    a cell of the grid around that point shows an epsilon of some ``(d - 1) 20 log 2``.

    Parameters
    ----------
    exact
        The mechanism in real numbers.

    Examples
    --------
    >>> from dpaudit.algorithms.known_answer.laplace import Laplace
    >>> mechanism = OnGrid(Laplace())
    >>> outputs = mechanism.sample(np.array([0.0]), 4, np.random.default_rng(0)) * 2**20
    >>> bool((outputs == np.round(outputs)).all()), mechanism.true_epsilon
    (True, 1.0)
    """

    exact: KnownMechanism

    @property
    def delta(self) -> float:
        """At which all epsilons are meant."""
        return self.exact.delta

    @property
    def claimed_epsilon(self) -> float:
        """The claim of the source."""
        return self.exact.claimed_epsilon

    @property
    def true_epsilon(self) -> float:
        """That of real numbers."""
        return self.exact.true_epsilon

    @property
    def event_epsilon(self) -> float:
        """That of real numbers."""
        return self.exact.event_epsilon

    def pair(self) -> Pair[Array]:
        """Return the worst pair of inputs."""
        return self.exact.pair()

    def sample(self, dataset: Array, trials: int, rng: Generator) -> Array:
        """Return rounded outputs, shape as of the exact ones."""
        # The step is a power of two, so scaling by it is exact and floor alone rounds.
        return np.asarray(np.floor(self.exact.sample(dataset, trials, rng) / STEP) * STEP)

    def score(self, outputs: Array) -> Array:
        """Return the exact mechanism's ``log p/q``, shape ``(R,)``; a centre may be infinite."""
        with np.errstate(divide="ignore"):  # on a grid, an output may meet a pole of the density
            return self.exact.score(outputs)


IDEAL = Distinguisher(
    name="ideal",
    statement="scores an output of a mechanism with a known answer by its exact log-ratio",
    threat_model="knows the mechanism, its law and both inputs; sees one output",
    needs_law=False,
    fit="dpaudit.algorithms.known_answer.answer:fit",
)


@dataclass(frozen=True)
class Ideal:
    """The score of a known mechanism, which is that of its own pair."""

    mechanism: KnownMechanism

    def __call__(self, outputs: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        return self.mechanism.score(outputs)


def fit(
    mechanism: KnownMechanism,
    pair: Any,
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> Ideal:
    """Return the score; nothing has to be learned."""
    return Ideal(mechanism)
