"""Draws Figure 1 of Zhang, Khalili & Liu again, on Adult: M-ADMM without noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.figures import cards
from dpaudit.algorithms.problems.graphs import Graph, complete, random_connected
from dpaudit.algorithms.problems.schedules import Geometric, Schedule
from dpaudit.datasets import Dataset, adult, split_evenly, split_unevenly, subset
from dpaudit.execution import Progress, Silent, stream
from dpaudit.plots import Curve, Panel
from dpaudit.reproduction.judgement import (
    Findings,
    SettingFinding,
    judge_all_settings,
    make_judgements,
    with_tried,
)
from dpaudit.reproduction.result import FigureRequest, Reproduction
from dpaudit.reproduction.spread import measure_in_blocks

_THETA = 0.5
_PRIVATE = Geometric((0.55, 0.65, 0.6, 0.55, 0.6), (1.01, 1.03, 1.1, 1.2, 1.02))
# Figure 1(a); the paper gives only the first. None of the others exceeds a node's penalty.
_STEPS: dict[str, float | Schedule] = {
    "theta = 0.5": _THETA,
    "theta = 0.5 1.01^(t-1)": Geometric(_THETA, 1.01),
    "theta_i = 0.4, 0.5, 0.55, 0.45, 0.5": Geometric((0.4, 0.5, 0.55, 0.45, 0.5), 1.0),
}
_RATIOS = (1.0, 1.05, 1.1, 1.2)
_LARGE_NODES = 100
_CLOSE = 0.01  # relative to the loss at the minimum
# Values that are tried.
WEIGHTS = (1.0, 50.0, 400.0, 1750.0)  # of C
REGULARISERS = (0.1, 1.0, 10.0)  # of rho
_ITERATIONS = (30, 50)
NOTE = "The paper gives neither C, rho, q1 and q2 nor the graph of the large network."
_NOTES = (
    NOTE,
    "Converged means a loss within 1 % of that at the minimum of sum_i O_i, which is computed "
    "apart.",
    "The paper does not give the dual steps of Figure 1(a) that vary or differ. With those that "
    "differ between nodes, a limit is the minimum of sum_i O_i / theta_i instead.",
    "Penalties that grow geometrically let the models move less and less, so that the loss can "
    "level off above the minimum.",
)


@dataclass(frozen=True, kw_only=True)
class ConsensusFigureSetting:
    """Data and parameters of a figure; the paper gives neither C nor rho nor the large graph."""

    data: Dataset
    graph: Graph
    iterations: int
    runs: int
    loss_weight: float = 1750.0
    regulariser_weight: float = 1.0

    @classmethod
    def of(cls, request: FigureRequest, nodes: int, even: bool = True) -> ConsensusFigureSetting:
        """Return the paper's size, or a part of the records and fewer iterations."""
        records = adult(request.data_path)
        rng = default_rng(stream(request.seed, "records"))
        if not request.full:
            records = subset(records, 5000 if nodes < _LARGE_NODES else 10_000, rng)
        deal = split_evenly if even else split_unevenly
        small = nodes < _LARGE_NODES
        graph = complete(nodes) if small else random_connected(nodes, rng, 0.05)
        return cls(
            data=deal(records, nodes, rng),
            graph=graph,
            iterations=50 if request.full else 30,
            runs=request.runs or 10,
        )

    @classmethod
    def large(cls, request: FigureRequest, even: bool = True) -> ConsensusFigureSetting:
        """Return the large network."""
        return cls.of(request, _LARGE_NODES, even)

    def at(self, other: Mapping[str, Any]) -> ConsensusFigureSetting:
        """Return the same with another C, rho, number of iterations or of runs."""
        names = {"C": "loss_weight", "rho": "regulariser_weight"}
        return replace(self, **{names.get(name, name): value for name, value in other.items()})

    def algorithm(self, q1: float, alpha: float | None = None, q2: float = 1.0) -> ConsensusADMM:
        """Return the algorithm with ``eta = theta q1^(t-1)`` and ``alpha q2^(t-1)``."""
        return ConsensusADMM(
            graph=self.graph,
            iterations=self.iterations,
            penalty=Geometric(_THETA, q1),
            dual_step=_THETA,
            noise_rate=None if alpha is None else Geometric(alpha, q2),
            loss_weight=self.loss_weight,
            regulariser_weight=self.regulariser_weight,
        )

    @property
    def is_large(self) -> bool:
        """Whether this is the large network, whose runs take long."""
        return self.data.nodes >= _LARGE_NODES

    @property
    def time(self) -> list[float]:
        """The iterations, from 1."""
        return list(range(1, self.iterations + 1))

    def parameters(self) -> dict[str, object]:
        """Return everything that was set."""
        sizes = self.data.node_sizes
        return {
            "data": self.data.name,
            "records": len(self.data.labels),
            "nodes": self.data.nodes,
            "smallest_node": min(sizes),
            "largest_node": max(sizes),
            "edges": len(self.graph.edges),
            "iterations": self.iterations,
            "runs": self.runs,
            "theta": _THETA,
            "C": self.loss_weight,
            "rho": self.regulariser_weight,
        }


@dataclass(frozen=True)
class Losses:
    """Average losses ``(T,)``: under private penalties by dual step, and by the ratio q1."""

    private: dict[str, Array]
    shared: dict[float, Array]
    least: float

    def gap(self, losses: Array, iterations: int) -> float:
        """Return how far from the minimum's loss they are then, relative to it."""
        return float(abs(losses[iterations - 1] - self.least) / self.least)

    def findings(self, iterations: int) -> Findings:
        """Judge the statements after so many iterations."""
        fixed, *others = self.private
        return {
            "converges": self._check_convergence([fixed], iterations),
            "other steps": self._check_convergence(others, iterations),
            "slows down": self._slower(iterations),
        }

    def _check_convergence(self, steps: Sequence[str], iterations: int) -> SettingFinding:
        gaps = [self.gap(self.private[step], iterations) for step in steps]
        last = [self.private[step][iterations - 2 : iterations] for step in steps]
        words = "; ".join(
            f"{step}: {losses[-1]:.5f} ({gap:.2%} off, changed by {abs(np.ptp(losses)):.1e} in the "
            "last iteration)"
            for step, losses, gap in zip(steps, last, gaps, strict=True)
        )
        return SettingFinding(
            held=max(gaps) < _CLOSE,
            number=max(gaps),
            measure="relative distance to the loss at the minimum",
            evidence=f"loss after {iterations} iterations, {words}; at the minimum "
            f"{self.least:.5f}; within {_CLOSE:.0%} counts",
        )

    def _slower(self, iterations: int) -> SettingFinding:
        gaps = {ratio: self.gap(losses, iterations) for ratio, losses in self.shared.items()}
        growth = min(later / earlier for earlier, later in pairwise(gaps.values()))
        words = ", ".join(f"q1 = {ratio:g}: {gap:.2%}" for ratio, gap in gaps.items())
        return SettingFinding(
            held=growth > 1,
            number=growth,
            measure="least growth of the distance from one q1 to the next",
            evidence=f"distance to the loss at the minimum after {iterations} iterations: {words}",
        )


def figure1(request: FigureRequest) -> Reproduction:
    """Return Figure 1: M-ADMM with private penalties, and with faster and faster ones."""
    setting, card = ConsensusFigureSetting.of(request, nodes=5), cards.FIGURE_1
    setting = replace(setting, runs=1)  # nothing is random without noise
    request.progress.start("running", len(_STEPS) + len(_RATIOS))
    drawn = _run_penalty_choices(setting, request.progress)
    judged = make_judgements(card.statements, drawn.findings(setting.iterations))
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=_make_penalty_panels(setting, drawn),
        judgements=with_tried(
            judged, card.statements, _judge_other_settings(setting, request.progress)
        ),
        parameters=setting.parameters() | {"C tried": WEIGHTS, "rho tried": REGULARISERS},
        notes=_NOTES,
    )


def _judge_other_settings(
    setting: ConsensusFigureSetting, progress: Progress
) -> list[tuple[Mapping[str, Any], Findings]]:
    """Return the judgement for all tried C, rho and T; one run gives every T."""
    # A shorter run is the beginning of a longer one without noise, so one run serves every T.
    longest = max(*_ITERATIONS, setting.iterations)

    @cache
    def losses(weight: float, regulariser: float) -> Losses:
        values = {"C": weight, "rho": regulariser, "iterations": longest}
        return _run_penalty_choices(setting.at(values), Silent())

    grid = [
        {"C": weight, "rho": regulariser, "iterations": iterations}
        for weight, regulariser, iterations in product(WEIGHTS, REGULARISERS, _ITERATIONS)
    ]
    drawn = [setting.loss_weight, setting.regulariser_weight, setting.iterations]
    return judge_all_settings(
        [each for each in grid if list(each.values()) != drawn],
        lambda at: losses(at["C"], at["rho"]).findings(at["iterations"]),
        progress,
    )


def _run_penalty_choices(setting: ConsensusFigureSetting, progress: Progress) -> Losses:
    plain = setting.algorithm(1.0)
    algorithms = [replace(plain, penalty=_PRIVATE, dual_step=step) for step in _STEPS.values()]
    algorithms += [setting.algorithm(ratio) for ratio in _RATIOS]
    found = []
    for algorithm in algorithms:
        found.append(average_losses(algorithm, setting, default_rng(0))[0])
        progress.advance(1)
    # The ratios' losses follow in the same list, so it is longer than the steps.
    private = dict(zip(_STEPS, found, strict=False))
    return Losses(
        private, dict(zip(_RATIOS, found[len(_STEPS) :], strict=True)), _compute_least_loss(setting)
    )


def _compute_least_loss(setting: ConsensusFigureSetting) -> float:
    """Return the average loss at the minimum of ``sum_i O_i``, all models equal."""
    from sklearn.linear_model import LogisticRegression

    data, sizes = setting.data, setting.data.node_sizes
    # scikit-learn minimises C sum w_n l + ||f||^2 / 2. Equal models make sum_i O_i the sum of
    # (C/B_i) l and rho ||f||^2 / 2, which is rho times that with these weights. There is no
    # intercept, as the nodes have none.
    fit = LogisticRegression(
        C=1 / setting.regulariser_weight,
        fit_intercept=False,
        tol=1e-10,
        solver="newton-cholesky",
    ).fit(
        data.features,
        data.labels,
        sample_weight=setting.loss_weight / np.repeat(sizes, sizes).astype(float),
    )
    models = np.broadcast_to(fit.coef_, (1, data.nodes, data.dimension))
    return float(setting.algorithm(1.0).average_loss(models, data)[0])


def average_losses(
    algorithm: ConsensusADMM, setting: ConsensusFigureSetting, rng: np.random.Generator
) -> Array:
    """Return the average training loss after every iteration, shape ``(R, T)``."""

    def losses(seen: Array) -> Array:
        by_iteration = np.moveaxis(seen, 1, 0)
        columns = [algorithm.average_loss(models, setting.data) for models in by_iteration]
        return np.stack(columns, axis=1)

    return measure_in_blocks(
        algorithm.penalty_perturbation(), setting.data, setting.runs, rng, losses
    )


def _make_penalty_panels(setting: ConsensusFigureSetting, drawn: Losses) -> tuple[Panel, Panel]:
    x = setting.time
    private = [Curve(label=step, x=x, y=y.tolist()) for step, y in drawn.private.items()]
    shared = [Curve(label=f"q1 = {r:g}", x=x, y=y.tolist()) for r, y in drawn.shared.items()]
    least = Curve(label="at the minimum", x=x, y=[drawn.least] * len(x))
    return (
        by_iteration("(a) private penalties", [*private, least]),
        by_iteration("(b) one penalty, 0.5 q1^(t-1)", [*shared, least]),
    )


def by_iteration(
    title: str, curves: Sequence[Curve], y_label: str = "average training loss"
) -> Panel:
    """Return the curves over iterations."""
    return Panel(title=title, x_label="iteration", y_label=y_label, curves=tuple(curves))
