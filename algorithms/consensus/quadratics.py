"""M-ADMM on quadratics: one step of it, as zhang2018's Theorems 3.1 and 3.2 see it, and its modes.

**One step**: inequality (19), and Theorem 3.2.

| paper         | name               | meaning                                      | shape   |
|---------------|--------------------|----------------------------------------------|---------|
| D -+ A        | ``adjacency``      | Laplacian L and signless Laplacian S         | (R,N,N) |
| eta_i(1)      | ``penalty``        | at least theta; kept from there on           | (R,N)   |
| theta         | ``dual_step``      |                                              | scalar  |
| m_i = M_i     | ``curvature``      | ``O_i(f) = m_i f^2 / 2 - b_i f``             | (R,N)   |
| b_i           | ``slope``          |                                              | (R,N)   |
| f_i(0)        | ``start``          | ``Lambda(0) = 0``                            | (R,N)   |
| mu            | ``mu``             | any number above 1                           | (R,)    |
| f, 2 Lambda   | ``models, duals``  |                                              | (R,N)   |
| Z, J          |                    | ``(Y, f)``, ``diag(I / theta, W S)``         |         |

As ``2 Lambda = sqrt(L) Y`` with Y in the range of L, inner products of Y are those of ``2 Lambda``
in the pseudo-inverse of L. The slopes are free, and with them Y* and f*: so the first step from
``Lambda(0) = 0`` stands for a step from any state.

**What holds.** Let all nodes share one penalty, ``W = w I``, ``w >= theta``. Then ``(W - theta I)
L`` and ``W S`` are symmetric and positive semi-definite, and the paper's proof of (19), (21) and
(22) is sound. Consensus is in the null space of L, so the right side of (22) is at least
``2 m_o I`` and no more. As ``J``'s lower block is at most ``sigma~``, (22) holds for

    delta = min{ theta s / (mu^2 sigma~),  2 m_o / ((mu^2 M_o^2 + mu sigma-^2) / (theta s (mu - 1))
                                                     + sigma~) },      s = sigma_min(L)

with the largest singular values sigma~ of ``W S`` and sigma- of ``(W - theta I) L``: that is eq.
(23) with ``2 m_o`` for ``2 m_o + 2 sigma-_min``, and the contraction holds with it (``proved``).

**What does not.** Eq. (23) adds the smallest *nonzero* singular value of ``(W - theta I) L``, which
says nothing on consensus: with two nodes at the same distance from f* and small m_o, hardly
anything contracts, and delta stays away from 0. With penalties of the nodes' own, the symmetric
parts of ``(W - theta I) L`` and ``W S`` need not be semi-definite, so that (38) does not give (39),
and what is written as a squared norm can be negative.

**Modes**, for bounded penalties (Theorem 3.1). Penalties that do not fall and are bounded settle,
and the recursion (13), (14) tends to one with ``W = W(infinity)``. On ``O_i(f) = m_i f^2/2 - b_i
f`` it is linear; with M = diag(m_i) and ``K = M + 2 W D``, the deviations from the fixed point
follow

    f+ = K^-1 (W (D + A) f - p),    p+ = p + theta (D - A) f+,     p = 2 Lambda,  sum_i p_i = 0.

M-ADMM converges to the optimum from every start if all modes are inside the unit circle, and
diverges from almost every start if one is outside. The spectral radius is therefore what the
theorem, read with bounded penalties, says to be below 1 when the m_i are above 0.

**All modes are inside the unit circle**, for any connected graph, any penalties ``w_i >= theta`` of
the nodes' own, and any ``m_i >= 0`` that are not all 0. (``w_i > theta/2`` is enough.)

*Reduction.* Let z be a mode with ``z != 1`` and ``u = 1/z``, ``b_i = theta / w_i``. Of ``z p = p +
theta z L f`` follows ``p = theta z/(z - 1) L f``; with ``S = 2 D - L`` the first equation becomes

    (m_i / w_i + 2 (1 - u) d_i) f_i  =  - u (1 + b_i - u) / (1 - u)  (L f)_i,

d being the degrees. With ``y = D^1/2 f`` and the normalised Laplacian ``N = D^-1/2 L D^-1/2``,

    diag(h) y = N y,     h_i = - (1 - u) (m_i / (w_i d_i) + 2 (1 - u)) / (u (1 + b_i - u)),

so that ``sum_i h_i |y_i|^2 = y* N y``: a mean of the h_i is a real number in [0, 2], where the
eigenvalues of N are.

*No mode on the circle.* Let ``u = exp(i phi)`` with ``0 < phi < pi``. As ``(1 - u)^2 / u =
-2 (1 - cos phi)`` and ``-(1 - u) / u = (1 - cos phi) + i sin phi``, h_i is

    [4 (1 - cos phi) + (m_i / (w_i d_i)) ((1 - cos phi) + i sin phi)]
        (b_i + 1 - cos phi + i sin phi) / |1 + b_i - u|^2,

whose imaginary part is above 0: no mean of such numbers is real; nor is one for phi below 0, by
conjugation. At ``u = -1``, ``h_i >= 8 / (2 + b_i) > 2`` as ``b_i <= 1 < 2``: no mean is at most 2.
At ``z = 1`` f is a consensus c with ``m_i c = -p_i``, and p sums to 0: ``c = 0`` and ``p = 0``.

*So none outside.* Penalties, of at least theta, and curvatures, not all 0, form a connected set;
modes move continuously on it without passing the circle. With one penalty and one curvature for all
nodes they are inside: the paper's proof is sound there, but for the step after (45)
(`dpaudit.algorithms.consensus.statements.checks.convergence`).

Hence Theorem 3.1 holds on quadratics for penalties that are bounded. As they do not fall they
settle, the map of step t tends to one whose powers shrink, and so the deviations shrink; with
vectors f_i and Hessians ``M_i >= 0`` whose sum is positive definite the proof is the same, with
``y_i* M_i y_i / |y_i|^2`` for m_i.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpaudit._typing import Array
from dpaudit.refutation.search import Batch


@dataclass(frozen=True, kw_only=True, eq=False)
class StepDistances:
    """Distances of the first two states to the optimum; shapes in the module docstring.

    ``before`` and ``after`` are ``||Z(t) - Z*||_J^2`` for t = 0 and 1, ``product`` is the left side
    of (19), ``size`` is ``||Y(0) - Y*||^2 / theta + ||f(0) - f*||^2`` in ``2 W D``: above 0, and
    ``before`` is at most that for a shared penalty.
    """

    before: Array
    after: Array
    product: Array
    size: Array


def build_laplacians(adjacency: Array) -> tuple[Array, Array]:
    """Return ``D - A`` and ``D + A``, shape ``(R, N, N)``.

    Examples
    --------
    >>> [matrix[0].tolist() for matrix in build_laplacians(np.array([[[0.0, 1.0], [1.0, 0.0]]]))]
    [[[1.0, -1.0], [-1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]]
    """
    degrees = adjacency.sum(axis=2)[:, :, None] * np.eye(adjacency.shape[1])
    return degrees - adjacency, degrees + adjacency


def first_step(batch: Batch, dual_step: float) -> StepDistances:
    """Return the distances before and after eq. (10) and (11).

    Examples
    --------
    >>> pair = np.array([[[0.0, 1.0], [1.0, 0.0]]])
    >>> one, zero = np.ones((1, 2)), np.zeros((1, 2))
    >>> batch = {"adjacency": pair, "penalty": one, "curvature": one, "slope": zero, "start": one}
    >>> step = first_step(batch, 1.0)
    >>> step.before, step.after.round(4)
    (array([4.]), array([1.7778]))
    """
    laplacian, signless = build_laplacians(batch["adjacency"])
    penalty, curvature, slope, start = (
        batch[name] for name in ("penalty", "curvature", "slope", "start")
    )
    degrees = batch["adjacency"].sum(axis=2)
    # Slopes and curvatures of the sum: f* minimises sum_i O_i.
    best = slope.sum(axis=1, keepdims=True) / curvature.sum(axis=1, keepdims=True)
    # At the optimum O_i'(f*) + 2 Lambda_i = 0.
    best_duals = slope - curvature * best
    # Eq. (10) from Lambda(0) = 0, solved in closed form.
    models = (slope + penalty * _multiply_batched_vectors(signless, start)) / (
        curvature + 2 * penalty * degrees
    )
    duals = dual_step * _multiply_batched_vectors(laplacian, models)
    far, near = start - best, models - best
    weighted = penalty[:, :, None] * signless
    left, gap = (
        _apply_pseudo_inverse(laplacian, best_duals),
        _apply_pseudo_inverse(laplacian, duals - best_duals),
    )
    old, new = (
        _compute_batched_dot(best_duals, left) / dual_step,
        _compute_batched_dot(duals - best_duals, gap) / dual_step,
    )
    return StepDistances(
        before=old + _compute_batched_dot(far, _multiply_batched_vectors(weighted, far)),
        after=new + _compute_batched_dot(near, _multiply_batched_vectors(weighted, near)),
        product=_compute_batched_dot(duals, gap) / dual_step
        + _compute_batched_dot(near, _multiply_batched_vectors(weighted, models - start)),
        size=old + _compute_batched_dot(2 * penalty * degrees, far**2),
    )


def compute_contraction_rate(batch: Batch, dual_step: float, *, proved: bool) -> Array:
    """Return delta of eq. (23), or the one that is proved for a shared penalty, shape ``(R,)``.

    Examples
    --------
    >>> pair, one = np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.ones((1, 2))
    >>> batch = {"adjacency": pair, "penalty": 1.25 * one, "curvature": one / 8}
    >>> batch["mu"] = np.array([1.5])
    >>> [
    ...     compute_contraction_rate(batch, 1.0, proved=proved).round(4).tolist()
    ...     for proved in (False, True)
    ... ]
    [[0.3556], [0.0859]]
    """
    laplacian, signless = build_laplacians(batch["adjacency"])
    penalty, curvature, mu = batch["penalty"][:, :, None], batch["curvature"], batch["mu"]
    above = _compute_singular_values((penalty - dual_step) * laplacian)
    # Singular values descend. L has rank N - 1 on a connected graph, so the last but one is the
    # smallest that is not 0.
    tilde = _compute_singular_values(penalty * signless)[:, 0]
    reach = dual_step * _compute_singular_values(laplacian)[:, -2]
    numerator = 2 * curvature.min(axis=1) + (0.0 if proved else 2 * above[:, -2])
    squares = mu**2 * curvature.max(axis=1) ** 2 + mu * above[:, 0] ** 2
    second = numerator / (squares / (reach * (mu - 1)) + tilde)
    return np.asarray(np.minimum(reach / (mu**2 * tilde), second))


def forms_22(batch: Batch, dual_step: float) -> tuple[Array, Array, Array]:
    """Return both quadratic forms of (22) along ``start``, the left one without its delta.

    The third is what they are made of, in absolute value: the unit of forms that may be 0.

    Examples
    --------
    >>> pair, one = np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.ones((1, 2))
    >>> batch = {"adjacency": pair, "penalty": 1.5 * one, "curvature": one / 8, "start": one}
    >>> left, right, _ = forms_22(batch | {"mu": np.array([2.0])}, 1.0)
    >>> left.tolist(), right.tolist()  # of the right one only 2 m is left: the nodes agree
    ([8.0625], [0.5])
    """
    laplacian, signless = build_laplacians(batch["adjacency"])
    penalty, curvature, mu = batch["penalty"][:, :, None], batch["curvature"], batch["mu"]
    excess = (penalty - dual_step) * laplacian
    reach = dual_step * _compute_singular_values(laplacian)[:, -2]
    squares = (
        mu[:, None] ** 2 * curvature**2
        + (mu * _compute_singular_values(excess)[:, 0] ** 2)[:, None]
    )
    along, square = batch["start"], batch["start"] ** 2
    common = _compute_batched_dot(square, squares) / (reach * (mu - 1))
    mixed = _compute_batched_dot(along, _multiply_batched_vectors(penalty * signless, along))
    held, own = (
        _compute_batched_dot(along, _multiply_batched_vectors(excess, along)),
        _compute_batched_dot(square, curvature),
    )
    size = common + abs(mixed) + 2 * abs(held) + 2 * own
    return common + mixed, 2 * held + 2 * own, size


def _multiply_batched_vectors(matrix: Array, vector: Array) -> Array:
    return np.asarray((matrix @ vector[:, :, None])[:, :, 0])


def _compute_batched_dot(one: Array, other: Array) -> Array:
    return np.asarray(np.sum(one * other, axis=1))


def _apply_pseudo_inverse(laplacian: Array, balanced: Array) -> Array:
    """Return the pseudo-inverse times a vector that sums to 0."""
    nodes = laplacian.shape[1]
    # Adding 11'/N makes L regular and leaves it as it is on vectors that sum to 0.
    return np.asarray(np.linalg.solve(laplacian + 1 / nodes, balanced[:, :, None])[:, :, 0])


def _compute_singular_values(matrix: Array) -> Array:
    return np.asarray(np.linalg.svd(matrix, compute_uv=False))


def iteration_map(batch: Batch, dual_step: float) -> Array:
    """Return the matrix of ``(f, p) -> (f+, p+)`` where p sums to 0, shape ``(R, 2N, 2N)``."""
    laplacian, signless = build_laplacians(batch["adjacency"])
    penalty, count = batch["penalty"], len(batch["penalty"])
    nodes = penalty.shape[1]
    diagonal = batch["curvature"] + 2 * penalty * batch["adjacency"].sum(axis=2)
    eye = np.eye(nodes)
    models = np.concatenate([penalty[:, :, None] * signless, -eye + np.zeros((count, 1, 1))], 2)
    models = models / diagonal[:, :, None]
    keeps = np.concatenate([np.zeros((nodes, nodes)), eye], axis=1)
    duals = keeps + dual_step * (laplacian @ models)
    # p sums to 0 along every run. Without this projection its sum would be a mode at 1 that no run
    # has.
    balanced = np.block([[eye, 0 * eye], [0 * eye, eye - 1 / nodes]])
    return np.asarray(np.concatenate([models, duals], axis=1) @ balanced)


def spectral_radius(batch: Batch, dual_step: float) -> Array:
    """Return the largest modulus of an eigenvalue, shape ``(R,)``.

    Examples
    --------
    >>> pair, one = np.array([[[0.0, 1.0], [1.0, 0.0]]]), np.ones((1, 2))
    >>> spectral_radius({"adjacency": pair, "penalty": one, "curvature": one}, 1.0).round(6)
    array([0.666667])
    """
    values = np.linalg.eigvals(iteration_map(batch, dual_step))
    return np.asarray(np.abs(values).max(axis=1))
