"""The audit of zhang2018's Theorem 4.1: the largest exact privacy loss that a search finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.claims.outputs import Outputs
from dpaudit.algorithms.consensus.claims.parameters import Theorem41Parameters
from dpaudit.algorithms.consensus.guarantees import node_updates
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.records import refuse_data
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.datasets.dataset import Dataset
from dpaudit.extension.case import AssumptionOutcome, SearchCase
from dpaudit.extension.settings import Settings
from dpaudit.neighbours import REPLACE_RECORD
from dpaudit.refutation import Attained, Certificate, Condition, exceeds, maximise
from dpaudit.refutation.inequality import broken
from dpaudit.refutation.search import Batch

NAME = "zhang2018-theorem41"
SOURCE = "Zhang, Khalili & Liu (ICML 2018), Theorem 4.1, eq. (26)"
_PROOF = (
    "alpha s + ln(1 + a) per update, s = C / (eta V B) and a = C c_1 / (B (rho/N + 2 eta V)): "
    "consensus.guarantees; never above eq. (26), and it needs no condition on theta"
)
_SMALL = "small curvature"


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """The claim that no output of penalty perturbation has a larger loss than ``allowed``."""

    outputs: Outputs
    parameters: Theorem41Parameters

    @property
    def allowed(self) -> float:
        """The claimed beta, factor included."""
        beta = self.outputs.algorithm.published_bounds(_zeros(self.parameters))[-1]
        return float(beta) * self.parameters.factor

    @property
    def proved(self) -> float:
        """What our accounting proves at delta = 0."""
        sizes = (self.parameters.records,) * self.parameters.nodes
        nodes = node_updates(self.outputs.algorithm, sizes)
        return max(sum(update.pure_bound() for update in updates) for updates in nodes)

    def attain(self, budget: int, rng: Generator, *, seed: int) -> Attained:
        """Return the output with the largest exact loss that a search finds."""
        found = maximise(self.outputs.space(self.allowed), budget, rng).instance
        loss = self.outputs.exact_loss(found)
        conditions = self.conditions(found)
        refuted = exceeds(loss / self.allowed) and not broken(conditions)
        return Attained(
            value=loss,
            bound=self.allowed,
            instance=self._words(found, loss),
            certificate=self._certificate(found, loss, seed, budget) if refuted else None,
        )

    def conditions(self, instance: Batch) -> tuple[Condition, ...]:
        """Return the theorem's assumptions as numbers of an instance."""
        algorithm, p = self.outputs.algorithm, self.parameters
        records = np.concatenate([instance["others"], instance["old"][None], instance["new"][None]])
        margins = instance["models"] @ records.T
        curvatures = algorithm.loss.curvature(margins)
        pairs = {
            "unit records": (np.linalg.norm(records, axis=1).max(), 1.0),
            "slopes within 1": (np.abs(algorithm.loss.margin.slope(margins)).max(), 1.0),
            "curvature above 0": (0.0, curvatures.min()),
            "curvature at most c_1": (curvatures.max(), algorithm.loss.largest_curvature),
            "weight at most records": (p.loss_weight, p.records),
            "penalties at least theta": (p.dual_step, p.penalty),
            _SMALL: self._small_curvature(),
        }
        return tuple(
            Condition(name=name, value=float(value), limit=float(limit))
            for name, (value, limit) in pairs.items()
        )

    def outcomes(self) -> tuple[AssumptionOutcome, ...]:
        """Return which assumptions hold; those on outputs are checked on what is found."""
        p, (value, limit) = self.parameters, self._small_curvature()
        checked = "enforced, and checked on the output found"
        public = {
            "weight at most records": (p.loss_weight <= p.records, f"{p.loss_weight:g}, B = "),
            "penalties at least theta": (
                p.penalty >= p.dual_step,
                f"eta = {p.penalty:g}, theta = ",
            ),
        }
        ends = {"weight at most records": p.records, "penalties at least theta": p.dual_step}
        return (
            AssumptionOutcome(name="unit records", holds=True, evidence=checked),
            AssumptionOutcome(
                name="loss", holds=True, evidence="logistic: |l'| < 1 and 0 < l'' <= 1/4"
            ),
            *(
                AssumptionOutcome(name=name, holds=holds, evidence=f"{words}{ends[name]:g}")
                for name, (holds, words) in public.items()
            ),
            AssumptionOutcome(
                name=_SMALL, holds=value < limit, evidence=f"{value:.4g}, below {limit:.4g} asked"
            ),
        )

    def _small_curvature(self) -> tuple[float, float]:
        """Return the sides of ``2 c_1 < (B/C) (rho/N + 2 theta V)``."""
        p, algorithm = self.parameters, self.outputs.algorithm
        stretch = 2 * p.dual_step * (p.nodes - 1)
        limit = p.records / p.loss_weight * (p.regulariser_weight / p.nodes + stretch)
        return 2 * algorithm.loss.largest_curvature, limit

    def _words(self, instance: Batch, loss: float) -> str:
        slopes = self.outputs.algorithm.loss.margin.slope
        models = instance["models"]
        pushes = [slopes(models @ instance[name])[:, None] * instance[name] for name in _ENDS]
        moved = np.linalg.norm(pushes[0] - pushes[1], axis=1)
        return (
            f"records that differ {_row(instance['old'])} and {_row(instance['new'])}, models of "
            f"norms {_row(np.linalg.norm(models, axis=1))}; gradients differ by {_row(moved)} of "
            f"at most 2; exact loss {loss:.6g}, {loss / self.proved:.1%} of the proved bound"
        )

    def _certificate(self, instance: Batch, loss: float, seed: int, budget: int) -> Certificate:
        p = self.parameters
        unused = {"budget", "start"}
        return Certificate(
            claim=NAME,
            source=SOURCE,
            relation=REPLACE_RECORD.name,
            parameters=p.model_dump(mode="json", exclude=unused) | {"loss": "logistic"},
            instance={name: instance[name] for name in ("others", *_ENDS)}
            | {"outputs": self.outputs.broadcasts(instance)},
            quantities={"loss": loss, "bound": self.allowed, "ratio": loss / self.allowed},
            conditions=self.conditions(instance),
            search={"seed": seed, "budget": budget},
            kind="pure-dp",
        )


_ENDS = ("old", "new")


def theorem41_case(settings: Settings, parameters: Theorem41Parameters) -> SearchCase:
    """Return the audit of Theorem 4.1 on a complete graph.

    Examples
    --------
    >>> case = theorem41_case(Settings(), Theorem41Parameters())
    >>> round(case.bound, 4), round(case.proved[0], 4), case.at_delta
    (9.164, 8.5289, 0.0)
    """
    refuse_data(settings)
    bounded = Bounded(outputs=outputs_of(parameters), parameters=parameters)
    return SearchCase(
        bound=bounded.allowed,
        attain=lambda budget, rng: bounded.attain(budget, rng, seed=settings.seed),
        view="all broadcasts f_i(t), Definition 4.1",
        data="records of norm at most 1 at node 1, zeros elsewhere; searched with the outputs",
        relation=REPLACE_RECORD.name,
        pair="found by the search: one record of node 1 replaced",
        default_trials=parameters.budget,
        parameters=parameters.model_dump(mode="json"),
        at_delta=0.0,
        effort="evaluated outputs",
        assumptions=bounded.outcomes(),
        proved=(bounded.proved, _PROOF),
        notes=(
            "Measured is the exact loss of one output, in its limit over outputs an epsilon that "
            "pure differential privacy cannot be below.",
        ),
    )


def outputs_of(parameters: Theorem41Parameters) -> Outputs:
    """Return the audited algorithm and the size of its datasets."""
    p = parameters
    algorithm = ConsensusADMM(
        graph=complete(p.nodes),
        iterations=p.iterations,
        penalty=Geometric(p.penalty, p.growth),
        dual_step=p.dual_step,
        noise_rate=Geometric(p.noise_rate, p.noise_growth),
        loss_weight=p.loss_weight,
        regulariser_weight=p.regulariser_weight,
    )
    return Outputs(
        algorithm=algorithm,
        records=p.records,
        dimension=p.dimension,
        any_start=p.start == "any",
    )


def _zeros(parameters: Theorem41Parameters) -> Dataset:
    count = parameters.nodes * parameters.records
    return Dataset(
        np.zeros((count, parameters.dimension)),
        np.ones(count),
        node_sizes=(parameters.records,) * parameters.nodes,
    )


def _row(numbers: object) -> str:
    return np.array2string(np.asarray(numbers), precision=4, separator=", ")
