"""Draws the figures of hu2020 again: ADMM sharing against FDML, and under noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from algorithms.figures import hu2020
from algorithms.figures.hu2020_data import Problem, census, wide
from algorithms.figures.hu2020_drawing import panel
from algorithms.figures.hu2020_noise import NOISE_LEVELS, noisy_runs
from algorithms.figures.hu2020_search import RUNS, Rivals, fastest, grids, rivals
from dpaudit.execution import one_thread
from dpaudit.reproduction.card import Figure
from dpaudit.reproduction.result import Judgement, Panel, Reproduction, Request

_GAPS = (0.1, 0.01, 0.001)  # share of the gap to the minimum at x = 0 that is left
_JUDGED_GAP = 0.01
_SAME = 0.005  # test log losses this close count as the same

_NOTES = (
    "The paper gives neither the regulariser's weight, rho, FDML's step and batch sizes nor the "
    "noise levels: lambda is 1/N (scikit-learn's default), rho and FDML's parameters are the best "
    "of those tried, by training objective.",
    "An epoch is an iteration of ADMM, or a pass of FDML over all samples. ADMM's first iteration "
    "leaves every model at 0, plus noise.",
)
_A9A_NOTE = "Rows of a9a are divided by their norm, which the paper does not do."

Judged = tuple[bool | None, str]


def _epochs(request: Request) -> int:
    return 200 if request.full else 50


def figure1(request: Request) -> Reproduction:
    """Return Figure 1: a9a, training objective and test log loss by epoch."""
    problem = census(request)
    outcome = _Outcome(problem, rivals(problem, _epochs(request), request.runs or RUNS, request))
    admm_end, fdml_end = outcome.rivals.admm.last_test_loss, outcome.rivals.fdml.last_test_loss
    same = abs(admm_end - fdml_end) <= _SAME
    judged = (
        (
            _fewer(outcome.fdml_epochs, outcome.admm_epochs),
            f"{outcome.speed()}; judged is slower, not how much of it is 'slightly'",
        ),
        (same, f"{outcome.ends()}; the same means within {_SAME:g}"),
    )
    return _comparison(hu2020.FIGURE_1, outcome, judged, (*_NOTES, _A9A_NOTE), request)


def figure2(request: Request) -> Reproduction:
    """Return Figure 2: gisette or its stand-in, training objective and test log loss by epoch."""
    problem, notes = wide(request)
    outcome = _Outcome(problem, rivals(problem, _epochs(request), request.runs or RUNS, request))
    better = outcome.rivals.admm.last_test_loss <= outcome.rivals.fdml.last_test_loss
    judged = (
        (_fewer(outcome.admm_epochs, outcome.fdml_epochs), outcome.speed()),
        (better, outcome.ends()),
    )
    return _comparison(hu2020.FIGURE_2, outcome, judged, (*_NOTES, *notes), request)


def figure3(request: Request) -> Reproduction:
    """Return Figure 3: test log loss by epoch with noise on the models, a9a and wide data."""
    (wide_problem, notes), epochs = wide(request), _epochs(request)
    noisy = [noisy_runs(problem, epochs, request) for problem in (census(request), wide_problem)]
    moderate, ruined = [each.moderate() for each in noisy], [each.ruined() for each in noisy]
    parameters: dict[str, object] = {
        "problems": [
            each.problem.parameters() | {"rho, times 1/N": each.penalty} for each in noisy
        ],
        "noise": "parameter",
        "noise levels, over the root mean squared norm": list(NOISE_LEVELS),
    }
    return _reproduction(
        hu2020.FIGURE_3,
        tuple(each.panel() for each in noisy),
        (
            (all(held for held, _ in moderate), "; ".join(words for _, words in moderate)),
            (all(held for held, _ in ruined), "; ".join(words for _, words in ruined)),
        ),
        parameters | _common(request),
        (*_NOTES, _A9A_NOTE, *notes),
    )


def _fewer(first: int | None, second: int | None) -> bool:
    return first is not None and (second is None or first < second)


# --- Figures 1 and 2 -----------------------------------------------------------------------


@dataclass(frozen=True)
class _Outcome:
    problem: Problem
    rivals: Rivals

    def level(self, gap: float) -> float:
        """Return the objective that is ``gap`` of the way above the minimum; at x = 0 it is 1."""
        least = float(self.problem.objective(self.problem.central)[0])
        return least + gap * (math.log(2) - least)

    @property
    def admm_epochs(self) -> int | None:
        """Return the fewest epochs to the judged gap, over all of ADMM's parameters tried."""
        return fastest(self.rivals.admm_tried, self.level(_JUDGED_GAP))[0]

    @property
    def fdml_epochs(self) -> int | None:
        """Return the fewest epochs to the judged gap, over all of FDML's parameters tried."""
        return fastest(self.rivals.fdml_tried, self.level(_JUDGED_GAP))[0]

    def speed(self) -> str:
        """Return the fewest epochs to each gap in words."""
        epochs = self.rivals.admm.objective.shape[1]
        parts = []
        for gap in _GAPS:
            both = []
            for name, tried in (
                ("ADMM", self.rivals.admm_tried),
                ("FDML", self.rivals.fdml_tried),
            ):
                fewest, whose = fastest(tried, self.level(gap))
                both.append(f"{name} never" if fewest is None else f"{whose} {fewest}")
            parts.append(f"to {gap:.1%}: " + " against ".join(both))
        ends = ", ".join(
            f"{trace.label} {trace.last_objective:.4f}"
            for trace in (self.rivals.admm, self.rivals.fdml)
        )
        return (
            f"{self.problem.title}: fewest epochs, of {epochs} and of all parameters tried, until "
            f"the objective's gap to the minimum has shrunk from that at x = 0 "
            f"({_JUDGED_GAP:.0%} is judged): {'; '.join(parts)}; objective after the last epoch, "
            f"drawn parameters: {ends}; minimum {self.level(0.0):.4f}"
        )

    def ends(self) -> str:
        """Return the last test log losses in words, with the objectives they go with."""
        both = (self.rivals.admm, self.rivals.fdml)
        ends = ", ".join(f"{trace.label} {trace.last_test_loss:.4f}" for trace in both)
        objectives = ", ".join(f"{trace.last_objective:.4f}" for trace in both)
        central, alone = (
            float(self.problem.test_loss(model)[0])
            for model in (self.problem.central, self.problem.alone)
        )
        return (
            f"{self.problem.title}: test log loss after the last epoch: {ends}; "
            f"all features centrally {central:.4f}, party 1 alone {alone:.4f}; "
            f"training objectives there: {objectives}, minimum {self.level(0.0):.4f}"
        )

    def tried(self) -> list[dict[str, object]]:
        """Return a row for everything tried."""
        return [
            {
                "run": trace.label,
                "objective, last fifth": trace.score,
                "last objective": trace.last_objective,
                "last test log loss": trace.last_test_loss,
                "epochs to judged gap": trace.epochs_to(self.level(_JUDGED_GAP)),
            }
            for trace in (*self.rivals.admm_tried, *self.rivals.fdml_tried)
        ]


def _comparison(
    card: Figure,
    outcome: _Outcome,
    judged: Sequence[Judged],
    notes: Iterable[str],
    request: Request,
) -> Reproduction:
    problem, both = outcome.problem, (outcome.rivals.admm, outcome.rivals.fdml)
    with one_thread():
        objectives = [problem.objective(model) for model in (problem.central, problem.alone)]
        losses = [problem.test_loss(model) for model in (problem.central, problem.alone)]
    panels = (
        panel(
            f"(a) training, {problem.title}",
            "training objective",
            [(trace.label, trace.objective) for trace in both],
            objectives,
            log_y=True,
        ),
        panel(
            f"(b) test, {problem.title}",
            "test log loss",
            [(trace.label, trace.test_loss) for trace in both],
            losses,
            log_y=True,
        ),
    )
    parameters = problem.parameters() | _common(request) | {"tried": outcome.tried()}
    return _reproduction(card, panels, judged, parameters, notes)


# --- all figures ---------------------------------------------------------------------------


def _common(request: Request) -> dict[str, object]:
    return {"epochs": _epochs(request), "runs": request.runs or RUNS} | grids()


def _reproduction(
    card: Figure,
    panels: tuple[Panel, ...],
    judged: Sequence[Judged],
    parameters: dict[str, object],
    notes: Iterable[str],
) -> Reproduction:
    pairs = zip(card.statements.values(), judged, strict=True)
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=panels,
        judgements=tuple(
            Judgement(statement=statement, held=held, evidence=evidence)
            for statement, (held, evidence) in pairs
        ),
        parameters=parameters,
        notes=tuple(notes),
    )
