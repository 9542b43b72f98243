"""Privacy of the labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.tables.claims.parameters import LabelParameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: LabelParameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.tables.claims.cases import theorem1

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
