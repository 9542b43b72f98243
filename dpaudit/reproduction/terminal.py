"""A judgement on the terminal: the verdict, and a table of the other settings that were tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpaudit.reproduction.judgement import OUTCOMES, Judgement, Tried, in_words


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
