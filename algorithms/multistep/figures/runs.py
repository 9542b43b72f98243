"""Draws the figures of Huang & Gong again: Adult, complete graph, evenly divided records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.multistep.algorithm import (
    MultiStepADMM,
    final_model,
    published_noise_multiplier,
)
from dpaudit.algorithms.multistep.figures import cards as huang2020
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.step_sizes import DecayingStepSize
from dpaudit.datasets import Dataset, adult, split_evenly, subset
from dpaudit.drawing import Curve, Panel
from dpaudit.execution import Silent, stream
from dpaudit.extension.figure import Figure
from dpaudit.reproduction.judgement import (
    Findings,
    Judgement,
    all_held,
    judgements,
    sweep,
    with_tried,
)
from dpaudit.reproduction.result import MOST_RUNS, Reproduction, Request
from dpaudit.reproduction.spread import Mean, falling, measured

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_INNER_STEPS = (1, 2, 5, 10, 15, 20, 25)
_DIAMETERS, _ITERATIONS = (5.0, 20.0, 80.0), (20, 50, 100)  # tried; the paper gives neither
DELTA, PENALTY, REGULARISER = 1e-5, 0.001, 1e-4


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the paper fixes, and what it leaves open: the iterations and the diameter."""

    data: Dataset
    iterations: int = 50
    diameter: float = 20.0
    inner_steps: int = 10
    runs: int = 10

    @classmethod
    def of(cls, request: Request) -> Setting:
        """Return the paper's size, or a tenth of the records on ten of the hundred nodes."""
        records = adult(request.data_path)
        rng = default_rng(stream(request.seed, "records"))
        if not request.full:
            records = subset(records, len(records.labels) // 10, rng)
        data = split_evenly(records, 100 if request.full else 10, rng)
        return cls(data=data, runs=request.runs or 10)

    def at(self, other: Mapping[str, Any]) -> Setting:
        """Return the same with other iterations, D, l or runs."""
        names = {"D": "diameter", "l": "inner_steps"}
        return replace(self, **{names.get(name, name): value for name, value in other.items()})

    def algorithm(self, epsilon: float, inner_steps: int) -> MultiStepADMM:
        """Return the algorithm with the published noise for ``epsilon``."""
        steps = self.iterations * inner_steps
        return MultiStepADMM(
            graph=complete(self.data.nodes),
            iterations=self.iterations,
            inner_steps=inner_steps,
            noise_multiplier=published_noise_multiplier(epsilon, DELTA, steps),
            penalty=PENALTY,
            regulariser_weight=REGULARISER,
            step_size=DecayingStepSize(diameter=self.diameter),
        )

    def parameters(self) -> dict[str, object]:
        """Return everything that was set."""
        return {
            "data": self.data.name,
            "records": len(self.data.labels),
            "nodes": self.data.nodes,
            "iterations": self.iterations,
            "diameter": self.diameter,
            "runs": self.runs,
            "delta": DELTA,
            "penalty": PENALTY,
            "regulariser_weight": REGULARISER,
        }


@dataclass(frozen=True, kw_only=True)
class Varied:
    """What a figure varies: ``(epsilon, l)`` at every point of its axis, and what stays."""

    label: str
    values: Sequence[float]
    pairs: Sequence[tuple[float, int]]
    fixed: str


def figure1(request: Request) -> Reproduction:
    """Return Figure 1: empirical risk of the final models against epsilon, at l = 10."""
    pairs = [(epsilon, 10) for epsilon in _EPSILONS]
    varied = Varied(label="epsilon", values=_EPSILONS, pairs=pairs, fixed="l = 10")
    return _figure(huang2020.FIGURE_1, varied, request)


def figure2(request: Request) -> Reproduction:
    """Return Figure 2: empirical risk of the final models against l, at epsilon 1."""
    pairs = [(1.0, inner_steps) for inner_steps in _INNER_STEPS]
    varied = Varied(label="inner steps l", values=_INNER_STEPS, pairs=pairs, fixed="epsilon = 1")
    return _figure(huang2020.FIGURE_2, varied, request)


def _figure(card: Figure, varied: Varied, request: Request) -> Reproduction:
    setting = Setting.of(request)
    runs = _final_risks(setting, varied, request)
    judged = judgements(card.statements, _findings(card, varied, runs))
    quiet = replace(request, progress=Silent())
    others = sweep(
        _others(setting, judged, request),
        lambda other: _findings(card, varied, _final_risks(setting.at(other), varied, quiet)),
        request.progress,
    )
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=(_panel(varied, runs),),
        judgements=with_tried(judged, card.statements, others),
        parameters=setting.parameters(),
        notes=("The paper gives neither the iterations nor the diameter D of eq. (23).",),
    )


def _panel(varied: Varied, runs: Array) -> Panel:
    curve = Curve.over_runs(f"multi-step DP-ADMM, {varied.fixed}", varied.values, runs)
    return Panel(
        title="after the last iteration",
        x_label=varied.label,
        y_label="empirical risk",
        curves=(curve,),
    )


def _findings(card: Figure, varied: Varied, runs: Array) -> Findings:
    """Judge the figure's one statement: that the mean risk falls along its axis."""
    means = {
        f"{value:g}": Mean.of(column) for value, column in zip(varied.values, runs.T, strict=True)
    }
    finding = falling(means)
    words = f"mean risk and standard error by {varied.label}: {finding.evidence}"
    return dict.fromkeys(card.statements, replace(finding, evidence=words))


def _others(
    setting: Setting, judged: Sequence[Judgement], request: Request
) -> list[dict[str, Any]]:
    """Return what else is tried: everything where the statement did not hold, else a little."""
    drawn = {"D": setting.diameter, "iterations": setting.iterations}
    grid = [dict(zip(drawn, pair, strict=True)) for pair in product(_DIAMETERS, _ITERATIONS)]
    others = [each for each in grid if each != drawn]
    if all_held(judged):
        near = [each for each in others if len(each.items() - drawn.items()) == 1]
        return [] if request.full else near
    return [*others, drawn | {"runs": min(4 * setting.runs, MOST_RUNS)}]


def _final_risks(setting: Setting, varied: Varied, request: Request) -> Array:
    """Return the risk of the final models, shape ``(runs, points of the axis)``."""
    request.progress.start("running", setting.runs * len(varied.pairs))
    columns = []
    for number, (epsilon, inner_steps) in enumerate(varied.pairs):
        rng = default_rng(stream(request.seed, "run", str(number)))
        columns.append(_final_risk(setting, setting.algorithm(epsilon, inner_steps), rng))
        request.progress.advance(setting.runs)
    return np.stack(columns, axis=1)


def _final_risk(setting: Setting, algorithm: MultiStepADMM, rng: Generator) -> Array:
    def risk(seen: Array) -> Array:
        return empirical_risk(algorithm, final_model(seen), setting.data)

    return measured(algorithm.inner(), setting.data, setting.runs, rng, risk)


def empirical_risk(algorithm: MultiStepADMM, models: Array, data: Dataset) -> Array:
    """Return the mean over nodes of each node's mean loss and regulariser, shape ``(R,)``."""
    return algorithm.objective(models, data) / data.nodes
