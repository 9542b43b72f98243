"""The common part of the audits of the proof's equations: parameters, and the search's case."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings

SOURCE = "Huang & Gong, multi-step DP-ADMM, appendix, proof of Theorem 7, eq. ({number})"

_PROOF = "identities between polynomials, in rationals ({check})"


class IterationSizes(Parameters):
    """The size of an iteration, and which version of the equation is audited."""

    inner_steps: int = Field(2, ge=1, le=20, description="l")
    neighbours: int = Field(1, ge=1, le=20, description="|N_i|")
    dimension: int = Field(1, ge=1, le=20, description="d")
    version: Literal["published", "corrected"] = Field(
        "published", description="the equation as it is, or as its derivation gives it"
    )
    factor: float = Field(1.0, gt=0, description="the right side is multiplied by this")
    budget: int = Field(1_000, ge=1, description="evaluated iterations, unless --trials is given")


def make_equation_case(
    claim: Claim, number: int, settings: Settings, parameters: IterationSizes
) -> SearchCase:
    """Return the audit of an equation: a search over iterations of small whole numbers."""
    from functools import partial

    from dpaudit.algorithms.multistep.claims.proof.iteration import EquationAudit
    from dpaudit.algorithms.problems.records import refuse_data
    from dpaudit.extension.case import SearchCase

    refuse_data(settings)
    # The search's budget is no parameter of the equation.
    audited = EquationAudit(number=number, **parameters.model_dump(exclude={"budget"}))
    equality, proof = audited.equation.equality, audited.proof
    return SearchCase(
        bound=0.0,
        attain=partial(audited.attained, claim, seed=settings.seed),
        view="one iteration of one node",
        data="any gradients, states and noise, of small whole numbers",
        relation=claim.relation,
        pair="none: the equation is about single runs",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        quantity="difference of the two sides" if equality else "left side less the right side",
        effort="evaluated iterations",
        proved=None if proof is None else (0.0, _PROOF.format(check=proof)),
        notes=("Differences are compared to 1 plus the sizes of all terms.",),
    )


CORRECTED = Variant(
    settings={"parameters": {"version": "corrected"}},
    scope="Of the corrected equation; the proof is for any number of steps and neighbours.",
)
LARGER = Variant(
    settings={"parameters": {"inner_steps": 4, "neighbours": 3, "dimension": 2}},
    scope="Tried with four inner steps, three neighbours and two features.",
    printed=True,
)
