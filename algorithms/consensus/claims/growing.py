r"""M-ADMM with geometrically growing penalties stops short of the optimum: zhang2018, Theorem 3.1.

| paper    | name              | meaning                                           | shape  |
|----------|-------------------|---------------------------------------------------|--------|
| eta_i(t) | ``first, growth`` | ``first_i growth_i^(t-1)``                        | (R,N)  |
| theta    | ``dual_step``     | at most every ``first_i``                         | scalar |
| rho / N  | ``ridge``         | of ``O_i(f) = l(u_i f) + ridge f^2 / 2``          | scalar |
| u_i      | ``records``       | one number a node, in [1/2, 1]; C = B_i = 1       | (R,N)  |
| V_i      | ``degrees``       |                                                   | (R,N)  |
| q        |                   | the smallest of the ``growth_i``                  | (R,)   |

**The hypothesis.** The theorem asks for ``eta_i(t+1) >= eta_i(t) >= theta > 0`` and
``eta_i(t) < infinity`` for all t and i. A geometric penalty meets it, and section 5 calls the
convergence of such penalties "consistent with Theorem 3.1"; the proof takes (43) to be finite,
which needs ``sup_t eta_i(t) < infinity``.

**The limit is not optimal.** Let T be any iteration, ``c(t)`` the mean of the models weighted by
degrees, ``r(t) = max_i |f_i(t)|``, ``G(r) = max_i sup_{|f| <= r} |O_i'(f)|`` and
``h = min_i eta_i(T) V_i``. Write ``a_i(t) = (f_i(t) + mean_{j ~ i} f_j(t)) / 2``. By (12),

    2 eta_i V_i (f_i(t+1) - a_i(t)) = -(O_i'(f_i(t+1)) + 2 lambda_i(t)).

O_i' is monotone, so multiplying by ``f_i(t+1) - a_i(t)`` gives
``|f_i(t+1) - a_i(t)| <= |O_i'(a_i(t)) + 2 lambda_i(t)| / (2 eta_i(t+1) V_i)``. As long as
``r(s) <= R`` for ``T <= s <= T + k - 1``, (11) gives ``|2 lambda_i(T+k-1)| <= |2 lambda_i(T)| +
2 theta V_i R (k - 1)``, and ``|a_i| <= R``. With ``A = G(R) + max_i |2 lambda_i(T)|`` and
``B = 2 theta max_i V_i R`` the k-th movement after T is therefore at most
``(A + B k) q^-k / (2 h)``, and all of them together at most

    tail = ( A / (q - 1) + B q / (q - 1)^2 ) / (2 h).

Averaging does not lengthen: ``r(t+1) <= r(t) + movement``. With ``R = r(T) + 1`` and ``tail <= 1``
the induction closes. Averages do not move c either (``sum_i V_i a_i = sum_i V_i f_i``), so
``|c(t) - c(T)| <= tail`` for all t > T. Models that converged to f* would take c to f*: if
``|c(T) - f*| > tail`` they do not: in every later iteration some model is at least
``|c(T) - f*| - tail`` away. That difference, over ``|f*|``, the distance at the start
``f(0) = 0``, is ``Stall.distance``.

**The smallest case.** Two nodes, ``O_i(f) = f^2/2 - f``, theta = 1, ``eta_i(t) = 2^(t-1)``: both
models are one number with ``1 - f(t) = prod_{k=1..t} 1 / (1 + 2^-k)``, whose limit is 0.4194. In
general ``c`` moves by ``(gradient) / (2 eta V)`` where graph and penalties are regular: a sum of
``1 / eta(t)`` that diverges is necessary.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from hypothesis.strategies import SearchStrategy, fixed_dictionaries, integers, just
from numpy.random import Generator

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.algorithms.consensus.claims.networks import (
    Searchable,
    adjacency_of,
    count_graph_components,
    edges_of,
    format_row_numbers,
    make_conditions,
    make_row_strategy,
)
from dpaudit.algorithms.consensus.quadratics import build_laplacians
from dpaudit.algorithms.problems.smooth_losses import SmoothLoss
from dpaudit.errors import InvalidArgument
from dpaudit.extension.claim import Statement
from dpaudit.refutation import Condition, Evidence, Inequality, Space, maximise
from dpaudit.refutation.search import Batch

BECAUSE = (
    "Every eta_i(t) is finite, but together they are not bounded, which the step from (43) to "
    "(44) needs: updates shrink so fast that their sum ends before the optimum."
)
# Records away from 0 keep the optimum away from 0, which distances are relative to.
SMALLEST_RECORD = 0.5
LARGEST_FIRST = 10.0  # times theta
# The tail bound has (q - 1)^2 below the line: slower growth would need far more iterations.
GROWTH = (1.25, 4.0)
# Newton's steps for an argmin of one variable: each divides the error by 8 theta or more, then
# squares it.
_NEWTON = 12
LEAST_THETA = 0.5
_SHORT = 40  # iterations, for penalties that at least double
GENERATED = 40  # instances, for the smallest one


@dataclass(frozen=True, kw_only=True)
class GrowingPenaltyRun:
    """Common to all instances of a search; penalties too, if ``first`` or ``growth`` is given.

    Raises
    ------
    InvalidArgument
        A number is outside its domain; theta below 1/2 is refused, as Newton's method is then not
        known to converge.
    """

    nodes: int
    loss: SmoothLoss
    dual_step: float = 0.5
    ridge: float = 1.0
    iterations: int = 120
    first: tuple[float, ...] | None = None
    growth: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check.require_integer("nodes", self.nodes, least=2)
        check.require_integer("iterations", self.iterations, least=1)
        check.require_positive("ridge", self.ridge)
        if not check.require_real("dual_step", self.dual_step) >= LEAST_THETA:
            raise InvalidArgument(
                "dual_step", self.dual_step, f"a number of at least {LEAST_THETA}"
            )
        for name, least in (("first", self.dual_step), ("growth", 1 + 1e-6)):
            _require_node_numbers(name, getattr(self, name), self.nodes, least)


@dataclass(frozen=True, kw_only=True, eq=False)
class Stall:
    """The models after T iterations, and how far they can still go; shape ``(R,)``.

    ``distance`` is a lower bound on how far the limit is from the optimum, over the distance at
    the start; 0 where nothing is shown.
    """

    mean: Array
    best: Array
    tail: Array
    distance: Array


def bound_stalled_distance(run: GrowingPenaltyRun, batch: Batch) -> Stall:
    """Return the distance that the module docstring proves, for a batch of instances.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LINEAR
    >>> batch = {
    ...     "adjacency": np.array([[[0.0, 1.0], [1.0, 0.0]]]),
    ...     "records": np.ones((1, 2)), "first": np.ones((1, 2)), "growth": np.full((1, 2), 2.0),
    ... }
    >>> bound_stalled_distance(
    ...     GrowingPenaltyRun(nodes=2, loss=LINEAR, dual_step=1.0), batch
    ... ).distance.round(4)
    array([0.4194])
    """
    models, duals, penalty = _run_growing_penalties(run, batch)
    degrees = batch["adjacency"].sum(axis=2)
    mean = np.sum(degrees * models, axis=1) / degrees.sum(axis=1)
    best = find_network_optimum(run, batch["records"])
    q = batch["growth"].min(axis=1)
    reach = np.abs(models).max(axis=1) + 1
    # G(R) of the module docstring: the loss's slope is at most its Lipschitz constant, the ridge's
    # at most ridge R.
    slope = np.abs(batch["records"]).max(axis=1) * run.loss.lipschitz + run.ridge * reach
    a = slope + np.abs(duals).max(axis=1)
    b = 2 * run.dual_step * degrees.max(axis=1) * reach
    least = np.min(penalty * degrees, axis=1)
    # The tail bounds all movements after T only if it is at most 1, as R was chosen 1 above r(T).
    tail = (a / (q - 1) + b * q / (q - 1) ** 2) / (2 * least)
    distance = np.where(tail <= 1, np.abs(mean - best) - tail, 0.0) / np.abs(best)
    return Stall(mean=mean, best=best, tail=tail, distance=np.maximum(distance, 0.0))


def _run_growing_penalties(run: GrowingPenaltyRun, batch: Batch) -> tuple[Array, Array, Array]:
    """Return models, ``2 lambda`` and penalties after T iterations of (10) and (11)."""
    laplacian, signless = build_laplacians(batch["adjacency"])
    records, degrees = batch["records"], batch["adjacency"].sum(axis=2)
    models, duals, penalty = np.zeros_like(records), np.zeros_like(records), batch["first"]
    for t in range(run.iterations):
        penalty = batch["first"] * batch["growth"] ** t
        # `duals` holds 2 lambda, and the signless Laplacian gives sum_j (f_i + f_j).
        pull = penalty * (signless @ models[:, :, None])[:, :, 0] - duals
        models = _find_growing_minimiser(
            run, records, run.ridge + 2 * penalty * degrees, pull, models
        )
        duals = duals + run.dual_step * (laplacian @ models[:, :, None])[:, :, 0]
    return models, duals, penalty


def _find_growing_minimiser(
    run: GrowingPenaltyRun, records: Array, curvature: Array, pull: Array, guess: Array
) -> Array:
    """Return the root of ``u l'(u x) + curvature x - pull``, entry by entry, by Newton's method."""
    x = guess
    # A linear slope makes the problem quadratic: one step of Newton's method is exact.
    for _ in range(_NEWTON if run.loss.strictly_convex else 1):
        value = records * run.loss.margin.slope(records * x) + curvature * x - pull
        x = x - value / (records**2 * run.loss.curvature(records * x) + curvature)
    return x


def find_network_optimum(run: GrowingPenaltyRun, records: Array) -> Array:
    """Return f*, the minimiser of ``sum_i O_i``, shape ``(R,)``, by bisection.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LINEAR
    >>> find_network_optimum(
    ...     GrowingPenaltyRun(nodes=2, loss=LINEAR, ridge=2.0), np.array([[1.0, 0.5]])
    ... ).round(12)
    array([0.375])
    """
    total = run.ridge * run.nodes
    low = np.zeros(len(records))
    # At this point the ridge outweighs every slope, so the derivative is not below 0.
    high = np.sum(np.abs(records), axis=1) * run.loss.lipschitz / total
    # 80 halvings take the interval below the spacing of doubles.
    for _ in range(80):
        middle = (low + high) / 2
        slopes = run.loss.margin.slope(records * middle[:, None])
        rising = np.sum(records * slopes, axis=1) + total * middle > 0
        low, high = np.where(rising, low, middle), np.where(rising, middle, high)
    return np.asarray((low + high) / 2)


def build_growing_space(run: GrowingPenaltyRun, claimed: float) -> Space:
    """Return the search space; ratios are of the proved distance to ``claimed``.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.smooth_losses import LOGISTIC
    >>> from dpaudit.refutation import maximise
    >>> small = build_growing_space(GrowingPenaltyRun(nodes=2, loss=LOGISTIC), 1.0)
    >>> 0.1 < maximise(small, 64, np.random.default_rng(0)).ratio < 1
    True
    """

    def evaluate(batch: Batch) -> tuple[Batch, Array]:
        inside = _clip_growing_instances(run, batch)
        return inside, bound_stalled_distance(run, inside).distance / claimed

    return Space(
        start=lambda count, rng: _draw_growing_starts(run, count, rng),
        move=_move_growing_instances,
        evaluate=evaluate,
    )


def _draw_growing_starts(run: GrowingPenaltyRun, count: int, rng: Generator) -> Batch:
    shape = (count, run.nodes)
    return {
        # A probability of its own for every graph gives sparse and dense ones alike.
        "parents": np.floor(rng.random(shape) * np.arange(run.nodes)),
        "extra": (rng.random((*shape, run.nodes)) < rng.random((count, 1, 1))).astype(np.float64),
        "records": rng.uniform(SMALLEST_RECORD, 1.0, shape),
        "first": run.dual_step * 10 ** rng.uniform(0, 1, shape),
        "growth": rng.uniform(*GROWTH, shape),
    }


def _move_growing_instances(batch: Batch, step: Array, rng: Generator) -> Batch:
    moved, size = dict(batch), step[:, None]
    for name in ("records", "first", "growth"):
        noise = size * rng.standard_normal(batch[name].shape)
        # Numbers above 0 are moved in proportion, so that all magnitudes are reached.
        moved[name] = batch[name] * np.exp(noise)
    return moved


def _clip_growing_instances(run: GrowingPenaltyRun, batch: Batch) -> Batch:
    theta, one = run.dual_step, np.ones_like(batch["first"])
    first = np.clip(batch["first"], theta, LARGEST_FIRST * theta)
    growth = np.clip(batch["growth"], *GROWTH)
    return dict(batch) | {
        "records": np.clip(batch["records"], SMALLEST_RECORD, 1.0),
        "first": first if run.first is None else np.asarray(run.first) * one,
        "growth": growth if run.growth is None else np.asarray(run.growth) * one,
        "adjacency": adjacency_of(batch["parents"], batch["extra"]),
    }


def _require_node_numbers(
    name: str, values: tuple[float, ...] | None, nodes: int, least: float
) -> None:
    if values is not None and not (len(values) == nodes and min(values) >= least):
        expected = f"one number of at least {least:.7g} for each of {nodes} nodes"
        raise InvalidArgument(name, list(values), expected)


# --- the claim -------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ending:
    """A run on one network, a batch of one, and where it ends."""

    run: GrowingPenaltyRun
    batch: Batch

    @cached_property
    def stall(self) -> Stall:
        """The proved distance of its limit."""
        return bound_stalled_distance(self.run, self.batch)

    @property
    def distance(self) -> float:
        """The share of the distance at the start that is left in the limit, or less."""
        return float(self.stall.distance[0])

    def conditions(self) -> tuple[Condition, ...]:
        """Return the theorem's assumptions as numbers."""
        return make_conditions(
            {
                "penalties at least theta": (self.run.dual_step, self.batch["first"].min()),
                "penalties do not fall": (1.0, self.batch["growth"].min()),
                "connected graph": (count_graph_components(self.batch["adjacency"][0]), 1),
            }
        )

    def words(self) -> str:
        """Return the instance as words for people."""
        run, stall = self.run, self.stall
        records, first, growth = (
            format_row_numbers(self.batch[n][0]) for n in ("records", "first", "growth")
        )
        return (
            f"edges {edges_of(self.batch['adjacency'][0])}; {run.loss.name} loss, ridge "
            f"{run.ridge:.4g}, theta {run.dual_step:.4g}, records {records}, eta_i(1) {first}, "
            f"growing by {growth}; after {run.iterations} iterations the weighted mean is "
            f"{stall.mean[0]:.6g} and moves by at most {stall.tail[0]:.2g} from there on, the "
            f"optimum is {stall.best[0]:.6g}"
        )


def little_is_left(
    claim: Statement, run: GrowingPenaltyRun, tolerance: float, factor: float
) -> Searchable[Ending]:
    """Return that at most a share ``tolerance factor`` of the distance at the start is left.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.claims.theorem31 import CLAIM
    >>> from dpaudit.algorithms.problems.smooth_losses import LINEAR
    >>> run = GrowingPenaltyRun(nodes=2, loss=LINEAR)
    >>> inequality, climb = little_is_left(CLAIM, run, tolerance=0.01, factor=1.0)
    >>> inequality.ratio(climb(200, np.random.default_rng(0))) > 50
    True
    """
    allowed = tolerance * factor

    def climb(budget: int, rng: Generator) -> Ending:
        found = maximise(build_growing_space(run, allowed), budget, rng).instance
        return Ending(run, {name: values[None] for name, values in found.items()})

    def evidence(ending: Ending) -> Evidence:
        stall, public = ending.stall, ("nodes", "iterations", "dual_step", "ridge")
        return Evidence(
            parameters={
                "part": "growing",
                **{name: getattr(run, name) for name in public},
                "loss": run.loss.name,
                "tolerance": tolerance,
                "factor": factor,
            },
            instance={n: ending.batch[n][0] for n in ("adjacency", "records", "first", "growth")},
            quantities={
                "mean": float(stall.mean[0]),
                "best": float(stall.best[0]),
                "tail": float(stall.tail[0]),
                "distance": ending.distance,
                "bound": allowed,
            },
        )

    inequality = Inequality[Ending](
        name=claim.name,
        source=claim.source,
        sides=lambda ending: (ending.distance, allowed),
        conditions=Ending.conditions,
        words=Ending.words,
        because=lambda ending: BECAUSE,
        evidence=evidence,
    )
    return inequality, climb


def make_short_run_strategy(run: GrowingPenaltyRun) -> SearchStrategy[Ending]:
    """Return short runs on few nodes with penalties that grow by whole factors, smallest first."""
    theta, short = run.dual_step, replace(run, iterations=_SHORT, first=None, growth=None)

    def make_sized_run(nodes: int) -> SearchStrategy[Ending]:
        instance = {
            "adjacency": just(adjacency_of(np.zeros((1, nodes)), np.zeros((1, nodes, nodes)))),
            "records": make_row_strategy(nodes, 1.0, 0.5),
            "first": make_row_strategy(nodes, theta, 2 * theta, 4 * theta),
            "growth": make_row_strategy(nodes, 2.0, 3.0, 4.0),
        }
        sized_run = replace(short, nodes=nodes)
        return fixed_dictionaries(instance).map(lambda batch: Ending(sized_run, batch))

    return integers(2, min(run.nodes, 3)).flatmap(make_sized_run)
