r"""The rate without privacy.

Section 4.2 says that for an extremely large epsilon the approach "achieves a sublinear convergence
rate of O(1/t)". What is left of eq. (24) for infinite epsilon is ``sqrt(2) D c_2 / sqrt(t l)`` and
terms of ``1/t``: no more than ``O(1 / sqrt(t l))`` follows. And no more is true. Where the loss of
the centre has a kink, each step to one side jumps over the target by about ``1 / eta``, and eta
grows like ``sqrt(t)``; if the way back is less steep, the average stays on that side.

Read is the rate as ``left side of (24) <= C (D c_2 + sum_i |N_i| (rho D^2 + beta^2 / rho)) / t``:
what (24) has over t, and ``D c_2``. The constant C is not in the text, and an audit takes one.
That none will do is proved in `dpaudit.algorithms.multistep.statements.checks.rates.order`: of one
fixed problem with D = c_2 = 1 the error times t is at least ``(sqrt(t) - 5) / 20`` for every t.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.algorithms.multistep.claims.theorem7 import make_checked_assumptions, star_of
from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class Rate(Parameters):
    """Public parameters: a star whose centre holds all the loss."""

    nodes: int = Field(1, ge=1, le=100_000, description="n: a centre and its leaves")
    iterations: int = Field(200, ge=1, le=400, description="t")
    inner_steps: int = Field(1, ge=1, le=100, description="l")
    records: int = Field(10**12, ge=1, description="m: so many make sigma s vanish")
    constant: float = Field(1.0, gt=0, description="C of the rate")
    lipschitz: Literal["sum", "node"] = Field("sum", description="whose c_2: as in theorem7")


def prepare_section42_search(settings: Settings, parameters: Rate) -> SearchCase:
    """Return the audit on a star.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_section42_search(Settings(), Rate()).bound
    0.005
    """
    from dataclasses import asdict
    from functools import partial

    from dpaudit.algorithms.multistep.claims.discussion import search_attained_rate
    from dpaudit.extension.case import SearchCase

    star, constant = star_of(settings, parameters), parameters.constant
    return SearchCase(
        bound=constant / star.iterations,
        attain=partial(search_attained_rate, CLAIM, star, constant, seed=settings.seed),
        view="the models that eq. (22) averages",
        data="records of norm 1 at the centre of a star, and of norm 0 at its leaves",
        relation=CLAIM.relation,
        pair="none: the claim is about one dataset",
        default_trials=1_000,
        parameters=parameters.model_dump(mode="json") | asdict(star),
        quantity="expected excess risk and consensus violation",
        effort="evaluated losses and penalties",
        assumptions=make_checked_assumptions(CLAIM),
        notes=("The value is a certain lower bound on the expectation.",),
    )


CLAIM = Claim(
    name="huang2020-section42",
    title="The rate without privacy",
    statement=(
        "When epsilon is extremely large, leading to no privacy protection, the approach achieves "
        "a sublinear convergence rate of O(1/t): the left side of eq. (24) is at most C (D c_2 + "
        "sum_i |N_i| (rho D^2 + beta^2 / rho)) / t, with C = 1 unless given."
    ),
    source="Huang & Gong, multi-step DP-ADMM, section 4.2",
    kind="property",
    relation="none",
    assumptions={
        "Lipschitz objective": "the sum L of all L_i is c_2-Lipschitz, each loss c_1-Lipschitz",
        "bounded models": "all iterates, with their noise, and w* lie in a set of diameter D",
        "bounded duals": "every dual gamma_ij has norm at most beta",
        "clear of kinks": "noise within the bounded sets changes no gradient",
        "noise stays inside": "runs leave the bounded sets with a negligible probability",
    },
    prepare=prepare_section42_search,
    parameters=Rate,
    scope="It would stand with O(1 / sqrt(t)), or with a larger C up to some t; from t = "
    "(20 C + 6)^2 on every C fails, of one problem.",
    published={
        "100 nodes": Variant(
            settings={"parameters": {"nodes": 100, "iterations": 100}},
            scope="It would stand with O(1 / sqrt(t)); c_2 is that of the sum of all L_i.",
            printed=True,
        ),
        "1 over the root of t": Variant(
            settings={"parameters": {"constant": 15.0}},
            scope="Of a bound of sqrt(t) D c_2 / t: tried at t = 200, where C is above the root of "
            "t.",
        ),
    },
)
