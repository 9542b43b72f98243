"""Releases of consensus ADMM to account for by name; defaults are the papers' settings.

Derivations and sources are in `dpaudit.algorithms.consensus.guarantees`.

**The constant C.** zhang2018 does not give it. With C = 1750 dual variable perturbation with one
penalty and one noise rate, ``q_1 = q_2 = 1``, has the published number

    50 * 1750 * (1.4 / 4 + 3) / (0.5 * 4 * 9044)  =  16.2

after the 50 iterations of Figure 2: that is the 16.2 of Zhang & Zhu's method. It belongs to neither
schedule of penalty perturbation: eq. (26) with ``q_1 = 1.02, q_2 = 1.01`` is 12.60, and 20.00 with
the two exchanged. No other reading of these two gives it: with 49 or 51 iterations, or summed from
t = 1 for 0, it is 12.41 to 12.79; with one of the two schedules alone 10.39 (penalty) or 20.40
(noise); with the noise growing inside ``alpha / eta`` only 13.21; without c_1 11.52; with degree 3
16.80 and 5 10.08; with the determinant's logarithm of (65) 12.27. It takes 71 iterations to reach
16.20.

**How far the proved numbers are from the end.** At delta = 1e-5 the default of PP is proved 0.9005.
A loss of Assumption 4 that is almost linear lets opposite records move the noise by the full
sensitivity, with hardly any determinant: 0.7300 is reached in the limit (``loss=linear``), so no
proof for all losses of the theorem goes below it. What lies between is the determinant, which is
taken at its largest in every iteration while the noise moves the furthest: the logistic loss does
not do both at one output. Of it, opposite records show 0.3428.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import FormulaGuarantee, ReleaseCard

if TYPE_CHECKING:
    from dpaudit.accounting.events import Event
    from dpaudit.algorithms.consensus.guarantees import NodeUpdate


class Consensus(Parameters):
    """Consensus ADMM as one node sees it; zhang2018, Figure 2, with Adult on five nodes."""

    dimension: int = Field(104, ge=1, description="d, features of a record")
    records: int = Field(9044, ge=1, description="B, records of the node")
    degree: int = Field(4, ge=1, description="V, neighbours of the node")
    nodes: int = Field(5, ge=2, description="N, nodes of the graph")
    iterations: int = Field(50, ge=1, description="T")
    dual_step: float = Field(0.5, gt=0, description="theta")
    noise_rate: float = Field(3.0, gt=0, description="alpha(1): the larger, the less noise")
    rate_ratio: float = Field(1.02, gt=0, description="q_2 of alpha(t) = alpha(1) q_2^(t-1)")
    loss_weight: float = Field(1750.0, gt=0, description="C, which the paper does not give")
    regulariser_weight: float = Field(1.0, ge=0, description="rho, which the paper does not give")
    loss: str = Field("logistic", description="logistic; smoothed-hinge; linear")


class PenaltyPerturbationParameters(Consensus):
    """The same with a penalty that varies: PP, and the other variants where it is used."""

    penalty_ratio: float = Field(1.02, gt=0, description="q_1 of eta(t) = theta q_1^(t-1)")


class ConstantPenalty(PenaltyPerturbationParameters):
    """The same with the penalty eta = theta by default, as in the papers on PVP and R-ADMM."""

    penalty_ratio: float = Field(1.0, gt=0, description="q_1 of eta(t) = theta q_1^(t-1)")


class ServerADMMParameters(Parameters):
    """DP-ADMM of 2019."""

    iterations: int = Field(100, ge=1, description="T")
    noise_multiplier: float = Field(50.0, gt=0, description="sigma, in sensitivities")


def node_updates(given: Consensus) -> tuple[NodeUpdate, ...]:
    """Return the node's updates; without a ``penalty_ratio`` the penalty is theta.

    Examples
    --------
    >>> updates = node_updates(PenaltyPerturbationParameters())
    >>> round(sum(update.published_bound for update in updates), 2)
    15.6
    """
    from dpaudit.algorithms.consensus.guarantees import NodeUpdate
    from dpaudit.algorithms.problems.schedules import Geometric
    from dpaudit.algorithms.problems.smooth_losses import smooth_loss_called

    ratio = given.penalty_ratio if isinstance(given, PenaltyPerturbationParameters) else 1.0
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


def penalty_perturbation(given: Consensus) -> Event:
    """Return the release of PP, and of DVP, whose penalty is theta."""
    from dpaudit.algorithms.consensus.guarantees import run_event

    return run_event("penalty", node_updates(given), given.dimension)


def primal_perturbation(given: Consensus) -> Event:
    """Return the release of PVP."""
    from dpaudit.algorithms.consensus.guarantees import run_event

    return run_event("primal", node_updates(given), given.dimension)


def make_recycled_event(given: Consensus) -> Event:
    """Return the release of R-ADMM."""
    from dpaudit.algorithms.consensus.guarantees import run_event

    return run_event("recycled", node_updates(given), given.dimension)


def publish_theorem41_epsilon(given: Consensus, delta: float) -> FormulaGuarantee:
    """Return eq. (26) of zhang2018, infinite where the theorem's conditions fail.

    They are Assumption 4, ``2 c_1 < (B/C)(rho/N + 2 theta V)`` and ``eta(t) >= theta``.

    Examples
    --------
    >>> one = PenaltyPerturbationParameters(iterations=1)
    >>> round(publish_theorem41_epsilon(one, 0.0).epsilon, 6)
    0.32411
    """
    from dpaudit.algorithms.problems.smooth_losses import smooth_loss_called

    updates, loss = node_updates(given), smooth_loss_called(given.loss)
    least = given.regulariser_weight / given.nodes + 2 * given.dual_step * given.degree
    small = 2 * loss.largest_curvature < given.records / given.loss_weight * least
    # eta(1) is theta, so eta(t) >= theta holds exactly where the ratio is at least 1.
    steady = getattr(given, "penalty_ratio", 1.0) >= 1
    assumed = loss.strictly_convex and loss.lipschitz <= 1
    # fsum rounds once, whatever the number of iterations.
    total = math.fsum(update.published_bound for update in updates)
    holds = small and steady and assumed
    return FormulaGuarantee(
        epsilon=total if holds else math.inf,
        delta=0.0,
        source="Zhang, Khalili & Liu 2018, Theorem 4.1, eq. (26)",
        note="at delta = 0, so at every delta" if holds else "the theorem's conditions fail",
    )


def server_admm(given: ServerADMMParameters) -> Event:
    """Return the release of DP-ADMM of 2019: the algorithm's own event."""
    from dpaudit.algorithms.consensus.dp_admm_2019 import ServerADMM as Algorithm

    # The event is that of one node, whose privacy does not depend on how many others there are.
    algorithm = Algorithm(
        nodes=1, iterations=given.iterations, noise_multiplier=given.noise_multiplier
    )
    return algorithm.event()


ZHANG2018_PP = ReleaseCard(
    name="zhang2018-pp",
    title="Consensus ADMM with penalty perturbation (PP)",
    source="Zhang, Khalili & Liu 2018, Algorithm 1; derived in algorithms/consensus/guarantees.py",
    relation="replace-record",
    parameters=PenaltyPerturbationParameters,
    event=penalty_perturbation,
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
    published=publish_theorem41_epsilon,
)


ZHANG2018_DVP = ReleaseCard(
    name="zhang2018-dvp",
    title="Consensus ADMM with dual variable perturbation (DVP): PP with eta = theta",
    source="Zhang & Zhu 2017; derived in algorithms/consensus/guarantees.py",
    relation="replace-record",
    parameters=Consensus,
    event=penalty_perturbation,
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
    published=publish_theorem41_epsilon,
)


ZHANG2018_PVP = ReleaseCard(
    name="zhang2018-pvp",
    title="Consensus ADMM with primal variable perturbation (PVP)",
    source="Zhang & Zhu 2017; derived in algorithms/consensus/guarantees.py",
    relation="replace-record",
    parameters=ConstantPenalty,
    event=primal_perturbation,
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
)


RECYCLED_ADMM = ReleaseCard(
    name="recycled-admm",
    title="Recycled ADMM (R-ADMM): even iterations release nothing",
    source="Zhang, Khalili & Liu 2019; derived in algorithms/consensus/guarantees.py",
    relation="replace-record",
    parameters=ConstantPenalty,
    event=make_recycled_event,
    count="iterations",
    noise="noise_rate",
    more_noise=-1,
)


DP_ADMM_2019 = ReleaseCard(
    name="dp-admm-2019",
    title="DP-ADMM through a server, every local model seen",
    source="Huang, Hu, Guo, Chan-Tin & Gong 2019, with exact composition (Dong, Roth & Su 2022)",
    relation="replace-record",
    parameters=ServerADMMParameters,
    event=server_admm,
    count="iterations",
    noise="noise_multiplier",
)
