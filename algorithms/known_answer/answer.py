"""What a mechanism with a known answer states about itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.neighbours import Pair

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
        """What its source claims."""
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
        """Return transcripts, shape ``(trials, ...)``."""
        ...

    def score(self, transcripts: Array) -> Array:
        """Return what an attack that knew everything would compute, shape ``(R,)``."""
        ...


@dataclass(frozen=True, kw_only=True)
class KnownAnswer:
    """A mechanism, and what an audit of it should find.

    Parameters
    ----------
    name
        In the registry.
    mechanism
        States all numbers.
    attack
        What an attack has to see in a transcript.
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
