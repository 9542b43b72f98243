"""Theorem 3.1 with penalties that grow geometrically: a search for how far M-ADMM stops short."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from hypothesis.strategies import (
    SearchStrategy,
    fixed_dictionaries,
    integers,
    just,
    lists,
    sampled_from,
)
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.claims.search import adjacency_of
from dpaudit.algorithms.consensus.claims.stall import Run, space, stalled
from dpaudit.algorithms.consensus.claims.steps import components
from dpaudit.errors import MechanismError
from dpaudit.refutation import (
    Attained,
    Certificate,
    Condition,
    Inequality,
    exceeds,
    maximise,
    minimal,
)
from dpaudit.refutation.inequality import broken
from dpaudit.refutation.search import Batch

NAME = "zhang2018-theorem31"
SOURCE = "Zhang, Khalili & Liu (ICML 2018), Theorem 3.1"
BECAUSE = (
    "Every eta_i(t) is finite, but together they are not bounded, which the step from (43) to "
    "(44) needs: updates shrink so fast that their sum ends before the optimum."
)
_ARRAYS = ("adjacency", "records", "first", "growth")
_SHRINKING = 40
_SHORT = 40  # iterations, for penalties that at least double


@dataclass(frozen=True, kw_only=True)
class Growing:
    """The statement that at most ``allowed`` of the distance at the start is left in the limit."""

    run: Run
    tolerance: float
    factor: float

    @property
    def allowed(self) -> float:
        """The bound, factor included."""
        return self.tolerance * self.factor

    def attain(self, budget: int, rng: Generator, *, seed: int) -> Attained:
        """Return the worst instance of a search.

        Examples
        --------
        >>> from dpaudit.algorithms.problems.smooth_losses import LINEAR
        >>> growing = Growing(run=Run(nodes=2, loss=LINEAR), tolerance=0.01, factor=1.0)
        >>> found = growing.attain(200, np.random.default_rng(0), seed=0)
        >>> found.ratio > 50, found.certificate is not None
        (True, True)
        """
        found = maximise(space(self.run, self.allowed), budget, rng).instance
        batch = {name: values[None] for name, values in found.items()}
        if names := broken(self.conditions(batch)):
            raise MechanismError(f"{NAME}: the instance found breaks: {', '.join(names)}")
        value = float(stalled(self.run, batch).distance[0])
        refuted = exceeds(value / self.allowed)
        return Attained(
            value=value,
            bound=self.allowed,
            instance=self.words(batch),
            because=BECAUSE if refuted else None,
            minimal=self._smallest(seed) if refuted else None,
            certificate=self._certificate(batch, value, seed, budget) if refuted else None,
        )

    def conditions(self, batch: Batch) -> tuple[Condition, ...]:
        """Return the theorem's assumptions as numbers of an instance."""
        pairs = {
            "penalties at least theta": (self.run.dual_step, batch["first"].min()),
            "penalties do not fall": (1.0, batch["growth"].min()),
            "connected graph": (components(batch["adjacency"][0]), 1),
        }
        return tuple(
            Condition(name=name, value=float(value), limit=float(limit))
            for name, (value, limit) in pairs.items()
        )

    def words(self, batch: Batch) -> str:
        """Return an instance as words for people."""
        run, stall = self.run, stalled(self.run, batch)
        graph = np.triu(batch["adjacency"][0])
        edges = ", ".join(f"{i}-{j}" for i, j in zip(*np.nonzero(graph), strict=True))
        shown = {n: np.array2string(batch[n][0], precision=4, separator=", ") for n in _ARRAYS[1:]}
        return (
            f"edges {edges}; {run.loss.name} loss, ridge {run.ridge:.4g}, theta "
            f"{run.dual_step:.4g}, records {shown['records']}, eta_i(1) {shown['first']}, growing "
            f"by {shown['growth']}; after {run.iterations} iterations the weighted mean is "
            f"{stall.mean[0]:.6g} and moves by at most {stall.tail[0]:.2g} from there on, the "
            f"optimum is {stall.best[0]:.6g}"
        )

    def _certificate(self, batch: Batch, value: float, seed: int, budget: int) -> Certificate:
        run, stall = self.run, stalled(self.run, batch)
        parameters: Mapping[str, object] = {
            "part": "growing",
            "nodes": run.nodes,
            "iterations": run.iterations,
            "dual_step": run.dual_step,
            "ridge": run.ridge,
            "loss": run.loss.name,
            "tolerance": self.tolerance,
            "factor": self.factor,
        }
        return Certificate(
            claim=NAME,
            source=SOURCE,
            relation="none",
            parameters=parameters,
            instance={name: batch[name][0] for name in _ARRAYS},
            quantities={
                "mean": float(stall.mean[0]),
                "best": float(stall.best[0]),
                "tail": float(stall.tail[0]),
                "distance": value,
                "bound": self.allowed,
                "ratio": value / self.allowed,
            },
            conditions=self.conditions(batch),
            search={"seed": seed, "budget": budget},
            kind="property",
        )

    def _smallest(self, seed: int) -> str | None:
        """Return the simplest instance with penalties that grow by whole factors, in words."""
        short = replace(self, run=replace(self.run, iterations=_SHORT, first=None, growth=None))

        def resized(batch: Batch) -> Growing:
            return replace(short, run=replace(short.run, nodes=batch["first"].shape[1]))

        def sides(batch: Batch) -> tuple[float, float]:
            run = resized(batch).run
            return float(stalled(run, batch).distance[0]), self.allowed

        claim: Inequality[Batch] = Inequality(
            name=NAME, source=SOURCE, sides=sides, conditions=self.conditions
        )
        batch = minimal(_small(self.run), claim, budget=_SHRINKING, seed=seed)
        return None if batch is None else resized(batch).words(batch)


def _small(run: Run) -> SearchStrategy[Batch]:
    """Return batches of one instance with few nodes and whole factors, smallest first."""

    def sized(nodes: int) -> SearchStrategy[Batch]:
        def row(*values: float) -> SearchStrategy[Array]:
            return lists(sampled_from(values), min_size=nodes, max_size=nodes).map(
                lambda numbers: np.array([numbers])
            )

        graph = adjacency_of(np.zeros((1, nodes)), np.zeros((1, nodes, nodes)))
        theta = run.dual_step
        return fixed_dictionaries(
            {
                "adjacency": just(graph),
                "records": row(1.0, 0.5),
                "first": row(theta, 2 * theta, 4 * theta),
                "growth": row(2.0, 3.0, 4.0),
            }
        )

    return integers(2, min(run.nodes, 3)).flatmap(sized)
