"""Writes a reproduction: numbers as JSON and CSV, the figure as PNG and SVG."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict
from pathlib import Path

from dpaudit.drawing.figures import picture, table
from dpaudit.report.document import write_files
from dpaudit.reproduction.judgement import OUTCOMES, Judgement, Tried, in_words
from dpaudit.reproduction.result import Reproduction


def write(reproduction: Reproduction, directory: str | Path) -> dict[str, Path]:
    """Write ``NAME.json``, ``.csv``, ``.png`` and ``.svg`` into ``directory``.

    The curves are in the CSV; ``NAME-statements.csv`` has every statement at every setting.

    Raises
    ------
    DataError
        The directory or a file in it cannot be written.
    """
    folder, name = Path(directory), reproduction.figure
    title = f"{name}: {reproduction.title}"
    paths = {kind: folder / f"{name}.{kind}" for kind in ("json", "csv", "png", "svg")}
    paths["statements"] = folder / f"{name}-statements.csv"
    contents = {
        paths["statements"]: _statements(reproduction).encode(),
        paths["json"]: (json.dumps(asdict(reproduction), indent=2) + "\n").encode(),
        paths["csv"]: table(reproduction.panels).encode(),
        paths["png"]: picture(title, reproduction.panels, "png"),
        paths["svg"]: picture(title, reproduction.panels, "svg"),
    }
    write_files(folder, contents)
    return paths


def _statements(reproduction: Reproduction) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["statement", "setting", "measure", "number", "outcome", "caveat"])
    for judgement in reproduction.judgements:
        rows: list[tuple[str, Judgement | Tried]] = [("as drawn", judgement)]
        rows += [(in_words(each.setting), each) for each in judgement.tried]
        for setting, each in rows:
            shown = "" if each.number is None else each.number
            what = (judgement.statement, setting, judgement.measure)
            writer.writerow([*what, shown, OUTCOMES[each.held], each.caveat])
    return text.getvalue()
