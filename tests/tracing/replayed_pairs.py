"""Pairs of runs that see the same noisy values: what a bound on movements is held to.

Nothing here is dpaudit's: a generator notes each centre of the first run and what it drew, and
gives the second run the same.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Pair:
    """The centres of a run, and what was noisy, for the run of the neighbour."""

    rng: np.random.Generator
    reach: float
    centres: list[list[np.ndarray]] = field(default_factory=lambda: [[], []])
    values: list[np.ndarray] = field(default_factory=list)
    side: int = 0

    def normal(self, loc=0.0, scale=1.0, size=None):
        """Return a noisy value, drawn as far out as the histories are to reach."""
        centre = np.broadcast_to(np.asarray(loc, dtype=float), _shape(loc, size)).copy()
        at = len(self.centres[self.side])
        self.centres[self.side].append(centre)
        if self.side == 0:
            self.values.append(centre + self.reach * self.rng.standard_cauchy(centre.shape))
        value = self.values[at]
        return value.copy() if value.ndim else float(value)

    laplace = normal


def _shape(loc, size):
    if size is None:
        return np.shape(loc)
    return (size,) if np.ndim(size) == 0 else tuple(size)


def moved(function, dataset, neighbour, rng, reach):
    """Return by how much each centre moved in a pair of runs that saw the same noisy values."""
    pair = Pair(rng, reach)
    with np.errstate(all="ignore"):
        function(dataset, pair)
        pair.side = 1
        function(neighbour, pair)
    return [b - a for a, b in zip(*pair.centres, strict=True)]
