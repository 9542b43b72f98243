"""``dpaudit list``, ``show``, ``schema`` and ``version``: nothing is run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.options import Json

if TYPE_CHECKING:
    from dpaudit.ledger.verdicts import Ledger

_KINDS = ("privacy", "sensitivity", "property")  # of claims
_FIELDS = {
    "claims": ("name", "kind", "title"),
    "distinguishers": ("name", "statement"),
    "attacks": ("name", "title"),
    "figures": ("name", "title"),
    "releases": ("name", "title"),
    "papers": ("name", "title", "citation"),
}


def list_installed(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="List only these: claims, distinguishers, attacks, figures, releases or papers; "
            "or claims of one kind: privacy, sensitivity or property.",
            autocompletion=completion.of(*_FIELDS, *_KINDS),
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """List the claims, attacks, figures, releases and papers that are installed."""
    from dpaudit.ledger.installed_papers import make_installed_ledger

    cards, ledger = _get_installed_cards(kind), make_installed_ledger()
    if as_json:
        document = {
            name: [_get_card_fields(name, card, ledger) for card in some]
            for name, some in cards.items()
        }
        streams.write_result_text(json.dumps(document, indent=2))
        return
    import dpaudit.cli.console as console
    from dpaudit.cli.ledger import claim_table, paper_table

    tables: dict[str, Callable[[Any], Any]] = {
        "claims": partial(claim_table, ledger=ledger),
        "papers": partial(paper_table, ledger=ledger),
        "distinguishers": console.distinguisher_table,
        "attacks": console.attack_table,
        "figures": console.figure_table,
        "releases": console.release_table,
    }
    for name, some in cards.items():
        shown = console.make_console()
        for part in console.fit_table_to_width(tables[name](some), shown.width):
            shown.print(part)


def _get_card_fields(room: str, card: Any, ledger: Ledger) -> dict[str, Any]:
    """Return the fields of a card; of a claim also its state in the paper's ledger."""
    shown = {field: getattr(card, field) for field in _FIELDS[room]}
    if room != "claims":
        return shown
    judged = ledger.judge(card.name) if card.name in ledger else None
    cause = None if judged is None or judged.cause is None else judged.cause.name
    return shown | {
        "standing": None if judged is None else judged.row.standing,
        "verdict": None if judged is None else judged.verdict,
        "cause": cause,
    }


def _get_installed_cards(kind: str | None) -> dict[str, list[Any]]:
    """Return the installed cards by kind: all of them, or those that somebody asks for."""
    from dpaudit.errors import UnknownName
    from dpaudit.extension.registry import (
        ATTACKS,
        CLAIMS,
        DISTINGUISHERS,
        FIGURES,
        PAPERS,
        RELEASES,
    )

    rooms: dict[str, Any] = {
        "claims": CLAIMS,
        "distinguishers": DISTINGUISHERS,
        "attacks": ATTACKS,
        "figures": FIGURES,
        "releases": RELEASES,
        "papers": PAPERS,
    }
    if kind is None:
        return {name: list(room.all().values()) for name, room in rooms.items()}
    if kind in _KINDS:
        return {"claims": [card for card in CLAIMS.all().values() if card.kind == kind]}
    if kind not in rooms:
        raise UnknownName("kind", kind, (*rooms, *_KINDS))
    return {kind: list(rooms[kind].all().values())}


def show(
    name: Annotated[
        str,
        typer.Argument(
            help="Name of a claim, a statement of a paper, an attack or a release.",
            autocompletion=completion.complete_pages,
        ),
    ],
) -> None:
    """Show a claim with its assumptions, an attack or a release, and its parameters.

    For a statement of a paper, and a claim that is one, also show its verdict and why.
    """
    import dpaudit.cli.console as console
    from dpaudit.cli.attack import card_called
    from dpaudit.cli.ledger import row_page, verdict_lines
    from dpaudit.extension.registry import ATTACKS, CLAIMS, DISTINGUISHERS, RELEASES
    from dpaudit.ledger.installed_papers import make_installed_ledger

    pages: Iterable[Any]
    ledger = make_installed_ledger()

    if name in ATTACKS or name in DISTINGUISHERS:
        attack = card_called(name)
        pages = console.attack_page(attack, attack.load_parameters())
    elif name in RELEASES:
        release = RELEASES.get(name)
        pages = console.release_page(release, release.parameters)
    elif name in ledger and name not in CLAIMS:
        pages = row_page(ledger.judge(name))
    else:
        claim = CLAIMS.get(name)
        judged = verdict_lines(ledger.judge(name)) if name in ledger else ()
        pages = (*console.claim_page(claim, claim.parameters), *judged)
    for part in pages:
        console.make_console().print(part)


_SCHEMAS = ("report", "certificate", "scan", "published-scan", "ledger", "spend")


def schema(
    kind: Annotated[
        str,
        typer.Argument(
            help=f"The kind of file: {', '.join(_SCHEMAS)}.",
            autocompletion=completion.of(*_SCHEMAS),
        ),
    ] = "report",
) -> None:
    """Print the JSON Schema of a report, or of another file."""
    from dpaudit.errors import UnknownName
    from dpaudit.report.counts import ReportPart
    from dpaudit.report.schema import Report, json_schema

    if kind not in _SCHEMAS:
        raise UnknownName("schema", kind, _SCHEMAS)
    if kind == "certificate":
        from dpaudit.verification.schema import certificate_schema

        streams.write_result_text(json.dumps(certificate_schema(), indent=2))
        return
    model: type[ReportPart] = Report
    if kind == "ledger":
        from dpaudit.report.ledger_schema import LedgerDocument

        model = LedgerDocument
    elif kind == "spend":
        from dpaudit.spending.document import SpendDocument

        model = SpendDocument
    elif kind != "report":
        from dpaudit.scan.finding import ScanResult
        from dpaudit.scan.publication.published_scan import PublishedScan

        model = ScanResult if kind == "scan" else PublishedScan
    streams.write_result_text(json.dumps(json_schema(model), indent=2))


def version() -> None:
    """Print the version."""
    from importlib.metadata import version

    streams.write_result_text(version("dpaudit"))
