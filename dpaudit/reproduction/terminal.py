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

    Under a statement that did not hold, the table is of all.
    """
    outcome, tried = OUTCOMES[judgement.held], judgement.tried
    yield Text(f"  {outcome}: {judgement.statement} ({judgement.evidence})")
    if not tried:
        return
    held = sum(each.held is True for each in tried)
    yield Text(f"    tried beside it: held at {held} of {len(tried)} other settings")
    shown = [each for each in tried if not (judgement.held and each.held)]
    if shown:
        yield Padding(_table(judgement.measure, shown), (0, 0, 0, 4))


def _table(measure: str, tried: Sequence[Tried]) -> Table:
    """Return a column for each parameter where all settings have the same, else one for all."""
    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    names = list(tried[0].setting)
    alike = all(list(each.setting) == names for each in tried)
    for name in names if alike else ["setting"]:
        table.add_column(escape(name), justify="right" if alike else "left")
    table.add_column(escape(measure), justify="right")
    table.add_column("outcome", no_wrap=True)
    for each in tried:
        values = each.setting.values() if alike else [in_words(each.setting)]
        table.add_row(*map(_cell, values), _cell(each.number), OUTCOMES[each.held])
    return table


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return escape(str(value))
