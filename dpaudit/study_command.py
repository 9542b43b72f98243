"""What ``dpaudit attack`` does: runs a study, shows its table, writes it down."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

import dpaudit._validate as check
import dpaudit.registry as registry
from dpaudit.audit.run import parsed_parameters
from dpaudit.command import progress_bar
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.execution import one_thread
from dpaudit.report.document import prepare_directory, write_files
from dpaudit.report.formatting import number
from dpaudit.study import Cell, Findings, Study
from dpaudit.tables import console


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
        No installed package has a study of this name.
    InvalidArgument
        A parameter, or the name of an attack that scores transcripts.
    """
    check.integer("seed", seed, least=0)
    study = _study(name)
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


def _study(name: str) -> Study:
    if name in registry.attacks():
        expected = (
            "an attack that measures; this one scores transcripts: "
            f"dpaudit audit CLAIM --estimator event --attack {name}"
        )
        raise InvalidArgument("attack", Shown(name), expected)
    return registry.study(name)


def _show(study: Study, findings: Findings) -> None:
    shown = console()
    shown.print(f"{study.name}: {study.title}", style="bold", markup=False)
    for word in ("sees", "knows", "wants"):
        shown.print(f"The attacker {word} {getattr(study, word)}.", markup=False)
    table = Table(title="What it achieved", title_justify="left", title_style="bold")
    columns = list(findings.rows[0]) if findings.rows else []
    for column in columns:
        table.add_column(escape(column))
    for row in findings.rows:
        table.add_row(*(escape(_cell(row[column])) for column in columns))
    shown.print(table)
    for sentence in (*findings.reading, f"Chance: {findings.chance}."):
        shown.print(sentence, markup=False)


def _cell(value: Cell) -> str:
    return number(value, 3) if isinstance(value, float) else "—" if value is None else str(value)


def _document(study: Study, parameters: Any, findings: Findings, seed: int) -> dict[str, Any]:
    return {
        "attack": study.name,
        "source": study.source,
        "threat_model": {word: getattr(study, word) for word in ("sees", "knows", "wants")},
        "parameters": parameters.model_dump(mode="json"),
        "seed": seed,
        "rows": [dict(row) for row in findings.rows],
        "reading": list(findings.reading),
        "chance": findings.chance,
    }


def _write(
    study: Study, findings: Findings, document: Mapping[str, Any], folder: Path
) -> Sequence[Path]:
    paths = [folder / f"{study.name}.json", folder / f"{study.name}.csv"]
    texts = json.dumps(document, indent=2) + "\n", _csv(findings)
    write_files(folder, {p: t.encode("utf-8") for p, t in zip(paths, texts, strict=True)})
    if findings.draw is not None:
        paths.append(findings.draw(folder / f"{study.name}.png"))
    return paths


def _csv(findings: Findings) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(findings.rows[0]) if findings.rows else [])
    writer.writeheader()
    writer.writerows([dict(row) for row in findings.rows])
    return text.getvalue()
