"""What the broadcast averages leak."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dpaudit.algorithms.multistep.claims.parameters import Broadcast
from dpaudit.extension.claim import Claim

if TYPE_CHECKING:
    from dpaudit.extension.case import Case
    from dpaudit.extension.settings import Settings


def prepare(settings: Settings, parameters: Broadcast) -> Case:
    """Return the audit."""
    from dpaudit.algorithms.multistep.claims.broadcast_case import broadcast

    return broadcast(settings, parameters)


_ASSUMPTIONS = {
    "convex loss": "the loss is convex in the model",
    "Lipschitz loss": "the loss is c_1-Lipschitz in the model for every record",
    "bounded records": "records have Euclidean norm at most 1 and labels in {-1, +1}",
    "one tuple differs": "the datasets differ in one tuple of one node",
    "connected graph": "the graph of nodes is connected",
}

CLAIM = Claim(
    name="huang2020-broadcast",
    title="What the broadcast averages leak",
    statement=(
        "A question of this project, not a claim of the paper: the averages of the inner models, "
        "all that is sent, leak no more than all inner models do, for which exact composition with "
        "Lemma 5 gives an epsilon. How much less do they leak?"
    ),
    source="about Huang & Gong, multi-step DP-ADMM, Algorithm 1, line 13, and Note 2",
    kind="privacy",
    relation="replace-record",
    assumptions=_ASSUMPTIONS | {"published noise": "sigma is the one of eq. (20)"},
    prepare=prepare,
    parameters=Broadcast,
    published={
        "many inner steps": {"parameters": {"iterations": 2, "inner_steps": 25}},
        "logistic loss": {"trials": 2_000, "parameters": {"loss": "logistic"}},
    },
)
