"""Private penalties hide the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.attacks.stationarity.claims.cases import Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Parameters) -> Case:
    """Return the audit."""
    from dpaudit.attacks.stationarity.claims.cases import section62_case

    return section62_case(settings, parameters)


_ASSUMPTIONS = {
    "one record is missing": "the attacker knows all records of the node but one",
    "uniform record": "the missing record's signed direction is uniform, independent of all else",
    "unit rows": "every record has norm at most 1",
    "loss weight": "C is at most B_i",
    "growing penalties": "eta_i(t) does not fall and is at least theta",
    "theta of Algorithm 1": "2 c_1 is below (B_i/C)(rho/N + 2 theta V_i)",
}

CLAIM = Claim(
    name="zhang2018-section62",
    title="Private penalties hide the record",
    statement=(
        "If the penalty parameters eta_i(t) are private to each node, then it is impossible for "
        "the attacker to infer the unknown data. Made precise: every estimate is independent of "
        "the missing record, so the number of independent runs in which its cosine with the record "
        "exceeds c is binomial with the probability of a guess; it exceeds the bound with "
        "probability at most 1e-9."
    ),
    source="Zhang, Khalili & Liu, ADMM with penalty perturbation, ICML 2018, section 6.2",
    kind="property",
    relation="replace-record",
    assumptions=_ASSUMPTIONS,
    prepare=prepare,
    parameters=Parameters,
    published={"no noise": {"parameters": {"noise": False, "iterations": 2, "runs": 50}}},
)
