"""What is asked of a reproduction, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.execution import Progress, Silent
from dpaudit.reproduction.judgement import Judgement

Array = NDArray[np.float64]

MOST_RUNS = 1000  # a hundred times the papers'


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for; None leaves the choice to the figure.

    Parameters
    ----------
    data_path
        Where the figure's data files are.
    runs
        Independent runs to average over, at most `MOST_RUNS`.
    full
        The paper's own size instead of one that ends in minutes.
    seed
        The only source of randomness.
    progress
        Told how many runs are done.
    """

    data_path: str | None = None
    runs: int | None = None
    full: bool = False
    seed: int = 0
    progress: Progress = field(default_factory=Silent)

    def __post_init__(self) -> None:
        check.integer("seed", self.seed, least=0)
        if self.runs is not None:
            check.integer("runs", self.runs, least=1)
            if self.runs > MOST_RUNS:
                raise InvalidArgument("runs", self.runs, f"an integer from 1 to {MOST_RUNS}")


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
                given = Shown(f"{len(part)} values")
                raise InvalidArgument(f"curve {self.label}", given, f"{len(self.x)} of them")

    @classmethod
    def over_runs(cls, label: str, x: Sequence[float], runs: Array) -> Curve:
        """Return mean and range of ``runs``, shape ``(R, len(x))``.

        Examples
        --------
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


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A figure drawn again.

    Parameters
    ----------
    figure, title, source
        Which.
    panels
        What is drawn.
    judgements
        One for each statement of the paper.
    parameters
        Everything that was set, with the data's name and size.
    notes
        What a reader must know, such as a stand-in for data that cannot be had.
    solvers
        How exact every solver was (`dpaudit.residuals`).
    """

    figure: str
    title: str
    source: str
    panels: tuple[Panel, ...]
    judgements: tuple[Judgement, ...]
    parameters: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
