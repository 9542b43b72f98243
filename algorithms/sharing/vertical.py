"""Vertically split problems: who holds which columns, and the risk all of them minimise.

Section 2 of hu2020 and of hu2019: the split of the data, and the risk of eq. (1). The convex sets
of eq. (2) are a matter of the algorithm (``SharingADMM.radius``).

| paper (hu2020) | code                        | meaning                          | shape    |
|----------------|-----------------------------|----------------------------------|----------|
| D_m            | ``Party.design``            | party m's columns                | (N, d_m) |
| l              | ``Risk.loss``, ``scaling``  | sum over samples, times 1/N or 1 | scalar   |
| R              | ``Risk.regulariser``        | ridge and lasso parts            | scalar   |
| lambda         | ``Risk.regulariser_weight`` | its weight                       | scalar   |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.problems.records import require_instance_of
from dpaudit.algorithms.problems.regularisers import L2, Regulariser
from dpaudit.algorithms.problems.sample_losses import LOGISTIC, SampleLoss
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, VerbatimText

# Predictions of a block of trials that are in memory at once.
_PREDICTIONS = 2**22


@dataclass(frozen=True, kw_only=True)
class Risk:
    """Eq. (1): ``l(D x) + lambda R(x)``.

    Parameters
    ----------
    loss
        The loss of a sample.
    scaling
        ``"mean"`` or ``"sum"`` over samples. The paper writes a mean in its first display and a sum
        from (1) on; a mean with ``lambda`` and ``rho`` is a sum with ``N lambda`` and ``N rho``.
    regulariser, regulariser_weight
        ``R`` and ``lambda``.

    Examples
    --------
    >>> data = Dataset([[1.0], [1.0]], [1, -1])
    >>> Risk(regulariser_weight=2.0).value(np.array([[0.0]]), data)
    array([0.69314718])
    """

    loss: SampleLoss = LOGISTIC
    scaling: str = "mean"
    regulariser: Regulariser = L2
    regulariser_weight: float = 1e-4

    def __post_init__(self) -> None:
        require_instance_of("loss", self.loss, SampleLoss, "a SampleLoss")
        require_instance_of("regulariser", self.regulariser, Regulariser, "a Regulariser")
        check.require_choice("scaling", self.scaling, ("mean", "sum"))
        check.non_negative("regulariser_weight", self.regulariser_weight)

    @property
    def ridge(self) -> float:
        """Weight of ``||x||^2 / 2``."""
        return self.regulariser_weight * self.regulariser.ridge

    @property
    def lasso(self) -> float:
        """Weight of ``||x||_1``."""
        return self.regulariser_weight * self.regulariser.lasso

    def sample_weight(self, samples: int) -> float:
        """Return the weight of one sample's loss."""
        return 1 / samples if self.scaling == "mean" else 1.0

    def check(self, dataset: Dataset) -> None:
        """Raise `InvalidArgument` for labels the loss is not made for."""
        if self.loss.signed_labels:
            dataset.require_signed_labels()

    def value(self, models: Array, dataset: Dataset) -> Array:
        """Return the risk of models of all features, shape ``(R, d)``, as shape ``(R,)``."""
        weight = self.sample_weight(len(dataset.labels))
        regularised = self.regulariser_weight * self.regulariser.value(models)
        return np.asarray(weight * self._losses(models, dataset) + regularised)

    def mean_loss(self, models: Array, dataset: Dataset) -> Array:
        """Return the mean loss without the regulariser, shape ``(R,)``: Figure 3's test loss."""
        return self._losses(models, dataset) / len(dataset.labels)

    def _losses(self, models: Array, dataset: Dataset) -> Array:
        if models.ndim != 2 or models.shape[1] != dataset.dimension:
            expected = f"shape (R, {dataset.dimension}): one weight a feature"
            raise InvalidArgument("models", VerbatimText(f"shape {models.shape}"), expected)
        total = np.empty(len(models))
        rows = max(1, _PREDICTIONS // len(dataset.labels))
        for first in range(0, len(models), rows):
            predictions = models[first : first + rows] @ dataset.features.T
            losses = self.loss.value(predictions, dataset.labels)
            total[first : first + rows] = losses.sum(axis=1)
        return total


@dataclass(frozen=True, eq=False)
class Party:
    """One party's columns and the numbers that are computed from them once."""

    design: Array

    @property
    def dimension(self) -> int:
        """``d_m``."""
        return int(self.design.shape[1])

    @cached_property
    def gram(self) -> Array:
        """``D'D``, shape ``(d_m, d_m)``."""
        return np.asarray(self.design.T @ self.design)

    def through_gram(self, models: Array) -> Array:
        """Return ``x D'D`` of models, shape ``(R, d_m)``; D'D is not formed where it is large."""
        samples, dimension = self.design.shape
        if dimension <= samples:
            return np.asarray(models @ self.gram)
        return np.asarray((models @ self.design.T) @ self.design)

    @property
    def singular_values(self) -> Array:
        """The singular values of D that are not 0, shape ``(rank,)``, largest first."""
        return self._decomposition[0]

    @property
    def directions(self) -> Array:
        """An orthonormal basis of the row space of D, one a column, shape ``(d_m, rank)``."""
        return self._decomposition[1]

    @property
    def norm(self) -> float:
        """The spectral norm of D."""
        return float(self.singular_values.max(initial=0.0))

    def fitted(self, message: Array) -> Array:
        """Return models that about fit a message, where a solver may begin, shape ``(R, d_m)``.

        Directions the data hardly has are damped: noise on it would be blown up along them.
        """
        squares = self.singular_values**2
        along = (message @ self.design) @ self.directions
        along /= squares + 1e-6 * squares.max(initial=0.0)
        return np.asarray(along @ self.directions.T)

    @cached_property
    def _decomposition(self) -> tuple[Array, Array]:
        _, values, rows = np.linalg.svd(self.design, full_matrices=False)
        smallest = max(self.design.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
        rank = int(np.sum(values > smallest))
        return values[:rank], np.ascontiguousarray(rows[:rank].T)


def check_blocks(block_sizes: tuple[int, ...]) -> None:
    """Raise `InvalidArgument` unless these are the column counts of one party or more."""
    for size in block_sizes:
        check.require_integer("block_sizes", size, least=1)
    if not block_sizes:
        raise InvalidArgument("block_sizes", block_sizes, "the column count of one party or more")


def column_slices(block_sizes: tuple[int, ...]) -> Iterator[slice]:
    """Yield each party's columns; the parties hold consecutive ones."""
    start = 0
    for size in block_sizes:
        yield slice(start, start + size)
        start += size


def party_of(block_sizes: tuple[int, ...], column: int) -> int:
    """Return the party that holds ``column``.

    Examples
    --------
    >>> [party_of((2, 3), column) for column in range(5)]
    [0, 0, 1, 1, 1]
    """
    return int(np.searchsorted(np.cumsum(block_sizes), column, side="right"))


def split_into_parties(dataset: Dataset, block_sizes: tuple[int, ...]) -> tuple[Party, ...]:
    """Return the parties of a dataset; their computed numbers live as long as the dataset does.

    Raises
    ------
    InvalidArgument
        The blocks do not add up to the features of the dataset.
    """
    if sum(block_sizes) != dataset.dimension:
        given = VerbatimText(f"{dataset.dimension} features")
        raise InvalidArgument("dataset", given, f"{sum(block_sizes)}, split as {block_sizes}")
    known = _PARTIES.setdefault(dataset, {})
    if block_sizes not in known:
        blocks = (dataset.features[:, columns] for columns in column_slices(block_sizes))
        known[block_sizes] = tuple(Party(np.ascontiguousarray(block)) for block in blocks)
    return known[block_sizes]


# Datasets never change and compare by identity, so that what was computed of one stays true.
_PARTIES: WeakKeyDictionary[Dataset, dict[tuple[int, ...], tuple[Party, ...]]] = WeakKeyDictionary()
