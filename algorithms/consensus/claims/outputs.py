r"""The exact loss of one output of penalty perturbation, which Theorem 4.1 of zhang2018 bounds.

It is searched over datasets, neighbours and outputs.

| paper          | name             | meaning                                          | shape     |
|----------------|------------------|--------------------------------------------------|-----------|
| y_1^n x_1^n    | ``others``       | node 1's records that both datasets hold, signed | (R,B-1,d) |
| y x, y^ x^     | ``old``, ``new`` | the record that differs                          | (R,d)     |
| f_1(t)         | ``models``       | what node 1 broadcasts, t >= 1; f_1(0) = 0       | (R,T,d)   |
| e_1(t)         | ``noise``        | the noise behind it on the dataset               | (R,T,d)   |
| f_j(t), j != 1 | ``neighbours``   | what all others broadcast, from t = 0 on         | (R,T,d)   |

The graph is complete. Every output is possible, so outputs are searched, not noise: ``f_1(t)`` is
free for all t, and so is the pull ``c(t) = eta(t) sum_j (f_1 + f_j) - 2 lambda_1``, as the others'
last broadcasts enter it with the factor ``(eta(t) + theta) (N - 1)``, or ``eta(1) (N - 1)`` for
t = 1. The search moves ``e_1(t)`` instead, from which ``f_j(t-1)`` follows. Algorithm 1 draws f(0)
at random, and Definition 4.1 counts it as an output; with ``start = "zero"`` it is 0, as in
`dpaudit.algorithms.consensus.algorithm`, and so is ``c(1)``. The largest loss of an iteration has
``e = 0``, both records on one side of the model, and opposite features otherwise.

The search computes the loss for many datasets at once; `Outputs.exact_loss` is that of
`dpaudit.algorithms.consensus.views` on one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.claims.networks import (
    Searchable,
    format_row_numbers,
    make_conditions,
)
from dpaudit.algorithms.consensus.guarantees import node_updates
from dpaudit.algorithms.problems.records import Differing
from dpaudit.datasets.dataset import Dataset
from dpaudit.extension.claim import Statement
from dpaudit.laws.exponential_norm import norm_gain
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.refutation import Condition, Evidence, Inequality, Space, maximise
from dpaudit.refutation.inequality import find_broken_conditions
from dpaudit.refutation.search import Batch

_INSIDE = 1 - 1e-12  # keeps norms of records at most 1 whatever rounding does
_LONGEST = 1e3  # of a model, which keeps numbers moderate


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """Instances of one algorithm, on B records of d features a node."""

    algorithm: ConsensusADMM
    records: int
    dimension: int
    any_start: bool = True

    @property
    def published(self) -> float:
        """Beta of eq. (26)."""
        sizes = (self.records,) * self.algorithm.graph.nodes
        zeros = Dataset(
            np.zeros((sum(sizes), self.dimension)), np.ones(sum(sizes)), node_sizes=sizes
        )
        return float(self.algorithm.published_bounds(zeros)[-1])

    @property
    def proved(self) -> float:
        """The bound of our accounting at delta = 0."""
        nodes = node_updates(self.algorithm, (self.records,) * self.algorithm.graph.nodes)
        return max(sum(update.pure_bound() for update in updates) for updates in nodes)

    def space(self, claimed: float) -> Space:
        """Return the search space; ratios are of the exact privacy loss to ``claimed``.

        Examples
        --------
        >>> from dpaudit.algorithms.problems.graphs import complete
        >>> from dpaudit.refutation import maximise
        >>> algorithm = ConsensusADMM(graph=complete(2), iterations=2, noise_rate=3.0)
        >>> outputs = Outputs(algorithm=algorithm, records=1, dimension=2)
        >>> 0.8 < maximise(outputs.space(13.4), 4_000, np.random.default_rng(0)).ratio < 1
        True
        """
        return Space(
            start=self._start,
            move=self._move,
            evaluate=lambda batch: self._evaluate(claimed, batch),
        )

    # --- the space ---------------------------------------------------------------------------

    def _start(self, count: int, rng: Generator) -> Batch:
        t, d = self.algorithm.iterations, self.dimension
        old = _clip_rows_to_ball(rng.standard_normal((count, d)) * 10)
        # `new` is nearly -old, tilted so that old + new is not 0: a model against that sum puts
        # both margins below 0, where slopes are steepest.
        tilt = 10 ** rng.uniform(-3, 0, (count, 1)) * rng.standard_normal((count, d))
        long = 10 ** rng.uniform(-1, 2.5, (count, t, 1))
        new = _clip_rows_to_ball(10 * (tilt - old))
        return {
            "others": _clip_rows_to_ball(rng.standard_normal((count, self.records - 1, d)) * 2),
            "old": old,
            "new": new,
            "models": -long * _scale_rows_to_unit(old + new)[:, None, :],
            # Half of the starts have no noise, where the largest loss of an iteration is.
            "noise": 0.1 * rng.standard_normal((count, t, d)) * rng.choice([0, 1], (count, t, 1)),
        }

    def _move(self, batch: Batch, step: Array, rng: Generator) -> Batch:
        moved = dict(batch)
        for name, values in batch.items():
            shape = (len(values), *[1] * (values.ndim - 1))
            size = step.reshape(shape) * (rng.random(shape) < 0.5)
            if name in ("models", "noise"):
                touched = rng.random((*values.shape[:2], 1)) < 0.5
                # Models are of all lengths, so they move in proportion to their norms.
                size = size * touched * np.maximum(1, np.linalg.norm(values, axis=2, keepdims=True))
            if name in _INSTANCE:
                moved[name] = values + size * rng.standard_normal(values.shape)
        return moved

    def _evaluate(self, claimed: float, batch: Batch) -> tuple[Batch, Array]:
        inside = dict(batch)
        for name in ("others", "old", "new"):
            inside[name] = _clip_rows_to_ball(batch[name])
        inside["models"] = _clip_rows_to_limit(batch["models"], _LONGEST)
        loss, inside["neighbours"] = self._loss(inside)
        return inside, loss / claimed

    # --- the exact loss ------------------------------------------------------------------------

    def _loss(self, batch: Batch) -> tuple[Array, Array]:
        """Return the privacy loss, shape ``(R,)``, and the broadcasts of the other nodes."""
        algorithm, (count, last, d) = self.algorithm, batch["models"].shape
        others = algorithm.graph.nodes - 1
        stretch, theta = algorithm.stretch[:, 0], algorithm.dual_steps[:, 0]
        records = np.concatenate([batch["others"], batch["old"][:, None]], axis=1)
        total, duals = np.zeros(count), np.zeros((count, d))
        neighbours = np.zeros_like(batch["models"])
        pull = np.zeros((count, d))
        if self.any_start:
            pull = self._gradient(records, batch["models"][:, 0], 0)
            pull = pull + stretch[0] * batch["noise"][:, 0]
            neighbours[:, 0] = 2 * pull / stretch[0]
        for t in range(last):
            models = batch["models"][:, t]
            behind = pull - self._gradient(records, models, t)
            total += self._update_loss(records, batch, models, behind, t)
            if t + 1 < last:
                # The pull that puts the noise of the next iteration where the search wants it.
                wanted = self._gradient(records, batch["models"][:, t + 1], t + 1)
                pull = wanted + stretch[t + 1] * batch["noise"][:, t + 1]
                half, penalty = theta[t], stretch[t + 1] / (2 * others)
                # By (11) the next pull is (eta - theta) V f_1 + (eta + theta) V f_j - 2 lambda(t).
                # It is solved for the f_j that all other nodes send alike.
                missing = pull + 2 * duals - (penalty - half) * others * models
                there = missing / ((penalty + half) * others)
                duals = duals + half / 2 * others * (models - there)
                neighbours[:, t + 1] = there
        return total, neighbours

    def _weight(self) -> float:
        return self.algorithm.loss_weight / self.records

    def _curvature(self, t: int) -> float:
        ridge = self.algorithm.regulariser_weight / self.algorithm.graph.nodes
        return ridge + float(self.algorithm.stretch[t, 0])

    def _gradient(self, records: Array, models: Array, t: int) -> Array:
        slopes = self.algorithm.loss.margin.slope(np.einsum("rnd,rd->rn", records, models))
        summed = np.einsum("rn,rnd->rd", slopes, records)
        return np.asarray(self._weight() * summed + self._curvature(t) * models)

    def _update_loss(
        self, records: Array, batch: Batch, models: Array, behind: Array, t: int
    ) -> Array:
        """Return ``log p / p^`` of an iteration, eq. (61), shape ``(R,)``."""
        algorithm, slope = self.algorithm, self.algorithm.loss.margin.slope
        rates = algorithm.rates
        assert rates is not None  # Outputs are those of a private algorithm
        pushes = [
            slope(np.sum(batch[name] * models, axis=1))[:, None] * batch[name]
            for name in ("old", "new")
        ]
        gain = norm_gain(behind, self._weight() * (pushes[0] - pushes[1]))
        swapped = np.concatenate([records[:, :-1], batch["new"][:, None]], axis=1)
        drop = self._log_determinant(records, models, t)
        drop = drop - self._log_determinant(swapped, models, t)
        # The density falls with alpha ||e||, and e is `behind` over the stretch.
        return np.asarray(rates[t, 0] / algorithm.stretch[t, 0] * gain + drop)

    def _log_determinant(self, records: Array, models: Array, t: int) -> Array:
        curvatures = self.algorithm.loss.curvature(np.einsum("rnd,rd->rn", records, models))
        hessians = self._weight() * np.einsum("rn,rni,rnj->rij", curvatures, records, records)
        hessians = hessians + self._curvature(t) * np.eye(self.dimension)
        return np.asarray(np.linalg.slogdet(hessians)[1])

    # --- an instance for the audited code --------------------------------------------------------

    def pair(self, instance: Batch) -> Pair[Dataset]:
        """Return the two datasets of an instance; other nodes hold records of zeros."""
        nodes = self.algorithm.graph.nodes
        rest = np.zeros(((nodes - 1) * self.records, self.dimension))
        sizes = (self.records,) * nodes
        sides = [
            Dataset(
                np.concatenate([instance["others"], instance[name][None], rest]),
                np.ones(nodes * self.records),
                node_sizes=sizes,
            )
            for name in ("old", "new")
        ]
        return Pair(sides[0], sides[1], REPLACE_RECORD)

    def broadcasts(self, instance: Batch) -> Array:
        """Return all broadcasts of an instance, from f(0) on, shape ``(T + 1, N, d)``.

        The last ones of the other nodes do not matter; they are 0.
        """
        others, d = self.algorithm.graph.nodes - 1, self.dimension
        own = np.concatenate([np.zeros((1, d)), instance["models"]])
        rest = np.concatenate([instance["neighbours"], np.zeros((1, d))])
        return np.stack([own, *[rest] * others], axis=1)

    def exact_loss(self, instance: Batch) -> float:
        """Return the privacy loss by the audited code, eq. (61)."""
        algorithm, pair = self.algorithm, self.pair(instance)
        process, record = algorithm.penalty_perturbation(), Differing.of(pair)
        first, *later = self.broadcasts(instance)[:, None]
        state, loss = replace(algorithm.start(pair.dataset, 1), models=first), 0.0
        for broadcast in later:
            loss += float(process.update_loss(state, broadcast, record)[0])
            state = algorithm.advance(state, broadcast)
        return loss


_INSTANCE = ("others", "old", "new", "models", "noise")


def make_bounded_loss_search(
    claim: Statement,
    outputs: Outputs,
    factor: float,
    public: Mapping[str, tuple[float, float]],
    parameters: Mapping[str, object],
) -> Searchable[Batch]:
    """Return that no output has a loss above ``factor beta``.

    ``public`` holds the conditions on public parameters. Where one of them fails nothing is
    certified, whatever is found. ``parameters`` are what the verifier has to know.
    """
    allowed = outputs.published * factor
    holds = not find_broken_conditions(make_conditions(public))

    def climb(budget: int, rng: Generator) -> Batch:
        return maximise(outputs.space(allowed), budget, rng).instance

    def evidence(instance: Batch) -> Evidence:
        return Evidence(
            parameters=parameters,
            instance={name: instance[name] for name in ("others", "old", "new")}
            | {"outputs": outputs.broadcasts(instance)},
            quantities={"loss": outputs.exact_loss(instance), "bound": allowed},
            kind="pure-dp",
            relation=REPLACE_RECORD.name,
        )

    inequality = Inequality(
        name=claim.name,
        source=claim.source,
        sides=lambda instance: (outputs.exact_loss(instance), allowed),
        conditions=partial(_compute_output_conditions, outputs, public if holds else {}),
        words=partial(_format_output_instance, outputs),
        evidence=evidence if holds else None,
    )
    return inequality, climb


def _compute_output_conditions(
    outputs: Outputs, public: Mapping[str, tuple[float, float]], instance: Batch
) -> tuple[Condition, ...]:
    loss, ends = outputs.algorithm.loss, [instance[name][None] for name in ("old", "new")]
    records = np.concatenate([instance["others"], *ends])
    margins = instance["models"] @ records.T
    curvatures = loss.curvature(margins)
    found = {
        "unit records": (np.linalg.norm(records, axis=1).max(), 1.0),
        "slopes within 1": (np.abs(loss.margin.slope(margins)).max(), 1.0),
        "curvature above 0": (0.0, curvatures.min()),
        "curvature at most c_1": (curvatures.max(), loss.largest_curvature),
    }
    return make_conditions({**found, **public})


def _format_output_instance(outputs: Outputs, instance: Batch) -> str:
    slopes, models = outputs.algorithm.loss.margin.slope, instance["models"]
    old, new = instance["old"], instance["new"]
    moved = slopes(models @ old)[:, None] * old - slopes(models @ new)[:, None] * new
    loss = outputs.exact_loss(instance)
    return (
        f"records that differ {format_row_numbers(old)} and {format_row_numbers(new)}, models of "
        "norms "
        f"{format_row_numbers(np.linalg.norm(models, axis=1))}; gradients differ by "
        f"{format_row_numbers(np.linalg.norm(moved, axis=1))} of at most 2; exact loss {loss:.6g}, "
        f"{loss / outputs.proved:.1%} of the proved bound"
    )


def _scale_rows_to_unit(rows: Array) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows / np.where(lengths > 0, lengths, 1.0))


def _clip_rows_to_ball(rows: Array) -> Array:
    return _clip_rows_to_limit(rows, _INSIDE)


def _clip_rows_to_limit(rows: Array, limit: float) -> Array:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.asarray(rows * (limit / np.maximum(lengths, limit)))
