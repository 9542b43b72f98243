"""The verdict on each row of a ledger, computed from its evidence.

===============  ===========================================================================
``proved``       a check proves it, a theorem proves all its audits, or a proved row implies it
``refuted``      by a counterexample, an audit as printed, or a refuted row that it implies
``reproduced``   a published run that draws a figure again has the paper's data and agrees
``differs``      such a run does not, which refutes nothing: papers leave settings open
``not settled``  none of these
``stipulated``   it says nothing that could be false
===============  ===========================================================================

A refuted row with a repair is *refuted as printed, repaired by* that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import dpaudit.verdicts as of_audits
from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.extension.ledger import (
    AuditEvidence,
    Cause,
    Consequence,
    Convention,
    CounterexampleEvidence,
    Finding,
    LedgerRow,
    OpenQuestion,
    Paper,
    ProofEvidence,
    ReproductionEvidence,
)
from dpaudit.ledger.audits import Audits, PublishedAudit
from dpaudit.ledger.checks import proof_of, run_check
from dpaudit.ledger.figures import FigureRun, Figures

RowVerdict = Literal["proved", "refuted", "reproduced", "differs", "not settled", "stipulated"]
_OF_AUDITS: Mapping[of_audits.Verdict, RowVerdict] = {
    "proved": "proved",
    "refuted": "refuted",
    "not refuted": "not settled",
    "withheld": "not settled",
}


@dataclass(frozen=True, kw_only=True)
class JudgedRow:
    """A row with its verdict, and all that supports it.

    Parameters
    ----------
    row, paper
        The row, and the name of its paper.
    verdict
        What its evidence decides.
    cause
        What it falls by; None where it is not refuted.
    defence, answer
        As of the row, or of the one with which it is refuted.
    findings
        Of its check.
    audits
        The published audits of its claim as printed.
    repair_findings
        Of the check that proves its repair.
    figure_run
        The published run that draws its figure again.
    decided_by
        The row that it follows from, implies or restates.
    """

    row: LedgerRow
    paper: str
    verdict: RowVerdict
    cause: Cause | None = None
    defence: str = ""
    answer: str = ""
    findings: tuple[Finding, ...] = ()
    repair_findings: tuple[Finding, ...] = ()
    audits: tuple[PublishedAudit, ...] = ()
    figure_run: FigureRun | None = None
    decided_by: JudgedRow | None = None

    @property
    def repair(self) -> str:
        """The true statement in its place; empty unless it is refuted."""
        return self.row.repair if self.verdict == "refuted" else ""

    @property
    def partial_proofs(self) -> tuple[PublishedAudit, ...]:
        """Audits that are proved of a statement that is not proved as a whole."""
        if self.verdict == "proved":
            return ()
        return tuple(audit for audit in self.audits if audit.verdict == "proved")

    @property
    def verdict_words(self) -> str:
        """The verdict as a reader sees it.

        Examples
        --------
        >>> row = LedgerRow(
        ...     name="smith2031-equation2", place="eq. (2)", statement="a = -b", repair="a = b",
        ...     standing="proof step", evidence=OpenQuestion("none"),
        ... )
        >>> JudgedRow(row=row, paper="smith2031", verdict="refuted").verdict_words
        'refuted as printed, repaired by a = b'
        """
        return (
            f"{self.short_verdict}, repaired by {self.repair}"
            if self.repair
            else self.short_verdict
        )

    @property
    def short_verdict(self) -> str:
        """The verdict in two or three words, without the repair."""
        if self.repair:
            return "refuted as printed"
        return f"{self.verdict}, in part proved" if self.partial_proofs else self.verdict


class Ledger:
    """Papers with the verdict on each of their rows, which is computed when it is asked for.

    Parameters
    ----------
    papers
        All that rows may refer to.
    audits
        The published audits, by claim.
    figures
        The published runs that draw figures again, by figure and statement.

    Raises
    ------
    InvalidArgument
        Two rows have one name.
    """

    def __init__(
        self, papers: Iterable[Paper], audits: Audits, figures: Figures | None = None
    ) -> None:
        self.papers = tuple(papers)
        self.audits = audits
        self.figures = figures or {}
        self._rows: dict[str, tuple[Paper, LedgerRow]] = {}
        for paper in self.papers:
            for row in paper.rows:
                self._add(paper, row)
        self._judged: dict[str, JudgedRow] = {}

    def __contains__(self, name: object) -> bool:
        """Whether a row is called so."""
        return name in self._rows

    def __iter__(self) -> Iterator[str]:
        """Yield the name of every row."""
        return iter(self._rows)

    def judge_paper(self, paper: Paper) -> list[JudgedRow]:
        """Return the rows of a paper with their verdicts, in its order."""
        return [self.judge(row.name) for row in paper.rows]

    def judge_all(self) -> list[JudgedRow]:
        """Return the rows of all papers with their verdicts."""
        return [self.judge(name) for name in self._rows]

    def judge(self, name: str) -> JudgedRow:
        """Return a row with its verdict.

        Raises
        ------
        UnknownName
            No row is called so.
        InvalidArgument
            Its evidence cannot be read, or says the contrary of what it is given for.
        """
        return self._judge(name, ())

    def _add(self, paper: Paper, row: LedgerRow) -> None:
        if row.name in self._rows:
            other = self._rows[row.name][0].name
            raise InvalidArgument(f"{paper.name}, row", row.name, f"another name than in {other}")
        self._rows[row.name] = (paper, row)

    def _judge(self, name: str, path: tuple[str, ...]) -> JudgedRow:
        # Rows that rest on each other in a circle would all be proved by nothing.
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            raise InvalidArgument("row", name, f"no circle of consequences ({circle})")
        if name not in self._rows:
            raise UnknownName(f"row that {path[-1]} refers to" if path else "row", name, self._rows)
        if name not in self._judged:
            self._judged[name] = self._from_evidence(*self._rows[name], path)
        return self._judged[name]

    def _from_evidence(self, paper: Paper, row: LedgerRow, path: tuple[str, ...]) -> JudgedRow:
        blank = JudgedRow(row=row, paper=paper.name, verdict="not settled")
        match row.evidence:
            case AuditEvidence(claim):
                judged = _by_audits(blank, _select_printed_audits(row, self.audits.get(claim, ())))
            case ProofEvidence(check):
                judged = _by_proof(blank, check)
            case CounterexampleEvidence(check):
                judged = _by_counterexample(blank, check)
            case Consequence(other):
                judged = _by_row(blank, row.evidence, self._judge(other, (*path, row.name)))
            case ReproductionEvidence(figure, statement):
                judged = _by_figure(blank, row.evidence, self.figures.get((figure, statement)))
            case Convention():
                judged = replace(blank, verdict="stipulated")
            case OpenQuestion():
                judged = blank
        _refuse_contrary_audits(judged, self.audits.get(row.name, ()))
        return _with_cause(judged, paper)


def _select_printed_audits(
    row: LedgerRow, audits: Iterable[PublishedAudit]
) -> tuple[PublishedAudit, ...]:
    found = tuple(audits)
    if found and all(audit.standing == "question" for audit in found):
        raise InvalidArgument(f"{row.name}: claim", found[0].claim, "a claim, not a question")
    return tuple(audit for audit in found if audit.standing == "claim")


def _by_audits(blank: JudgedRow, audits: tuple[PublishedAudit, ...]) -> JudgedRow:
    gravest = of_audits.choose_gravest_verdict(audit.verdict for audit in audits)
    return replace(blank, verdict=_OF_AUDITS[gravest], audits=audits)


def _by_proof(blank: JudgedRow, check: str) -> JudgedRow:
    return replace(blank, verdict="proved", findings=_proof_findings(blank.row, check))


def _proof_findings(row: LedgerRow, check: str) -> tuple[Finding, ...]:
    """Return the findings of a proof's check, all of which have to hold."""
    findings = _run_row_check(row, check)
    false = [finding for finding in findings if not finding.holds]
    if false:
        expected = f"a proof whose findings all hold ({false[0].instance or false[0]})"
        raise InvalidArgument(f"{row.name}: check", check, expected)
    if not proof_of(check):
        raise InvalidArgument(f"{row.name}: check", check, "a proof in its docstring")
    return findings


def _by_counterexample(blank: JudgedRow, check: str) -> JudgedRow:
    findings = _run_row_check(blank.row, check)
    if all(finding.holds for finding in findings):
        expected = "a counterexample with a finding that does not hold"
        raise InvalidArgument(f"{blank.row.name}: check", check, expected)
    return replace(blank, verdict="refuted", findings=findings)


def _run_row_check(row: LedgerRow, check: str) -> tuple[Finding, ...]:
    try:
        return run_check(check)
    except InvalidArgument as error:
        raise InvalidArgument(f"{row.name}: {error.name}", check, error.expected) from error


def _by_row(blank: JudgedRow, evidence: Consequence, other: JudgedRow) -> JudgedRow:
    # Logic carries a verdict in one direction: what follows from a true statement is true, and
    # what implies a false one is false. The converses hold of neither.
    carried: dict[str, tuple[RowVerdict, ...]] = {
        "follows": ("proved",),
        "implies": ("refuted",),
        "restates": ("proved", "refuted", "reproduced", "differs"),
    }
    decides = other.verdict in carried[evidence.link]
    return replace(blank, verdict=other.verdict if decides else "not settled", decided_by=other)


def _by_figure(
    blank: JudgedRow, evidence: ReproductionEvidence, run: FigureRun | None
) -> JudgedRow:
    judged = replace(blank, figure_run=run)
    # A run on other data than the paper's may differ for that reason alone.
    if run is None or run.held is None or evidence.stand_in:
        return judged
    return replace(judged, verdict="reproduced" if run.held else "differs")


def _refuse_contrary_audits(judged: JudgedRow, audits: Iterable[PublishedAudit]) -> None:
    """Raise where a check decides a claim against its published audits."""
    # Variants and questions have claims of their own, which say nothing against the statement
    # as it is printed.
    verdicts = {audit.verdict for audit in audits if audit.standing == "claim"}
    if judged.verdict == "proved" and "refuted" in verdicts:
        raise InvalidArgument(judged.row.name, "a proof", "no published audit that refutes it")
    if judged.verdict == "refuted" and verdicts == {"proved"}:
        raise InvalidArgument(judged.row.name, "a refutation", "published audits that allow it")


def _with_cause(judged: JudgedRow, paper: Paper) -> JudgedRow:
    """Return a refuted row with its cause, or with that of the row with which it falls."""
    if judged.verdict != "refuted":
        return judged
    row, other = judged.row, judged.decided_by
    causes = {cause.name: cause for cause in paper.causes}
    cause = causes.get(row.cause) if row.cause or other is None else other.cause
    defence = row.defence or (other.defence if other else "")
    answer = row.answer or (other.answer if other else "")
    findings = _proof_findings(row, row.repair_check) if row.repair_check else ()
    return replace(judged, cause=cause, defence=defence, answer=answer, repair_findings=findings)
