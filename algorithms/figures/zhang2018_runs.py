"""Draws the figures of Zhang, Khalili & Liu again, on Adult."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from algorithms.consensus import ConsensusADMM
from algorithms.figures import zhang2018
from algorithms.graphs import Graph, complete, random_connected
from algorithms.schedules import Geometric
from dpaudit.datasets import Dataset, adult, split_evenly, split_unevenly, subset
from dpaudit.execution import one_thread, stream
from dpaudit.reproduction.card import Figure
from dpaudit.reproduction.result import Curve, Judgement, Panel, Reproduction, Request

Array = NDArray[np.float64]

_THETA = 0.5
_PRIVATE = Geometric((0.55, 0.65, 0.6, 0.55, 0.6), (1.01, 1.03, 1.1, 1.2, 1.02))
_RATIOS = (1.0, 1.05, 1.1, 1.2)
# (q1, q2): DVP keeps the penalty, so its q1 is 1.
_DVP = ((1.0, 1.0), (1.0, 1.02))
_PP = ((1.02, 1.0), (1.02, 1.02), (1.04, 1.02), (1.04, 1.04), (1.06, 1.03), (1.06, 1.06))
_LARGE_NODES = 100


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a figure runs on; the paper gives neither C nor rho nor the large graph."""

    data: Dataset
    graph: Graph
    iterations: int
    runs: int
    loss_weight: float = 1750.0
    regulariser_weight: float = 1.0

    @classmethod
    def of(cls, request: Request, nodes: int, even: bool = True) -> Setting:
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


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One setting of the noisy comparison: losses ``(R, T)`` and published bounds ``(T,)``."""

    method: str
    q1: float
    q2: float
    losses: Array
    bounds: Array

    @property
    def label(self) -> str:
        """How the legend names it."""
        return f"{self.method}, q1 = {self.q1:g}, q2 = {self.q2:g}"

    @property
    def end(self) -> tuple[float, float]:
        """The mean loss and the bound after the last iteration."""
        return float(self.losses[:, -1].mean()), float(self.bounds[-1])


def figure1(request: Request) -> Reproduction:
    """Return Figure 1: M-ADMM with private penalties, and with faster and faster ones."""
    setting = replace(Setting.of(request, nodes=5), runs=1)  # nothing is random without noise
    request.progress.start("running", 1 + len(_RATIOS))
    private = _losses(
        replace(setting.algorithm(1.0), penalty=_PRIVATE), setting, 1, default_rng(request.seed)
    )
    request.progress.advance(1)
    shared = []
    for ratio in _RATIOS:
        algorithm = setting.algorithm(ratio)
        shared.append(_losses(algorithm, setting, 1, default_rng(request.seed))[0])
        request.progress.advance(1)
    x = _iterations(setting)
    panels = (
        _panel("private penalties", [Curve(label="M-ADMM", x=x, y=private[0].tolist())]),
        _panel(
            "one penalty, 0.5 q1^(t-1)",
            [
                Curve(label=f"q1 = {r:g}", x=x, y=y.tolist())
                for r, y in zip(_RATIOS, shared, strict=True)
            ],
        ),
    )
    target = _converged(setting)
    return _reproduction(
        zhang2018.FIGURE_1,
        panels,
        setting,
        _convergence(private[0], shared, target),
        ("The curves of Figure 1(a) whose dual step varies are not drawn.",),
    )


def figure2(request: Request) -> Reproduction:
    """Return Figure 2: accuracy and privacy on five nodes, at alpha(1) = 3 and 5."""
    setting = Setting.of(request, nodes=5)
    return _comparison(zhang2018.FIGURE_2, setting, (3.0, 5.0), request)


def figure3(request: Request) -> Reproduction:
    """Return Figure 3: 100 nodes, evenly spread."""
    setting = Setting.of(request, nodes=_LARGE_NODES)
    return _comparison(zhang2018.FIGURE_3, setting, (3.0,), request)


def figure4(request: Request) -> Reproduction:
    """Return Figure 4: 100 nodes, unevenly spread."""
    setting = Setting.of(request, nodes=_LARGE_NODES, even=False)
    even = Setting.of(request, nodes=_LARGE_NODES)
    drawn = _comparison(zhang2018.FIGURE_4, setting, (3.0,), request)
    bounds = [float(s.algorithm(1.0, 3.0).published_bounds(s.data)[-1]) for s in (setting, even)]
    judged = Judgement(
        statement=zhang2018.FIGURE_4.statements["uneven costs"],
        held=bounds[0] > bounds[1],
        evidence=f"P(T) of DVP, q2 = 1: {bounds[0]:.3g} unevenly, {bounds[1]:.3g} evenly",
    )
    return replace(drawn, judgements=(*drawn.judgements, judged))


def _comparison(
    card: Figure, setting: Setting, alphas: Sequence[float], request: Request
) -> Reproduction:
    request.progress.start("running", len(alphas) * (len(_DVP) + len(_PP)) * setting.runs)
    panels: list[Panel] = []
    judgements: list[Judgement] = []
    x = _iterations(setting)
    for alpha in alphas:
        tried = _tried(setting, alpha, request)
        losses = [Curve.over_runs(t.label, x, t.losses) for t in tried]
        bounds = [Curve(label=t.label, x=x, y=t.bounds.tolist()) for t in tried]
        panels.append(_panel(f"accuracy, alpha(1) = {alpha:g}", losses))
        panels.append(_panel(f"privacy, alpha(1) = {alpha:g}", bounds, "P(t)"))
        judgements += _judged(card, tried, alpha)
    return _reproduction(card, tuple(panels), setting, tuple(judgements))


def _tried(setting: Setting, alpha: float, request: Request) -> list[Tried]:
    found = []
    for method, pairs in (("DVP", _DVP), ("PP", _PP)):
        for q1, q2 in pairs:
            algorithm = setting.algorithm(q1, alpha, q2)
            rng = default_rng(stream(request.seed, method, f"{q1} {q2} {alpha}"))
            losses = _losses(algorithm, setting, setting.runs, rng)
            bounds = algorithm.published_bounds(setting.data)
            found.append(Tried(method=method, q1=q1, q2=q2, losses=losses, bounds=bounds))
            request.progress.advance(setting.runs)
    return found


def _judged(card: Figure, tried: Sequence[Tried], alpha: float) -> list[Judgement]:
    words = "; ".join(f"{t.label}: {t.end[0]:.4f}, {t.end[1]:.3g}" for t in tried)
    evidence = f"alpha(1) = {alpha:g}; mean loss and P(T): {words}"
    dvp, pp = ([t.end for t in tried if t.method == method] for method in ("DVP", "PP"))
    beaten = [any(mine[0] < theirs[0] and mine[1] < theirs[1] for mine in pp) for theirs in dvp]
    ordered = [_ordered([t.end for t in tried if t.q1 == q1]) for q1 in {t.q1 for t in tried}]
    held = {"both at once": all(beaten), "trade-off": all(ordered)}
    return [
        Judgement(statement=card.statements[name], held=value, evidence=evidence)
        for name, value in held.items()
    ]


def _ordered(ends: Sequence[tuple[float, float]]) -> bool:
    """Return whether, at one penalty, the loss falls wherever the bound grows."""
    losses = [loss for loss, _ in sorted(ends, key=lambda end: end[1])]
    return bool(np.all(np.diff(losses) < 0))


def _convergence(
    private: Array, shared: Sequence[Array], target: float
) -> tuple[Judgement, Judgement]:
    gaps = [float(abs(losses[-1] - target)) for losses in (private, *shared)]
    words = ", ".join(f"q1 = {r:g}: {g:.2e}" for r, g in zip(_RATIOS, gaps[1:], strict=True))
    statements = zhang2018.FIGURE_1.statements
    return (
        Judgement(
            statement=statements["converges"],
            held=gaps[0] < 0.01 * target,
            evidence=f"loss after {len(private)} iterations {private[-1]:.5f}, at convergence "
            f"{target:.5f}",
        ),
        Judgement(
            statement=statements["slows down"],
            held=bool(np.all(np.diff(gaps[1:]) > 0)),
            evidence=f"distance to the loss at convergence: {words}",
        ),
    )


def _converged(setting: Setting) -> float:
    """Return the average loss of non-private ADMM after ten times the iterations."""
    long = replace(setting.algorithm(1.0), iterations=10 * setting.iterations)
    return float(_losses(long, setting, 1, default_rng(0))[0, -1])


def _losses(
    algorithm: ConsensusADMM, setting: Setting, runs: int, rng: np.random.Generator
) -> Array:
    """Return the average training loss after every iteration, shape ``(R, T)``."""
    with one_thread():
        seen = algorithm.penalty_perturbation().sample(setting.data, runs, rng)
        columns = [algorithm.average_loss(seen[:, t], setting.data) for t in range(seen.shape[1])]
    return np.stack(columns, axis=1)


def _iterations(setting: Setting) -> list[float]:
    return list(range(1, setting.iterations + 1))


def _panel(title: str, curves: Sequence[Curve], y_label: str = "average training loss") -> Panel:
    return Panel(title=title, x_label="iteration", y_label=y_label, curves=tuple(curves))


def _reproduction(
    card: Figure,
    panels: tuple[Panel, ...],
    setting: Setting,
    judgements: tuple[Judgement, ...],
    notes: tuple[str, ...] = (),
) -> Reproduction:
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=panels,
        judgements=judgements,
        parameters=setting.parameters(),
        notes=(
            "The paper gives neither C, rho, q1 and q2 nor the graph of the large network.",
            *notes,
        ),
    )
