"""hu2020's Figures 1 and 2: ADMM sharing against FDML, on a9a and on wide data.

They are judged by the epochs to a gap, and by the test log losses at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from dpaudit.algorithms.sharing.figures import cards
from dpaudit.algorithms.sharing.figures.data import FigureProblem, census, wide
from dpaudit.algorithms.sharing.figures.runs import (
    A9A_NOTE,
    NOTES,
    RUNS,
    STEP_SIZES,
    Rivals,
    Trace,
    common_parameters,
    epochs_of,
    find_fastest_trace,
    make_rival_panel,
    search_rivals,
)
from dpaudit.execution import Silent, one_thread
from dpaudit.extension.figure import Figure
from dpaudit.plots import Panel
from dpaudit.reproduction.judgement import (
    Findings,
    Setting,
    SettingFinding,
    all_held,
    judge_all_settings,
    make_judgements,
    with_tried,
)
from dpaudit.reproduction.result import FigureRequest, Reproduction
from dpaudit.reproduction.spread import Mean

_GAPS = (0.1, 0.01, 0.001)  # share of the gap to the minimum at x = 0 that is left
_JUDGED_GAP = 0.01
_SLIGHTLY = 2.0  # times the epochs; the paper gives no number
_SAME = 0.005  # test log losses this close count as the same
_EARLY = (5, 10, 20)  # epochs after which the ends are compared as well
# Tried where a statement does not hold.
_WEIGHTS = (0.1, 10.0)
_SEEDS = (1,)

Ends = Callable[[Trace, Trace], SettingFinding]


@dataclass(frozen=True)
class Outcome:
    """The runs of both on one problem, and the evidence for the statements about them."""

    problem: FigureProblem
    rivals: Rivals

    def level(self, gap: float) -> float:
        """Return the objective that is ``gap`` of the way above the minimum; at x = 0 it is 1."""
        # A model of 0 has the log loss ln 2 on every record, and no regulariser.
        least = float(self.problem.objective(self.problem.central)[0])
        return least + gap * (math.log(2) - least)

    @property
    def admm_epochs(self) -> int | None:
        """Return the fewest epochs to the judged gap, over all of ADMM's parameters tried."""
        return find_fastest_trace(self.rivals.admm_tried, self.level(_JUDGED_GAP))[0]

    @property
    def fdml_epochs(self) -> int | None:
        """Return the fewest epochs to the judged gap, over all of FDML's parameters tried."""
        return find_fastest_trace(self.rivals.fdml_tried, self.level(_JUDGED_GAP))[0]

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
                fewest, whose = find_fastest_trace(tried, self.level(gap))
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
        ends = ", ".join(f"{trace.label} {Mean.of(trace.test_loss[:, -1])}" for trace in both)
        objectives = ", ".join(f"{trace.last_objective:.4f}" for trace in both)
        central, alone = (
            float(self.problem.test_loss(model)[0])
            for model in (self.problem.central, self.problem.first_party_model)
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

    def other_ends(self, name: str, judge: Ends) -> list[tuple[Setting, Findings]]:
        """Return the verdicts of ``judge`` on other parameters and fewer epochs of these runs."""
        admm, fdml = self.rivals.admm, self.rivals.fdml
        found: list[tuple[Setting, Findings]] = []
        for penalty, trace in sorted(self.rivals.by_penalty.items()):
            found.append(({"rho": penalty}, {name: judge(trace, fdml)}))
        for step_size in STEP_SIZES:
            best = self.rivals.with_step(step_size)
            found.append(({"FDML step": step_size}, {name: judge(admm, best)}))
        # A run that was shorter than this has no such end to judge.
        for epochs in (each for each in _EARLY if each < admm.objective.shape[1]):
            pair = [
                _select_best_short_trace(tried, epochs)
                for tried in (self.rivals.admm_tried, self.rivals.fdml_tried)
            ]
            found.append(({"epochs": epochs}, {name: judge(*pair)}))
        return found


def _select_best_short_trace(tried: tuple[Trace, ...], epochs: int) -> Trace:
    """Return the best trace, were there only so many epochs."""
    # The best parameter depends on the length of the run, so a shorter comparison chooses its own.
    cut = (
        replace(each, objective=each.objective[:, :epochs], test_loss=each.test_loss[:, :epochs])
        for each in tried
    )
    return min(cut, key=lambda trace: trace.score)


def judge_faster_finding(
    first: int | None, second: int | None, who: str, evidence: str
) -> SettingFinding:
    """Judge whether the first needs fewer epochs; None is never.

    Examples
    --------
    >>> (
    ...     judge_faster_finding(3, 5, "A's, less B's", "").held,
    ...     judge_faster_finding(3, None, "A's, less B's", "").number,
    ... )
    (True, None)
    """
    if first is None or second is None:
        held, number = first is not None, None
    else:
        held, number = first < second, float(first - second)
    return SettingFinding(
        held=held,
        number=number,
        measure=f"fewest epochs to a gap of {_JUDGED_GAP:.0%}: {who}",
        evidence=evidence,
    )


def judge_slightly_slower_finding(slow: int | None, fast: int | None) -> SettingFinding:
    """Judge whether the slow one needs few more epochs, at most `_SLIGHTLY` times as many.

    Examples
    --------
    >>> (
    ...     judge_slightly_slower_finding(3, 2).held,
    ...     judge_slightly_slower_finding(10, 1).held,
    ...     judge_slightly_slower_finding(None, 1).held,
    ... )
    (True, False, False)
    """
    # Who never reaches the level is slower than any count of epochs, so there is no ratio to judge.
    ratio = None if slow is None or fast is None else slow / fast
    return SettingFinding(
        held=slow is not None if ratio is None else ratio <= _SLIGHTLY,
        number=ratio,
        measure=f"fewest epochs to a gap of {_JUDGED_GAP:.0%}: ADMM's, over FDML's",
        evidence=f"fewest epochs to a gap of {_JUDGED_GAP:.0%}: ADMM {slow or 'never'}, FDML "
        f"{fast or 'never'}; up to {_SLIGHTLY:g} times as many counts as slightly, for which the "
        "paper has no number; the epochs to other gaps stand with the statement on who is slower",
    )


def better_end(admm: Trace, fdml: Trace) -> SettingFinding:
    """Judge whether ADMM's last test log loss is at most FDML's."""
    difference = admm.last_test_loss - fdml.last_test_loss
    return SettingFinding(
        held=difference <= 0, number=difference, measure="last test log loss, ADMM's less FDML's"
    )


def same_end(admm: Trace, fdml: Trace) -> SettingFinding:
    """Judge whether the last test log losses are the same."""
    difference = admm.last_test_loss - fdml.last_test_loss
    return replace(
        better_end(admm, fdml),
        held=abs(difference) <= _SAME,
        evidence=f"the same means within {_SAME:g}",
    )


# The figures


def figure1(request: FigureRequest) -> Reproduction:
    """Return Figure 1: a9a, training objective and test log loss by epoch."""
    notes = (*NOTES, A9A_NOTE)
    return _reproduce_comparison(
        cards.FIGURE_1, lambda _: (census(request), notes), _judge_census_findings, request
    )


def figure2(request: FigureRequest) -> Reproduction:
    """Return Figure 2: gisette or its stand-in, training objective and test log loss by epoch."""

    def records(asked: FigureRequest) -> tuple[FigureProblem, tuple[str, ...]]:
        problem, notes = wide(asked)
        return problem, (*NOTES, *notes)

    return _reproduce_comparison(cards.FIGURE_2, records, _judge_wide_findings, request)


def _judge_census_findings(outcome: Outcome) -> Findings:
    fdml, admm = outcome.fdml_epochs, outcome.admm_epochs
    same = same_end(outcome.rivals.admm, outcome.rivals.fdml)
    return {
        "slower on a9a": judge_faster_finding(fdml, admm, "FDML's, less ADMM's", outcome.speed()),
        "only slightly": judge_slightly_slower_finding(admm, fdml),
        "same end": replace(same, evidence=f"{outcome.ends()}; {same.evidence}"),
    }


def _judge_wide_findings(outcome: Outcome) -> Findings:
    epochs = outcome.admm_epochs, outcome.fdml_epochs
    better = better_end(outcome.rivals.admm, outcome.rivals.fdml)
    return {
        "fewer epochs": judge_faster_finding(*epochs, "ADMM's, less FDML's", outcome.speed()),
        "better end": replace(better, evidence=outcome.ends()),
    }


def _reproduce_comparison(
    card: Figure,
    records: Callable[[FigureRequest], tuple[FigureProblem, tuple[str, ...]]],
    judge: Callable[[Outcome], Findings],
    request: FigureRequest,
) -> Reproduction:
    problem, notes = records(request)
    outcome = _run_rival_outcome(problem, request)
    judged = make_judgements(card.statements, judge(outcome))
    last = list(card.statements)[-1]  # about the end, which runs at hand say more of
    others = outcome.other_ends(last, better_end if last == "better end" else same_end)
    if not all_held(judged):
        others += _run_again(records, judge, request)
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=_make_rival_panels(outcome),
        judgements=with_tried(judged, card.statements, others),
        parameters=problem.parameters() | common_parameters(request) | {"tried": outcome.tried()},
        notes=notes,
    )


def _run_rival_outcome(problem: FigureProblem, request: FigureRequest) -> Outcome:
    return Outcome(
        problem, search_rivals(problem, epochs_of(request), request.runs or RUNS, request)
    )


def _run_again(
    records: Callable[[FigureRequest], tuple[FigureProblem, tuple[str, ...]]],
    judge: Callable[[Outcome], Findings],
    request: FigureRequest,
) -> list[tuple[Setting, Findings]]:
    """Return the findings with other regulariser weights and seeds: each is a whole comparison."""
    # The other comparisons are whole runs, whose own progress would bury that of the one at hand.
    quiet = replace(request, progress=Silent())

    def at(other: Setting) -> Findings:
        asked = replace(quiet, seed=request.seed + other.get("seed, more by", 0))
        problem, _ = records(asked)
        weight = other.get("lambda, times 1/N", 1.0)
        return judge(_run_rival_outcome(replace(problem, regulariser=weight), asked))

    settings: list[Setting] = [{"lambda, times 1/N": weight} for weight in _WEIGHTS]
    settings += [{"seed, more by": more} for more in _SEEDS]
    return judge_all_settings(settings, at, request.progress)


def _make_rival_panels(outcome: Outcome) -> tuple[Panel, Panel]:
    problem, both = outcome.problem, (outcome.rivals.admm, outcome.rivals.fdml)
    with one_thread():
        objectives = [
            problem.objective(model) for model in (problem.central, problem.first_party_model)
        ]
        losses = [
            problem.test_loss(model) for model in (problem.central, problem.first_party_model)
        ]
    return (
        make_rival_panel(
            f"(a) training, {problem.title}",
            "training objective",
            [(trace.label, trace.objective) for trace in both],
            objectives,
            log_y=True,
        ),
        make_rival_panel(
            f"(b) test, {problem.title}",
            "test log loss",
            [(trace.label, trace.test_loss) for trace in both],
            losses,
            log_y=True,
        ),
    )
