"""Utility."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.multistep.claims.star import StarSetting
    from dpaudit.extension.case import AssumptionOutcome, SearchCase
    from dpaudit.extension.settings import Settings


class Utility(Parameters):
    """Public parameters: a star whose centre holds all the loss."""

    nodes: int = Field(100, ge=1, le=100_000, description="n: a centre and its leaves")
    iterations: int = Field(100, ge=1, le=400, description="t")
    inner_steps: int = Field(1, ge=1, le=100, description="l")
    records: int = Field(10**8, ge=1, description="m, records of every node")
    lipschitz: Literal["sum", "node"] = Field(
        "sum",
        description="c_2 is of the sum of all L_i, or n times that of the steepest L_i",
    )
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")


def prepare_theorem7_search(settings: Settings, parameters: Utility) -> SearchCase:
    """Return the audit on a star.

    Raises
    ------
    InvalidArgument
        Data was asked for, or epsilon or delta is outside the theorem's domain.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> case = prepare_theorem7_search(Settings(), Utility(nodes=4, iterations=4))
    >>> case.quantity, round(case.bound, 4)
    ('expected excess risk and consensus violation', 0.7071)
    """
    return prepare_for(CLAIM, settings, parameters)


def prepare_for(claim: Claim, settings: Settings, parameters: Utility) -> SearchCase:
    """Return the audit of a claim of eq. (24)."""
    from dataclasses import asdict
    from functools import partial
    from math import sqrt

    from dpaudit.algorithms.multistep.claims.utility import (
        OUTSIDE,
        make_utility_inequality,
        search_utility_violation,
    )
    from dpaudit.extension.case import SearchCase

    star = star_of(settings, parameters)
    inequality = make_utility_inequality(claim, star, parameters.factor)
    return SearchCase(
        bound=parameters.factor * star.nodes * sqrt(2 / star.steps) * star.share,
        attain=partial(search_utility_violation, inequality, star, seed=settings.seed),
        view="the models that eq. (22) averages",
        data="records of norm 1 at the centre of a star, and of norm 0 at its leaves",
        relation=claim.relation,
        pair="none: the claim is about one dataset",
        default_trials=8_000,
        parameters=parameters.model_dump(mode="json") | asdict(star),
        quantity="expected excess risk and consensus violation",
        effort="evaluated losses and penalties",
        assumptions=make_checked_assumptions(claim),
        notes=(
            "The value is a certain lower bound on the expectation: noise-free gradients with the "
            "probability that noise leaves them so, nothing otherwise.",
            "No bounded set holds every run, as noise is Gaussian and iterates are not projected; "
            f"counted as bounded is what stays inside but for a probability of {OUTSIDE:g}.",
            "Whose Lipschitz constant c_2 is decides: with lipschitz = sum it is of the sum of "
            "all L_i, as printed; with node every L_i is (c_2/n)-Lipschitz, as the proof needs.",
        ),
    )


def make_checked_assumptions(claim: Claim) -> tuple[AssumptionOutcome, ...]:
    """Return that every assumption holds, of a search that checks them on its instances."""
    from dpaudit.extension.case import AssumptionOutcome

    evidence = "checked on the instance found"
    return tuple(
        AssumptionOutcome(name=name, holds=True, evidence=evidence) for name in claim.assumptions
    )


class OnStar(Protocol):
    """Public parameters of a run on a star."""

    nodes: int
    iterations: int
    inner_steps: int
    records: int
    lipschitz: Literal["sum", "node"]


def star_of(settings: Settings, parameters: OnStar) -> StarSetting:
    """Return the star of an audit; data are refused, and runs of more than 400 steps."""
    import dpaudit._check as check
    from dpaudit.algorithms.multistep.claims.star import StarSetting
    from dpaudit.errors import InvalidArgument
    from dpaudit.extension.settings import WORST_CASE

    check.require_positive("epsilon", settings.epsilon)
    check.require_probability("delta", settings.delta)
    if settings.data != WORST_CASE or settings.data_path is not None or settings.data_options:
        raise InvalidArgument("data", settings.data, f"{WORST_CASE}, without files or options")
    if parameters.iterations * parameters.inner_steps > 400:
        given = parameters.iterations * parameters.inner_steps
        raise InvalidArgument("iterations", given, "at most 400 with inner_steps multiplied")
    return StarSetting(
        nodes=parameters.nodes,
        iterations=parameters.iterations,
        inner_steps=parameters.inner_steps,
        records=parameters.records,
        epsilon=settings.epsilon,
        delta=settings.delta,
        steepest=parameters.lipschitz,
    )


CLAIM = Claim(
    name="huang2020-theorem7",
    title="Utility",
    statement=(
        "If the objective L is c_2-Lipschitz, models lie in a set of diameter D and every "
        "||gamma_ij|| <= beta, then with eta of eq. (23) the models w^_i of eq. (22) have "
        "E[sum_i L_i(w^_i) - L_i(w*)] + beta sum_i sum_(j in N_i) ||w^_i - w^_j|| <= "
        "sum_i [ sqrt(2) D / sqrt(t l) sqrt(c_2^2 / n^2 + d c_0^2 c_1^2 t l 8 ln(1.25/delta) / "
        "(epsilon^2 m_i^2)) + |N_i| (rho D^2 + beta^2 / rho) / t ]."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 7, eq. (24)",
    kind="property",
    relation="replace-record",
    assumptions={
        "Lipschitz objective": "the sum L of all L_i is c_2-Lipschitz, each loss c_1-Lipschitz",
        "bounded models": "all iterates, with their noise, and w* lie in a set of diameter D",
        "bounded duals": "every dual gamma_ij has norm at most beta",
        "clear of kinks": "noise within the bounded sets changes no gradient",
        "noise stays inside": "runs leave the bounded sets with a negligible probability",
    },
    prepare=prepare_theorem7_search,
    parameters=Utility,
    scope="With c_2 read as a Lipschitz constant of every n L_i, below, no search refutes it; for "
    "many inner steps one loss at one node does, under every reading (`dpaudit show "
    "huang2020-theorem7`).",
    published={
        "several inner steps": Variant(
            settings={"parameters": {"iterations": 20, "inner_steps": 5}},
            scope="With c_2 read as a Lipschitz constant of every n L_i this search finds nothing.",
            printed=True,
        ),
        "c_2 of every node": Variant(
            settings={"parameters": {"lipschitz": "node"}},
            scope="The other reading of c_2, which the text does not give; tried where the first "
            "one falls.",
            printed=True,
        ),
        "one node": Variant(
            settings={"parameters": {"nodes": 1}},
            scope="Tried with one node, where both readings of c_2 are one.",
            printed=True,
        ),
        "one node, one step": Variant(
            settings={"parameters": {"nodes": 1, "iterations": 1}},
            scope="Tried with one node and one step.",
            printed=True,
        ),
    },
)
