r"""Newton's method for zhang2018's eq. (10) and (25), held to descent, for the trials that need it.

Of ``F(f) = weight sum_n l(u_n'f) + curvature ||f||^2 / 2 - linear'f`` with gradient g, a pass takes
the step ``p = -H^-1 g``, H a generalised Hessian where l'' jumps. The full step is taken if it
halves the smallest gradient so far, or if F still falls at its end. Otherwise a line search on F
brackets the t in (0, 1) at which ``F(f + t p)`` stops falling, and takes one just before it. It
looks at the derivative ``p'g(f + t p)`` and not at values: by convexity its sign says the same, and
near the minimum differences of values drown in rounding.

Convergence. H lies between ``curvature I`` and a bound K, so p is a descent direction at an angle
bounded away from 90 degrees, and each line search lowers F by at least a fixed share of
``g'K^-1 g``; gradients are halved only finitely often. Near the minimiser full steps are taken: the
gradient is semismooth, so they converge superlinearly, and at once where it is piecewise linear
(Qi & Sun 1993).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from algorithms.margin_problem import MarginProblem
from dpaudit.errors import ConvergenceError

Array = NDArray[np.float64]

# Margins, slopes and their like that a block of trials may hold.
_BLOCK = 2_000_000
# A line search ends where F falls by at most this share of how it fell at first, or is halved out.
_FLAT, _MOST_HALVINGS = 0.1, 80


@dataclass(frozen=True)
class Descent:
    """Where trials ended: points ``(R, d)``, norms of their gradients ``(R,)``, and the effort."""

    points: Array
    sizes: Array
    passes: int
    evaluations: int


def descend(
    problem: MarginProblem,
    linear: Array,
    records: Array,
    start: Array,
    allowed: Array,
    most_passes: int,
) -> Descent:
    """Move every trial until its gradient's norm is at most ``allowed``, or can fall no further.

    Raises
    ------
    ConvergenceError
        A Hessian is singular to rounding.
    """
    points, sizes = start.copy(), np.empty(len(start))
    passes, evaluations, rows = 0, 0, max(1, _BLOCK // len(records))
    for first in range(0, len(start), rows):
        block = slice(first, first + rows)
        part = _descend(problem, linear[block], records, points[block], allowed[block], most_passes)
        points[block], sizes[block] = part.points, part.sizes
        passes, evaluations = max(passes, part.passes), evaluations + part.evaluations
    return Descent(points, sizes, passes, evaluations)


def _descend(
    problem: MarginProblem,
    linear: Array,
    records: Array,
    points: Array,
    allowed: Array,
    most_passes: int,
) -> Descent:
    gradient = problem.gradient(points, records) - linear
    sizes = np.linalg.norm(gradient, axis=1)
    best, evaluations = sizes.copy(), len(points)
    todo = np.flatnonzero(sizes > allowed)
    for count in range(most_passes):
        if not len(todo):
            return Descent(points, sizes, count, evaluations)
        here, old = points[todo], gradient[todo]
        there, new = _step(problem, linear[todo], records, here, old, best[todo])
        evaluations += 2 * len(todo)
        points[todo], gradient[todo] = there, new
        sizes[todo] = np.linalg.norm(new, axis=1)
        best[todo] = np.minimum(best[todo], sizes[todo])
        moved = (there != here).any(axis=1)
        todo = todo[moved & (sizes[todo] > allowed[todo])]
    return Descent(points, sizes, most_passes, evaluations)


def _step(
    problem: MarginProblem, linear: Array, records: Array, here: Array, old: Array, best: Array
) -> tuple[Array, Array]:
    """Return the points after a pass and their gradients."""
    direction = _direction(problem, records, here, old)
    there = here + direction
    new = problem.gradient(there, records) - linear
    beyond = (np.linalg.norm(new, axis=1) > best / 2) & (np.sum(new * direction, axis=1) > 0)
    if beyond.any():
        length = _length(problem, records, here[beyond], direction[beyond], old[beyond])
        there[beyond] = here[beyond] + length[:, None] * direction[beyond]
        new[beyond] = problem.gradient(there[beyond], records) - linear[beyond]
    return there, new


def _direction(problem: MarginProblem, records: Array, points: Array, gradient: Array) -> Array:
    try:
        solved = problem.hessian_solve(points, records, gradient[:, :, None])
    except np.linalg.LinAlgError:
        raise ConvergenceError(
            f"argmin: a Hessian is singular to rounding with weight {problem.weight:.3g} of a loss "
            f"and curvature {problem.curvature:.3g}, expected a larger penalty or regulariser"
        ) from None
    return -solved[:, :, 0]


def _length(
    problem: MarginProblem, records: Array, points: Array, direction: Array, gradient: Array
) -> Array:
    """Return a t in (0, 1) for every trial at which F falls a little still, by bisection."""
    slope = problem.loss.margin.slope
    margins, rates = points @ records.T, direction @ records.T
    before, fall = slope(margins), np.sum(gradient * direction, axis=1)
    bend = problem.curvature * np.sum(direction**2, axis=1)
    low, high = np.zeros(len(points)), np.ones(len(points))
    flat = np.zeros(len(points), dtype=np.bool_)
    for _ in range(_MOST_HALVINGS):
        middle = (low + high) / 2
        change = slope(margins + middle[:, None] * rates) - before
        there = fall + problem.weight * np.sum(change * rates, axis=1) + middle * bend
        falls = there <= 0
        low, high = np.where(falls, middle, low), np.where(falls, high, middle)
        flat |= falls & (there >= _FLAT * fall)
        if flat.all():
            break
    return low
