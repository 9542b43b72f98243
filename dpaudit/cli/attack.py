"""What ``dpaudit attack`` does: runs a study, shows its table, writes it down."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

import dpaudit._validate as check
import dpaudit.extension.registry as registry
from dpaudit.auditing.scoring import Scoring, scorings
from dpaudit.cli.audit import progress_bar
from dpaudit.cli.console import console
from dpaudit.drawing.figures import picture
from dpaudit.errors import UnknownName
from dpaudit.execution import one_thread
from dpaudit.extension.attack import Cell, Findings, Study
from dpaudit.extension.parameters import parsed_parameters
from dpaudit.report.document import prepare_directory, write_files
from dpaudit.report.formatting import number


def run(
    name: str,
    changes: Mapping[str, Any],
    seed: int,
    out: str | None,
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    """Run a study, print what it found and write it into a directory, if one is named.

    Raises
    ------
    UnknownName
        No installed package has an attack of this name.
    InvalidArgument
        A parameter.
    """
    check.integer("seed", seed, least=0)
    study = card(name)
    parameters = parsed_parameters(study.load_parameters(), changes)
    if out is not None:
        prepare_directory(out)
    with progress_bar(name, shown=not (quiet or as_json)) as progress, one_thread():
        findings = study.load()(parameters, seed, progress)
    document = _document(study, parameters, findings, seed)
    if as_json:
        typer.echo(json.dumps(document, indent=2))
    else:
        _show(study, findings)
    if out is not None:
        written = _write(study, findings, document, Path(out))
        if not as_json:
            console().print(f"Written: {', '.join(map(str, written))}", soft_wrap=True)


def card(name: str) -> Study | Scoring:
    """Return the attack called ``name``, whether it measures or scores.

    Raises
    ------
    UnknownName
        No installed package has it.
    """
    known: dict[str, Study | Scoring] = {**registry.studies(), **scorings()}
    if name not in known:
        raise UnknownName("attack", name, known)
    return known[name]


def _show(study: Study | Scoring, findings: Findings) -> None:
    shown = console()
    shown.print(f"{study.name}: {study.title}", style="bold", markup=False)
    for verb, rest in study.attacker.items():
        shown.print(f"The attacker {verb} {rest}.", markup=False)
    for table in _tables(findings, shown):
        shown.print(table)
    for sentence in (*findings.reading, f"Chance: {findings.chance}."):
        shown.print(sentence, markup=False)


def _tables(findings: Findings, shown: Console) -> Iterator[Table]:
    """Yield the rows as a table; on its side, and in parts, where it is too wide to show whole."""
    columns = list(findings.rows[0]) if findings.rows else []
    rows = [[_cell(row[column]) for column in columns] for row in findings.rows]
    upright = _filled([columns, *rows])
    if _fits(upright, shown):
        yield upright
        return
    while rows:
        sizes = range(len(rows), 0, -1)
        turned = {n: _filled(list(zip(columns, *rows[:n], strict=True))) for n in sizes}
        most = next((n for n in sizes if _fits(turned[n], shown)), 1)
        yield turned[most]
        rows = rows[most:]


def _fits(table: Table, shown: Console) -> bool:
    unbounded = shown.options.update(width=10_000)
    return shown.measure(table, options=unbounded).maximum <= shown.width


def _filled(lines: Sequence[Sequence[str]]) -> Table:
    table = Table(title="What it achieved", title_justify="left", title_style="bold")
    for column in lines[0] if lines else []:
        table.add_column(escape(column), overflow="fold")
    for line in lines[1:]:
        table.add_row(*map(escape, line))
    return table


def _cell(value: Cell) -> str:
    return number(value, 3) if isinstance(value, float) else "—" if value is None else str(value)


def _document(
    study: Study | Scoring, parameters: Any, findings: Findings, seed: int
) -> dict[str, Any]:
    return {
        "attack": study.name,
        "source": study.source,
        "threat_model": study.attacker,
        "parameters": parameters.model_dump(mode="json"),
        "seed": seed,
        "rows": [dict(row) for row in findings.rows],
        "reading": list(findings.reading),
        "chance": findings.chance,
    }


def _write(
    study: Study | Scoring, findings: Findings, document: Mapping[str, Any], folder: Path
) -> Sequence[Path]:
    files = {
        folder / f"{study.name}.json": (json.dumps(document, indent=2) + "\n").encode(),
        folder / f"{study.name}.csv": _csv(findings).encode(),
    }
    if findings.panels:
        files[folder / f"{study.name}.png"] = picture(study.name, findings.panels, "png")
    write_files(folder, files)
    return list(files)


def _csv(findings: Findings) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(findings.rows[0]) if findings.rows else [])
    writer.writeheader()
    writer.writerows([dict(row) for row in findings.rows])
    return text.getvalue()
