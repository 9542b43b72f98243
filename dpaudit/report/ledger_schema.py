"""The ledger as JSON: every row with its verdict, and the causes with the claims they refute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from dpaudit.extension.ledger import Cause, Consequence, Finding, Nature, Number, Paper, Standing
from dpaudit.ledger.audits import PublishedAudit
from dpaudit.ledger.counts import RowCounts, count_rows
from dpaudit.ledger.verdicts import JudgedRow, Ledger, RowVerdict
from dpaudit.report.counts import ReportPart
from dpaudit.report.findings import deciding_words
from dpaudit.verdicts import Verdict


class FindingDocument(ReportPart):
    """The two sides of a statement on one instance."""

    left: int | float | str = Field(description="A fraction is a string: 1/3.")
    relation: Literal["<=", "<", "="]
    right: int | float | str
    instance: str
    holds: bool


class AuditDocument(ReportPart):
    """A published audit of a claim, as printed."""

    label: str
    verdict: Verdict
    claimed: float | None
    proved: float | None
    lower: float | None
    unit: str
    report: str = Field(description="Its page, below the folder of reports.")


class LinkDocument(ReportPart):
    """The row that decides another one."""

    row: str
    step: str
    link: Literal["follows", "implies", "restates"]


class RowDocument(ReportPart):
    """One statement of a paper, and its verdict."""

    name: str
    place: str
    statement: str
    standing: Standing
    privacy: bool = Field(description="Whether it is about a privacy guarantee, or its proof.")
    verdict: RowVerdict
    repair: str = Field(description="What would be true in its place; empty if it is not refuted.")
    cause: str | None = Field(description="What it falls by; null if it is not refuted.")
    defence: str
    answer: str
    decided: list[str] = Field(description="All that decided it, in words.")
    findings: list[FindingDocument]
    repair_findings: list[FindingDocument] = Field(description="Of the proof of its repair.")
    audits: list[AuditDocument]
    link: LinkDocument | None


class CauseDocument(ReportPart):
    """One thing that is wrong, and the rows that fall by it."""

    name: str
    text: str
    nature: Nature
    privacy: bool
    rows: list[str]


class PaperDocument(ReportPart):
    """A paper: its mistakes, and its rows in the order of its text."""

    name: str
    title: str
    citation: str
    causes: list[CauseDocument]
    rows: list[RowDocument]


class CountsDocument(ReportPart):
    """The totals of the rows; causes of one name in several papers count once."""

    papers: int
    statements: int
    faults: int
    private_faults: int
    misprints: int
    others: int
    proved: int
    private_proved: int
    refuted: int
    repaired: int
    not_settled: int
    reproduced: int
    differing: int
    stipulated: int
    headline: str


class LedgerDocument(ReportPart):
    """The ledger of papers."""

    counts: CountsDocument
    papers: list[PaperDocument]


def ledger_document(ledger: Ledger, papers: Sequence[Paper], cause: str | None) -> LedgerDocument:
    """Return papers of a ledger as a document.

    Parameters
    ----------
    ledger
        Of all papers.
    papers
        Those that are asked for.
    cause
        Only rows that fall by this one; None for all.
    """
    judged = {paper.name: rows_of(ledger, paper, cause) for paper in papers}
    everything = [row for rows in judged.values() for row in rows]
    return LedgerDocument(
        counts=_make_counts_document(count_rows(everything)),
        papers=[_make_paper_document(paper, judged[paper.name]) for paper in papers],
    )


def rows_of(ledger: Ledger, paper: Paper, cause: str | None) -> list[JudgedRow]:
    """Return the rows of a paper with their verdicts, or those that fall by one cause."""
    judged = ledger.judge_paper(paper)
    if cause is None:
        return judged
    return [one for one in judged if one.cause is not None and one.cause.name == cause]


def causes_of(judged: Sequence[JudgedRow]) -> dict[str, tuple[Cause, list[JudgedRow]]]:
    """Return the causes by which rows fall, each with these, in the order of the rows."""
    found = dict[str, tuple[Cause, list[JudgedRow]]]()
    for one in judged:
        if one.cause is not None:
            found.setdefault(one.cause.name, (one.cause, []))[1].append(one)
    return found


def _make_counts_document(counts: RowCounts) -> CountsDocument:
    fields = CountsDocument.model_fields
    return CountsDocument(**{name: getattr(counts, name) for name in fields})


def _make_paper_document(paper: Paper, judged: Sequence[JudgedRow]) -> PaperDocument:
    return PaperDocument(
        name=paper.name,
        title=paper.title,
        citation=paper.citation,
        causes=[
            _make_cause_document(cause, falling) for cause, falling in causes_of(judged).values()
        ],
        rows=[row_document(one) for one in judged],
    )


def _make_cause_document(cause: Cause, falling: Sequence[JudgedRow]) -> CauseDocument:
    return CauseDocument(
        name=cause.name,
        text=cause.text,
        nature=cause.nature,
        privacy=any(one.row.privacy for one in falling),
        rows=[one.row.name for one in falling],
    )


def row_document(judged: JudgedRow) -> RowDocument:
    """Return one row as a document."""
    row = judged.row
    return RowDocument(
        name=row.name,
        place=row.place,
        statement=row.statement,
        standing=row.standing,
        privacy=row.privacy,
        verdict=judged.verdict,
        repair=judged.repair,
        cause=None if judged.cause is None else judged.cause.name,
        defence=judged.defence,
        answer=judged.answer,
        decided=list(deciding_words(judged)),
        findings=[_make_finding_document(finding) for finding in judged.findings],
        repair_findings=[_make_finding_document(finding) for finding in judged.repair_findings],
        audits=[_make_audit_document(audit) for audit in judged.audits],
        link=_make_link_document(row.evidence) if isinstance(row.evidence, Consequence) else None,
    )


def _make_finding_document(finding: Finding) -> FindingDocument:
    return FindingDocument(
        left=_to_plain_number(finding.left),
        relation=finding.relation,
        right=_to_plain_number(finding.right),
        instance=finding.instance,
        holds=finding.holds,
    )


def _to_plain_number(value: Number) -> int | float | str:
    # A fraction as a double would lose the exactness on which the finding rests.
    return value if isinstance(value, int | float) else str(value)


def _make_audit_document(audit: PublishedAudit) -> AuditDocument:
    names = AuditDocument.model_fields
    return AuditDocument(**{name: getattr(audit, name) for name in names})


def _make_link_document(evidence: Consequence) -> LinkDocument:
    return LinkDocument(row=evidence.row, step=evidence.step, link=evidence.link)
