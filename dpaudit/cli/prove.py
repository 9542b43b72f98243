"""``dpaudit prove``: whether a claim is proved of a function, from its code."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

import dpaudit.cli.completion as completion
import dpaudit.cli.streams as streams
from dpaudit.cli.console import STYLES, make_cell, make_console
from dpaudit.cli.ending import ShowRecords, Traceback
from dpaudit.cli.options import Json, folder_option, reference_of
from dpaudit.cli.progress import show_spinner
from dpaudit.cli.setting_options import takes, values_of
from dpaudit.errors import InvalidArgument
from dpaudit.extension.setting_table import Door, ProcessSettings, names_of, rows_of

if TYPE_CHECKING:
    from dpaudit.proving.report import CodeProof

_ROWS = rows_of(door=Door.PROVE)


@takes(_ROWS, required=("domain",))
def prove(
    target: Annotated[
        str,
        typer.Argument(
            help="The module:function that takes a dataset and, optionally, a generator; its code "
            "runs.",
            autocompletion=completion.complete_targets,
        ),
    ],
    out: Annotated[
        str | None, folder_option("Write report and certificate into this directory.")
    ] = None,
    as_json: Json = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
    **given: Any,
) -> int:
    """Prove from its code that a function keeps a claim, for all neighbours of a domain.

    The code runs once on values that stand for those of every dataset. A step that no rule covers
    stops the proof: its line is shown, with the reason and a remedy.

    Exit status: 0 if the claim is proved, else 2: a proof that fails refutes nothing.
    """
    from dpaudit.files import prepare_directory

    if ":" not in target:
        raise InvalidArgument("target", target, "module:function")
    if out is not None:
        prepare_directory(out)
    reference = reference_of(target)
    found = _find_code_proof(reference, values_of(_ROWS, given), certified=out is not None)
    written = [] if out is None else found.save(out)
    if as_json:
        streams.write_result_text(json.dumps(found.document(), indent=2))
        return found.status
    for line in _render_proof(found):
        make_console().print(line, soft_wrap=isinstance(line, Text))
    for path in written:
        make_console().print(Text(str(path)), soft_wrap=True)
    return found.status


def _find_code_proof(reference: str, values: dict[str, Any], *, certified: bool) -> CodeProof:
    """Return the proof of the reader's function, which runs in its own process."""
    from dpaudit.auditing.outcome.claims import of_table
    from dpaudit.cli.audit import isolation_of
    from dpaudit.execution import importable
    from dpaudit.proving.api import ProofQuestion
    from dpaudit.proving.isolated_proofs import prove_elsewhere

    limits = {name: values[name] for name in names_of(ProcessSettings) if name in values}
    claim = of_table({name: values.get(name) for name in ("mu", "rho")})
    asked = ProofQuestion.of(
        values["domain"],
        values.get("relation", "replace-record"),
        (values.get("epsilon"), values.get("delta", 0.0), claim),
        values.get("seed", 0),
        certified=certified,
    )
    isolation = isolation_of(ProcessSettings(**limits))
    with show_spinner(f"reading {reference}"), importable(Path.cwd()):
        return prove_elsewhere(reference, isolation, asked, values.get("form"))


def _render_proof(found: CodeProof) -> Iterator[Text | Table]:
    from dpaudit.proving.report import COLUMNS

    first, *others = found.sentences()
    yield Text(first, style=STYLES[found.verdict])
    for line in others:
        yield Text(line)
    if not found.lines:
        return
    table = Table()
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    for row in found.rows():
        table.add_row(*map(make_cell, row))
    yield table
