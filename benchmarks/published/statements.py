r"""What was published, as formulas: squares of mu at noise and sensitivity 1, from doubles.

W has symmetric weights, v looks, u's data change, N are v's neighbours; a published Renyi bound is
``alpha / 2`` times the square. Read in public code, as `page` says; the texts of the theorems were
not to be had.

* `noise_once`: noise on the private vectors, then T rounds of averaging. Of every message that a
  neighbour w sends, its signal over its noise, as if all noise were fresh:
  ``sum_{t=1..T} sum_{w in N} (W^t)_wu^2 / ||(W^t)_w||^2``, at most 1.
* `noise_every_round`: everybody adds a vector and fresh noise before every round. The numerator is
  not squared: ``sum_{t=0..T-1} (T - t) sum_{w in N or v} (W^t)_wu / ||(W^t)_w||^2``, at most T.
* `factored`: the same recursion, with P the projection on the rows that v sees, without the noise
  that it knows: ``sum_{s,t} |P_(us,ut)|``.
* `concentrated_epsilon`: ``rho + 2 sqrt(rho ln(1 / delta))`` of rho-zCDP (Bun & Steinke 2016).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpaudit._typing import Array


def noise_once(weights: Array, heard: Sequence[int], rounds: int, *, clip: bool = True) -> Array:
    """Return the square of every node, shape ``(n,)``.

    Examples
    --------
    >>> thirds = np.full((3, 3), 1 / 3)
    >>> noise_once(thirds, [1, 2], rounds=1).round(6).tolist()  # 2 (1/9) / (1/3)
    [0.666667, 0.666667, 0.666667]
    """
    found, power = np.zeros(len(weights)), np.eye(len(weights))
    for _ in range(rounds):
        power = weights @ power
        found += sum(power[w] ** 2 / (power[w] @ power[w]) for w in heard)
    return np.minimum(found, 1.0) if clip else found


def noise_every_round(
    weights: Array, heard: Sequence[int], rounds: int, *, clip: bool = True
) -> Array:
    """Return the square of every node, shape ``(n,)``; ``heard`` names the observer as well.

    Examples
    --------
    >>> thirds = np.full((3, 3), 1 / 3)
    >>> noise_every_round(thirds, [0, 1, 2], rounds=2, clip=False).round(6).tolist()
    [5.0, 5.0, 5.0]
    """
    found, power = np.zeros(len(weights)), np.eye(len(weights))
    for t in range(rounds):
        found += (rounds - t) * sum(power[w] / (power[w] @ power[w]) for w in heard)
        power = weights @ power
    return np.minimum(found, rounds) if clip else found


def factored(gram: Array) -> float:
    """Return the square from the projection between the rounds of one node, shape ``(T, T)``.

    Examples
    --------
    >>> factored(np.array([[0.75, -0.25], [-0.25, 0.5]]))
    1.75
    """
    return float(np.abs(gram).sum())


def concentrated_epsilon(rho: float, delta: float) -> float:
    """Return the epsilon that the code of private ADMM takes rho for.

    Examples
    --------
    >>> round(concentrated_epsilon(0.5, 1e-5), 6)
    5.298526
    """
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def concentrated_rho(epsilon: float, delta: float) -> float:
    """Return the rho that it takes for an epsilon: `concentrated_epsilon`, solved.

    Examples
    --------
    >>> round(concentrated_rho(5.298526, 1e-5), 6)
    0.5
    """
    logarithm = math.log(1 / delta)
    return (math.sqrt(logarithm + epsilon) - math.sqrt(logarithm)) ** 2
