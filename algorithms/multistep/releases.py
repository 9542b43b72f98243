"""Releases of multi-step DP-ADMM, to account for by name; defaults are the paper's setting.

Derivations and sources are in `dpaudit.algorithms.multistep.guarantees`, and of what observers
learn who see no inner model in `dpaudit.algorithms.multistep.hidden_state` and
`dpaudit.algorithms.multistep.final`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.errors import ConvergenceError
from dpaudit.extension.parameters import Parameters
from dpaudit.extension.release import FormulaGuarantee, ReleaseCard

if TYPE_CHECKING:
    from dpaudit.accounting.events import Event
    from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
    from dpaudit.algorithms.multistep.hidden_state import InnerLoops


class MultiStep(Parameters):
    """Multi-step DP-ADMM with full gradients, every inner model seen."""

    iterations: int = Field(100, ge=1, description="t")
    inner_steps: int = Field(10, ge=1, description="l")
    noise_multiplier: float = Field(150.0, gt=0, description="sigma, in multiples of Lemma 5's s")
    c0: float = Field(1.0, gt=0, description="the constant of Theorem 6")


def multistep_admm(given: MultiStep) -> Event:
    """Return the release of multi-step DP-ADMM: the algorithm's own event."""
    from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
    from dpaudit.algorithms.problems.graphs import ring

    algorithm = MultiStepADMM(
        graph=ring(2),  # the event is the same on every graph
        iterations=given.iterations,
        inner_steps=given.inner_steps,
        noise_multiplier=given.noise_multiplier,
    )
    return algorithm.event()


def publish_theorem6_epsilon(given: MultiStep, delta: float) -> FormulaGuarantee:
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
    return FormulaGuarantee(
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
    published=publish_theorem6_epsilon,
)


# Observers who see no inner model.


class HiddenModels(Parameters):
    """Multi-step DP-ADMM with full gradients, the inner models hidden."""

    iterations: int = Field(100, ge=1, description="t")
    inner_steps: int = Field(10, ge=1, description="l")
    noise_multiplier: float = Field(150.0, gt=0, description="sigma, in multiples of Lemma 5's s")
    nodes: int = Field(5, ge=1, le=200, description="n")
    graph: Literal["complete", "ring", "star"] = Field("complete", description="its shape")
    penalty: float = Field(0.1, gt=0, description="rho")
    regulariser_weight: float = Field(1e-4, ge=0, description="lambda")
    step_size: float | None = Field(None, gt=0, description="constant eta instead of eq. (23)")
    diameter: float = Field(20.0, gt=0, description="D of eq. (23)")
    records: int = Field(9_044, ge=1, description="of every node")
    dimension: int = Field(104, ge=1, description="features of a record")

    def algorithm(self) -> MultiStepADMM:
        """Return the algorithm, with the linear loss: of a loss its c_1 = 1 alone matters."""
        from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
        from dpaudit.algorithms.problems import graphs, losses, step_sizes

        made = {"complete": graphs.complete, "ring": graphs.ring, "star": graphs.star}
        return MultiStepADMM(
            graph=made[self.graph](self.nodes),
            iterations=self.iterations,
            inner_steps=self.inner_steps,
            noise_multiplier=self.noise_multiplier,
            penalty=self.penalty,
            loss=losses.LINEAR,
            regulariser_weight=self.regulariser_weight,
            step_size=step_sizes.DecayingStepSize(diameter=self.diameter)
            if self.step_size is None
            else step_sizes.ConstantStepSize(self.step_size),
        )

    @property
    def node_sizes(self) -> tuple[int, ...]:
        """The records of every node."""
        return (self.records,) * self.nodes

    @property
    def convexity(self) -> float:
        """``lambda / n``, of every node's mean loss."""
        return self.regulariser_weight / self.nodes

    def loops(self) -> list[InnerLoops]:
        """Return the inner loops of every node."""
        from dpaudit.algorithms.multistep.hidden_state import InnerLoops

        algorithm = self.algorithm()
        return [InnerLoops.of(algorithm, self, node) for node in range(self.nodes)]


class ObservedModels(HiddenModels):
    """Multi-step DP-ADMM of linear losses, or quadratic ones of one Hessian ``h 1``."""

    curvature: float = Field(
        0.0,
        ge=0,
        description="h of gradients h w - b, the same on both datasets and, for final models, at "
        "every node; without the regulariser; 0: linear losses",
    )

    @property
    def eigenvalue(self) -> float:
        """``h + lambda / n``, of every node's mean loss."""
        return self.curvature + self.convexity


class SmoothObservedModels(HiddenModels):
    """Multi-step DP-ADMM with full gradients of smooth losses, the last inner models sent."""

    smoothness: float = Field(0.25, ge=0, description="of a record's loss: 0.25 if logistic")


def make_averages_event(given: ObservedModels) -> Event:
    """Return the release of the averages for affine gradients, at the node that leaks most.

    Examples
    --------
    >>> round(make_averages_event(ObservedModels(iterations=2, inner_steps=3)).noise_scale, 3)
    61.415
    """
    from dpaudit.algorithms.multistep.hidden_state import averages_mu

    return _make_largest_mu_event(averages_mu(loops, given.eigenvalue) for loops in given.loops())


def last_models(given: SmoothObservedModels) -> Event:
    """Return the release of the last inner models, at the node that leaks most.

    Examples
    --------
    >>> one = SmoothObservedModels(iterations=1, inner_steps=50, step_size=1.0, penalty=0.125)
    >>> round(last_models(one).noise_scale, 3)  # of 50 steps it shows no more than 3
    86.604
    """
    from dpaudit.algorithms.multistep.hidden_state import last_mu

    least = given.convexity
    most = least + given.smoothness
    return _make_largest_mu_event(last_mu(loops, least, most) for loops in given.loops())


def final_models(given: ObservedModels) -> Event:
    """Return the release of the final models for affine gradients, at the node that leaks most.

    Examples
    --------
    >>> round(final_models(ObservedModels(iterations=2, inner_steps=3)).noise_scale, 3)
    67.655
    """
    from dpaudit.algorithms.multistep.final import final_mus

    return _make_largest_mu_event(final_mus(given.algorithm(), given, given.eigenvalue))


def _make_largest_mu_event(mus: Iterable[float]) -> Event:
    """Return the Gaussian release with the largest mu, none at all for 0."""
    from dpaudit.accounting.events import GaussianRelease
    from dpaudit.algorithms.multistep.hidden_state import ROUNDING

    # The margin keeps the release above the double that computed its mu.
    found = list(mus)
    # The maximum passes over a NaN, which would be a release that nobody counts.
    if any(map(math.isnan, found)):
        raise ConvergenceError("mu: got NaN, expected the mu of every node: the run overflows")
    mu = max(found) * (1 + ROUNDING)
    # Where nothing depends on the data, no release is stated; a scale of infinity would be none.
    if mu == 0:
        return GaussianRelease(sensitivity=1.0, noise_scale=1.0, count=0)
    return GaussianRelease(sensitivity=1.0, noise_scale=1 / mu)


HUANG2020_AVERAGES = ReleaseCard(
    name="huang2020-averages",
    title="Multi-step DP-ADMM with linear or quadratic losses, the averages seen",
    source="exact law of the averages (algorithms/multistep/hidden_state.py)",
    relation="replace-record",
    parameters=ObservedModels,
    event=make_averages_event,
    count="iterations",
    noise="noise_multiplier",
)

HUANG2020_LAST = ReleaseCard(
    name="huang2020-last",
    title="Multi-step DP-ADMM that sends the last inner models",
    source="shifted interpolation (algorithms/multistep/hidden_state.py)",
    relation="replace-record",
    parameters=SmoothObservedModels,
    event=last_models,
    count="iterations",
    noise="noise_multiplier",
)

HUANG2020_FINAL = ReleaseCard(
    name="huang2020-final",
    title="Multi-step DP-ADMM with linear or quadratic losses, the final models seen",
    source="exact law of the final models (algorithms/multistep/final.py)",
    relation="replace-record",
    parameters=ObservedModels,
    event=final_models,
    count="iterations",
    noise="noise_multiplier",
)
