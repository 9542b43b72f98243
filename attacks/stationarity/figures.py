"""Pictures of the closeness of estimates to a record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from dpaudit.attacks.stationarity.measures import (
    chance_quantile,
)
from dpaudit.attacks.stationarity.runs import Row
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.files import write_file
from dpaudit.plots import Curve, Panel, render_picture


def draw_cosine_figure(rows: Sequence[Row], path: str | Path, dimension: int) -> Path:
    """Draw mean and range of the cosine against T, a panel for each estimator; return the path.

    Parameters
    ----------
    rows
        Of `build_closeness_table`.
    path
        Ends in ``.png`` or ``.svg``.
    dimension
        d, for the cosine that one guess in twenty exceeds.

    Raises
    ------
    InvalidArgument
        The path ends otherwise.
    DataError
        The file cannot be written.
    """
    target = Path(path)
    kinds: dict[str, Literal["png", "svg"]] = {".png": "png", ".svg": "svg"}
    if target.suffix not in kinds:
        raise InvalidArgument("path", VerbatimText(target.name), "a name ending in .png or .svg")
    title = "The missing record, from stationarity"
    write_file(
        target, render_picture(title, make_cosine_panels(rows, dimension), kinds[target.suffix])
    )
    return target


def make_cosine_panels(rows: Sequence[Row], dimension: int) -> tuple[Panel, ...]:
    """Return a panel for each estimator: mean and range of the cosine against T."""
    return tuple(
        _make_cosine_panel(rows, name, dimension)
        for name in dict.fromkeys(r.estimator for r in rows)
    )


def _make_cosine_panel(rows: Sequence[Row], name: str, dimension: int) -> Panel:
    own = [row for row in rows if row.estimator == name]
    lengths = sorted({row.iterations for row in own})
    curves = []
    for rate in sorted({row.noise_rate for row in own}):
        by_length = {row.iterations: row.cosines for row in own if row.noise_rate == rate}
        runs = np.array([by_length[length] for length in lengths]).T
        curves.append(Curve.over_runs(f"alpha = {rate:g}", lengths, runs))
    level = chance_quantile(0.05, dimension)
    curves.append(Curve(label="1 guess in 20", x=lengths, y=[level] * len(lengths)))
    return Panel(title=name, x_label="iterations", y_label="cosine", curves=tuple(curves))
