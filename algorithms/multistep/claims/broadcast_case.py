"""The audit of what multi-step DP-ADMM broadcasts, against the proved guarantee of all it computes.

Where the loss is linear the law of the averages is known exactly, and so is their epsilon; for any
other loss an event bound is what can be certified.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.claims.averages import Averages, ExactBroadcast, broadcast_mu
from dpaudit.algorithms.multistep.claims.cases import theorem6
from dpaudit.algorithms.multistep.claims.parameters import Broadcast
from dpaudit.algorithms.multistep.views import BroadcastView
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.extension.case import PrivacyCase, Proof
from dpaudit.extension.settings import Settings
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.laws.steps import GaussianSteps

_EXACT = "exact law of the averages: Gaussian given the earlier ones, as gradients are constant"


def broadcast(settings: Settings, parameters: Broadcast) -> PrivacyCase:
    """Return the audit of the averages; claimed is what is proved of all inner models.

    Raises
    ------
    InvalidArgument
        The variant is stochastic: nothing is proved for its inner models.

    Examples
    --------
    >>> case = broadcast(Settings(), Broadcast())
    >>> round(case.claimed.epsilon(1e-5), 4), round(case.pair_ceiling.guarantee.epsilon(1e-5), 4)
    (0.751, 0.7139)
    """
    case = theorem6(settings, parameters)
    if case.proved is None:
        raise InvalidArgument("batch_size", parameters.batch_size, "full gradients")
    inner = case.proved.guarantee.epsilon(settings.delta)
    algorithm = _algorithm(case)
    question = replace(
        case,
        claimed=ApproximateDP(parameters.factor * inner, settings.delta),
        certify=None,
        default_trials=2_000,
        notes=(f"What is proved of all inner models is epsilon = {inner:.6g}.",),
    )
    return _exact(question, algorithm, inner) if algorithm.loss.name == "linear" else question


def _algorithm(case: PrivacyCase) -> MultiStepADMM:
    match case.mechanism:
        case BroadcastView(inner=GaussianSteps(process=MultiStepADMM() as algorithm)):
            return algorithm
    raise MechanismError("the audit of Theorem 6 did not prepare the broadcast view")


def _exact(case: PrivacyCase, algorithm: MultiStepADMM, inner: float) -> PrivacyCase:
    """Return the case with the law of the averages, and their exact epsilon on this pair."""
    mu = broadcast_mu(algorithm, case.pair)
    exact = GaussianDP(mu).epsilon(case.at_delta)
    mechanism: Any = ExactBroadcast(Averages(algorithm))
    return replace(
        case,
        mechanism=mechanism,
        pair_ceiling=Proof(guarantee=GaussianDP(mu), source=_EXACT),
        notes=(
            *case.notes,
            f"The averages are exactly {mu:.6g}-Gaussian DP on this pair: epsilon = {exact:.6g}, "
            f"{exact / inner:.1%} of that of all inner models.",
        ),
    )
