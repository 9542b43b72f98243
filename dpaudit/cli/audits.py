"""Auditing claims, and checking certificates."""

from __future__ import annotations

from typing import Annotated

import typer

from dpaudit.cli.options import Json, Quiet, app, integer, number, pairs


@app.command("audit")
def audit_command(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Claims by name, or TOML files that specify audits."),
    ] = None,
    epsilon: Annotated[float | None, number("--epsilon", "Claimed epsilon (default: 1).")] = None,
    delta: Annotated[float | None, number("--delta", "Claimed delta (default: 1e-5).")] = None,
    data: Annotated[
        str | None,
        typer.Option(help="worst-case, breast-cancer, adult, a9a, csv, libsvm (worst-case)."),
    ] = None,
    data_path: Annotated[
        str | None, typer.Option(help="The data's file or directory (default: $DPAUDIT_DATA).")
    ] = None,
    data_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Passed to the data's loader.")
    ] = None,
    trials: Annotated[
        int | None, integer("--trials", "Transcripts per dataset (the claim's).")
    ] = None,
    confidence: Annotated[
        float | None, number("--confidence", "Of all that is certified, together (0.95).")
    ] = None,
    seed: Annotated[
        int | None, integer("--seed", "The only source of randomness (default: 0).")
    ] = None,
    workers: Annotated[
        int | None, integer("--workers", "Worker processes (every core); no number depends on it.")
    ] = None,
    out: Annotated[str | None, typer.Option(help="Write the report into this directory.")] = None,
    estimator: Annotated[
        str | None, typer.Option(help="auto, exact-loss or event (default: auto).")
    ] = None,
    attack: Annotated[str | None, typer.Option(help="The only attack to try.")] = None,
    until_refuted: Annotated[
        bool,
        typer.Option(
            "--until-refuted", help="Bet on outputs and stop when refuted; --trials is the cap."
        ),
    ] = False,
    candidate_pairs: Annotated[
        int | None,
        integer("--pairs", "Candidate pairs; the worst is certified on fresh transcripts."),
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Instead of targets: outputs as lines DATASET|NEIGHBOUR,NUMBER,... to bet on.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the claim; see show."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Every installed claim, a report each, in --out (reports)."),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Audit claims, or mechanisms of your own, and say which claims are refuted."""
    import dpaudit.cli.audit as command
    from dpaudit.errors import InvalidArgument

    given = {
        "epsilon": epsilon,
        "delta": delta,
        "data": data,
        "data_path": data_path,
        "trials": trials,
        "confidence": confidence,
        "seed": seed,
        "estimator": estimator,
        "attack": attack,
        "until_refuted": until_refuted or None,
        "candidate_pairs": candidate_pairs,
        "data_options": pairs("--data-option", data_option),
        "parameters": pairs("--set", set_),
    }
    overrides = {name: value for name, value in given.items() if value not in (None, {})}
    output = command.Output(directory=out, as_json=as_json, quiet=quiet)
    if watch is not None:
        from dpaudit.cli import watch as watch_command

        if every or targets:
            raise InvalidArgument("watch", watch, "no targets and no --all: the stream is audited")
        if workers is not None:
            raise InvalidArgument("workers", workers, "nothing with --watch, which uses one core")
        raise typer.Exit(watch_command.run(watch, overrides, output))
    if every == bool(targets):
        raise InvalidArgument("targets", targets or [], "names of claims or files, or else --all")
    if every:
        raise typer.Exit(command.run_all(overrides, workers, output))
    raise typer.Exit(command.run(targets or [], overrides, workers, output))


@app.command("verify")
def verify_command(
    files: Annotated[list[str], typer.Argument(help="Certificates, as JSON files.")],
    as_json: Json = False,
) -> None:
    """Re-check certificates in 50-digit arithmetic: exit status 0 if all stand, 1 if one fails."""
    from dpaudit.cli import verify as command

    raise typer.Exit(command.run(files, as_json=as_json))
