"""The figures of Huang & Gong drawn again: Adult, complete graph, evenly divided records.

Figure 3 compares multi-step DP-ADMM with private and non-private baselines. Each is given the whole
privacy budget, by the theorem its paper states: DVP and R-ADMM by eq. (26) of zhang2018 (R-ADMM
releases at odd iterations only), PVP by the sensitivity ``2 C / (B (rho/N + 2 eta V))`` of its
strongly convex argmin and basic composition, DP-ADMM and the multi-step algorithm by Theorem 6's
noise. The first three are pure DP, the others at delta. Every algorithm is run with several
penalties, or diameters D, and shown with its best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.dp_admm_2019 import ServerADMM
from dpaudit.algorithms.multistep.algorithm import (
    MultiStepADMM,
    compute_theorem6_multiplier,
    final_model,
)
from dpaudit.algorithms.multistep.figures import cards
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.schedules import Constant, TableSchedule
from dpaudit.algorithms.problems.step_sizes import DecayingStepSize
from dpaudit.datasets import Dataset, adult, split_evenly, subset
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Silent, stream
from dpaudit.extension.figure import Figure
from dpaudit.plots import Curve, Panel
from dpaudit.reproduction.judgement import (
    Findings,
    SettingFinding,
    StatementJudgement,
    all_held,
    judge_all_settings,
    make_judgements,
    with_tried,
)
from dpaudit.reproduction.result import MOST_RUNS, FigureRequest, Reproduction
from dpaudit.reproduction.spread import (
    Mean,
    RunSource,
    in_errors,
    is_clearly_ahead,
    judge_falling_means,
    measure_in_blocks,
)

_EPSILONS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_INNER_STEPS = (1, 2, 5, 10, 15, 20, 25)
# Values that are tried, as the paper gives neither.
_DIAMETERS = (5.0, 20.0, 80.0)
# Iterations that the statements are tried with, around the 50 that are drawn.
_ITERATIONS = (20, 50, 100)
DELTA = 1e-5
PENALTY = 0.001
REGULARISER = 1e-4


@dataclass(frozen=True, kw_only=True)
class MultiStepFigureSetting:
    """The constants that the paper fixes, and two that it leaves open: iterations and diameter."""

    data: Dataset
    iterations: int = 50
    diameter: float = 20.0
    inner_steps: int = 10
    runs: int = 10

    @classmethod
    def of(cls, request: FigureRequest) -> MultiStepFigureSetting:
        """Return the paper's size, or a tenth of the records on ten of the hundred nodes."""
        records = adult(request.data_path)
        rng = default_rng(stream(request.seed, "records"))
        if not request.full:
            # A tenth of the records over a tenth of the nodes leaves as many at each node as in the
            # paper.
            records = subset(records, len(records.labels) // 10, rng)
        data = split_evenly(records, 100 if request.full else 10, rng)
        return cls(data=data, runs=request.runs or 10)

    def at(self, other: Mapping[str, Any]) -> MultiStepFigureSetting:
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
            noise_multiplier=compute_theorem6_multiplier(epsilon, DELTA, steps),
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
class FigureVariables:
    """The variables of a figure: ``(epsilon, l)`` at every point of its axis, and the constants."""

    label: str
    values: Sequence[float]
    pairs: Sequence[tuple[float, int]]
    fixed: str


def figure1(request: FigureRequest) -> Reproduction:
    """Return Figure 1: empirical risk of the final models against epsilon, at l = 10."""
    pairs = [(epsilon, 10) for epsilon in _EPSILONS]
    varied = FigureVariables(label="epsilon", values=_EPSILONS, pairs=pairs, fixed="l = 10")
    return _reproduce_risk_figure(cards.FIGURE_1, varied, request)


def figure2(request: FigureRequest) -> Reproduction:
    """Return Figure 2: empirical risk of the final models against l, at epsilon 1."""
    pairs = [(1.0, inner_steps) for inner_steps in _INNER_STEPS]
    varied = FigureVariables(
        label="inner steps l", values=_INNER_STEPS, pairs=pairs, fixed="epsilon = 1"
    )
    return _reproduce_risk_figure(cards.FIGURE_2, varied, request)


def _reproduce_risk_figure(
    card: Figure, varied: FigureVariables, request: FigureRequest
) -> Reproduction:
    setting = MultiStepFigureSetting.of(request)
    runs = _final_risks(setting, varied, request)
    judged = make_judgements(card.statements, _judge_risk_findings(card, varied, runs))
    quiet = replace(request, progress=Silent())
    others = judge_all_settings(
        _list_other_settings(setting, judged, request),
        lambda other: _judge_risk_findings(
            card, varied, _final_risks(setting.at(other), varied, quiet)
        ),
        request.progress,
    )
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=(_make_risk_panel(varied, runs),),
        judgements=with_tried(judged, card.statements, others),
        parameters=setting.parameters(),
        notes=("The paper gives neither the iterations nor the diameter D of eq. (23).",),
    )


def _make_risk_panel(varied: FigureVariables, runs: Array) -> Panel:
    curve = Curve.over_runs(f"multi-step DP-ADMM, {varied.fixed}", varied.values, runs)
    return Panel(
        title="after the last iteration",
        x_label=varied.label,
        y_label="empirical risk",
        curves=(curve,),
    )


def _judge_risk_findings(card: Figure, varied: FigureVariables, runs: Array) -> Findings:
    """Judge the figure's one statement: that the mean risk falls along its axis."""
    means = {
        f"{value:g}": Mean.of(column) for value, column in zip(varied.values, runs.T, strict=True)
    }
    finding = judge_falling_means(means)
    words = f"mean risk and standard error by {varied.label}: {finding.evidence}"
    return dict.fromkeys(card.statements, replace(finding, evidence=words))


def _list_other_settings(
    setting: MultiStepFigureSetting, judged: Sequence[StatementJudgement], request: FigureRequest
) -> list[dict[str, Any]]:
    """Return the other settings to try: all if the statement did not hold, else a few."""
    drawn = {"D": setting.diameter, "iterations": setting.iterations}
    grid = [dict(zip(drawn, pair, strict=True)) for pair in product(_DIAMETERS, _ITERATIONS)]
    others = [each for each in grid if each != drawn]
    if all_held(judged):
        near = [each for each in others if len(each.items() - drawn.items()) == 1]
        return [] if request.full else near
    # Where a statement did not hold, more runs say whether chance decided it.
    return [*others, drawn | {"runs": min(4 * setting.runs, MOST_RUNS)}]


def _final_risks(
    setting: MultiStepFigureSetting, varied: FigureVariables, request: FigureRequest
) -> Array:
    """Return the risk of the final models, shape ``(runs, points of the axis)``."""
    request.progress.start("running", setting.runs * len(varied.pairs))
    columns = []
    for number, (epsilon, inner_steps) in enumerate(varied.pairs):
        # A stream for each point of the axis, whatever else the figure draws.
        rng = default_rng(stream(request.seed, "run", str(number)))
        columns.append(_final_risk(setting, setting.algorithm(epsilon, inner_steps), rng))
        request.progress.advance(setting.runs)
    return np.stack(columns, axis=1)


def _final_risk(setting: MultiStepFigureSetting, algorithm: MultiStepADMM, rng: Generator) -> Array:
    def risk(seen: Array) -> Array:
        return empirical_risk(algorithm, final_model(seen), setting.data)

    return measure_in_blocks(algorithm.inner(), setting.data, setting.runs, rng, risk)


def empirical_risk(algorithm: MultiStepADMM, models: Array, data: Dataset) -> Array:
    """Return the mean over nodes of each node's mean loss and regulariser, shape ``(R,)``."""
    return algorithm.objective(models, data) / data.nodes


Risks = dict[str, Array]
_COMPARED_EPSILONS = (0.5, 1.0)
_PENALTIES = (0.01, 0.1, 1.0)
# Values that are tried beside 10 and 50.
_OTHER_INNER_STEPS = (1, 5, 20)
_OTHER_ITERATIONS = (20, 100)
_OURS = "multi-step DP-ADMM, l = 10"
_PLAIN = "ADMM without noise"


def figure3(request: FigureRequest) -> Reproduction:
    """Return Figure 3: empirical risk of every algorithm after each iteration."""
    setting, card = MultiStepFigureSetting.of(request), cards.FIGURE_3
    request.progress.start("running", len(_COMPARED_EPSILONS) * len(_METHODS) * setting.runs)
    panels: list[Panel] = []
    judged: list[StatementJudgement] = []
    drawn = {
        epsilon: _run_compared_methods(setting, epsilon, request) for epsilon in _COMPARED_EPSILONS
    }
    # Only `held` is read here, so the epsilon that would label the findings does not matter.
    held = all(
        each.held
        for risks in drawn.values()
        for each in _judge_comparison_findings(0.0, risks).values()
    )
    settings = _other_steps(held, request)
    request.progress.start("other settings", len(settings) * len(_COMPARED_EPSILONS))
    for epsilon, risks in drawn.items():
        others = [
            (
                other,
                _judge_comparison_findings(
                    epsilon, _run_changed_methods(setting, other, epsilon, risks, request)
                ),
            )
            for other in settings
        ]
        panels.append(_make_comparison_panel(epsilon, risks))
        found = make_judgements(card.statements, _judge_comparison_findings(epsilon, risks))
        judged += with_tried(found, card.statements, others)
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=tuple(panels),
        judgements=tuple(judged),
        parameters=setting.parameters()
        | {
            "inner_steps": setting.inner_steps,
            "penalties tried": list(_PENALTIES),
            "diameters tried": list(_DIAMETERS),
        },
        notes=(
            "The paper gives neither the iterations, the diameter D nor the baselines' settings.",
            "Every algorithm is shown with the best penalty, or D, of those tried.",
        ),
    )


def _run_compared_methods(
    setting: MultiStepFigureSetting,
    epsilon: float,
    request: FigureRequest,
    names: Iterable[str] | None = None,
) -> Risks:
    """Return every algorithm's risks, or those of some, each at its best setting."""
    risks = {}
    for name in _METHODS if names is None else names:
        rng = default_rng(stream(request.seed, name, str(epsilon)))
        risks[name] = _METHODS[name](setting, epsilon, rng)
        request.progress.advance(setting.runs)
    return risks


def _other_steps(held: bool, request: FigureRequest) -> list[dict[str, int]]:
    """Return the other steps to try: all if a statement did not hold, else a few."""
    near = [{"l": inner_steps} for inner_steps in _OTHER_INNER_STEPS]
    if held:
        return [] if request.full else near
    return [*near, *({"iterations": iterations} for iterations in _OTHER_ITERATIONS)]


def _run_changed_methods(
    setting: MultiStepFigureSetting,
    other: Mapping[str, int],
    epsilon: float,
    risks: Risks,
    request: FigureRequest,
) -> Risks:
    """Return the risks at another setting; l is ours alone, so the rivals' stay."""
    quiet, at = replace(request, progress=Silent()), setting.at(other)
    changed = _run_compared_methods(at, epsilon, quiet, (_OURS,) if "l" in other else None)
    request.progress.advance(1)
    return risks | changed


def _run_multistep_risks(
    setting: MultiStepFigureSetting, epsilon: float, rng: np.random.Generator
) -> Array:
    found = []
    for diameter in _DIAMETERS:
        algorithm = replace(setting, diameter=diameter).algorithm(epsilon, setting.inner_steps)
        found.append(_measure_broadcast_risks(setting, algorithm.broadcast(), rng))
    return _select_least_risks(found)


def _dp_admm(setting: MultiStepFigureSetting, epsilon: float, rng: np.random.Generator) -> Array:
    found = []
    for diameter in _DIAMETERS:
        algorithm = ServerADMM(
            nodes=setting.data.nodes,
            iterations=setting.iterations,
            noise_multiplier=compute_theorem6_multiplier(epsilon, DELTA, setting.iterations),
            penalty=PENALTY,
            regulariser_weight=REGULARISER,
            step_size=DecayingStepSize(diameter=diameter),
        )
        found.append(_measure_broadcast_risks(setting, algorithm.broadcast(), rng))
    return _select_least_risks(found)


def _run_noiseless_consensus_risks(
    setting: MultiStepFigureSetting, epsilon: float, rng: np.random.Generator
) -> Array:
    algorithms = (
        _make_consensus_rival(setting, eta).dual_variable_perturbation() for eta in _PENALTIES
    )
    # Without noise nothing is random, and one run is all runs.
    return _select_least_risks(
        [_measure_broadcast_risks(replace(setting, runs=1), each, rng) for each in algorithms]
    )


def _run_dual_perturbation_risks(
    setting: MultiStepFigureSetting, epsilon: float, rng: np.random.Generator
) -> Array:
    found = []
    for eta in _PENALTIES:
        algorithm = _with_rates(
            setting, eta, _compute_published_rates(setting, eta, epsilon, setting.iterations)
        )
        if algorithm is not None:
            found.append(
                _measure_broadcast_risks(setting, algorithm.dual_variable_perturbation(), rng)
            )
    return _select_least_risks(found)


def _run_recycled_risks(
    setting: MultiStepFigureSetting, epsilon: float, rng: np.random.Generator
) -> Array:
    found = []
    for eta in _PENALTIES:
        # Only odd iterations release anything, so the budget is shared by half of them, rounded up.
        releases = -(-setting.iterations // 2)
        algorithm = _with_rates(
            setting, eta, _compute_published_rates(setting, eta, epsilon, releases)
        )
        if algorithm is not None:
            found.append(_measure_broadcast_risks(setting, algorithm.recycled(), rng))
    return _select_least_risks(found)


def _run_primal_perturbation_risks(
    setting: MultiStepFigureSetting, epsilon: float, rng: np.random.Generator
) -> Array:
    found, sizes = [], np.array(setting.data.node_sizes)
    for eta in _PENALTIES:
        # q = rho/N + 2 eta V of the complete graph, with C = 1.
        strong = REGULARISER / setting.data.nodes + 2 * eta * (setting.data.nodes - 1)
        # Basic composition over T releases of sensitivity 2 / (B q).
        algorithm = _with_rates(setting, eta, epsilon / setting.iterations * sizes * strong / 2)
        if algorithm is not None:
            found.append(_measure_broadcast_risks(setting, algorithm.primal_perturbation(), rng))
    return _select_least_risks(found)


_METHODS: dict[str, Callable[[MultiStepFigureSetting, float, np.random.Generator], Array]] = {
    _OURS: _run_multistep_risks,
    "DP-ADMM 2019": _dp_admm,
    "DVP": _run_dual_perturbation_risks,
    "PVP": _run_primal_perturbation_risks,
    "R-ADMM": _run_recycled_risks,
    _PLAIN: _run_noiseless_consensus_risks,
}


def _make_consensus_rival(setting: MultiStepFigureSetting, eta: float) -> ConsensusADMM:
    return ConsensusADMM(
        graph=complete(setting.data.nodes),
        iterations=setting.iterations,
        penalty=Constant(eta),
        dual_step=eta,
        loss_weight=1.0,
        regulariser_weight=REGULARISER,
    )


def _compute_published_rates(
    setting: MultiStepFigureSetting, eta: float, epsilon: float, releases: int
) -> Array:
    """Return the alpha at which eq. (26), over so many releases, gives epsilon at every node."""
    stretch = eta * (setting.data.nodes - 1) * np.array(setting.data.node_sizes)
    # Eq. (26) solved for alpha, with C = 1 and the logistic loss's c_1 = 1/4.
    rates: Array = epsilon * stretch / releases - 1.4 * 0.25
    return rates


def _with_rates(setting: MultiStepFigureSetting, eta: float, rates: Array) -> ConsensusADMM | None:
    """Return the algorithm with these noise rates, or None where epsilon cannot be reached."""
    # Where the determinant's part of eq. (26) alone exceeds epsilon, no noise reaches it.
    if rates.min() <= 0:
        return None
    schedule = TableSchedule(np.broadcast_to(rates, (setting.iterations, len(rates))))
    return replace(_make_consensus_rival(setting, eta), noise_rate=schedule)


def _measure_broadcast_risks(
    setting: MultiStepFigureSetting, mechanism: RunSource, rng: np.random.Generator
) -> Array:
    """Return the risk of the models broadcast at every iteration, shape ``(R, T)``."""
    # Only its objective is used, which is the same at every epsilon and l.
    algorithm = setting.algorithm(1.0, 1)

    def risks(seen: Array) -> Array:
        by_iteration = np.moveaxis(seen, 1, 0)
        columns = [empirical_risk(algorithm, models, setting.data) for models in by_iteration]
        return np.stack(columns, axis=1)

    return measure_in_blocks(mechanism, setting.data, setting.runs, rng, risks)


def _select_least_risks(found: list[Array]) -> Array:
    if not found:
        expected = "a penalty at which the published bound reaches it"
        raise InvalidArgument("epsilon", _COMPARED_EPSILONS, expected)
    # The best setting is the one that ends with the least mean risk.
    return min(found, key=lambda risks: float(risks[:, -1].mean()))


def _make_comparison_panel(epsilon: float, risks: Risks) -> Panel:
    curves = [
        Curve.over_runs(name, list(range(1, values.shape[1] + 1)), values)
        for name, values in risks.items()
    ]
    return Panel(
        title=f"epsilon = {epsilon:g}, delta = {DELTA:g}",
        x_label="iteration",
        y_label="empirical risk",
        curves=tuple(curves),
        log_y=True,
    )


def _judge_comparison_findings(epsilon: float, risks: Risks) -> Findings:
    ends = {name: values[:, -1] for name, values in risks.items()}
    means = {name: Mean.of(values) for name, values in ends.items()}
    rivals = [name for name in risks if name not in (_OURS, _PLAIN)]
    ahead = min(means[_OURS].below(means[name]) for name in rivals)
    return {
        "better": SettingFinding(
            held=is_clearly_ahead(ahead),
            number=ahead,
            measure="ahead of the best rival, in standard errors",
            evidence=f"epsilon = {epsilon:g}; mean risk and standard error at the end: "
            + ", ".join(f"{name}: {mean}" for name, mean in means.items())
            + f"; lead over the best rival {in_errors(ahead)}",
        ),
        "steadier": _judge_run_spread(epsilon, ends, rivals),
    }


def _judge_run_spread(epsilon: float, ends: Risks, rivals: Sequence[str]) -> SettingFinding:
    """Judge whether our runs lie closer together than any rival's; one run cannot say."""
    several = len(ends[_OURS]) > 1
    spread = {name: float(np.ptp(values)) for name, values in ends.items()}
    ratio = spread[_OURS] / min(spread[name] for name in rivals) if several else None
    words = ", ".join(f"{name}: {each:.2g}" for name, each in spread.items())
    return SettingFinding(
        held=None if ratio is None else ratio < 1,
        number=ratio,
        measure="range over runs, of the steadiest rival's",
        evidence=f"epsilon = {epsilon:g}; "
        + (f"range over runs at the end: {words}" if several else "one run has no range"),
    )
