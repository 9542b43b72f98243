"""Privacy of the whole run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from dpaudit.extension.claim import Claim, Variant
from dpaudit.extension.parameters import Parameters

if TYPE_CHECKING:
    from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
    from dpaudit.algorithms.multistep.claims.instances import MultiStepInstance
    from dpaudit.algorithms.problems.graphs import Graph
    from dpaudit.extension.case import PrivacyCase
    from dpaudit.extension.settings import Settings


class Deployment(Parameters):
    """Public parameters of the audited run; the defaults make a small, quick deployment."""

    nodes: int = Field(5, ge=1, description="nodes of the graph")
    graph: Literal["complete", "ring", "star", "random"] = Field(
        "complete", description="its shape, unless edges are given"
    )
    edges: tuple[tuple[int, int], ...] | None = Field(None, description="pairs of nodes")
    split: Literal["even", "uneven"] = Field("even", description="records over nodes")
    records: int | None = Field(None, ge=2, description="use a random part of the data")
    iterations: int = Field(10, ge=1, description="t")
    inner_steps: int = Field(5, ge=1, description="l")
    penalty: float = Field(0.1, gt=0, description="rho")
    loss: str | None = Field(
        None,
        description="logistic; hinge; smoothed-hinge; linear; absolute (by default the claim's)",
    )
    regulariser_weight: float = Field(1e-4, ge=0, description="lambda")
    step_size: float | None = Field(None, gt=0, description="constant eta instead of eq. (23)")
    diameter: float = Field(10.0, gt=0, description="D of eq. (23)")
    batch_size: int | None = Field(None, ge=1, description="stochastic variant")
    c0: float = Field(1.0, gt=0, description="the constant of Theorem 6")
    c0_of_proof: bool = Field(
        False, description="c_0 = sqrt(ln(1/delta) / ln(1.25/delta)), from the proof of Theorem 4"
    )
    view: Literal["inner", "broadcast"] = Field("inner", description="what the observer sees")
    factor: float = Field(1.0, gt=0, description="the claimed bound is multiplied by this")

    def instances(self, settings: Settings) -> list[MultiStepInstance]:
        """Return the pairs that are audited, each with the algorithm that runs on it."""
        from dpaudit.algorithms.multistep.claims.instances import make_instances

        algorithm = self.algorithm(settings)
        return make_instances(settings, algorithm, split=self.split, records=self.records)

    def algorithm(self, settings: Settings) -> MultiStepADMM:
        """Return the algorithm with the noise of eq. (20); the worst case has a linear loss."""
        from dpaudit.algorithms.multistep import algorithm
        from dpaudit.algorithms.problems.losses import loss_called
        from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
        from dpaudit.extension.settings import WORST_CASE

        steps = self.iterations * self.inner_steps
        noise = algorithm.compute_theorem6_multiplier(
            settings.epsilon, settings.delta, steps, self.constant(settings)
        )
        return algorithm.MultiStepADMM(
            graph=self._graph(settings),
            iterations=self.iterations,
            inner_steps=self.inner_steps,
            noise_multiplier=noise,
            penalty=self.penalty,
            # Under the linear loss every step moves by Lemma 5's bound, so the worst case is exact.
            loss=loss_called(
                self.loss or ("linear" if settings.data == WORST_CASE else "logistic")
            ),
            regulariser_weight=self.regulariser_weight,
            step_size=DecayingStepSize(diameter=self.diameter)
            if self.step_size is None
            else ConstantStepSize(self.step_size),
            batch_size=self.batch_size,
        )

    def constant(self, settings: Settings) -> float:
        """Return c_0; epsilon and delta must be in the theorem's domain."""
        import dpaudit._check as check
        from dpaudit.algorithms.multistep.guarantees import chosen_constant

        check.require_positive("epsilon", settings.epsilon)
        check.require_probability("delta", settings.delta)
        return chosen_constant(settings.delta, self.c0, of_proof=self.c0_of_proof)

    def _graph(self, settings: Settings) -> Graph:
        from numpy.random import default_rng

        from dpaudit.algorithms.problems.graphs import from_edges, graph_called
        from dpaudit.execution import stream

        if self.edges is not None:
            return from_edges(self.nodes, self.edges)
        return graph_called(self.graph, self.nodes, default_rng(stream(settings.seed, "graph")))


def prepare_theorem6_audit(settings: Settings, parameters: Deployment) -> PrivacyCase:
    """Return the audit on the settings' data."""
    from dpaudit.algorithms.multistep.claims.leakage import Theorem6, whole_run
    from dpaudit.extension.settings import WORST_CASE

    theorem = Theorem6(
        epsilon=settings.epsilon,
        delta=settings.delta,
        c0=parameters.constant(settings),
        factor=parameters.factor,
        view=parameters.view,
    )
    return whole_run(
        CLAIM,
        theorem,
        parameters.instances(settings),
        seed=settings.seed,
        trials=10_000 if settings.data == WORST_CASE else 2_000,
        parameters=parameters.model_dump(mode="json"),
    )


ASSUMPTIONS = {
    "convex loss": "the loss is convex in the model",
    "Lipschitz loss": "the loss is c_1-Lipschitz in the model for every record",
    "bounded records": "records have Euclidean norm at most 1 and labels in {-1, +1}",
    "one tuple differs": "the datasets differ in one tuple of one node",
    "connected graph": "the graph of nodes is connected",
}

CLAIM = Claim(
    name="huang2020-theorem6",
    title="Privacy of the whole run",
    statement=(
        "With sigma = c_0 sqrt(2 t l ln(1.25/delta)) / epsilon, for arbitrary epsilon, all noisy "
        "inner models of t iterations with l steps each are (epsilon, delta)-DP; c_0 = 1 unless "
        "given."
    ),
    source="Huang & Gong, multi-step DP-ADMM, Theorem 6, eq. (20)",
    kind="privacy",
    relation="replace-record",
    assumptions=ASSUMPTIONS | {"published noise": "sigma is the one of eq. (20)"},
    prepare=prepare_theorem6_audit,
    parameters=Deployment,
    scope="Tried at epsilon = 1, where the claim is loose; from 8.42 on it is false at this delta.",
    published={
        "epsilon = 20": Variant(
            settings={"epsilon": 20.0},
            scope="It would stand for epsilon up to 8.41, or with a larger c_0; every c_0 fails "
            "further up, below.",
            printed=True,
        ),
        "epsilon = 150, c_0 = 2": Variant(
            settings={"epsilon": 150.0, "parameters": {"c0": 2.0}},
            scope="It would stand for smaller epsilon: no c_0 is large enough for all.",
            printed=True,
        ),
        "epsilon = 1100, c_0 = 5": Variant(
            settings={"epsilon": 1100.0, "parameters": {"c0": 5.0}},
            scope="It would stand for smaller epsilon: no c_0 is large enough for all.",
            printed=True,
        ),
        "epsilon = 5000, c_0 = 10": Variant(
            settings={"epsilon": 5000.0, "parameters": {"c0": 10.0}},
            scope="It would stand for smaller epsilon: no c_0 is large enough for all.",
            printed=True,
        ),
        "epsilon = 20, c_0 of the proof": Variant(
            settings={"epsilon": 20.0, "parameters": {"c0_of_proof": True}},
            scope="Of the constant that the proof of Theorem 4 arrives at.",
        ),
    },
)
