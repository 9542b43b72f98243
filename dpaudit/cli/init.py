"""``dpaudit init``: a specification, a test and a job of continuous integration, to begin with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.ending import ShowRecords, Traceback
from dpaudit.cli.options import number_option
from dpaudit.cli.progress import show_spinner
from dpaudit.errors import InvalidArgument, one_of
from dpaudit.escaping import one_line

_MOST_TRIED = 5


def init(
    into: Annotated[
        Path, typer.Option("--into", metavar="DIR", help="The folder of the project (this one).")
    ] = Path(),
    ci: Annotated[
        str,
        typer.Option(
            "--ci", metavar="NAME", help="The service that runs the job: github or gitlab."
        ),
    ] = "github",
    epsilon: Annotated[
        float | None, number_option("--epsilon", "Claimed epsilon (asked at a terminal; else 1).")
    ] = None,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
) -> None:
    """Write privacy.toml, a test and a job that runs both; no file is overwritten.

    Functions of the project that take a generator or draw noise are suggested: each is run on five
    made-up records, in a process of its own, and audited if that works. If there is none, an
    example is written. The files run at once.
    """
    from dpaudit.auditing.specification.noisy_functions import find_noisy_functions
    from dpaudit.auditing.specification.project_draft import (
        JOBS,
        FirstFiles,
        get_first_file_paths,
        refuse_present,
        try_function,
    )

    if ci not in JOBS:
        raise InvalidArgument("--ci", ci, one_of(JOBS, ci))
    if not into.is_dir():
        raise InvalidArgument("--into", str(into), "a folder that is there")
    # Before any function is run: a file that is in the way should cost nobody a minute.
    refuse_present(get_first_file_paths(into, ci))
    claimed = _resolve_claimed_epsilon(epsilon)
    found = find_noisy_functions(into)[:_MOST_TRIED]
    with show_spinner("trying functions"):
        tried = [try_function(one, into, claimed) for one in found]
    made = FirstFiles(folder=into, ci=ci, epsilon=claimed, tried=tried)
    for path in made.write():
        streams.write_result_text(one_line(str(path)))
    audited = ", ".join(made.audited) or "an example, because no function was found that runs"
    streams.write_result_text(f"The files audit: {one_line(audited)}.")
    for one in tried:
        if one.why is not None:
            streams.write_result_text(f"Not yet: {one_line(one.function.reference)}: {one.why}")
    here = "" if into == Path() else f"cd {one_line(str(into))} && "
    streams.write_result_text(
        f"Next: {here}dpaudit audit privacy.toml, then put your records and epsilon into it."
    )


def _resolve_claimed_epsilon(epsilon: float | None) -> float:
    """Return the claimed epsilon; somebody at a terminal is asked."""
    if epsilon is None and sys.stdin.isatty() and sys.stdout.isatty():
        epsilon = typer.prompt("Epsilon that is claimed", default=1.0, type=float)
    claimed = 1.0 if epsilon is None else epsilon
    if not 0 < claimed < float("inf"):
        raise InvalidArgument("--epsilon", claimed, "a number above 0")
    return claimed
