"""The page of ``dpaudit spend show`` on a terminal."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from decimal import ROUND_CEILING
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from dpaudit.cli.console import make_cell
from dpaudit.report.formatting import format_significant
from dpaudit.spending.display import (
    DIGITS,
    draw_bar,
    meaning_of,
    name_limit,
    name_method,
    name_release,
    spent_sentence,
)

if TYPE_CHECKING:
    from dpaudit.spending.document import LimitDocument, PlannedDocument, SpendDocument

_SHOWN = 20  # last releases


def render_spend_page(found: SpendDocument) -> Iterator[Text | Table]:
    """Yield everything that is shown of a budget."""
    limits = " and ".join(name_limit(one.limit) for one in found.limits)
    yield Text(f"{found.file}: {limits}", style="bold")
    yield Text(f"For {found.unit}; neighbours: {found.relation}. Filter: {found.filter}.")
    for title, words in (("Data", found.period), ("Groups", found.partition)):
        if words:
            yield Text(f"{title}: {words}")
    for one in found.limits:
        yield Text(f"{draw_bar(one.spent, one.limit.size)}  {spent_sentence(one)}", style="bold")
        if len(one.methods) > 1:
            yield _make_methods_table(one)
    if found.planned is not None:
        yield _make_planned_table(found.planned)
    if len(found.groups) > 1:
        yield _make_groups_table(found)
    if found.releases:
        yield _make_releases_table(found)
    for sentence in meaning_of(found):
        yield Text(sentence)
    head = f"dpaudit spend verify {shlex.quote(str(found.file))} --head {found.head[:16]}"
    yield Text(
        f"Last line: {found.head[:16]}; keep it elsewhere, and check with {head}", style="dim"
    )


def _make_methods_table(one: LimitDocument) -> Table:
    """Return the table of each method's total, of which the least counts."""
    table = Table(title="spent, by every filter of the budget", title_justify="left")
    for column in ("filter", "share of delta", "epsilon"):
        table.add_column(column)
    for made in one.methods:
        style = "bold" if made.epsilon == one.spent else ""
        share = format_significant(made.method.delta)
        shown = format_significant(made.epsilon, DIGITS, ROUND_CEILING)
        table.add_row(Text(name_method(made.method), style=style), share, Text(shown, style=style))
    return table


def _make_planned_table(planned: PlannedDocument) -> Table:
    """Return the table of each accountant's total, if parameters were fixed in advance."""
    title = "by every accountant, if parameters were fixed before the first output"
    table = Table(title=title, title_justify="left")
    for column in ("accountant", "epsilon at most", "source"):
        table.add_column(column)
    for answer in planned.answers:
        style = "bold" if answer.upper == planned.epsilon else ""
        shown = format_significant(answer.upper, DIGITS, ROUND_CEILING)
        table.add_row(Text(answer.accountant, style=style), shown, make_cell(answer.source))
    return table


def _make_groups_table(found: SpendDocument) -> Table:
    table = Table(title="spent, by group", title_justify="left")
    table.add_column("group")
    for one in found.limits:
        table.add_column(name_limit(one.limit))
    for group in found.groups:
        shown = (format_significant(one, DIGITS, ROUND_CEILING) for one in group.spent)
        table.add_row(make_cell(group.name or "everybody else"), *shown)
    return table


def _make_releases_table(found: SpendDocument) -> Table:
    """Return the last releases, and how much was spent after each."""
    spent = {one.number: one.spent for one in found.history}
    nearest = max(found.limits, key=lambda one: one.spent / one.limit.size if one.limit.size else 0)
    left_out = len(found.releases) - _SHOWN
    title = "releases" if left_out <= 0 else f"releases ({left_out} earlier ones: --json)"
    table = Table(title=title, title_justify="left")
    for column in ("", "when, by whom", "release", "spent after it"):
        table.add_column(column)
    for place, entry in enumerate(found.releases, start=1):
        if place <= left_out:
            continue
        who = "\n".join(part for part in (entry.charged_at, entry.by) if part)
        groups = f"[{', '.join(entry.groups)}]" if entry.groups else None
        what = "\n".join(p for p in (entry.about, name_release(entry), groups) if p)
        bar = draw_bar(spent[place], nearest.limit.size)[::2] if place in spent else ""
        table.add_row(str(place), make_cell(who), make_cell(what), bar)
    return table
