"""``dpaudit list``, ``show``, ``schema`` and ``version``: nothing is run."""

from __future__ import annotations

import json
from typing import Annotated

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.options import Json


def list_installed(as_json: Json = False) -> None:
    """List the claims, attacks and figures that are installed."""
    from dpaudit.extension.registry import ATTACKS, CLAIMS, DISTINGUISHERS, FIGURES, RELEASES

    claims, distinguishers, attacks = CLAIMS.all(), DISTINGUISHERS.all(), ATTACKS.all()
    figures, releases = FIGURES.all(), RELEASES.all()
    if as_json:
        document = {
            "claims": [{"name": n, "kind": c.kind, "title": c.title} for n, c in claims.items()],
            "distinguishers": [
                {"name": n, "statement": d.statement} for n, d in distinguishers.items()
            ],
            "attacks": [{"name": n, "title": a.title} for n, a in attacks.items()],
            "figures": [{"name": n, "title": f.title} for n, f in figures.items()],
            "releases": [{"name": n, "title": r.title} for n, r in releases.items()],
        }
        streams.write(json.dumps(document, indent=2))
        return
    import dpaudit.cli.console as terminal

    terminal.console().print(terminal.claim_table(claims.values()))
    terminal.console().print(terminal.distinguisher_table(distinguishers.values()))
    terminal.console().print(terminal.attack_table(attacks.values()))
    terminal.console().print(terminal.figure_table(figures.values()))
    terminal.console().print(terminal.release_table(releases.values()))


def show(
    name: Annotated[str, typer.Argument(help="Name of a claim, an attack or a release.")],
) -> None:
    """Show a claim's statement and assumptions, an attack or a release, and the parameters."""
    import dpaudit.cli.console as terminal
    from dpaudit.cli.attack import card_called
    from dpaudit.extension.registry import ATTACKS, CLAIMS, DISTINGUISHERS, RELEASES

    if name in ATTACKS or name in DISTINGUISHERS:
        attack = card_called(name)
        pages = terminal.attack_page(attack, attack.load_parameters())
    elif name in RELEASES:
        release = RELEASES.get(name)
        pages = terminal.release_page(release, release.parameters)
    else:
        claim = CLAIMS.get(name)
        pages = terminal.claim_page(claim, claim.parameters)
    for part in pages:
        terminal.console().print(part)


def schema() -> None:
    """Print the JSON Schema of a report."""
    from dpaudit.report.schema import json_schema

    streams.write(json.dumps(json_schema(), indent=2))


def version() -> None:
    """Print the version."""
    from importlib.metadata import version

    streams.write(version("dpaudit"))
