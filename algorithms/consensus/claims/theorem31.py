"""Convergence of M-ADMM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.consensus.claims.parameters import Theorem31Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Theorem31Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.consensus.claims.cases import theorem31_case

    return theorem31_case(settings, parameters)


_PAPER = "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms"
_PENALTIES = {
    "penalties at least theta": "eta_i(t) is at least theta > 0",
    "connected graph": "every node is reachable from every other",
}
_FIGURE_1A = {
    "nodes": 5,
    "dual_step": 0.5,
    "first": [0.55, 0.65, 0.6, 0.55, 0.6],
    "growth": [1.01, 1.03, 1.1, 1.2, 1.02],
    "iterations": 2500,
    "ridge": 0.1,
    "budget": 100,
}

CLAIM = Claim(
    name="zhang2018-theorem31",
    title="Convergence of M-ADMM",
    statement=(
        "M-ADMM (10), (11) satisfies inequality (19), and if eta_i(t+1) >= eta_i(t) >= theta > 0 "
        "and eta_i(t) < infinity for all t and i, its outputs converge to the optimum (17), (18)."
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 3.1",
    kind="property",
    relation="none",
    assumptions=_PENALTIES
    | {
        "penalties do not fall": "eta_i(t+1) is at least eta_i(t)",
        "finite penalties": "eta_i(t) is finite for every t; all of them need not be bounded",
        "convex and differentiable": "O_i is convex and continuously differentiable",
        "strongly convex": "O_i is strongly convex, beyond what the theorem asks",
    },
    prepare=prepare,
    parameters=Theorem31Parameters,
    published={
        "penalties-of-figure-1a": {"parameters": _FIGURE_1A},
        "two-nodes": {"parameters": {"nodes": 2, "loss": "linear", "dual_step": 1.0}},
        "inequality-19": {"parameters": {"part": "inequality"}},
        "inequality-19-shared-penalty": {
            "parameters": {"part": "inequality", "penalties": "shared"}
        },
        "bounded-penalties": {"parameters": {"part": "bounded", "nodes": 5, "budget": 20_000}},
    },
)
