r"""One scalar problem per sample and trial, all at once: the z-update, hu2020's eq. (8).

    z = argmin  weight l(z; b) + penalty z^2 / 2 - linear z

Newton's method, entry by entry, held inside a bracket. With ``mu`` and ``G`` the least and the
largest curvature of the problem and ``K = weight curvature_lipschitz``, the error before a step s
is at most ``|s| G / mu``, and after it at most ``K |s|^2 G / (2 mu^2)``: an entry is done when the
smaller of the two is below the tolerance, up to rounding, so that the last step needs no evaluation
of its own. Only entries that are not done are evaluated again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.sample_losses import SampleLoss
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.mechanisms.residuals import is_recording_residuals, report_residuals

TOLERANCE = 1e-12

# Entries at a time: what a pass needs of them stays in cache.
_TILE = 4096
_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_FREE_PASSES = 4  # passes of Newton's method alone
_NEWTON_PASSES = 20  # passes after which every other one halves the bracket, which ends any cycle
_MOST_PASSES = 300  # passes at most


@dataclass(frozen=True, kw_only=True)
class ScalarProblem:
    """The common part of all entries.

    Parameters
    ----------
    loss
        ``l``, not necessarily convex.
    weight
        What a sample's loss counts: 1/N for a mean, 1 for a sum.
    penalty
        ``rho``, above ``-weight`` times the least curvature of the loss.
    tolerance
        Largest distance of a returned entry from the minimiser, besides rounding.

    Raises
    ------
    InvalidArgument
        The problem is not strongly convex, so that it may have several minima.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.sample_losses import LOGISTIC, SIGMOID
    >>> problem = ScalarProblem(loss=LOGISTIC, weight=1.0, penalty=0.5)
    >>> z = problem.minimise(np.array([[2.0, 0.0]]), np.array([1.0, -1.0]), np.zeros((1, 2)))
    >>> bool(np.abs(LOGISTIC.derivatives(z, np.array([1, -1]))[0] + 0.5 * z - [2, 0]).max() < 1e-12)
    True
    >>> ScalarProblem(loss=SIGMOID, weight=1.0, penalty=0.09)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: penalty: got 0.09, expected above 0.09622504486493763 = weight \
times the largest concavity of the sigmoid loss: below it a sample may have several minima
    """

    loss: SampleLoss
    weight: float
    penalty: float
    tolerance: float = TOLERANCE

    def __post_init__(self) -> None:
        check.require_positive("weight", self.weight)
        check.require_positive("penalty", self.penalty)
        check.require_positive("tolerance", self.tolerance)
        if self.least_curvature <= 0:
            concavity = -self.weight * self.loss.curvature_range[0]
            raise InvalidArgument(
                "penalty",
                self.penalty,
                f"above {concavity} = weight times the largest concavity of the {self.loss.name} "
                "loss: below it a sample may have several minima",
            )

    @property
    def least_curvature(self) -> float:
        """``mu``: modulus of strong convexity, hu2019's ``gamma(rho)``."""
        return self.penalty + self.weight * self.loss.curvature_range[0]

    @property
    def last_step(self) -> float:
        """The step from which on an entry is done once it is taken."""
        mu, bend = self.least_curvature, self.weight * self.loss.curvature_lipschitz
        most = self.penalty + self.weight * self.loss.curvature_range[1]
        # The step s leaves a distance of at most bend most s^2 / (2 mu^2), by Taylor's formula, and
        # of s most / mu in any case. Without a bend the problem is quadratic, and one step is
        # exact.
        exact = math.sqrt(2 * self.tolerance / (bend * most)) * mu if bend else math.inf
        # A longer step would leave the rounding errors of a far larger number.
        return min(1.0, max(self.tolerance * mu / most, exact))

    def minimise(self, linear: Array, labels: Array, start: Array) -> Array:
        """Return the minimisers, shape ``(R, N)``.

        Parameters
        ----------
        linear
            Shape ``(R, N)``; eq. (8) has ``y + rho S``.
        labels
            Shape ``(N,)``.
        start
            Shape ``(R, N)``: where to begin; the closer, the fewer passes.

        Raises
        ------
        ConvergenceError
            An entry has not converged, which takes a number that is not finite.
        """
        # The solver moves the entries in place, and the start belongs to the caller.
        solution = start.copy()
        trials, samples = linear.shape
        # Tiles keep the solver's temporaries in the cache.
        rows = max(1, _TILE // max(samples, 1))
        for first in range(0, trials, rows):
            for column in range(0, samples, _TILE):
                tile = slice(first, first + rows), slice(column, column + _TILE)
                shape = linear[tile].shape
                there = np.broadcast_to(labels[tile[1]], shape).ravel()
                point = solution[tile].ravel()
                stuck = self._solve(linear[tile].ravel(), there, point)
                if len(stuck):
                    trial = first + int(stuck[0]) // shape[1]
                    raise ConvergenceError(
                        f"z-update: trial {trial} has not converged within {_MOST_PASSES} passes, "
                        "expected finite messages"
                    )
                solution[tile] = point.reshape(shape)
        if is_recording_residuals():
            self._report(solution, labels, linear)
        return solution

    def _report(self, solution: Array, labels: Array, linear: Array) -> None:
        """Report distances from the minimiser, bounded by strong convexity.

        What the slope's own rounding may account for is taken off, as `tolerance` says.
        """
        slope, _ = self._derivatives(solution, labels, linear)
        steepest = self.penalty + self.weight * self.loss.curvature_range[1]
        # The slope is a difference of terms that may be far larger than itself, and each brings its
        # own rounding error.
        rounding = _ROUNDING * (np.abs(linear) + steepest * np.abs(solution) + self.weight)
        distance = np.maximum(np.abs(slope) - rounding, 0) / self.least_curvature
        report_residuals(
            "z-update", distance, tolerance=self.tolerance, measure="distance beyond rounding"
        )

    def _solve(self, linear: Array, labels: Array, point: Array) -> NDArray[np.intp]:
        """Move ``point`` to the minimisers in place; return the entries that did not get there."""
        todo = np.arange(len(point))
        z, low, high = point, np.full_like(point, -np.inf), np.full_like(point, np.inf)
        for count in range(_MOST_PASSES):
            slope, curvature = self._derivatives(z, labels, linear)
            step = slope / curvature
            # Far from 0 the spacing of doubles is wider than the tolerance, and no step could be
            # shorter.
            done = np.abs(step) <= self.last_step + _ROUNDING * np.abs(z)
            following = z - step
            if count >= _FREE_PASSES:
                # The slope rises with z by strong convexity: its sign says on which side the
                # minimiser lies.
                low, high = np.where(slope <= 0, z, low), np.where(slope >= 0, z, high)
                if count >= _NEWTON_PASSES:
                    # The minimiser is at most |slope| / mu away; twice that also clears rounding.
                    far = z - 2 * slope / self.least_curvature  # beyond the minimiser
                    low = np.where(np.isinf(low), np.minimum(z, far), low)
                    high = np.where(np.isinf(high), np.maximum(z, far), high)
                # A step out of the bracket goes past an end that is known to be on the other side
                # of the minimiser.
                halved = (following <= low) | (following >= high)
                halved |= count >= _NEWTON_PASSES and count % 2 == 0
                # An entry that is done takes its last Newton step, which its tolerance counts on.
                halved &= ~done
                following[halved] = low[halved] + (high[halved] - low[halved]) / 2
                # A bracket as narrow as rounding holds nothing that is nearer to the minimiser.
                done |= high - low <= _ROUNDING * np.abs(z)
            point[todo] = following
            left = np.flatnonzero(~done)
            if not len(left):
                return todo[:0]
            if count < _FREE_PASSES and 2 * len(left) > len(todo):
                z = following  # to copy the rest would cost more than it saves
                continue
            todo, labels, linear = todo[left], labels[left], linear[left]
            z, low, high = following[left], low[left], high[left]
        return todo

    def _derivatives(self, z: Array, labels: Array, linear: Array) -> tuple[Array, Array]:
        """Return the first and the second derivative of the problem."""
        slope, curvature = self.loss.derivatives(z, labels)
        # The losses return new arrays, so changing them in place touches nobody else's.
        slope *= self.weight
        slope += self.penalty * z
        slope -= linear
        curvature *= self.weight
        curvature += self.penalty
        return slope, curvature
