"""The problem of one node, a margin loss over its records plus a quadratic, and its argmin.

    f -> weight sum_n l(u_n'f) + curvature ||f||^2 / 2 - linear'f

The records u_n are shared by the trials, ``linear`` is not. With ``u_n = y_n x_n``, weight C/B_i
and curvature ``rho/N + 2 eta_i V_i`` it is what a node minimises in zhang2018's eq. (10) and (25)
(`dpaudit.algorithms.consensus.algorithm` spells ``linear`` out); eq. (12) says that its gradient is
0. `hessians` divided by ``2 eta_i V_i`` are the Jacobians in Appendix D's eq. (60), up to their
sign.

**The argmin**, one for every trial, all at once. A pass costs two matrix products for all trials
that are left. It takes a chord-Newton step: the Hessian is that of the best linear
model of the gradient over the trials (their mean Hessian), factored once. Steps are accelerated by
Anderson's multisecant correction over the last few passes, trial by trial. Trials that are left
after 40 passes take Newton steps with Hessians of their own.

What makes it converge is the second phase: along every Newton step the objective falls by a share
that depends on the problem alone, whatever the first phase left, and where the gradient is
piecewise linear it ends after finitely many steps. The first phase is for speed. It cannot lose:
with ``K >= Hessian`` everywhere (l'' replaced by its maximum), a step that does not lower
``sqrt(g' K^-1 g)`` enough, g the gradient, is taken back and followed by the step ``-K^-1 g``. A
trial leaves when its gradient is small against its terms; then it is within ``residual /
curvature`` of the minimiser. Not every problem is within reach of double precision: where the
curvature is below rounding beside the Hessian of the loss, or the tolerance below the rounding of
the gradient, a `ConvergenceError` says so.

**Newton's method**, held to descent, for the trials that need it. With F the objective and g its
gradient, a pass takes the step ``p = -H^-1 g``, H a generalised Hessian where l'' jumps. The full
step is taken if it halves the smallest gradient so far, or if F still falls at its end. Otherwise a
line search on F brackets the t in (0, 1) at which ``F(f + t p)`` stops falling, and takes one just
before it. It looks at the derivative ``p'g(f + t p)`` and not at values: by convexity its sign says
the same, and near the minimum differences of values drown in rounding.

It converges: H lies between ``curvature I`` and a bound K, so p is a descent direction at an angle
bounded away from 90 degrees, and each line search lowers F by at least a fixed share of
``g'K^-1 g``; gradients are halved only finitely often. Near the minimiser full steps are taken: the
gradient is semismooth, so they converge superlinearly, and at once where it is piecewise linear
(Qi & Sun 1993).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.smooth_losses import SmoothLoss
from dpaudit.errors import ConvergenceError
from dpaudit.mechanisms.residuals import report_residuals

TOLERANCE = 1e-12

# Records a matrix product takes at once: the margins of a block of trials then stay in cache.
_TILE = 512
# Floats that the Hessians of a block of trials, and the records scaled for them, may take.
_BLOCK = 4_000_000


@dataclass(frozen=True, kw_only=True)
class MarginProblem:
    """The part of the problem that all trials share; `minimise_margin_problem` solves it.

    Parameters
    ----------
    loss
        ``l``.
    weight
        What a record's loss counts.
    curvature
        Of the quadratic term, above 0.
    tolerance
        Largest norm of a returned model's gradient, relative to the size of its terms
        ``curvature + ||linear|| + weight c sum_n ||u_n||``, c the Lipschitz constant of ``l``, or
        ``|l'(0)|`` where there is none.
    """

    loss: SmoothLoss
    weight: float
    curvature: float
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        check.require_positive("weight", self.weight)
        check.require_positive("curvature", self.curvature)
        check.require_positive("tolerance", self.tolerance)

    def loss_gradient(self, models: Array, records: Array) -> Array:
        """Return ``weight sum_n l'(u_n'f) u_n``, shape ``(R, d)``."""
        gradient = np.zeros_like(models)
        for start in range(0, len(records), _TILE):
            tile = records[start : start + _TILE]
            gradient += self.loss.margin.slope(models @ tile.T) @ tile
        gradient *= self.weight
        return gradient

    def gradient(self, models: Array, records: Array) -> Array:
        """Return the gradient of the loss and the quadratic term, shape ``(R, d)``."""
        return self.loss_gradient(models, records) + self.curvature * models

    def hessians(self, models: Array, records: Array) -> Array:
        """Return ``weight sum_n l''(u_n'f) u_n u_n' + curvature I``, shape ``(R, d, d)``."""
        # Roots on both sides keep the product positive semi-definite; l'' is not below 0.
        roots = np.sqrt(self.loss.curvature(models @ records.T))
        scaled = roots[:, :, None] * records
        hessians: Array = self.weight * (scaled.transpose(0, 2, 1) @ scaled)
        return hessians + self.curvature * np.eye(records.shape[1])

    def hessian_solve(self, models: Array, records: Array, right: Array) -> Array:
        """Return ``H(f)^-1 right`` of every model, shape ``(R, d, k)``, in blocks of trials.

        ``right`` has shape ``(d, k)``, or ``(R, d, k)`` for a side of every trial's own.
        """
        count, d = records.shape
        rows = max(1, _BLOCK // (count * d + d * d))
        solved = np.empty((len(models), *right.shape[-2:]))
        for start in range(0, len(models), rows):
            block = slice(start, start + rows)
            side = right if right.ndim == 2 else right[block]
            solved[block] = np.linalg.solve(self.hessians(models[block], records), side)
        return solved

    def scale(self, linear: Array, records: Array) -> Array:
        """Return the scale of the tolerance, shape ``(R,)``."""
        largest = self.weight * self.loss.slope_scale * np.linalg.norm(records, axis=1).sum()
        scale: Array = self.curvature + largest + np.linalg.norm(linear, axis=1)
        return scale


# Margins, slopes and their like that a block of trials may hold.
_MARGINS = 2_000_000
_FLAT = 0.1  # share of F's first slope at which a line search ends
_MOST_HALVINGS = 80  # halvings after which a line search ends


@dataclass(frozen=True)
class Descent:
    """The ends of trials: points ``(R, d)``, norms of their gradients ``(R,)``, and the effort."""

    points: Array
    sizes: Array
    passes: int
    evaluations: int


def run_descent(
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
    # One at least, however many records there are.
    passes, evaluations, rows = 0, 0, max(1, _MARGINS // len(records))
    for first in range(0, len(start), rows):
        block = slice(first, first + rows)
        part = _run_descent_block(
            problem, linear[block], records, points[block], allowed[block], most_passes
        )
        points[block], sizes[block] = part.points, part.sizes
        passes, evaluations = max(passes, part.passes), evaluations + part.evaluations
    return Descent(points, sizes, passes, evaluations)


def _run_descent_block(
    problem: MarginProblem,
    linear: Array,
    records: Array,
    points: Array,
    allowed: Array,
    most_passes: int,
) -> Descent:
    gradient = problem.gradient(points, records) - linear
    sizes = np.linalg.norm(gradient, axis=1)
    # The gradient at the start counts as one evaluation a trial.
    best, evaluations = sizes.copy(), len(points)
    todo = np.flatnonzero(sizes > allowed)
    for count in range(most_passes):
        if not len(todo):
            return Descent(points, sizes, count, evaluations)
        here, old = points[todo], gradient[todo]
        there, new = _run_newton_pass(problem, linear[todo], records, here, old, best[todo])
        evaluations += 2 * len(todo)
        points[todo], gradient[todo] = there, new
        sizes[todo] = np.linalg.norm(new, axis=1)
        best[todo] = np.minimum(best[todo], sizes[todo])
        # A point that a pass does not move has reached the spacing of doubles, and would never
        # converge.
        moved = (there != here).any(axis=1)
        todo = todo[moved & (sizes[todo] > allowed[todo])]
    return Descent(points, sizes, most_passes, evaluations)


def _run_newton_pass(
    problem: MarginProblem, linear: Array, records: Array, here: Array, old: Array, best: Array
) -> tuple[Array, Array]:
    """Return the points after a pass and their gradients."""
    direction = _solve_newton_direction(problem, records, here, old)
    there = here + direction
    new = problem.gradient(there, records) - linear
    # The full step is too long where it neither halves the best gradient nor leaves F falling.
    beyond = (np.linalg.norm(new, axis=1) > best / 2) & (np.sum(new * direction, axis=1) > 0)
    if beyond.any():
        length = _search_step_length(problem, records, here[beyond], direction[beyond], old[beyond])
        there[beyond] = here[beyond] + length[:, None] * direction[beyond]
        new[beyond] = problem.gradient(there[beyond], records) - linear[beyond]
    return there, new


def _solve_newton_direction(
    problem: MarginProblem, records: Array, points: Array, gradient: Array
) -> Array:
    try:
        solved = problem.hessian_solve(points, records, gradient[:, :, None])
    except np.linalg.LinAlgError:
        raise ConvergenceError(
            f"argmin: a Hessian is singular to rounding with weight {problem.weight:.3g} of a loss "
            f"and curvature {problem.curvature:.3g}, expected a larger penalty or regulariser"
        ) from None
    return -solved[:, :, 0]


def _search_step_length(
    problem: MarginProblem, records: Array, points: Array, direction: Array, gradient: Array
) -> Array:
    """Return a t in (0, 1) for every trial at which F falls a little still, by bisection."""
    slope = problem.loss.margin.slope
    margins, rates = points @ records.T, direction @ records.T
    # Derivatives along the step are sums of differences from here, which keep their digits near the
    # minimum.
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
        # F is flat enough where its slope is a tenth of the first: searching on gains little.
        flat |= falls & (there >= _FLAT * fall)
        if flat.all():
            break
    return low


_MEASURE = "norm of the gradient, relative to its terms,"
_MOST_PASSES = 300
_PILOTS = 32  # trials that fit the linear model
_MEMORY = 6  # past passes that the acceleration looks at
# Passes after which a trial is worth a Hessian of its own.
_PATIENCE = 40
# Keeps the acceleration's normal equations, of diagonal 1, regular.
_RIDGE = 1e-13
# Curvature, relative to the trace of a Hessian, below which eigenvalues keep its inverse positive.
_SINGULAR = 1e-9


@dataclass(frozen=True)
class Solution:
    """Minimisers and how good they are.

    Parameters
    ----------
    models
        Shape ``(R, d)``.
    residuals
        Norm of the gradient at each, shape ``(R,)``; the distance from the minimiser is at most
        this divided by the problem's curvature. Reported relative to `MarginProblem.scale`.
    evaluations
        Gradients evaluated, one a trial and pass.
    """

    models: Array
    residuals: Array
    evaluations: int


def minimise_margin_problem(problem: MarginProblem, linear: Array, records: Array) -> Solution:
    """Return the minimisers.

    Parameters
    ----------
    linear
        Shape ``(R, d)``.
    records
        Shape ``(B, d)``: the ``u_n``.

    Raises
    ------
    ConvergenceError
        A trial has not converged: a number is not finite, or the tolerance is below rounding.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
    >>> problem = MarginProblem(loss=LOGISTIC, weight=0.5, curvature=0.1)
    >>> records, linear = np.eye(2), np.array([[0.0, 0.3], [1.0, -1.0], [5.0, 0.2]])
    >>> solution = minimise_margin_problem(problem, linear, records)
    >>> bool(np.abs(problem.gradient(solution.models, records) - linear).max() < 1e-11)
    True
    """
    # A trial that is not finite would stall all others in the shared linear model.
    finite = np.isfinite(linear).all(axis=1)
    if not finite.all():
        trial = int(np.argmin(finite))
        raise ConvergenceError(f"argmin: trial {trial} got numbers that are not finite")
    if not len(linear):
        return Solution(linear.copy(), np.zeros(0), 0)
    scale = problem.scale(linear, records)
    solution = _solve_margin_problem(problem, linear, records, problem.tolerance * scale)
    relative = solution.residuals / scale
    report_residuals("argmin", relative, tolerance=problem.tolerance, measure=_MEASURE)
    return solution


def _solve_margin_problem(
    problem: MarginProblem, linear: Array, records: Array, allowed: Array
) -> Solution:
    """Return minimisers whose gradients have at most the norms ``allowed``, shape ``(R,)``."""
    search = _Search.starting(problem, linear, records)
    models, residuals = np.empty_like(linear), np.full(len(linear), np.nan)
    evaluations, quick = len(linear), min(_PATIENCE, _MOST_PASSES)
    for count in range(quick + 1):
        size = np.linalg.norm(search.gradient, axis=1)
        done = size <= allowed[search.trials]
        if done.any():
            left = search.trials[done]
            models[left], residuals[left] = search.point[done], size[done]
            search = search.without(done)
        if not len(search.trials):
            return Solution(models, residuals, evaluations)
        if count < quick:
            evaluations += len(search.trials)
            search.advance()
    rest, passes = search.trials, _MOST_PASSES - quick
    found = run_descent(problem, linear[rest], records, search.point, allowed[rest], passes)
    models[rest], residuals[rest] = found.points, found.sizes
    # Written so that a residual of NaN counts as failed.
    failed = np.flatnonzero(~(residuals <= allowed))
    if len(failed):
        raise _not_converged(problem, int(failed[0]), residuals, allowed, quick + found.passes)
    return Solution(models, residuals, evaluations + found.evaluations)


def _not_converged(
    problem: MarginProblem, trial: int, residuals: Array, allowed: Array, passes: int
) -> ConvergenceError:
    return ConvergenceError(
        f"argmin: trial {trial} has a gradient of {residuals[trial]:.3g} after {passes} passes "
        f"(weight {problem.weight:.3g} of a loss, curvature {problem.curvature:.3g}), "
        f"expected at most {allowed[trial]:.3g}"
    )


@dataclass(frozen=True)
class _Chord:
    """The gradient's linear model ``inverse^-1 f + offset``, and the inverse of a Hessian bound."""

    inverse: Array
    offset: Array
    bound: Array
    enough: float

    def solve(self, linear: Array) -> Array:
        return np.asarray((linear - self.offset) @ self.inverse)


def _fit_chord(problem: MarginProblem, linear: Array, records: Array) -> _Chord:
    """Fit the model over pilot trials: by Stein's lemma its best slope is the mean Hessian."""
    # K of the module docstring: l'' at its maximum for every record.
    steepest = problem.weight * problem.loss.largest_curvature * (records.T @ records)
    bound = _invert_hessian(problem, steepest)
    # The least share by which a step -K^-1 g lowers the merit depends on the ratio of the curvature
    # to the norm of K.
    least = problem.curvature / (problem.curvature + float(np.linalg.norm(steepest)))
    # The first guess is the minimiser without the loss; the second round fits the model where the
    # first one ends.
    pilots = linear[:_PILOTS] / problem.curvature
    for _ in range(2):
        margins = pilots @ records.T
        slopes = problem.loss.margin.slope(margins).mean(axis=0)
        curvatures = problem.loss.curvature(margins).mean(axis=0)
        offset = problem.weight * (slopes - curvatures * margins.mean(axis=0)) @ records
        inverse = _invert_hessian(problem, problem.weight * (records.T * curvatures) @ records)
        chord = _Chord(inverse, offset, bound, enough=1 - least / 2)
        pilots = chord.solve(linear[:_PILOTS])
    return chord


def _invert_hessian(problem: MarginProblem, hessian: Array) -> Array:
    """Return ``(hessian + curvature I)^-1``: symmetric and positive, however ill-conditioned."""
    if problem.curvature > _SINGULAR * np.trace(hessian):
        inverse = np.linalg.inv(hessian + problem.curvature * np.eye(len(hessian)))
        return np.asarray((inverse + inverse.T) / 2, dtype=np.float64)
    # Beside so large a Hessian the curvature is rounding to inv, and the inverse may turn negative;
    # eigenvalues are held at or above 0.
    values, vectors = np.linalg.eigh(hessian)
    scaled = vectors / np.sqrt(np.maximum(values, 0.0) + problem.curvature)
    return np.asarray(scaled @ scaled.T, dtype=np.float64)


@dataclass
class _Search:
    """The trials that are left, on their way."""

    problem: MarginProblem
    records: Array
    chord: _Chord
    trials: NDArray[np.intp]
    linear: Array
    point: Array
    gradient: Array
    merit: Array
    careful: NDArray[np.bool_]  # the last step was taken back: take the one that is sure to gain
    changes: list[Array] = field(default_factory=list)  # Y, of the gradient over past steps S
    mapped: list[Array] = field(default_factory=list)  # P Y
    excess: list[Array] = field(default_factory=list)  # S - P Y

    @classmethod
    def starting(cls, problem: MarginProblem, linear: Array, records: Array) -> _Search:
        chord = _fit_chord(problem, linear, records)
        point, trials = chord.solve(linear), np.arange(len(linear))
        gradient = problem.gradient(point, records) - linear
        merit = _compute_metric_norm(gradient, chord.bound)
        calm = np.zeros(len(linear), dtype=np.bool_)
        return cls(problem, records, chord, trials, linear, point, gradient, merit, calm)

    def without(self, done: NDArray[np.bool_]) -> _Search:
        keep = ~done
        return replace(
            self,
            trials=self.trials[keep],
            linear=self.linear[keep],
            point=self.point[keep],
            gradient=self.gradient[keep],
            merit=self.merit[keep],
            careful=self.careful[keep],
            changes=[change[keep] for change in self.changes],
            mapped=[mapped[keep] for mapped in self.mapped],
            excess=[excess[keep] for excess in self.excess],
        )

    def advance(self) -> None:
        step = self._step()
        point = self.point + step
        gradient = self.problem.gradient(point, self.records) - self.linear
        merit = _compute_metric_norm(gradient, self.chord.bound)
        better = merit <= self.chord.enough * self.merit
        # A step that is taken back still says how the gradient changes along it.
        self._remember(step, gradient - self.gradient)
        self.point = np.where(better[:, None], point, self.point)
        self.gradient = np.where(better[:, None], gradient, self.gradient)
        self.merit = np.where(better, merit, self.merit)
        self.careful = ~better

    def _step(self) -> Array:
        step = self._compute_accelerated_step()
        if self.careful.any():
            # -K^-1 g lowers the merit in any case, so two bad steps never follow each other.
            step[self.careful] = -self.gradient[self.careful] @ self.chord.bound
        return step

    def _compute_accelerated_step(self) -> Array:
        """Return ``-P g - (S - P Y) c`` with c the least squares fit of g by Y in the metric P."""
        step = -self.gradient @ self.chord.inverse
        if self.changes:
            mapped, changes = np.stack(self.mapped, axis=1), np.stack(self.changes, axis=2)
            normal = mapped @ changes + _RIDGE * np.eye(len(self.changes))
            fit = np.linalg.solve(normal, mapped @ self.gradient[:, :, None])[:, :, 0]
            for k, excess in enumerate(self.excess):
                step -= fit[:, k, None] * excess
        return step

    def _remember(self, step: Array, change: Array) -> None:
        # Pairs are scaled to a diagonal of 1 in the normal equations, which the ridge is relative
        # to.
        mapped = change @ self.chord.inverse
        squared = np.sum(mapped * change, axis=1)
        scale = 1 / np.sqrt(np.maximum(squared, np.finfo(np.float64).tiny))[:, None]
        self.changes = [*self.changes, scale * change][-_MEMORY:]
        self.mapped = [*self.mapped, scale * mapped][-_MEMORY:]
        self.excess = [*self.excess, scale * (step - mapped)][-_MEMORY:]


def _compute_metric_norm(gradient: Array, metric: Array) -> Array:
    squared = np.sum((gradient @ metric) * gradient, axis=1)
    norm: Array = np.sqrt(np.maximum(squared, 0.0))  # below 0 where the metric is all rounding
    return norm
