"""What all broadcasts of penalty perturbation leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.consensus.claims.parameters import BroadcastsParameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: BroadcastsParameters) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.consensus.claims.broadcasts_case import broadcasts_case

    return broadcasts_case(settings, parameters)


_PAPER = "Zhang, Khalili & Liu, Improving the Privacy and Accuracy of ADMM-Based Algorithms"
_SECTION_4 = {
    "unit records": "every record has norm at most 1",
    "loss": "|l'| is at most 1 and 0 < l'' <= c_1 (Assumption 4)",
    "weight at most records": "C is at most B_i",
    "penalties at least theta": "eta_i(t) is at least theta",
    "small curvature": "2 c_1 < (B_i / C) (rho / N + 2 theta V_i)",
}

CLAIM = Claim(
    name="zhang2018-broadcasts",
    title="What all broadcasts of penalty perturbation leak",
    statement=(
        "All broadcasts of T iterations of penalty perturbation (Algorithm 1) are (beta, delta)-DP "
        "for every delta >= 0, beta the sum of eq. (26): what Theorem 4.1 implies. How much less "
        "do they leak at a delta above 0, on real records?"
    ),
    source=f"{_PAPER}, ICML 2018, Theorem 4.1, eq. (26) and (58)-(61)",
    kind="privacy",
    relation="replace-record",
    assumptions=_SECTION_4,
    prepare=prepare,
    parameters=BroadcastsParameters,
)
