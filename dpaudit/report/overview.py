"""The picture of many results: every number divided by the claimed one, as SVG text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dpaudit.drawing.charts import (
    CLAIMED,
    FAINT,
    INK,
    PROVED,
    PROVED_MARK,
    number_ticks,
    picture,
    plain_ticks,
)
from dpaudit.errors import InvalidArgument
from dpaudit.report.figures import MARK, WIDTH, draw_interval, limits
from dpaudit.report.formatting import label, number, one_line, value_of
from dpaudit.report.schema import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAR_APART = 50.0
"""Ratios that differ by more than this factor share a logarithmic axis."""


def overview(results: Sequence[Result], *, prefix: str = "overview") -> str:
    """Return one picture of all results: every number divided by the claimed one.

    A result whose claimed number is not positive, infinite or missing has no such ratio; its row
    says so. The axis is logarithmic where the ratios are far apart.

    Raises
    ------
    InvalidArgument
        If there are no results.
    """
    if not results:
        raise InvalidArgument("results", results, "at least one result")
    rows = "; ".join(f"{label(result)}: {result.verdict}" for result in results)
    return picture(
        lambda axes: _draw(axes, results),
        size=(WIDTH + 0.6, 1.2 + 0.55 * len(results)),
        label=f"Proved and measured numbers, each divided by the claimed one. {rows}.",
        prefix=prefix,
    )


def divisor(result: Result) -> float | None:
    """Return the claimed number if others can be divided by it."""
    claimed = value_of(result.claimed, result.kind)
    usable = claimed is not None and math.isfinite(claimed) and claimed > 0
    return claimed if usable else None


def _draw(axes: Axes, results: Sequence[Result]) -> None:
    rows = range(len(results) - 1, -1, -1)
    high = _scale(axes, _ratios(results))
    axes.set_ylim(-0.6, len(results) - 0.4)
    axes.axvspan(1, high, color="#f6e3d6", zorder=0, linewidth=0)
    axes.axvline(1, **CLAIMED, label="claimed")
    for row, result in zip(rows, results, strict=True):
        _row(axes, row, result, high)
    axes.plot([], [], PROVED_MARK, color=PROVED["color"], label="proved")
    axes.plot([], [], color=INK, linewidth=4, label="measured")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
    axes.set_yticks(list(rows), _names(results), parse_math=False)
    axes.tick_params(axis="y", length=0, pad=MARK)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("divided by the claimed number")


def _row(axes: Axes, row: int, result: Result, high: float) -> None:
    claimed = divisor(result)
    if claimed is None:
        _no_ratio(axes, row, result)
        return
    lower, upper = result.measured.lower / claimed, result.measured.upper
    draw_interval(axes, row - 0.17, lower, None if upper is None else upper / claimed)
    proved = value_of(result.proved, result.kind)
    if proved is not None and not math.isnan(proved):
        shape = PROVED_MARK if math.isfinite(proved) else ">"
        at = min(max(proved / claimed, axes.get_xlim()[0]), high)
        look: dict[str, Any] = {"color": PROVED["color"], "markersize": 8, "clip_on": False}
        axes.plot([at], [row + 0.22], shape, **look, zorder=4)


def _no_ratio(axes: Axes, row: int, result: Result) -> None:
    claimed = value_of(result.claimed, result.kind)
    words = f"no ratio (claimed: {number(claimed)})"
    axes.annotate(
        words,
        (axes.get_xlim()[0], row),
        xytext=(MARK, 0),
        textcoords="offset points",
        color=FAINT,
        style="italic",
        va="center",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 0.8},
    )


def _ratios(results: Sequence[Result]) -> list[float]:
    """Return 1 and every finite ratio."""
    ratios = [1.0]
    for result in results:
        claimed, measured = divisor(result), result.measured
        values = (value_of(result.proved, result.kind), measured.lower, measured.upper)
        if claimed is not None:
            ratios += [value / claimed for value in values if value is not None]
    return [ratio for ratio in ratios if math.isfinite(ratio)]


def _scale(axes: Axes, ratios: Sequence[float]) -> float:
    """Set the horizontal axis and return its right end."""
    positive = [ratio for ratio in ratios if ratio > 0]
    if max(positive) > FAR_APART:
        low, high = 0.3 * max(min(positive), 1e-3), 3 * max(positive)
        axes.set_xscale("log")
        plain_ticks(axes.xaxis)
    else:
        low, high = limits(ratios)
        low = max(0.0, low)
        number_ticks(axes.xaxis)
    axes.set_xlim(low, high)
    return high


def _names(results: Sequence[Result], width: int = 30) -> list[str]:
    """Return what stands beside the rows: of one claim's variants, their own names."""
    one_claim = len({result.claim for result in results}) == 1
    names = []
    for index, result in enumerate(results, start=1):
        named = one_claim and result.variant is not None
        name = one_line(result.variant or "") if named else label(result)
        short = name if len(name) <= width else name[: width - 1] + "…"
        names.append(f"{index}. {short}\n{result.verdict}")
    return names
