"""The audits of hu2019's lemmas: searches over problems, starts and iterations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any

from numpy.random import Generator

from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.problems.sample_losses import SAMPLE_LOSSES, SQUARED
from dpaudit.algorithms.sharing.claims.hu2019.dual_step import dual_step, identity
from dpaudit.algorithms.sharing.claims.hu2019.instance import Instance, Measure, inequality
from dpaudit.algorithms.sharing.claims.hu2019.iterations import Setting
from dpaudit.algorithms.sharing.claims.hu2019.lagrangian import allowance, decrease
from dpaudit.algorithms.sharing.claims.hu2019.minimal import smallest
from dpaudit.algorithms.sharing.claims.hu2019.parameters import Lemma2Parameters, Lemma4Parameters
from dpaudit.algorithms.sharing.claims.hu2019.search import Window, instance_of, space
from dpaudit.algorithms.sharing.claims.hu2019.words import Words, lemma2_words, lemma4_words
from dpaudit.errors import MechanismError
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.refutation import Attained, Certificate, Inequality, exceeds, maximise

_SOURCE = "Hu et al. (arXiv 2019), supplement"
_PARTIES, _PENALTIES = (1, 2, 6), (2.5, 20.0)
_LOSSES = (SQUARED.name, *(name for name in SAMPLE_LOSSES if name != SQUARED.name))
_CHECKED = {
    "full column rank": "least eigenvalue of every D_m'D_m",
    "strongly convex parties": "eigenvalues of every D_m'D_m; gamma_m = lambda + rho sigma_min",
    "penalty above smoothness": "L of the loss is known",
    "penalty against smoothness": "gamma = rho + the least curvature of the loss",
    "signed labels": "every label",
}
_REACHED = {
    "reached by an iteration": "iterations are run from the start, and the first is not audited"
}
_BY_FORM = {
    "bounded below": "every loss and the regulariser are at least 0",
    "regulariser": "R = ||x||^2/2, without a constraint",
}


@dataclass(frozen=True, kw_only=True)
class _Audit:
    """What is searched: settings that share the budget, one measure, and how it is reported."""

    name: str
    settings: Sequence[Setting]
    measure: Measure
    window: Window
    words: Words
    certified: dict[str, Any] | None
    seed: int
    reached: bool = False

    def __call__(self, trials: int, rng: Generator) -> Attained:
        """Return the worst of exactly ``trials`` evaluated runs."""
        claim = inequality(self.name, _SOURCE, self.measure, reached=self.reached)
        instance = self._worst(claim, trials, rng)
        value, bound = claim.sides(instance)
        scale = claim.scale(instance) if claim.scale else None
        refuted = exceeds(claim.ratio(instance))
        least = smallest(claim, instance.setting, self.window, self.seed) if refuted else None
        return Attained(
            value=value,
            bound=bound,
            scale=scale,
            instance=self.words.instance(instance),
            because=self.words.because(instance) if refuted else None,
            minimal=None if least is None else self.words.short(least),
            certificate=self._certificate(claim, instance, trials) if refuted else None,
        )

    def _worst(self, claim: Inequality[Instance], trials: int, rng: Generator) -> Instance:
        found = []
        for i, setting in enumerate(self.settings):
            share = (trials + i) // len(self.settings)  # they add up to trials
            best = maximise(space(setting, self.measure, self.window), share, rng)
            found.append((best.ratio, -i, instance_of(setting, best.instance)))
        *_, instance = max(found, key=lambda item: item[:2])
        if broken := claim.broken(instance):
            raise MechanismError(f"{claim.name}: the instance found breaks: {', '.join(broken)}")
        return instance

    def _certificate(
        self, claim: Inequality[Instance], instance: Instance, trials: int
    ) -> Certificate | None:
        if self.certified is None:
            return None
        return Certificate(
            claim=self.name,
            source=claim.source,
            relation="none",
            parameters=asdict(instance.setting)
            | {"iteration": instance.iteration}
            | self.certified,
            instance=instance.arrays(),
            quantities=self.words.quantities(instance),
            conditions=claim.conditions(instance),
            search={"seed": self.seed, "budget": trials},
            kind="property",
        )


def lemma2_case(settings: Settings, parameters: Lemma2Parameters) -> SearchCase:
    """Return the audit of Lemma 2: every loss, several numbers of parties and penalties.

    Examples
    --------
    >>> import numpy as np
    >>> case = lemma2_case(Settings(), Lemma2Parameters(loss="logistic", parties=2))
    >>> attained = case.attain(200, np.random.default_rng(0))
    >>> 0.9 < attained.ratio <= 1 + 1e-9
    True
    """
    refuse_data(settings)
    own = parameters.part == "identity"
    audit = _Audit(
        name="hu2019-lemma2",
        settings=_grid(parameters),
        measure=identity if own else partial(dual_step, factor=parameters.factor),
        window=parameters.window,
        words=lemma2_words(parameters.factor, identity=own),
        certified=None if own else {"factor": parameters.factor},
        seed=settings.seed,
    )
    quantity = "norm of grad l(z) - y" if own else "squared step of the dual variable"
    return _case(audit, parameters, quantity, _notes2(parameters))


def lemma4_case(settings: Settings, parameters: Lemma4Parameters) -> SearchCase:
    """Return the audit of Lemma 4, as published or with another constant.

    Examples
    --------
    >>> import numpy as np
    >>> case = lemma4_case(Settings(), Lemma4Parameters())
    >>> attained = case.attain(1000, np.random.default_rng(0))
    >>> attained.ratio > 10, attained.value > attained.bound
    (True, True)
    """
    refuse_data(settings)
    audit = _Audit(
        name="hu2019-lemma4",
        settings=(_setting(parameters, parameters.parties, parameters.penalty, parameters.loss),),
        measure=decrease(parameters.version, parameters.factor),
        window=parameters.window,
        words=lemma4_words(parameters.version, parameters.factor),
        certified={"version": parameters.version, "factor": parameters.factor},
        seed=settings.seed,
        reached=True,
    )
    return _case(
        audit, parameters, "change of the augmented Lagrangian", _notes4(audit.settings[0])
    )


def _case(
    audit: _Audit,
    parameters: Lemma2Parameters | Lemma4Parameters,
    quantity: str,
    notes: tuple[str, ...],
) -> SearchCase:
    window = parameters.window
    start = "any start" if window.any_start else "x = y = z = 0, the paper's start"
    return SearchCase(
        bound=1.0,  # differs from instance to instance
        attain=audit,
        view=f"iterations {window.earliest} to {window.latest}, from {start}",
        data="problems that meet Assumption 1, drawn and improved by the search",
        relation="none: the claim is about one dataset",
        pair="none",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity=quantity,
        effort="evaluated runs",
        assumptions=_outcomes(reached=audit.reached),
        notes=notes,
    )


def _grid(parameters: Lemma2Parameters) -> tuple[Setting, ...]:
    losses = _LOSSES if parameters.loss is None else (parameters.loss,)
    parties = _PARTIES if parameters.parties is None else (parameters.parties,)
    # The loss is weighted: penalties grow with its L, so that Assumption 1.2c holds.
    weighted = [max(1.0, parameters.loss_weight) * penalty for penalty in _PENALTIES]
    penalties = weighted if parameters.penalty is None else (parameters.penalty,)
    every = product(losses, parties, penalties)
    return tuple(_setting(parameters, m, rho, loss) for loss, m, rho in every)


def _setting(
    parameters: Lemma2Parameters | Lemma4Parameters, parties: int, penalty: float, loss: str
) -> Setting:
    return Setting(
        parties=parties,
        features=parameters.features,
        samples=parameters.samples,
        penalty=penalty,
        regulariser_weight=parameters.regulariser_weight,
        loss=loss,
        loss_weight=parameters.loss_weight,
    )


def _notes2(parameters: Lemma2Parameters) -> tuple[str, ...]:
    if parameters.earliest > 1:
        return (
            "The second part needs y to be a slope already, so it is audited from the second "
            "iteration on; the variant first-iteration shows that it fails in the first.",
        )
    return (
        "In the first iteration y is the start's, which need not be the slope at the start's z.",
    )


def _notes4(setting: Setting) -> tuple[str, ...]:
    return (
        f"With (M - 1) rho / 2 = {allowance(setting, 'corrected'):g} times sigma_max(D_m'D_m) the "
        "lemma is true, by proof; as published it is true where that number is at most 1.",
    )


def _outcomes(*, reached: bool) -> tuple[AssumptionOutcome, ...]:
    told = {name: f"checked on the instance found: {text}" for name, text in _CHECKED.items()}
    told |= _REACHED if reached else {}
    return tuple(
        AssumptionOutcome(name=name, holds=True, evidence=text)
        for name, text in (told | _BY_FORM).items()
    )
