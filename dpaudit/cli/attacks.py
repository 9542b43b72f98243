"""Attacks that measure what they recover."""

from __future__ import annotations

from typing import Annotated

import typer

from dpaudit.cli.options import Json, Quiet, app, integer, pairs


@app.command("attack")
def attack_command(
    name: Annotated[str, typer.Argument(help="An attack by name; see list.")],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the attack; see show."),
    ] = None,
    seed: Annotated[int, integer("--seed", "The only source of randomness.")] = 0,
    out: Annotated[
        str | None, typer.Option(help="Write the table and draw it into this directory.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run an attack and say how close it comes to what the attacker wants, next to chance."""
    from dpaudit.cli import attack as study_command

    study_command.run(name, pairs("--set", set_), seed, out, as_json=as_json, quiet=quiet)
