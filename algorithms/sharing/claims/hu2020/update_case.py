"""The instances on which the claims of Hu et al. are audited: found by search, not planted."""

from __future__ import annotations

from dataclasses import asdict

from numpy.random import Generator, default_rng

from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.sharing.claims.hu2020.parameters import Parameters
from dpaudit.algorithms.sharing.claims.hu2020.update import (
    CURVATURE,
    ROUNDING,
    Instance,
    Setting,
    conditions,
    lemma1,
)
from dpaudit.algorithms.sharing.claims.hu2020.update_search import instance_of, space
from dpaudit.algorithms.sharing.claims.hu2020.update_small import smallest_instance
from dpaudit.errors import MechanismError
from dpaudit.execution import one_thread
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Attained, maximise
from dpaudit.refutation.sensitivity import Lemma

_WHY = "The proof takes ||(D'D)^-1|| for 1/d_m, which rows of norm 1 do not give."


def lemma1_case(settings: Settings, parameters: Parameters) -> SearchCase:
    """Return the audit of Lemma 1: a search over designs, neighbours and states.

    Examples
    --------
    >>> case = lemma1_case(Settings(), Parameters(features=8))
    >>> round(case.bound, 4), case.proved[0]
    (0.4125, 1.1)
    """
    refuse_data(settings)
    setting = setting_of(parameters)
    lemma = lemma1(setting, parameters.factor)

    def attain(trials: int, rng: Generator) -> Attained:
        instance = searched(setting, lemma, trials, rng)
        broken = lemma.refuted_by(instance)
        return Attained(
            value=lemma.movement(instance),
            bound=lemma.claimed,
            instance=_words(lemma, instance),
            because=_WHY if broken else None,
            minimal=smallest_instance(setting.bound, parameters.factor, settings.seed)
            if broken
            else None,
            certificate=lemma.certificate(
                instance,
                parameters=public(setting, parameters),
                arrays=vars(instance),
                search={"seed": settings.seed, "budget": trials},
            ),
        )

    return SearchCase(
        bound=lemma.claimed,
        attain=attain,
        view="one update (6) of one party, given y, z and the other parties' models",
        data="designs with unit rows, drawn and improved by the search",
        relation=lemma.relation,
        pair="found by the search: the signs of some entries of one column are flipped",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json") | asdict(setting),
        assumptions=tuple(_enforced(name) for name in _names(setting)),
        proved=(lemma.proved, lemma.proof),
        notes=("R is half the squared norm, without a constraint: c_1 = 1.",),
    )


def setting_of(parameters: Parameters) -> Setting:
    """Return the public parameters of the update; N is twice d_m unless given."""
    return Setting(
        features=parameters.features,
        samples=parameters.samples or 2 * parameters.features,
        penalty=parameters.penalty,
        regulariser_weight=parameters.regulariser_weight,
        bound=parameters.bound,
        parties=parameters.parties,
    )


def public(setting: Setting, parameters: Parameters) -> dict[str, float]:
    """Return the parameters that a certificate states, as its verifier reads them."""
    return asdict(setting) | {"curvature": CURVATURE, "factor": parameters.factor}


def searched(setting: Setting, lemma: Lemma[Instance], budget: int, rng: Generator) -> Instance:
    """Return the best instance of a search, with every assumption of the lemma checked on it.

    Raises
    ------
    MechanismError
        The instance breaks an assumption: the search is wrong, and nothing it found counts.
    """
    found = maximise(space(setting, lemma.claimed), budget, rng)
    instance = instance_of(found.instance)
    if broken := lemma.broken(instance):
        raise MechanismError(f"{lemma.name}: the instance found breaks: {', '.join(broken)}")
    return instance


def _names(setting: Setting) -> tuple[str, ...]:
    """Return the names of the conditions, read off any instance."""
    with one_thread():
        batch, _ = space(setting, 1.0).evaluate(space(setting, 1.0).start(1, default_rng(0)))
    first = instance_of({name: values[0] for name, values in batch.items()})
    return tuple(condition.name for condition in conditions(setting, first))


def _enforced(name: str) -> AssumptionOutcome:
    evidence = "checked on the instance found; its number is in the notes"
    if name.startswith("unit rows"):
        evidence += f" (up to {ROUNDING:g})"
    return AssumptionOutcome(name=name, holds=True, evidence=evidence)


def _words(lemma: Lemma[Instance], instance: Instance) -> str:
    numbers = "; ".join(
        f"{c.name} {c.value:.4g} (at most {c.limit:.4g})" for c in lemma.conditions(instance)
    )
    return f"{numbers}; {lemma.movement(instance) / lemma.proved:.1%} of the proved bound"
