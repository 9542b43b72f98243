"""Writes a reproduction: numbers as JSON and CSV, the figure as PNG and SVG."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from dpaudit.report.document import write_files
from dpaudit.reproduction.judgement import OUTCOMES, in_words
from dpaudit.reproduction.result import Curve, Panel, Reproduction

# Okabe and Ito's palette: told apart by colour-blind readers; the dashes tell them apart in grey.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000", "#E69F00", "#56B4E9")
_DASHES = ("-", "--", "-.", ":")


def write(reproduction: Reproduction, directory: str | Path) -> dict[str, Path]:
    """Write ``NAME.json``, ``.csv``, ``.png`` and ``.svg`` into ``directory``.

    The curves are in the CSV; ``NAME-statements.csv`` has every statement at every setting.

    Raises
    ------
    DataError
        The directory or a file in it cannot be written.
    """
    folder, name = Path(directory), reproduction.figure
    paths = {kind: folder / f"{name}.{kind}" for kind in ("json", "csv", "png", "svg")}
    paths["statements"] = folder / f"{name}-statements.csv"
    contents = {
        paths["statements"]: _statements(reproduction).encode(),
        paths["json"]: (json.dumps(asdict(reproduction), indent=2) + "\n").encode(),
        paths["csv"]: _table(reproduction).encode(),
        paths["png"]: _picture(reproduction, "png"),
        paths["svg"]: _picture(reproduction, "svg"),
    }
    write_files(folder, contents)
    return paths


def _table(reproduction: Reproduction) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["panel", "curve", "x", "y", "low", "high"])
    for panel in reproduction.panels:
        for curve in panel.curves:
            writer.writerows([panel.title, curve.label, *point] for point in _points(curve))
    return text.getvalue()


def _statements(reproduction: Reproduction) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["statement", "setting", "measure", "number", "outcome"])
    for judgement in reproduction.judgements:
        rows = [("as drawn", judgement.number, judgement.held)]
        rows += [(in_words(tried.setting), tried.number, tried.held) for tried in judgement.tried]
        for setting, number, held in rows:
            shown = "" if number is None else number
            outcome = OUTCOMES[held]
            writer.writerow([judgement.statement, setting, judgement.measure, shown, outcome])
    return text.getvalue()


def _points(curve: Curve) -> Iterator[tuple[Any, ...]]:
    nothing = [""] * len(curve.x)
    return zip(curve.x, curve.y, curve.low or nothing, curve.high or nothing, strict=True)


def _picture(reproduction: Reproduction, kind: str) -> bytes:
    figure = _drawn(reproduction)
    picture = io.BytesIO()
    if kind == "png":
        FigureCanvasAgg(figure)
        figure.savefig(picture, format="png", dpi=120, metadata={"Software": None})
    else:
        FigureCanvasSVG(figure)
        with rc_context({"svg.hashsalt": reproduction.figure}):  # else names in it are random
            figure.savefig(picture, format="svg", metadata={"Date": None})
    return picture.getvalue()


def _drawn(reproduction: Reproduction) -> Figure:
    count = len(reproduction.panels)
    columns = min(2, count)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(6.0 * columns, 4.2 * rows + 0.5), layout="constrained")
    for place, panel in enumerate(reproduction.panels):
        _draw(figure.add_subplot(rows, columns, place + 1), panel)
    figure.suptitle(f"{reproduction.figure}: {reproduction.title}")
    return figure


def _draw(axes: Axes, panel: Panel) -> None:
    for number, curve in enumerate(panel.curves):
        colour = _COLOURS[number % len(_COLOURS)]
        dashes = _DASHES[number % len(_DASHES)]
        axes.plot(curve.x, curve.y, color=colour, linestyle=dashes, label=curve.label)
        if curve.low is not None and curve.high is not None:
            axes.fill_between(curve.x, curve.low, curve.high, color=colour, alpha=0.15, lw=0)
    if panel.log_y:
        axes.set_yscale("log")
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
