"""Six equations on the way to Theorem 7 of Huang & Gong: a table of their claims.

All are about one iteration of one node (`dpaudit.algorithms.multistep.claims.proof.iteration`), and
one search tries any of them. What tells them apart is a row: the number, the words, and the audits
that are published.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings

_SOURCE = "Huang & Gong, multi-step DP-ADMM, appendix, proof of Theorem 7, eq. ({number})"
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


class ScatterSizes(IterationSizes):
    """The size of an iteration that has one inner step unless more are asked for."""

    inner_steps: int = Field(1, ge=1, le=20, description="l")


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


def state_equation(
    number: int,
    *,
    title: str,
    statement: str,
    scope: str,
    published: Mapping[str, Variant],
    parameters: type[IterationSizes] = IterationSizes,
) -> Claim:
    """Return the claim that an equation of the proof holds.

    Examples
    --------
    >>> from numpy.random import default_rng
    >>> from dpaudit.extension.settings import Settings
    >>> case = EQUATION_29.prepare(Settings(), EQUATION_29.parameters())
    >>> case.attain(20, default_rng(0)).refutes
    True
    """

    def prepare(settings: Settings, parameters: IterationSizes) -> SearchCase:
        return make_equation_case(claim, number, settings, parameters)

    claim = Claim(
        name=f"huang2020-equation{number}",
        title=title,
        statement=statement,
        source=_SOURCE.format(number=number),
        kind="property",
        relation="none",
        assumptions={},
        prepare=prepare,
        parameters=parameters,
        scope=scope,
        published=published,
    )
    return claim


_CORRECTED = Variant(
    settings={"parameters": {"version": "corrected"}},
    scope="Of the corrected equation; the proof is for any number of steps and neighbours.",
)
_LARGER = Variant(
    settings={"parameters": {"inner_steps": 4, "neighbours": 3, "dimension": 2}},
    scope="Tried with four inner steps, three neighbours and two features.",
    printed=True,
)
EQUATION_29 = state_equation(
    29,
    title="Noise joins the gradient",
    statement=(
        "<grad L_i(w~_i^{k,r}), w~_i^{k,r} - w*> = <grad L_i(w~_i^{k,r}) + xi_i, "
        "w~_i^{k,r+1} - w*> + <xi_i, w* - w_i^{k,r+1}> + <grad L_i(w~_i^{k,r}) + xi_i, "
        "w~_i^{k,r} - w~_i^{k,r+1}>."
    ),
    scope="It would stand in expectation, and with w~_i^{k,r} in place of w_i^{k,r+1}, as "
    "eq. (39) has it.",
    published={
        "corrected": _CORRECTED,
    },
)
EQUATION_30 = state_equation(
    30,
    title="Noise as a part of the gradient",
    statement=(
        "With xi_i = xi_i^{k,r} / (2 rho |N_i| + eta_i^{k,r}), <grad L_i(w~_i^{k,r}) + xi_i, "
        "w~_i^{k,r+1} - w*> = (eta_i^{k,r+1} + 2 rho |N_i|) <w~_i^{k,r} - w~_i^{k,r+1}, "
        "w~_i^{k,r+1} - w*> + 2 <gamma_i^{k-1} - rho sum_j (w~_i^{k,r} - (w~_i^{k-1} + "
        "w~_j^{k-1}) / 2), w~_i^{k,r+1} - w*>."
    ),
    scope="It would stand with xi_i = -(2 rho |N_i| + eta_i^{k,r+1}) xi_i^{k,r+1}, as eq. "
    "(39) takes its size to be.",
    published={
        "corrected": _CORRECTED,
    },
)
EQUATION_32 = state_equation(
    32,
    title="The pull of the neighbours over one iteration",
    statement=(
        "1/l sum_r 2 <gamma_i^{k-1} - rho sum_j (w~_i^{k,r} - (w~_i^{k-1} + w~_j^{k-1}) / 2), "
        "w~_i^{k,r+1} - w*> = 1/l sum_r 2 rho sum_j <w~_i^{k,r+1} - w~_i^k, w* - w~_i^{k,r+1}> + "
        "2 sum_j <gamma_ij^k, w~_i^k - w*> + 1/l sum_r 2 rho sum_j <w~_i^{k,r} - w~_i^{k,r+1}, "
        "w* - w~_i^{k,r+1}> + 2 rho sum_j <(w~_i^k + w~_j^k) / 2 - (w~_i^{k-1} + w~_j^{k-1}) / 2, "
        "w* - w~_i^k>."
    ),
    scope="The proof is for any number of steps, neighbours and features.",
    published={
        "more of everything": _LARGER,
    },
)
EQUATION_33 = state_equation(
    33,
    title="Inner models scatter about their average",
    statement=("sum_r <w~_i^{k,r+1} - w~_i^k, w* - w~_i^{k,r+1}> < 0."),
    scope="With one inner step the sum is 0 in every run. It would stand with at most in "
    "place of less, which is all that the proof needs, and as it is where not all "
    "inner models are equal.",
    published={
        "corrected": Variant(
            settings={"parameters": {"inner_steps": 3, "version": "corrected"}},
            scope="Of a sum that is at most 0, which has a proof; tried with three inner steps.",
        ),
    },
    parameters=ScatterSizes,
)
EQUATION_34 = state_equation(
    34,
    title="What neighbours agree on moves",
    statement=(
        "<(w~_i^k + w~_j^k) / 2 - (w~_i^{k-1} + w~_j^{k-1}) / 2, w* - w~_i^k> <= "
        "(||(w~_i^{k-1} + w~_j^{k-1}) / 2 - w*||^2 - ||(w~_i^k + w~_j^k) / 2 - w*||^2) / 2 + "
        "||gamma_ij^{k-1} - gamma_ij^k||^2 / (2 rho^2)."
    ),
    scope="The proof is for any number of steps, neighbours and features.",
    published={
        "more of everything": _LARGER,
    },
)
EQUATION_36 = state_equation(
    36,
    title="What one iteration gains",
    statement=(
        "1/l sum_r <grad L_i(w~_i^{k,r}), w~_i^{k,r} - w*> <= 1/l sum_r (eta_i^{k,r+1} / 2 "
        "(||w~_i^{k,r} - w*||^2 + ||w~_i^{k,r+1} - w*||^2) + ||grad L_i(w~_i^{k,r}) + xi_i||^2 / "
        "(2 eta_i^{k,r+1})) + 1/l sum_r <xi_i, w* - w_i^{k,r+1}> + rho sum_j (||(w~_i^{k-1} + "
        "w~_j^{k-1}) / 2 - w*||^2 - ||(w~_i^k + w~_j^k) / 2 - w*||^2) + sum_j ||gamma_ij^{k-1} - "
        "gamma_ij^k||^2 / rho + 1/l sum_r sum_j 2 <gamma_ij^k, w~_i^{k+1} - w*>, with the xi_i of "
        "eq. (30)."
    ),
    scope="It would stand with w~_i^k in its last term and the xi_i that eq. (30) needs, "
    "then also with the minus before ||w~_i^{k,r+1} - w*||^2 that the sum over r "
    "needs.",
    published={
        "more of everything": _LARGER,
        "corrected": _CORRECTED,
    },
)
