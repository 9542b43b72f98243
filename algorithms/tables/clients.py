r"""The client in ADMM over joined tables: the theta-update (eq. 38), exact or by SGD.

| paper     | code                    | meaning                           | shape         |
|-----------|-------------------------|-----------------------------------|---------------|
| theta_i   | ``model``               | linear model, ``f = theta' T``    | (R, d_i, d_c) |
| T_i       | ``features``            | its tuples                        | (n_i, d_i)    |
| G_{i,j}   | ``counts``              | rows of the join that use tuple j | (n_i,)        |
| Y_{i,j}   | ``pull``                | what the server sends (eq. 36)    | (R, n_i, d_c) |
| rho, beta | ``penalty``, ``weight`` | as in `algorithm`                 | scalars       |
| N         | ``rows``                | rows of the join                  | integer       |
| C         | ``clip_norm``           | of Theorem 2                      | scalar        |
| sigma     | ``noise_multiplier``    | of Theorem 2                      | scalar        |
| r         | ``sampling_ratio``      | share of tuples in a batch        | scalar        |
| tau'      | ``steps``               | local steps an update             | integer       |

The objective is ``beta R(theta) + 1/N sum_{j <= n_i} phi_j(theta)``, with ``R = ||theta||^2 / 2``
and ``phi_j = Y_j' theta' T_j + rho G_j/2 ||theta' T_j||^2``. The gradient of ``phi_j`` is the outer
product of ``T_j`` and ``e_j = Y_j + rho G_j theta' T_j``; its norm is ``||T_j|| ||e_j||``, so
clipping needs no gradient of a single tuple to be formed.

The paper leaves the scale of a private step open. Here a tuple's gradient is that of ``phi_j``,
clipped to C, the noise is N(0, C^2 sigma^2 I) on the sum over the batch, and the sum then counts
``1 / (r N)``: an unbiased estimate of the objective's gradient where nothing is clipped.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy.linalg import cho_factor, cho_solve

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.mechanisms.residuals import report_residuals

# Of the exact theta-update: largest |A theta - b|, relative to |A| |theta| + |b|.
TOLERANCE = 1e-10
# No entry of a model comes near this unless the run diverges.
_LARGEST = 1e100


@dataclass(frozen=True, eq=False)
class Client:
    """One client's data and the constants of its objective.

    Given the joined columns ``X_i`` and counts of one instead, the objective is the unreduced one
    of eq. (34), with O(N) terms.
    """

    features: Array
    counts: Array
    rows: int
    penalty: float
    weight: float

    @cached_property
    def curvature(self) -> Array:
        """``beta I + rho/N T' diag(G) T``, the Hessian of eq. (38), shape ``(d_i, d_i)``."""
        gram = (self.features * self.counts[:, None]).T @ self.features
        ridge = self.weight * np.eye(self.features.shape[1])
        return np.asarray(ridge + self.penalty / self.rows * gram)

    @cached_property
    def norms(self) -> Array:
        """``||T_j||``, shape ``(n_i,)``."""
        return np.asarray(np.linalg.norm(self.features, axis=1))

    @cached_property
    def _factor(self) -> Any:
        return cho_factor(self.curvature)

    def minimiser(self, pull: Array) -> Array:
        """Return the exact argmin of eq. (38), shape ``(R, d_i, d_c)``.

        Raises
        ------
        ConvergenceError
            The normal equations hold to less than `TOLERANCE`.
        """
        right = -(self.features.T @ pull) / self.rows
        columns = np.moveaxis(right, 1, 0)  # (d_i, R, d_c): one factor serves every trial
        solved = cho_solve(self._factor, columns.reshape(len(columns), -1))
        model = np.moveaxis(solved.reshape(columns.shape), 0, 1)
        size = np.abs(model).max(axis=(1, 2)), np.abs(right).max(axis=(1, 2))
        # The largest row sum times the largest entry of a model bounds every entry of their
        # product, which is what rounding is relative to.
        scale = np.abs(self.curvature).sum(axis=1).max() * size[0] + size[1]
        error = np.abs(self.curvature @ model - right).max(axis=(1, 2))
        residual = error / np.maximum(scale, np.finfo(np.float64).tiny)
        # Written with a negation, so that a NaN counts as not solved.
        if not np.all(residual <= TOLERANCE):
            trial = int(np.argmin(residual <= TOLERANCE))
            raise ConvergenceError(
                f"theta-update: got a relative residual of {residual[trial]:.2g} in trial {trial}, "
                f"expected at most {TOLERANCE:.0g}: raise regulariser_weight"
            )
        report_residuals("theta-update", residual, tolerance=TOLERANCE, measure="relative residual")
        return np.asarray(model)

    def gradient(
        self, model: Array, pull: Array, clip_norm: float = math.inf, batch: Array | None = None
    ) -> Array:
        """Return the sum of the clipped gradients of ``phi_j``, shape ``(R, d_i, d_c)``.

        ``batch`` says which tuples count for which trial, shape ``(R, n_i)``; by default all do.
        """
        error = pull + self.penalty * self.counts[:, None] * (self.features @ model)
        if math.isfinite(clip_norm):
            norms = self.norms * np.linalg.norm(error, axis=2)
            # A norm within C makes the quotient 1, so that a gradient of 0 does not divide by 0.
            error = error * np.minimum(1, clip_norm / np.maximum(norms, clip_norm))[..., None]
        if batch is not None:
            error = error * batch[..., None]
        return np.asarray(self.features.T @ error)


@dataclass(frozen=True)
class ExactSolve:
    """Solve the theta-update in closed form: for a linear model it is quadratic."""

    def update(self, client: Client, model: Array, pull: Array, rng: Generator) -> Array:
        """Return the minimiser; neither ``model`` nor ``rng`` matters."""
        return client.minimiser(pull)


@dataclass(frozen=True, kw_only=True)
class LocalSGD:
    """Take gradient steps from the last model; with clipping and noise, the DP-SGD of Theorem 2.

    Parameters
    ----------
    steps
        Steps an update.
    learning_rate
        Multiplies the gradient of eq. (38).
    sampling_ratio
        Each tuple enters each batch with this probability, independently; 1 takes all.
    clip_norm
        ``C``; infinite for no clipping.
    noise_multiplier
        ``sigma``: noise on the sum over the batch, in multiples of ``clip_norm``.

    Notes
    -----
    Formal guarantee: for one step, with ``pull`` fixed and as far as this client's model shows,
    that of a Poisson-subsampled Gaussian. What a whole run gives is another matter: see
    `dpaudit.algorithms.tables.algorithm`.
    """

    steps: int
    learning_rate: float
    sampling_ratio: float = 1.0
    clip_norm: float = math.inf
    noise_multiplier: float = 0.0

    def __post_init__(self) -> None:
        check.require_integer("steps", self.steps, least=1)
        check.require_positive("learning_rate", self.learning_rate)
        if check.require_positive("sampling_ratio", self.sampling_ratio) > 1:
            raise InvalidArgument("sampling_ratio", self.sampling_ratio, "a number in (0, 1]")
        if self.clip_norm != math.inf:
            check.require_positive("clip_norm", self.clip_norm)
        # Noise is in multiples of C, so an infinite C has no noise.
        if check.non_negative("noise_multiplier", self.noise_multiplier) > 0:
            check.require_positive("clip_norm", self.clip_norm)

    @property
    def private(self) -> bool:
        """Whether there is noise, and so clipping."""
        return self.noise_multiplier > 0

    def noise_scale(self, client: Client) -> float:
        """Return the standard deviation of the noise on each entry of a model, one step."""
        if not self.private:
            return 0.0
        share = self.learning_rate / (self.sampling_ratio * client.rows)
        return share * self.clip_norm * self.noise_multiplier

    def mean(self, client: Client, model: Array, pull: Array, batch: Array | None = None) -> Array:
        """Return where a step leads before noise, shape ``(R, d_i, d_c)``."""
        gradient = client.gradient(model, pull, self.clip_norm, batch)
        gradient /= self.sampling_ratio * client.rows
        return np.asarray(model - self.learning_rate * (client.weight * model + gradient))

    def batch(self, client: Client, trials: int, rng: Generator) -> Array | None:
        """Return who is in a Poisson-sampled batch, shape ``(R, n_i)``; None for all."""
        if self.sampling_ratio == 1:
            return None
        drawn = rng.random((trials, len(client.features))) < self.sampling_ratio
        return drawn.astype(np.float64)

    def update(self, client: Client, model: Array, pull: Array, rng: Generator) -> Array:
        """Return the model after all steps of one theta-update.

        Raises
        ------
        ConvergenceError
            The steps diverge.
        """
        for _ in range(self.steps):
            batch = self.batch(client, len(model), rng)
            model = self.mean(client, model, pull, batch)
            if self.private:
                model = model + self.noise_scale(client) * rng.standard_normal(model.shape)
            # Written with a negation, so that a NaN counts as too large.
            large = ~(np.abs(model).max(axis=(1, 2)) <= _LARGEST)
            if large.any():
                raise ConvergenceError(
                    f"theta-update: got a model beyond {_LARGEST:.0e} in trial "
                    f"{int(np.argmax(large))}, expected steps that converge: lower learning_rate"
                )
        return model


Solver = ExactSolve | LocalSGD
