"""From public parameters to events and to what the papers state: what the cards name.

Derivations and sources are in the module of each family.
"""

from __future__ import annotations

import math

from dpaudit.accounting.events import Event
from dpaudit.algorithms import card_parameters as parameters
from dpaudit.algorithms.consensus.dp_admm_2019 import ServerADMM
from dpaudit.algorithms.consensus.guarantees import NodeUpdate, run_event
from dpaudit.algorithms.multistep import guarantees as multistep
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.graphs import ring
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.smooth_losses import smooth_loss_called
from dpaudit.algorithms.sharing import guarantees as sharing
from dpaudit.algorithms.sharing.noise import published_sensitivity
from dpaudit.algorithms.tables import guarantees as tables
from dpaudit.extension.release import Published


def node_updates(given: parameters.Consensus) -> tuple[NodeUpdate, ...]:
    """Return the node's updates; without a ``penalty_ratio`` the penalty is theta.

    Examples
    --------
    >>> updates = node_updates(parameters.PenaltyPerturbation())
    >>> round(sum(update.published_bound for update in updates), 2)
    15.6
    """
    ratio = given.penalty_ratio if isinstance(given, parameters.PenaltyPerturbation) else 1.0
    penalties = Geometric(given.dual_step, ratio).values(given.iterations, 1)[:, 0]
    rates = Geometric(given.noise_rate, given.rate_ratio).values(given.iterations, 1)[:, 0]
    return tuple(
        NodeUpdate(
            loss=smooth_loss_called(given.loss),
            loss_weight=given.loss_weight,
            records=given.records,
            ridge=given.regulariser_weight / given.nodes,
            stretch=float(2 * penalty * given.degree),
            noise_rate=float(rate),
        )
        for penalty, rate in zip(penalties, rates, strict=True)
    )


def penalty_perturbation(given: parameters.Consensus) -> Event:
    """Return what PP releases, and DVP, whose penalty is theta."""
    return run_event("penalty", node_updates(given), given.dimension)


def primal_perturbation(given: parameters.Consensus) -> Event:
    """Return what PVP releases."""
    return run_event("primal", node_updates(given), given.dimension)


def recycled(given: parameters.Consensus) -> Event:
    """Return what R-ADMM releases."""
    return run_event("recycled", node_updates(given), given.dimension)


def theorem41(given: parameters.Consensus, delta: float) -> Published:
    """Return eq. (26) of zhang2018, infinite where the theorem's conditions fail.

    They are Assumption 4, ``2 c_1 < (B/C)(rho/N + 2 theta V)`` and ``eta(t) >= theta``.

    Examples
    --------
    >>> round(theorem41(parameters.PenaltyPerturbation(iterations=1), 0.0).epsilon, 6)
    0.32411
    """
    updates, loss = node_updates(given), smooth_loss_called(given.loss)
    least = given.regulariser_weight / given.nodes + 2 * given.dual_step * given.degree
    small = 2 * loss.largest_curvature < given.records / given.loss_weight * least
    steady = getattr(given, "penalty_ratio", 1.0) >= 1
    assumed = loss.strictly_convex and loss.lipschitz <= 1
    total = math.fsum(update.published_bound for update in updates)
    holds = small and steady and assumed
    return Published(
        epsilon=total if holds else math.inf,
        delta=0.0,
        source="Zhang, Khalili & Liu 2018, Theorem 4.1, eq. (26)",
        note="at delta = 0, so at every delta" if holds else "the theorem's conditions fail",
    )


def multistep_admm(given: parameters.MultiStep) -> Event:
    """Return what multi-step DP-ADMM releases: the algorithm's own event."""
    algorithm = MultiStepADMM(
        graph=ring(2),  # the event is the same on every graph
        iterations=given.iterations,
        inner_steps=given.inner_steps,
        noise_multiplier=given.noise_multiplier,
    )
    return algorithm.event()


def theorem6(given: parameters.MultiStep, delta: float) -> Published:
    """Return Theorem 6 of Huang & Gong, with the range in which it is true."""
    epsilon = multistep.theorem6_epsilon(
        noise_multiplier=given.noise_multiplier,
        steps=given.iterations * given.inner_steps,
        delta=delta,
        constant=given.c0,
    )
    note = "no answer at delta = 0"
    if delta > 0:
        limit = multistep.theorem6_holds_up_to(delta, given.c0)
        side = "true" if epsilon <= limit else "false here: true"
        note = f"{side} up to epsilon = {limit:.4g} at this delta"
    return Published(
        epsilon=epsilon, delta=delta, source="Huang & Gong, Theorem 6, eq. (20)", note=note
    )


def server_admm(given: parameters.ServerADMM) -> Event:
    """Return what DP-ADMM of 2019 releases: the algorithm's own event."""
    algorithm = ServerADMM(
        nodes=1, iterations=given.iterations, noise_multiplier=given.noise_multiplier
    )
    return algorithm.event()


def messages(given: parameters.Messages) -> Event:
    """Return what one party's messages release."""
    return sharing.message_event(
        sensitivity=given.sensitivity, noise_scale=given.noise_scale, iterations=given.iterations
    )


def corollary1(given: parameters.Messages, delta: float) -> Published:
    """Return Corollary 1 of hu2020, with the sensitivity of its Lemma 1."""
    claimed = published_sensitivity(
        features=given.features,
        parties=given.parties,
        penalty=given.penalty,
        regulariser_weight=given.regulariser_weight,
        regulariser_curvature=given.regulariser_curvature,
        bound=given.bound,
    )
    epsilon = sharing.corollary1_epsilon(
        sensitivity=claimed,
        noise_scale=given.noise_scale,
        iterations=given.iterations,
        delta=delta,
    )
    return Published(
        epsilon=epsilon,
        delta=delta,
        source="Hu et al. 2020, Corollary 1 with Theorem 1 and Lemma 1; delta split in halves",
        note=f"rests on Lemma 1's sensitivity {claimed:.4g}, which is no bound",
    )


def labels(given: parameters.Labels) -> Event:
    """Return what the noisy labels release."""
    return tables.label_event(deviation=given.deviation, encoding=given.encoding)


def labels_theorem1(given: parameters.Labels, delta: float) -> Published:
    """Return Theorem 1 of the appendix on joined tables."""
    return Published(
        epsilon=tables.theorem1_epsilon(given.deviation),
        delta=0.0,
        source="appendix on joined tables, Theorem 1",
        note="exact at delta = 0",
    )


def features(given: parameters.Features) -> Event:
    """Return what all clients' models release about one tuple."""
    return tables.model_event(
        iterations=given.iterations,
        local_steps=given.local_steps,
        noise_multiplier=given.noise_multiplier,
        joined=given.joined,
        sampling_ratio=given.sampling_ratio,
    )


def features_theorem2(given: parameters.Features, delta: float) -> Published:
    """Return Theorem 2 of the appendix on joined tables, for the constants given."""
    epsilon = tables.theorem2_epsilon(
        noise_multiplier=given.noise_multiplier,
        steps=given.iterations * given.local_steps,
        sampling_ratio=given.sampling_ratio,
        delta=delta,
        first_constant=given.c1,
        second_constant=given.c2,
    )
    return Published(
        epsilon=epsilon,
        delta=delta,
        source="appendix on joined tables, Theorem 2",
        note=f"with c_1 = {given.c1:g} and c_2 = {given.c2:g}, which the theorem does not give; "
        "it leaves out other clients' models, and is false for what the server sees",
    )
