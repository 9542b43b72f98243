"""The leakage of a run, against Theorem 6.

Every inner model is seen: where the loss is linear, the shift of every step is the same whatever
came before, and the exact Gaussian law of a pair refutes Theorem 6 without drawing. What observers
of less learn is in `dpaudit.algorithms.multistep.claims.observers`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.claims.instances import MultiStepInstance
from dpaudit.errors import UnsupportedEvent
from dpaudit.extension.case import AssumptionOutcome, PrivacyCase, Proof
from dpaudit.extension.claim import Statement
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP
from dpaudit.refutation import Certificate, Condition, Evidence, Inequality, certified

_COMPOSITION = "exact composition of Gaussian releases (Dong, Roth & Su 2022) with Lemma 5"
_STOCHASTIC = (
    "The stochastic variant keeps the noise of full gradients, but a record drawn K times into a "
    "batch of size s moves the update K m_i / s times as far as Lemma 5 allows: nothing is proved "
    "for it."
)


@dataclass(frozen=True, kw_only=True)
class Theorem6:
    """The theorem at given public parameters.

    Parameters
    ----------
    epsilon, delta, factor
        ``factor * epsilon`` is claimed at ``delta``, with the noise for ``epsilon``.
    c0
        Its constant.
    view
        What is seen: ``inner``, every inner model, or ``broadcast``, the averages.
    """

    epsilon: float
    delta: float
    c0: float
    factor: float
    view: str

    @property
    def claimed(self) -> float:
        """The claimed epsilon."""
        return self.factor * self.epsilon


def whole_run(
    statement: Statement,
    theorem: Theorem6,
    instances: Sequence[MultiStepInstance],
    *,
    seed: int,
    trials: int,
    parameters: dict[str, Any],
) -> PrivacyCase:
    """Return the audit of the theorem on every instance; the first is the case."""

    def case(instance: MultiStepInstance) -> PrivacyCase:
        found = _make_leakage_case(theorem, instance, trials, parameters)
        return replace(
            found, certify=partial(_certify_exact_law, statement, theorem, instance, seed)
        )

    cases = tuple(case(one) for one in instances)
    return replace(cases[0], candidates=cases) if len(cases) > 1 else cases[0]


def _make_leakage_case(
    theorem: Theorem6, instance: MultiStepInstance, trials: int, parameters: dict[str, Any]
) -> PrivacyCase:
    algorithm, inner = instance.algorithm, theorem.view == "inner"
    seen = "every noisy inner model" if inner else "only the broadcast averages"
    stochastic = algorithm.batch_size is not None
    return PrivacyCase(
        mechanism=algorithm.inner() if inner else algorithm.broadcast(),
        pair=instance.pair,
        claimed=ApproximateDP(theorem.claimed, theorem.delta),
        at_delta=theorem.delta,
        view=f"{theorem.view}: {seen} of every node",
        data=instance.data,
        default_trials=trials,
        parameters=parameters | instance.public(),
        assumptions=(*instance.assumptions(), _check_published_noise(algorithm, theorem)),
        proved=_make_gaussian_proof(algorithm),
        pair_ceiling=None if stochastic else _pair_proof(instance),
        notes=(
            *((_STOCHASTIC,) if stochastic else ()),
            *valid_up_to(theorem.delta, theorem.c0, theorem.factor),
        ),
    )


def _make_gaussian_proof(algorithm: MultiStepADMM) -> Proof | None:
    try:
        return Proof(guarantee=gaussian_guarantee(algorithm.event()), source=_COMPOSITION)
    except UnsupportedEvent:
        return None


def _pair_proof(instance: MultiStepInstance) -> Proof:
    law = GaussianDP(_compute_instance_mu(instance))
    return Proof(guarantee=law, source="largest gradient difference of this pair")


def _compute_instance_mu(instance: MultiStepInstance) -> float:
    return float(np.sqrt(instance.algorithm.squared_shift_bounds(instance.pair)[1]))


def _check_published_noise(algorithm: MultiStepADMM, theorem: Theorem6) -> AssumptionOutcome:
    formula = theorem.c0 * np.sqrt(2 * algorithm.steps * np.log(1.25 / theorem.delta))
    return AssumptionOutcome(
        name="published noise",
        # The multiplier was computed from the same formula in another order.
        holds=bool(np.isclose(algorithm.noise_multiplier * theorem.epsilon, formula, rtol=1e-12)),
        evidence=f"sigma = {algorithm.noise_multiplier:.6g} with c_0 = {theorem.c0:g}",
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

    # The exact epsilon grows faster than the claimed one, so their order changes once: the ends
    # decide whether inside.
    if excess(1e-3) > 0:
        return (f"{start}above the claimed one already at epsilon = 0.001.",)
    if excess(1e4) < 0:
        return ()
    limit = float(brentq(excess, 1e-3, 1e4, xtol=1e-9))
    return (
        f"{start}below the claimed one up to epsilon = {limit:.4f} and above it from there on.",
    )


# --- the certificate: the exact law of a pair -----------------------------------------------------


def _certify_exact_law(
    statement: Statement, theorem: Theorem6, instance: MultiStepInstance, seed: int, lower: float
) -> Certificate | None:
    """Return the exact Gaussian law of a pair, if it alone refutes the claim.

    Only where every step is seen, and the shift does not depend on the state: full gradients of
    the linear loss. ``lower``, what drawing has certified, is not used.
    """
    algorithm = instance.algorithm
    hidden = theorem.view != "inner" or algorithm.batch_size is not None
    if hidden or algorithm.loss.name != "linear":
        return None
    law = _exact_law(statement, theorem, instance)
    return certified(law, GaussianDP(_compute_instance_mu(instance)), {"seed": seed})


def _exact_law(
    statement: Statement, theorem: Theorem6, instance: MultiStepInstance
) -> Inequality[GaussianDP]:
    """Return Theorem 6 of the Gaussian law of a pair, a little below its exact epsilon."""
    algorithm = instance.algorithm

    def epsilon(law: GaussianDP) -> float:
        # A little below the exact epsilon, so that delta there exceeds the claimed one by more than
        # rounding.
        return law.epsilon(theorem.delta) * (1 - 1e-6)

    def evidence(law: GaussianDP) -> Evidence:
        return Evidence(
            kind="approximate-dp",
            relation=statement.relation,
            parameters=instance.certified()
            | {
                "epsilon": theorem.epsilon,
                "delta": theorem.delta,
                "c0": theorem.c0,
                "factor": theorem.factor,
                "iterations": algorithm.iterations,
                "inner_steps": algorithm.inner_steps,
            },
            instance=instance.arrays() | _compute_step_parameters(instance),
            quantities={
                "bound": theorem.claimed,
                "sigma": algorithm.noise_multiplier,
                "mu": law.mu,
                "epsilon": epsilon(law),
                "delta": law.delta(epsilon(law)),
            },
        )

    return Inequality(
        name=statement.name,
        source=statement.source,
        sides=lambda law: (epsilon(law), theorem.claimed),
        conditions=lambda law: (
            *instance.conditions(),
            Condition(
                name="claimed delta exceeded",
                value=theorem.delta,
                limit=law.delta(epsilon(law)),
            ),
        ),
        evidence=evidence,
    )


def _compute_step_parameters(instance: MultiStepInstance) -> dict[str, Any]:
    """Return eta, shift norm and noise scale of every step at the node, and the graph."""
    algorithm, data, node = instance.algorithm, instance.pair.dataset, instance.record.node
    state = algorithm.start(data, 1)
    eta, shift, scale = [], [], []
    for _ in range(algorithm.steps):
        eta.append(float(algorithm.eta(data, state.iteration, state.inner_step)[node]))
        shift.append(float(np.linalg.norm(algorithm.shift(state, instance.pair)[0, node])))
        step = algorithm.step(state, data)
        scale.append(float(step.scale[node, 0]))
        # The shift is the same at every state, so the means make an output like any other.
        state = algorithm.advance(state, step.mean)
    return {"eta": eta, "shift": shift, "scale": scale, "edges": instance.edges}
