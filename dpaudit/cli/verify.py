"""``dpaudit verify``: certificates, checked again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

import dpaudit.cli.streams as streams
from dpaudit.cli.ending import FINE, REFUTED, ShowRecords, Traceback, attempted, concluded
from dpaudit.cli.options import Json, integer_option, number_option
from dpaudit.text import one_line

if TYPE_CHECKING:
    from dpaudit.errors import DpauditError
    from dpaudit.verification import Document, Reader, Verdict


def verify(
    files: Annotated[list[str], typer.Argument(help="Certificates, as JSON files.")],
    confidence: Annotated[
        float | None,
        number_option("--confidence", "With which fresh draws have to refute (0.999999)."),
    ] = None,
    seed: Annotated[
        int | None, integer_option("--seed", "Of the fresh draws (the system's entropy).")
    ] = None,
    data_path: Annotated[
        str | None,
        typer.Option(help="Where a dataset's files are (default: $DPAUDIT_DATA)."),
    ] = None,
    reproduce: Annotated[
        bool, typer.Option("--reproduce", help="See, too, that its own seed gives its counts.")
    ] = False,
    as_json: Json = False,
    traceback: Traceback = False,
    show_records: ShowRecords = False,
) -> int:
    """Re-check certificates with proved error bounds, counts on fresh draws.

    Exit status: 0 if all stand, 1 if one fails, 2 if one could not be checked.
    """
    from dpaudit.verification import Reader

    given: dict[str, Any] = {"confidence": confidence, "seed": seed, "data_path": data_path}
    reader = Reader(**{name: value for name, value in given.items() if value is not None})
    return run(files, reader, reproduce=reproduce, as_json=as_json)


def run(paths: list[str], reader: Reader, *, reproduce: bool, as_json: bool) -> int:
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
    from dpaudit.verification.judge import verify

    verdicts: list[tuple[str, Verdict]] = []
    documents: list[Document] = []
    failures: list[DpauditError] = []
    interrupt = None
    try:
        for path in paths:
            with attempted(failures):
                documents += read(path)
        for document in documents:
            with attempted(failures):
                verdicts.append((document.path, verify(document, reader, reproduce=reproduce)))
    except KeyboardInterrupt as error:
        interrupt = error
    if verdicts:
        with attempted(failures):
            _show(verdicts, as_json=as_json)
    stands = all(verdict.verified for _, verdict in verdicts)
    status = concluded(FINE if stands else REFUTED, failures)
    if interrupt is not None:
        raise interrupt
    return status


def _show(verdicts: list[tuple[str, Verdict]], *, as_json: bool) -> None:
    if as_json:
        listed = [
            {
                "path": path,
                "verified": verdict.verified,
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
    if verdict.verified:
        reserved = f"not the claim as published ({one_line('; '.join(verdict.reservations))})"
        return [f"{path}: {verdict.claim}: verified, but {reserved}: {summary}"]
    failures = [f"  {one_line(failure)}" for failure in verdict.failures]
    return [f"{path}: {one_line(verdict.claim)}: fails", *failures]
