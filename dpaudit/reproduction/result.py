"""A figure drawn again: the request, the result, and its files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import dpaudit._check as check
from dpaudit.errors import InvalidArgument
from dpaudit.execution import Progress, Silent
from dpaudit.files import write_files
from dpaudit.formats import add_schema
from dpaudit.ledger.figures import FigureRun, read_figures
from dpaudit.plots import Panel, render_curves_csv, render_picture
from dpaudit.reproduction.judgement import (
    OUTCOMES,
    AlternativeSetting,
    StatementJudgement,
    in_words,
    is_held_together,
)

MOST_RUNS = 1000  # a hundred times the papers'


@dataclass(frozen=True, kw_only=True)
class FigureRequest:
    """A request for a figure; None leaves the choice to the figure.

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
        Receives how many runs are done.
    """

    data_path: str | None = None
    runs: int | None = None
    full: bool = False
    seed: int = 0
    progress: Progress = field(default_factory=Silent)

    def __post_init__(self) -> None:
        check.require_integer("seed", self.seed, least=0)
        if self.runs is not None:
            check.require_integer("runs", self.runs, least=1)
            if self.runs > MOST_RUNS:
                raise InvalidArgument("runs", self.runs, f"an integer from 1 to {MOST_RUNS}")


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """A figure drawn again.

    Parameters
    ----------
    figure, title, source
        Its name, what it shows, and where it stands.
    panels
        The curves.
    judgements
        One for each statement of the paper.
    parameters
        Everything that was set, with the data's name and size.
    notes
        What a reader must know, such as a stand-in for data that cannot be had.
    solvers
        How exact every solver was (`dpaudit.mechanisms.residuals`).
    """

    figure: str
    title: str
    source: str
    panels: tuple[Panel, ...]
    judgements: tuple[StatementJudgement, ...]
    parameters: Mapping[str, Any]
    notes: tuple[str, ...] = ()
    solvers: tuple[str, ...] = ()


def write_reproduction(reproduction: Reproduction, directory: str | Path) -> dict[str, Path]:
    """Write ``NAME.json``, ``.csv``, ``.png`` and ``.svg`` into ``directory``.

    The curves are in the CSV; ``NAME-statements.csv`` has every statement at every setting, and
    ``figures.json`` what came of the statements about all figures that were written there.

    Raises
    ------
    DataError
        The directory or a file in it cannot be written.
    """
    folder, name = Path(directory), reproduction.figure
    title = f"{name}: {reproduction.title}"
    paths = {kind: folder / f"{name}.{kind}" for kind in ("json", "csv", "png", "svg")}
    paths["statements"] = folder / f"{name}-statements.csv"
    paths["figures"] = folder / "figures.json"
    content = add_schema("figure", asdict(reproduction))
    # All files are made before the first is written: a picture that cannot be drawn leaves the
    # folder as it was.
    contents = {
        paths["statements"]: _format_statements_csv(reproduction).encode(),
        paths["json"]: (json.dumps(content, indent=2) + "\n").encode(),
        paths["csv"]: render_curves_csv(reproduction.panels).encode(),
        paths["png"]: render_picture(title, reproduction.panels, "png"),
        paths["svg"]: render_picture(title, reproduction.panels, "svg"),
        paths["figures"]: _format_figure_list(paths["figures"], reproduction).encode(),
    }
    write_files(folder, contents)
    return paths


def _format_figure_list(path: Path, reproduction: Reproduction) -> str:
    """Return the list of a folder's figures with this one, in place of an earlier run of it."""
    # Figures are drawn one command at a time into one folder: the list keeps what earlier
    # commands found, and replaces this figure's.
    known = read_figures(path).values() if path.exists() else ()
    others = [run for run in known if run.figure != reproduction.figure]
    runs = sorted([*others, *_merge_figure_runs(reproduction)], key=lambda run: run.figure)
    entries = [asdict(run) for run in runs]
    return json.dumps(add_schema("figures", {"judgements": entries}), indent=2) + "\n"


def _merge_figure_runs(reproduction: Reproduction) -> list[FigureRun]:
    """Return the run of each statement; one that was judged in several panels is one."""
    by_name = dict[str, list[StatementJudgement]]()
    for judgement in reproduction.judgements:
        by_name.setdefault(judgement.name, []).append(judgement)
    return [
        FigureRun(
            figure=reproduction.figure,
            statement=name,
            held=is_held_together(one.held for one in judged),
            evidence="; ".join(one.evidence for one in judged),
        )
        for name, judged in by_name.items()
    ]


def _format_statements_csv(reproduction: Reproduction) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["statement", "setting", "measure", "number", "outcome", "caveat"])
    for judgement in reproduction.judgements:
        rows: list[tuple[str, StatementJudgement | AlternativeSetting]] = [("as drawn", judgement)]
        rows += [(in_words(each.setting), each) for each in judgement.tried]
        for setting, each in rows:
            shown = "" if each.number is None else each.number
            what = (judgement.statement, setting, judgement.measure)
            writer.writerow([*what, shown, OUTCOMES[each.held], each.caveat])
    return text.getvalue()
