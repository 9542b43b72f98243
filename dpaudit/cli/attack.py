"""``dpaudit attack``: an attack's table, next to chance."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import make_cell, make_console
from dpaudit.cli.ending import ShowRecords
from dpaudit.cli.options import Json, Quiet, folder_option, integer_option, pairs
from dpaudit.cli.progress import progress_bar
from dpaudit.cli.storing import NoStore, Store, format_private_files, resolve_storing, store_draws
from dpaudit.errors import UnknownName
from dpaudit.extension.attack import Attack, AttackRunner, Cell, Findings
from dpaudit.extension.registry import ATTACKS, DISTINGUISHERS
from dpaudit.formats import add_schema
from dpaudit.report.formatting import format_significant

if TYPE_CHECKING:
    from dpaudit.extension.distinguisher import Distinguisher
    from dpaudit.store.keeping import Storing


def attack(
    name: Annotated[
        str,
        typer.Argument(
            help="An attack by name; see list.", autocompletion=completion.complete_attacks
        ),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the attack; see show."),
    ] = None,
    seed: Annotated[int, integer_option("--seed", "The only source of randomness.")] = 0,
    out: Annotated[
        str | None, folder_option("Write the table and draw it into this directory.")
    ] = None,
    store: Store = None,
    no_store: NoStore = False,
    as_json: Json = False,
    quiet: Quiet = False,
    show_records: ShowRecords = False,
) -> None:
    """Run an attack and say how close it comes to the attacker's goal, next to chance."""
    from dpaudit.cli.description import AttackCommand

    changes = pairs("--set", set_)
    described = AttackCommand(name=name, parameters=changes, seed=seed)
    where = resolve_storing(store, no_store, out, described.document())
    run(name, changes, seed, out, as_json=as_json, quiet=quiet, where=where)


def run(
    name: str,
    changes: Mapping[str, Any],
    seed: int,
    out: str | None,
    *,
    as_json: bool,
    quiet: bool,
    where: Storing | None = None,
) -> None:
    """Run an attack, write its findings into a directory, if one is named, and print them.

    Raises
    ------
    UnknownName
        No installed package has an attack of this name.
    InvalidArgument
        A parameter.
    """
    import dpaudit._check as check
    from dpaudit.execution import one_thread
    from dpaudit.extension.parameters import parse_parameters
    from dpaudit.files import prepare_directory
    from dpaudit.store.keeping import keep_audit

    check.require_integer("seed", seed, least=0)
    card = card_called(name)
    parameters = parse_parameters(card.load_parameters(), changes)
    if out is not None:
        prepare_directory(out)
    with (
        store_draws(where),
        progress_bar(name, shown=not (quiet or as_json)) as progress,
        # One thread: a sum of doubles depends on how threads share it out, and the table has to
        # repeat.
        one_thread(),
        keep_audit(f"attack {name}", parameters, seed) as ledger,
    ):
        findings = card.load()(parameters, seed, progress)
        ledger.end()
        holding = format_private_files(where)
    document = _make_attack_document(card, parameters, findings, seed)
    files = () if out is None else _write_findings(card, findings, document, Path(out))
    if as_json:
        streams.write_result_text(json.dumps(document, indent=2))
        for line in holding:
            streams.write_to_stderr(line)
        return
    _print_findings(card, findings)
    said = [f"Written: {', '.join(map(str, files))}"] if files else []
    for line in (*said, *holding):
        make_console().print(line, soft_wrap=True)


def card_called(name: str) -> Attack | DistinguisherAttack:
    """Return the attack called ``name``, whether it measures or scores.

    Raises
    ------
    UnknownName
        No installed package has it.
    """
    if name in ATTACKS:
        return ATTACKS.get(name)
    if name in DISTINGUISHERS:
        return DistinguisherAttack(DISTINGUISHERS.get(name))
    raise UnknownName("attack", name, {*ATTACKS, *DISTINGUISHERS})


def _print_findings(card: Attack | DistinguisherAttack, findings: Findings) -> None:
    shown = make_console()
    shown.print(f"{card.name}: {card.title}", style="bold")
    for verb, rest in card.attacker.items():
        shown.print(f"The attacker {verb} {rest}.")
    for table in _render_findings_tables(findings, shown):
        shown.print(table)
    for sentence in (*findings.reading, f"Chance: {findings.chance}."):
        shown.print(sentence)


def _render_findings_tables(findings: Findings, shown: Console) -> Iterator[Table]:
    """Yield the rows as a table; on its side, and in parts, where it is too wide to show whole."""
    columns = list(findings.rows[0]) if findings.rows else []
    rows = [[_format_finding_cell(row[column]) for column in columns] for row in findings.rows]
    upright = _make_findings_table([columns, *rows])
    if _is_table_fitting(upright, shown):
        yield upright
        return
    while rows:
        sizes = range(len(rows), 0, -1)
        turned = {
            n: _make_findings_table(list(zip(columns, *rows[:n], strict=True))) for n in sizes
        }
        # A single row is shown even where it does not fit, since the loop has to get shorter
        # every time.
        most = next((n for n in sizes if _is_table_fitting(turned[n], shown)), 1)
        yield turned[most]
        rows = rows[most:]


def _is_table_fitting(table: Table, shown: Console) -> bool:
    # A table measures itself within the width that it is given, and would always fit into the
    # screen.
    unbounded = shown.options.update(width=10_000)
    return shown.measure(table, options=unbounded).maximum <= shown.width


def _make_findings_table(lines: Sequence[Sequence[str]]) -> Table:
    table = Table(title="What it achieved", title_justify="left", title_style="bold")
    for column in lines[0] if lines else []:
        table.add_column(make_cell(column), overflow="fold")
    for line in lines[1:]:
        table.add_row(*map(make_cell, line))
    return table


def _format_finding_cell(value: Cell) -> str:
    return (
        format_significant(value, 3)
        if isinstance(value, float)
        else "—"
        if value is None
        else str(value)
    )


def _make_attack_document(
    card: Attack | DistinguisherAttack, parameters: Any, findings: Findings, seed: int
) -> dict[str, Any]:
    content = {
        "attack": card.name,
        "source": card.source,
        "threat_model": card.attacker,
        "parameters": parameters.model_dump(mode="json"),
        "seed": seed,
        "rows": [dict(row) for row in findings.rows],
        "reading": list(findings.reading),
        "chance": findings.chance,
    }
    return add_schema("attack", content)


def _write_findings(
    card: Attack | DistinguisherAttack,
    findings: Findings,
    document: Mapping[str, Any],
    folder: Path,
) -> Sequence[Path]:
    from dpaudit.files import write_files
    from dpaudit.plots import render_picture

    files = {
        folder / f"{card.name}.json": (json.dumps(document, indent=2) + "\n").encode(),
        folder / f"{card.name}.csv": _render_findings_csv(findings).encode(),
    }
    if findings.panels:
        files[folder / f"{card.name}.png"] = render_picture(card.name, findings.panels, "png")
    write_files(folder, files)
    return list(files)


def _render_findings_csv(findings: Findings) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(findings.rows[0]) if findings.rows else [])
    writer.writeheader()
    writer.writerows([dict(row) for row in findings.rows])
    return text.getvalue()


@dataclass(frozen=True)
class DistinguisherAttack:
    """A distinguisher as an attack: how well it tells a claim's pair apart.

    It learns, its threshold is set, and fresh outputs are counted, as in an audit by the event
    bound that tries no other distinguisher (`dpaudit.auditing.estimators.event`).
    """

    card: Distinguisher
    source: str = "the event bound of dpaudit.estimation.event"

    @property
    def name(self) -> str:
        """The name of the distinguisher."""
        return self.card.name

    @property
    def title(self) -> str:
        """The distinguisher's own sentence."""
        return self.card.statement

    @property
    def attacker(self) -> dict[str, str]:
        """The threat model, in the card's words: the attacker's view, knowledge and goal."""
        parts = (part.strip().partition(" ") for part in self.card.threat_model.split(";"))
        return {verb: rest for verb, _, rest in parts}

    def load(self) -> AttackRunner:
        """Import and return the code that runs the attack."""
        from dpaudit.cli.distinguish import tell_apart

        return partial(tell_apart, self.card.name)

    def load_parameters(self) -> Any:
        """Import and return the model of its parameters."""
        from dpaudit.cli.distinguish import DistinguishParameters

        return DistinguishParameters
