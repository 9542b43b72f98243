"""Pure differential privacy of penalty perturbation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.consensus.claims.parameters import Theorem41Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Theorem41Parameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.consensus.claims.theorem41_case import theorem41_case

    return theorem41_case(settings, parameters)


_PAPER = "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms"
_SECTION_4 = {
    "unit records": "every record has norm at most 1",
    "loss": "|l'| is at most 1 and 0 < l'' <= c_1 (Assumption 4)",
    "weight at most records": "C is at most B_i",
    "penalties at least theta": "eta_i(t) is at least theta",
    "small curvature": "2 c_1 < (B_i / C) (rho / N + 2 theta V_i)",
}

CLAIM = Claim(
    name="zhang2018-theorem41",
    title="Pure differential privacy of penalty perturbation",
    statement=(
        "Penalty perturbation (Algorithm 1) is beta-DP over all broadcasts of T iterations, beta = "
        "max_i sum_t C (1.4 c_1 + alpha_i(t)) / (eta_i(t) V_i B_i)."
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 4.1, eq. (26)",
    kind="privacy",
    relation="replace-record",
    assumptions=_SECTION_4,
    prepare=prepare,
    parameters=Theorem41Parameters,
    published={
        "little-noise": {"parameters": {"noise_rate": 30.0}},
        "start-at-zero": {"parameters": {"start": "zero"}},
        "without-the-condition-on-theta": {
            "parameters": {"penalty": 0.01, "dual_step": 0.01, "records": 1}
        },
    },
)
