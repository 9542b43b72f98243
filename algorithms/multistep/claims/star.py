r"""Runs on a star whose centre holds all the loss, and both sides of the utility bound (eq. 24).

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

Noise. As long as the gradients are those of the noise-free run, it passes through a linear map, the
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
from dpaudit.refutation.search import Batch

FEATURES = 2
SLACK = 1e-3  # what the noise may add to any iterate, in units of D
# Directions of half a turn: the width along the opposite direction is the same.
_ANGLES = np.linspace(0.0, math.pi, 32, endpoint=False)
# Rows of the state that noise passes through, as the module docstring lists them.
_X = 0
_Y = 1
_G = 2
_BX = 3
_BY = 4
_SX = 5
_SY = 6
_AX = 7
_AY = 8


@dataclass(frozen=True, kw_only=True)
class StarSetting:
    """Public parameters of the run; the penalty and the loss belong to the instance.

    ``steepest`` is what c_2 is taken for: that of the sum (1), or n times that of a node.

    Examples
    --------
    >>> star = StarSetting(
    ...     nodes=4, iterations=3, inner_steps=1, records=10**9, epsilon=1.0, delta=1e-5
    ... )
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
        # N of the module docstring, with d features and t l steps.
        square = FEATURES * self.steps * 8 * math.log(1.25 / self.delta)
        return math.sqrt(square) / (self.epsilon * self.records)

    @property
    def share(self) -> float:
        """``G``, for a loss whose steepest slope is 1."""
        # The sum L has slope 1; read of each node, c_2 is n times the slope of the one that has a
        # loss.
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
class NoiseFreeRuns:
    """The noise-free runs of a batch.

    ``centre`` and ``leaf`` are the iterates w^{k,r}, shape ``(B, t l + 1, 2)``; ``dual`` the norms
    of gamma_ij, ``(B, t + 1)``; ``gap`` by how much the active piece of the loss leads, ``(B,)``.
    """

    centre: Array
    leaf: Array
    dual: Array
    gap: Array


def run(star: StarSetting, batch: Batch) -> NoiseFreeRuns:
    """Return the noise-free runs: eq. (13a) in closed form, (15), from models and duals of 0."""
    count, degree = len(batch["penalty"]), star.nodes - 1
    rho = batch["penalty"][:, None]
    x = y = own = other = dual = total = total_leaf = np.zeros((count, FEATURES))
    centre, leaf, norms, gaps = [x], [y], [np.zeros(count)], []
    for k, r in star.schedule:
        slope, gap = _compute_active_slope(batch, x)
        eta, pull = star.eta(k, r), rho * (own + other)
        x = (eta * x + degree * (2 * dual + pull) - slope) / (2 * rho * degree + eta)
        y = (eta * y - 2 * dual + pull) / (2 * rho + eta)
        total, total_leaf = (x, y) if r == 1 else (total + x, total_leaf + y)
        centre.append(x)
        # A single node has no leaves; its own path stands for theirs, so that nothing differs.
        leaf.append(y if degree else x)
        gaps.append(gap)
        # Broadcasts and duals change at the end of an iteration only, eq. (15).
        if r == star.inner_steps:
            own, other = total / star.inner_steps, total_leaf / star.inner_steps
            dual = dual - rho / 2 * (own - other) if degree else dual
            norms.append(np.linalg.norm(dual, axis=1))
    return NoiseFreeRuns(
        np.stack(centre, axis=1),
        np.stack(leaf, axis=1),
        np.stack(norms, axis=1),
        np.min(gaps, axis=0),
    )


def compute_loss_pieces(batch: Batch, models: Array) -> Array:
    """Return the four pieces of the centre's loss, shape ``(B, ..., 4)``."""
    extra = (1,) * (models.ndim - 2)

    def column(name: str, index: int) -> Array:
        return batch[name][:, index].reshape(-1, *extra)

    along = models[..., 0] - column("target", 0)
    across = models[..., 1] - column("target", 1)
    right, left, up = (column("slopes", i) for i in range(3))
    return np.stack([right * along, -left * along, up * across, 0 * along], axis=-1)


def _compute_active_slope(batch: Batch, models: Array) -> tuple[Array, Array]:
    """Return the gradient of the active piece, shape ``(B, 2)``, and its lead."""
    values = compute_loss_pieces(batch, models)
    active = np.argmax(values, axis=1)
    ordered = np.sort(values, axis=1)
    right, left, up = batch["slopes"].T
    zero = np.zeros_like(up)
    first = np.choose(active, [right, -left, zero, zero])
    second = np.where(active == 2, up, 0.0)
    return np.stack([first, second], axis=1), ordered[:, -1] - ordered[:, -2]


@dataclass(frozen=True)
class StarBoundSides:
    """Both sides of eq. (24) on noise-free runs, and the numbers under assumptions, ``(B,)``."""

    risk: Array
    violation: Array
    bound: Array
    beta: Array
    diameter: Array
    gap: Array
    rho: Array

    @property
    def value(self) -> Array:
        """The left side."""
        return np.asarray(self.risk + self.violation)


def compute_utility_sides(star: StarSetting, batch: Batch) -> StarBoundSides:
    """Return both sides of eq. (24), with the beta that the run needs.

    Examples
    --------
    >>> star = StarSetting(
    ...     nodes=3, iterations=2, inner_steps=1, records=10**9, epsilon=1.0, delta=1e-5
    ... )
    >>> batch = {
    ...     "penalty": np.ones(1), "target": np.array([[0.5, 0.0]]), "slopes": np.ones((1, 3)),
    ... }
    >>> found = compute_utility_sides(star, batch)
    >>> round(float(found.risk[0]), 4), round(float(found.diameter[0]), 4)
    (0.3882, 0.5006)
    """
    done, edges = run(star, batch), star.nodes - 1
    mean, mean_leaf = (path[:, :-1].mean(axis=1) for path in (done.centre, done.leaf))
    beta = (done.dual.max(axis=1) + SLACK) * (1 + 1e-9)  # above it whatever rounding does
    rho = batch["penalty"]
    bound = star.nodes * math.sqrt(2) * star.share / math.sqrt(star.steps)
    points = np.concatenate([done.centre, done.leaf, batch["target"][:, None]], axis=1)
    return StarBoundSides(
        risk=compute_loss_pieces(batch, mean).max(axis=1),
        # Every edge counts at both of its ends.
        violation=2 * edges * beta * np.linalg.norm(mean - mean_leaf, axis=1),
        bound=bound + 2 * edges * (rho + beta**2 / rho) / star.iterations,
        beta=beta,
        diameter=_bound_point_diameter(points),
        gap=done.gap,
        rho=rho,
    )


def _bound_point_diameter(points: Array) -> Array:
    """Return a bound, tight to 0.2%, on the largest distance between points of shape (B, k, 2)."""
    along = points @ np.stack([np.cos(_ANGLES), np.sin(_ANGLES)])
    widest = (along.max(axis=1) - along.min(axis=1)).max(axis=1)
    return np.asarray(widest / math.cos(math.pi / (2 * len(_ANGLES))))


# --- the noise ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """Probability that some iterate or dual is moved by more than `SLACK`, and root mean squares.

    ``centre`` and ``leaf`` are those of ``||w^_i - its noise-free value||``.
    """

    probability: float
    centre: float
    leaf: float


def compute_noise_spread(star: StarSetting, penalty: float) -> Spread:
    """Return the effect of the noise of eq. (14) and (20); a union bounds the probability.

    A deviation of two features with variance v each exceeds s with probability exp(-s^2 / 2v).

    Examples
    --------
    >>> star = StarSetting(
    ...     nodes=3, iterations=2, inner_steps=1, records=10**9, epsilon=1.0, delta=1e-5
    ... )
    >>> bool(compute_noise_spread(star, 1.0).probability < 1e-6)
    True
    """
    edges = star.nodes - 1
    # The average of the leaves has the variance of one over their number.
    share = 1 / edges if edges else 0.0
    system, alone = np.zeros((9, 9)), np.zeros((9, 9))
    outside = 0.0
    for k, r in star.schedule:
        eta = star.eta(k, r)
        # sigma times Lemma 5's 2 c_1 / m, for each feature.
        noise = star.noise / math.sqrt(FEATURES)
        of_centre = (noise / (2 * penalty * edges + eta)) ** 2
        of_leaf = (noise / (2 * penalty + eta)) ** 2 if edges else 0.0
        # A leaf is the average of leaves plus a deviation that is independent of it; the two
        # variances add up to its own.
        system = _update_star_covariance(
            system, star, penalty, (k, r), of_centre, of_leaf * share, centre=True
        )
        alone = _update_star_covariance(
            alone, star, penalty, (k, r), 0.0, of_leaf * (1 - share), centre=False
        )
        # A union over all iterates and duals, and over all leaves, bounds the probability of
        # leaving anywhere.
        both = system + alone
        outside += _bound_slack_tail(both[_X, _X]) + edges * (
            _bound_slack_tail(both[_Y, _Y]) + _bound_slack_tail(both[_G, _G])
        )
    # The average of eq. (22) divides sums over t l models.
    both = (system + alone) / star.steps**2
    return Spread(
        probability=outside,
        centre=math.sqrt(FEATURES * both[_AX, _AX]),
        leaf=math.sqrt(FEATURES * both[_AY, _AY]),
    )


def _bound_slack_tail(variance: float) -> float:
    return math.exp(-(SLACK**2) / (2 * variance)) if variance > 0 else 0.0


def certain_value(found: StarBoundSides, noise: Spread, star: StarSetting) -> float:
    """Return a lower bound on the left side of eq. (24), in expectation over the noise.

    With probability 1 - p the run has the noise-free gradients, and then the loss and every norm
    are within the mean deviation of their noise-free values; otherwise no term is below 0.
    """
    edges, beta = star.nodes - 1, float(found.beta[0])
    # Every norm is 1-Lipschitz, so it loses at most the mean deviation of its two ends.
    lost = noise.centre + 2 * edges * beta * (noise.centre + noise.leaf)
    return max((1 - noise.probability) * float(found.value[0]) - lost, 0.0)


def _update_star_covariance(
    cov: Array,
    star: StarSetting,
    rho: float,
    at: tuple[int, int],
    of_centre: float,
    of_leaf: float,
    *,
    centre: bool,
) -> Array:
    """Return the covariance after one update, and after the dual's if it ends an iteration."""
    update = _build_star_update(star, rho, at, centre)
    cov = update @ cov @ update.T
    noisy = np.zeros((9, 2))
    # The model and its running sum receive the same noise.
    noisy[[_X, _SX], 0] = math.sqrt(of_centre)
    noisy[[_Y, _SY], 1] = math.sqrt(of_leaf)
    cov = cov + noisy @ noisy.T
    if at[1] == star.inner_steps:
        ended = _build_iteration_end(star, rho)
        cov = ended @ cov @ ended.T
    return np.asarray(cov)


def _build_star_update(star: StarSetting, rho: float, at: tuple[int, int], centre: bool) -> Array:
    """Return eq. (13a) without its gradient; a leaf's deviation does not reach the centre."""
    eta, edges, first = star.eta(*at), star.nodes - 1, at[1] == 1
    update = np.eye(9)
    # Eq. (22) sums models for r < l: those before the update.
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
        # The sum of an iteration begins anew with its first step.
        update[total, total] += 0.0 if first else 1.0
    return update


def _build_iteration_end(star: StarSetting, rho: float) -> Array:
    """Return the broadcasts and eq. (15) at the end of an iteration."""
    ended = np.eye(9)
    ended[[_BX, _BY]] = 0.0
    ended[_BX, _SX] = ended[_BY, _SY] = 1 / star.inner_steps
    # Eq. (15): the dual falls by rho / 2 times the centre's broadcast less the leaf's.
    ended[_G] += rho / 2 * (ended[_BY] - ended[_BX])
    return ended
