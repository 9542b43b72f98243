"""``dpaudit attack`` with a distinguisher: an audit by the event bound that tries no other."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from dpaudit.execution import Executor, Progress
from dpaudit.extension.attack import Cell, Findings
from dpaudit.extension.settings import WORST_CASE, Settings
from dpaudit.plots import Curve, Panel
from dpaudit.report.schema import Result, TradeOffCurves

# The false-alarm rate at which attacks are usually compared in the literature on membership.
_RATE = 0.05


class DistinguishParameters(BaseModel):
    """The claim that is attacked, and how often its mechanism runs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    claim: str = Field(description="whose mechanism and pair are attacked; see list")
    epsilon: float = Field(1.0, description="that is claimed")
    delta: float = Field(1e-5, description="that is claimed")
    data: str = Field(WORST_CASE, description="records, where the claim takes any")
    trials: int | None = Field(None, description="outputs of each dataset [the claim's]")
    confidence: float = Field(0.95, description="of the certified epsilon")
    parameters: dict[str, Any] = Field(default_factory=dict, description="the claim's own, as JSON")


def tell_apart(
    name: str, parameters: DistinguishParameters, seed: int, progress: Progress
) -> Findings:
    """Return the bound that the distinguisher certifies for a claim's pair, and its error rates.

    Raises
    ------
    UnknownName, InvalidArgument, DataError, MechanismError
        As an audit does.
    """
    from dpaudit.auditing.run import run_claim

    given = parameters.model_dump()
    claim = given.pop("claim")
    settings = Settings(estimator="event", distinguisher=name, seed=seed, **given)
    result = run_claim(claim, settings, Executor(progress=progress)).result
    curves = result.trade_off
    return Findings(
        rows=[_make_distinguisher_row(result, curves)],
        reading=[result.reason, *result.notes],
        chance=f"nothing is certified, and {_RATE:.0%} of the dataset's outputs are detected",
        panels=()
        if curves is None or curves.measured is None
        else (_make_error_rate_panel(curves),),
    )


def _make_distinguisher_row(result: Result, curves: TradeOffCurves | None) -> dict[str, Cell]:
    missed = None if curves is None else _get_missed_rate(curves)
    return {
        "claim": result.claim,
        "claimed": result.claimed.epsilon,
        "certified": result.measured.lower,
        "estimate": result.measured.estimate,
        f"told at {_RATE:.0%} false alarms": None if missed is None else 1 - missed,
        "transcripts": result.trials,
    }


def _get_missed_rate(curves: TradeOffCurves) -> float | None:
    """Return the false-negative rate at `_RATE`."""
    at = min(
        range(len(curves.false_positive_rate)), key=lambda i: _compute_rate_distance(curves, i)
    )
    return None if curves.measured is None else curves.measured[at]


def _compute_rate_distance(curves: TradeOffCurves, i: int) -> float:
    return abs(curves.false_positive_rate[i] - _RATE)


def _make_error_rate_panel(curves: TradeOffCurves) -> Panel:
    rates = curves.false_positive_rate
    # NaN leaves a gap in the curve; a 0 would be drawn as an attack that misses nothing.
    seen = [math.nan if rate is None else rate for rate in curves.measured or ()]
    drawn = {"measured": seen, "claimed": curves.claimed, "chance": [1 - rate for rate in rates]}
    return Panel(
        title="error rates of the attack",
        x_label="false-positive rate",
        y_label="false-negative rate",
        curves=tuple(
            Curve(label=label, x=rates, y=values) for label, values in drawn.items() if values
        ),
    )
