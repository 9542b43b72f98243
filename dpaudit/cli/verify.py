"""``dpaudit verify``: certificates, checked again."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.ending import FINE, REFUTED, ShowRecords, Traceback, attempted, concluded
from dpaudit.cli.options import (
    AuditedProgram,
    ItsProtocol,
    Json,
    integer_option,
    integers_of,
    number_option,
    reference_of,
)
from dpaudit.cli.progress import progress_bar
from dpaudit.errors import InvalidArgument
from dpaudit.text import one_line

if TYPE_CHECKING:
    from dpaudit.errors import DpauditError
    from dpaudit.verification import Document, Reader, Verdict


def verify(
    files: Annotated[list[str], typer.Argument(help="Certificates, as JSON files.")],
    confidence: Annotated[
        float | None,
        number_option(
            "--confidence", "With which fresh draws (0.999999) or scores (0.95) have to refute."
        ),
    ] = None,
    seed: Annotated[
        int | None, integer_option("--seed", "The seed of the fresh draws (the system's entropy).")
    ] = None,
    data_path: Annotated[
        str | None,
        typer.Option(help="Where a dataset's files are (default: $DPAUDIT_DATA)."),
    ] = None,
    reproduce: Annotated[
        bool, typer.Option("--reproduce", help="Check, too, that its own seed gives its counts.")
    ] = False,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="The module:object (or file.py:object) that a certificate is about; its code runs."
        ),
    ] = None,
    command: AuditedProgram = None,
    protocol: ItsProtocol = None,
    dataset: Annotated[
        str | None,
        typer.Option(help="With --mechanism or --command: its records, .csv, .json or .npy."),
    ] = None,
    neighbour: Annotated[
        str | None, typer.Option(help="With --mechanism: the neighbour's records.")
    ] = None,
    form: Annotated[
        str | None, typer.Option(help="With --mechanism: how it is called, as audit takes it.")
    ] = None,
    read: Annotated[
        list[str] | None, typer.Option(help="With --mechanism: an attribute to look at.")
    ] = None,
    observe: Annotated[
        list[str] | None,
        typer.Option(help="With --mechanism: what counts beside the output, as audit takes it."),
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="With --mechanism: a part that is left out.")
    ] = None,
    fresh: Annotated[
        str | None,
        typer.Option(metavar="WHAT", help="With --mechanism: what is made anew for every output."),
    ] = None,
    relation: Annotated[
        str | None,
        typer.Option(help="With --mechanism: what makes the two neighbours, as audit takes it."),
    ] = None,
    scores: Annotated[
        str | None,
        typer.Option(help="For certificates about canaries: their scores, to be counted again."),
    ] = None,
    outputs: Annotated[
        list[str] | None,
        typer.Option(help="For certificates about drawn outputs: each file, to be counted again."),
    ] = None,
    guesses: Annotated[
        str | None,
        typer.Option(metavar="N,N,...", help="With canaries: the guesses that were fixed before."),
    ] = None,
    design: Annotated[
        str | None, typer.Option(help="With canaries: how they were included, as canary takes it.")
    ] = None,
    workers: Annotated[
        int, integer_option("--workers", "Worker processes (1); no verdict depends on it.")
    ] = 1,
    as_json: Json = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
) -> int:
    """Check certificates again: numbers with proved error bounds, counts on fresh draws.

    Exit status: 0 if all stand, 1 if one fails, 2 if one could not be checked.
    """
    from dpaudit.verification import Reader

    given: dict[str, Any] = {
        "confidence": confidence,
        "seed": seed,
        "data_path": data_path,
        "mechanism": mechanism_given(mechanism, command, protocol, (dataset, neighbour)),
        "form": form,
        "read": read or None,
        "observe": observe or None,
        "ignore": ignore or None,
        "fresh": fresh,
        "relation": relation,
        "scores": scores,
        "outputs": outputs or None,
        "guesses": None if guesses is None else integers_of("--guesses", guesses),
        "design": design,
        **records_given({"dataset": dataset, "neighbour": neighbour}, mechanism or command),
    }
    reader = Reader(**{name: value for name, value in given.items() if value is not None})
    with importable_here(mechanism):
        return run(files, reader, reproduce=reproduce, workers=workers, as_json=as_json)


def mechanism_given(
    mechanism: str | None,
    command: str | None,
    protocol: str | None,
    files: Iterable[str | None],
) -> Any:
    """Return the mechanism that is named, or the program of a command line with its files."""
    if command is None:
        if protocol is not None:
            raise InvalidArgument("--protocol", protocol, "nothing without --command")
        return None if mechanism is None else reference_of(mechanism)
    if mechanism is not None:
        raise InvalidArgument("--command", command, "nothing beside --mechanism")
    from dpaudit.auditing.specification import records_from
    from dpaudit.programs import Program

    found = Program(command, protocol=protocol, folder=Path.cwd())
    for file in map(Path, filter(None, files)):
        found = found.with_file(records_from(file), file)
    return found


def records_given(files: dict[str, str | None], mechanism: str | None) -> dict[str, Any]:
    """Return the records of the files that are named."""
    given = {name: file for name, file in files.items() if file is not None}
    if given and mechanism is None:
        name = next(iter(given))
        raise InvalidArgument(f"--{name}", given[name], "nothing without --mechanism or --command")
    if not given:
        return {}
    from dpaudit.auditing.specification import records_from

    return {name: records_from(Path(file)) for name, file in given.items()}


def importable_here(mechanism: str | None) -> AbstractContextManager[None]:
    """Let a mechanism's module lie in the folder where the command is run."""
    if mechanism is None:
        return nullcontext()
    from dpaudit.execution import importable

    return importable(Path.cwd())


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
            with attempted(failures):
                documents += read(path)
        with progress_bar("verify", shown=not as_json) as progress:
            progress.start("checking certificates", len(documents))
            for place, one in verify_many(documents, reader, reproduce=reproduce, workers=workers):
                found[place] = one
                progress.advance(1)
    except KeyboardInterrupt as error:
        interrupt = error
    verdicts: list[tuple[str, Verdict]] = []
    for place, one in sorted(found.items()):
        with attempted(failures):
            verdicts.append((documents[place].path, _verdict(one)))
    if verdicts:
        with attempted(failures):
            _show(verdicts, as_json=as_json)
    stands = all(verdict.verified for _, verdict in verdicts)
    status = concluded(FINE if stands else REFUTED, failures)
    if interrupt is not None:
        raise interrupt
    return status


def _verdict(found: Verdict | DpauditError) -> Verdict:
    if isinstance(found, Exception):
        raise found
    return found


def _show(verdicts: list[tuple[str, Verdict]], *, as_json: bool) -> None:
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
        streams.write(json.dumps(listed, indent=2))
    else:
        for path, verdict in verdicts:
            streams.write("\n".join(_lines(path, verdict)))


def _lines(path: str, verdict: Verdict) -> list[str]:
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
