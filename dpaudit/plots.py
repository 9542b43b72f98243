"""Curves and panels, and the pictures and CSV tables that they become."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from dpaudit._typing import Array
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.palette import AMBER, BLACK, BLUE, PINK, SKY, TEAL, VERMILION, with_night

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by colour-blind readers; the dashes tell them apart in grey.
_COLOURS = (BLUE, VERMILION, TEAL, PINK, BLACK, AMBER, SKY)
# Letters on cells: they follow the cells below them by day and by night.
_ON_DARK = "#fefefe"
_ON_PALE = "#010101"
_DASHES = ("-", "--", "-.", ":")
_FEW = 5  # points up to which each is marked: one alone makes no line


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line of a panel: the mean over runs, and their range where there is one.

    Parameters
    ----------
    label
        As in the legend.
    x, y
        Same length.
    low, high
        Least and greatest over the runs, or None.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None

    def __post_init__(self) -> None:
        for part in (self.y, self.low, self.high):
            if part is not None and len(part) != len(self.x):
                given = VerbatimText(f"{len(part)} values")
                raise InvalidArgument(f"curve {self.label}", given, f"{len(self.x)} of them")

    @classmethod
    def over_runs(cls, label: str, x: Sequence[float], runs: Array) -> Curve:
        """Return mean and range of ``runs``, shape ``(R, len(x))``.

        Examples
        --------
        >>> import numpy as np
        >>> curve = Curve.over_runs("loss", [1, 2], np.array([[1.0, 2.0], [3.0, 2.0]]))
        >>> curve.y, curve.low, curve.high
        ([2.0, 2.0], [1.0, 2.0], [3.0, 2.0])
        """
        mean, low, high = runs.mean(axis=0), runs.min(axis=0), runs.max(axis=0)
        return cls(label=label, x=list(x), y=mean.tolist(), low=low.tolist(), high=high.tolist())


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One set of axes."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    log_y: bool = False
    log_x: bool = False


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of numbers as shaded cells; infinite ones are filled and marked.

    Parameters
    ----------
    title, x_label, y_label
        Of the axes: what the columns and the rows are.
    rows, columns
        Their names.
    values
        Numbers of at least 0, one list a row.
    """

    title: str
    x_label: str
    y_label: str
    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        shape = [len(row) for row in self.values]
        if shape != [len(self.columns)] * len(self.rows):
            expected = f"{len(self.rows)} rows of {len(self.columns)}"
            raise InvalidArgument(f"grid {self.title}", VerbatimText(f"rows of {shape}"), expected)


def render_curves_csv(panels: Sequence[Panel | Grid]) -> str:
    """Return all curves as CSV: panel, curve, x, y, low, high; of grids row, column, value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["panel", "curve", "x", "y", "low", "high"])
    for panel in panels:
        if isinstance(panel, Grid):
            writer.writerows([panel.title, *cell, "", ""] for cell in _get_grid_cells(panel))
            continue
        for curve in panel.curves:
            writer.writerows(
                [panel.title, curve.label, *point] for point in _get_curve_points(curve)
            )
    return text.getvalue()


def _get_grid_cells(grid: Grid) -> Iterator[tuple[str, str, float]]:
    for name, row in zip(grid.rows, grid.values, strict=True):
        for column, value in zip(grid.columns, row, strict=True):
            yield name, column, value


def _get_curve_points(curve: Curve) -> Iterator[tuple[Any, ...]]:
    nothing = [""] * len(curve.x)
    return zip(curve.x, curve.y, curve.low or nothing, curve.high or nothing, strict=True)


def render_picture(
    title: str, panels: Sequence[Panel | Grid], kind: Literal["png", "svg"]
) -> bytes:
    """Return the panels side by side, two in a row; the same panels give the same bytes."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    figure = _draw_figure(title, panels)
    drawn = io.BytesIO()
    if kind == "png":
        FigureCanvasAgg(figure)
        figure.savefig(drawn, format="png", dpi=120, metadata={"Software": None})
    else:
        FigureCanvasSVG(figure)
        with rc_context({"svg.hashsalt": title}):  # else names in it are random
            figure.savefig(drawn, format="svg", metadata={"Date": None})
        return with_night(drawn.getvalue().decode("utf-8")).encode("utf-8")
    return drawn.getvalue()


def _draw_figure(title: str, panels: Sequence[Panel | Grid]) -> Figure:
    from matplotlib.figure import Figure

    columns = min(2, len(panels))
    rows = math.ceil(len(panels) / columns)
    figure = Figure(figsize=(6.0 * columns, 4.2 * rows + 0.5), layout="constrained")
    for place, panel in enumerate(panels):
        axes = figure.add_subplot(rows, columns, place + 1)
        if isinstance(panel, Grid):
            draw_grid(axes, panel)
        else:
            draw_panel(axes, panel)
    figure.suptitle(title)
    return figure


def draw_panel(axes: Axes, panel: Panel) -> None:
    """Draw the curves of a panel, and their legend below the axes."""
    for number, curve in enumerate(panel.curves):
        colour = _COLOURS[number % len(_COLOURS)]
        dashes = _DASHES[number % len(_DASHES)]
        marker = "o" if len(curve.x) <= _FEW else None
        axes.plot(curve.x, curve.y, color=colour, ls=dashes, marker=marker, label=curve.label)
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, lw=0)
    if panel.log_y:
        axes.set_yscale("log")
    if panel.log_x:
        axes.set_xscale("log")
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(alpha=0.3)
    axes.legend(  # below the axes, where no curve is
        fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2, frameon=False
    )


def draw_grid(axes: Axes, grid: Grid) -> None:
    """Draw a grid: darker is more; infinite values are black."""
    from matplotlib import colormaps

    finite = [value for row in grid.values for value in row if math.isfinite(value)]
    top = max(finite, default=0.0) or 1.0
    # An infinite value is drawn just above the scale, where the colour map has black.
    shown = [[min(value, 1.02 * top) for value in row] for row in grid.values]
    shades = colormaps["Blues"].with_extremes(over="black")
    axes.imshow(shown, cmap=shades, vmin=0, vmax=top, aspect="auto")
    axes.set_xticks(range(len(grid.columns)), grid.columns, rotation=45, ha="right", fontsize=8)
    axes.set_yticks(range(len(grid.rows)), grid.rows, fontsize=8)
    size = 9 if len(grid.columns) <= 10 else 5
    for i, row in enumerate(grid.values):
        for j, value in enumerate(row):
            dark = not math.isfinite(value) or value > 0.6 * top
            words = f"{value:.3g}" if math.isfinite(value) else "\u221e"
            ink = _ON_DARK if dark else _ON_PALE
            axes.text(j, i, words, ha="center", va="center", fontsize=size, color=ink)
    axes.set_title(grid.title, fontsize=10)
    axes.set_xlabel(grid.x_label)
    axes.set_ylabel(grid.y_label)
