"""The picture of one result's three numbers, as SVG text.

Every function is pure: the same result gives the same bytes, and no state of matplotlib is left
changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpaudit.drawing.charts import (
    CLAIMED,
    CLAIMED_MARK,
    INK,
    PROVED,
    PROVED_MARK,
    number_ticks,
    picture,
)
from dpaudit.report.formatting import NO_UPPER, Numbers, numbers, value_of
from dpaudit.report.schema import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH, MARK, ALIKE = 5.6, 9, 0.005
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


def _draw_three(axes: Axes, result: Result, shown: Numbers) -> None:
    measured = result.measured
    claimed = value_of(result.claimed, result.kind)
    proved = value_of(result.proved, result.kind)
    low, high = limits([claimed, proved, measured.lower, measured.upper, measured.pair_ceiling])
    axes.set_xlim(low, high)
    axes.set_ylim(-0.6, 2.75)
    _shade_beyond(axes, claimed, high)
    _point(axes, "Claimed", claimed, shown.claimed, CLAIMED, CLAIMED_MARK)
    _point(axes, "Proved", proved, shown.proved, PROVED, PROVED_MARK)
    draw_interval(axes, 0, measured.lower, measured.upper)
    _note(axes, _middle(axes, measured.lower, measured.upper), 0, _measured_words(shown))
    if measured.pair_ceiling is not None and math.isfinite(measured.pair_ceiling):
        axes.plot([measured.pair_ceiling] * 2, [-0.35, 0.35], color=PROVED["color"], ls=":", lw=1.8)
    axes.set_yticks(list(_ROWS.values()), list(_ROWS))
    axes.tick_params(axis="y", length=0, pad=MARK)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(_unit_label(shown))
    number_ticks(axes.xaxis)


def _unit_label(shown: Numbers) -> str:
    return shown.unit + (f" at δ = {shown.claimed_delta}" if shown.claimed_delta else "")


def _measured_words(shown: Numbers) -> str:
    return f"{shown.measured}, {NO_UPPER}" if shown.open_ended else shown.measured


def limits(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the ends of an axis on which all finite values and their labels have room.

    Values that nearly agree are drawn as one: a picture of their last digits would say nothing.
    """
    finite = [value for value in values if value is not None and math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    if 0 <= low < 0.5 * high:
        low = 0.0
    largest = max(abs(low), abs(high))
    room = max(0.25 * (high - low), ALIKE * largest) if high > low else 0.25 * largest or 0.5
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
    axes.plot([at], [height], shape, color=look["color"], markersize=MARK, clip_on=False, zorder=4)
    _note(axes, at, height, f"{text}", beside=True)


def draw_interval(
    axes: Axes, height: float, lower: float, upper: float | None, **look: Any
) -> None:
    """Draw a certified interval; what no end is certified for is a thin line with an arrow."""
    left, edge = axes.get_xlim()
    bounded = upper is not None and math.isfinite(upper)
    start = min(max(lower, left), edge)
    end = upper if upper is not None and bounded else edge
    style: dict[str, Any] = {"color": INK, "linewidth": 4 if bounded else 1.5} | look
    axes.plot([start, end], [height, height], **style, solid_capstyle="butt", zorder=3)
    ends = [place for place in (lower, upper) if place is not None and math.isfinite(place)]
    shown = [place for place in ends if left <= place <= edge]
    axes.plot(shown, [height] * len(shown), "|", color=INK, markersize=14, markeredgewidth=2.2)
    if not bounded:
        axes.plot([edge], [height], ">", color=INK, markersize=MARK, clip_on=False)


def _middle(axes: Axes, lower: float, upper: float | None) -> float:
    left, right = axes.get_xlim()
    end = upper if upper is not None and math.isfinite(upper) else right
    start = right if lower == math.inf else max(lower, left)
    return (start + end) / 2


def _note(axes: Axes, at: float, height: float, text: str, *, beside: bool = False) -> None:
    """Write a value next to its mark, on the side that has room."""
    left, right = axes.get_xlim()
    share = (at - left) / (right - left)
    if beside:
        offset, side, base = (
            ((-9, 0), "right", "center") if share > 0.5 else ((9, 0), "left", "center")
        )
    else:
        side = "left" if share < 0.25 else "right" if share > 0.6 else "center"
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
