"""Looking around: what is installed, a claim's page, the schema, the version."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from dpaudit.cli.options import Json, app


@app.command("list")
def list_command(as_json: Json = False) -> None:
    """List the claims, attacks and figures that are installed."""
    import dpaudit.extension.registry as registry

    claims, attacks = registry.claims(), registry.attacks()
    figures, releases = registry.figures(), registry.releases()
    if as_json:
        document = {
            "claims": [{"name": n, "kind": c.kind, "title": c.title} for n, c in claims.items()],
            "attacks": [{"name": n, "statement": a.statement} for n, a in attacks.items()],
            "studies": [{"name": n, "title": s.title} for n, s in registry.studies().items()],
            "figures": [{"name": n, "title": f.title} for n, f in figures.items()],
            "releases": [{"name": n, "title": r.title} for n, r in releases.items()],
        }
        typer.echo(json.dumps(document, indent=2))
        return
    from dpaudit.cli.console import (
        attack_table,
        claim_table,
        console,
        figure_table,
        release_table,
        study_table,
    )

    console().print(claim_table(claims.values()))
    console().print(attack_table(attacks.values()))
    console().print(study_table(registry.studies().values()))
    console().print(figure_table(figures.values()))
    console().print(release_table(releases.values()))


@app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(help="Name of a claim, an attack or a release.")],
) -> None:
    """Show a claim's statement and assumptions, an attack or a release, and the parameters."""
    import dpaudit.extension.registry as registry
    from dpaudit.cli.attack import card
    from dpaudit.cli.console import claim_page, console, release_page, study_page

    releases = registry.releases()
    if name in registry.studies() or name in registry.attacks():
        attack = card(name)
        pages = study_page(attack, attack.load_parameters())
    elif name in releases:
        pages = release_page(releases[name], releases[name].parameters)
    else:
        claim = registry.claim(name)
        pages = claim_page(claim, claim.load_parameters())
    for part in pages:
        console().print(part)


@app.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of a report."""
    from dpaudit.report.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2))


@app.command("version")
def version_command() -> None:
    """Print the version."""
    from importlib.metadata import version

    typer.echo(version("dpaudit"))
