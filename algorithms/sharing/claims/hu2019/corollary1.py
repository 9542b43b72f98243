"""Privacy of a run, with noise shaped by the design."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.sharing.claims.hu2019.lemma2 import PAPER
from dpaudit.algorithms.sharing.claims.hu2020.corollary1 import MessageRunParameters
from dpaudit.algorithms.sharing.claims.hu2020.lemma1 import SEPARATED
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import SearchCase
    from dpaudit.extension.settings import Settings


def prepare_hu2019_corollary1(settings: Settings, parameters: MessageRunParameters) -> SearchCase:
    """Return the audit of a run by its first message.

    Examples
    --------
    >>> from dpaudit.extension.settings import Settings
    >>> round(prepare_hu2019_corollary1(Settings(), MessageRunParameters(rounds=1)).bound, 2)
    6.52
    """
    from dpaudit.algorithms.sharing.claims.hu2020.column_space import run_case

    return run_case(CLAIM, settings, "whitened", parameters)


CLAIM = Claim(
    name="hu2019-corollary1",
    title="Privacy of a run, with noise shaped by the design",
    statement=(
        "For any delta' > 0, the algorithm of eq. (10) is (epsilon', T delta + delta')-DP within T "
        "epochs of updates, with epsilon' = sqrt(2 T ln(1/delta')) epsilon + T epsilon (e^epsilon "
        "- 1)."
    ),
    source=f"{PAPER}, Corollary 1, eq. (11)",
    kind="privacy",
    relation="replace-column",
    assumptions=SEPARATED,
    prepare=prepare_hu2019_corollary1,
    parameters=MessageRunParameters,
    scope="It falls with Theorem 1. It would stand if every iteration were (epsilon, delta)-DP.",
)
