"""Advanced composition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


class Composition(Parameters):
    """Public parameters; epsilon and delta of one algorithm are the settings'.

    ``gaussian`` narrows the class to Gaussian mechanisms with the noise of eq. (20) for t = 1.
    """

    count: int = Field(10, ge=1, le=10_000, description="t, algorithms that are composed")
    c0: float = Field(1.0, gt=0, description="the constant of the theorem")
    c0_of_proof: bool = Field(
        False, description="c_0 = sqrt(ln(1/delta) / ln(1.25/delta)), as its proof has it"
    )
    algorithms: Literal["all", "gaussian"] = Field("all", description="which are composed")
    factor: float = Field(1.0, gt=0, description="the claimed delta is multiplied by this")


def prepare(settings: Settings, parameters: Composition) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.multistep.claims.composition import theorem4

    return theorem4(settings, parameters)


CLAIM = Claim(
    name="huang2020-theorem4",
    title="Advanced composition",
    statement=(
        "The t-fold adaptive composition of (epsilon, delta)-DP algorithms is "
        "(c_0 sqrt(t) epsilon, delta)-DP for some constant c_0, for any epsilon, delta >= 0; "
        "audited as a bound on delta at epsilon' = c_0 sqrt(t) epsilon. c_0 = 1 unless given."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 4",
    kind="property",
    relation="replace-record",
    assumptions={"private algorithms": "every algorithm is (epsilon, delta)-DP"},
    prepare=prepare,
    parameters=Composition,
    published={
        "epsilon = 0": {"epsilon": 0.0},
        "c_0 = 100": {"parameters": {"c0": 100.0}},
        "delta = 0": {"delta": 0.0},
        "c_0 of the proof": {"parameters": {"c0_of_proof": True}},
        "Gaussian mechanisms": {"epsilon": 0.5, "parameters": {"algorithms": "gaussian"}},
        "Gaussian mechanisms, many": {
            "epsilon": 0.5,
            "parameters": {"algorithms": "gaussian", "count": 1000},
        },
    },
)
