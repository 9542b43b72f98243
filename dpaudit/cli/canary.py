"""``dpaudit canary``: scores of canaries in, a certified lower bound out."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpaudit.cli.console import make_cell, make_console, make_titled_table, verdict_lines
from dpaudit.cli.ending import ShowRecords, Traceback, collect_failures, report_failures
from dpaudit.cli.formats import Format, formats_of, show_format, write_formats
from dpaudit.cli.options import (
    Json,
    Quiet,
    folder_option,
    integer_option,
    integers_of,
    number_option,
)
from dpaudit.cli.output import OutputOptions, compute_exit_status, make_withheld_errors, print_lines
from dpaudit.cli.pictures import Picture, PictureWidth, drawing_of
from dpaudit.cli.progress import progress_bar
from dpaudit.errors import DpauditError, InvalidArgument
from dpaudit.report.formatting import format_model_based

if TYPE_CHECKING:
    from dpaudit.guarantees.kinds import Guarantee
    from dpaudit.report.entries import ReportEntries
    from dpaudit.report.schema import Report, Result


def canary(
    scores: Annotated[
        str,
        typer.Argument(help="A .csv, .parquet or .npz file: score, included, perhaps group."),
    ],
    delta: Annotated[
        float,
        number_option("--delta", "The delta at which epsilon is bounded (1e-5); it is printed."),
    ] = 1e-5,
    epsilon: Annotated[
        float | None,
        number_option("--epsilon", "Claimed epsilon (no default: nothing is claimed)."),
    ] = None,
    mu: Annotated[
        float | None, number_option("--mu", "A Gaussian claim, which is measured in mu.")
    ] = None,
    confidence: Annotated[
        float, number_option("--confidence", "The confidence of the certified bound (0.95).")
    ] = 0.95,
    design: Annotated[
        str | None,
        typer.Option(
            help="The design of inclusion: independent, fixed-size, pairs or runs (by columns)."
        ),
    ] = None,
    estimator: Annotated[
        str | None,
        typer.Option(help="The estimator that certifies: exact or f-dp (default: by the claim)."),
    ] = None,
    guesses: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...", help="Numbers of guesses, fixed beforehand (by the canaries)."
        ),
    ] = None,
    seed: Annotated[
        int, integer_option("--seed", "The seed that decides the order of ties (default: 0).")
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
    """Certify a lower bound on epsilon from scores of canaries that chance included in training.

    Exit status: 0 if no claim is refuted, 1 if one is, 2 if the verdict is withheld or missing.
    """
    from dpaudit.auditing.files.canary_files import read_table
    from dpaudit.auditing.samples.canaries import certify_canaries
    from dpaudit.auditing.samples.canary_table import resolve_canary_settings
    from dpaudit.files import prepare_directory

    began, wanted = time.monotonic(), formats_of(formats, as_json)
    claim, drawing = _resolve_canary_claim(epsilon, mu), drawing_of(picture, picture_width)
    table = read_table(Path(scores))
    plan = None if guesses is None else integers_of("--guesses", guesses)
    # The plan is fixed here, from the options and the number of canaries, before any score is
    # ranked: a plan that is chosen after the scores would need a smaller error probability.
    asked = resolve_canary_settings(table, delta, confidence, design, estimator, claim, seed, plan)
    if out is not None:
        prepare_directory(out)
    given = {
        "delta": delta,
        "epsilon": epsilon,
        "mu": mu,
        "confidence": confidence,
        "design": asked.design,
        "estimator": asked.estimator,
        "guesses": guesses,
        "seed": seed,
    }
    # With a sign of equality, as a value such as -1 would be read as an option.
    words = [f"--{name}={value}" for name, value in given.items() if value is not None]
    rerun = shlex.join(["dpaudit", "canary", scores, *words])
    with progress_bar("canary", shown=not quiet and wanted.shown is None) as progress:
        result = certify_canaries(table, asked, scores, rerun, progress)
    own = {"confidence": confidence, "design": design, "guesses": guesses}
    named = ((f"--{name}", str(value)) for name, value in own.items() if value is not None)
    options = ["--scores", scores, *(word for one in named for word in one)]
    output = OutputOptions(directory=out, formats=wanted, drawing=drawing, quiet=quiet)
    return end_with(result, output, began, options)


def _resolve_canary_claim(epsilon: float | None, mu: float | None) -> float | Guarantee | None:
    from dpaudit.guarantees.kinds import GaussianDP

    if epsilon is not None and mu is not None:
        raise InvalidArgument("--mu", mu, "one claim: --epsilon or --mu")
    return epsilon if mu is None else GaussianDP(mu)


def end_with(result: Result, output: OutputOptions, began: float, options: Sequence[str]) -> int:
    """Write the report, show it, and return the exit status.

    ``options`` are what whoever verifies its certificate has to choose as this audit did.
    """
    from dpaudit.auditing.outcome.error_budget import whole_report
    from dpaudit.redaction import are_shown
    from dpaudit.report.document import write_report
    from dpaudit.report.entries import entries_of
    from dpaudit.report.schema import Environment

    environment = Environment.of_this_machine(1, time.monotonic() - began)
    report = whole_report([result], environment)
    failures, said = list[DpauditError](), list[str]()
    if output.directory is not None:
        with collect_failures(failures):
            kept = [] if result.certificate is None else [result.certificate]
            paths = write_report(report, output.directory, kept, holds_records=are_shown())
            said.append(f"Report: {paths.html}")
            if paths.certificate is not None:
                check = shlex.join(["dpaudit", "verify", str(paths.certificate), *options])
                said.append(f"Certificate: {paths.certificate}; check it with {check}")
    entries = entries_of(report, [(result.claim, result, None, None)], Path.cwd())
    with collect_failures(failures):
        write_formats(output.formats, entries, report.model_dump_json(indent=2))
    if output.drawing is not None:
        with collect_failures(failures):
            output.drawing.draw(result)
    with collect_failures(failures):
        _print_canary_report(report, entries, output)
        print_lines(said, output)
    return report_failures(
        compute_exit_status([result]), [*failures, *make_withheld_errors([result])]
    )


def _print_canary_report(report: Report, entries: ReportEntries, output: OutputOptions) -> None:
    if output.formats.shown is not None:
        show_format(output.formats.shown, entries, report.model_dump_json(indent=2))
        return
    for part in verdict_lines(report.results):
        make_console().print(part)
    (result,) = report.results
    if not result.model_based:
        return
    table = make_titled_table("Estimates, not certified", "estimator", "epsilon", "what it assumes")
    for one in result.model_based:
        table.add_row(make_cell(one.name), format_model_based(one), make_cell(one.assumes))
    make_console().print(table)
