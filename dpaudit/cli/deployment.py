"""``dpaudit deployment``: whether the numbers of a vendor's or a registry's statement agree."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

import dpaudit.cli.streams as streams
from dpaudit.cli.console import make_console
from dpaudit.cli.options import OUTPUT, Json, folder_option
from dpaudit.escaping import make_printable

if TYPE_CHECKING:
    from dpaudit.deployments.judgement import RecordJudgement

_STYLES = {"agrees": "bold green", "does not": "bold red", "cannot be said": "bold"}


def deployment(
    record: Annotated[
        str,
        typer.Argument(
            help="A statement in YAML, JSON or TOML: of the NIST/OpenDP registry, or any with keys "
            "such as epsilon, delta, rho and mechanism. Or a folder of such."
        ),
    ],
    address: Annotated[
        str, typer.Option(metavar="URL", help="The address at which the record is published.")
    ] = "",
    out: Annotated[
        str | None, folder_option("Write an account of each record here: facts and checks.")
    ] = None,
    as_json: Json = False,
    short: Annotated[
        bool, typer.Option("--short", help="One line a record.", rich_help_panel=OUTPUT)
    ] = False,
) -> int:
    """Say whether the numbers of a deployment's statement agree with each other.

    Every number that is read is shown with its line. Each comparison is arithmetic that can be done
    again, with the command that prints the number.

    Exit status: 0 if none disagrees, 1 if one does, 2 if a record cannot be read.
    """
    from dpaudit.deployments.publishing import judge_all, records_in

    judgements, refusals = judge_all(records_in(Path(record)), address)
    if refusals and not judgements:
        raise refusals[0]
    if out is not None:
        _write_deployment_accounts(judgements, Path(out))
    if as_json:
        streams.write_result_text(_make_deployment_document(judgements))
    else:
        for one in judgements:
            _print_judgement(one, is_short=short)
    # A record that cannot be read has no verdict. The others are shown first, and then its
    # error decides the status.
    if refusals:
        raise refusals[0]
    return int(any(one.verdict == "does not" for one in judgements))


def _make_deployment_document(judgements: list[RecordJudgement]) -> str:
    from dpaudit.escaping import json_escaped
    from dpaudit.formats import add_schema

    records = [one.model_dump(mode="json") for one in judgements]
    return json_escaped(json.dumps(add_schema("deployment", {"records": records}), indent=2))


def _print_judgement(judgement: RecordJudgement, *, is_short: bool) -> None:
    from dpaudit.deployments.page import record_lines

    for place, line in enumerate(record_lines(judgement)):
        style = _STYLES[judgement.verdict] if place == 0 else ""
        make_console().print(Text(make_printable(line), style=style), soft_wrap=True)
        if is_short:
            return


def _write_deployment_accounts(judgements: list[RecordJudgement], folder: Path) -> None:
    from dpaudit.deployments.publishing import write_accounts

    write_accounts(judgements, folder)
