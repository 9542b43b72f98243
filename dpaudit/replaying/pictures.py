"""The picture of a replay: the epsilon that each call spends, and the total."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from decimal import ROUND_CEILING
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.palette import FAINT, INK
from dpaudit.replaying.page import unit_of
from dpaudit.report.charts import CLAIMED, PROVED, Picture, draw_pictures, number_ticks
from dpaudit.report.formatting import NONE, format_significant
from dpaudit.report.latex import escape_latex, format_number, format_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpaudit.replaying.result import Replay, ReplayedCall

_MOST = 40  # calls whose place stands beside the axis
# Inches: of a picture, and of each call in it.
_WIDTH = 6.4
_ROW = 0.24


def show_replay(found: Replay) -> list[Picture]:
    """Return the pictures of a replay, undrawn: the spending of calls, one for each unit."""
    return list(_make_spending_pictures(found)) or [_make_empty_picture(found)]


def _make_spending_pictures(found: Replay) -> Iterator[Picture]:
    for unit in ("epsilon", "mu"):
        calls = [one for one in found.calls if one.spent is not None and unit_of(one) == unit]
        if not calls:
            continue
        claimed = found.epsilon if unit == "epsilon" else None
        together = found.composed if unit == "epsilon" else found.spending.mu
        yield Picture(
            name=unit,
            draw=partial(_draw_calls, calls=calls, unit=unit, claimed=claimed, together=together),
            size=(_WIDTH, 1.4 + _ROW * min(len(calls), _MOST)),
            label=f"{unit} that each of {len(calls)} noisy calls of {found.mechanism} spends.",
        )


def _draw_calls(
    axes: Axes,
    calls: Sequence[ReplayedCall],
    unit: str,
    claimed: float | None,
    together: float | None,
) -> None:
    spent = [one.spent or 0.0 for one in calls]
    places = np.arange(len(calls))
    axes.barh(places, spent, color=PROVED["color"], height=0.7, label="a call")
    if claimed is not None:
        axes.axvline(claimed, **CLAIMED, label="claimed")
    if together is not None and np.isfinite(together):
        axes.axvline(together, color=INK, lw=1.2, ls=":", label="all calls together")
    _name_calls(axes, calls)
    axes.invert_yaxis()
    axes.set_xlim(left=0.0)
    axes.set_xlabel(f"{unit} on this pair")
    axes.grid(axis="y", visible=False)
    number_ticks(axes.xaxis)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3)


def _name_calls(axes: Axes, calls: Sequence[ReplayedCall]) -> None:
    if len(calls) > _MOST:
        axes.set_ylabel("noisy call, in order")
        return
    # A place is text of a stranger, in which a dollar sign begins no formula.
    axes.set_yticks(range(len(calls)), [one.place for one in calls], parse_math=False)
    axes.tick_params(axis="y", length=0)


def _make_empty_picture(found: Replay) -> Picture:
    return Picture(
        name="nothing",
        draw=_draw_nothing,
        size=(_WIDTH, 1.2),
        label=f"What the noisy calls of {found.mechanism} spend is unknown.",
    )


def _draw_nothing(axes: Axes) -> None:
    words: dict[str, Any] = {"ha": "center", "va": "center", "style": "italic", "color": FAINT}
    axes.text(0.5, 0.5, "What the noisy calls spend on this pair is unknown.", **words)
    axes.set_axis_off()


def draw_replay(
    found: Replay, path: str | os.PathLike[str] | None = None, *, width: float | None = None
) -> NDArray[np.object_]:
    """Return the axes of the pictures of a replay; write them where asked."""
    return draw_pictures(show_replay(found), path, width=width)


def row_of_replay(found: Replay) -> str:
    """Return name, claim, joint spending of all noisy values, and verdict as a row in LaTeX."""
    claimed = rf"$\varepsilon$ = {format_number(format_significant(found.epsilon))}"
    if found.delta:
        claimed += rf" at $\delta = {format_number(format_significant(found.delta)).strip('$')}$"
    composed = found.composed
    together = (
        escape_latex(NONE) if composed is None else format_number(_format_spent_number(composed))
    )
    return format_row([escape_latex(found.mechanism), claimed, together, found.verdict])


def _format_spent_number(value: float) -> str:
    return format_significant(value, rounding=ROUND_CEILING)
