"""Averaging with known penalties."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.attacks.stationarity.claims.cases import Parameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Parameters) -> Case:
    """Return the audit."""
    from dpaudit.attacks.stationarity.claims.cases import appendix_e_case

    return appendix_e_case(settings, parameters)


_ASSUMPTIONS = {
    "one record is missing": "the attacker knows all records of the node but one",
    "uniform record": "the missing record's signed direction is uniform, independent of all else",
    "unit rows": "every record has norm at most 1",
    "loss weight": "C is at most B_i",
    "growing penalties": "eta_i(t) does not fall and is at least theta",
    "theta of Algorithm 1": "2 c_1 is below (B_i/C)(rho/N + 2 theta V_i)",
}

CLAIM = Claim(
    name="zhang2018-appendixE",
    title="Averaging with known penalties",
    statement=(
        "If the attacker knows theta and eta_i(t), it determines the features of the unknown "
        "individual up to a scaling factor by averaging the stationarity conditions. Made precise: "
        "in at least half of the independent runs the average is within an angle of the record "
        "that guesses reach so often with probability at most 1e-6."
    ),
    source="Zhang, Khalili & Liu, ADMM with penalty perturbation, ICML 2018, Appendix E",
    kind="property",
    relation="replace-record",
    assumptions=_ASSUMPTIONS,
    prepare=prepare,
    parameters=Parameters,
)
