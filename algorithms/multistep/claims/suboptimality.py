r"""The utility bound of Huang & Gong (Theorem 7, eq. 24) on a star whose centre holds all the loss.

| paper         | code         | meaning                                          | shape   |
|---------------|--------------|--------------------------------------------------|---------|
| n, t, l, d    | ``nodes`` .. | nodes, iterations, inner steps, features (2)     | scalars |
| L, L_i        |              | objective, and node i's part; L is their sum     |         |
| c_1, c_2      | 1            | Lipschitz constants of a record's loss and of L  | scalars |
| D             | 1            | diameter of the set of models (unit of length)   | scalar  |
| beta          | ``beta``     | bound on the norm of every gamma_ij              | scalar  |
| G             | ``share``    | ``sqrt((c_2/n)^2 + N^2)``                        | scalar  |
| N             | ``noise``    | ``c_1 sqrt(8 d t l ln(1.25/delta))/(epsilon m)`` | scalar  |
| eta^{k,r}     |              | ``sqrt(2 k r) G / D`` (eq. 23)                   | scalar  |
| w^            | ``mean``     | ``1/(t l) sum_k sum_{r<l} w~^{k,r}`` (eq. 22)    | (B, 2)  |

The claim, with c_0 = 1, all m equal, no regulariser:

    E[sum_i L_i(w^_i) - L_i(w*)] + beta sum_i sum_j in N_i ||w^_i - w^_j||
        <= n sqrt(2) D G / sqrt(t l) + sum_i |N_i| (rho D^2 + beta^2 / rho) / t

The loss of a record (a, b) is ``||a|| max(right (w_1 - u), -left (w_1 - u), up (w_2 - v))``, or 0
if that is less; the records of the centre are unit vectors, those of the leaves 0. It is least, 0,
at w* = (u, v). All leaves move alike but for their noise.

Where the proof fails: eq. (39) takes ``E ||grad L_i + xi||^2`` for ``(c_2/n)^2 + N^2``, but that
the sum L is c_2-Lipschitz makes no L_i (c_2/n)-Lipschitz. The step sizes are then up to n times too
long: the centre jumps from one side of its target to the other, in the other feature nothing moves,
and neither does the error as t grows. With c_2 taken as n times the steepest L_i
(``lipschitz = node``) this step of the proof holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.refutation import Space
from dpaudit.refutation.search import Batch

FEATURES = 2
SLACK = 1e-3  # what the noise may add to any iterate, in units of D
_ANGLES = np.linspace(0.0, math.pi, 32, endpoint=False)


@dataclass(frozen=True, kw_only=True)
class Star:
    """Public parameters of the run; the penalty and the loss belong to the instance.

    ``steepest`` is what c_2 is taken for: that of the sum (1), or n times that of a node.

    Examples
    --------
    >>> star = Star(nodes=4, iterations=3, inner_steps=1, records=10**9, epsilon=1.0, delta=1e-5)
    >>> round(star.share, 6), star.schedule
    (0.25, ((1, 1), (2, 1), (3, 1)))
    """

    nodes: int
    iterations: int
    inner_steps: int
    records: int
    epsilon: float
    delta: float
    steepest: str = "sum"

    @property
    def steps(self) -> int:
        """``t l``."""
        return self.iterations * self.inner_steps

    @property
    def noise(self) -> float:
        """``N``, for c_1 = 1."""
        square = FEATURES * self.steps * 8 * math.log(1.25 / self.delta)
        return math.sqrt(square) / (self.epsilon * self.records)

    @property
    def share(self) -> float:
        """``G``, for a loss whose steepest slope is 1."""
        of_node = 1.0 if self.steepest == "node" else 1 / self.nodes
        return math.hypot(of_node, self.noise)

    @property
    def schedule(self) -> tuple[tuple[int, int], ...]:
        """``(k, r)`` of every update."""
        return tuple(
            (k, r) for k in range(1, self.iterations + 1) for r in range(1, self.inner_steps + 1)
        )

    def eta(self, k: int, r: int) -> float:
        """Return ``eta^{k,r}`` of eq. (23), D = 1."""
        return math.sqrt(2 * k * r) * self.share


@dataclass(frozen=True)
class Run:
    """The noise-free runs of a batch.

    ``centre`` and ``leaf`` are the iterates w^{k,r}, shape ``(B, t l + 1, 2)``; ``dual`` the norms
    of gamma_ij, ``(B, t + 1)``; ``gap`` by how much the active piece of the loss leads, ``(B,)``.
    """

    centre: Array
    leaf: Array
    dual: Array
    gap: Array


def run(star: Star, batch: Batch) -> Run:
    """Return the noise-free runs: eq. (13a) in closed form, (15), from models and duals of 0."""
    count, degree = len(batch["penalty"]), star.nodes - 1
    rho = batch["penalty"][:, None]
    x = y = own = other = dual = total = total_leaf = np.zeros((count, FEATURES))
    centre, leaf, norms, gaps = [x], [y], [np.zeros(count)], []
    for k, r in star.schedule:
        slope, gap = _slope(batch, x)
        eta, pull = star.eta(k, r), rho * (own + other)
        x = (eta * x + degree * (2 * dual + pull) - slope) / (2 * rho * degree + eta)
        y = (eta * y - 2 * dual + pull) / (2 * rho + eta)
        total, total_leaf = (x, y) if r == 1 else (total + x, total_leaf + y)
        centre.append(x)
        leaf.append(y if degree else x)
        gaps.append(gap)
        if r == star.inner_steps:
            own, other = total / star.inner_steps, total_leaf / star.inner_steps
            dual = dual - rho / 2 * (own - other) if degree else dual
            norms.append(np.linalg.norm(dual, axis=1))
    return Run(
        np.stack(centre, axis=1),
        np.stack(leaf, axis=1),
        np.stack(norms, axis=1),
        np.min(gaps, axis=0),
    )


def pieces(batch: Batch, models: Array) -> Array:
    """Return the four pieces of the centre's loss, shape ``(B, ..., 4)``."""
    extra = (1,) * (models.ndim - 2)

    def column(name: str, index: int) -> Array:
        return batch[name][:, index].reshape(-1, *extra)

    along = models[..., 0] - column("target", 0)
    across = models[..., 1] - column("target", 1)
    right, left, up = (column("slopes", i) for i in range(3))
    return np.stack([right * along, -left * along, up * across, 0 * along], axis=-1)


def _slope(batch: Batch, models: Array) -> tuple[Array, Array]:
    """Return the gradient of the active piece, shape ``(B, 2)``, and its lead."""
    values = pieces(batch, models)
    active = np.argmax(values, axis=1)
    ordered = np.sort(values, axis=1)
    right, left, up = batch["slopes"].T
    zero = np.zeros_like(up)
    first = np.choose(active, [right, -left, zero, zero])
    second = np.where(active == 2, up, 0.0)
    return np.stack([first, second], axis=1), ordered[:, -1] - ordered[:, -2]


@dataclass(frozen=True)
class Sides:
    """Both sides of eq. (24) on noise-free runs, and what the assumptions are about, ``(B,)``."""

    risk: Array
    violation: Array
    bound: Array
    beta: Array
    diameter: Array
    gap: Array

    @property
    def value(self) -> Array:
        """The left side."""
        return np.asarray(self.risk + self.violation)


def sides(star: Star, batch: Batch) -> Sides:
    """Return both sides of eq. (24), with the beta that the run needs.

    Examples
    --------
    >>> star = Star(nodes=3, iterations=2, inner_steps=1, records=10**9, epsilon=1.0, delta=1e-5)
    >>> batch = {
    ...     "penalty": np.ones(1), "target": np.array([[0.5, 0.0]]), "slopes": np.ones((1, 3)),
    ... }
    >>> found = sides(star, batch)
    >>> round(float(found.risk[0]), 4), round(float(found.diameter[0]), 4)
    (0.3882, 0.5006)
    """
    done, edges = run(star, batch), star.nodes - 1
    mean, mean_leaf = (path[:, :-1].mean(axis=1) for path in (done.centre, done.leaf))
    beta = (done.dual.max(axis=1) + SLACK) * (1 + 1e-9)  # above it whatever rounding does
    rho = batch["penalty"]
    bound = star.nodes * math.sqrt(2) * star.share / math.sqrt(star.steps)
    points = np.concatenate([done.centre, done.leaf, batch["target"][:, None]], axis=1)
    return Sides(
        risk=pieces(batch, mean).max(axis=1),
        violation=2 * edges * beta * np.linalg.norm(mean - mean_leaf, axis=1),
        bound=bound + 2 * edges * (rho + beta**2 / rho) / star.iterations,
        beta=beta,
        diameter=_diameter(points),
        gap=done.gap,
    )


def _diameter(points: Array) -> Array:
    """Return a bound, tight to 0.2%, on the largest distance between points of shape (B, k, 2)."""
    along = points @ np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    widest = (along.max(axis=1) - along.min(axis=1)).max(axis=1)
    return np.asarray(widest / math.cos(math.pi / (2 * len(_ANGLES))))


def space(star: Star) -> Space:
    """Return penalties, targets and slopes; one slope at least is 1.

    Runs that leave a set of diameter 1, or come close to a kink of the loss, count for nothing.
    """
    return Space(start=partial(_start, star), move=_move, evaluate=partial(_evaluate, star))


def _start(star: Star, count: int, rng: Generator) -> Batch:
    stiffness = np.exp(rng.uniform(math.log(0.1), math.log(100.0), count))
    return {
        "penalty": stiffness / (2 * max(star.nodes - 1, 1)),
        "target": rng.uniform(-0.7, 0.7, (count, FEATURES)),
        "slopes": rng.uniform(0.1, 1.0, (count, 3)),
    }


def _move(batch: Batch, step: Array, rng: Generator) -> Batch:
    count = len(step)
    size = step[:, None] * (rng.random((count, 6)) < 0.4)
    change = size * rng.standard_normal((count, 6))
    return {
        "penalty": batch["penalty"] * np.exp(2 * change[:, 0]),
        "target": batch["target"] + change[:, 1:3],
        "slopes": np.clip(batch["slopes"] * np.exp(change[:, 3:]), 1e-3, None),
    }


def _evaluate(star: Star, batch: Batch) -> tuple[Batch, Array]:
    slopes = batch["slopes"] / batch["slopes"].max(axis=1, keepdims=True)
    inside = {**batch, "slopes": slopes}
    found = sides(star, inside)
    ratio = found.value / found.bound
    allowed = (found.diameter <= 1 - 2 * SLACK) & (found.gap >= 4 * SLACK)
    return inside, np.where(allowed, ratio, 1e-3 / (1 + found.diameter))
