"""The attack that knows everything: what it misses, no attack finds with as many trials."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import KnownMechanism
from dpaudit.extension.distinguisher import Distinguisher

IDEAL = Distinguisher(
    name="ideal",
    statement="scores a transcript of a mechanism with a known answer by its exact log-ratio",
    threat_model="knows the mechanism, its law and both inputs; sees one transcript",
    needs_law=False,
    fit="dpaudit.algorithms.known_answer.ideal:fit",
)


@dataclass(frozen=True)
class Ideal:
    """The score of a known mechanism, which is that of its own pair."""

    mechanism: KnownMechanism

    def __call__(self, transcripts: Array) -> Array:
        """Return scores, shape ``(R,)``."""
        return self.mechanism.score(transcripts)


def fit(
    mechanism: KnownMechanism,
    pair: Any,
    on_dataset: Array,
    on_neighbour: Array,
    rng: Generator,
) -> Ideal:
    """Return the score; nothing has to be learned."""
    return Ideal(mechanism)
