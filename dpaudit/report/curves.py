"""Pictures of curves, as SVG text: delta against epsilon, an attack's trade-off, a wealth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InvalidArgument
from dpaudit.palette import COUNTED, EDGE, FAINT, INK, PAGE
from dpaudit.report.charts import (
    CLAIMED,
    CLAIMED_MARK,
    DATASET,
    MEASURED,
    NEIGHBOUR,
    PROVED,
    Picture,
    number_ticks,
    plain_ticks,
    render_svg,
)
from dpaudit.report.counts import ScoreCounts, WealthPath
from dpaudit.report.formatting import format_percent, format_significant
from dpaudit.report.law import NoisyLine, ReadLaw
from dpaudit.report.schema import DeltaCurves, Result, TradeOffCurves

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = (5.0, 4.1)
_MOST_LINES = 30
Points = Sequence[float | None]


def delta_against_epsilon(result: Result, *, prefix: str = "delta") -> str:
    """Return the picture of `show_delta` as one ``svg`` element."""
    return render_svg(show_delta(result), prefix=prefix)


def show_delta(result: Result) -> Picture:
    """Return delta against epsilon on a logarithmic axis: claimed, proved, certified.

    Where the band has no upper end, only its lower edge is drawn.

    Raises
    ------
    InvalidArgument
        If the result has no such curves.
    """
    curves = result.delta_curves
    if curves is None or not curves.epsilon:
        raise InvalidArgument("result.delta_curves", curves, "curves with at least one point")
    names = _format_curve_names(
        claimed=curves.claimed, proved=curves.proved, certified=curves.band_lower
    )
    label = f"delta against epsilon for {result.claim}: {names}."
    draw = partial(_draw_delta, result=result, curves=curves)
    return Picture(name="delta", draw=draw, size=SIZE, label=label)


def trade_off(result: Result, *, prefix: str = "trade-off") -> str:
    """Return the picture of `show_trade_off` as one ``svg`` element."""
    return render_svg(show_trade_off(result), prefix=prefix)


def show_trade_off(result: Result) -> Picture:
    """Return false negatives against false positives: claimed, proved, and the attack that ran.

    The axes are logarithmic where the curves would otherwise hug them.

    Raises
    ------
    InvalidArgument
        If the result has no such curves.
    """
    curves = result.trade_off
    if curves is None or not curves.false_positive_rate:
        raise InvalidArgument("result.trade_off", curves, "curves with at least one point")
    names = _format_curve_names(
        claimed=curves.claimed, proved=curves.proved, measured=curves.measured
    )
    label = f"False-negative rate against false-positive rate for {result.claim}: {names}."
    draw = partial(_draw_trade_off, curves=curves)
    return Picture(name="trade_off", draw=draw, size=SIZE, label=label)


def render_wealth(path: WealthPath, *, prefix: str = "wealth") -> str:
    """Return the picture of `show_wealth` as one ``svg`` element."""
    return render_svg(show_wealth(path), prefix=prefix)


def show_wealth(path: WealthPath) -> Picture:
    """Return the wealth of bets against a claim over the outputs, and where it refutes.

    Raises
    ------
    InvalidArgument
        If the path is empty.
    """
    if not path.transcripts:
        raise InvalidArgument("path", path, "a path with at least one point")
    after = path.refuted_after
    ended = "the claim is not refuted" if after is None else f"refuted after {after} outputs"
    label = f"Wealth of bets against the claim over outputs of each dataset: {ended}."
    return Picture(name="wealth", draw=partial(_draw_wealth, path=path), size=SIZE, label=label)


def render_scores(counts: ScoreCounts, *, prefix: str = "scores") -> str:
    """Return the picture of `show_scores` as one ``svg`` element."""
    return render_svg(show_scores(counts), prefix=prefix)


def show_scores(counts: ScoreCounts) -> Picture:
    """Return how the scores of either side lie around the threshold of the event.

    Raises
    ------
    InvalidArgument
        If there are none.
    """
    if len(counts.edges) < 2:
        raise InvalidArgument("counts", counts, "at least one bin")
    side = "above" if counts.above else "below"
    hits = [_compute_event_share(counts, ones) for ones in (counts.on_dataset, counts.on_neighbour)]
    label = (
        f"Scores of outputs around the threshold: {format_percent(hits[0])} of the dataset's and "
        f"{format_percent(hits[1])} of the neighbour's are {side} it."
    )
    return Picture(name="scores", draw=partial(_draw_scores, counts=counts), size=SIZE, label=label)


def show_law(law: ReadLaw) -> Picture:
    """Return which share of the expected privacy loss each line of a law leaks, undrawn.

    Raises
    ------
    InvalidArgument
        If it has no line.
    """
    if not law.lines:
        raise InvalidArgument("law", law, "at least one line")
    lines = law.lines[:_MOST_LINES]
    said = ", ".join(f"{one.place} {format_percent(one.share)}" for one in lines)
    size = (SIZE[0], 1.0 + 0.35 * len(lines))
    label = f"Share of the expected privacy loss by line: {said}."
    return Picture(name="law", draw=partial(_draw_law, lines=lines), size=size, label=label)


def _draw_law(axes: Axes, lines: Sequence[NoisyLine]) -> None:
    shares = [100 * one.share for one in lines]
    axes.barh(range(len(lines)), shares, color=PROVED["color"], height=0.7)
    axes.set_yticks(range(len(lines)), [one.place for one in lines], parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlim(0.0, 100.0)
    axes.set_xlabel("share of the expected privacy loss in %")
    axes.grid(axis="y", visible=False)
    number_ticks(axes.xaxis)


def _compute_event_share(counts: ScoreCounts, ones: Sequence[int]) -> float:
    """Return the share of scores in the event."""
    lows = counts.edges[:-1]
    # The threshold, 0, is an edge of a bin, so that every bin lies on one side of it.
    inside = sum(n for low, n in zip(lows, ones, strict=True) if (low >= 0) == counts.above)
    return inside / max(sum(ones), 1)


def _draw_scores(axes: Axes, counts: ScoreCounts) -> None:
    left, right = counts.edges[0], counts.edges[-1]
    event = (0.0, right) if counts.above else (left, 0.0)
    axes.axvspan(*event, color=COUNTED, zorder=0, linewidth=0, label="counted")
    axes.axvline(0.0, color=FAINT, lw=1)
    for name, ones, look in (
        ("dataset", counts.on_dataset, DATASET),
        ("neighbour", counts.on_neighbour, NEIGHBOUR),
    ):
        shares = [n / max(sum(ones), 1) for n in ones]
        axes.stairs(shares, counts.edges, label=f"outputs of the {name}", **look)
    axes.set_xlim(left, right)
    axes.set_ylim(bottom=0.0)
    axes.set_xlabel("score from the threshold, in spreads of all scores")
    axes.set_ylabel("share of the outputs")
    number_ticks(axes.xaxis)
    number_ticks(axes.yaxis)
    _legend_above(axes)


def _draw_wealth(axes: Axes, path: WealthPath) -> None:
    axes.plot(path.transcripts, path.log10_wealth, **MEASURED, label="wealth against the claim")
    axes.axhline(path.log10_goal, **CLAIMED, label="refutes the claim")
    if path.refuted_after is not None:
        look: dict[str, Any] = {"color": INK, "markersize": 8, "zorder": 5}
        label = f"refuted after {path.refuted_after}"
        axes.plot([path.refuted_after], [path.log10_goal], "o", **look, label=label)
    axes.set_xlabel("outputs of each dataset")
    axes.set_ylabel("log10 of the wealth")
    number_ticks(axes.xaxis)
    number_ticks(axes.yaxis)
    _legend_above(axes)


def _format_curve_names(**curves: Points | None) -> str:
    return ", ".join(name for name, curve in curves.items() if curve) or "no curve"


def _draw_delta(axes: Axes, result: Result, curves: DeltaCurves) -> None:
    claimed = result.claimed
    bottom = _delta_floor(curves, claimed.delta)
    axes.set_yscale("log")
    axes.set_ylim(bottom, 2.0)
    _draw_delta_band(axes, curves, bottom)
    if curves.proved is not None:
        axes.plot(
            curves.epsilon, _remove_below_bottom(curves.proved, bottom), **PROVED, label="proved"
        )
    if curves.claimed is not None:
        _draw_claimed_curve(axes, curves.epsilon, curves.claimed, bottom)
    if claimed.epsilon is not None and math.isfinite(claimed.epsilon):
        _draw_claimed_mark(axes, claimed.epsilon, claimed.delta or 0.0, bottom)
    axes.set_xlabel("ε")
    axes.set_ylabel("δ (log scale)")
    plain_ticks(axes.yaxis)
    _legend_above(axes)


def _draw_claimed_curve(
    axes: Axes, epsilon: Sequence[float], claimed: Sequence[float], bottom: float
) -> None:
    hidden = (
        ""
        if any(value >= bottom for value in claimed)
        else f" (below {format_significant(bottom)})"
    )
    axes.plot(epsilon, _remove_below_bottom(claimed, bottom), **CLAIMED, label=f"claimed{hidden}")


def _draw_claimed_mark(axes: Axes, epsilon: float, delta: float, bottom: float) -> None:
    label = f"claimed: ε = {format_significant(epsilon)}, δ = {format_significant(delta)}"
    axes.plot(
        [epsilon],
        [max(delta, bottom)],
        CLAIMED_MARK if delta >= bottom else "v",
        color=CLAIMED["color"],
        markeredgecolor=PAGE,
        markersize=10,
        clip_on=False,
        zorder=5,
        label=label,
    )


def _draw_delta_band(axes: Axes, curves: DeltaCurves, bottom: float) -> None:
    if curves.band_lower is None:
        return
    sure = "" if curves.band_confidence is None else f" ({format_percent(curves.band_confidence)})"
    upper = curves.band_upper or [None] * len(curves.epsilon)
    has_upper = [end is not None for end in upper]
    # On top of the proved curve, which a narrow band would otherwise hide behind.
    edge: dict[str, Any] = {"color": INK, "linewidth": 1.2, "linestyle": (0, (1, 1.5)), "zorder": 4}
    lower = [max(value, bottom) for value in curves.band_lower]
    if any(has_upper):
        # A logarithmic axis has no place for 0: what lies below the bottom is drawn at it.
        tops = [bottom if end is None else max(end, bottom) for end in upper]
        axes.fill_between(
            curves.epsilon,
            lower,
            tops,
            where=has_upper,
            color=EDGE,
            alpha=0.55,
            linewidth=0,
            label=f"measured: certified band{sure}",
        )
        axes.plot(curves.epsilon, _remove_below_bottom(upper, bottom), **edge)
        axes.plot(curves.epsilon, _remove_below_bottom(curves.band_lower, bottom), **edge)
    else:
        label = f"measured: certified lower edge{sure}"
        axes.plot(
            curves.epsilon, _remove_below_bottom(curves.band_lower, bottom), **MEASURED, label=label
        )


def _delta_floor(curves: DeltaCurves, delta: float | None) -> float:
    """Return where the log axis ends: a decade below all that matters."""
    matters = [value for value in (delta, *(curves.band_lower or [])) if value]
    proved = [value for value in (curves.proved or []) if value > 1e-9]
    smallest = min([*(value for value in matters if value > 1e-12), *proved[-1:]], default=1e-6)
    least = 1e-5 * delta if delta else 1e-14  # far under the claim nothing is decided
    return 10.0 ** (math.floor(math.log10(max(smallest, least))) - 1)


def _draw_trade_off(axes: Axes, curves: TradeOffCurves) -> None:
    floor = _trade_off_floor(curves)
    if floor:
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_ticks(axes.xaxis)
        plain_ticks(axes.yaxis)
    # Twenty points a decade, and the same from the other end: on logarithmic axes the straight
    # line of blind guessing is a curve that bends at both.
    few = [10.0 ** (-share / 20) for share in range(241)]
    guess = sorted({*few, *(1 - rate for rate in few)}) if floor else [0.0, 1.0]
    axes.plot(guess, [1 - rate for rate in guess], color=FAINT, lw=1, label="blind guessing")
    _draw_rates(axes, curves, curves.claimed, CLAIMED, "claimed", "no attack may go below", floor)
    _draw_rates(axes, curves, curves.proved, PROVED, "proved", "no attack can go below", floor)
    _draw_rates(axes, curves, curves.measured, MEASURED, "empirical curve of the attack", "", floor)
    axes.set_xlim(floor, 1)
    axes.set_ylim(floor, 1.0 if not floor else 1.4)
    scale = " (log scale)" if floor else ""
    axes.set_xlabel(f"False-positive rate{scale}")
    axes.set_ylabel(f"False-negative rate{scale}")
    _legend_above(axes)


def _draw_rates(
    axes: Axes,
    curves: TradeOffCurves,
    rates: Points | None,
    look: dict[str, Any],
    name: str,
    says: str,
    floor: float,
) -> None:
    if rates is None:
        return
    pairs = zip(curves.false_positive_rate, rates, strict=False)
    visible = [(x, y) for x, y in pairs if y is not None and x >= floor and y >= floor]
    label = f"{name}: {says}" if says else name
    if not visible:
        label = f"{name} (off the scale: under {format_significant(floor)})"
    axes.plot([x for x, _ in visible], [y for _, y in visible], **look, label=label)


def _trade_off_floor(curves: TradeOffCurves) -> float:
    """Return 0 for linear axes, or the lower end of logarithmic ones.

    Curves with a point at which both errors are rare hug the axes of a linear picture.
    """
    drawn = [curve for curve in (curves.measured, curves.proved, curves.claimed) if curve]
    x = curves.false_positive_rate
    totals = [a + b for curve in drawn for a, b in zip(x, curve, strict=False) if b is not None]
    if min(totals, default=1.0) > 0.2:
        return 0.0
    # Both axes alike: a trade-off is about as informative read from either side.
    rarest = min((rate for rate in x if rate > 0), default=1e-6)
    return 10.0 ** min(-1, max(-12, math.floor(math.log10(rarest))))


def _remove_below_bottom(values: Points, bottom: float) -> list[float]:
    """Return the values with everything under ``bottom`` left out of the line."""
    return [math.nan if value is None or value < bottom else value for value in values]


def _legend_above(axes: Axes) -> None:
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=1, handlelength=2.8)
