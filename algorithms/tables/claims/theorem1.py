"""Privacy of the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


class LabelParameters(Parameters):
    """How labels are written and how much noise they get."""

    encoding: Literal["one-hot", "sign", "unit-l1"] = Field(
        "one-hot", description="how labels are written; unit-l1: any vector of L1 norm up to 1"
    )
    classes: int = Field(3, ge=2, le=100, description="d_c; a sign has two classes, one coordinate")
    noise: float = Field(1.0, ge=1, description="the published deviation is multiplied by this")
    budget: int = Field(4_000, ge=100, description="evaluated outputs, unless --trials is given")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


def prepare(settings: Settings, parameters: LabelParameters) -> Case:
    """Return the audit: a search over labels and outputs."""
    from dpaudit.algorithms.tables.claims.labels import theorem1

    return theorem1(settings, parameters)


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
    prepare=prepare,
    parameters=LabelParameters,
)
