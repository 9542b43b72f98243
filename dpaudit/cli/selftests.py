"""Auditing the auditor."""

from __future__ import annotations

from typing import Annotated

import typer

from dpaudit.cli.options import Json, Quiet, app, integer


@app.command("selftest")
def selftest_command(
    full: Annotated[
        bool,
        typer.Option(
            "--full/--quick",
            help="A quarter of an hour on two cores: 10,000 audits, all known answers, next to "
            "what another tool published; or under a minute.",
        ),
    ] = False,
    seed: Annotated[int, integer("--seed", "The only source of randomness.")] = 0,
    workers: Annotated[
        int | None, integer("--workers", "Worker processes (every core); no number depends on it.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Write selftest.json, .md, .html and .png here.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run every estimator on known answers: exit status 0 if all are sound, 1 if one is not."""
    from dpaudit.cli import selftest as command

    status = command.test(
        full=full, seed=seed, workers=workers, out=out, as_json=as_json, quiet=quiet
    )
    raise typer.Exit(status)
