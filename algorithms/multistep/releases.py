"""The release of multi-step DP-ADMM to account for by name; defaults are the paper's setting.

Derivations and sources are in `dpaudit.algorithms.multistep.guarantees`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import Published, ReleaseCard

if TYPE_CHECKING:
    from dpaudit.accounting.events import Event


class MultiStep(Parameters):
    """Multi-step DP-ADMM with full gradients, every inner model seen."""

    iterations: int = Field(100, ge=1, description="t")
    inner_steps: int = Field(10, ge=1, description="l")
    noise_multiplier: float = Field(150.0, gt=0, description="sigma, in multiples of Lemma 5's s")
    c0: float = Field(1.0, gt=0, description="the constant of Theorem 6")


def multistep_admm(given: MultiStep) -> Event:
    """Return what multi-step DP-ADMM releases: the algorithm's own event."""
    from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
    from dpaudit.algorithms.problems.graphs import ring

    algorithm = MultiStepADMM(
        graph=ring(2),  # the event is the same on every graph
        iterations=given.iterations,
        inner_steps=given.inner_steps,
        noise_multiplier=given.noise_multiplier,
    )
    return algorithm.event()


def theorem6(given: MultiStep, delta: float) -> Published:
    """Return Theorem 6 of Huang & Gong, with the range in which it is true."""
    from dpaudit.algorithms.multistep.guarantees import theorem6_epsilon, theorem6_holds_up_to

    epsilon = theorem6_epsilon(
        noise_multiplier=given.noise_multiplier,
        steps=given.iterations * given.inner_steps,
        delta=delta,
        constant=given.c0,
    )
    note = "no answer at delta = 0"
    if delta > 0:
        limit = theorem6_holds_up_to(delta, given.c0)
        side = "true" if epsilon <= limit else "false here: true"
        note = f"{side} up to epsilon = {limit:.4g} at this delta"
    return Published(
        epsilon=epsilon, delta=delta, source="Huang & Gong, Theorem 6, eq. (20)", note=note
    )


HUANG2020_MULTISTEP = ReleaseCard(
    name="huang2020-multistep",
    title="Multi-step DP-ADMM, every inner model seen",
    source="Huang & Gong, Lemma 5, with exact composition (Dong, Roth & Su 2022)",
    relation="replace-record",
    parameters=MultiStep,
    event=multistep_admm,
    count="iterations",
    noise="noise_multiplier",
    published=theorem6,
)
