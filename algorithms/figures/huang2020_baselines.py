"""Figure 3 of Huang & Gong: multi-step DP-ADMM against its private and non-private baselines.

Every baseline is given the whole privacy budget, by the theorem its paper states: DVP and R-ADMM
by eq. (26) of zhang2018 (R-ADMM releases at odd iterations only), PVP by the sensitivity
``2 C / (B (rho/N + 2 eta V))`` of its strongly convex argmin and basic composition, DP-ADMM and
the multi-step algorithm by Theorem 6's noise. The first three are pure DP, the others at delta.
Every algorithm is run with several penalties, or diameters D, and shown with its best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import default_rng
from numpy.typing import NDArray

from algorithms.consensus import ConsensusADMM
from algorithms.dp_admm_2019 import ServerADMM
from algorithms.figures import huang2020
from algorithms.figures.huang2020_runs import DELTA, PENALTY, REGULARISER, Setting, empirical_risk
from algorithms.graphs import complete
from algorithms.multistep import published_noise_multiplier
from algorithms.schedules import Constant, Given
from algorithms.step_sizes import DecayingStepSize
from dpaudit.errors import InvalidArgument
from dpaudit.execution import one_thread, stream
from dpaudit.reproduction.result import Curve, Judgement, Panel, Reproduction, Request

Array = NDArray[np.float64]
_EPSILONS = (0.5, 1.0)
_PENALTIES = (0.01, 0.1, 1.0)
_DIAMETERS = (5.0, 20.0, 80.0)
_OURS, _PLAIN = "multi-step DP-ADMM, l = 10", "ADMM without noise"


def figure3(request: Request) -> Reproduction:
    """Return Figure 3: empirical risk of every algorithm after each iteration."""
    setting = Setting.of(request)
    request.progress.start("running", len(_EPSILONS) * len(_METHODS) * setting.runs)
    panels, judgements = [], []
    for epsilon in _EPSILONS:
        risks = {}
        for name, method in _METHODS.items():
            rng = default_rng(stream(request.seed, name, str(epsilon)))
            with one_thread():
                risks[name] = method(setting, epsilon, rng)
            request.progress.advance(setting.runs)
        panels.append(_panel(epsilon, risks))
        judgements += _judged(epsilon, risks)
    card = huang2020.FIGURE_3
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=tuple(panels),
        judgements=tuple(judgements),
        parameters=setting.parameters()
        | {"penalties tried": list(_PENALTIES), "diameters tried": list(_DIAMETERS)},
        notes=(
            "The paper gives neither the iterations, the diameter D nor the baselines' settings.",
        ),
    )


def _multistep(setting: Setting, epsilon: float, rng: np.random.Generator) -> Array:
    found = []
    for diameter in _DIAMETERS:
        algorithm = replace(setting, diameter=diameter).algorithm(epsilon, 10)
        found.append(_risks(setting, algorithm.broadcast().sample(setting.data, setting.runs, rng)))
    return _best(found)


def _dp_admm(setting: Setting, epsilon: float, rng: np.random.Generator) -> Array:
    found = []
    for diameter in _DIAMETERS:
        algorithm = ServerADMM(
            nodes=setting.data.nodes,
            iterations=setting.iterations,
            noise_multiplier=published_noise_multiplier(epsilon, DELTA, setting.iterations),
            penalty=PENALTY,
            regulariser_weight=REGULARISER,
            step_size=DecayingStepSize(diameter=diameter),
        )
        found.append(_risks(setting, algorithm.broadcast().sample(setting.data, setting.runs, rng)))
    return _best(found)


def _plain(setting: Setting, epsilon: float, rng: np.random.Generator) -> Array:
    algorithms = (_consensus(setting, eta).dual_variable_perturbation() for eta in _PENALTIES)
    return _best([_risks(setting, a.sample(setting.data, 1, rng)) for a in algorithms])


def _dvp(setting: Setting, epsilon: float, rng: np.random.Generator) -> Array:
    found = []
    for eta in _PENALTIES:
        algorithm = _with_rates(setting, eta, _rates(setting, eta, epsilon, setting.iterations))
        if algorithm is not None:
            seen = algorithm.dual_variable_perturbation().sample(setting.data, setting.runs, rng)
            found.append(_risks(setting, seen))
    return _best(found)


def _recycled(setting: Setting, epsilon: float, rng: np.random.Generator) -> Array:
    found = []
    for eta in _PENALTIES:
        releases = -(-setting.iterations // 2)
        algorithm = _with_rates(setting, eta, _rates(setting, eta, epsilon, releases))
        if algorithm is not None:
            seen = algorithm.recycled().sample(setting.data, setting.runs, rng)
            found.append(_risks(setting, seen))
    return _best(found)


def _pvp(setting: Setting, epsilon: float, rng: np.random.Generator) -> Array:
    found, sizes = [], np.array(setting.data.node_sizes)
    for eta in _PENALTIES:
        strong = REGULARISER / setting.data.nodes + 2 * eta * (setting.data.nodes - 1)
        algorithm = _with_rates(setting, eta, epsilon / setting.iterations * sizes * strong / 2)
        if algorithm is not None:
            seen = algorithm.primal_perturbation().sample(setting.data, setting.runs, rng)
            found.append(_risks(setting, seen))
    return _best(found)


_METHODS: dict[str, Callable[[Setting, float, np.random.Generator], Array]] = {
    _OURS: _multistep,
    "DP-ADMM 2019": _dp_admm,
    "DVP": _dvp,
    "PVP": _pvp,
    "R-ADMM": _recycled,
    _PLAIN: _plain,
}


def _consensus(setting: Setting, eta: float) -> ConsensusADMM:
    return ConsensusADMM(
        graph=complete(setting.data.nodes),
        iterations=setting.iterations,
        penalty=Constant(eta),
        dual_step=eta,
        loss_weight=1.0,
        regulariser_weight=REGULARISER,
    )


def _rates(setting: Setting, eta: float, epsilon: float, releases: int) -> Array:
    """Return the alpha at which eq. (26), over so many releases, gives epsilon at every node."""
    stretch = eta * (setting.data.nodes - 1) * np.array(setting.data.node_sizes)
    rates: Array = epsilon * stretch / releases - 1.4 * 0.25
    return rates


def _with_rates(setting: Setting, eta: float, rates: Array) -> ConsensusADMM | None:
    """Return the algorithm with these noise rates, or None where epsilon cannot be reached."""
    if rates.min() <= 0:
        return None
    schedule = Given(np.broadcast_to(rates, (setting.iterations, len(rates))))
    return replace(_consensus(setting, eta), noise_rate=schedule)


def _risks(setting: Setting, seen: Array) -> Array:
    """Return the risk of the models broadcast at every iteration, shape ``(R, T)``."""
    algorithm = setting.algorithm(1.0, 1)
    columns = [
        empirical_risk(algorithm, seen[:, t], setting.data) for t in range(setting.iterations)
    ]
    return np.stack(columns, axis=1)


def _best(found: list[Array]) -> Array:
    if not found:
        expected = "a penalty at which the published bound reaches it"
        raise InvalidArgument("epsilon", _EPSILONS, expected)
    return min(found, key=lambda risks: float(risks[:, -1].mean()))


def _panel(epsilon: float, risks: dict[str, Array]) -> Panel:
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


def _judged(epsilon: float, risks: dict[str, Array]) -> list[Judgement]:
    ends = {name: float(values[:, -1].mean()) for name, values in risks.items()}
    spread = {name: float(np.ptp(values[:, -1])) for name, values in risks.items()}
    rivals = [name for name in risks if name not in (_OURS, _PLAIN)]
    words = ", ".join(f"{name}: {ends[name]:.4f} (range {spread[name]:.2g})" for name in risks)
    evidence = f"epsilon = {epsilon:g}; mean risk at the end: {words}"
    held = {
        "better": all(ends[_OURS] < ends[name] for name in rivals),
        "steadier": all(spread[_OURS] < spread[name] for name in rivals),
    }
    statements = huang2020.FIGURE_3.statements
    return [
        Judgement(statement=statements[name], held=value, evidence=evidence)
        for name, value in held.items()
    ]
