"""The algorithm and the conditions of zhang2018's section 4, which two claims share."""

from __future__ import annotations

from typing import Protocol

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.extension.case import AssumptionOutcome


class Public(Protocol):
    """The public parameters, as in `dpaudit.algorithms.consensus.algorithm`.

    ``penalty`` and ``noise_rate`` are those of t = 1; they grow geometrically.
    """

    nodes: int
    records: int
    iterations: int
    penalty: float
    growth: float
    dual_step: float
    noise_rate: float
    noise_growth: float
    loss_weight: float
    regulariser_weight: float


def algorithm_of(p: Public, graph: Graph) -> ConsensusADMM:
    """Return penalty perturbation with these parameters."""
    return ConsensusADMM(
        graph=graph,
        iterations=p.iterations,
        penalty=Geometric(p.penalty, p.growth),
        dual_step=p.dual_step,
        noise_rate=Geometric(p.noise_rate, p.noise_growth),
        loss_weight=p.loss_weight,
        regulariser_weight=p.regulariser_weight,
    )


def public_conditions(p: Public, algorithm: ConsensusADMM) -> dict[str, tuple[float, float]]:
    """Return value and limit of the conditions on public parameters.

    The last one is ``2 c_1 < (B/C) (rho/N + 2 theta V)``, at the node with the fewest neighbours.
    """
    stretch = 2 * p.dual_step * int(algorithm.graph.degrees.min())
    limit = p.records / p.loss_weight * (p.regulariser_weight / p.nodes + stretch)
    # A geometric sequence is least at one of its two ends.
    lowest = p.penalty * min(1.0, p.growth ** (p.iterations - 1))
    return {
        "weight at most records": (p.loss_weight, p.records),
        "penalties at least theta": (p.dual_step, lowest),
        "small curvature": (2 * algorithm.loss.largest_curvature, limit),
    }


def check_section4_assumptions(
    p: Public, algorithm: ConsensusADMM, *, unit: tuple[bool, str], eta: str
) -> tuple[AssumptionOutcome, ...]:
    """Return which assumptions hold.

    ``unit`` is whether records are in the unit ball, and how that was seen; ``eta`` is a name.
    """
    (weight, count), (theta, lowest), (value, limit) = public_conditions(p, algorithm).values()
    seen = (
        ("unit records", *unit),
        ("loss", True, "logistic: |l'| < 1 and 0 < l'' <= 1/4"),
        ("weight at most records", weight <= count, f"{weight:g}, B = {count}"),
        ("penalties at least theta", lowest >= theta, f"{eta} = {lowest:g}, theta = {theta:g}"),
        ("small curvature", value < limit, f"{value:.4g}, below {limit:.4g} asked"),
    )
    return tuple(AssumptionOutcome(name=n, holds=holds, evidence=words) for n, holds, words in seen)
