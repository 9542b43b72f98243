"""The audit of Theorem 1 on joined tables: labels with Laplace noise."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.tables.claims.label_search import (
    ASSUMPTIONS,
    Labels,
    Released,
    exact_loss,
    inequality,
    searched,
)
from dpaudit.algorithms.tables.claims.parameters import LabelParameters
from dpaudit.algorithms.tables.joined import JoinedTables
from dpaudit.algorithms.tables.labels import LabelRelease
from dpaudit.algorithms.tables.loss import LOGISTIC, CrossEntropy
from dpaudit.errors import MechanismError
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_LABEL, Pair
from dpaudit.refutation import Attained, Certificate, Inequality, minimal

PROOF = "triangle inequality in every coordinate: at most ||y - y'||_1 / b, with ||y - y'||_1 <= 2"


def label_case(settings: Settings, parameters: LabelParameters) -> SearchCase:
    """Return the audit of Theorem 1."""
    labels = Labels(settings.epsilon, parameters)
    claim = inequality(labels)

    def attain(trials: int, rng: Generator) -> Attained:
        found = _checked(claim, searched(labels, trials, rng))
        refuted = claim.refuted_by(found)
        return Attained(
            value=max(_value(labels, found), 0.0),
            bound=labels.claimed,
            instance=_words(found),
            because=_because(found) if refuted else None,
            minimal=_smallest(labels) if refuted else None,
            certificate=_certificate(claim, labels, found, trials, settings.seed),
        )

    return SearchCase(
        bound=labels.claimed,
        attain=attain,
        view="the noisy labels, and so everything that is computed from them",
        data=f"{parameters.encoding} labels of {labels.width} coordinates, found by the search",
        relation=REPLACE_LABEL.name,
        pair="found by the search: one label is replaced",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json") | {"deviation": labels.deviation},
        at_delta=0.0,
        effort="evaluated outputs",
        assumptions=_outcomes(labels),
        proved=(2 * math.sqrt(2) / labels.deviation, PROOF),
        notes=_notes(labels),
    )


def _checked(claim: Inequality[Released], found: Released) -> Released:
    if broken := claim.broken(found):
        raise MechanismError(f"{claim.name}: the instance found breaks: {', '.join(broken)}")
    return found


def _value(labels: Labels, found: Released) -> float:
    """Return the loss as the mechanism itself states it; of other encodings, by the formula.

    The two differ by the excess of the deviation alone.
    """
    kind = labels.parameters.encoding
    if kind == "unit-l1" or np.array_equal(found.label, found.other):
        return float(exact_loss(found.label, found.other, found.output, found.deviation))
    release = LabelRelease(
        epsilon=2 * math.sqrt(2) / found.deviation,
        loss=LOGISTIC if kind == "sign" else CrossEntropy(labels.width),
    )
    here, there = (
        float(y[0] if kind == "sign" else np.argmax(y)) for y in (found.label, found.other)
    )
    one = JoinedTables((np.ones((1, 1)),), (np.zeros(1, int),), np.array([here]))
    pair = Pair(one, one.with_label(0, there), REPLACE_LABEL)
    return float(release.privacy_loss(found.output[None, None], pair)[0])


def _certificate(
    claim: Inequality[Released], labels: Labels, found: Released, trials: int, seed: int
) -> Certificate | None:
    if not claim.refuted_by(found):
        return None
    loss, bound = claim.sides(found)
    return Certificate(
        claim=claim.name,
        source=claim.source,
        relation=REPLACE_LABEL.name,
        parameters={
            "encoding": labels.parameters.encoding,
            "coordinates": labels.width,
            "epsilon": labels.epsilon,
            "factor": labels.parameters.factor,
            "deviation": labels.deviation,
        },
        instance={"label": found.label, "other": found.other, "output": found.output},
        quantities={"bound": bound, "loss": loss, "ratio": loss / bound},
        conditions=claim.conditions(found),
        search={"seed": seed, "budget": trials},
        kind="pure-dp",
    )


def _outcomes(labels: Labels) -> tuple[AssumptionOutcome, ...]:
    enforced = "checked on the instance found"
    noise = f"standard deviation {labels.deviation:.6g}, {labels.parameters.noise:g} as published"
    return (
        *(AssumptionOutcome(name=name, holds=True, evidence=enforced) for name in ASSUMPTIONS[:2]),
        AssumptionOutcome(name=ASSUMPTIONS[2], holds=True, evidence=noise),
    )


def _notes(labels: Labels) -> tuple[str, ...]:
    """Return what happens outside the assumption: several classes at once."""
    many = np.ones(labels.parameters.classes)
    loss = float(exact_loss(many, 0 * many, many, labels.deviation))
    return (
        "The theorem does not say how labels are written. One-hot codes, signs and labels of L1 "
        "norm up to 1 are at most 2 apart, as the noise assumes. Labels that may name any of "
        f"{labels.parameters.classes} classes at once are up to {labels.parameters.classes} "
        f"apart, and this noise then has an exact loss of {loss:.6g}.",
    )


def _because(found: Released) -> str:
    return (
        f"That is the exact loss of the output {_shown(found.output)}, and nearly that of all "
        "outputs around it, which have a probability above 0."
    )


def _words(found: Released) -> str:
    return (
        f"label {_shown(found.label)} replaced by {_shown(found.other)}, output "
        f"{_shown(found.output)}, deviation {found.deviation:.6g}"
    )


def _shown(values: Array) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"


def _smallest(labels: Labels) -> str | None:
    """Return the smallest one-hot pair and whole output that break the claim."""
    whole = st.integers(0, 2)

    def released(drawn: tuple[int, int, int, list[int]]) -> Released:
        size, one, other, output = drawn
        codes = np.eye(size)
        value = np.array(output[:size], dtype=np.float64)
        return Released(codes[one % size], codes[other % size], value, labels.deviation)

    sizes = st.integers(2, 4)
    drawn = st.tuples(sizes, whole, whole, st.lists(whole, min_size=4, max_size=4)).map(released)
    one_hot = Labels(labels.epsilon, labels.parameters.model_copy(update={"encoding": "one-hot"}))
    smallest = minimal(drawn, inequality(one_hot), budget=300)
    return None if smallest is None else _words(smallest)
