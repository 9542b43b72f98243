"""``dpaudit scan`` of an accountant: its answers against certified brackets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

import dpaudit.cli.streams as streams
from dpaudit.cli.console import cell, console
from dpaudit.cli.ending import FINE, REFUTED, attempted, concluded
from dpaudit.cli.progress import progress_bar
from dpaudit.errors import DpauditError
from dpaudit.report.formatting import number

if TYPE_CHECKING:
    from dpaudit.scan.accountants.document import AccountantScan, Group


def list_accountants(name: str | None) -> None:
    """Show the accountants, or the ways to ask one; run nothing."""
    from dpaudit.scan.accountants.cards import ACCOUNTANTS, accountant

    for card in ACCOUNTANTS.values() if name is None else (accountant(name),):
        versions = ", ".join(card.versions)
        line = f"{card.name}: an accountant, {len(card.methods)} methods; versions {versions}"
        console().print(line, soft_wrap=True)
        for method in card.methods if name is not None else ():
            line = f"  {method.name}: {method.states}, {method.relation}"
            console().print(line, soft_wrap=True)
            console().print(f"    {method.where}", soft_wrap=True)


def scan_one(
    name: str,
    env: str | None,
    out: str | None,
    gallery: str | None = None,
    *,
    as_json: bool,
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
    from dpaudit.scan.accountants.cards import accountant
    from dpaudit.scan.accountants.page import write
    from dpaudit.scan.accountants.publishing import publish
    from dpaudit.scan.accountants.scan import scan_accountant
    from dpaudit.scan.environments import place_of

    card = accountant(name)
    for folder in (out, gallery):
        if folder is not None:
            prepare_directory(folder)
    place = place_of(card.package, env)
    with progress_bar("scan", shown=not (quiet or as_json)) as progress:
        result = scan_accountant(card, python=place.command, progress=progress)
    failures, said = list[DpauditError](), list[str]()
    if out is not None:
        with attempted(failures):
            said.append(f"Report: {write(result, Path(out))}")
    if gallery is not None:
        with attempted(failures):
            said.append(f"Published: {publish(result, Path(gallery))}")
    with attempted(failures):
        _show(result, said, as_json=as_json)
    return concluded(REFUTED if result.violations else FINE, failures)


def _show(result: AccountantScan, said: list[str], *, as_json: bool) -> None:
    from dpaudit.scan.accountants.page import closing, document

    if as_json:
        streams.write(json.dumps(document(result), indent=2))
        return
    shown = console()
    shown.print(_table(result))
    _groups("False claims", result.violations)
    _groups("Wrong, though nothing false is claimed", result.defects)
    _groups("Below our bracket, without a second opinion", result.unconfirmed)
    for found in result.unordered:
        shown.print(
            f"Not monotone in {found.coordinate}, {found.method}, {found.pairs} pairs: "
            f"{found.less.question}: {found.less.answer}; {found.more.question}: "
            f"{found.more.answer}",
            soft_wrap=True,
        )
    for line in (*said, closing(result)):
        shown.print(line, soft_wrap=True)


def _table(result: AccountantScan) -> Table:
    title = f"{result.distribution} {result.version}, {result.date}"
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in ("method", "states", "answers", "false", "times the truth", "milliseconds"):
        table.add_column(column, overflow="fold")
    for one in result.methods:
        wrong = sum(count for name, count in one.judgements.items() if name in ("under", "above"))
        excess = f"{number(one.excess)}, at most {number(one.most_excess)}"
        milliseconds = None if one.seconds is None else 1e3 * one.seconds
        cells = (one.name, one.states, one.answered, wrong, excess, number(milliseconds))
        table.add_row(*map(cell, cells))
    return table


def _groups(title: str, groups: list[Group]) -> None:
    if groups:
        console().print(f"{title}:", style="bold")
    for group in groups:
        from dpaudit.scan.accountants.page import sentence

        line = f"{group.method}: {sentence(group)}"
        console().print(line, soft_wrap=True)
