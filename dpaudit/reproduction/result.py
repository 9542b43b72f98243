"""What is asked of a reproduction, and what it hands back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import dpaudit._validate as check
from dpaudit.drawing.panels import Panel
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Progress, Silent
from dpaudit.reproduction.judgement import Judgement

MOST_RUNS = 1000  # a hundred times the papers'


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for; None leaves the choice to the figure.

    Parameters
    ----------
    data_path
        Where the figure's data files are: a directory that holds them, or a file; which, the
        figure's module says. None is the directory in ``DPAUDIT_DATA``.
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
        How exact every solver was (`dpaudit.laws.residuals`).
    """

    figure: str
    title: str
    source: str
    panels: tuple[Panel, ...]
    judgements: tuple[Judgement, ...]
    parameters: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()
