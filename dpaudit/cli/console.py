"""Tables and pages on the terminal: lists, a card's page, verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from errno import EPIPE
from typing import TYPE_CHECKING, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

import dpaudit.cli.streams as streams
from dpaudit.escaping import make_printable, one_line
from dpaudit.report.formatting import (
    NONE,
    fault_words,
    format_percent,
    format_result_label,
    format_significant,
    format_verdict,
    make_shown_numbers,
    noise_words,
)
from dpaudit.verdicts import Verdict

if TYPE_CHECKING:
    from dpaudit.extension.attack import Attack
    from dpaudit.extension.claim import Claim
    from dpaudit.extension.distinguisher import Distinguisher
    from dpaudit.extension.figure import Figure
    from dpaudit.extension.release import ReleaseCard
    from dpaudit.report.schema import Report, Result

_WIDE = 100  # columns from which lists of names are tables
_ABOUT = ("what it ", "title")  # begin a column's name that says nothing beside its text
_SYMBOLS = {"privacy": "ε =", "sensitivity": "L2 =", "property": "at most"}
STYLES: Mapping[Verdict, str] = {
    "refuted": "bold red",
    "withheld": "bold yellow",
    "not refuted": "bold",
    "proved": "bold green",
}


class _Results(Console):
    """A console on the stream of the results, where a failure to write is an error."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yield the segments to show; only rich itself may drive the terminal."""
        for part in super().render(renderable, options):
            # Names and messages come from files and other people's code, and may hold escape
            # sequences that would move the cursor or recolour a verdict.
            yield part if part.control else part._replace(text=make_printable(part.text))

    def print(self, *objects: Any, **options: Any) -> None:
        with streams.convert_write_errors():
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        """Let the failure pass, which would end the program with the status of a refutation."""
        raise BrokenPipeError(EPIPE, "Broken pipe")


def make_console() -> Console:
    """Return the console that shows results: no text is markup, whoever wrote it."""
    # Rich would read brackets in a claim's name as markup, and drop them.
    return _Results(file=streams.get_results_stream(), highlight=False, markup=False, emoji=False)


def make_cell(text: object) -> Text:
    r"""Return somebody's text as a cell that shows these characters and no others.

    Examples
    --------
    >>> make_cell("[bold]x \x1b[31m").plain
    '[bold]x �[31m'
    """
    return Text(make_printable(str(text)))


def distinguisher_table(distinguishers: Iterable[Distinguisher]) -> Table:
    """Return the installed distinguishers as a table."""
    table = make_titled_table("Attacks that score outputs", "name", "needs the law", "what it does")
    for card in distinguishers:
        table.add_row(
            make_cell(card.name), "yes" if card.needs_law else "no", make_cell(card.statement)
        )
    return table


def attack_table(attacks: Iterable[Attack]) -> Table:
    """Return the installed attacks as a table."""
    table = make_titled_table(
        "Attacks that measure what they recover", "name", "what it does", "source"
    )
    for card in attacks:
        table.add_row(make_cell(card.name), make_cell(card.title), make_cell(card.source))
    return table


def attack_page(card: Any, parameters: Any) -> Iterator[Text | Table]:
    """Yield the page of an attack: its source, threat model and parameters."""
    yield Text(f"{card.name}: {card.title}", style="bold")
    yield Text(f"Source: {card.source}")
    for verb, rest in card.attacker.items():
        yield Text(f"The attacker {verb} {rest}.")
    yield _parameter_table(parameters)
    needed = [name for name, field in parameters.model_fields.items() if field.is_required()]
    asked = "".join(f" --set {name}=..." for name in needed)
    yield Text(f"Run it: dpaudit attack {card.name}{asked} --out attack")


def figure_table(figures: Iterable[Figure]) -> Table:
    """Return the installed figures as a table."""
    table = make_titled_table("Figures that can be drawn again", "name", "what it shows", "source")
    for card in figures:
        table.add_row(make_cell(card.name), make_cell(card.title), make_cell(card.source))
    return table


def release_table(releases: Iterable[ReleaseCard]) -> Table:
    """Return the installed releases as a table."""
    table = make_titled_table("Releases that can be accounted for", "name", "what it is", "source")
    for card in releases:
        table.add_row(make_cell(card.name), make_cell(card.title), make_cell(card.source))
    return table


def release_page(card: ReleaseCard, parameters: Any) -> Iterator[Text | Table]:
    """Yield the page of a release: its source, neighbours and parameters."""
    yield Text(f"{card.name}: {card.title}", style="bold")
    yield Text(f"Source: {card.source}")
    yield Text(f"Neighbours: {card.relation}")
    yield _parameter_table(parameters)
    yield Text(f"Account for it: dpaudit account {card.name} --delta 1e-5")
    yield Text(f"Solve for {card.noise}: dpaudit calibrate {card.name} --epsilon 1 --delta 1e-5")


def _parameter_table(parameters: Any) -> Table:
    table = make_titled_table("Parameters (--set name=value)", "name", "default", "meaning")
    for name, field in parameters.model_fields.items():
        default = "needed"
        if not field.is_required():
            default = str(field.get_default(call_default_factory=True))
        table.add_row(make_cell(name), make_cell(default), make_cell(field.description or ""))
    return table


def claim_page(card: Claim, parameters: Any) -> Iterator[Text | Table]:
    """Yield the page of a claim: its statement, source, assumptions and parameters."""
    yield Text(f"{card.name}: {card.title}", style="bold")
    yield Text(card.statement)
    yield Text(f"Source: {card.source}")
    yield Text(f"Neighbours: {card.relation}")
    table = make_titled_table("Assumptions, checked on every audited instance", "name", "statement")
    for name, statement in card.assumptions.items():
        table.add_row(make_cell(name), make_cell(statement))
    yield table
    yield _parameter_table(parameters)
    claimed = " --epsilon 1 --delta 1e-5" if card.kind == "privacy" else ""
    yield Text(f"Audit it: dpaudit audit {card.name}{claimed} --out report")


def verdict_lines(results: Sequence[Result]) -> Iterator[Text | Table]:
    """Yield the verdict table, then the reason of each verdict."""
    yield verdict_table(results)
    for result in results:
        yield Text(f"{format_result_label(result)}: {one_line(result.reason)}")
        if result.acceptance is not None:
            from dpaudit.report.acceptance import format_acceptance

            yield Text(f"  {one_line(format_acceptance(result.acceptance))}")
        if result.measured.upper is None and result.kind == "privacy":
            note = one_line(str(result.measured.upper_note))
            yield Text(f"  No certified upper end: {note}.", style="dim")
        for line in (*noise_words(result), *fault_words(result)):
            yield Text(f"  {one_line(line)}")


def verdict_table(results: Sequence[Result]) -> Table:
    """Return the three numbers and the verdict of each result, one row each.

    Text that came from a user is shown as it is: markup in it has no effect. The table wraps its
    cells to fit 100 columns.

    Examples
    --------
    >>> verdict_table([]).row_count
    0
    """
    names = [format_result_label(result) for result in results]
    table = Table(title="Verdicts", title_justify="left", show_lines=True)
    table.add_column(
        "Claim",
        overflow="fold",
        min_width=_least_width([result.claim for result in results]),
        max_width=30,
        no_wrap=_has_only_short_names(names),
    )
    table.add_column("Claimed", overflow="fold", max_width=20)
    table.add_column("Proved", overflow="fold", max_width=20)
    table.add_column("Measured", max_width=24)
    # The verdict alone never wraps: "not refuted" over two lines could be read as "refuted".
    table.add_column("Verdict", no_wrap=True)
    for result in results:
        claim, claimed, proved, measured = map(make_cell, _format_verdict_cells(result))
        verdict = Text(format_verdict(result), style=STYLES[result.verdict])
        table.add_row(claim, claimed, proved, measured, verdict)
    return table


def budget_line(report: Report) -> str:
    """Return the confidence of the whole report, and the shares of its error probability.

    Examples
    --------
    >>> from dpaudit.report.schema import BudgetEntry, Environment, Report
    >>> made = Environment(
    ...     dpaudit="1", python="3", packages={}, cores=1, workers=1, created="now", seconds=1
    ... )
    >>> spent = [BudgetEntry(purpose=name, alpha=0.025) for name in ("a", "b")]
    >>> print(budget_line(Report(results=[], environment=made, confidence=0.95, budget=spent)))
    All results together: 95% confidence. Error probability 0.05: a 0.025, b 0.025.
    """
    # An exact sum: shares such as 0.1 added one by one come to more than the whole.
    alpha = math.fsum(entry.alpha for entry in report.budget)
    shares = ", ".join(
        f"{one_line(e.purpose)} {format_significant(e.alpha)}" for e in report.budget
    )
    sure = format_percent(1 - alpha)
    return (
        f"All results together: {sure} confidence. Error probability "
        f"{format_significant(alpha)}: {shares}."
    )


def _has_only_short_names(names: Sequence[str]) -> bool:
    """Return whether all names are short enough to stay whole on a narrow terminal."""
    return all(len(name) <= 20 for name in names)


def _least_width(claims: Sequence[str]) -> int:
    """Return the width at which no claim's name is broken, up to 20 columns."""
    return min(max((len(one_line(claim)) for claim in claims), default=0), 20)


def _format_verdict_cells(result: Result) -> tuple[str, str, str, str]:

    shown = make_shown_numbers(result)
    own = result.kind == "privacy" and result.quantity is not None
    symbol = f"{shown.unit} =" if own else _SYMBOLS[result.kind]
    symbol = "below" if shown.strict else symbol
    proved = (
        NONE
        if result.proved is None
        else _format_symbol_value(symbol, shown.proved, shown.proved_delta)
    )
    if shown.proved_of is not None:
        proved += f"\n{shown.proved_of}"
    claimed = _format_symbol_value(symbol, shown.claimed, shown.claimed_delta)
    claimed = "nothing" if shown.claimed == NONE else claimed
    return format_result_label(result), claimed, proved, f"{shown.measured}\n{shown.surety}"


def _format_symbol_value(symbol: str, value: str, delta: str | None) -> str:
    return f"{symbol} {value}" + (f"\nδ = {delta}" if delta is not None else "")


def fit_table_to_width(table: Table, width: int) -> Iterator[RenderableType]:
    """Yield a list of names as a table, and on a narrow terminal as entries: no name is ever cut.

    Examples
    --------
    >>> table = make_titled_table("Attacks", "name", "what it does", "source", "verdict")
    >>> table.add_row("nearest-mean", "Recovers labels", "Section 5", "proved")
    >>> for part in fit_table_to_width(table, 60):
    ...     Console(width=60).print(part)
    Attacks
    nearest-mean: proved
        Recovers labels
        source: Section 5
    """
    if width >= _WIDE:
        yield table
        return
    yield Text(str(table.title), style="bold")
    headers = [str(column.header) for column in table.columns]
    for row in zip(*(column.cells for column in table.columns), strict=True):
        yield from _entry({header: cell for header, cell in zip(headers, row, strict=True) if cell})


def _entry(cells: dict[str, Any]) -> Iterator[RenderableType]:
    """Yield a row as an entry: its name and verdict, its subject, and all else that is known."""
    verdict = cells.pop("verdict", None)
    head = [Text(str(cells.pop("name")), style="bold"), *([verdict] if verdict else [])]
    yield Text(": ").join(Text.assemble(one) for one in head)
    about = [str(cells.pop(header)) for header in tuple(cells) if header.startswith(_ABOUT)]
    for line in (*about, "; ".join(f"{header}: {cell}" for header, cell in cells.items())):
        if line:
            yield Padding(Text(line), (0, 0, 0, 4), expand=False)


def make_titled_table(title: str, *columns: str) -> Table:
    """Return an empty table; the column of names is never broken."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, no_wrap=name == "name")
    return table
