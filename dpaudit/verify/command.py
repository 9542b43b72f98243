"""What ``dpaudit verify`` does."""

from __future__ import annotations

import json

import typer

from dpaudit.verify.document import read
from dpaudit.verify.judge import Verdict, verify


def run(paths: list[str], *, as_json: bool) -> int:
    """Re-check every file; return 0 if all are verified, 1 if one fails.

    Every file is read before the first is checked.

    Raises
    ------
    DataError, UnknownName
        A file is no certificate, or of a claim that no installed package verifies.
    """
    documents = [document for path in paths for document in read(path)]
    verdicts = {document.path: verify(document) for document in documents}
    if as_json:
        listed = [
            {
                "path": path,
                "verified": verdict.verified,
                "claim": verdict.claim,
                "ratio": verdict.ratio,
                "summary": verdict.summary,
                "failures": list(verdict.failures),
            }
            for path, verdict in verdicts.items()
        ]
        typer.echo(json.dumps(listed, indent=2))
    else:
        for path, verdict in verdicts.items():
            typer.echo("\n".join(_lines(path, verdict)))
    return int(not all(verdict.verified for verdict in verdicts.values()))


def _lines(path: str, verdict: Verdict) -> list[str]:
    if verdict.verified:
        return [f"{path}: {verdict.claim}: verified, {verdict.summary}"]
    return [f"{path}: {verdict.claim}: fails", *(f"  {failure}" for failure in verdict.failures)]
