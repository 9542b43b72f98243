"""Outputs on a grid: what keeps the last bits of floats from telling more than real numbers would.

The laws of this package are those of real numbers. Noise added in double precision has another
one: which doubles can occur depends on the answer, so that the true epsilon of the sum is infinite
(`dpaudit.algorithms.known_answer.floating_point`), whatever the noise. Rounded down to a multiple
of 2^-20, an output no longer tells: 20 to 30 bits below what is published decide about a tiny part
of the outputs only.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.known_answer.answer import KnownMechanism
from dpaudit.neighbours import Pair

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
        """What the source claims."""
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
        """Return rounded transcripts, shape as of the exact ones."""
        return np.asarray(np.floor(self.exact.sample(dataset, trials, rng) / STEP) * STEP)

    def score(self, transcripts: Array) -> Array:
        """Return the exact mechanism's ``log p/q``, shape ``(R,)``; a centre may be infinite."""
        with np.errstate(divide="ignore"):  # on a grid, an output may meet a pole of the density
            return self.exact.score(transcripts)
