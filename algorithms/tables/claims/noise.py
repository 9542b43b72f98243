"""The noise that Theorem 2 on joined tables asks for, and what every audit of it shares."""

from __future__ import annotations

from typing import Any

import dpaudit._validate as check
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.tables.algorithm import TablesADMM
from dpaudit.algorithms.tables.claims.theorem2 import CLAIM, FeatureParameters
from dpaudit.algorithms.tables.clients import LocalSGD
from dpaudit.algorithms.tables.guarantees import ROUNDED_UP, published_noise_multiplier
from dpaudit.errors import InvalidArgument
from dpaudit.extension.case import AssumptionOutcome
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Condition

BOUNDED, BOUNDED_NEIGHBOUR, ONE_TUPLE, PUBLISHED, RANGE = CLAIM.assumptions


def check_settings(settings: Settings) -> None:
    """Raise `InvalidArgument` where data are asked for, or the theorem says nothing."""
    refuse_data(settings, "the audit makes its own")
    check.positive("epsilon", settings.epsilon)
    check.probability("delta", settings.delta)


def published_multiplier(settings: Settings, parameters: FeatureParameters) -> float:
    """Return the theorem's sigma, rounded up.

    Examples
    --------
    >>> round(published_multiplier(Settings(), FeatureParameters()), 4)
    19.1941
    """
    return _least(settings, parameters) * ROUNDED_UP


def _least(settings: Settings, parameters: FeatureParameters) -> float:
    return published_noise_multiplier(
        epsilon=settings.epsilon,
        delta=settings.delta,
        steps=parameters.steps,
        sampling_ratio=parameters.sampling_ratio,
        second_constant=parameters.second_constant,
    )


def noise_conditions(
    settings: Settings, parameters: FeatureParameters
) -> tuple[Condition, Condition]:
    """Return what the theorem asks of sigma and of epsilon, as numbers."""
    largest = parameters.first_constant * parameters.sampling_ratio**2 * parameters.steps
    return (
        Condition(
            name=PUBLISHED,
            value=_least(settings, parameters),
            limit=published_multiplier(settings, parameters),
        ),
        Condition(name=RANGE, value=settings.epsilon, limit=largest),
    )


def noise_outcomes(
    settings: Settings, parameters: FeatureParameters
) -> tuple[AssumptionOutcome, ...]:
    """Return whether sigma and epsilon are those of the theorem.

    Raises
    ------
    InvalidArgument
        Epsilon is beyond the theorem's range.
    """
    noise, wide = noise_conditions(settings, parameters)
    if not wide.holds:
        expected = f"at most c_1 r^2 tau = {wide.limit:g}: the theorem says nothing beyond"
        raise InvalidArgument("epsilon", settings.epsilon, expected)
    constants = f"c_1 = {parameters.first_constant:g}, c_2 = {parameters.second_constant:g}"
    return (
        AssumptionOutcome(
            name=noise.name, holds=noise.holds, evidence=f"sigma = {noise.limit:.6g}; {constants}"
        ),
        AssumptionOutcome(
            name=wide.name,
            holds=True,
            evidence=f"epsilon = {wide.value:g}, c_1 r^2 tau = {wide.limit:g}",
        ),
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


def certified_parameters(settings: Settings, parameters: FeatureParameters) -> dict[str, Any]:
    """Return the public parameters that a certificate states."""
    names = (
        "iterations local_steps sampling_ratio first_constant second_constant factor tuple_norm"
    ).split()
    return {name: getattr(parameters, name) for name in names} | {
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "noise_multiplier": published_multiplier(settings, parameters),
    }
