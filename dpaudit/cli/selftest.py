"""``dpaudit selftest``: the auditor, audited."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

import dpaudit.cli.streams as streams
from dpaudit.cli.console import make_cell, make_console
from dpaudit.cli.ending import (
    FINE,
    REFUTED,
    Interruption,
    Traceback,
    collect_failures,
    report_failures,
)
from dpaudit.cli.options import Json, Quiet, folder_option, integer_option
from dpaudit.cli.output import format_ended_count
from dpaudit.cli.progress import progress_bar
from dpaudit.cli.storing import NoStore, Store, resolve_storing, tell_taken
from dpaudit.errors import DpauditError

if TYPE_CHECKING:
    from dpaudit.selftest.run import SelfTest
    from dpaudit.selftest.write import Rows
    from dpaudit.store.keeping import Storing


def selftest(
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="Four minutes on two cores: 2,000 audits or more of a law, all known answers, "
            "next to another tool's published results; or under a minute.",
        ),
    ] = False,
    seed: Annotated[int, integer_option("--seed", "The only source of randomness.")] = 0,
    workers: Annotated[
        int | None,
        integer_option("--workers", "Worker processes (every core); no number depends on it."),
    ] = None,
    out: Annotated[
        str | None, folder_option("Write selftest.json, .md, .html and .png here.")
    ] = None,
    store: Store = None,
    no_store: NoStore = False,
    as_json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
) -> int:
    """Run every estimator on known answers.

    Exit status: 0 if all are sound, 1 if one is not, 2 if one has no result.
    """
    from dpaudit.cli.description import SelftestCommand

    where = resolve_storing(store, no_store, out, SelftestCommand(full=full, seed=seed).document())
    return run(
        full=full,
        seed=seed,
        workers=workers,
        out=out,
        as_json=as_json,
        quiet=quiet,
        where=where,
    )


def run(
    *,
    full: bool,
    seed: int,
    workers: int | None,
    out: str | None,
    as_json: bool,
    quiet: bool,
    where: Storing | None = None,
) -> int:
    """Run the self-test, write and show it, and return the exit status.

    It is 0 if it passed, 1 if something is unsound or missed, 2 if a result is missing.

    Raises
    ------
    InvalidArgument
        An argument is out of range.
    DpauditError
        No installed package has known answers.
    KeyboardInterrupt
        Somebody stopped it; what had ended is written and shown.
    """
    import dpaudit._check as check
    from dpaudit.execution import available_cores
    from dpaudit.files import prepare_directory
    from dpaudit.selftest import run as size
    from dpaudit.selftest.write import write_selftest

    check.require_integer("seed", seed, least=0)
    processes = (
        available_cores() if workers is None else check.require_integer("workers", workers, least=1)
    )
    if out is not None:
        prepare_directory(out)
    with progress_bar("selftest", shown=not (quiet or as_json)) as progress:
        result = size.run(size.FULL if full else size.QUICK, seed, processes, progress, where)
    tell_taken(where)
    failures = [DpauditError(f"{one.name}: {one.why}") for one in result.missing]
    # After an interrupt the missing parts are no failures of theirs, and the last line names
    # them.
    said, shown = list[str](), [] if result.interrupted else failures
    if out is not None:
        with collect_failures(shown):
            said.append(f"Report: {write_selftest(result, Path(out), processes)}")
    with collect_failures(shown):
        _print_selftest(result, processes, said, as_json=as_json)
    status = report_failures(REFUTED if result.failures else FINE, shown)
    if result.interrupted:
        raise Interruption(
            format_ended_count(result.asked - len(failures), [m.name for m in result.missing])
        )
    return status


def _print_selftest(result: SelfTest, workers: int, said: Sequence[str], *, as_json: bool) -> None:
    from dpaudit.selftest.write import make_selftest_document

    if as_json:
        streams.write_result_text(json.dumps(make_selftest_document(result, workers), indent=2))
        return
    _show_tables(result)
    for line in said:
        make_console().print(line, soft_wrap=True)


def _show_tables(result: SelfTest) -> None:
    """Show the decisive tables; the rest is in the files, as a terminal has no room for it."""
    from dpaudit.selftest.write import (
        ESTIMATOR_COLUMNS,
        PUBLISHED,
        answer_columns,
        answer_rows,
        estimator_rows,
        format_selftest_outcome,
        format_selftest_sentences,
    )

    shown = make_console()
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
        shown.print(_make_selftest_table(title, kept, [[row[i] for i in places] for row in rows]))
    for sentence in format_selftest_sentences(result)[1:]:
        shown.print(sentence)
    for failure in result.failures:
        shown.print(failure, soft_wrap=True)
    unfinished = format_selftest_outcome(result) if result.missing else "Passed."
    shown.print("Failed." if result.failures else unfinished)


def _make_selftest_table(title: str, columns: Sequence[str], rows: Rows) -> Table:

    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(make_cell(column), overflow="fold")
    for row in rows:
        table.add_row(*map(make_cell, row))
    return table
