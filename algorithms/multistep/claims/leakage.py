"""What a run leaks in either view, against Theorem 6 and against what is proved of all it computes.

Every inner model is seen: where the loss is linear, the shift of every step is the same whatever
came before, and the exact Gaussian law of a pair refutes Theorem 6 without drawing. Only the
averages are seen: where the loss is linear their law, and so their epsilon, is known exactly
(`dpaudit.algorithms.multistep.averages`); for any other loss an event bound is what can be
certified.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.claims.instances import Instance, make_instances
from dpaudit.algorithms.multistep.claims.theorem6 import CLAIM, Deployment
from dpaudit.algorithms.multistep.guarantees import chosen_constant
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.refutation import Certificate, Condition, Evidence, Inequality, certified

if TYPE_CHECKING:
    from dpaudit.algorithms.multistep.claims.broadcast import Broadcast

_COMPOSITION = "exact composition of Gaussian releases (Dong, Roth & Su 2022) with Lemma 5"
_AVERAGES = "exact law of the averages: Gaussian given the earlier ones, as gradients are constant"
_STOCHASTIC = (
    "The stochastic variant keeps the noise of full gradients, but a record drawn K times into a "
    "batch of size s moves the update K m_i / s times as far as Lemma 5 allows: nothing is proved "
    "for it."
)


def whole_run(settings: Settings, parameters: Deployment) -> PrivacyCase:
    """Return the audit of Theorem 6 on the settings' data."""
    return _of_instances(settings, parameters, make_instances(settings, parameters))


def _of_instances(
    settings: Settings, parameters: Deployment, instances: Sequence[Instance]
) -> PrivacyCase:
    cases = tuple(_case(settings, parameters, one) for one in instances)
    return replace(cases[0], candidates=cases) if len(cases) > 1 else cases[0]


def _case(settings: Settings, parameters: Deployment, instance: Instance) -> PrivacyCase:
    algorithm, pair = instance.algorithm, instance.pair
    c0 = chosen_constant(settings.delta, parameters.c0, of_proof=parameters.c0_of_proof)
    inner = parameters.view == "inner"
    seen = "every noisy inner model" if inner else "only the broadcast averages"
    return PrivacyCase(
        mechanism=algorithm.inner() if inner else algorithm.broadcast(),
        pair=pair,
        claimed=ApproximateDP(parameters.factor * settings.epsilon, settings.delta),
        at_delta=settings.delta,
        view=f"{parameters.view}: {seen} of every node",
        data=instance.data,
        default_trials=10_000 if settings.data == WORST_CASE else 2_000,
        parameters=instance.public(parameters),
        assumptions=(*instance.assumptions(), _published_noise(algorithm, settings, c0)),
        proved=_proof(algorithm),
        pair_ceiling=None if algorithm.batch_size is not None else _pair_proof(instance),
        notes=(
            *(() if algorithm.batch_size is None else (_STOCHASTIC,)),
            *valid_up_to(settings.delta, c0, parameters.factor),
        ),
        certify=partial(_certificate, settings, parameters, instance, c0),
    )


def _proof(algorithm: MultiStepADMM) -> Proof | None:
    try:
        return Proof(guarantee=gaussian_guarantee(algorithm.event()), source=_COMPOSITION)
    except UnsupportedEvent:
        return None


def _pair_proof(instance: Instance) -> Proof:
    law = GaussianDP(_mu(instance))
    return Proof(guarantee=law, source="largest gradient difference of this pair")


def _mu(instance: Instance) -> float:
    return float(np.sqrt(instance.algorithm.squared_shift_bounds(instance.pair)[1]))


def _published_noise(algorithm: MultiStepADMM, settings: Settings, c0: float) -> AssumptionOutcome:
    formula = c0 * np.sqrt(2 * algorithm.steps * np.log(1.25 / settings.delta))
    return AssumptionOutcome(
        name="published noise",
        holds=bool(np.isclose(algorithm.noise_multiplier * settings.epsilon, formula, rtol=1e-12)),
        evidence=f"sigma = {algorithm.noise_multiplier:.6g} with c_0 = {c0:g}",
    )


def valid_up_to(delta: float, c0: float, factor: float = 1.0) -> tuple[str, ...]:
    """Return a note on where the worst case's exact epsilon overtakes the claimed one.

    The claimed one is ``factor`` times the epsilon that the noise is published for.

    Examples
    --------
    >>> valid_up_to(1e-5, 1.0)[0][-50:]
    'up to epsilon = 8.4198 and above it from there on.'
    """
    unit = c0 * math.sqrt(2 * math.log(1.25 / delta))
    start = f"With c_0 = {c0:g} at delta = {delta:g}, the exact epsilon of the worst case is "

    def excess(epsilon: float) -> float:
        return GaussianDP(epsilon / unit).epsilon(delta) - factor * epsilon

    if excess(1e-3) > 0:
        return (f"{start}above the claimed one already at epsilon = 0.001.",)
    if excess(1e4) < 0:
        return ()
    limit = float(brentq(excess, 1e-3, 1e4, xtol=1e-9))
    return (
        f"{start}below the claimed one up to epsilon = {limit:.4f} and above it from there on.",
    )


# --- the certificate: the exact law of a pair -----------------------------------------------------


def _certificate(
    settings: Settings, parameters: Deployment, instance: Instance, c0: float, lower: float
) -> Certificate | None:
    """Return the exact Gaussian law of a pair, if it alone refutes the claim.

    Only where every step is seen, and the shift does not depend on the state: full gradients of
    the linear loss. ``lower``, what drawing has certified, is not used.
    """
    algorithm = instance.algorithm
    hidden = parameters.view != "inner" or algorithm.batch_size is not None
    if hidden or algorithm.loss.name != "linear":
        return None
    law = _exact_law(settings, parameters, instance, c0)
    return certified(law, GaussianDP(_mu(instance)), {"seed": settings.seed})


def _exact_law(
    settings: Settings, parameters: Deployment, instance: Instance, c0: float
) -> Inequality[GaussianDP]:
    """Return Theorem 6 of the Gaussian law of a pair, a little below its exact epsilon."""
    algorithm, claimed = instance.algorithm, parameters.factor * settings.epsilon

    def epsilon(law: GaussianDP) -> float:
        return law.epsilon(settings.delta) * (1 - 1e-6)

    def evidence(law: GaussianDP) -> Evidence:
        return Evidence(
            kind="approximate-dp",
            relation=CLAIM.relation,
            parameters=instance.certified()
            | {
                "epsilon": settings.epsilon,
                "delta": settings.delta,
                "c0": c0,
                "factor": parameters.factor,
                "iterations": algorithm.iterations,
                "inner_steps": algorithm.inner_steps,
            },
            instance=instance.arrays() | _steps(instance),
            quantities={
                "bound": claimed,
                "sigma": algorithm.noise_multiplier,
                "mu": law.mu,
                "epsilon": epsilon(law),
                "delta": law.delta(epsilon(law)),
            },
        )

    return Inequality(
        name=CLAIM.name,
        source=CLAIM.source,
        sides=lambda law: (epsilon(law), claimed),
        conditions=lambda law: (
            *instance.conditions(),
            Condition(
                name="claimed delta exceeded",
                value=settings.delta,
                limit=law.delta(epsilon(law)),
            ),
        ),
        evidence=evidence,
    )


def _steps(instance: Instance) -> dict[str, Any]:
    """Return eta, shift norm and noise scale of every step at the node, and the graph."""
    algorithm, data, node = instance.algorithm, instance.pair.dataset, instance.record.node
    state = algorithm.start(data, 1)
    eta, shift, scale = [], [], []
    for _ in range(algorithm.steps):
        eta.append(float(algorithm.eta(data, state.iteration, state.inner_step)[node]))
        shift.append(float(np.linalg.norm(algorithm.shift(state, instance.pair)[0, node])))
        step = algorithm.step(state, data)
        scale.append(float(step.scale[node, 0]))
        state = algorithm.advance(state, step.mean)
    return {"eta": eta, "shift": shift, "scale": scale, "edges": instance.edges}


# --- the averages ---------------------------------------------------------------------------------


def broadcast(settings: Settings, parameters: Broadcast) -> PrivacyCase:
    """Return the audit of the averages; claimed is what is proved of all inner models.

    Raises
    ------
    InvalidArgument
        The variant is stochastic: nothing is proved for its inner models.

    Examples
    --------
    >>> from dpaudit.algorithms.multistep.claims.broadcast import Broadcast
    >>> case = broadcast(Settings(), Broadcast())
    >>> round(case.claimed.epsilon(1e-5), 4), round(case.pair_ceiling.guarantee.epsilon(1e-5), 4)
    (0.751, 0.7139)
    """
    instances = make_instances(settings, parameters)
    case = _of_instances(settings, parameters, instances)
    if case.proved is None:
        raise InvalidArgument("batch_size", parameters.batch_size, "full gradients")
    inner = case.proved.guarantee.epsilon(settings.delta)
    question = replace(
        case,
        claimed=ApproximateDP(parameters.factor * inner, settings.delta),
        certify=None,
        default_trials=2_000,
        notes=(f"What is proved of all inner models is epsilon = {inner:.6g}.",),
    )
    linear = instances[0].algorithm.loss.name == "linear"
    return _exact_averages(question, instances[0], inner) if linear else question


def _exact_averages(case: PrivacyCase, instance: Instance, inner: float) -> PrivacyCase:
    """Return the case with the law of the averages, and their exact epsilon on this pair."""
    from dpaudit.algorithms.multistep.averages import Averages, ExactBroadcast, broadcast_mu

    law = GaussianDP(broadcast_mu(instance.algorithm, instance.pair))
    exact = law.epsilon(case.at_delta)
    mechanism: Any = ExactBroadcast(Averages(instance.algorithm))
    return replace(
        case,
        mechanism=mechanism,
        pair_ceiling=Proof(guarantee=law, source=_AVERAGES),
        notes=(
            *case.notes,
            f"The averages are exactly {law.mu:.6g}-Gaussian DP on this pair: epsilon = "
            f"{exact:.6g}, {exact / inner:.1%} of that of all inner models.",
        ),
    )
