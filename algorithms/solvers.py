r"""Smooth strongly convex argmins, one for every trial, all at once.

    f = argmin  weight sum_n l(u_n'f) + curvature ||f||^2 / 2 - linear'f

The records u_n are shared by the trials, ``linear`` is not. A pass costs two matrix products for
all trials that are left. It takes a chord-Newton step: the Hessian is that of the best linear
model of the gradient over the trials (their mean Hessian), factored once. Steps are accelerated by
Anderson's multisecant correction over the last few passes, trial by trial.

Trials that are left after 40 passes take Newton steps with Hessians of their own, halved after a
failure: the norm of the gradient falls along them, in any metric.

What makes it converge: with ``K >= Hessian`` everywhere (l'' replaced by its maximum), the merit
``sqrt(g' K^-1 g)`` of the gradient g falls by the factor ``1 - m`` at least in a step ``-K^-1 g``,
where ``m`` is the least eigenvalue of ``K^-1`` times ``curvature``. A step that does not reach half
of that is taken back and followed by such a step, so every second pass gains at least ``1 - m / 2``
on every trial. A trial leaves when its gradient is small against its terms; then it is within
``residual / curvature`` of the minimiser.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from algorithms.margin_problem import MarginProblem
from dpaudit.errors import ConvergenceError
from dpaudit.residuals import report

Array = NDArray[np.float64]

_MEASURE = "norm of the gradient, relative to its terms,"
_MOST_PASSES = 500
# Trials that fit the linear model, and past passes the acceleration looks at.
_PILOTS, _MEMORY = 32, 6
# Passes after which a trial is worth a Hessian of its own.
_PATIENCE = 40
# Keeps the acceleration's normal equations, of diagonal 1, regular.
_RIDGE = 1e-13


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


def minimise(problem: MarginProblem, linear: Array, records: Array) -> Solution:
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
    >>> from algorithms.smooth_losses import LOGISTIC
    >>> problem = MarginProblem(loss=LOGISTIC, weight=0.5, curvature=0.1)
    >>> records, linear = np.eye(2), np.array([[0.0, 0.3], [1.0, -1.0], [5.0, 0.2]])
    >>> solution = minimise(problem, linear, records)
    >>> bool(np.abs(problem.gradient(solution.models, records) - linear).max() < 1e-11)
    True
    """
    finite = np.isfinite(linear).all(axis=1)
    if not finite.all():
        trial = int(np.argmin(finite))
        raise ConvergenceError(f"argmin: trial {trial} got numbers that are not finite")
    if not len(linear):
        return Solution(linear.copy(), np.zeros(0), 0)
    search = _Search.starting(problem, linear, records)
    scale = problem.scale(linear, records)
    allowed = problem.tolerance * scale
    solution = np.empty_like(linear)
    residuals, evaluations = np.full(len(linear), np.nan), len(linear)
    for _ in range(_MOST_PASSES):
        size = np.linalg.norm(search.gradient, axis=1)
        done = size <= allowed[search.trials]
        if done.any():
            left = search.trials[done]
            solution[left], residuals[left] = search.point[done], size[done]
            search = search.without(done)
        if not len(search.trials):
            report("argmin", residuals / scale, tolerance=problem.tolerance, measure=_MEASURE)
            return Solution(solution, residuals, evaluations)
        evaluations += len(search.trials)
        search.advance()
    trial = int(search.trials[0])
    raise ConvergenceError(
        f"argmin: trial {trial} has a gradient of {np.linalg.norm(search.gradient[0]):.3g} "
        f"after {_MOST_PASSES} passes, expected at most {allowed[trial]:.3g}"
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
    steepest = problem.weight * problem.loss.largest_curvature * (records.T @ records)
    bound = _inverse(problem, steepest)
    least = problem.curvature / (problem.curvature + float(np.linalg.norm(steepest)))
    pilots = linear[:_PILOTS] / problem.curvature
    for _ in range(2):
        margins = pilots @ records.T
        slopes = problem.loss.margin.slope(margins).mean(axis=0)
        curvatures = problem.loss.curvature(margins).mean(axis=0)
        offset = problem.weight * (slopes - curvatures * margins.mean(axis=0)) @ records
        inverse = _inverse(problem, problem.weight * (records.T * curvatures) @ records)
        chord = _Chord(inverse, offset, bound, enough=1 - least / 2)
        pilots = chord.solve(linear[:_PILOTS])
    return chord


def _inverse(problem: MarginProblem, hessian: Array) -> Array:
    """Return ``(hessian + curvature I)^-1``, symmetric."""
    inverse = np.linalg.inv(hessian + problem.curvature * np.eye(len(hessian)))
    return np.asarray((inverse + inverse.T) / 2, dtype=np.float64)


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
    length: Array  # of the next Newton step
    passes: int = 0
    changes: list[Array] = field(default_factory=list)  # Y, of the gradient over past steps S
    mapped: list[Array] = field(default_factory=list)  # P Y
    excess: list[Array] = field(default_factory=list)  # S - P Y

    @classmethod
    def starting(cls, problem: MarginProblem, linear: Array, records: Array) -> _Search:
        chord = _fit_chord(problem, linear, records)
        point, trials = chord.solve(linear), np.arange(len(linear))
        gradient = problem.gradient(point, records) - linear
        merit = _norm(gradient, chord.bound)
        calm = np.zeros(len(linear), dtype=np.bool_)
        full = np.ones(len(linear))
        return cls(problem, records, chord, trials, linear, point, gradient, merit, calm, full)

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
            length=self.length[keep],
            changes=[change[keep] for change in self.changes],
            mapped=[mapped[keep] for mapped in self.mapped],
            excess=[excess[keep] for excess in self.excess],
        )

    def advance(self) -> None:
        step = self._step()
        point = self.point + step
        gradient = self.problem.gradient(point, self.records) - self.linear
        merit = _norm(gradient, self.chord.bound)
        better = merit <= self.chord.enough * self.merit
        if self.passes < _PATIENCE:
            self._remember(step, gradient - self.gradient)
        else:
            longer, shorter = np.minimum(2 * self.length, 1.0), self.length / 2
            self.length = np.where(self.careful, self.length, np.where(better, longer, shorter))
        self.passes += 1
        self.point = np.where(better[:, None], point, self.point)
        self.gradient = np.where(better[:, None], gradient, self.gradient)
        self.merit = np.where(better, merit, self.merit)
        self.careful = ~better

    def _step(self) -> Array:
        step = self._accelerated() if self.passes < _PATIENCE else self._newton()
        if self.careful.any():
            step[self.careful] = -self.gradient[self.careful] @ self.chord.bound
        return step

    def _accelerated(self) -> Array:
        """Return ``-P g - (S - P Y) c`` with c the least squares fit of g by Y in the metric P."""
        step = -self.gradient @ self.chord.inverse
        if self.changes:
            mapped, changes = np.stack(self.mapped, axis=1), np.stack(self.changes, axis=2)
            normal = mapped @ changes + _RIDGE * np.eye(len(self.changes))
            fit = np.linalg.solve(normal, mapped @ self.gradient[:, :, None])[:, :, 0]
            for k, excess in enumerate(self.excess):
                step -= fit[:, k, None] * excess
        return step

    def _newton(self) -> Array:
        right = self.gradient[:, :, None]
        direction = self.problem.hessian_solve(self.point, self.records, right)[:, :, 0]
        return np.asarray(-self.length[:, None] * direction)

    def _remember(self, step: Array, change: Array) -> None:
        mapped = change @ self.chord.inverse
        squared = np.sum(mapped * change, axis=1)
        scale = 1 / np.sqrt(np.maximum(squared, np.finfo(np.float64).tiny))[:, None]
        self.changes = [*self.changes, scale * change][-_MEMORY:]
        self.mapped = [*self.mapped, scale * mapped][-_MEMORY:]
        self.excess = [*self.excess, scale * (step - mapped)][-_MEMORY:]


def _norm(gradient: Array, metric: Array) -> Array:
    norm: Array = np.sqrt(np.sum((gradient @ metric) * gradient, axis=1))
    return norm
