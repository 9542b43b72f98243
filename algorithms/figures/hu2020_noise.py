"""ADMM sharing with noise on the models: hu2020's Figure 3 on one problem."""

from __future__ import annotations

import math
from dataclasses import dataclass

from algorithms.figures.hu2020_data import Problem
from algorithms.figures.hu2020_drawing import panel
from algorithms.figures.hu2020_search import RUNS, Trace, admm, admm_search
from dpaudit.execution import stream
from dpaudit.reproduction.result import Panel, Request

NOISE_LEVELS = (0.1, 0.3, 1.0, 3.0, 10.0)
_SETTLED = 0.05  # relative change of the test log loss from one fifth of the epochs to the next


@dataclass(frozen=True)
class Noisy:
    """ADMM sharing without noise, and with each level of it, at one penalty."""

    problem: Problem
    penalty: float
    clean: Trace
    traces: tuple[tuple[float, Trace], ...]

    @property
    def alone(self) -> float:
        """The test log loss of party 1 alone."""
        return float(self.problem.test_loss(self.problem.alone)[0])

    def panel(self) -> Panel:
        """Return the test log losses by epoch."""
        runs = [(self.clean.label, self.clean.test_loss)]
        runs += [(trace.label, trace.test_loss) for _, trace in self.traces]
        models = (self.problem.central, self.problem.alone)
        baselines = [self.problem.test_loss(model) for model in models]
        return panel(self.problem.title, "test log loss", runs, baselines, log_y=True)

    def moderate(self) -> tuple[bool, str]:
        """Judge whether some level settles below party 1's loss."""
        good, words = [], []
        for level, trace in self.traces:
            before, after = _last_fifths(trace)
            words.append(f"{level:g}: {after:.4f} ({after / before - 1:+.1%})")
            if after < self.alone and abs(after / before - 1) <= _SETTLED:
                good.append(f"{level:g}")
        return bool(good), (
            f"{self.problem.title}: test log loss by noise level, mean over the last fifth of the "
            f"epochs (change from the fifth before): {', '.join(words)}; without noise "
            f"{self.clean.last_test_loss:.4f}, party 1 alone {self.alone:.4f}; settled within "
            f"{_SETTLED:.0%} and below party 1: {', '.join(good) or 'none'}"
        )

    def ruined(self) -> tuple[bool, str]:
        """Judge whether the largest level ends worse than a model of 0."""
        level, trace = self.traces[-1]
        _, after = _last_fifths(trace)
        return after > math.log(2), (
            f"{self.problem.title}: noise {level:g} ends at {after:.4f}; a model of 0 has "
            f"{math.log(2):.4f}"
        )


def noisy_runs(problem: Problem, epochs: int, request: Request) -> Noisy:
    """Return the runs of every noise level, at the penalty that is best without noise."""
    clean, penalty = admm_search(problem, epochs, request)[0]
    request.progress.start(f"noise, {problem.title}", len(NOISE_LEVELS))
    traces = []
    for level in NOISE_LEVELS:
        seed = stream(request.seed, problem.title, "noise", f"{level:g}")
        trace = admm(problem, penalty, level, epochs, request.runs or RUNS, seed)
        traces.append((level, trace))
        request.progress.advance(1)
    return Noisy(problem, penalty, clean, tuple(traces))


def _last_fifths(trace: Trace) -> tuple[float, float]:
    """Return the mean test log loss over the last fifth of the epochs but one, and the last."""
    loss = trace.test_loss.mean(axis=0)
    fifth = max(1, len(loss) // 5)
    return float(loss[-2 * fifth : -fifth].mean()), float(loss[-fifth:].mean())
