"""Pictures of numbers on one axis, as SVG text: a result's three, or those of many results.

Every function is pure: the same result gives the same bytes, and no state of matplotlib is left
changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InvalidArgument
from dpaudit.escaping import one_line
from dpaudit.palette import BEYOND, BEYOND_WORDS, FAINT, INK, PAGE
from dpaudit.report.charts import (
    CLAIMED,
    CLAIMED_MARK,
    PROVED,
    PROVED_MARK,
    Picture,
    number_ticks,
    plain_ticks,
    render_svg,
)
from dpaudit.report.formatting import (
    NO_UPPER,
    ResultNumbers,
    format_result_label,
    format_significant,
    get_divisor,
    make_shown_numbers,
    value_of,
)
from dpaudit.report.schema import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH = 5.6
MARK = 9
# The share of a number below which two marks would overlap anyway; an axis that is zoomed in
# further would show rounding as if it were a difference.
ALIKE = 0.005
_ROWS = {"Claimed": 2, "Proved": 1, "Measured": 0}
_LONGEST_TAIL = 0.25  # share of the axis
_FADES = 10  # steps


def three_numbers(result: Result, *, prefix: str = "figure") -> str:
    """Return the picture of the claimed, the proved and the measured number, on one axis.

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
    return render_svg(show_numbers(result), prefix=prefix)


def show_numbers(result: Result) -> Picture:
    """Return the picture of the claimed, proved and measured numbers, on one axis, undrawn."""
    shown = make_shown_numbers(result)
    words = (
        f"{shown.unit}: claimed {shown.claimed}, proved {shown.proved}, measured "
        f"{shown.measured} {shown.surety}; {result.verdict}."
    )
    draw = partial(_draw_three, result=result, shown=shown)
    return Picture(name="numbers", draw=draw, size=(WIDTH, 2.1), label=words)


def _draw_three(axes: Axes, result: Result, shown: ResultNumbers) -> None:
    measured = result.measured
    claimed = value_of(result.claimed, result.kind)
    proved = value_of(result.proved, result.kind)
    low, high = _choose_axis_limits(
        [claimed, proved, measured.lower, measured.upper, measured.pair_ceiling]
    )
    axes.set_xlim(low, high)
    axes.set_ylim(-0.6, 2.75)
    _shade_beyond(axes, claimed, high)
    _draw_point(axes, "Claimed", claimed, shown.claimed, CLAIMED, CLAIMED_MARK)
    _draw_point(axes, "Proved", proved, shown.proved, PROVED, PROVED_MARK)
    # Where the verdict is withheld the assumptions of the bound failed, and the interval
    # certifies nothing.
    if result.verdict != "withheld":
        _draw_interval(axes, 0, measured.lower, measured.upper, claimed)
        at = _compute_label_position(axes, measured.lower, measured.upper, claimed)
        _draw_value_note(axes, at, 0, _format_measured(shown))
    if measured.pair_ceiling is not None and math.isfinite(measured.pair_ceiling):
        axes.plot([measured.pair_ceiling] * 2, [-0.35, 0.35], color=PROVED["color"], ls=":", lw=1.8)
    axes.set_yticks(list(_ROWS.values()), list(_ROWS))
    axes.tick_params(axis="y", length=0, pad=MARK)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel(_unit_label(shown))
    number_ticks(axes.xaxis)


def _unit_label(shown: ResultNumbers) -> str:
    return shown.unit + (f" at δ = {shown.claimed_delta}" if shown.claimed_delta else "")


def _format_measured(shown: ResultNumbers) -> str:
    return f"{shown.measured}, {NO_UPPER}" if shown.open_ended else shown.measured


def _choose_axis_limits(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the ends of an axis on which all finite values and their labels have room.

    Values that nearly agree are drawn as one: a picture of their last digits would say nothing.
    """
    finite = [value for value in values if value is not None and math.isfinite(value)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    # The axis begins at 0 where that costs less than half of it, as lengths can be compared
    # then.
    if 0 <= low < 0.5 * high:
        low = 0.0
    largest = max(abs(low), abs(high))
    room = max(0.25 * (high - low), ALIKE * largest) if high > low else 0.25 * largest or 0.5
    return (low if low == 0 else low - room), high + room


def _shade_beyond(axes: Axes, claimed: float | None, high: float) -> None:
    """Shade the values that would contradict the claim."""
    if claimed is None or not math.isfinite(claimed):
        return
    axes.axvspan(claimed, high, color=BEYOND, zorder=0, linewidth=0)
    axes.axvline(claimed, **CLAIMED)
    low = axes.get_xlim()[0]
    if high - claimed > 0.3 * (high - low):  # else the caption alone has to say it
        words: dict[str, Any] = {"ha": "right", "va": "top", "style": "italic"}
        axes.text(high, 2.72, "above the claim ", color=BEYOND_WORDS, **words)


def _draw_point(
    axes: Axes, row: str, value: float | None, text: str, look: dict[str, Any], marker: str
) -> None:
    height = _ROWS[row]
    if value is None or math.isnan(value):
        _draw_value_note(axes, axes.get_xlim()[0], height, f"  no {row.lower()} value", beside=True)
        return
    # An infinite value is drawn at the edge, with an arrow in the place of its mark.
    at = min(max(value, axes.get_xlim()[0]), axes.get_xlim()[1])
    shape = marker if math.isfinite(value) else ">" if value > 0 else "<"
    axes.plot([at], [height], shape, color=look["color"], markersize=MARK, clip_on=False, zorder=4)
    _draw_value_note(axes, at, height, f"{text}", beside=True)


def _draw_interval(
    axes: Axes, height: float, lower: float, upper: float | None, claimed: float | None
) -> None:
    """Draw a certified interval: a bar as far as the claim, and a thin line beyond.

    A lower end that nothing bounds from above goes on in an arrow where it exceeds the claim. Else
    it says nothing of what lies beyond, and its tail fades before.
    """
    left, edge = axes.get_xlim()
    bounded, start = _is_number(upper), min(max(lower, left), edge)
    if bounded:
        _draw_certified_bar(axes, height, (start, min(upper or 0.0, edge)), claimed)
    elif claimed is None or lower > claimed:
        axes.plot([start, edge], [height] * 2, color=INK, linewidth=1.5, zorder=3)
        axes.plot([edge], [height], ">", color=INK, markersize=MARK, clip_on=False)
    else:
        _draw_fading_tail(axes, height, start, min(claimed, edge))
    ends = [place for place in (lower, upper) if place is not None and left <= place <= edge]
    axes.plot(ends, [height] * len(ends), "|", color=INK, markersize=14, markeredgewidth=2.2)


def _is_number(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _draw_certified_bar(
    axes: Axes, height: float, ends: tuple[float, float], claimed: float | None
) -> None:
    """Draw the certified bar: thick, but for the part that only may exceed the claim."""
    start, end = ends
    split = end if claimed is None or not start < claimed < end else claimed
    look: dict[str, Any] = {"color": INK, "solid_capstyle": "butt", "zorder": 3}
    axes.plot([start, split], [height] * 2, linewidth=4, **look)
    if split < end:
        axes.plot([split, end], [height] * 2, linewidth=1.2, **look)


def _draw_fading_tail(axes: Axes, height: float, start: float, claimed: float) -> None:
    """Draw a line that fades out between a lower end and the claim."""
    first, last = _compute_axis_share(axes, start), _compute_axis_share(axes, claimed)
    length = min(_LONGEST_TAIL, 0.8 * (last - first))
    for part in range(_FADES):
        ends = [first + length * (part + side) / _FADES for side in (0, 1)]
        look: dict[str, Any] = {"alpha": 0.85 * (1 - part / _FADES) ** 1.5, "zorder": 3}
        look |= {"color": INK, "linewidth": 4, "solid_capstyle": "butt"}
        axes.plot(ends, [height] * 2, transform=axes.get_yaxis_transform(), **look)


def _compute_axis_share(axes: Axes, value: float) -> float:
    """Return how far a value is along the horizontal axis: 0 at its left end, 1 at its right."""
    if axes.get_xscale() == "log":
        value = max(value, axes.get_xlim()[0])
    return float((axes.transScale + axes.transLimits).transform((value, 0.0))[0])


def _compute_label_position(
    axes: Axes, lower: float, upper: float | None, claimed: float | None
) -> float:
    """Return where the words on an interval stand: above its middle, or above its only end."""
    left, right = axes.get_xlim()
    start = right if lower == math.inf else max(lower, left)
    if _is_number(upper):
        return (start + (upper or 0.0)) / 2
    return (start + right) / 2 if claimed is None or lower > claimed else start


def _draw_value_note(
    axes: Axes, at: float, height: float, text: str, *, beside: bool = False
) -> None:
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
        bbox={"facecolor": PAGE, "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
        zorder=5,
        annotation_clip=False,
    )


FAR_APART = 50.0
"""Ratios that differ by more than this factor share a logarithmic axis."""


def render_overview(results: Sequence[Result], *, prefix: str = "overview") -> str:
    """Return one picture of all results: every number divided by the claimed one.

    A result whose claimed number is not positive, infinite or missing has no such ratio; its row
    says so. The axis is logarithmic where the ratios are far apart.

    Raises
    ------
    InvalidArgument
        If there are no results.
    """
    return render_svg(show_overview(results), prefix=prefix)


def show_overview(results: Sequence[Result]) -> Picture:
    """Return the picture of all results, undrawn.

    Raises
    ------
    InvalidArgument
        If there are no results.
    """
    if not results:
        raise InvalidArgument("results", results, "at least one result")
    rows = "; ".join(f"{format_result_label(result)}: {result.verdict}" for result in results)
    return Picture(
        name="overview",
        draw=partial(_draw_all, results=results),
        size=(WIDTH + 0.6, 1.2 + 0.55 * len(results)),
        label=f"Proved and measured numbers, each divided by the claimed one. {rows}.",
    )


def _draw_all(axes: Axes, results: Sequence[Result]) -> None:
    rows = range(len(results) - 1, -1, -1)
    high = _set_horizontal_scale(axes, _compute_finite_ratios(results))
    axes.set_ylim(-0.6, len(results) - 0.4)
    axes.axvspan(1, high, color=BEYOND, zorder=0, linewidth=0)
    axes.axvline(1, **CLAIMED, label="claimed")
    for row, result in zip(rows, results, strict=True):
        _draw_overview_row(axes, row, result, high)
    axes.plot([], [], PROVED_MARK, color=PROVED["color"], label="proved")
    axes.plot([], [], color=INK, linewidth=4, label="measured")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    axes.set_yticks(list(rows), _format_result_names(results), parse_math=False)
    axes.tick_params(axis="y", length=0, pad=MARK)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("divided by the claimed number")


def _draw_overview_row(axes: Axes, row: int, result: Result, high: float) -> None:
    claimed = get_divisor(result)
    if claimed is None:
        _no_ratio(axes, row, result)
        return
    lower, upper = result.measured.lower / claimed, result.measured.upper
    _draw_interval(axes, row - 0.17, lower, None if upper is None else upper / claimed, 1.0)
    proved = value_of(result.proved, result.kind)
    if proved is not None and not math.isnan(proved):
        shape = PROVED_MARK if math.isfinite(proved) else ">"
        at = min(max(proved / claimed, axes.get_xlim()[0]), high)
        look: dict[str, Any] = {"color": PROVED["color"], "markersize": 8, "clip_on": False}
        axes.plot([at], [row + 0.22], shape, **look, zorder=4)


def _no_ratio(axes: Axes, row: int, result: Result) -> None:
    claimed = value_of(result.claimed, result.kind)
    words = f"no ratio (claimed: {format_significant(claimed)})"
    axes.annotate(
        words,
        (axes.get_xlim()[0], row),
        xytext=(MARK, 0),
        textcoords="offset points",
        color=FAINT,
        style="italic",
        va="center",
        bbox={"facecolor": PAGE, "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
    )


def _compute_finite_ratios(results: Sequence[Result]) -> list[float]:
    """Return 1 and every finite ratio."""
    ratios = [1.0]
    for result in results:
        claimed, measured = get_divisor(result), result.measured
        values = (value_of(result.proved, result.kind), measured.lower, measured.upper)
        if claimed is not None:
            ratios += [value / claimed for value in values if value is not None]
    return [ratio for ratio in ratios if math.isfinite(ratio)]


def _set_horizontal_scale(axes: Axes, ratios: Sequence[float]) -> float:
    """Set the horizontal axis and return its right end."""
    positive = [ratio for ratio in ratios if ratio > 0]
    if max(positive) > FAR_APART:
        # A lower end of almost 0 would stretch a logarithmic axis over decades in which nothing
        # is.
        low, high = 0.3 * max(min(positive), 1e-3), 3 * max(positive)
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    else:
        low, high = _choose_axis_limits(ratios)
        low = max(0.0, low)
        number_ticks(axes.xaxis)
    axes.set_xlim(low, high)
    return high


def _format_result_names(results: Sequence[Result], width: int = 30) -> list[str]:
    """Return the names beside the rows: of one claim's variants, their own names."""
    one_claim = len({result.claim for result in results}) == 1
    names = []
    for index, result in enumerate(results, start=1):
        named = one_claim and result.variant is not None
        name = one_line(result.variant or "") if named else format_result_label(result)
        short = name if len(name) <= width else name[: width - 1] + "…"
        names.append(f"{index}. {short}\n{result.verdict}")
    return names
