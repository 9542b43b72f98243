r"""The law of one penalty-perturbed update: zhang2018, Appendix D, eq. (58)-(61).

With ``G(f) = (C/B) sum_n l'(u_n'f) u_n + (rho/N) f`` at the node, ``q = rho/N + 2 eta V`` and the
pull ``c = eta sum_j (f_i + f_j) - 2 lambda`` of the last broadcasts, eq. (25) says

    2 eta V e = c - G(f) - 2 eta V f                                                (58)
    p(f) = k(e(f)) det H / (2 eta V)^d,   H = (C/B) sum_n l''(u_n'f) u_n u_n' + q I (60)

(the paper's H is this one divided by ``2 eta V``: ratios are the same). Against a neighbour whose
record u became u^, with ``k ~ exp(-alpha ||e||)``,

    log p/p^ = alpha (||e^|| - ||e||) + log det H - log det H^                      (61)

``e^ - e`` is ``C/(2 eta V B) (l'(u'f) u - l'(u^'f) u^)``, and ``H^ - H`` has rank two. Functions
take R models at once and compute differences as differences, so that small losses keep their
digits.
"""

from __future__ import annotations

import numpy as np

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.margin_problem import MarginProblem
from dpaudit.algorithms.problems.smooth_losses import SmoothLoss
from dpaudit.laws.exponential_norm import norm_gain

# Floats that the Hessians of a block of trials, and the records scaled for them, may take.
_BLOCK = 4_000_000


def noise_behind(problem: MarginProblem, models: Array, pull: Array, records: Array) -> Array:
    """Return ``c - G(f) - 2 eta V f = 2 eta V e``: eq. (58), shape ``(R, d)``."""
    return pull - problem.gradient(models, records)


def noise_shift(problem: MarginProblem, models: Array, old: Array, new: Array) -> Array:
    """Return how much eq. (58) changes when record ``old`` becomes ``new``, shape ``(R, d)``."""
    slope = problem.loss.margin.slope
    removed = slope(models @ old)[:, None] * old
    return problem.weight * (removed - slope(models @ new)[:, None] * new)


def log_determinant_drop(
    problem: MarginProblem, models: Array, records: Array, old: Array, new: Array
) -> Array:
    """Return ``log det H - log det H^``, shape ``(R,)``.

    ``det H^ / det H`` is a 2 x 2 determinant: ``H^ = H + W S W'`` with ``W = [old, new]`` and
    ``S = (C/B) diag(-l''(old'f), l''(new'f))``.
    """
    both = np.stack([old, new], axis=1)
    solved = problem.hessian_solve(models, records, both)
    overlap = both.T @ solved
    signs = problem.weight * np.array([-1.0, 1.0])
    # det(I + S W'H^-1 W) is written out for two columns, so that the change itself is computed and
    # its logarithm keeps the digits of small losses.
    a, b = (problem.loss.curvature(models @ both) * signs).T
    cross = overlap[:, 0, 0] * overlap[:, 1, 1] - overlap[:, 0, 1] ** 2
    change = a * overlap[:, 0, 0] + b * overlap[:, 1, 1] + a * b * cross
    return np.asarray(-np.log1p(change))


def log_determinants(
    problem: MarginProblem, models: Array, records: Array, old: Array, new: Array
) -> tuple[Array, Array]:
    """Return ``log det H`` and ``log det H^``, shape ``(R,)`` each, by Cholesky factors of both.

    It uses nothing of `log_determinant_drop`: the audit compares the two.
    """
    count, d = records.shape
    # As many trials at once as the memory allows, one at least.
    rows = max(1, _BLOCK // (count * d + d * d))
    here, there = np.empty(len(models)), np.empty(len(models))
    for start in range(0, len(models), rows):
        block = slice(start, start + rows)
        hessians = problem.hessians(models[block], records)
        here[block] = _log_determinant(hessians)
        for record, sign in ((old, -1), (new, 1)):
            # The two ranks are exchanged in the same matrices: none is built a second time.
            weight = sign * problem.weight * problem.loss.curvature(models[block] @ record)
            hessians += weight[:, None, None] * np.outer(record, record)
        there[block] = _log_determinant(hessians)
    return here, there


def _log_determinant(matrices: Array) -> Array:
    factors = np.linalg.cholesky(matrices)
    return np.asarray(2 * np.log(np.diagonal(factors, axis1=1, axis2=2)).sum(axis=1))


def update_loss(
    problem: MarginProblem,
    models: Array,
    pull: Array,
    records: Array,
    old: Array,
    new: Array,
    *,
    rate: float,
    stretch: float,
) -> Array:
    """Return ``log p/p^`` of one update: eq. (61), shape ``(R,)``.

    Parameters
    ----------
    problem
        The node's: ``weight`` is C/B and ``curvature`` is ``rho/N + 2 eta V``.
    models
        What the node broadcast, shape ``(R, d)``.
    pull
        ``eta sum_j (f_i + f_j) - 2 lambda``, shape ``(R, d)``.
    records
        The node's signed records on the dataset, shape ``(B, d)``.
    old, new
        The record that differs, signed, on the dataset and on the neighbour.
    rate
        ``alpha``.
    stretch
        ``2 eta V``.
    """
    noise = noise_behind(problem, models, pull, records)
    # The difference of two norms is computed as such: large noise would hide it in rounding.
    gain = norm_gain(noise, noise_shift(problem, models, old, new))
    return rate / stretch * gain + log_determinant_drop(problem, models, records, old, new)


def compute_published_update_bound(
    loss: SmoothLoss, *, loss_weight: float, records: Array, stretch: Array, rate: Array
) -> Array:
    """Return ``C (1.4 c_1 + alpha) / (eta V B)``, the summand of eq. (26).

    ``records`` is B, ``stretch`` is ``2 eta V``; any shapes that broadcast.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
    >>> bound = compute_published_update_bound(
    ...     LOGISTIC, loss_weight=1.0, records=np.array(10), stretch=np.array(2.0), rate=np.array(3)
    ... )
    >>> round(float(bound), 6)
    0.335
    """
    # The factor 2 undoes that of `stretch`, 2 eta V.
    bound: Array = 2 * loss_weight * (1.4 * loss.largest_curvature + rate) / (stretch * records)
    return bound
