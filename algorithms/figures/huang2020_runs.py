"""Draws the figures of Huang & Gong again: Adult, complete graph, evenly divided records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from algorithms.figures import huang2020
from algorithms.graphs import complete
from algorithms.multistep import MultiStepADMM, final_model, published_noise_multiplier
from algorithms.step_sizes import DecayingStepSize
from dpaudit.datasets import Dataset, adult, split_evenly, subset
from dpaudit.execution import one_thread, stream
from dpaudit.reproduction.card import Figure
from dpaudit.reproduction.result import Curve, Judgement, Panel, Reproduction, Request

Array = NDArray[np.float64]

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_INNER_STEPS = (1, 2, 5, 10, 15, 20, 25)
DELTA, PENALTY, REGULARISER = 1e-5, 0.001, 1e-4


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What the paper fixes, and what it leaves open: the iterations and the diameter."""

    data: Dataset
    iterations: int = 50
    diameter: float = 20.0
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


def figure1(request: Request) -> Reproduction:
    """Return Figure 1: empirical risk of the final models against epsilon, at l = 10."""
    setting = Setting.of(request)
    settings = [(epsilon, 10) for epsilon in _EPSILONS]
    runs = _final_risks(setting, settings, request)
    curve = Curve.over_runs("multi-step DP-ADMM, l = 10", _EPSILONS, runs)
    panel = Panel(
        title="after the last iteration",
        x_label="epsilon",
        y_label="empirical risk",
        curves=(curve,),
    )
    means = runs.mean(axis=0)
    held = bool(np.all(np.diff(means) < 0))
    words = ", ".join(f"{e:g}: {m:.4f}" for e, m in zip(_EPSILONS, means, strict=True))
    return _reproduction(huang2020.FIGURE_1, panel, setting, held, f"mean risk by epsilon: {words}")


def figure2(request: Request) -> Reproduction:
    """Return Figure 2: empirical risk of the final models against l, at epsilon 1."""
    setting = Setting.of(request)
    settings = [(1.0, inner_steps) for inner_steps in _INNER_STEPS]
    runs = _final_risks(setting, settings, request)
    curve = Curve.over_runs("multi-step DP-ADMM, epsilon = 1", _INNER_STEPS, runs)
    panel = Panel(
        title="after the last iteration",
        x_label="inner steps l",
        y_label="empirical risk",
        curves=(curve,),
    )
    means = runs.mean(axis=0)
    held = bool(np.all(np.diff(means) < 0))
    words = ", ".join(f"{s}: {m:.4f}" for s, m in zip(_INNER_STEPS, means, strict=True))
    return _reproduction(huang2020.FIGURE_2, panel, setting, held, f"mean risk by l: {words}")


def _final_risks(
    setting: Setting, settings: Sequence[tuple[float, int]], request: Request
) -> Array:
    """Return the risk of the final models, shape ``(runs, len(settings))``."""
    request.progress.start("running", setting.runs * len(settings))
    columns = []
    for number, (epsilon, inner_steps) in enumerate(settings):
        rng = default_rng(stream(request.seed, "run", str(number)))
        algorithm = setting.algorithm(epsilon, inner_steps)
        with one_thread():
            seen = algorithm.inner().sample(setting.data, setting.runs, rng)
            columns.append(empirical_risk(algorithm, final_model(seen), setting.data))
        request.progress.advance(setting.runs)
    return np.stack(columns, axis=1)


def empirical_risk(algorithm: MultiStepADMM, models: Array, data: Dataset) -> Array:
    """Return the mean over nodes of each node's mean loss and regulariser, shape ``(R,)``."""
    return algorithm.objective(models, data) / data.nodes


def _reproduction(
    card: Figure, panel: Panel, setting: Setting, held: bool, evidence: str
) -> Reproduction:
    (statement,) = card.statements.values()
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=(panel,),
        judgements=(Judgement(statement=statement, held=held, evidence=evidence),),
        parameters=setting.parameters(),
        notes=("The paper gives neither the iterations nor the diameter D of eq. (23).",),
    )
