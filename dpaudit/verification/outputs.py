"""Certificates of outputs that somebody drew: counts of an event, and the files once more.

The counts are judged as those of an attack are (`dpaudit.verification.attack_tables`). With the
files the event is chosen and counted again: which outputs choose it follows from the seed. Without
them the verdict has a reservation, and another one for each choice that is not the usual one, which
whoever looked at outputs first could have made to suit them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpaudit.auditing.samples.output_audit import evidence_of, rows_of
from dpaudit.auditing.samples.output_pairs import OutputPair, read_outputs
from dpaudit.errors import shorten_repr
from dpaudit.extension.settings import Settings
from dpaudit.verification import attack_tables
from dpaudit.verification.attack_tables import Counts
from dpaudit.verification.document import Document
from dpaudit.verification.redrawn_counts import Reader

CLAIM = "outputs"
_COUNTS_OF_FILE = (
    "the counts are taken as the file states them; --outputs FILE, for each, counts them again"
)
_COUNTS_OF_TABLE = "the counts are taken as the file states them"
# Of scores epsilon has a half of the error probability.
_USUAL: dict[str, tuple[Any, ...]] = {"seed": (0,), "confidence": (0.95, 0.975), "ignore": ([],)}


def counts_of(
    document: Document, reader: Reader
) -> tuple[Sequence[Counts], tuple[str, ...], tuple[str, ...]]:
    """Return the counts of an attack's table or of outputs, the failures, and the reservations.

    Raises
    ------
    DataError
        The certificate is of neither sort, or the reader's files cannot be read.
    """
    if document.kind != "outputs":
        if document.claim == CLAIM:
            raise document.refused("kind", document.kind, repr(CLAIM))
        return attack_tables.rows_of(document, "attack-table"), (), (_COUNTS_OF_TABLE,)
    rows = read_stated_counts(document)
    return rows, *recount_reader_outputs(document, reader, rows)


def read_stated_counts(document: Document) -> list[Counts]:
    """Return the counts that a certificate states.

    Raises
    ------
    DataError
        It is not of this sort.
    """
    rows = attack_tables.rows_of(document, "outputs")
    if document.claim != CLAIM:
        raise document.refused("claim", document.claim, repr(CLAIM))
    instance = document.instance
    for name, kinds in (("seed", int), ("confidence", float), ("ignore", list)):
        if type(instance.get(name)) is not kinds:
            raise document.refused(f"instance.{name}", instance.get(name), kinds.__name__)
    if instance["seed"] < 0 or not 0 < instance["confidence"] < 1:
        raise document.refused("instance", dict(instance), "a seed, and a confidence below 1")
    if not all(isinstance(one, str) for one in instance["ignore"]):
        raise document.refused("instance.ignore", instance["ignore"], "names of columns")
    return rows


def recount_reader_outputs(
    document: Document, reader: Reader, rows: Sequence[Counts]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the contradictions between the reader's files and a certificate, and reservations."""
    chosen = tuple(
        f"{name} = {shorten_repr(document.instance[name])} is the file's choice, and "
        f"{shorten_repr(usual[0])} is usual"
        for name, usual in _USUAL.items()
        if document.instance[name] not in usual
    )
    if not reader.outputs:
        return (), (_COUNTS_OF_FILE, *chosen)
    pair = read_outputs([Path(one) for one in reader.outputs], document.instance["ignore"])
    return (*_other_files(document, pair), *_other_counts(document, pair, rows)), chosen


def _other_files(document: Document, pair: OutputPair) -> tuple[str, ...]:
    if list(pair.digests) == document.instance.get("sha256"):
        return ()
    return ("sha256: the files are not those that the certificate is of",)


def _other_counts(document: Document, pair: OutputPair, rows: Sequence[Counts]) -> tuple[str, ...]:
    instance = document.instance
    # The file's own seed is right here: the outputs are given, and the seed only splits them
    # into those that choose the event and those that count it. An unusual one is a reservation.
    evidence = evidence_of(
        pair,
        Settings(
            epsilon=document.number("parameters", "epsilon"),
            delta=document.number("parameters", "delta"),
            confidence=instance["confidence"],
            seed=instance["seed"],
        ),
    )
    failed = tuple(
        f"{one.name}: {one.statement} ({one.evidence})"
        for one in evidence.contract
        if not one.passed
    )
    if (found := rows_of(evidence, pair)) != list(rows):
        return (*failed, f"rows: the files have {found}, the certificate {list(rows)}")
    return failed
