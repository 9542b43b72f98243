r"""FDML (Hu et al., KDD 2019): synchronous mini-batch SGD over vertically split features.

The baseline of hu2020's section 5 and its Figures 1 and 2, on the risk of eq. (1); the article is
not among this project's papers, the update is a gradient step on that risk. In a step, for the
samples B of a batch,

    every party sends its local predictions           D_{m,B} x_m
    the centre sums them and returns                  l'(S_B),   S_B = sum_m D_{m,B} x_m
    every party steps on its own block                x_m <- x_m - eta_t (c D_{m,B}' l'(S_B)
                                                                       + lambda grad R(x_m))

with ``c = 1 / |B|`` for a mean and ``N / |B|`` for a sum over samples. Formal guarantee: none, no
noise is added. Next to it, what the papers' figures compare with: logistic regression trained
centrally, on all features or on one party's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.records import require_instance_of
from dpaudit.algorithms.sharing.vertical import (
    Risk,
    check_blocks,
    column_slices,
    split_into_parties,
)
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import ConvergenceError, InvalidArgument


@dataclass(frozen=True, kw_only=True)
class FDML:
    """The algorithm, as public parameters.

    Parameters
    ----------
    block_sizes
        How many consecutive feature columns each party owns.
    epochs
        Passes over the samples, each in an order of its own for every trial.
    batch_size
        Samples a step; None takes all of them. The last batch of an epoch may be smaller.
    step_size, decay
        ``eta_t = step_size / sqrt(1 + decay t)`` at step t = 0, 1, ... of the run.
    start_scale
        Standard deviation of the random initial models; 0 starts at 0.
    risk
        What is minimised.

    Examples
    --------
    >>> data = Dataset(np.eye(4)[:, :3], [1, -1, 1, -1])
    >>> fdml = FDML(block_sizes=(2, 1), epochs=5, batch_size=2, step_size=0.5)
    >>> fdml.sample(data, 6, np.random.default_rng(0)).shape
    (6, 5, 3)
    """

    block_sizes: tuple[int, ...]
    epochs: int
    batch_size: int | None = None
    step_size: float
    decay: float = 0.0
    start_scale: float = 0.0
    risk: Risk = field(default_factory=Risk)

    def __post_init__(self) -> None:
        check_blocks(self.block_sizes)
        require_instance_of("risk", self.risk, Risk, "a Risk")
        check.require_integer("epochs", self.epochs, least=1)
        check.require_positive("step_size", self.step_size)
        check.non_negative("decay", self.decay)
        check.non_negative("start_scale", self.start_scale)
        if self.batch_size is not None:
            check.require_integer("batch_size", self.batch_size, least=1)

    def sample(self, dataset: Dataset, trials: int, rng: Generator) -> Array:
        """Return the models after every epoch, shape ``(R, epochs, d)``."""
        return np.stack(list(self.iterates(dataset, trials, rng)), axis=1)

    def iterates(self, dataset: Dataset, trials: int, rng: Generator) -> Iterator[Array]:
        """Yield the models after every epoch, shape ``(R, d)``.

        Raises
        ------
        ConvergenceError
            The steps are too long for the risk: a trial's models have left all bounds.
        """
        check.require_integer("trials", trials, least=0)
        split_into_parties(dataset, self.block_sizes)
        self.risk.check(dataset)
        models = self.start_scale * rng.standard_normal((trials, dataset.dimension))
        samples, step = len(dataset.labels), 0
        size = min(self.batch_size or samples, samples)
        for epoch in range(1, self.epochs + 1):
            if size < samples:
                # Every trial has an order of its own: a shared one would make the runs depend on
                # each other.
                order = rng.permuted(np.tile(np.arange(samples), (trials, 1)), axis=1)
            for first in range(0, samples, size):
                batch = None if size == samples else order[:, first : first + size]
                # The count of steps goes on over the epochs, as in one long run of SGD.
                rate = self.step_size / math.sqrt(1 + self.decay * step)
                with np.errstate(over="ignore", invalid="ignore"):  # refused below
                    models = models - rate * self.gradient(models, dataset, batch)
                step += 1
            # Once an epoch is enough: what is not finite stays so.
            _require_finite(models, epoch)
            yield models

    def gradient(self, models: Array, dataset: Dataset, batch: NDArray[np.intp] | None) -> Array:
        """Return every party's gradient side by side, shape ``(R, d)``.

        ``batch`` holds each trial's samples, shape ``(R, B)``; None stands for all of them.
        """
        everything = batch is None
        rows = dataset.features if everything else dataset.features[batch]
        labels = dataset.labels if everything else dataset.labels[batch]
        local = [
            _compute_local_predictions(rows[..., columns], models[:, columns])
            for columns in column_slices(self.block_sizes)
        ]
        slopes, _ = self.risk.loss.derivatives(np.sum(local, axis=0), labels)
        # N over the batch's size makes the batch's sum an unbiased estimate of the sum over all
        # records, whether the risk is a mean or a sum.
        slopes *= self.risk.sample_weight(len(dataset.labels)) * len(dataset.labels)
        slopes /= labels.shape[-1]
        gradient = self.risk.regulariser_weight * self.risk.regulariser.gradient(models)
        for columns in column_slices(self.block_sizes):
            gradient[:, columns] += _multiply_transposed_rows(rows[..., columns], slopes)
        return gradient


def _require_finite(models: Array, epoch: int) -> None:
    finite = np.isfinite(models).all(axis=1)
    if not finite.all():
        raise ConvergenceError(
            f"epoch {epoch}: FDML: trial {int(np.argmin(finite))} has diverged, "
            "expected finite models: a smaller step_size, or a larger decay"
        )


def _compute_local_predictions(rows: Array, models: Array) -> Array:
    """Return local predictions, (R, B); rows are shared, (B, d), or one set a trial, (R, B, d)."""
    if rows.ndim == 2:
        return np.asarray(models @ rows.T)
    return np.asarray(np.matmul(rows, models[:, :, None])[:, :, 0])


def _multiply_transposed_rows(rows: Array, slopes: Array) -> Array:
    if rows.ndim == 2:
        return np.asarray(slopes @ rows)
    return np.asarray(np.matmul(slopes[:, None, :], rows)[:, 0])


def fit_centralised_logistic(
    dataset: Dataset, risk: Risk, columns: slice | None = None, tolerance: float = 1e-10
) -> Array:
    """Return scikit-learn's minimiser of an L2-regularised logistic risk, shape ``(1, d)``.

    Parameters
    ----------
    dataset
        All records.
    risk
        With the logistic loss and an L2 regulariser of positive weight.
    columns
        The features it may use (Figure 3: those of the first party); the others get weight 0.
    tolerance
        scikit-learn's.

    Raises
    ------
    InvalidArgument
        The risk is of another kind.

    Examples
    --------
    >>> data = Dataset([[1.0, 1.0], [0.5, -1.0]], [1, -1])
    >>> risk = Risk(regulariser_weight=0.1)
    >>> bool(fit_centralised_logistic(data, risk, slice(0, 1))[0, 1] == 0)
    True
    """
    from sklearn.linear_model import LogisticRegression

    if risk.loss.name != "logistic" or risk.lasso or not risk.ridge:
        given = f"{risk.loss.name} loss, {risk.regulariser}, weight {risk.regulariser_weight}"
        raise InvalidArgument("risk", given, "the logistic loss with an L2 regulariser")
    risk.check(dataset)
    chosen = columns or slice(None)
    # scikit-learn minimises C times the sum of the losses plus ||x||^2 / 2, so the risk is divided
    # by its ridge.
    strength = risk.sample_weight(len(dataset.labels)) / risk.ridge
    fit = LogisticRegression(
        C=strength, fit_intercept=False, tol=tolerance, solver="newton-cholesky", max_iter=1000
    ).fit(dataset.features[:, chosen], dataset.labels)
    models = np.zeros((1, dataset.dimension))
    models[:, chosen] = fit.coef_
    return models
