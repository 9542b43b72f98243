"""What ``dpaudit selftest`` does: runs it, shows it, writes it down."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.markup import escape
from rich.table import Table

import dpaudit._validate as check
from dpaudit.cli.audit import progress_bar
from dpaudit.cli.console import console
from dpaudit.execution import available_cores
from dpaudit.report.document import prepare_directory
from dpaudit.selftest.run import FULL, QUICK, SelfTest, run
from dpaudit.selftest.write import (
    ESTIMATOR_COLUMNS,
    PUBLISHED,
    Rows,
    answer_columns,
    answer_rows,
    document,
    estimator_rows,
    sentences,
    write,
)


def test(
    *, full: bool, seed: int, workers: int | None, out: str | None, as_json: bool, quiet: bool
) -> int:
    """Run the self-test and return the exit status: 0 passed, 1 something is unsound or missed.

    Raises
    ------
    InvalidArgument
        An argument is out of range.
    DpauditError
        No installed package has known answers.
    """
    check.integer("seed", seed, least=0)
    processes = available_cores() if workers is None else check.integer("workers", workers, least=1)
    if out is not None:
        prepare_directory(out)
    with progress_bar("selftest", shown=not (quiet or as_json)) as progress:
        result = run(FULL if full else QUICK, seed, processes, progress)
    if as_json:
        typer.echo(json.dumps(document(result, processes), indent=2))
    else:
        _show(result)
    if out is not None:
        page = write(result, Path(out), processes)
        if not as_json:
            console().print(f"Report: {page}", soft_wrap=True, markup=False)
    return int(bool(result.failures))


def _show(result: SelfTest) -> None:
    """Show what decides; the rest is in the files, which a terminal has no room for."""
    shown = console()
    estimators = ("estimator", "law", "audits", "nominal", "observed", "verdict")
    columns = answer_columns(result)
    most = ("mechanism", "claimed", "true", "best event", "certified", PUBLISHED, "verdict")
    known = tuple(name for name in most if name in columns)
    tables = (
        ("Estimators: how often they err", ESTIMATOR_COLUMNS, estimators, estimator_rows(result)),
        ("Known answers, from outputs alone", columns, known, answer_rows(result)),
    )
    for title, columns, kept, rows in tables:
        places = [columns.index(name) for name in kept]
        shown.print(_table(title, kept, [[row[i] for i in places] for row in rows]))
    for sentence in sentences(result)[1:]:
        shown.print(sentence, markup=False)
    for failure in result.failures:
        shown.print(failure, markup=False, soft_wrap=True)
    shown.print("Passed." if not result.failures else "Failed.")


def _table(title: str, columns: Sequence[str], rows: Rows) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(escape(column), overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    return table
