"""The catalogue of claims in an index: readable names, and the causes of refutations.

Both are known of installed claims: from their cards, and from the ledgers of their papers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from dpaudit.extension.ledger import (
    AuditEvidence,
    Cause,
    Consequence,
    LedgerRow,
    Paper,
    ProofEvidence,
)
from dpaudit.extension.registry import CLAIMS, PAPERS
from dpaudit.ledger.counts import RowCounts, count_rows
from dpaudit.ledger.installed_papers import make_installed_ledger


@dataclass(frozen=True, kw_only=True)
class CatalogueRow:
    """The row of a claim in the ledger of its paper.

    Parameters
    ----------
    paper
        The paper's name.
    row
        The row.
    cause
        Why the claim falls, where the row says it.
    """

    paper: str
    row: LedgerRow
    cause: Cause | None

    @property
    def is_proved(self) -> bool:
        """Whether the ledger itself has the proof."""
        return isinstance(self.row.evidence, ProofEvidence)


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """The readable names and causes of claims.

    Parameters
    ----------
    titles
        What each is about, in a few words.
    entries
        Its row in the ledger of its paper.
    counts
        What the ledgers of all papers come to; None where that is not known yet.
    """

    titles: Mapping[str, str] = field(default_factory=dict)
    entries: Mapping[str, CatalogueRow] = field(default_factory=dict)
    counts: RowCounts | None = None

    @classmethod
    def installed(cls) -> Catalogue:
        """Return the catalogue of the installed claims and papers; nothing judges them."""
        titles = {name: card.title for name, card in CLAIMS.all().items()}
        return cls(titles=titles, entries=entries_of_claims(PAPERS.all().values()))

    def add_ledger_counts(self, reports: Path) -> Catalogue:
        """Return the same with the counts of all papers, by the audits of a folder's index.

        Raises
        ------
        DpauditError
            The index cannot be read, or a row's evidence says the contrary of its verdict.
        """
        return replace(self, counts=count_rows(make_installed_ledger(reports).judge_all()))


def entries_of_claims(papers: Iterable[Paper]) -> dict[str, CatalogueRow]:
    """Return the rows of ledgers by the claims that they are about.

    Examples
    --------
    >>> entries_of_claims([])
    {}
    """
    return {claim: entry for paper in papers for claim, entry in _make_catalogue_entries(paper)}


def _make_catalogue_entries(paper: Paper) -> Iterator[tuple[str, CatalogueRow]]:
    causes = {cause.name: cause for cause in paper.causes}
    rows = {row.name: row for row in paper.rows}
    for row in paper.rows:
        claim = row.evidence.claim if isinstance(row.evidence, AuditEvidence) else row.name
        yield (
            claim,
            CatalogueRow(paper=paper.name, row=row, cause=causes.get(_cause_name(row, rows))),
        )


def _cause_name(row: LedgerRow, rows: Mapping[str, LedgerRow]) -> str:
    """Return the cause of a row, or else of the one that it rests on."""
    # A ledger is a file, in which rows may rest on each other in a circle.
    seen = {row.name}
    while not row.cause and isinstance(row.evidence, Consequence) and row.evidence.row in rows:
        row = rows[row.evidence.row]
        if row.name in seen:
            return ""
        seen.add(row.name)
    return row.cause
