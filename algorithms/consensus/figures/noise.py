"""Draws Figures 2, 3 and 4 of Zhang, Khalili & Liu again: accuracy and privacy under noise.

Where Theorem 4.1 of Zhang, Khalili & Liu makes P(T), eq. (26), a bound on the privacy loss.

It asks for ``2 c_1 < (B_i/C)(rho/N + 2 theta V_i)`` at every node i: an upper limit on C, which the
paper does not give. The paper draws P(T) whether or not that holds, and so do the figures here,
which say where it does not. It is no empty number there: `dpaudit.algorithms.consensus.guarantees`
has a bound of our own that asks for no such condition and is never above eq. (26).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.figures import cards
from dpaudit.algorithms.consensus.figures.runs import (
    NOTE,
    REGULARISERS,
    WEIGHTS,
    ConsensusFigureSetting,
    average_losses,
    by_iteration,
)
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
from dpaudit.reproduction.spread import Mean, in_errors, is_clearly_ahead

OUTSIDE = "Theorem 4.1 does not apply"
_ROOM = 0.9  # of the largest C, for the one that is tried


def largest_weight(setting: ConsensusFigureSetting) -> float:
    """Return the C below which Theorem 4.1 applies."""
    algorithm = setting.algorithm(1.0)
    # The condition is asked in every iteration, so the smallest theta counts.
    stretch = 2 * algorithm.dual_steps.min(axis=0) * setting.graph.degrees
    ridge = setting.regulariser_weight / setting.data.nodes + stretch
    least = float(np.min(np.array(setting.data.node_sizes) * ridge))
    return least / (2 * algorithm.loss.largest_curvature)


def is_theorem41_applicable(setting: ConsensusFigureSetting) -> bool:
    """Return whether Theorem 4.1 applies; q1 of at least 1 and q2 do not matter."""
    return setting.algorithm(1.0).meets_theorem41(setting.data)


def fitting_weight(setting: ConsensusFigureSetting) -> float:
    """Return a C of two digits, somewhat below the largest."""
    aim = _ROOM * largest_weight(setting)
    # One unit of the second digit of the C that is aimed at.
    unit = 10.0 ** (math.floor(math.log10(aim)) - 1)
    return float(f"{math.floor(aim / unit) * unit:.6g}")


def bound_parameters(setting: ConsensusFigureSetting) -> dict[str, object]:
    """Return whether the theorem applies, and up to which C it would."""
    return {
        "meets_theorem41": is_theorem41_applicable(setting),
        "theorem41_holds_for_C_below": largest_weight(setting),
    }


def outside_note(setting: ConsensusFigureSetting) -> tuple[str, ...]:
    """Return the notes for a reader of P(T) where Theorem 4.1 does not apply."""
    if is_theorem41_applicable(setting):
        return ()
    return (
        f"{OUTSIDE} at C = {setting.loss_weight:g}: with {min(setting.data.node_sizes)} records at "
        f"the smallest node it asks for C below {largest_weight(setting):.4g}, so it does not make "
        "P(T) a bound on the privacy loss as drawn. P(T) is eq. (26) all the same, as the paper "
        f"draws it, and every statement is judged at C = {fitting_weight(setting):g} too, where "
        "the theorem applies. (A bound of our own without the condition is never above eq. (26): "
        "algorithms/guarantees/consensus.py.)",
    )


# (q1, q2): DVP keeps the penalty, so its q1 is 1.
_DVP = ((1.0, 1.0), (1.0, 1.02))
_PP = ((1.02, 1.0), (1.02, 1.02), (1.04, 1.02), (1.04, 1.04), (1.06, 1.03), (1.06, 1.06))
_LONG = 50
_SLOW_RUNS = 3  # of another setting on the large network
_SLOW_WEIGHTS = (50.0, 400.0)


@dataclass(frozen=True, kw_only=True)
class PenaltyCurve:
    """One pair (q1, q2): losses ``(R, T)``, eq. (26) ``(T,)``, and whether Theorem 4.1 applies."""

    method: str
    q1: float
    q2: float
    losses: Array
    bounds: Array
    applies: bool = True

    @property
    def label(self) -> str:
        """Its name in the legend."""
        return f"{self.method}, q1 = {self.q1:g}, q2 = {self.q2:g}"

    @property
    def loss(self) -> Mean:
        """The loss after the last iteration."""
        return Mean.of(self.losses[:, -1])

    @property
    def bound(self) -> float:
        """``P(T)``."""
        return float(self.bounds[-1])


def figure2(request: FigureRequest) -> Reproduction:
    """Return Figure 2: accuracy and privacy on five nodes, at alpha(1) = 3 and 5."""
    setting = ConsensusFigureSetting.of(request, nodes=5)
    return _reproduce_noise_comparison(cards.FIGURE_2, setting, (3.0, 5.0), request)


def figure3(request: FigureRequest) -> Reproduction:
    """Return Figure 3: 100 nodes, evenly spread."""
    return _reproduce_noise_comparison(
        cards.FIGURE_3, ConsensusFigureSetting.large(request), (3.0,), request
    )


def figure4(request: FigureRequest) -> Reproduction:
    """Return Figure 4: 100 nodes, unevenly spread."""
    setting, even = (ConsensusFigureSetting.large(request, even=even) for even in (False, True))
    drawn = _reproduce_noise_comparison(cards.FIGURE_4, setting, (3.0,), request)
    statements = cards.FIGURE_4.statements
    judged = make_judgements(statements, {"uneven costs": _judge_uneven_split(setting, even)})
    others = [
        (other, {"uneven costs": _judge_uneven_split(setting.at(other), even.at(other))})
        for other in _list_fitting_weights(setting)
    ]
    judged = with_tried(judged, statements, others)
    return replace(drawn, judgements=(*drawn.judgements, *judged))


def _judge_uneven_split(
    setting: ConsensusFigureSetting, even: ConsensusFigureSetting
) -> SettingFinding:
    both = setting, even
    uneven, evenly = (
        float(each.algorithm(1.0, 3.0).published_bounds(each.data)[-1]) for each in both
    )
    limit = min(largest_weight(each) for each in both)
    return SettingFinding(
        held=uneven > evenly,
        number=uneven / evenly,
        measure="P(T) unevenly, over P(T) evenly",
        evidence=f"P(T) of DVP, q2 = 1, C = {setting.loss_weight:g}: {uneven:.3g} unevenly, "
        f"{evenly:.3g} evenly; C and rho cancel from the ratio of these values of eq. (26), and "
        f"for C below {limit:.4g} Theorem 4.1 makes both a bound",
        caveat="" if all(map(is_theorem41_applicable, both)) else OUTSIDE,
    )


def _reproduce_noise_comparison(
    card: Figure, setting: ConsensusFigureSetting, alphas: Sequence[float], request: FigureRequest
) -> Reproduction:
    request.progress.start("running", len(alphas) * (len(_DVP) + len(_PP)) * setting.runs)
    drawn = {alpha: _run_noisy_pairs(setting, alpha, request) for alpha in alphas}
    panels: list[Panel] = []
    judged: list[StatementJudgement] = []
    for alpha, pairs in drawn.items():
        panels += _make_noise_panels(setting, alpha, pairs)
        found = make_judgements(card.statements, _judge_noise_findings(alpha, pairs))
        others = judge_all_settings(
            _list_tried_settings(setting, found, request),
            partial(_judge_at_setting, setting, alpha, replace(request, progress=Silent())),
            request.progress,
        )
        judged += with_tried(found, card.statements, others)
    return Reproduction(
        figure=card.name,
        title=card.title,
        source=card.source,
        panels=tuple(panels),
        judgements=tuple(judged),
        parameters=setting.parameters() | bound_parameters(setting),
        notes=(NOTE, *outside_note(setting)),
    )


def _run_noisy_pairs(
    setting: ConsensusFigureSetting, alpha: float, request: FigureRequest
) -> list[PenaltyCurve]:
    found = []
    for method, pairs in (("DVP", _DVP), ("PP", _PP)):
        for q1, q2 in pairs:
            algorithm = setting.algorithm(q1, alpha, q2)
            # A stream for every pair of q1 and q2 keeps a curve the same whichever others are
            # drawn.
            rng = default_rng(stream(request.seed, method, f"{q1} {q2} {alpha}"))
            losses = average_losses(algorithm, setting, rng)
            bounds = algorithm.published_bounds(setting.data)
            found.append(
                PenaltyCurve(
                    method=method,
                    q1=q1,
                    q2=q2,
                    losses=losses,
                    bounds=bounds,
                    applies=algorithm.meets_theorem41(setting.data),
                )
            )
            request.progress.advance(setting.runs)
    return found


def _list_tried_settings(
    setting: ConsensusFigureSetting, judged: Sequence[StatementJudgement], request: FigureRequest
) -> list[dict[str, Any]]:
    """Return the other settings to try: one parameter at a time, fewer if runs take long."""
    slow, fitting = request.full or setting.is_large, _list_fitting_weights(setting)
    if slow and all_held(judged):
        few = {"runs": min(setting.runs, _SLOW_RUNS)}
        weights = [] if request.full else [{"C": weight} for weight in _SLOW_WEIGHTS]
        return [each | few for each in (*fitting, *weights)]
    others: list[dict[str, Any]] = [*fitting]
    others += [{"C": c} for c in WEIGHTS if c != setting.loss_weight]
    others += [{"rho": r} for r in REGULARISERS if r != setting.regulariser_weight]
    if setting.iterations != _LONG:
        others.append({"iterations": _LONG})
    if slow:
        return [{"runs": min(setting.runs, _SLOW_RUNS)} | each for each in others]
    return others if all_held(judged) else [*others, {"runs": min(4 * setting.runs, MOST_RUNS)}]


def _list_fitting_weights(setting: ConsensusFigureSetting) -> list[dict[str, Any]]:
    """Return a C at which Theorem 4.1 applies, where it does not to the setting drawn."""
    return [] if is_theorem41_applicable(setting) else [{"C": fitting_weight(setting)}]


def _judge_at_setting(
    setting: ConsensusFigureSetting, alpha: float, request: FigureRequest, at: Mapping[str, Any]
) -> Findings:
    return _judge_noise_findings(alpha, _run_noisy_pairs(setting.at(at), alpha, request))


def _judge_noise_findings(alpha: float, pairs: Sequence[PenaltyCurve]) -> Findings:
    """Judge the two statements that all three figures share."""
    caveat = "" if all(each.applies for each in pairs) else OUTSIDE
    return {
        "both at once": replace(_judge_both_at_once(alpha, pairs), caveat=caveat),
        "trade-off": replace(_trade_off(alpha, pairs), caveat=caveat),
    }


def _judge_both_at_once(alpha: float, pairs: Sequence[PenaltyCurve]) -> SettingFinding:
    dvp, pp = ([each for each in pairs if each.method == method] for method in ("DVP", "PP"))
    ahead, words = [], []
    for theirs in dvp:
        # Of the PP runs that cost less than this DVP run, the one with the greatest lead is what
        # the paper promises to exist.
        private = [mine for mine in pp if mine.bound < theirs.bound]
        best = max(private, key=lambda mine: mine.loss.below(theirs.loss), default=None)
        # No lead at all where no PP run is as private: the statement then fails.
        ahead.append(best.loss.below(theirs.loss) if best else -np.inf)
        beside = f"{best.label}: {best.loss}, {best.bound:.3g}" if best else "no PP as private"
        words.append(f"{theirs.label}: {theirs.loss}, {theirs.bound:.3g} against {beside}")
    least = float(min(ahead))
    return SettingFinding(
        held=is_clearly_ahead(least),
        number=least,
        measure="least lead of PP, in standard errors",
        evidence=f"alpha(1) = {alpha:g}; mean loss and P(T): {'; '.join(words)}; least lead "
        f"{in_errors(least)}",
    )


def _trade_off(alpha: float, pairs: Sequence[PenaltyCurve]) -> SettingFinding:
    falls, words = [], []
    for q1 in sorted({each.q1 for each in pairs}):
        # At one q1 the runs are ordered by cost; the loss has to fall with every step up.
        ranked = sorted((each for each in pairs if each.q1 == q1), key=lambda each: each.bound)
        falls += [costlier.loss.below(cheaper.loss) for cheaper, costlier in pairwise(ranked)]
        ends = " to ".join(f"{each.loss}, {each.bound:.3g}" for each in ranked)
        words.append(f"q1 = {q1:g}: {ends}")
    least = min(falls)
    return SettingFinding(
        held=is_clearly_ahead(least),
        number=least,
        measure="least fall of the loss, in standard errors",
        evidence=f"alpha(1) = {alpha:g}; mean loss and P(T) at one penalty: {'; '.join(words)}; "
        f"least fall {in_errors(least)}",
    )


def _make_noise_panels(
    setting: ConsensusFigureSetting, alpha: float, pairs: Sequence[PenaltyCurve]
) -> tuple[Panel, Panel]:
    losses = [Curve.over_runs(each.label, setting.time, each.losses) for each in pairs]
    bounds = [Curve(label=each.label, x=setting.time, y=each.bounds.tolist()) for each in pairs]
    outside = "" if all(each.applies for each in pairs) else f" ({OUTSIDE})"
    return (
        by_iteration(f"accuracy, alpha(1) = {alpha:g}", losses),
        by_iteration(f"privacy, alpha(1) = {alpha:g}{outside}", bounds, "P(t)"),
    )
