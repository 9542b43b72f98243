"""Rules of a ledger; each breach is named by its paper and row."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dpaudit.errors import DpauditError, InvalidArgument, UnknownName, VerbatimText
from dpaudit.extension.claim import Claim
from dpaudit.extension.figure import Figure
from dpaudit.extension.ledger import AuditEvidence, Cause, LedgerRow, Paper, ReproductionEvidence
from dpaudit.ledger.verdicts import JudgedRow, Ledger


@dataclass(frozen=True, kw_only=True)
class Cards:
    """Registered names to which a row may refer; each claim that is no question is in a row."""

    claims: Mapping[str, Claim]
    figures: Mapping[str, Figure]


def require_sound(ledger: Ledger, cards: Cards) -> None:
    """Raise the first error of a ledger.

    Raises
    ------
    DpauditError
        A row, a cause or a reference breaks a rule, and is named.
    """
    for error in find_errors(ledger, cards):
        raise error


def find_errors(ledger: Ledger, cards: Cards) -> Iterator[DpauditError]:
    """Yield every error of a ledger."""
    for paper in ledger.papers:
        yield from errors_of_paper(ledger, paper, cards)
    yield from _unequal_causes(ledger)
    listed = {claim for paper in ledger.papers for row in paper.rows for claim in _claims_of(row)}
    for name, claim in cards.claims.items():
        if not claim.question and name not in listed:
            yield InvalidArgument("claim", name, "a row in the ledger of its paper")


def errors_of_paper(ledger: Ledger, paper: Paper, cards: Cards) -> Iterator[DpauditError]:
    """Yield every error of one paper."""
    judged = list[JudgedRow]()
    for row in paper.rows:
        yield from _errors_of_row(ledger, paper, row, cards, judged)
    yield from _errors_of_causes(paper, judged)


def _errors_of_row(
    ledger: Ledger,
    paper: Paper,
    row: LedgerRow,
    cards: Cards,
    judged: list[JudgedRow],
) -> Iterator[DpauditError]:
    unknown = list(_unknown_cards(row, cards))
    yield from unknown
    # A row whose evidence is not installed cannot be judged, and would raise a second error
    # about the same thing.
    if unknown:
        return
    try:
        judged.append(ledger.judge(row.name))
    except DpauditError as error:
        yield error
        return
    known = {cause.name for cause in paper.causes}
    if row.cause and row.cause not in known:
        yield UnknownName(f"{row.name}: cause", row.cause, known)
    elif judged[-1].verdict == "refuted":
        yield from _missing_parts(judged[-1])
    else:
        yield from _parts_of_refuted_rows(judged[-1])


def _unknown_cards(row: LedgerRow, cards: Cards) -> Iterator[DpauditError]:
    match row.evidence:
        case AuditEvidence(claim) if claim not in cards.claims:
            yield UnknownName(f"{row.name}: claim", claim, cards.claims)
        case ReproductionEvidence(figure) if figure not in cards.figures:
            yield UnknownName(f"{row.name}: figure", figure, cards.figures)
        case ReproductionEvidence(figure, statement):
            known = cards.figures[figure].statements
            if statement not in known:
                yield UnknownName(f"{row.name}: statement", statement, known)


def _missing_parts(judged: JudgedRow) -> Iterator[DpauditError]:
    parts = {"cause": judged.cause, "defence": judged.defence, "answer": judged.answer}
    for part, value in parts.items():
        if not value:
            yield InvalidArgument(f"{judged.row.name}: {part}", "", "one, as the row is refuted")
    if judged.row.repair_check and not judged.row.repair:
        yield InvalidArgument(f"{judged.row.name}: repair", "", "one, as a check proves it")


def _parts_of_refuted_rows(judged: JudgedRow) -> Iterator[DpauditError]:
    row, verdict = judged.row, judged.verdict
    expected = f"none, as the row is {verdict}"
    for part, value in {"repair": row.repair, "repair_check": row.repair_check}.items():
        if value:
            yield InvalidArgument(f"{row.name}: {part}", value, expected)
    # An open row may name the cause by which it is expected to fall; a proved one cannot.
    if row.cause and verdict != "not settled":
        yield InvalidArgument(f"{row.name}: cause", row.cause, expected)


def _errors_of_causes(paper: Paper, judged: list[JudgedRow]) -> Iterator[DpauditError]:
    names = [cause.name for cause in paper.causes]
    for cause in paper.causes:
        where = f"{paper.name}, cause"
        if names.count(cause.name) > 1:
            yield InvalidArgument(where, cause.name, "a name of its own")
        falling = [one.row for one in judged if one.cause and one.cause.name == cause.name]
        if not falling:
            yield InvalidArgument(where, cause.name, "a refuted row that falls by it")
            continue
        private = [row.name for row in falling if row.privacy]
        if cause.privacy and not private:
            expected = "a refuted row about privacy, as the cause says privacy=True"
            yield InvalidArgument(where, cause.name, expected)
        elif private and not cause.privacy:
            expected = f"privacy=True, as {private[0]} is about privacy"
            yield InvalidArgument(where, cause.name, expected)


def _unequal_causes(ledger: Ledger) -> Iterator[DpauditError]:
    """Yield causes that bear the name of another paper's, and are of another nature."""
    first = dict[str, tuple[Paper, Cause]]()
    for paper in ledger.papers:
        for cause in paper.causes:
            other, known = first.setdefault(cause.name, (paper, cause))
            if known.nature != cause.nature:
                given = VerbatimText(f"{cause.name!r}, a {cause.nature}")
                expected = f"the nature that it has in {other.name}: {known.nature}"
                yield InvalidArgument(f"{paper.name}, cause", given, expected)


def _claims_of(row: LedgerRow) -> set[str]:
    evidence = row.evidence
    return {row.name, evidence.claim} if isinstance(evidence, AuditEvidence) else {row.name}
