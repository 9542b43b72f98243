"""The question of a replay about one pair: its claim, and all knowledge beyond its runs."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dpaudit.redaction import Record
from dpaudit.replaying.counting import ALPHA, COUNTS


@dataclass(frozen=True)
class ReplayRequest:
    """A claim, and the knowledge about the code beyond its runs.

    Parameters
    ----------
    epsilon, delta
        What is claimed of the pair.
    hidden_state
        Whether the first call, or the import, drew what later calls do not.
    samplers
        Packages that are loaded and draw past everything that is intercepted.
    seed
        Of everything that is drawn.
    source
        Of the code: what stands in it is no record.
    pairs
        How many pairs may be looked at.
    apart
        How far the two datasets are apart, of a claim a unit of distance: what is declared is of a
        unit, too.
    copies
        Whether a run copied a generator, so that the same noise may come again in one call.
    """

    epsilon: float
    delta: float
    hidden_state: bool = False
    samplers: tuple[str, ...] = ()
    seed: int = 0
    source: str = ""
    pairs: int = 1
    copies: bool = False
    apart: float | None = None

    @property
    def claimed(self) -> tuple[float, float]:
        """Epsilon and delta."""
        return self.epsilon, self.delta

    @property
    def alpha(self) -> float:
        """The error probability of one count, of all that are made on all pairs."""
        return ALPHA / (COUNTS * self.pairs)

    def shown(self, path: str) -> str:
        """Return the path of a number; a key that is not in the source may be a record."""

        def key(found: re.Match[str]) -> str:
            written = found[0][1:-1]
            return found[0] if written[1:-1] in self.source else f"[{Record(written)!r}]"

        return re.sub(r"\[(?:'[^']*'|\"[^\"]*\")\]", key, path)
