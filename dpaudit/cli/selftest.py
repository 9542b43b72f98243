"""``dpaudit selftest``: the auditor, audited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from dpaudit.cli.console import console
from dpaudit.cli.options import Json, Quiet, integer_option
from dpaudit.cli.progress import progress_bar

if TYPE_CHECKING:
    from dpaudit.selftest.run import SelfTest
    from dpaudit.selftest.write import Rows


def selftest(
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="A quarter of an hour on two cores: 10,000 audits, all known answers, next to "
            "what another tool published; or under a minute.",
        ),
    ] = False,
    seed: Annotated[int, integer_option("--seed", "The only source of randomness.")] = 0,
    workers: Annotated[
        int | None,
        integer_option("--workers", "Worker processes (every core); no number depends on it."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Write selftest.json, .md, .html and .png here.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run every estimator on known answers: exit status 0 if all are sound, 1 if one is not."""
    raise typer.Exit(
        run(full=full, seed=seed, workers=workers, out=out, as_json=as_json, quiet=quiet)
    )


def run(
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
    import dpaudit._validate as check
    from dpaudit.execution import available_cores
    from dpaudit.report.document import prepare_directory
    from dpaudit.selftest import run as size
    from dpaudit.selftest.write import document, write

    check.integer("seed", seed, least=0)
    processes = available_cores() if workers is None else check.integer("workers", workers, least=1)
    if out is not None:
        prepare_directory(out)
    with progress_bar("selftest", shown=not (quiet or as_json)) as progress:
        result = size.run(size.FULL if full else size.QUICK, seed, processes, progress)
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
    from dpaudit.selftest.write import (
        ESTIMATOR_COLUMNS,
        PUBLISHED,
        answer_columns,
        answer_rows,
        estimator_rows,
        sentences,
    )

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
