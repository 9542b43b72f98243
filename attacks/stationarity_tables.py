"""How close the attack comes, as a table against T and alpha, and a picture of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.random import SeedSequence

from attacks.stationarity_likelihood import INTEGRATED, KNOWN
from attacks.stationarity_measures import chance_quantile
from attacks.stationarity_study import AVERAGED, Run, Study, closeness_of, runs_of
from dpaudit.datasets.dataset import Dataset
from dpaudit.drawing import picture
from dpaudit.errors import DataError, InvalidArgument, Shown
from dpaudit.panels import Curve, Panel


@dataclass(frozen=True, kw_only=True)
class Row:
    """One estimator at one alpha and T: the cosines of all runs, and what they come to.

    ``norm_error`` is the median, ``right_labels`` the share; None where features may be negative.
    """

    noise_rate: float
    iterations: int
    estimator: str
    cosines: tuple[float, ...]
    norm_error: float
    right_labels: float | None = None

    @property
    def median(self) -> float:
        """Median cosine."""
        return float(np.median(self.cosines))


def table(
    study: Study,
    *,
    iterations: Sequence[int],
    rates: Sequence[float],
    runs: int,
    seed: int,
    estimators: Sequence[str] = (AVERAGED, KNOWN, INTEGRATED),
    people: Dataset | None = None,
) -> list[Row]:
    """Return rows for every alpha, T and estimator.

    The runs at an alpha are as long as the largest T; smaller ones look at their beginning.
    """
    rows = []
    for rate in rates:
        longest = replace(study, noise_rate=rate, iterations=max(iterations))
        drawn = list(runs_of(longest, runs, seed, people))
        for length in iterations:
            cut = [(replace(r, conditions=r.conditions.first(length)), s) for r, s in drawn]
            rows += [_row(cut, rate, length, name) for name in estimators]
    return rows


def _row(drawn: Sequence[tuple[Run, SeedSequence]], rate: float, length: int, name: str) -> Row:
    close = [one for run, own in drawn for one in closeness_of(run, name, own)]
    labels = [each.right_label for each in close if each.right_label is not None]
    return Row(
        noise_rate=rate,
        iterations=length,
        estimator=name,
        cosines=tuple(each.cosine for each in close),
        norm_error=float(np.median([each.norm_error for each in close])),
        right_labels=float(np.mean(labels)) if labels else None,
    )


def draw(rows: Sequence[Row], path: str | Path, dimension: int) -> Path:
    """Draw mean and range of the cosine against T, a panel for each estimator; return the path.

    Parameters
    ----------
    rows
        Of `table`.
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
        raise InvalidArgument("path", Shown(target.name), "a name ending in .png or .svg")
    title = "The missing record, from stationarity"
    content = picture(title, panels(rows, dimension), kinds[target.suffix])
    try:
        target.write_bytes(content)
    except OSError as error:
        raise DataError(f"{target}: cannot be written ({error.strerror})") from error
    return target


def panels(rows: Sequence[Row], dimension: int) -> tuple[Panel, ...]:
    """Return a panel for each estimator: mean and range of the cosine against T."""
    return tuple(_panel(rows, name, dimension) for name in dict.fromkeys(r.estimator for r in rows))


def _panel(rows: Sequence[Row], name: str, dimension: int) -> Panel:
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
