r"""How far noise carries the runs of `dpaudit.algorithms.multistep.claims.suboptimality`, exactly.

As long as the gradients are those of the noise-free run, the noise passes through a linear map, the
same for both features. Leaves are their average plus a deviation that the centre does not see, so
two small systems describe all nodes: (centre, average leaf) and (deviation of one leaf).

| entry      | meaning                                     |
|------------|---------------------------------------------|
| x, y       | last model of the centre, average of leaves |
| g          | dual gamma_1j, average over the edges       |
| bx, by     | last broadcasts                             |
| sx, sy     | sums of this iteration's models             |
| ax, ay     | sums of the models that w^ averages         |
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.claims.suboptimality import FEATURES, SLACK, Sides, Star

_X, _Y, _G, _BX, _BY, _SX, _SY, _AX, _AY = range(9)


@dataclass(frozen=True)
class Spread:
    """Probability that some iterate or dual is moved by more than `SLACK`, and root mean squares.

    ``centre`` and ``leaf`` are those of ``||w^_i - its noise-free value||``.
    """

    probability: float
    centre: float
    leaf: float


def spread(star: Star, penalty: float) -> Spread:
    """Return what the noise of eq. (14) and (20) does; a union bounds the probability.

    A deviation of two features with variance v each exceeds s with probability exp(-s^2 / 2v).

    Examples
    --------
    >>> star = Star(nodes=3, iterations=2, inner_steps=1, records=10**9, epsilon=1.0, delta=1e-5)
    >>> bool(spread(star, 1.0).probability < 1e-6)
    True
    """
    edges = star.nodes - 1
    share = 1 / edges if edges else 0.0
    system, alone = np.zeros((9, 9)), np.zeros((9, 9))
    outside = 0.0
    for k, r in star.schedule:
        eta = star.eta(k, r)
        noise = star.noise / math.sqrt(FEATURES)
        of_centre = (noise / (2 * penalty * edges + eta)) ** 2
        of_leaf = (noise / (2 * penalty + eta)) ** 2 if edges else 0.0
        system = _step(system, star, penalty, (k, r), of_centre, of_leaf * share, centre=True)
        alone = _step(alone, star, penalty, (k, r), 0.0, of_leaf * (1 - share), centre=False)
        both = system + alone
        outside += _tail(both[_X, _X]) + edges * (_tail(both[_Y, _Y]) + _tail(both[_G, _G]))
    both = (system + alone) / star.steps**2
    return Spread(
        probability=outside,
        centre=math.sqrt(FEATURES * both[_AX, _AX]),
        leaf=math.sqrt(FEATURES * both[_AY, _AY]),
    )


def _tail(variance: float) -> float:
    return math.exp(-(SLACK**2) / (2 * variance)) if variance > 0 else 0.0


def certain_value(found: Sides, noise: Spread, star: Star) -> float:
    """Return a lower bound on the left side of eq. (24), in expectation over the noise.

    With probability 1 - p the run has the noise-free gradients, and then the loss and every norm
    are within the mean deviation of their noise-free values; otherwise no term is below 0.
    """
    edges, beta = star.nodes - 1, float(found.beta[0])
    lost = noise.centre + 2 * edges * beta * (noise.centre + noise.leaf)
    return max((1 - noise.probability) * float(found.value[0]) - lost, 0.0)


def _step(
    cov: Array,
    star: Star,
    rho: float,
    at: tuple[int, int],
    of_centre: float,
    of_leaf: float,
    *,
    centre: bool,
) -> Array:
    """Return the covariance after one update, and after the dual's if it ends an iteration."""
    update = _update(star, rho, at, centre)
    cov = update @ cov @ update.T
    noisy = np.zeros((9, 2))
    noisy[[_X, _SX], 0] = math.sqrt(of_centre)
    noisy[[_Y, _SY], 1] = math.sqrt(of_leaf)
    cov = cov + noisy @ noisy.T
    if at[1] == star.inner_steps:
        ended = _ended(star, rho)
        cov = ended @ cov @ ended.T
    return np.asarray(cov)


def _update(star: Star, rho: float, at: tuple[int, int], centre: bool) -> Array:
    """Return eq. (13a) without its gradient; a leaf's deviation does not reach the centre."""
    eta, edges, first = star.eta(*at), star.nodes - 1, at[1] == 1
    update = np.eye(9)
    update[_AX, _X] = update[_AY, _Y] = 1.0
    update[[_X, _Y]] = 0.0
    if centre:
        unit = 2 * rho * edges + eta
        pull = rho * edges / unit
        update[_X, [_X, _G, _BX, _BY]] = eta / unit, 2 * edges / unit, pull, pull
    unit = 2 * rho + eta
    update[_Y, [_Y, _G, _BX, _BY]] = eta / unit, -2 / unit, rho / unit, rho / unit
    for total, one in ((_SX, _X), (_SY, _Y)):
        update[total] = update[one]
        update[total, total] += 0.0 if first else 1.0
    return update


def _ended(star: Star, rho: float) -> Array:
    """Return the broadcasts and eq. (15) at the end of an iteration."""
    ended = np.eye(9)
    ended[[_BX, _BY]] = 0.0
    ended[_BX, _SX] = ended[_BY, _SY] = 1 / star.inner_steps
    ended[_G] += rho / 2 * (ended[_BY] - ended[_BX])
    return ended
