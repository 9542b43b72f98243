"""Proximal weights eta of the multi-step algorithm: constant, or the paper's eq. (23)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

import dpaudit._check as check
from dpaudit._typing import Array


class StepSize(Protocol):
    """A rule for the proximal weights."""

    def weights(
        self,
        count: int,
        *,
        objective_lipschitz: float,
        regulariser_weight: float,
        noise: Array,
    ) -> Array:
        """Return ``eta_i``, shape ``(n,)``.

        Parameters
        ----------
        count
            ``k r``: iteration times inner step, both from 1.
        objective_lipschitz
            Lipschitz constant of the sum of all nodes' mean losses, without the regulariser.
        regulariser_weight
            ``lambda``.
        noise
            ``sqrt(d) 2 c_1 sigma / m_i`` of every node, shape ``(n,)``.
        """
        ...


@dataclass(frozen=True)
class ConstantStepSize:
    """The same proximal weight ``eta`` at every node and step.

    Examples
    --------
    >>> ConstantStepSize(2.0).weights(
    ...     3, objective_lipschitz=1.0, regulariser_weight=0.0, noise=np.zeros(2)
    ... )
    array([2., 2.])
    """

    value: float

    def __post_init__(self) -> None:
        check.require_positive("step_size", self.value)

    def weights(
        self,
        count: int,
        *,
        objective_lipschitz: float,
        regulariser_weight: float,
        noise: Array,
    ) -> Array:
        """Return the constant, shape ``(n,)``."""
        return np.full(len(noise), self.value)


@dataclass(frozen=True, kw_only=True)
class DecayingStepSize:
    r"""The step size of eq. (23), written with the noise multiplier.

    ``eta_i^{k,r} = sqrt(2 k r) / D * sqrt((c_2 / n)^2 + d (2 c_1 sigma / m_i)^2)``: with the sigma
    of eq. (20) the two forms are equal.

    Parameters
    ----------
    diameter
        ``D``, the diameter of the set of models.
    objective_lipschitz
        ``c_2``. By default ``n c_1 + lambda D``: the Lipschitz constant of the sum of all ``L_i``.
    """

    diameter: float = 10.0
    objective_lipschitz: float | None = None

    def __post_init__(self) -> None:
        check.require_positive("diameter", self.diameter)
        if self.objective_lipschitz is not None:
            check.require_positive("objective_lipschitz", self.objective_lipschitz)

    def weights(
        self,
        count: int,
        *,
        objective_lipschitz: float,
        regulariser_weight: float,
        noise: Array,
    ) -> Array:
        """Return eq. (23), shape ``(n,)``."""
        # c_2 of the default: the losses' share, and lambda D of the regulariser within the
        # diameter.
        own = objective_lipschitz + regulariser_weight * self.diameter
        share = (self.objective_lipschitz or own) / len(noise)
        weights: Array = math.sqrt(2 * count) / self.diameter * np.sqrt(share**2 + noise**2)
        return weights
