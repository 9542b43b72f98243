"""hu2020's Figure 3: ADMM sharing with noise on the models, on a9a and on wide data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from dpaudit.algorithms.sharing.figures import cards
from dpaudit.algorithms.sharing.figures.data import FigureProblem, census, find_data_places, wide
from dpaudit.algorithms.sharing.figures.runs import (
    A9A_NOTE,
    NOTES,
    RUNS,
    Trace,
    admm_search,
    common_parameters,
    epochs_of,
    make_rival_panel,
    run_admm_trace,
)
from dpaudit.execution import stream
from dpaudit.plots import Panel
from dpaudit.reproduction.judgement import (
    Findings,
    Setting,
    SettingFinding,
    make_judgements,
    with_tried,
)
from dpaudit.reproduction.result import FigureRequest, Reproduction

_WIDE = "wide data"
NOISE_LEVELS = (0.1, 0.3, 1.0, 3.0, 10.0)
_SETTLED = 0.05  # relative change of the test log loss from one fifth of the epochs to the next
_BOOSTED = 0.95  # of party 1's test log loss; the paper gives no number


def figure3(request: FigureRequest) -> Reproduction:
    """Return Figure 3: test log loss by epoch with noise on the models, a9a and wide data."""
    asked = [replace(request, data_path=place) for place in find_data_places(request.data_path)]
    census_problem, (wide_problem, notes) = census(asked[0]), wide(asked[1])
    epochs, card = epochs_of(request), cards.FIGURE_3
    noisy = {
        name: noisy_runs(problem, epochs, request)
        for name, problem in (("a9a", census_problem), (_WIDE, wide_problem))
    }
    parameters: dict[str, object] = {
        "problems": [
            each.problem.parameters() | {"rho, times 1/N": each.penalty} for each in noisy.values()
        ],
        "noise": "parameter",
        "noise levels, over the root mean squared norm": list(NOISE_LEVELS),
    }
    levels = [row for name, each in noisy.items() for row in each.by_level(name)]
    found = _on_both(noisy) | {"better than central": noisy[_WIDE].against_central()}
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=tuple(each.panel() for each in noisy.values()),
        judgements=with_tried(make_judgements(card.statements, found), card.statements, levels),
        parameters=parameters | common_parameters(request),
        notes=(*NOTES, A9A_NOTE, *notes),
    )


@dataclass(frozen=True)
class NoiseTraces:
    """ADMM sharing without noise, and with each level of it, at one penalty."""

    problem: FigureProblem
    penalty: float
    clean: Trace
    traces: tuple[tuple[float, Trace], ...]

    @property
    def first_party_loss(self) -> float:
        """The test log loss of party 1 alone."""
        return float(self.problem.test_loss(self.problem.first_party_model)[0])

    def panel(self) -> Panel:
        """Return the test log losses by epoch."""
        runs = [(self.clean.label, self.clean.test_loss)]
        runs += [(trace.label, trace.test_loss) for _, trace in self.traces]
        models = (self.problem.central, self.problem.first_party_model)
        baselines = [self.problem.test_loss(model) for model in models]
        return make_rival_panel(self.problem.title, "test log loss", runs, baselines, log_y=True)

    def at(self, trace: Trace) -> Findings:
        """Judge one level: does it settle below party 1's loss, and is it worse than a model of 0.

        Loss is the mean over the last fifth of the epochs.
        """
        before, after = _last_fifths(trace)
        settled = abs(after / before - 1) <= _SETTLED
        words = f"{after:.4f} ({after / before - 1:+.1%})"
        return {
            "moderate noise": SettingFinding(
                held=settled and after < self.first_party_loss,
                number=after / self.first_party_loss,
                measure="test log loss, over that of party 1 alone",
                evidence=words,
            ),
            "too much noise": SettingFinding(
                held=after > math.log(2),
                number=after / math.log(2),
                measure="test log loss, over that of a model of 0",
                evidence=words,
            ),
        }

    def by_level(self, data: str) -> list[tuple[Setting, Findings]]:
        """Return the findings at every level of noise, for statements on these data."""
        return [
            (
                {"data": self.problem.title, "noise": level},
                _add_dataset_to_findings(data, self.at(trace)),
            )
            for level, trace in self.traces
        ]

    def findings(self) -> Findings:
        """Judge the statements: some level is moderate, and the largest is too much."""
        levels = [(f"{level:g}", self.at(trace)) for level, trace in self.traces]
        moderate = [found["moderate noise"] for _, found in levels]
        # Of levels at which the statement holds, the smallest change is the clearest case; only if
        # none holds does one that fails stand for it.
        best = min(moderate, key=lambda each: (not each.held, each.number or 0.0))
        words = ", ".join(f"{level}: {found['moderate noise'].evidence}" for level, found in levels)
        most, ruined = levels[-1][0], levels[-1][1]["too much noise"]
        return {
            "moderate noise": replace(
                best,
                evidence=f"{self.problem.title}: test log loss by noise level, mean over the last "
                f"fifth of the epochs (change from the fifth before, settled within "
                f"{_SETTLED:.0%}): {words}; without noise {self.clean.last_test_loss:.4f}, party 1 "
                f"alone {self.first_party_loss:.4f}",
            ),
            "too much noise": replace(
                ruined,
                evidence=f"{self.problem.title}: noise {most} ends at {ruined.evidence}; a model "
                f"of 0 has {math.log(2):.4f}",
            ),
            "more features": self._against("party 1 alone", self.first_party_loss, _BOOSTED),
        }

    def against_central(self) -> SettingFinding:
        """Judge whether ADMM without noise ends below the centrally trained model's loss."""
        central = float(self.problem.test_loss(self.problem.central)[0])
        return self._against("all features centrally", central, 1.0)

    def _against(self, name: str, other: float, share: float) -> SettingFinding:
        """Judge whether the last test log loss without noise is below a share of another's."""
        found = self.clean.last_test_loss
        return SettingFinding(
            held=found < share * other,
            number=found / other,
            measure=f"last test log loss without noise, over that of {name}, below {share:g}",
            evidence=f"{self.problem.title}: {found:.4f} against {other:.4f}, {name}",
        )


def _on_both(noisy: Mapping[str, NoiseTraces]) -> dict[str, SettingFinding]:
    """Return the findings on both data, by the names of the statements on them."""
    named = [_add_dataset_to_findings(data, each.findings()) for data, each in noisy.items()]
    return {name: found for findings in named for name, found in findings.items()}


def _add_dataset_to_findings(data: str, findings: Findings) -> Findings:
    return {f"{name} on {data}": found for name, found in findings.items()}


def noisy_runs(problem: FigureProblem, epochs: int, request: FigureRequest) -> NoiseTraces:
    """Return the runs of every noise level, at the penalty that is best without noise."""
    # Choosing the penalty anew for every level would mix its effect with that of the noise.
    clean, penalty = admm_search(problem, epochs, request)[0]
    request.progress.start(f"noise, {problem.title}", len(NOISE_LEVELS))
    traces = []
    for level in NOISE_LEVELS:
        seed = stream(request.seed, problem.title, "noise", f"{level:g}")
        trace = run_admm_trace(problem, penalty, level, epochs, request.runs or RUNS, seed)
        traces.append((level, trace))
        request.progress.advance(1)
    return NoiseTraces(problem, penalty, clean, tuple(traces))


def _last_fifths(trace: Trace) -> tuple[float, float]:
    """Return the mean test log loss over the last fifth of the epochs but one, and the last."""
    loss = trace.test_loss.mean(axis=0)
    fifth = max(1, len(loss) // 5)
    return float(loss[-2 * fifth : -fifth].mean()), float(loss[-fifth:].mean())
