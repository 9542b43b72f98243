"""``dpaudit scores``: scores of members and others in; rates, area and a certified epsilon out."""

from __future__ import annotations

import shlex
import time
from decimal import ROUND_CEILING, ROUND_FLOOR
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.canary import end_with
from dpaudit.cli.console import make_cell, make_console, make_titled_table
from dpaudit.cli.ending import ShowRecords, Traceback
from dpaudit.cli.formats import Format, formats_of
from dpaudit.cli.options import Json, Quiet, folder_option, integer_option, number_option
from dpaudit.cli.output import OutputOptions
from dpaudit.cli.pictures import Picture, PictureWidth, drawing_of
from dpaudit.errors import InvalidArgument
from dpaudit.report.formatting import format_percent, format_significant

if TYPE_CHECKING:
    from dpaudit.report.schema import Result


def scores(
    files: Annotated[
        list[str],
        typer.Argument(help="Scores of members, and of others: two files, or one with a column."),
    ],
    delta: Annotated[
        float,
        number_option("--delta", "The delta at which epsilon is bounded (1e-5); it is printed."),
    ] = 1e-5,
    epsilon: Annotated[
        float | None,
        number_option("--epsilon", "Claimed epsilon (no default: nothing is claimed)."),
    ] = None,
    confidence: Annotated[
        float, number_option("--confidence", "Confidence of all numbers together (0.95).")
    ] = 0.95,
    fpr: Annotated[
        str | None,
        typer.Option(
            metavar="RATE,RATE,...", help="False-positive rates to report (0.001,0.01,0.1)."
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="A column to ignore, because it is not a score.")
    ] = None,
    seed: Annotated[
        int,
        integer_option(
            "--seed", "The seed that decides which scores choose a threshold (default: 0)."
        ),
    ] = 0,
    out: Annotated[str | None, folder_option("Write the report into this directory.")] = None,
    formats: Format = None,
    picture: Picture = None,
    picture_width: PictureWidth = None,
    as_json: Json = False,
    quiet: Quiet = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
) -> int:
    """Certify epsilon, TPR at FPR, AUROC and accuracy from scores of members and of others.

    One score a run, of independent runs, higher for members. For many canaries in one training use
    dpaudit canary; for outputs of a mechanism, dpaudit audit --outputs.

    Exit status: 0 if no claim is refuted, 1 if one is, 2 if the verdict is withheld or missing.
    """
    from dpaudit.auditing.samples.membership import (
        FPRS,
        MembershipClaim,
        certify_scores,
        read_scores,
    )
    from dpaudit.files import prepare_directory

    began, wanted = time.monotonic(), formats_of(formats, as_json)
    drawing = drawing_of(picture, picture_width)
    rates = FPRS if fpr is None else _parse_false_positive_rates(fpr)
    asked = MembershipClaim(delta, epsilon, confidence, seed, rates)
    pair = read_scores([Path(one) for one in files], ignore or ())
    if out is not None:
        prepare_directory(out)
    if not quiet and wanted.shown is None:
        for line in (*pair.found, *pair.left_out):
            streams.write_to_stderr(line)
    rerun = _format_scores_command(files, asked.epsilon, fpr, ignore or [], asked)
    result = certify_scores(pair, asked, ", ".join(files), rerun)
    checked = [word for one in files for word in ("--outputs", one)]
    output = OutputOptions(directory=out, formats=wanted, drawing=drawing, quiet=quiet)
    status = end_with(result, output, began, checked)
    if wanted.shown is None:
        _print_scores(result)
    return status


def _parse_false_positive_rates(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(one) for one in text.split(","))
    except ValueError:
        raise InvalidArgument("--fpr", text, "rates such as 0.001,0.01") from None


def _format_scores_command(
    files: list[str], epsilon: float | None, fpr: str | None, ignore: list[str], asked: Any
) -> str:
    # `repr` gives the digits that read back as the same double; a shorter form would rerun
    # another audit.
    words = ["dpaudit", "scores", *files, "--delta", repr(asked.delta)]
    words += [] if epsilon is None else ["--epsilon", repr(epsilon)]
    words += [] if fpr is None else ["--fpr", fpr]
    words += [word for one in ignore for word in ("--ignore", one)]
    words += ["--confidence", repr(asked.confidence), "--seed", str(asked.seed)]
    return shlex.join(words)


def _print_scores(result: Result) -> None:
    """Show rates, area and accuracy with their intervals, where they hold."""
    found = result.parameters.get("scores")
    if found is None:
        return
    certain = format_percent(result.measured.confidence)
    table = make_titled_table(
        "Scores, all at once", "number", "as counted", f"interval, {certain} together"
    )
    for fpr, *ends in found["tpr at fpr"]:
        table.add_row(f"TPR at FPR {format_significant(fpr)}", *_format_interval_cells(ends))
    for name, words in _ROWS.items():
        table.add_row(make_cell(words), *_format_interval_cells(found[name]))
    make_console().print(table)
    make_console().print(f"{found['members']} scores of members, {found['others']} of others.")


_ROWS = {
    "auroc": "AUROC",
    "accuracy": "accuracy, half members",
    "advantage": "advantage, TPR - FPR",
}


def _format_interval_cells(ends: list[float]) -> tuple[str, str]:
    estimate, low, high = ends
    lower = format_significant(low, rounding=ROUND_FLOOR)
    upper = format_significant(high, rounding=ROUND_CEILING)
    return format_significant(estimate), f"{lower} to {upper}"
