"""The pictures of a report, as SVG text: the three numbers, delta against epsilon, trade-off.

Every function is pure: the same result gives the same bytes, and no state of matplotlib is left
changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InvalidArgument
from dpaudit.report._drawing import (
    CLAIMED,
    CLAIMED_MARK,
    FAINT,
    INK,
    PROVED,
    PROVED_MARK,
    picture,
)
from dpaudit.report.formatting import NO_UPPER, Numbers, label, numbers, value_of
from dpaudit.report.schema import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.6
_ROWS = {"Claimed": 2, "Proved": 1, "Measured": 0}


def three_numbers(result: Result, *, prefix: str = "figure") -> str:
    """Return the picture of what is claimed, proved and measured, on one axis.

    Parameters
    ----------
    result
        The result; infinite numbers and a missing upper end become arrows.
    prefix
        Put before every id in the SVG; unique within the page.

    Returns
    -------
    str
        One ``svg`` element.
    """
    shown = numbers(result)
    label = (
        f"{shown.unit}: claimed {shown.claimed}, proved {shown.proved}, measured "
        f"{shown.measured} {shown.surety}; {result.verdict}."
    )
    return picture(
        lambda axes: _draw_three(axes, result, shown), size=(WIDTH, 2.1), label=label, prefix=prefix
    )


def overview(results: Sequence[Result], *, prefix: str = "overview") -> str:
    """Return one picture of all results: every number divided by the claimed one.

    A result whose claimed number is zero, infinite or missing has no such ratio; its row says so.

    Raises
    ------
    InvalidArgument
        If there are no results.
    """
    if not results:
        raise InvalidArgument("results", results, "at least one result")
    rows = "; ".join(f"{result.claim}: {result.verdict}" for result in results)
    return picture(
        lambda axes: _draw_overview(axes, results),
        size=(WIDTH + 0.6, 1.2 + 0.55 * len(results)),
        label=f"Proved and measured numbers, each divided by the claimed one. {rows}.",
        prefix=prefix,
    )


def _draw_three(axes: Axes, result: Result, shown: Numbers) -> None:
    measured = result.measured
    claimed = value_of(result.claimed, result.kind)
    proved = value_of(result.proved, result.kind)
    low, high = _limits([claimed, proved, measured.lower, measured.upper, measured.pair_ceiling])
    axes.set_xlim(low, high)
    axes.set_ylim(-0.6, 2.75)
    _shade_beyond(axes, claimed, high)
    _point(axes, "Claimed", claimed, shown.claimed, CLAIMED, CLAIMED_MARK)
    _point(axes, "Proved", proved, shown.proved, PROVED, PROVED_MARK)
    _interval(axes, 0, measured.lower, measured.upper, high)
    _note(axes, _middle(axes, measured.lower, measured.upper), 0, _measured_words(shown))
    if measured.pair_ceiling is not None and math.isfinite(measured.pair_ceiling):
        axes.plot([measured.pair_ceiling] * 2, [-0.35, 0.35], color=PROVED["color"], ls=":", lw=1.8)
    axes.set_yticks(list(_ROWS.values()), list(_ROWS))
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(_unit_label(shown))


def _unit_label(shown: Numbers) -> str:
    return shown.unit + (f" at δ = {shown.claimed_delta}" if shown.claimed_delta else "")


def _measured_words(shown: Numbers) -> str:
    if shown.upper is None:
        return f"{shown.measured}, {NO_UPPER}"
    return shown.measured


def _limits(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the ends of an axis on which all finite values and their labels have room."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if 0 <= low < 0.5 * high:
        low = 0.0
    room = 0.25 * (high - low) or 0.25 * abs(high) or 0.5
    return (low if low == 0 else low - room), high + room


def _shade_beyond(axes: Axes, claimed: float | None, high: float) -> None:
    """Shade the values that would contradict the claim."""
    if claimed is None or not math.isfinite(claimed):
        return
    axes.axvspan(claimed, high, color="#f6e3d6", zorder=0, linewidth=0)
    axes.axvline(claimed, **CLAIMED)
    low = axes.get_xlim()[0]
    if high - claimed > 0.3 * (high - low):  # else the caption alone has to say it
        words: dict[str, Any] = {"ha": "right", "va": "top", "style": "italic"}
        axes.text(high, 2.72, "above the claim ", color="#7a3200", **words)


def _point(
    axes: Axes, row: str, value: float | None, text: str, look: dict[str, Any], marker: str
) -> None:
    height = _ROWS[row]
    if value is None or math.isnan(value):
        _note(axes, axes.get_xlim()[0], height, f"  no {row.lower()} value", beside=True)
        return
    at = min(max(value, axes.get_xlim()[0]), axes.get_xlim()[1])
    shape = marker if math.isfinite(value) else ">" if value > 0 else "<"
    axes.plot([at], [height], shape, color=look["color"], markersize=9, clip_on=False, zorder=4)
    _note(axes, at, height, f"{text}", beside=True)


def _interval(
    axes: Axes, height: float, lower: float, upper: float | None, high: float, **look: Any
) -> None:
    """Draw a certified interval; an open end becomes an arrow to the edge."""
    left, edge = axes.get_xlim()[0], high
    bounded = upper is not None and math.isfinite(upper)
    start = max(lower, left) if math.isfinite(lower) else left if lower < 0 else edge
    end = upper if upper is not None and bounded else edge
    style: dict[str, Any] = {"color": INK, "linewidth": 4, "solid_capstyle": "butt"} | look
    axes.plot([start, end], [height, height], **style, zorder=3)
    ends = [start, end] if bounded else [start]
    axes.plot(ends, [height] * len(ends), "|", color=INK, markersize=14, markeredgewidth=2.2)
    if not bounded:
        axes.plot([edge], [height], ">", color=INK, markersize=9, clip_on=False)


def _middle(axes: Axes, lower: float, upper: float | None) -> float:
    left, right = axes.get_xlim()
    end = upper if upper is not None and math.isfinite(upper) else right
    start = lower if math.isfinite(lower) else left
    return (max(start, left) + end) / 2


def _note(axes: Axes, at: float, height: float, text: str, *, beside: bool = False) -> None:
    """Write a value next to its mark, on the side that has room."""
    left, right = axes.get_xlim()
    share = (at - left) / (right - left)
    if beside:
        offset, side, base = (
            ((-9, 0), "right", "center") if share > 0.5 else ((9, 0), "left", "center")
        )
    else:
        side = "left" if share < 0.25 else "right" if share > 0.75 else "center"
        offset, base = (0, 9), "bottom"
    axes.annotate(
        text,
        (at, height),
        xytext=offset,
        textcoords="offset points",
        ha=side,
        va=base,
        weight="bold",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        zorder=5,
        annotation_clip=False,
    )


def _draw_overview(axes: Axes, results: Sequence[Result]) -> None:
    rows = range(len(results) - 1, -1, -1)
    low, high = _ratio_limits(results)
    axes.set_xlim(low, high)
    axes.set_ylim(-0.6, len(results) - 0.4)
    axes.axvspan(1, high, color="#f6e3d6", zorder=0, linewidth=0)
    axes.axvline(1, **CLAIMED, label="claimed")
    for row, result in zip(rows, results, strict=True):
        _ratio_row(axes, row, result, high)
    axes.plot([], [], PROVED_MARK, color=PROVED["color"], label="proved")
    axes.plot([], [], color=INK, linewidth=4, label="measured, certified")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    names = [_name(index, result) for index, result in enumerate(results, start=1)]
    axes.set_yticks(list(rows), names, parse_math=False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("divided by the claimed number")


def _ratio_row(axes: Axes, row: int, result: Result, high: float) -> None:
    claimed = _divisor(result)
    if claimed is None:
        axes.text(axes.get_xlim()[0], row, "  no ratio", color=FAINT, style="italic", va="center")
        return
    lower, upper = result.measured.lower / claimed, result.measured.upper
    _interval(axes, row - 0.17, lower, None if upper is None else upper / claimed, high)
    proved = value_of(result.proved, result.kind)
    if proved is not None and not math.isnan(proved):
        shape = PROVED_MARK if math.isfinite(proved) else ">"
        at = min(proved / claimed, high)
        look: dict[str, Any] = {"color": PROVED["color"], "markersize": 8, "clip_on": False}
        axes.plot([at], [row + 0.22], shape, **look, zorder=4)


def _divisor(result: Result) -> float | None:
    claimed = value_of(result.claimed, result.kind)
    usable = claimed is not None and math.isfinite(claimed) and claimed > 0
    return claimed if usable else None


def _ratio_limits(results: Sequence[Result]) -> tuple[float, float]:
    ratios = [1.0]
    for result in results:
        claimed = _divisor(result)
        values = (
            value_of(result.proved, result.kind),
            result.measured.lower,
            result.measured.upper,
        )
        if claimed is not None:
            ratios += [value / claimed for value in values if value is not None]
    low, high = _limits(ratios)
    return max(0.0, low), high


def _name(index: int, result: Result, width: int = 30) -> str:
    name = label(result)
    short = name if len(name) <= width else name[: width - 1] + "…"
    return f"{index}. {short}\n{result.verdict}"
