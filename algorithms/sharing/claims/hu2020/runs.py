"""The audit of hu2020's Assumption 1.1: whether iterates and duals stay within b_1 on real runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

import dpaudit._validate as check
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.claims.hu2020.norms import Norms, log_exceeding, measured_norms
from dpaudit.algorithms.sharing.claims.hu2020.parameters import Assumption1Parameters
from dpaudit.algorithms.sharing.claims.hu2020.update import CURVATURE, ROUNDING
from dpaudit.algorithms.sharing.noise import (
    MessageNoise,
    Noise,
    NoNoise,
    ParameterNoise,
    WhitenedNoise,
    published_noise_scale,
    published_sensitivity,
)
from dpaudit.algorithms.sharing.vertical import Risk, column_slices, parties
from dpaudit.datasets import Dataset, load, subset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import stream
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.neighbours import REPLACE_COLUMN
from dpaudit.refutation import Attained, Certificate, Condition, exceeds

NAME = "hu2020-assumption1"
SOURCE = "Hu et al. (NeurIPS 2020), Assumption 1.1"
BUNDLED = "breast-cancer"
_LARGEST_FILE = 50_000  # numbers of a design that a certificate holds


def assumption1_case(settings: Settings, parameters: Assumption1Parameters) -> SearchCase:
    """Return the audit: the largest norm over runs, on the settings' data.

    Where the settings name no data, the records are those that come with scikit-learn.

    Examples
    --------
    >>> case = assumption1_case(Settings(), Assumption1Parameters(noise="none"))
    >>> case.bound, case.attain(1, default_rng(0)).value > 1
    (1.0, True)
    """
    check.positive("epsilon", settings.epsilon)
    check.probability("delta", settings.delta)
    data = _records(settings, parameters)
    algorithm = sharing(settings, parameters, data)
    bound = parameters.factor * parameters.bound

    def attain(trials: int, rng: Generator) -> Attained:
        norms = measured_norms(algorithm, data, trials, bound, rng)
        return Attained(
            value=norms.value,
            bound=bound,
            instance=norms.words(trials),
            because=_because(algorithm, data, norms),
            certificate=_certificate(settings, parameters, algorithm, data, norms),
        )

    return SearchCase(
        bound=bound,
        attain=attain,
        view=f"x, x~, y and z of {parameters.iterations} iterations; noise: {parameters.noise}",
        data=f"{data.name}: {len(data.labels)} records, {data.dimension} features dealt to "
        f"{parameters.parties} parties; every party's rows divided by their norms",
        relation=REPLACE_COLUMN.name,
        pair="none: the assumption is about single runs",
        default_trials=parameters.runs,
        parameters=_public(parameters, algorithm),
        quantity="norm of a variable",
        effort="runs",
        assumptions=_outcomes(data, algorithm),
        notes=_notes(algorithm, data, bound),
    )


def sharing(settings: Settings, parameters: Assumption1Parameters, data: Dataset) -> SharingADMM:
    """Return the algorithm with Theorem 1's noise, each party's scale from Lemma 1 with b_1."""
    blocks = _blocks(data, parameters.parties)
    return SharingADMM(
        block_sizes=blocks,
        iterations=parameters.iterations,
        penalty=parameters.penalty,
        noise=_noise(settings, parameters, blocks),
        risk=Risk(scaling=parameters.scaling, regulariser_weight=parameters.regulariser_weight),
    )


def _noise(settings: Settings, parameters: Assumption1Parameters, blocks: tuple[int, ...]) -> Noise:
    scales = tuple(
        published_noise_scale(
            settings.epsilon,
            settings.delta,
            published_sensitivity(
                features=size,
                parties=len(blocks),
                penalty=parameters.penalty,
                regulariser_weight=parameters.regulariser_weight,
                regulariser_curvature=CURVATURE,
                bound=parameters.bound,
            ),
        )
        for size in blocks
    )
    match parameters.noise:
        case "none":
            return NoNoise()
        case "parameter":
            return ParameterNoise(scales)
        case "whitened":
            return WhitenedNoise(scales)
        case "message":
            return MessageNoise(scales)


def _records(settings: Settings, parameters: Assumption1Parameters) -> Dataset:
    name = BUNDLED if settings.data == WORST_CASE else settings.data
    data = load(name, path=settings.data_path, **settings.data_options)
    data.require_signed_labels()
    if parameters.records is not None:
        data = subset(data, parameters.records, default_rng(stream(settings.seed, "records")))
    features = data.features.copy()
    for columns in column_slices(_blocks(data, parameters.parties)):
        lengths = np.linalg.norm(features[:, columns], axis=1, keepdims=True)
        features[:, columns] /= np.where(lengths > 0, lengths, 1.0)
    return Dataset(features, data.labels, name=data.name)


def _blocks(data: Dataset, parties: int) -> tuple[int, ...]:
    if parties > data.dimension:
        raise InvalidArgument("parties", parties, f"at most {data.dimension}, one a feature")
    return tuple(len(part) for part in np.array_split(np.arange(data.dimension), parties))


def _off_unit(data: Dataset, algorithm: SharingADMM) -> float:
    blocks = (data.features[:, columns] for columns in column_slices(algorithm.block_sizes))
    return max(float(np.abs(np.linalg.norm(b, axis=1) - 1).max()) for b in blocks)


def _outcomes(data: Dataset, algorithm: SharingADMM) -> tuple[AssumptionOutcome, ...]:
    off = _off_unit(data, algorithm)
    return (
        AssumptionOutcome(
            name="unit rows",
            holds=off <= ROUNDING,
            evidence=f"the norm of the worst row of a party is {off:.3g} from 1",
        ),
    )


def _notes(algorithm: SharingADMM, data: Dataset, bound: float) -> tuple[str, ...]:
    chance = log_exceeding(algorithm, data, bound)
    if chance is None:
        return ("Without noise all runs are the same.",)
    return (
        "Unbounded Gaussian noise keeps no bound: whatever happened before, some norm exceeds "
        f"{bound:g} with a probability of at least {_chance(chance)} in every iteration, and that "
        "is above 0 for every bound. A larger b_1 brings noise that is larger by as much.",
    )


def _chance(log_probability: float) -> str:
    """Return a probability in words, rounded down."""
    if log_probability < -600:
        return f"10^{math.floor(log_probability / math.log(10))}"
    if log_probability > math.log1p(-1e-6):
        return "0.999999"
    return f"{(1 - 1e-5) * math.exp(log_probability):.4g}"


def _because(algorithm: SharingADMM, data: Dataset, norms: Norms) -> str | None:
    if not exceeds(norms.value / norms.bound):
        return None
    if isinstance(algorithm.noise, NoNoise):
        return "Nothing in the algorithm projects: without noise, too, the iterates grow past it."
    return (
        "Unbounded Gaussian noise exceeds every bound with a probability above 0 at every "
        "iteration."
    )


def _certificate(
    settings: Settings,
    parameters: Assumption1Parameters,
    algorithm: SharingADMM,
    data: Dataset,
    norms: Norms,
) -> Certificate | None:
    """Return the noise of a first iteration, if that one already exceeds the bound."""
    chance = log_exceeding(algorithm, data, norms.bound)
    if norms.first is None or chance is None or not exceeds(norms.first_norm / norms.bound):
        return None
    if not _small_and_clean(algorithm, data):
        return None
    perturbed, messages = norms.first
    sent = {"messages": messages} if parameters.noise == "message" else {"perturbed": perturbed}
    return Certificate(
        claim=NAME,
        source=SOURCE,
        relation=REPLACE_COLUMN.name,
        parameters=_verified(settings, parameters, algorithm, data),
        instance={"design": data.features, "labels": data.labels} | sent,
        quantities={
            "bound": norms.bound,
            "norm": norms.first_norm,
            "probability of exceeding": math.exp(chance),
            "ratio": norms.first_norm / norms.bound,
        },
        conditions=(Condition(name="unit rows", value=_off_unit(data, algorithm), limit=ROUNDING),),
        search={"seed": settings.seed},
        kind="property",
    )


def _small_and_clean(algorithm: SharingADMM, data: Dataset) -> bool:
    """Return whether the file would be small, with unit rows and independent columns."""
    owners = parties(data, algorithm.block_sizes)
    independent = all(len(party.singular_values) == party.dimension for party in owners)
    clean = independent and _off_unit(data, algorithm) <= ROUNDING
    return clean and data.features.size <= _LARGEST_FILE


def _verified(
    settings: Settings, parameters: Assumption1Parameters, algorithm: SharingADMM, data: Dataset
) -> dict[str, Any]:
    names = ("noise", "bound", "factor", "penalty", "regulariser_weight", "scaling", "parties")
    return {name: getattr(parameters, name) for name in names} | {
        "epsilon": settings.epsilon,
        "delta": settings.delta,
        "features": data.dimension,
        "samples": len(data.labels),
    }


def _public(parameters: Assumption1Parameters, algorithm: SharingADMM) -> dict[str, Any]:
    return parameters.model_dump(mode="json") | {
        "block_sizes": list(algorithm.block_sizes),
        "noise_scale": algorithm.noise.scale,
    }
