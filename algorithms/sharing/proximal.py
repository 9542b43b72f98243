r"""Batched solvers for a party's update: hu2020's eq. (6), the same as hu2019's (6).

Every trial r minimises, over ``||x|| <= radius``,

    x' K x / 2 + q_r' x + lasso ||x||_1

with one matrix K for all trials; in eq. (6) it is ``rho D'D`` plus lambda times the regulariser's
ridge part on the diagonal, the ball is X_m, and q is ``D'(y + rho s)``. Without a lasso part the
ball leaves one scalar equation a trial (`ridge_in_ball`); otherwise FISTA with restarts
(`minimise_quadratic`; Beck & Teboulle 2009, O'Donoghue & Candes 2015) on K, whose steps cost one
product ``(R, d) (d, d)``. Trials that are done leave the batch.

Closed forms are held to the same residual (`require_stationary`). It can be out of reach where K is
nearly singular: with columns ``a`` and ``a + eps b`` and no ridge the minimiser is of size 1/eps,
and rounding its entries leaves a gradient of about ``1e-16 / eps``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.algorithms.problems.regularisers import apply_soft_threshold, project_on_ball
from dpaudit.errors import ConvergenceError
from dpaudit.mechanisms.residuals import report_residuals

TOLERANCE = 1e-10
# Of a norm on the border of the ball, relative to the radius; the projection removes the rest.
_BORDER = 1e-13  # largest excess that counts as converged
_ROUNDING = 1e-14  # excess that ends the iteration

_CHECK_EVERY = 10
_MOST_SECULAR_STEPS = 100
_MEASURE = "proximal gradient, relative to the linear term,"


@dataclass(frozen=True, kw_only=True)
class Quadratic:
    """The part of the problem that all trials share.

    Parameters
    ----------
    matrix
        K, symmetric and positive semidefinite, shape ``(d, d)``.
    smoothness
        A bound on the largest eigenvalue of K, above 0.
    lasso
        Weight of ``||x||_1``.
    radius
        Of the ball; None for all of space.
    tolerance
        Largest residual of a returned model, see `residual`.
    most_steps
        FISTA steps before a trial counts as not converged.
    """

    matrix: Array
    smoothness: float
    lasso: float = 0.0
    radius: float | None = None
    tolerance: float = TOLERANCE
    most_steps: int = 200_000

    def step(self, points: Array, linear: Array) -> Array:
        """Return the proximal-gradient step from ``points``, shape ``(R, d)``.

        Shrinking first and projecting then is the proximal map of both parts together, because the
        lasso is positively homogeneous (Yu 2013, Theorem 4).
        """
        moved = points - (points @ self.matrix + linear) / self.smoothness
        return project_on_ball(
            apply_soft_threshold(moved, self.lasso / self.smoothness), self.radius
        )

    def residual(self, points: Array, linear: Array) -> Array:
        """Return how far from optimal each trial is, shape ``(R,)``; 0 at a minimiser.

        It is the largest entry of the proximal gradient, ``smoothness |x - step(x)|``, relative to
        the largest entry of the linear term or to ``lasso``.
        """
        gradient = self.smoothness * (points - self.step(points, linear))
        return _compute_relative_residual(gradient, linear, self.lasso, self.smoothness)


def _compute_relative_residual(
    gradient: Array, linear: Array, lasso: float, smoothness: float
) -> Array:
    scale = np.maximum(lasso, np.abs(linear).max(axis=1, initial=0.0))
    # Without a linear term and a lasso the minimiser is 0, and there is nothing to be relative to
    # but the curvature.
    scale[scale == 0] = smoothness
    return np.asarray(np.abs(gradient).max(axis=1, initial=0.0) / scale)


def minimise_quadratic(problem: Quadratic, linear: Array, start: Array) -> Array:
    """Return the minimisers of all trials, shape ``(R, d)``.

    Parameters
    ----------
    problem
        What the trials share.
    linear
        Their linear terms q, shape ``(R, d)``.
    start
        Where to begin, shape ``(R, d)``.

    Raises
    ------
    ConvergenceError
        A trial's residual is still above the tolerance after ``problem.most_steps`` steps.

    Examples
    --------
    >>> problem = Quadratic(matrix=np.eye(2), smoothness=1.0, lasso=0.5)
    >>> abs(minimise_quadratic(problem, np.array([[-2.0, 0.1]]), np.zeros((1, 2))))
    array([[1.5, 0. ]])
    """
    solution = start.copy()
    todo = np.arange(len(start))
    current = ahead = start
    momentum = np.ones((len(start), 1))
    count = 0
    while True:
        if count % _CHECK_EVERY == 0 or count == problem.most_steps:
            residual = problem.residual(current, linear)
            solution[todo] = current
            # Written with a negation, so that a NaN counts as not converged.
            left = ~(residual <= problem.tolerance)
            # A trial is reported when it leaves, and only then: a later check would count it twice.
            report_residuals(
                "x-update", residual[~left], tolerance=problem.tolerance, measure=_MEASURE
            )
            if not left.any():
                return solution
            if count == problem.most_steps or np.isnan(residual).any():
                raise _not_converged(problem.tolerance, todo[left], residual[left], count)
            todo, linear, momentum = todo[left], linear[left], momentum[left]
            current, ahead = current[left], ahead[left]
        current, ahead, momentum = _run_accelerated_step(problem, linear, current, ahead, momentum)
        count += 1


def require_stationary(
    solution: Array,
    gradient: Array,
    linear: Array,
    smoothness: float,
    radius: float | None,
    tolerance: float,
) -> None:
    """Hold solutions of a closed form to the residual of `Quadratic`, without lasso; report it.

    Parameters
    ----------
    solution, gradient, linear
        The models, ``K x + q`` at them, and q; shape ``(R, d)`` each.
    smoothness, radius, tolerance
        As in `Quadratic`.

    Raises
    ------
    ConvergenceError
        A trial's residual is above the tolerance: rounding, where K is ill-conditioned.
    """
    if radius is not None:
        moved = project_on_ball(solution - gradient / smoothness, radius)
        gradient = smoothness * (solution - moved)
    residual = _compute_relative_residual(gradient, linear, 0.0, smoothness)
    # Written with a negation, so that a NaN counts as not converged.
    left = ~(residual <= tolerance)
    if left.any():
        raise _not_converged(tolerance, np.flatnonzero(left), residual[left])
    report_residuals("x-update", residual, tolerance=tolerance, measure=_MEASURE)


def _not_converged(
    tolerance: float, trials: NDArray[np.intp], residual: Array, steps: int | None = None
) -> ConvergenceError:
    after = "in closed form" if steps is None else f"after {steps} steps"
    worst = int(np.argmax(np.where(np.isnan(residual), np.inf, residual)))
    return ConvergenceError(
        f"x-update: trial {trials[worst]} is at residual {residual[worst]:.1e} {after} "
        f"(trials not converged: {len(trials)}), expected at most {tolerance:.1e}"
    )


def _run_accelerated_step(
    problem: Quadratic, linear: Array, current: Array, ahead: Array, momentum: Array
) -> tuple[Array, Array, Array]:
    """Return the next model, extrapolated model and momentum; going uphill forgets the momentum."""
    following = problem.step(ahead, linear)
    moved = following - current
    # The step from the extrapolated point is against its gradient, so a positive product with the
    # move means that momentum carries the trial uphill. Restarting there is O'Donoghue and Candes's
    # gradient scheme (2015); it keeps the linear rate of a strongly convex problem without its
    # modulus.
    uphill = np.sum((ahead - following) * moved, axis=1, keepdims=True) > 0
    larger = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
    share = np.where(uphill, 0.0, (momentum - 1) / larger)
    return following, following + share * moved, larger


def ridge_in_ball(curvature: Array, linear: Array, radius: float) -> Array:
    """Return the minimisers of ``sum_i k_i c_i^2 / 2 + q_i c_i`` in the ball, shape ``(R, r)``.

    K is diagonal here: coordinates are along its eigenvectors. A solution outside the ball moves to
    its border, where ``c_i = -q_i / (k_i + s)`` for the s with ``||c|| = radius``; Newton's method
    on ``1 / radius - 1 / ||c||`` rises to it from ``s = 0`` (More & Sorensen 1983).

    Parameters
    ----------
    curvature
        ``k``, above 0, shape ``(r,)``.
    linear
        ``q``, shape ``(R, r)``.
    radius
        Of the ball.

    Raises
    ------
    ConvergenceError
        A trial's equation is not solved to rounding, which takes a number that is not finite.

    Examples
    --------
    >>> ridge_in_ball(np.array([1.0, 1.0]), np.array([[3.0, 4.0], [0.3, 0.4]]), radius=1.0)
    array([[-0.6, -0.8],
           [-0.3, -0.4]])
    """
    shift = np.zeros((len(linear), 1))
    for _ in range(_MOST_SECULAR_STEPS):
        solution = -linear / (curvature + shift)
        norms = np.linalg.norm(solution, axis=1, keepdims=True)
        over = norms / radius - 1
        if (over <= _ROUNDING).all():
            break
        slope = np.sum(solution**2 / (curvature + shift), axis=1, keepdims=True)
        with np.errstate(invalid="ignore"):  # 0 / 0 for a solution at the origin, inside the ball
            # A solution inside the ball is the minimiser already and keeps its shift of 0.
            shift = np.where(over > 0, shift + over * norms**2 / slope, shift)
    trial = int(np.argmin((over <= _BORDER).all(axis=1)))
    if not (over <= _BORDER).all():
        raise ConvergenceError(
            f"x-update: trial {trial} is at norm {float(norms[trial, 0])}, expected {radius}"
        )
    beyond = np.maximum(over, 0)
    report_residuals(
        "x-update in a ball", beyond, tolerance=_BORDER, measure="norm beyond the radius"
    )
    # What is left of the excess is rounding; the projection takes it off, so that callers can rely
    # on the radius.
    return project_on_ball(solution, radius)
