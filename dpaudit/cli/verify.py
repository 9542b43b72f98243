"""``dpaudit verify``: certificates, checked again."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpaudit.cli.options import Json, integer_option, number_option

if TYPE_CHECKING:
    from dpaudit.verification import Reader, Verdict


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
) -> None:
    """Re-check certificates with proved error bounds, counts on fresh draws.

    Exit status 0 if all stand, 1 if one fails.
    """
    from dpaudit.verification import Reader

    given: dict[str, Any] = {"confidence": confidence, "seed": seed, "data_path": data_path}
    reader = Reader(**{name: value for name, value in given.items() if value is not None})
    raise typer.Exit(run(files, reader, reproduce=reproduce, as_json=as_json))


def run(paths: list[str], reader: Reader, *, reproduce: bool, as_json: bool) -> int:
    """Re-check every file; return 0 if all are verified, 1 if one fails.

    The output says where a certificate refutes a stricter claim than the published one.

    Every file is read before the first is checked.

    Raises
    ------
    DataError, UnknownName
        A file is no certificate, or of a claim that no installed package verifies.
    """
    from dpaudit.verification import read, verify

    documents = [document for path in paths for document in read(path)]
    verdicts = [
        (document.path, verify(document, reader, reproduce=reproduce)) for document in documents
    ]
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
        typer.echo(json.dumps(listed, indent=2))
    else:
        for path, verdict in verdicts:
            typer.echo("\n".join(_lines(path, verdict)))
    return int(not all(verdict.verified for _, verdict in verdicts))


def _lines(path: str, verdict: Verdict) -> list[str]:
    if verdict.refutes_as_published:
        return [f"{path}: {verdict.claim}: verified, {verdict.summary}"]
    if verdict.verified:
        reserved = f"not the claim as published ({'; '.join(verdict.reservations)})"
        return [f"{path}: {verdict.claim}: verified, but {reserved}: {verdict.summary}"]
    return [f"{path}: {verdict.claim}: fails", *(f"  {failure}" for failure in verdict.failures)]
