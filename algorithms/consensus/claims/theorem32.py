"""Rate of convergence of M-ADMM."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.consensus.claims.parameters import Theorem32Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Theorem32Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.consensus.claims.cases import theorem32_case

    return theorem32_case(settings, parameters)


_PAPER = "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms"
_PENALTIES = {
    "penalties at least theta": "eta_i(t) is at least theta > 0",
    "connected graph": "every node is reachable from every other",
}

CLAIM = Claim(
    name="zhang2018-theorem32",
    title="Rate of convergence of M-ADMM",
    statement=(
        "Under Assumption 3, (1 + delta(t)) ||Z(t) - Z*||_J^2 <= ||Z(t-1) - Z*||_J^2 in the norm "
        "of J(t), with the delta(t) of eq. (23) for any mu > 1."
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 3.2, eq. (23)",
    kind="property",
    relation="none",
    assumptions=_PENALTIES
    | {
        "strongly convex": "O_i is m_i-strongly convex with M_i-Lipschitz gradients",
        "mu above 1": "mu is any number above 1",
    },
    prepare=prepare,
    parameters=Theorem32Parameters,
    published={
        "penalties-of-their-own": {"parameters": {"penalties": "own"}},
        "proved-rate": {"parameters": {"rate": "proved"}},
        "two-nodes": {"parameters": {"nodes": 2}},
    },
)
