"""``dpaudit scan`` of an accountant: its answers against certified brackets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from dpaudit.cli.console import make_cell, make_console
from dpaudit.cli.ending import FINE, REFUTED, collect_failures, report_failures
from dpaudit.cli.formats import Formats, give_formats
from dpaudit.cli.progress import progress_bar
from dpaudit.errors import DpauditError
from dpaudit.report.formatting import format_significant

if TYPE_CHECKING:
    from dpaudit.scan.accountants.document import AccountantScan, AnswerGroup


def list_accountants(name: str | None) -> None:
    """Show the accountants, or the ways to ask one; run nothing."""
    from dpaudit.scan.accountants.cards import ACCOUNTANTS, get_accountant_card

    for card in ACCOUNTANTS.values() if name is None else (get_accountant_card(name),):
        versions = ", ".join(card.versions)
        line = f"{card.name}: an accountant, {len(card.methods)} methods; versions {versions}"
        make_console().print(line, soft_wrap=True)
        for method in card.methods if name is not None else ():
            line = f"  {method.name}: {method.states}, {method.relation}"
            make_console().print(line, soft_wrap=True)
            make_console().print(f"    {method.where}", soft_wrap=True)


def scan_one(
    name: str,
    env: str | None,
    out: str | None,
    gallery: str | None = None,
    *,
    formats: Formats,
    quiet: bool,
) -> int:
    """Ask an accountant, judge its answers, write and show them, and return the exit status.

    Raises
    ------
    InvalidArgument, UnknownName
        An argument names nothing.
    DpauditError
        The environment cannot be built, or the package cannot be loaded in it.
    """
    from dpaudit.files import prepare_directory
    from dpaudit.scan.accountants.cards import get_accountant_card
    from dpaudit.scan.accountants.page import make_accountant_document, write_accountant_scan
    from dpaudit.scan.accountants.publishing import publish_accountant_scan
    from dpaudit.scan.accountants.scan import scan_accountant
    from dpaudit.scan.entries import make_accountant_entries
    from dpaudit.scan.remote.environments import place_of

    card = get_accountant_card(name)
    for folder in (out, gallery):
        if folder is not None:
            prepare_directory(folder)
    place = place_of(card.package, env)
    with progress_bar("scan", shown=not (quiet or formats.shown)) as progress:
        result = scan_accountant(card, python=place.command, progress=progress)
    failures, said = list[DpauditError](), list[str]()
    if out is not None:
        with collect_failures(failures):
            said.append(f"Report: {write_accountant_scan(result, Path(out))}")
    if gallery is not None:
        with collect_failures(failures):
            said.append(f"Published: {publish_accountant_scan(result, Path(gallery))}")
    entries = make_accountant_entries(result, Path.cwd())
    document = json.dumps(make_accountant_document(result), indent=2)
    give_formats(formats, entries, document, failures)
    if formats.shown is None:
        with collect_failures(failures):
            _print_accountant_scan(result, said)
    return report_failures(REFUTED if result.violations else FINE, failures)


def _print_accountant_scan(result: AccountantScan, said: list[str]) -> None:
    from dpaudit.scan.accountants.page import format_closing_sentence

    shown = make_console()
    shown.print(_make_accountant_table(result))
    _print_violation_groups("False claims", result.violations)
    _print_violation_groups("Wrong, but without a false claim", result.defects)
    _print_violation_groups("Below our bracket, without a second opinion", result.unconfirmed)
    for found in result.unordered:
        shown.print(
            f"Not monotone in {found.coordinate}, {found.method}, {found.pairs} pairs: "
            f"{found.less.question}: {found.less.answer}; {found.more.question}: "
            f"{found.more.answer}",
            soft_wrap=True,
        )
    for line in (*said, format_closing_sentence(result)):
        shown.print(line, soft_wrap=True)


def _make_accountant_table(result: AccountantScan) -> Table:
    title = f"{result.distribution} {result.version}, {result.date}"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("method", "states", "answers", "false", "times the truth", "milliseconds"):
        table.add_column(column, overflow="fold")
    for one in result.methods:
        wrong = sum(count for name, count in one.judgements.items() if name in ("under", "above"))
        excess = f"{format_significant(one.excess)}, at most {format_significant(one.most_excess)}"
        milliseconds = None if one.seconds is None else 1e3 * one.seconds
        cells = (
            one.name,
            one.states,
            one.answered,
            wrong,
            excess,
            format_significant(milliseconds),
        )
        table.add_row(*map(make_cell, cells))
    return table


def _print_violation_groups(title: str, groups: list[AnswerGroup]) -> None:
    if groups:
        make_console().print(f"{title}:", style="bold")
    for group in groups:
        from dpaudit.scan.accountants.page import format_group_sentence

        line = f"{group.method}: {format_group_sentence(group)}"
        make_console().print(line, soft_wrap=True)
