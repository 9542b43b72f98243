"""The noise that Theorem 2 on joined tables asks for, and what every audit of it shares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.claims.parameters import FeatureParameters
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Condition

NAME = "tables-theorem2"
SOURCE = "TablePuppet, appendix C, Theorem 2"
ASSUMPTIONS = (
    "bounded tuples",
    "bounded tuples of the neighbour",
    "one tuple differs",
    "published noise",
    "range of epsilon",
)
# One part in 10^12 more noise than published, so that a rounded sigma is never below the theorem's.
_MORE = 1 + 1e-12


def published_multiplier(settings: Settings, parameters: FeatureParameters) -> float:
    """Return ``sigma = c_2 r sqrt(tau ln(1/delta)) / epsilon``, rounded up.

    Examples
    --------
    >>> round(published_multiplier(Settings(), FeatureParameters()), 4)
    19.1941
    """
    return _least(settings, parameters) * _MORE


def _least(settings: Settings, parameters: FeatureParameters) -> float:
    root = math.sqrt(parameters.steps * -math.log(settings.delta))
    return parameters.second_constant * parameters.sampling_ratio * root / settings.epsilon


def noise_conditions(
    settings: Settings, parameters: FeatureParameters
) -> tuple[Condition, Condition]:
    """Return what the theorem asks of sigma and of epsilon, as numbers."""
    largest = parameters.first_constant * parameters.sampling_ratio**2 * parameters.steps
    return (
        Condition(
            name="published noise",
            value=_least(settings, parameters),
            limit=published_multiplier(settings, parameters),
        ),
        Condition(name="range of epsilon", value=settings.epsilon, limit=largest),
    )


def algorithm_of(
    settings: Settings, parameters: FeatureParameters, learning_rate: float
) -> TablesADMM:
    """Return the private algorithm with the published noise on features, none on labels."""
    solver = LocalSGD(
        steps=parameters.local_steps,
        learning_rate=learning_rate,
        sampling_ratio=parameters.sampling_ratio,
        clip_norm=parameters.clip_norm,
        noise_multiplier=published_multiplier(settings, parameters),
    )
    return TablesADMM(
        iterations=parameters.iterations,
        penalty=parameters.penalty,
        regulariser_weight=parameters.regulariser_weight,
        solver=solver,
    )


def certified_parameters(settings: Settings, parameters: FeatureParameters) -> Mapping[str, Any]:
    """Return the public parameters that a certificate states."""
    names = (
        "iterations local_steps sampling_ratio first_constant second_constant factor tuple_norm"
    ).split()
    return {name: getattr(parameters, name) for name in names} | {
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "noise_multiplier": published_multiplier(settings, parameters),
    }
