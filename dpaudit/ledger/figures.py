"""Published runs that draw figures of papers again, and whether statements about these held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from dpaudit.errors import DataError
from dpaudit.formats import read_json

Figures = Mapping[tuple[str, str], "FigureRun"]


@dataclass(frozen=True, kw_only=True)
class FigureRun:
    """The evidence of a published run about one statement on a figure.

    Parameters
    ----------
    figure, statement
        The name of the figure's card, and the short name that it gives to the statement.
    held
        None where it could not be judged.
    evidence
        The numbers, in words.
    """

    figure: str
    statement: str
    held: bool | None
    evidence: str


def load_published_figures() -> Figures:
    """Return the runs that the project publishes, by figure and statement."""
    return read_figures(Path(str(files("dpaudit.ledger").joinpath("figures.json"))))


def read_figures(path: Path) -> Figures:
    """Return the runs that a ``figures.json`` lists, by figure and statement.

    Raises
    ------
    DataError
        The file cannot be read, or lists no figures.
    """
    content = read_json(path, "figures")
    try:
        runs = [FigureRun(**entry) for entry in content["judgements"]]
    except (KeyError, TypeError):
        raise DataError(f"{path}: not the index of a folder of figures") from None
    # A statement's short name is that of its figure alone: two figures may both have a "falls".
    return {(run.figure, run.statement): run for run in runs}
