"""``dpaudit verify``: certificates, checked again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.audited_code import (
    ROWS,
    DataPath,
    Mechanism,
    Outputs,
    add_current_folder_to_path,
    read_reader_options,
)
from dpaudit.cli.ending import (
    FINE,
    REFUTED,
    ShowRecords,
    Traceback,
    collect_failures,
    report_failures,
)
from dpaudit.cli.options import Json, integer_option, integers_of, number_option
from dpaudit.cli.progress import progress_bar
from dpaudit.cli.setting_options import takes
from dpaudit.escaping import one_line

if TYPE_CHECKING:
    from dpaudit.errors import DpauditError
    from dpaudit.verification import Document, Reader, Verdict


@takes(ROWS)
def verify(
    files: Annotated[list[str], typer.Argument(help="Certificates, as JSON files.")],
    confidence: Annotated[
        float | None,
        number_option(
            "--confidence",
            "The confidence with which fresh draws (0.999999) or scores (0.95) have to refute.",
        ),
    ] = None,
    seed: Annotated[
        int | None, integer_option("--seed", "The seed of the fresh draws (the system's entropy).")
    ] = None,
    reproduce: Annotated[
        bool, typer.Option("--reproduce", help="Check, too, that its own seed gives its counts.")
    ] = False,
    mechanism: Mechanism = None,
    outputs: Outputs = None,
    data_path: DataPath = None,
    scores: Annotated[
        str | None,
        typer.Option(help="For certificates about canaries: their scores, to be counted again."),
    ] = None,
    guesses: Annotated[
        str | None,
        typer.Option(
            metavar="N,N,...",
            help="The numbers of guesses that were fixed before, for certificates about canaries.",
        ),
    ] = None,
    design: Annotated[
        str | None, typer.Option(help="The design by which canaries were included, as for canary.")
    ] = None,
    workers: Annotated[
        int, integer_option("--workers", "Worker processes (1); no verdict depends on it.")
    ] = 1,
    as_json: Json = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
    **named: Any,
) -> int:
    """Check certificates again: numbers with proved error bounds, counts on fresh draws.

    Exit status: 0 if all stand, 1 if one fails, 2 if one could not be checked.
    """
    from dpaudit.verification import Reader

    given: dict[str, Any] = {
        "confidence": confidence,
        "seed": seed,
        "scores": scores,
        "guesses": None if guesses is None else integers_of("--guesses", guesses),
        "design": design,
        **read_reader_options(mechanism, outputs, data_path, named),
    }
    # What is not given is left to the reader's own defaults: a confidence that nobody named
    # differs from the same number on the command line.
    reader = Reader(**{name: value for name, value in given.items() if value is not None})
    with add_current_folder_to_path(mechanism):
        return run(files, reader, reproduce=reproduce, workers=workers, as_json=as_json)


def run(
    paths: list[str], reader: Reader, *, reproduce: bool, workers: int = 1, as_json: bool
) -> int:
    """Re-check every file; return 0 if all are verified, 1 if one fails, 2 if one has no verdict.

    The output says where a certificate refutes a stricter claim than the published one.

    Every file is read before the first is checked. One that is no certificate, or of a claim that
    no installed package verifies, is named, and the others are checked.

    Raises
    ------
    KeyboardInterrupt
        Somebody stopped it; the verdicts that were reached are shown.
    """
    from dpaudit.verification.document import read
    from dpaudit.verification.many import verify_many

    found: dict[int, Verdict | DpauditError] = {}
    documents: list[Document] = []
    failures: list[DpauditError] = []
    interrupt = None
    try:
        for path in paths:
            with collect_failures(failures):
                documents += read(path)
        with progress_bar("verify", shown=not as_json) as progress:
            progress.start("checking certificates", len(documents))
            for place, one in verify_many(documents, reader, reproduce=reproduce, workers=workers):
                found[place] = one
                progress.advance(1)
    except KeyboardInterrupt as error:
        interrupt = error
    verdicts: list[tuple[str, Verdict]] = []
    # Workers end in any order; verdicts are shown in the order of the files.
    for place, one in sorted(found.items()):
        with collect_failures(failures):
            verdicts.append((documents[place].path, _require_verdict(one)))
    if verdicts:
        with collect_failures(failures):
            _print_verdicts(verdicts, as_json=as_json)
    stands = all(verdict.verified for _, verdict in verdicts)
    status = report_failures(FINE if stands else REFUTED, failures)
    if interrupt is not None:
        raise interrupt
    return status


def _require_verdict(found: Verdict | DpauditError) -> Verdict:
    if isinstance(found, Exception):
        raise found
    return found


def _print_verdicts(verdicts: list[tuple[str, Verdict]], *, as_json: bool) -> None:
    if as_json:
        listed = [
            {
                "path": path,
                "verified": verdict.verified,
                "verdict": verdict.on_the_claim,
                "claim": verdict.claim,
                "ratio": verdict.ratio,
                "refutes_as_published": verdict.refutes_as_published,
                "reservations": list(verdict.reservations),
                "summary": verdict.summary,
                "failures": list(verdict.failures),
            }
            for path, verdict in verdicts
        ]
        streams.write_result_text(json.dumps(listed, indent=2))
    else:
        for path, verdict in verdicts:
            streams.write_result_text("\n".join(_format_verdict_lines(path, verdict)))


def _format_verdict_lines(path: str, verdict: Verdict) -> list[str]:
    summary = one_line(verdict.summary)
    if verdict.refutes_as_published:
        return [f"{path}: {verdict.claim}: verified, {summary}"]
    if verdict.proves and verdict.verified:
        reserved = f" ({one_line('; '.join(verdict.reservations))})" if verdict.reservations else ""
        return [f"{path}: {verdict.claim}: verified{reserved}: {summary}"]
    if verdict.verified:
        reserved = f"not the claim as published ({one_line('; '.join(verdict.reservations))})"
        return [f"{path}: {verdict.claim}: verified, but {reserved}: {summary}"]
    failures = [f"  {one_line(failure)}" for failure in verdict.failures]
    return [f"{path}: {one_line(verdict.claim)}: fails", *failures]
