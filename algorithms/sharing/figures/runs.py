"""Draws the figures of hu2020 again: ADMM sharing against FDML, and under noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dpaudit.algorithms.sharing.figures import cards as hu2020
from dpaudit.algorithms.sharing.figures.data import Problem, census, places, wide
from dpaudit.algorithms.sharing.figures.drawing import panel
from dpaudit.algorithms.sharing.figures.noise import NOISE_LEVELS, noisy_runs, together
from dpaudit.algorithms.sharing.figures.outcome import (
    Outcome,
    better_end,
    faster,
    same_end,
    slightly,
)
from dpaudit.algorithms.sharing.figures.search import RUNS, grids, rivals
from dpaudit.drawing import Panel
from dpaudit.execution import Silent, one_thread
from dpaudit.extension.figure import Figure
from dpaudit.reproduction.judgement import (
    Findings,
    Setting,
    all_held,
    judgements,
    sweep,
    with_tried,
)
from dpaudit.reproduction.result import Reproduction, Request

_WEIGHTS, _SEEDS = (0.1, 10.0), (1,)  # tried where a statement does not hold

_NOTES = (
    "The paper gives neither the regulariser's weight, rho, FDML's step and batch sizes nor the "
    "noise levels: lambda is 1/N (scikit-learn's default), rho and FDML's parameters are the best "
    "of those tried, by training objective.",
    "An epoch is an iteration of ADMM, or a pass of FDML over all samples. ADMM's first iteration "
    "leaves every model at 0, plus noise.",
)
_A9A_NOTE = "Rows of a9a are divided by their norm, which the paper does not do."


def _epochs(request: Request) -> int:
    return 200 if request.full else 50


def figure1(request: Request) -> Reproduction:
    """Return Figure 1: a9a, training objective and test log loss by epoch."""
    notes = (*_NOTES, _A9A_NOTE)
    return _comparison(hu2020.FIGURE_1, lambda _: (census(request), notes), _findings1, request)


def figure2(request: Request) -> Reproduction:
    """Return Figure 2: gisette or its stand-in, training objective and test log loss by epoch."""

    def records(asked: Request) -> tuple[Problem, tuple[str, ...]]:
        problem, notes = wide(asked)
        return problem, (*_NOTES, *notes)

    return _comparison(hu2020.FIGURE_2, records, _findings2, request)


def _findings1(outcome: Outcome) -> Findings:
    fdml, admm = outcome.fdml_epochs, outcome.admm_epochs
    same = same_end(outcome.rivals.admm, outcome.rivals.fdml)
    return {
        "slower on a9a": faster(fdml, admm, "FDML's, less ADMM's", outcome.speed()),
        "only slightly": slightly(admm, fdml),
        "same end": replace(same, evidence=f"{outcome.ends()}; {same.evidence}"),
    }


def _findings2(outcome: Outcome) -> Findings:
    epochs = outcome.admm_epochs, outcome.fdml_epochs
    better = better_end(outcome.rivals.admm, outcome.rivals.fdml)
    return {
        "fewer epochs": faster(*epochs, "ADMM's, less FDML's", outcome.speed()),
        "better end": replace(better, evidence=outcome.ends()),
    }


def figure3(request: Request) -> Reproduction:
    """Return Figure 3: test log loss by epoch with noise on the models, a9a and wide data."""
    asked = [replace(request, data_path=place) for place in places(request.data_path)]
    census_problem, (wide_problem, notes) = census(asked[0]), wide(asked[1])
    epochs, card = _epochs(request), hu2020.FIGURE_3
    noisy = [noisy_runs(problem, epochs, request) for problem in (census_problem, wide_problem)]
    parameters: dict[str, object] = {
        "problems": [
            each.problem.parameters() | {"rho, times 1/N": each.penalty} for each in noisy
        ],
        "noise": "parameter",
        "noise levels, over the root mean squared norm": list(NOISE_LEVELS),
    }
    levels = [row for each in noisy for row in each.by_level()]
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=tuple(each.panel() for each in noisy),
        judgements=with_tried(
            judgements(card.statements, together(noisy)), card.statements, levels
        ),
        parameters=parameters | _common(request),
        notes=(*_NOTES, _A9A_NOTE, *notes),
    )


# --- Figures 1 and 2 -----------------------------------------------------------------------


def _comparison(
    card: Figure,
    records: Callable[[Request], tuple[Problem, tuple[str, ...]]],
    judge: Callable[[Outcome], Findings],
    request: Request,
) -> Reproduction:
    problem, notes = records(request)
    outcome = _outcome(problem, request)
    judged = judgements(card.statements, judge(outcome))
    last = list(card.statements)[-1]  # about the end, which runs at hand say more of
    others = outcome.other_ends(last, better_end if last == "better end" else same_end)
    if not all_held(judged):
        others += _run_again(records, judge, request)
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=_panels(outcome),
        judgements=with_tried(judged, card.statements, others),
        parameters=problem.parameters() | _common(request) | {"tried": outcome.tried()},
        notes=notes,
    )


def _outcome(problem: Problem, request: Request) -> Outcome:
    return Outcome(problem, rivals(problem, _epochs(request), request.runs or RUNS, request))


def _run_again(
    records: Callable[[Request], tuple[Problem, tuple[str, ...]]],
    judge: Callable[[Outcome], Findings],
    request: Request,
) -> list[tuple[Setting, Findings]]:
    """Return what other regulariser weights, and other seeds, say: each is a whole comparison."""
    quiet = replace(request, progress=Silent())

    def at(other: Setting) -> Findings:
        asked = replace(quiet, seed=request.seed + other.get("seed, more by", 0))
        problem, _ = records(asked)
        weight = other.get("lambda, times 1/N", 1.0)
        return judge(_outcome(replace(problem, regulariser=weight), asked))

    settings: list[Setting] = [{"lambda, times 1/N": weight} for weight in _WEIGHTS]
    settings += [{"seed, more by": more} for more in _SEEDS]
    return sweep(settings, at, request.progress)


def _panels(outcome: Outcome) -> tuple[Panel, Panel]:
    problem, both = outcome.problem, (outcome.rivals.admm, outcome.rivals.fdml)
    with one_thread():
        objectives = [problem.objective(model) for model in (problem.central, problem.alone)]
        losses = [problem.test_loss(model) for model in (problem.central, problem.alone)]
    return (
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


# --- all figures ---------------------------------------------------------------------------


def _common(request: Request) -> dict[str, object]:
    return {"epochs": _epochs(request), "runs": request.runs or RUNS} | grids()
