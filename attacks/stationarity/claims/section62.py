"""Private penalties hide the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.attacks.stationarity.claims.appendix_e import ASSUMPTIONS, RunParameters
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: RunParameters) -> SearchCase:
    """Return the audit of section 6.2: how often the record is found without the penalties.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare(Settings(), RunParameters()).bound
    8.0
    """
    from dpaudit.attacks.stationarity.claims.chance import attack_case, finding

    setting = parameters.setting()
    return attack_case(
        settings,
        setting,
        parameters.runs,
        finding(setting, parameters.cosine, parameters.factor),
        parameters.model_dump(mode="json"),
        quantity="runs in which the record is found",
        view="all broadcasts; the penalties are private",
    )


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
    assumptions=ASSUMPTIONS,
    prepare=prepare,
    parameters=RunParameters,
    published={"no noise": {"parameters": {"noise": False, "iterations": 2, "runs": 50}}},
)
