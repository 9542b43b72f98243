"""Privacy of the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.tables.claims.labels import Labels
    from dpaudit.extension.case import AssumptionOutcome, SearchCase
    from dpaudit.extension.settings import Settings


class LabelParameters(Parameters):
    """The encoding of labels, and the amount of their noise."""

    encoding: Literal["one-hot", "sign", "unit-l1"] = Field(
        "one-hot", description="how labels are written; unit-l1: any vector of L1 norm up to 1"
    )
    classes: int = Field(3, ge=2, le=100, description="d_c; a sign has two classes, one coordinate")
    noise: float = Field(1.0, ge=1, description="the published deviation is multiplied by this")
    budget: int = Field(4_000, ge=100, description="evaluated outputs, unless --trials is given")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


def prepare_label_search(settings: Settings, parameters: LabelParameters) -> SearchCase:
    """Return the audit: a search over labels and outputs.

    Raises
    ------
    InvalidArgument
        Data are asked for, or epsilon is 0.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_label_search(Settings(epsilon=2.0), LabelParameters())
    >>> case.bound, case.at_delta
    (2.0, 0.0)
    """
    from functools import partial

    import dpaudit._check as check
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.algorithms.tables.claims.labels import PROOF, Labels, search_label_loss
    from dpaudit.extension.case import SearchCase

    refuse_data(settings, "the audit makes its own")
    check.require_positive("epsilon", settings.epsilon)
    labels = Labels(epsilon=settings.epsilon, **parameters.model_dump(exclude={"budget"}))
    return SearchCase(
        bound=labels.claimed,
        attain=partial(search_label_loss, CLAIM, labels, seed=settings.seed),
        view="the noisy labels, and so everything that is computed from them",
        data=f"{labels.encoding} labels of {labels.width} coordinates, found by the search",
        relation=CLAIM.relation,
        pair="found by the search: one label is replaced",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json") | {"deviation": labels.deviation},
        at_delta=0.0,
        effort="evaluated outputs",
        assumptions=_check_label_assumptions(labels),
        proved=(labels.proved, PROOF),
        notes=_format_label_notes(labels),
    )


def _check_label_assumptions(labels: Labels) -> tuple[AssumptionOutcome, ...]:
    from dpaudit.extension.case import AssumptionOutcome

    enforced = "checked on the instance found"
    noise = f"standard deviation {labels.deviation:.6g}, {labels.noise:g} as published"
    return tuple(
        AssumptionOutcome(
            name=name, holds=True, evidence=noise if name == "published noise" else enforced
        )
        for name in CLAIM.assumptions
    )


def _format_label_notes(labels: Labels) -> tuple[str, ...]:
    """Return notes on the case outside the assumption: several classes at once."""
    import numpy as np

    from dpaudit.algorithms.tables.claims.labels import exact_loss

    many = np.ones(labels.classes)
    loss = float(exact_loss(many, 0 * many, many, labels.deviation))
    return (
        "The theorem does not say how labels are written. One-hot codes, signs and labels of L1 "
        "norm up to 1 are at most 2 apart, as the noise assumes. Labels that may name any of "
        f"{labels.classes} classes at once are up to {labels.classes} "
        f"apart, and this noise then has an exact loss of {loss:.6g}.",
    )


CLAIM = Claim(
    name="tables-theorem1",
    title="Privacy of the labels",
    statement=(
        "Laplace noise of standard deviation 2 sqrt(2) / epsilon on each coordinate of the labels, "
        "once, makes them epsilon-label-DP (delta = 0)."
    ),
    source="TablePuppet, appendix C, Theorem 1",
    kind="privacy",
    relation="replace-label",
    assumptions={
        "unit label": "the label is one-hot, a sign, or at most 1 long in L1 norm",
        "unit label of the neighbour": "so is the label that replaces it",
        "published noise": "the standard deviation is at least 2 sqrt(2) / epsilon",
    },
    prepare=prepare_label_search,
    parameters=LabelParameters,
    scope="Attained by one-hot labels: no smaller epsilon is true.",
)
