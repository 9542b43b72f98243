"""What the terminal shows: lists, a claim's page, verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from dpaudit.auditing.scoring import Scoring
    from dpaudit.extension.claim import Claim
    from dpaudit.extension.distinguisher import Attack
    from dpaudit.extension.figure import Figure
    from dpaudit.extension.release import ReleaseCard
    from dpaudit.report.schema import Result
from dpaudit.extension.attack import Study


def console() -> Console:
    """Return the console results are shown on."""
    return Console(highlight=False)


def claim_table(claims: Iterable[Claim]) -> Table:
    """Return the installed claims as a table."""
    table = _table("Claims", "name", "kind", "what it is about", "source")
    for card in claims:
        table.add_row(card.name, card.kind, escape(card.title), escape(card.source))
    return table


def attack_table(attacks: Iterable[Attack]) -> Table:
    """Return the installed attacks as a table."""
    table = _table("Attacks that score transcripts", "name", "needs the law", "what it does")
    for card in attacks:
        table.add_row(card.name, "yes" if card.needs_law else "no", escape(card.statement))
    return table


def study_table(studies: Iterable[Study]) -> Table:
    """Return the installed attacks that measure what they recover as a table."""
    table = _table("Attacks that measure what they recover", "name", "what it does", "source")
    for card in studies:
        table.add_row(card.name, escape(card.title), escape(card.source))
    return table


def study_page(card: Study | Scoring, parameters: Any) -> Iterator[Text | Table]:
    """Yield all that ``dpaudit show`` prints about an attack that measures what it recovers."""
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
    table = _table("Figures that can be drawn again", "name", "what it shows", "source")
    for card in figures:
        table.add_row(card.name, escape(card.title), escape(card.source))
    return table


def release_table(releases: Iterable[ReleaseCard]) -> Table:
    """Return what can be accounted for as a table."""
    table = _table("Releases that can be accounted for", "name", "what it is", "source")
    for card in releases:
        table.add_row(card.name, escape(card.title), escape(card.source))
    return table


def release_page(card: ReleaseCard, parameters: Any) -> Iterator[Text | Table]:
    """Yield all that ``dpaudit show`` prints about a release."""
    yield Text(f"{card.name}: {card.title}", style="bold")
    yield Text(f"Source: {card.source}")
    yield Text(f"Neighbours: {card.relation}")
    yield _parameter_table(parameters)
    yield Text(f"Account for it: dpaudit account {card.name} --delta 1e-5")
    yield Text(f"Solve for {card.noise}: dpaudit calibrate {card.name} --epsilon 1 --delta 1e-5")


def _parameter_table(parameters: Any) -> Table:
    table = _table("Parameters (--set name=value)", "name", "default", "meaning")
    for name, field in parameters.model_fields.items():
        default = "needed"
        if not field.is_required():
            default = str(field.get_default(call_default_factory=True))
        table.add_row(name, escape(default), escape(field.description or ""))
    return table


def claim_page(card: Claim, parameters: Any) -> Iterator[Text | Table]:
    """Yield all that ``dpaudit show`` prints about a claim."""
    yield Text(f"{card.name}: {card.title}", style="bold")
    yield Text(card.statement)
    yield Text(f"Source: {card.source}")
    yield Text(f"Neighbours: {card.relation}")
    table = _table("Assumptions, checked on every audited instance", "name", "statement")
    for name, statement in card.assumptions.items():
        table.add_row(escape(name), escape(statement))
    yield table
    yield _parameter_table(parameters)
    yield Text(f"Audit it: dpaudit audit {card.name} --epsilon 1 --delta 1e-5 --out report")


def verdict_lines(results: Sequence[Result]) -> Iterator[Text | Table]:
    """Yield the verdict table, then the reason of each verdict."""
    from dpaudit.report import verdict_table
    from dpaudit.report.formatting import label, one_line

    yield verdict_table(results)
    for result in results:
        yield Text(f"{label(result)}: {one_line(result.reason)}")
        if result.measured.upper is None and result.kind == "privacy":
            yield Text(f"  No certified upper end: {result.measured.upper_note}.", style="dim")


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in columns:
        table.add_column(name, no_wrap=name == "name")
    return table
