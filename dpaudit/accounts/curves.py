"""Pictures of an account: epsilon against the number of releases, and the trade-off curve."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpaudit.accounting.accountants import ask_all, select_strongest_answer
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.accounts.target import AccountTarget
from dpaudit.execution import Progress
from dpaudit.plots import Curve, Panel

_DRAWN = ("basic", "advanced", "optimal", "zCDP", "Renyi", "proved")
_LENGTHS = 10
_LINES = 24
_RATES = 60


def build_account_panels(
    target: AccountTarget, delta: float, progress: Progress
) -> tuple[Panel, Panel]:
    """Return epsilon against the number of releases, and the trade-off curve."""
    lengths = sorted({round(x) for x in np.geomspace(1, max(target.length, 10), _LENGTHS)})
    progress.start("accounting", len(lengths) + 1)
    growth = _build_growth_panel(target, delta, lengths, progress)
    trade_off = _trade_off(target)
    progress.advance(1)
    return growth, trade_off


def _build_growth_panel(
    target: AccountTarget, delta: float, lengths: list[int], progress: Progress
) -> Panel:
    points: dict[str, list[tuple[int, float]]] = {name: [] for name in (*_DRAWN, "published")}
    for length in lengths:
        answers = ask_all(target.at(length), delta)
        best = select_strongest_answer(answers)
        proved = [] if best is None else [replace(best, accountant="proved")]
        for answer in (*answers, *proved):
            if answer.accountant in points and answer.upper is not None:
                points[answer.accountant].append((length, answer.upper))
        formula = target.compute_formula_at(length, delta)
        if formula is not None:
            points["published"].append((length, formula.epsilon))
        progress.advance(1)
    curves = [_make_accountant_curve(name, found) for name, found in points.items()]
    return Panel(
        title=f"epsilon at delta = {delta:g}",
        x_label="releases" if len(target.parts) == 1 else "repetitions of the sequence",
        y_label="epsilon",
        curves=tuple(curve for curve in curves if curve is not None),
        log_x=True,
        log_y=True,
    )


def _make_accountant_curve(name: str, points: list[tuple[int, float]]) -> Curve | None:
    # The axis is logarithmic.
    kept = [(x, y) for x, y in points if 0 < y < math.inf]
    if not kept:
        return None
    return Curve(label=name, x=[float(x) for x, _ in kept], y=[y for _, y in kept])


def _trade_off(target: AccountTarget) -> Panel:
    """Return the lower envelope of lines that no attack goes below (Wasserman & Zhou 2010)."""
    guarantee = proved_guarantee(target.event)
    # Beyond a delta of 1e-6, lines touch the curve where a picture shows nothing; 50 is for an
    # epsilon that is infinite there.
    top = min(guarantee.epsilon(1e-6), 50.0)
    epsilons = np.linspace(0, top, _LINES)
    deltas = np.array([guarantee.delta(float(epsilon)) for epsilon in epsilons])
    rates = np.concatenate([[0.0], np.geomspace(1e-4, 1, _RATES)])
    # Each point bounds the errors twice, as either dataset may be the null hypothesis.
    steep = 1 - deltas[:, None] - np.exp(epsilons)[:, None] * rates
    shallow = np.exp(-epsilons)[:, None] * (1 - deltas[:, None] - rates)
    least = np.maximum(np.maximum(steep, shallow).max(axis=0), 0)
    return Panel(
        title="no attack does better than this",
        x_label="false-positive rate",
        y_label="false-negative rate",
        curves=(
            Curve(label="proved", x=rates.tolist(), y=least.tolist()),
            Curve(label="nothing revealed", x=[0.0, 1.0], y=[1.0, 0.0]),
        ),
    )
