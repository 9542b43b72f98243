"""Privacy of the clients' features."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.tables.claims.parameters import FeatureParameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: FeatureParameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.tables.claims.cases import theorem2

    return theorem2(settings, parameters)


CLAIM = Claim(
    name="tables-theorem2",
    title="Privacy of the clients' features",
    statement=(
        "There are c_1 and c_2 such that for epsilon <= c_1 r^2 tau, with per-tuple gradients "
        "clipped to C and noise N(0, C^2 sigma^2) with sigma >= c_2 r sqrt(tau ln(1/delta)) / "
        "epsilon in each of a client's tau steps on batches of ratio r, the algorithm is "
        "(epsilon, delta)-DP."
    ),
    source="TablePuppet, appendix C, Theorem 2",
    kind="privacy",
    relation="replace-tuple",
    assumptions={
        "bounded tuples": "tuples have at most the norm that is given (the theorem asks for none)",
        "bounded tuples of the neighbour": "so do those of the neighbour",
        "one tuple differs": "the tables differ in the features of one tuple",
        "published noise": "sigma is at least c_2 r sqrt(tau ln(1/delta)) / epsilon",
        "range of epsilon": "epsilon is at most c_1 r^2 tau",
    },
    prepare=prepare,
    parameters=FeatureParameters,
    published={
        "model": {"parameters": {"view": "model"}},
        "model across clients": {"parameters": {"view": "model", "joined": 40}},
        # At the end of the range of epsilon mu grows with tau: no c_1 and c_2 suit every tau.
        "model, many steps": {
            "epsilon": 200.0,
            "trials": 2_000,
            "parameters": {"view": "model", "iterations": 200},
        },
    },
)
