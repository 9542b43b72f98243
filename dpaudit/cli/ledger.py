"""``dpaudit ledger``: every statement of papers, its verdict, and the cause of a refutation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import make_cell, make_console, make_titled_table
from dpaudit.cli.options import OUTPUT, Json
from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.formats import add_schema

if TYPE_CHECKING:
    from dpaudit.extension.claim import Claim
    from dpaudit.extension.ledger import Paper
    from dpaudit.ledger.verdicts import JudgedRow, Ledger

STYLES = {
    "proved": "bold green",
    "refuted": "bold red",
    "reproduced": "green",
    "differs": "yellow",
    "not settled": "bold",
    "stipulated": "dim",
}


def ledger(
    paper: Annotated[
        str | None,
        typer.Argument(
            help="One paper (all that are installed).", autocompletion=completion.complete_papers
        ),
    ] = None,
    cause: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Only statements that are refuted for this cause.",
            autocompletion=completion.complete_causes,
        ),
    ] = None,
    reports: Annotated[
        str | None,
        typer.Option(
            metavar="DIRECTORY",
            help="A folder that audit --all wrote: its audits count in addition to the published "
            "ones.",
        ),
    ] = None,
    markdown: Annotated[
        bool,
        typer.Option("--markdown", help="Print the page of all papers.", rich_help_panel=OUTPUT),
    ] = False,
    as_json: Json = False,
) -> None:
    """Show every statement of papers with its verdict, and the cause of each refutation."""
    from dpaudit.ledger.installed_papers import make_installed_ledger
    from dpaudit.report.ledger_schema import ledger_document

    found = make_installed_ledger(reports)
    papers = _select_papers(found, paper)
    _require_known(papers, cause)
    # A ledger with an error, such as a row without its claim, would show verdicts that rest on
    # nothing.
    _require_sound(found, papers)
    if markdown:
        _print_page(found, paper, cause)
    elif as_json:
        document = ledger_document(found, papers, cause).model_dump(mode="json")
        streams.write_result_text(json.dumps(add_schema("ledger", document), indent=2))
    else:
        for part in _render_ledger(found, papers, cause):
            make_console().print(part)


def _select_papers(found: Ledger, name: str | None) -> Sequence[Paper]:
    papers = {one.name: one for one in found.papers}
    if name is None:
        return found.papers
    if name not in papers:
        raise UnknownName("paper", name, papers)
    return (papers[name],)


def _require_known(papers: Sequence[Paper], cause: str | None) -> None:
    known = {one.name for paper in papers for one in paper.causes}
    if cause is not None and cause not in known:
        raise UnknownName("--cause", cause, known)


def _require_sound(found: Ledger, papers: Sequence[Paper]) -> None:
    from dpaudit.ledger.installed_papers import make_installed_cards
    from dpaudit.ledger.rules import errors_of_paper

    cards = make_installed_cards()
    for paper in papers:
        for error in errors_of_paper(found, paper, cards):
            raise error


def _print_page(found: Ledger, paper: str | None, cause: str | None) -> None:
    from dpaudit.report.statements import render_statements

    if paper is not None or cause is not None:
        given = cause if paper is None else paper
        raise InvalidArgument(
            "--markdown", given, "neither a paper nor --cause: the page is about all papers"
        )
    streams.write_result_text(render_statements(found).rstrip("\n"))


def _render_ledger(
    found: Ledger, papers: Sequence[Paper], cause: str | None
) -> Iterator[Text | Table]:
    from dpaudit.ledger.counts import count_rows
    from dpaudit.report.ledger_schema import rows_of

    judged = {paper.name: rows_of(found, paper, cause) for paper in papers}
    for paper in papers:
        if judged[paper.name]:  # with a cause, not every paper has statements that fall by it
            yield Text(f"{paper.name}: {paper.citation}", style="bold")
            yield from _render_ledger_tables(judged[paper.name])
    yield Text(count_rows(row for rows in judged.values() for row in rows).headline, style="bold")


def _render_ledger_tables(judged: Sequence[JudgedRow]) -> Iterator[Table]:
    from dpaudit.report.ledger_schema import causes_of

    causes = causes_of(judged)
    if causes:
        table = make_titled_table("What is wrong", "cause", "kind", "rows", "what")
        for cause, falling in causes.values():
            table.add_row(
                make_cell(cause.name), cause.nature, str(len(falling)), make_cell(cause.text)
            )
        yield table
    table = make_titled_table("Statements", "name", "place", "standing", "verdict", "cause")
    for one in judged:
        table.add_row(
            make_cell(one.row.name),
            make_cell(one.row.place),
            one.row.standing,
            verdict_text(one),
            make_cell("" if one.cause is None else one.cause.name),
        )
    yield table


def claim_table(claims: Iterable[Claim], ledger: Ledger) -> Table:
    """Return the installed claims as a table, with the verdict of each in its paper's ledger."""
    table = make_titled_table("Claims", "name", "what it is about", "kind", "standing", "verdict")
    for card in claims:
        judged = ledger.judge(card.name) if card.name in ledger else None
        standing = "question" if card.question else "claim"
        table.add_row(
            make_cell(card.name),
            make_cell(card.title),
            card.kind,
            standing if judged is None else judged.row.standing,
            Text("") if judged is None else verdict_text(judged),
        )
    return table


def paper_table(papers: Iterable[Paper], ledger: Ledger) -> Table:
    """Return the installed papers as a table, and under it the counts over all of them."""
    from dpaudit.ledger.counts import count_rows

    table = make_titled_table(
        "Papers, by dpaudit ledger NAME", "name", "statements", "title", "citation"
    )
    for paper in papers:
        statements = str(len(paper.rows))
        table.add_row(
            make_cell(paper.name), statements, make_cell(paper.title), make_cell(paper.citation)
        )
    table.caption = count_rows(ledger.judge_all()).headline
    table.caption_justify = "left"
    return table


def verdict_text(judged: JudgedRow) -> Text:
    """Return the verdict on a row for a table, in its colour."""
    return Text(judged.short_verdict, style=STYLES[judged.verdict])


def row_page(judged: JudgedRow) -> Iterator[Text]:
    """Yield the page of one row: its place, its verdict, and all that decided it."""
    row = judged.row
    yield Text(f"{row.name}: {row.place}", style="bold")
    yield Text(row.statement)
    yield Text(f"Standing: {row.standing}{', about privacy' if row.privacy else ''}")
    yield from verdict_lines(judged)


def verdict_lines(judged: JudgedRow) -> Iterator[Text]:
    """Yield the verdict on a row, its reasons, and the defence and the answer to a refutation."""
    from dpaudit.report.findings import deciding_words

    yield Text.assemble("Verdict: ", (judged.verdict_words, STYLES[judged.verdict]))
    for words in deciding_words(judged):
        yield Text(f"  {words}")
    if judged.cause is not None:
        yield Text(f"Cause: {judged.cause.name} ({judged.cause.nature}). {judged.cause.text}")
    if judged.verdict == "refuted":
        yield Text(f"Defence: {judged.defence}")
        yield Text(f"Answer: {judged.answer}")
