r"""Averaging with known penalties.

**Penalties that grow.** In eq. (67) the record enters iteration t as ``s(t) x``, ``s(t) = C y l'(t)
/ (2 eta(t) V B)``, beside noise eps(t) of one law in every iteration, with mean 0 and a standard
deviation v per entry. The sum over T iterations is ``S x + E``. With geometric penalties, ``eta(t)
>= theta q^(t-1)`` and ``q > 1``,

    |S|  <=  C / (2 theta V B)  sum_t q^(1-t)  <  C q / (2 theta V B (q - 1)),

as ``|l'| <= 1``: the signal's sum converges. E has the standard deviation ``v sqrt(T)``, which does
not. So the direction of the average tends to that of noise alone: the more iterations are averaged,
the less they tell, and "over a large number of iterations" is where Appendix E fails for the
penalties that the paper recommends. With constant penalties S grows like T, and it holds in the
end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.errors import InvalidArgument
from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import CHOICE, Parameters

if TYPE_CHECKING:
    from dpaudit.attacks.stationarity.runs import Setting
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


class RunParameters(Parameters):
    """Public parameters of the attacked runs, and the condition for a find."""

    nodes: int = Field(5, ge=2, description="N, all neighbours of each other")
    records: int = Field(50, ge=2, description="B, of every node")
    dimension: int = Field(10, ge=3, description="d")
    iterations: int = Field(200, ge=2, description="T")
    noise: bool = Field(True, description="whether there is noise; without it: M-ADMM")
    noise_rate: float = Field(30.0, gt=0, description="alpha, of every node and iteration")
    loss_weight: float = Field(50.0, gt=0, description="C, at most B in the paper")
    regulariser_weight: float = Field(1e-2, ge=0, description="rho")
    dual_step: float = Field(0.5, gt=0, description="theta")
    spread: float = Field(1.4, ge=1, description="eta_i(1) / theta is uniform from 1 to this")
    growth: float = Field(1.005, ge=1, description="eta_i(t+1) / eta_i(t) is uniform from 1 to it")
    norm: float = Field(1.0, gt=0, le=1, description="of the missing record")
    participates: bool = Field(
        True,
        description="False: a control whose runs do not use it",
        json_schema_extra=CHOICE,
    )
    runs: int = Field(20, ge=1, description="independent runs, unless --trials is given")
    cosine: float = Field(
        0.6, gt=0, lt=1, description="c: a larger one counts as found", json_schema_extra=CHOICE
    )
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")

    def setting(self) -> Setting:
        """Return the runs that are attacked."""
        from dpaudit.attacks.stationarity.runs import Setting

        given = self.model_dump(exclude={"noise", "runs", "cosine", "factor"})
        return Setting(**given | ({} if self.noise else {"noise_rate": None}))


def prepare_appendix_e_search(settings: Settings, parameters: RunParameters) -> SearchCase:
    """Return the audit of Appendix E: how often the averaged direction is not the record's.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_appendix_e_search(Settings(), RunParameters(runs=150)).bound
    104.0
    """
    from dpaudit.attacks.stationarity.claims.chance import attack_case, make_averaging_attack

    if not parameters.noise:
        raise InvalidArgument("noise", False, "true: without noise there is nothing to average out")
    setting = parameters.setting()
    return attack_case(
        settings,
        setting,
        parameters.runs,
        make_averaging_attack(setting, parameters.cosine, parameters.factor),
        parameters.model_dump(mode="json"),
        quantity="runs in which the average misses the record",
        view="all broadcasts and the node's penalties",
    )


ASSUMPTIONS = {
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
        "in a run the average has a cosine above c with the record with probability at least 1/2, "
        "so that more independent runs miss it than the bound with probability at most 1e-6."
    ),
    source="Zhang, Khalili & Liu, ADMM with penalty perturbation, ICML 2018, Appendix E",
    kind="property",
    relation="replace-record",
    assumptions=ASSUMPTIONS,
    prepare=prepare_appendix_e_search,
    parameters=RunParameters,
    scope="Tried at alpha = 30 with penalties that grow by at most a two-hundredth an iteration.",
    published={
        "alpha = 3": Variant(
            settings={"parameters": {"noise_rate": 3.0, "runs": 200}},
            scope="It would stand for less noise, as above, or far more iterations of constant "
            "penalties.",
            printed=True,
        ),
        "alpha = 3, growth 1.02": Variant(
            settings={"parameters": {"noise_rate": 3.0, "growth": 1.02, "runs": 100}},
            scope="It would stand, in the end, for penalties that do not grow; of those that do "
            "the signals' sum converges and the noise's does not.",
            printed=True,
        ),
        "growth 1.2": Variant(
            settings={"parameters": {"growth": 1.2, "runs": 300}},
            scope="It would stand, in the end, for penalties that do not grow; of those that do "
            "the signals' sum converges and the noise's does not.",
            printed=True,
        ),
    },
)
