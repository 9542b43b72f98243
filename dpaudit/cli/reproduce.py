"""What ``dpaudit reproduce`` does: draws figures one after the other, writes and judges them.

A judgement on the terminal: the verdict, and a table of the other settings that were tried.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from typing import Any

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

import dpaudit.extension.registry as registry
from dpaudit.cli.console import console
from dpaudit.execution import Silent
from dpaudit.extension.figure import Figure
from dpaudit.laws.residuals import recorded
from dpaudit.report import prepare_directory
from dpaudit.reproduction.judgement import OUTCOMES, Judgement, Tried, in_words
from dpaudit.reproduction.result import Reproduction, Request


def lines(judgement: Judgement) -> Iterator[Text | Padding]:
    """Yield the verdict, how many other settings agree, and a table of those that do not.

    Under a statement that did not hold, the table is of all. A setting without the drawn one's
    caveat, or with one of its own, is in it too.
    """
    outcome, tried = OUTCOMES[judgement.held], judgement.tried
    yield Text(f"  {outcome}: {judgement.statement} ({judgement.evidence})")
    if judgement.caveat:
        yield Text(f"    caveat: {judgement.caveat}")
    if not tried:
        return
    yield Text(f"    tried beside it: {_count(tried)} other settings{_free_of(judgement)}")
    shown = [each for each in tried if not _agrees(judgement, each)]
    if shown:
        yield Padding(_table(judgement.measure, shown), (0, 0, 0, 4))


def _agrees(judgement: Judgement, each: Tried) -> bool:
    return bool(judgement.held and each.held) and each.caveat == judgement.caveat


def _count(tried: Sequence[Tried]) -> str:
    return f"held at {sum(each.held is True for each in tried)} of {len(tried)}"


def _free_of(judgement: Judgement) -> str:
    """Return, where there is a caveat, how many settings without one agree."""
    if not (judgement.caveat or any(each.caveat for each in judgement.tried)):
        return ""
    return f"; {_count([each for each in judgement.tried if not each.caveat])} without a caveat"


def _table(measure: str, tried: Sequence[Tried]) -> Table:
    """Return a column for each parameter where all settings have the same, else one for all."""
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    names = list(tried[0].setting)
    alike = all(list(each.setting) == names for each in tried)
    for name in names if alike else ["setting"]:
        table.add_column(escape(name), justify="right" if alike else "left")
    table.add_column(escape(measure), justify="right")
    table.add_column("outcome", no_wrap=True)
    if any(each.caveat for each in tried):
        table.add_column("caveat")
    for each in tried:
        values = each.setting.values() if alike else [in_words(each.setting)]
        cells = [*map(_cell, values), _cell(each.number), OUTCOMES[each.held], escape(each.caveat)]
        table.add_row(*cells[: len(table.columns)])
    return table


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return escape(str(value))


def run(names: list[str], options: dict[str, Any], out: str, *, as_json: bool, quiet: bool) -> None:
    """Draw every figure, write it as soon as it is done, and print one line per statement."""
    cards = [registry.figure(name) for name in names]
    prepare_directory(out)
    finished = []
    for card in cards:
        reproduction = _drawn(card, options, quiet)
        from dpaudit.reproduction.write import write  # loads matplotlib

        paths = write(reproduction, out)
        finished.append(reproduction)
        if not as_json:
            _show(reproduction, str(paths["png"]))
    if as_json:
        document = {"figures": [asdict(reproduction) for reproduction in finished]}
        sys.stdout.write(json.dumps(document, indent=2) + "\n")


def _drawn(card: Figure, options: dict[str, Any], quiet: bool) -> Reproduction:
    from dpaudit.cli.progress import bar

    hidden = quiet or not sys.stderr.isatty()
    with nullcontext(Silent()) if hidden else bar(card.name) as progress:
        with recorded() as residuals:
            drawn = card.load()(Request(progress=progress, **options))
    return replace(drawn, solvers=residuals.lines())


def _show(reproduction: Reproduction, picture: str) -> None:
    console().print(Text(f"{reproduction.figure}: {reproduction.title}", style="bold"))
    for judgement in reproduction.judgements:
        for part in lines(judgement):
            console().print(part)
    for note in reproduction.notes:
        console().print(Text(f"  note: {note}", style="dim"))
    for line in reproduction.solvers:
        console().print(Text(f"  solver: {line}", style="dim"))
    console().print(Text(f"  {picture}"), soft_wrap=True)
