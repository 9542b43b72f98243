"""Laws of finitely many outcomes, and one-dimensional integrals of products of exponentials."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.neighbours import Pair

_QUADRATURE_RULE = np.polynomial.legendre.leggauss(24)
_NODES = _QUADRATURE_RULE[0]
_WEIGHTS = _QUADRATURE_RULE[1]
_REACH = 45.0  # beyond, less than e^-45 of the mass
_PIECE = 2.0  # on a piece the logarithm of an integrand changes by about so much


@dataclass(frozen=True, eq=False)
class FiniteLaw:
    """Outcomes, shape ``(K, ...)``, and their probabilities, shape ``(K,)``."""

    outcomes: Array
    probabilities: Array

    def indices(self, outputs: Array) -> NDArray[np.intp]:
        """Return which outcome every output is, shape ``(R,)``.

        Examples
        --------
        >>> law = FiniteLaw(np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.5, 0.5]))
        >>> law.indices(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))
        array([1, 0, 1])
        """
        count = len(self.probabilities)
        rows = np.concatenate([self.outcomes, outputs])
        # Equal rows get one number, so outcomes and outputs are matched without a search for each.
        _, found = np.unique(rows.reshape(len(rows), -1), axis=0, return_inverse=True)
        found = found.ravel()
        names = np.empty(int(found.max()) + 1, dtype=np.intp)
        names[found[:count]] = np.arange(count)
        return names[found[count:]]


class HasFiniteLaw(Hashable, Protocol):
    """A mechanism of finitely many outcomes, the same on every dataset."""

    def law(self, dataset: Array) -> FiniteLaw:
        """Return the exact law of an output."""
        ...

    def pair(self) -> Pair[Array]:
        """Return the worst pair of inputs."""
        ...


@lru_cache(maxsize=64)
def compute_outcome_losses(mechanism: HasFiniteLaw) -> tuple[FiniteLaw, Array]:
    """Return the law on the pair's dataset, and ``log p/q`` of every outcome (0 for one not seen).

    Cached: a score needs them for every block of outputs.
    """
    pair = mechanism.pair()
    law, other = mechanism.law(pair.dataset), mechanism.law(pair.neighbour)
    p, q = law.probabilities, other.probabilities
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = np.where((p == 0) & (q == 0), 0.0, np.log(p) - np.log(q))
    # The array is cached and handed to every caller.
    loss.flags.writeable = False
    return law, loss


def best_event(mechanism: HasFiniteLaw) -> float:
    """Return the pair's exact epsilon at delta 0: the largest loss of an outcome."""
    _, loss = compute_outcome_losses(mechanism)
    return float(np.abs(loss).max())


def log_ratio(mechanism: HasFiniteLaw, outputs: Array) -> Array:
    """Return ``log p/q`` of outputs, shape ``(R,)``."""
    law, loss = compute_outcome_losses(mechanism)
    return np.asarray(loss[law.indices(outputs)])


def draw_laplace(scale: float, shape: Any, rng: Generator) -> Array:
    """Return Laplace noise: the difference of two exponentials, three times as fast as inversion.

    Examples
    --------
    >>> noise = draw_laplace(2.0, (50_000, 2), np.random.default_rng(0))
    >>> noise.shape, bool(abs(np.abs(noise).mean() - 2) < 0.05)
    ((50000, 2), True)
    """
    noise: Array = rng.standard_exponential(shape)
    noise -= rng.standard_exponential(shape)
    noise *= scale
    return noise


def laplace_cdf(x: Any, rate: float) -> Array:
    """Return ``P(noise < x)`` for Laplace noise of scale ``1/rate``; an infinite rate is no noise.

    The lower tail keeps its digits, so the upper one is best asked for as that of ``-x``.

    Examples
    --------
    >>> laplace_cdf(np.array([0.0, -2.0]), 1.0).round(4)
    array([0.5   , 0.0677])
    """
    x = np.asarray(x, dtype=np.float64)
    if math.isinf(rate):
        return np.asarray(np.heaviside(x, 0.5))
    tail = np.exp(-rate * np.abs(x)) / 2
    return np.asarray(np.where(x < 0, tail, 1 - tail))


def laplace_density(x: Any, rate: float) -> Array:
    """Return the density of Laplace noise of scale ``1/rate``."""
    return np.asarray(rate / 2 * np.exp(-rate * np.abs(x)))


def laplace_loss(outputs: Array, at: Any, other: Any, rate: float) -> Array:
    """Return ``log p/q`` of independent Laplace noise around ``at`` and around ``other``.

    Parameters
    ----------
    outputs
        Shape ``(R,)`` or ``(R, k)``; a row's entries are independent.
    at, other
        What was perturbed, broadcastable to an output.
    rate
        One over the scale.
    """
    loss = rate * (np.abs(outputs - other) - np.abs(outputs - at))
    return np.asarray(loss.reshape(len(outputs), -1).sum(axis=1))


def build_kink_quadrature(
    kinks: Sequence[float], slowest: float, fastest: float
) -> tuple[Array, Array]:
    """Return nodes and weights for integrals over the real line, shape ``(m,)`` each.

    Between kinks the integrand is analytic: a sum of exponentials. Gauss-Legendre rules on pieces
    that are short for the fastest of them are exact to the last digits.

    Parameters
    ----------
    kinks
        Where a derivative jumps.
    slowest
        The rate at which the integrand falls beyond the kinks, at least.
    fastest
        The rate at which it changes anywhere, at most.

    Examples
    --------
    >>> nodes, weights = build_kink_quadrature([0.0], 1.0, 1.0)
    >>> round(float(weights @ np.exp(-np.abs(nodes))), 12)
    2.0
    """
    ends = split_real_line(kinks, slowest, fastest)
    middle, half = (ends[1:] + ends[:-1]) / 2, np.diff(ends) / 2
    nodes = middle[:, None] + half[:, None] * _NODES
    return nodes.ravel(), (half[:, None] * _WEIGHTS).ravel()


def split_real_line(kinks: Sequence[float], slowest: float, fastest: float) -> Array:
    """Return the ends of the pieces, ascending."""
    inner = np.unique(np.asarray(kinks, dtype=np.float64))
    ends = np.concatenate([[inner[0] - _REACH / slowest], inner, [inner[-1] + _REACH / slowest]])
    counts = np.ceil(np.diff(ends) * fastest / _PIECE).astype(int)
    pieces = [
        np.linspace(low, high, count, endpoint=False)
        for low, high, count in zip(ends[:-1], ends[1:], counts, strict=True)
    ]
    return np.append(np.concatenate(pieces), ends[-1])
