"""Pictures of a result: those of its report, which `Result.figure` draws as well."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dpaudit.report.charts import Picture, draw_pictures
from dpaudit.report.curves import show_delta, show_law, show_scores, show_trade_off, show_wealth
from dpaudit.report.figures import show_numbers
from dpaudit.report.schema import Result


def show_result(result: Result) -> list[Picture]:
    """Return the pictures of a result, undrawn: its three numbers, and its measured curves.

    A picture of claims alone shows nothing, and is none of them.
    """
    return [show_numbers(result), *_make_curve_pictures(result)]


def _make_curve_pictures(result: Result) -> Iterator[Picture]:
    if result.law is not None and result.law.lines:
        yield show_law(result.law)
    if result.delta_curves is not None and _holds_any(result.delta_curves.band_lower):
        yield show_delta(result)
    if result.wealth is not None and result.wealth.transcripts:
        yield show_wealth(result.wealth)
    if result.scores is not None and result.scores.edges:
        yield show_scores(result.scores)
    if result.trade_off is not None and _holds_any(result.trade_off.measured):
        yield show_trade_off(result)


def _holds_any(points: Sequence[float | None] | None) -> bool:
    return points is not None and any(point is not None for point in points)


def draw_result(
    result: Result, path: str | os.PathLike[str] | None = None, *, width: float | None = None
) -> NDArray[np.object_]:
    """Return the axes of all pictures of a result; write them where asked."""
    return draw_pictures(show_result(result), path, width=width, private=result.holds_records)
