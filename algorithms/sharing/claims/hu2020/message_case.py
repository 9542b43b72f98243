"""The audit of hu2020's Theorem 1: one noisy message, in the three places the noise may go."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

import dpaudit._validate as check
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.sharing.claims.hu2020.message import OneMessage
from dpaudit.algorithms.sharing.claims.hu2020.parameters import Theorem1Parameters
from dpaudit.algorithms.sharing.claims.hu2020.sent import sent_case
from dpaudit.algorithms.sharing.claims.hu2020.update import (
    PROOF,
    Instance,
    Setting,
    corrected_bound,
    lemma1,
)
from dpaudit.algorithms.sharing.claims.hu2020.update import published_bound as lemma1_bound
from dpaudit.algorithms.sharing.claims.hu2020.update_case import public, searched, setting_of
from dpaudit.algorithms.sharing.claims.hu2020.update_support import (
    SEPARATED,
    Message,
    distance,
    message_of,
    smallest_support,
    support_conditions,
    support_space,
)
from dpaudit.algorithms.sharing.noise import published_noise_scale
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.gaussian import epsilon_at, log_delta
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.laws.steps import GaussianSteps
from dpaudit.neighbours import REPLACE_COLUMN, Pair
from dpaudit.refutation import Attained, Certificate, Condition, exceeds, maximise
from dpaudit.refutation.inequality import broken

NAME = "hu2020-theorem1"
SOURCE = "Hu et al. (NeurIPS 2020), Theorem 1"
_SUPPORT_BUDGET = 1_000
_BELOW = 1e-6  # how far below the exact epsilon a certificate stays, relatively


def theorem1_case(settings: Settings, parameters: Theorem1Parameters) -> PrivacyCase | SearchCase:
    """Return the audit of one message: its exact law, or its support.

    Examples
    --------
    >>> small = Theorem1Parameters(features=8, budget=200)
    >>> case = theorem1_case(Settings(), small)
    >>> case.pair.relation.name, round(case.proved.guarantee.epsilon(1e-5), 3)
    ('replace-column', 2.219)
    """
    refuse_data(settings)
    check.probability("delta", settings.delta)
    if not 0 < settings.epsilon <= 1:
        raise InvalidArgument("epsilon", settings.epsilon, "in (0, 1]: the theorem's range")
    if parameters.variant == "message":
        return _message_case(settings, parameters)
    if settings.estimator == "event":
        scale = noise_scale(settings, parameters)
        return sent_case(settings, parameters, scale, _public(settings, parameters))
    return _support_case(settings, parameters)


# Noise on the message: its law is known


def noise_scale(settings: Settings, parameters: Theorem1Parameters) -> float:
    """Return ``sqrt(2 ln(1.25/delta)) C / epsilon`` with the sensitivity that is asked for."""
    setting = setting_of(parameters)
    published = parameters.sensitivity == "published"
    sensitivity = lemma1_bound(setting) if published else corrected_bound(setting)
    return published_noise_scale(settings.epsilon, settings.delta, sensitivity)


def _message_case(settings: Settings, parameters: Theorem1Parameters) -> PrivacyCase:
    setting, scale = setting_of(parameters), noise_scale(settings, parameters)
    lemma = lemma1(setting)
    rng = default_rng(stream(settings.seed, "search"))
    instance = searched(setting, lemma, parameters.budget, rng)
    moved = lemma.movement(instance)
    return PrivacyCase(
        mechanism=GaussianSteps(_message(setting, instance, scale)),
        pair=_pair(instance),
        claimed=ApproximateDP(parameters.factor * settings.epsilon, settings.delta),
        at_delta=settings.delta,
        view="message: one D_m x_m with N(0, sigma^2 I), given y, z and the other parties' models",
        data="a design with unit rows, drawn and improved by the search for Lemma 1",
        default_trials=10_000,
        parameters=_public(settings, parameters) | {"noise_scale": scale},
        assumptions=tuple(_outcome(c) for c in lemma.conditions(instance)),
        proved=_gaussian(lemma.proved / scale, f"exact Gaussian profile; {PROOF}"),
        pair_ceiling=_gaussian(moved / scale, "exact Gaussian profile of this pair"),
        notes=(
            f"Pair and state: the best of {parameters.budget} that the search for Lemma 1 "
            f"evaluated; D_m x_m moves by {moved:.6g}, {moved / lemma.claimed:.4g} times what the "
            f"lemma allows; sigma = {scale:.6g}.",
        ),
        certify=lambda lower: _certified(settings, parameters, instance),
    )


def _gaussian(mu: float, source: str) -> Proof:
    return Proof(guarantee=GaussianDP(mu), source=source)


def _message(setting: Setting, instance: Instance, scale: float) -> OneMessage:
    return OneMessage(
        setting=setting,
        dual=instance.dual,
        gap=instance.models @ instance.others - instance.prediction,
        noise_scale=scale,
    )


def _pair(instance: Instance) -> Pair[Dataset]:
    labels = np.ones(len(instance.design))
    one, other = (Dataset(design, labels) for design in (instance.design, instance.neighbour))
    return Pair(one, other, REPLACE_COLUMN)


def _certified(
    settings: Settings, parameters: Theorem1Parameters, instance: Instance
) -> Certificate | None:
    """Return an epsilon just below the exact one, where delta is above the claimed one."""
    setting, scale = setting_of(parameters), noise_scale(settings, parameters)
    lemma = lemma1(setting)
    moved = lemma.movement(instance)
    claimed = parameters.factor * settings.epsilon
    witness = (1 - _BELOW) * epsilon_at(moved / scale, math.log(settings.delta))
    if not exceeds(witness / claimed):
        return None
    exact = math.exp(log_delta(moved / scale, witness))
    exceeded = Condition(name="claimed delta is exceeded", value=settings.delta, limit=exact)
    return Certificate(
        claim=NAME,
        source=SOURCE,
        relation=REPLACE_COLUMN.name,
        parameters=public(setting, parameters) | _stated(settings, parameters),
        instance=vars(instance) | {"epsilon": witness},
        quantities={
            "claimed epsilon": claimed,
            "noise scale": scale,
            "movement": moved,
            "exact delta over claimed delta": exact / settings.delta,
            "ratio": witness / claimed,
        },
        conditions=(*lemma.conditions(instance), exceeded),
        search={"seed": settings.seed, "budget": parameters.budget},
        kind="approximate-dp",
    )


# Noise on the model: the message lies in the column space


def _support_case(settings: Settings, parameters: Theorem1Parameters) -> SearchCase:
    setting = setting_of(parameters)
    bound = parameters.factor * settings.epsilon

    def attain(trials: int, rng: Generator) -> Attained:
        found = maximise(support_space(setting), trials, rng)
        if found.ratio <= SEPARATED:
            return Attained(value=0.0, bound=bound, instance="no pair was separated")
        message = message_of(found.instance, setting.bound)
        if failed := broken(support_conditions(message)):
            raise MechanismError(f"{NAME}: the instance found breaks: {', '.join(failed)}")
        return Attained(
            value=math.inf,
            bound=bound,
            instance=_support_words(message),
            because=_BECAUSE,
            minimal=smallest_support(settings.seed),
            certificate=_support_certificate(settings, parameters, message, trials),
        )

    return SearchCase(
        bound=bound,
        attain=attain,
        view=f"{parameters.variant}: one D_m x~_m with noise on x_m",
        data="designs with unit rows and independent columns, improved by the search",
        relation=REPLACE_COLUMN.name,
        pair="found by the search: the signs of some entries of one column are flipped",
        default_trials=_SUPPORT_BUDGET,
        parameters=_public(settings, parameters),
        at_delta=settings.delta,
        effort="evaluated pairs",
        assumptions=tuple(
            AssumptionOutcome(name=name, holds=True, evidence="checked on the pair found")
            for name in _ENFORCED
        ),
        notes=("No scale of the noise enters: the message's support alone tells the two apart.",),
    )


_ENFORCED = (
    "unit rows",
    "unit rows of the neighbour",
    "one column differs",
    "close neighbours",
    "independent columns",
)
_BECAUSE = (
    "The message lies in the column space of the design; the neighbour's spans another, so that a "
    "message of the one has probability 0 under the other: delta is 1 at every epsilon."
)


def _support_words(message: Message) -> str:
    close = float(np.linalg.norm(message.design - message.neighbour))
    return (
        f"||D - D'||_F = {close:.4g}; a message D x~ is {distance(message):.4g} of its length away "
        "from the neighbour's column space"
    )


def _support_certificate(
    settings: Settings, parameters: Theorem1Parameters, message: Message, budget: int
) -> Certificate:
    setting = setting_of(parameters)
    return Certificate(
        claim=NAME,
        source=SOURCE,
        relation=REPLACE_COLUMN.name,
        parameters=public(setting, parameters) | _stated(settings, parameters),
        instance=vars(message),
        quantities={
            "distance from the neighbour's columns": distance(message),
            "delta at every epsilon": 1.0,
            "ratio": 1 / settings.delta,
        },
        conditions=support_conditions(message),
        search={"seed": settings.seed, "budget": budget},
        kind="support",
    )


def _stated(settings: Settings, parameters: Theorem1Parameters) -> dict[str, Any]:
    return {
        "variant": parameters.variant,
        "sensitivity": parameters.sensitivity,
        "epsilon": settings.epsilon,
        "delta": settings.delta,
    }


def _public(settings: Settings, parameters: Theorem1Parameters) -> dict[str, Any]:
    return parameters.model_dump(mode="json") | {
        "samples": setting_of(parameters).samples,
        "epsilon": settings.epsilon,
    }


def _outcome(condition: Condition) -> AssumptionOutcome:
    evidence = f"{condition.value:.4g}, at most {condition.limit:.4g}"
    return AssumptionOutcome(name=condition.name, holds=condition.holds, evidence=evidence)
