"""The verdicts as a table on a terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dpaudit.report.formatting import NONE, label, number, numbers, one_line, percent
from dpaudit.report.schema import Report, Result

if TYPE_CHECKING:
    from rich.table import Table

_SYMBOLS = {"privacy": "ε =", "sensitivity": "L2 =", "property": "at most"}
_STYLES = {"refuted": "bold red", "not refuted": "bold"}


def verdict_table(results: Sequence[Result]) -> Table:
    """Return the three numbers and the verdict of each result, one row each.

    Text that came from a user is shown as it is: markup in it has no effect. The table wraps its
    cells to fit 100 columns.

    Examples
    --------
    >>> verdict_table([]).row_count
    0
    """
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="Verdicts", title_justify="left", show_lines=True)
    table.add_column(
        "Claim",
        overflow="fold",
        min_width=_least_width(results),
        max_width=30,
        no_wrap=_short(results),
    )
    table.add_column("Claimed", overflow="fold", max_width=20)
    table.add_column("Proved", overflow="fold", max_width=20)
    table.add_column("Measured", max_width=24)
    table.add_column("Verdict", no_wrap=True)
    for result in results:
        claim, claimed, proved, measured = (escape(cell) for cell in _cells(result))
        style = _STYLES[result.verdict]
        table.add_row(claim, claimed, proved, measured, f"[{style}]{result.verdict}[/]")
    return table


def budget_line(report: Report) -> str:
    """Return what the whole report's confidence is, and how its error probability was shared.

    Examples
    --------
    >>> from dpaudit.report.schema import BudgetEntry, Environment
    >>> made = Environment(
    ...     dpaudit="1", python="3", packages={}, cores=1, workers=1, created="now", seconds=1
    ... )
    >>> spent = [BudgetEntry(purpose=name, alpha=0.025) for name in ("a", "b")]
    >>> print(budget_line(Report(results=[], environment=made, confidence=0.95, budget=spent)))
    All results together: 95% confidence. Error probability 0.05: a 0.025, b 0.025.
    """
    alpha = math.fsum(entry.alpha for entry in report.budget)
    shares = ", ".join(f"{one_line(e.purpose)} {number(e.alpha)}" for e in report.budget)
    sure = percent(1 - alpha)
    return f"All results together: {sure} confidence. Error probability {number(alpha)}: {shares}."


def _short(results: Sequence[Result]) -> bool:
    """Return whether all names are short enough to stay whole on a narrow terminal."""
    return all(len(label(result)) <= 20 for result in results)


def _least_width(results: Sequence[Result]) -> int:
    """Return the width at which no claim's name is broken, up to 20 columns."""
    return min(max((len(one_line(result.claim)) for result in results), default=0), 20)


def _cells(result: Result) -> tuple[str, str, str, str]:
    shown = numbers(result)
    symbol = _SYMBOLS[result.kind]
    proved = NONE if result.proved is None else _stated(symbol, shown.proved, shown.proved_delta)
    claimed = _stated(symbol, shown.claimed, shown.claimed_delta)
    return label(result), claimed, proved, f"{shown.measured}\n{shown.surety}"


def _stated(symbol: str, value: str, delta: str | None) -> str:
    return f"{symbol} {value}" + (f"\nδ = {delta}" if delta is not None else "")
