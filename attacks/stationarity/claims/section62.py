"""Private penalties hide the record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.attacks.stationarity.claims.appendix_e import ASSUMPTIONS, RunParameters
from dpaudit.extension.claim import Claim, Variant

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare_section62_search(settings: Settings, parameters: RunParameters) -> SearchCase:
    """Return the audit of section 6.2: how often the record is found without the penalties.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> prepare_section62_search(Settings(), RunParameters()).bound
    8.0
    """
    from dpaudit.attacks.stationarity.claims.chance import attack_case, make_finding_attack

    setting = parameters.setting()
    return attack_case(
        settings,
        setting,
        parameters.runs,
        make_finding_attack(setting, parameters.cosine, parameters.factor),
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
    prepare=prepare_section62_search,
    parameters=RunParameters,
    scope="It would stand with more noise: at alpha = 30 Theorem 4.1 promises hardly anything.",
    published={
        "alpha = 3": Variant(
            settings={"parameters": {"noise_rate": 3.0}},
            scope="Tried at the alpha of the paper's figures, in 200 iterations.",
            printed=True,
        ),
        "no noise": Variant(
            settings={"parameters": {"noise": False, "iterations": 2, "runs": 50}},
            scope="Of M-ADMM without noise, with private penalties alone: it would stand if the "
            "section speaks of the perturbed algorithm only.",
        ),
    },
)
