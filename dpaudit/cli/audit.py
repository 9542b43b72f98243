"""``dpaudit audit``: audits one after the other, shown and written as a report."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpaudit.cli.console import budget_line, console, verdict_lines
from dpaudit.cli.options import Json, Quiet, integer_option, number_option, pairs
from dpaudit.cli.output import Output, processes, say, status
from dpaudit.cli.progress import progress_bar
from dpaudit.errors import DpauditError, InvalidArgument

if TYPE_CHECKING:
    from dpaudit.auditing.run import Audited, Prepared
    from dpaudit.auditing.specification import Specification
    from dpaudit.report.schema import Report


def audit(
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="Claims by name, or TOML files that specify audits."),
    ] = None,
    epsilon: Annotated[
        float | None, number_option("--epsilon", "Claimed epsilon (default: 1).")
    ] = None,
    delta: Annotated[
        float | None, number_option("--delta", "Claimed delta (default: 1e-5).")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="worst-case, breast-cancer, adult, a9a, csv, libsvm (worst-case)."),
    ] = None,
    data_path: Annotated[
        str | None, typer.Option(help="The data's file or directory (default: $DPAUDIT_DATA).")
    ] = None,
    data_option: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="Passed to the data's loader.")
    ] = None,
    trials: Annotated[
        int | None, integer_option("--trials", "Transcripts per dataset (the claim's).")
    ] = None,
    confidence: Annotated[
        float | None, number_option("--confidence", "Of all that is certified, together (0.95).")
    ] = None,
    seed: Annotated[
        int | None, integer_option("--seed", "The only source of randomness (default: 0).")
    ] = None,
    workers: Annotated[
        int | None,
        integer_option("--workers", "Worker processes (every core); no number depends on it."),
    ] = None,
    out: Annotated[str | None, typer.Option(help="Write the report into this directory.")] = None,
    estimator: Annotated[
        str | None, typer.Option(help="auto, exact-loss or event (default: auto).")
    ] = None,
    distinguisher: Annotated[
        str | None,
        typer.Option("--distinguisher", "--attack", help="The only distinguisher to try."),
    ] = None,
    until_refuted: Annotated[
        bool,
        typer.Option(
            "--until-refuted", help="Bet on outputs and stop when refuted; --trials is the cap."
        ),
    ] = False,
    candidate_pairs: Annotated[
        int | None,
        integer_option("--pairs", "Candidate pairs; the worst is certified on fresh transcripts."),
    ] = None,
    watch: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|-",
            help="Instead of targets: outputs as lines DATASET|NEIGHBOUR,NUMBER,... to bet on.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the claim; see show."),
    ] = None,
    every: Annotated[
        bool,
        typer.Option("--all", help="Every installed claim, a report each, in --out (reports)."),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Audit claims, or mechanisms of your own, and say which claims are refuted."""
    given = {
        "epsilon": epsilon,
        "delta": delta,
        "data": data,
        "data_path": data_path,
        "trials": trials,
        "confidence": confidence,
        "seed": seed,
        "estimator": estimator,
        "distinguisher": distinguisher,
        "until_refuted": until_refuted or None,
        "candidate_pairs": candidate_pairs,
        "data_options": pairs("--data-option", data_option),
        "parameters": pairs("--set", set_),
    }
    overrides = {name: value for name, value in given.items() if value not in (None, {})}
    output = Output(directory=out, as_json=as_json, quiet=quiet)
    if watch is not None:
        from dpaudit.cli import watch as stream

        if every or targets:
            raise InvalidArgument("watch", watch, "no targets and no --all: the stream is audited")
        if workers is not None:
            raise InvalidArgument("workers", workers, "nothing with --watch, which uses one core")
        raise typer.Exit(stream.run(watch, overrides, output))
    if every == bool(targets):
        raise InvalidArgument("targets", targets or [], "names of claims or files, or else --all")
    if every:
        from dpaudit.cli import publish

        raise typer.Exit(publish.run(overrides, workers, output))
    raise typer.Exit(run(targets or [], overrides, workers, output))


def run(targets: list[str], overrides: dict[str, Any], workers: int | None, output: Output) -> int:
    """Run every audit and return the exit status.

    All targets are read and prepared before the first audit starts, and share the error
    probability of the report. When one fails later, the results of those before it are shown and
    written all the same.
    """
    from dpaudit.auditing.budget import whole_report
    from dpaudit.auditing.rerun import repeated_command
    from dpaudit.report.document import prepare_directory
    from dpaudit.report.schema import Environment

    workers = processes(workers)
    repeated = repeated_command(targets, overrides)
    read = [audit for target in targets for audit in _audits(target, overrides, repeated)]
    audits = _sharing(read)
    if output.directory is not None:
        prepare_directory(output.directory)
    began, audited = time.monotonic(), list["Audited"]()
    failure: BaseException | None = None
    for audit in audits:
        try:
            audited.append(_watched(audit, workers, output))
        except DpauditError as error:
            failure = error if len(audits) == 1 else _named(error, audits[len(audited) :])
            break
        except KeyboardInterrupt as error:
            failure = error
            break
        if audited[-1].interrupted:
            failure = KeyboardInterrupt()
            break
    results = [each.result for each in audited]
    if audited:
        report = whole_report(
            results, Environment.of_this_machine(workers, time.monotonic() - began)
        )
        _show(report, audited, output)
    if failure is not None:
        raise failure
    return status(results)


def _audits(target: str, overrides: dict[str, Any], repeated: str) -> list[tuple[Prepared, bool]]:
    """Return the audits of a target, and whether each states a confidence of its own."""
    import dpaudit.auditing.specification as specification
    from dpaudit.auditing.run import prepared_claim
    from dpaudit.extension.settings import Settings

    if not target.endswith(".toml"):
        return [(prepared_claim(target, Settings(**overrides)), False)]
    path = Path(target)
    specified = specification.read_specification(path)
    return [_specified(one, path, overrides, repeated) for one in specified]


def _specified(
    specified: Specification, path: Path, overrides: dict[str, Any], repeated: str
) -> tuple[Prepared, bool]:
    import dpaudit.auditing.specification as specification
    from dpaudit.auditing.run import prepared_claim

    settings = specification.settings_of(specified, overrides)
    own = specified.confidence is not None and "confidence" not in overrides
    if isinstance(specified, specification.ClaimAudit):
        return prepared_claim(specified.claim, settings), own
    return specification.prepared_mechanism(specified, settings, path, repeated), own


def _sharing(audits: list[tuple[Prepared, bool]]) -> list[Prepared]:
    """Give every audit its share of the report's error probability."""
    from dpaudit.auditing.budget import Spender, shared

    spenders = [Spender(audit.settings, audit.draws, own) for audit, own in audits]
    return [
        replace(audit, settings=settings)
        for (audit, _), settings in zip(audits, shared(spenders), strict=True)
    ]


def _named(error: DpauditError, left: list[Prepared]) -> DpauditError:
    """Return the error of the first of these audits with its name and those that did not run."""
    failed, *missing = [one.claim.name for one in left]
    after = f"; not run: {', '.join(missing)}" if missing else ""
    return DpauditError(f"{failed}: {error}{after}")


def _watched(audit: Prepared, workers: int, output: Output) -> Audited:
    from dpaudit.execution import Executor

    with progress_bar(audit.claim.name, shown=not output.quiet) as progress:
        return audit.run(Executor(workers=workers, progress=progress))


def _show(report: Report, audited: list[Audited], output: Output) -> None:
    """Show the results, then write them: what cannot be written has at least been seen."""
    if output.as_json:
        sys.stdout.write(report.model_dump_json(indent=2) + "\n")
    else:
        for part in verdict_lines(report.results):
            console().print(part)
        if len(report.budget) > 1:
            console().print(budget_line(report), markup=False)
    if output.directory is not None:
        from dpaudit.report.document import write_report

        certificates = [one.certificate for one in audited if one.certificate is not None]
        paths = write_report(report, output.directory, certificates)
        lines = [f"Report: {paths.html}"]
        if paths.certificate is not None:
            lines.append(f"Certificate: {paths.certificate}; check it with dpaudit verify")
        say(lines, output)
    elif not output.as_json:
        console().print("Write the full report with --out DIRECTORY.", style="dim")
