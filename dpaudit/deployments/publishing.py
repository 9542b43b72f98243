"""Accounts of records: their facts, stored one file a record, and the public part of them.

A discrepancy is public once a person lifts the embargo in ``registry.toml`` beside the accounts, as
for packages (`dpaudit.scan.publication.known_findings`). Until then an account has the facts alone,
and drafts for who keeps the record stand in a folder that git ignores.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path, PureWindowsPath
from typing import Any

from pydantic import ValidationError

from dpaudit.deployments.documents import LARGEST
from dpaudit.deployments.facts import RecordFacts
from dpaudit.deployments.judgement import RecordJudgement, make_judgement
from dpaudit.deployments.page import render_letter_draft
from dpaudit.deployments.reading import read_facts
from dpaudit.deployments.registry import ADDRESS, COMMIT
from dpaudit.errors import DataError, DpauditError, shorten_repr
from dpaudit.escaping import json_escaped
from dpaudit.files import write_files
from dpaudit.formats import add_schema, read_json
from dpaudit.scan.publication.known_findings import PackageNotes

KNOWN = "registry.toml"
_SUFFIXES = (".yaml", ".yml", ".json", ".toml")


def records_in(path: Path) -> list[Path]:
    """Return the records that a folder holds, or the file itself.

    Raises
    ------
    DataError
        The folder holds none.
    """
    if not path.is_dir():
        return [path]
    inner = path / "deployments"
    folder = inner if inner.is_dir() else path
    found = [one for one in sorted(folder.iterdir()) if one.suffix.lower() in _SUFFIXES]
    found = [one for one in found if one.name != KNOWN]
    if not found:
        raise DataError(f"{path}: holds no record, expected files in YAML, JSON or TOML")
    return found


def facts_in(path: Path, address: str = "") -> RecordFacts:
    """Return the facts of a record, or of an account that was stored of one.

    Raises
    ------
    DataError
        It is neither.
    """
    if path.suffix.lower() == ".json" and _is_account(path):
        return read_account(path)
    return read_facts(path, address)


def _is_account(path: Path) -> bool:
    try:
        # Any JSON is read whole to see what it is, so that the limit of records applies first.
        if path.stat().st_size > LARGEST:
            return False
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(content, dict) and {"schema", "facts"} <= content.keys()


def read_account(path: Path) -> RecordFacts:
    """Return the facts that a file holds.

    Raises
    ------
    DataError
        It cannot be read, or holds no facts.
    """
    content = read_json(path, "deployment")
    try:
        return RecordFacts.model_validate(content["facts"])
    except (ValidationError, KeyError, TypeError) as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "no facts"
        raise DataError(f"{path}: is no account of a deployment: {first}") from None


def address_of(record: str) -> str:
    """Return where the registry publishes a record."""
    return f"{ADDRESS}/blob/{COMMIT}/deployments/{record}.yaml"


def write_public_accounts(
    judgements: Sequence[RecordJudgement], folder: Path, today: date | None = None
) -> bool:
    """Write an account a record: facts, and the comparisons if they are public; return if they are.

    Raises
    ------
    DataError
        A file cannot be read or written.
    """
    is_lifted = is_public(folder, today)
    _write_account_files(judgements, folder, is_lifted=is_lifted)
    return is_lifted


def write_accounts(judgements: Sequence[RecordJudgement], folder: Path) -> None:
    """Write an account a record with all comparisons, for who ran them.

    Raises
    ------
    DataError
        A file cannot be written.
    """
    _write_account_files(judgements, folder, is_lifted=True)


def _write_account_files(
    judgements: Sequence[RecordJudgement], folder: Path, *, is_lifted: bool
) -> None:
    contents = {
        _place_record_file(folder, one.facts, ".json"): _make_record_account(
            one, is_lifted=is_lifted
        )
        for one in judgements
    }
    write_files(folder, contents)


def _place_record_file(folder: Path, facts: RecordFacts, suffix: str) -> Path:
    """Return the file of a record in a folder; its name came from a file that somebody sent."""
    name = f"{facts.record}{suffix}"
    # Windows reads both slashes and drives: what is one name there is one everywhere.
    if PureWindowsPath(name).name != name or not name.isprintable():
        raise DataError(
            f"facts.record is {shorten_repr(facts.record)}, expected the name of a file"
        )
    return folder / name


def is_public(folder: Path, today: date | None = None) -> bool:
    """Return whether discrepancies may be published: a person states it beside the accounts."""
    return PackageNotes.read(folder / KNOWN).lifted(today)


def _make_record_account(judgement: RecordJudgement, *, is_lifted: bool) -> bytes:
    facts = judgement.facts.model_dump(mode="json", exclude_defaults=True)
    content: dict[str, Any] = {"facts": facts, "missing": judgement.missing}
    if is_lifted:
        content["verdict"] = judgement.verdict
        content["checks"] = [one.model_dump(mode="json") for one in judgement.checks]
    text = json.dumps(add_schema("deployment", content), indent=1, ensure_ascii=False)
    return (json_escaped(text) + "\n").encode()


def write_drafts(judgements: Sequence[RecordJudgement], folder: Path) -> list[Path]:
    """Write a letter for each record that does not agree, which its owner alone can read.

    Raises
    ------
    DataError
        A letter cannot be written.
    """
    found: Mapping[Path, bytes] = {
        _place_record_file(folder, one.facts, ".md"): render_letter_draft(one).encode()
        for one in judgements
        if one.discrepancies
    }
    if found:
        # With the letters, so that no commit publishes what is under embargo.
        write_files(folder, {**found, folder / ".gitignore": b"*\n"}, private=True)
    return list(found)


def judge_all(
    paths: Sequence[Path], address: str = ""
) -> tuple[list[RecordJudgement], list[DpauditError]]:
    """Return the judgements of all records that can be read, and the refusals of the others."""
    judgements: list[RecordJudgement] = []
    refusals: list[DpauditError] = []
    for path in paths:
        try:
            judgements.append(make_judgement(facts_in(path, address)))
        # One damaged record must not hide the verdicts on the others.
        except DpauditError as error:
            refusals.append(error)
    return judgements, refusals
