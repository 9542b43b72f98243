"""What can be proved, and what the papers draw."""

from __future__ import annotations

from typing import Annotated

import typer

from dpaudit.cli.options import Json, Quiet, app, integer, number, pairs


@app.command("reproduce")
def reproduce_command(
    figures: Annotated[list[str], typer.Argument(help="Figures by name; see list.")],
    data: Annotated[
        str | None,
        typer.Option(
            "--data", "--data-path", help="The data's file or directory (default: $DPAUDIT_DATA)."
        ),
    ] = None,
    runs: Annotated[
        int | None, integer("--runs", "Independent runs to average over (the figure's).")
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="The paper's own size.")] = False,
    seed: Annotated[int, integer("--seed", "The only source of randomness.")] = 0,
    out: Annotated[str, typer.Option(help="Where the numbers and pictures go.")] = "figures",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draw figures of the papers again and judge what the papers say of them."""
    from dpaudit.cli import reproduce as command

    options = {"data_path": data, "runs": runs, "full": full, "seed": seed}
    command.run(figures, options, out, as_json=as_json, quiet=quiet)


@app.command("account")
def account_command(
    release: Annotated[str, typer.Argument(help="A release by name, see list; or a TOML file.")],
    delta: Annotated[float, number("--delta", "At which epsilon is asked.")] = 1e-5,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the release; see show."),
    ] = None,
    group: Annotated[
        int | None,
        integer("--group", "Also for datasets this many steps apart; 2 replaces a record."),
    ] = None,
    out: Annotated[
        str | None, typer.Option(help="Write the numbers and draw them into this directory.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Say what can be proved about a sequence of releases: every accountant, side by side."""
    import dpaudit.cli.account as command

    changes = pairs("--set", set_)
    command.account(release, changes, delta, out, group=group, as_json=as_json, quiet=quiet)


@app.command("calibrate")
def calibrate_command(
    release: Annotated[str, typer.Argument(help="A release by name, see list; or a TOML file.")],
    epsilon: Annotated[float, number("--epsilon", "The target.")] = 1.0,
    delta: Annotated[float, number("--delta", "The target.")] = 1e-5,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Another parameter; see show."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Find the least noise with which a release is provably (epsilon, delta)-DP."""
    import dpaudit.cli.account as command

    command.find_noise(release, pairs("--set", set_), epsilon, delta, as_json=as_json)
