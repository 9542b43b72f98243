"""Claims in the groups of an index: by the cause that refutes them, or by their verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Literal, Protocol, TypeVar

from dpaudit.extension.ledger import Cause
from dpaudit.report.catalogue import Catalogue, CatalogueRow
from dpaudit.report.schema import Result
from dpaudit.verdicts import Verdict, choose_gravest_verdict

Mark = Literal["refuted", "repaired", "proved", "not refuted", "withheld"]
MARKS: Mapping[Mark, str] = {
    "refuted": "✗",
    "repaired": "✎",
    "proved": "✓",
    "not refuted": "○",
    "withheld": "?",
}
"""What stands before a verdict, so that no colour alone tells one from another."""
_WORDS: Mapping[Mark, str] = {"repaired": "refuted as printed"}
_NATURES = ("fault", "assumption", "reading", "misprint")
_WITHOUT_CAUSE: Mapping[Verdict, str] = {
    "refuted": "Refuted",
    "withheld": "Withheld",
    "not refuted": "Not refuted",
    "proved": "Proved",
}


class _HasResult(Protocol):
    @property
    def result(self) -> Result: ...


R = TypeVar("R", bound=_HasResult)


@dataclass(frozen=True, kw_only=True)
class Tile(Generic[R]):
    """A claim, the verdict on it, and the audits of it as printed; the first exceeds it most."""

    title: str
    claim: str
    mark: Mark
    rows: Sequence[R]

    @property
    def verdict(self) -> str:
        """The verdict, with its mark."""
        return f"{MARKS[self.mark]} {_WORDS.get(self.mark, self.mark)}"


@dataclass(frozen=True, kw_only=True)
class ClaimGroup(Generic[R]):
    """Claims that share a cause, or a verdict.

    Parameters
    ----------
    title, text
        The cause and what it is; or the verdict.
    kind
        Of a cause: its nature, and whether it touches privacy.
    tiles
        The claims.
    """

    title: str
    text: str
    kind: str
    tiles: Sequence[Tile[R]]

    @property
    def rows(self) -> list[R]:
        """All audits of its claims."""
        return [row for tile in self.tiles for row in tile.rows]


@dataclass
class _UnnamedGroup(Generic[R]):
    verdict: Verdict
    cause: Cause | None
    tiles: list[Tile[R]] = field(default_factory=list)


def group_claims(rows: Iterable[R], catalogue: Catalogue) -> list[ClaimGroup[R]]:
    """Return the claims of audits in groups: causes that touch privacy first, misprints last.

    A cause that two papers have by one name is one.

    Parameters
    ----------
    rows
        Audits of claims as printed, those that exceed a claim most before its others.
    catalogue
        Their names, and why they fall.
    """
    by_claim = dict[str, list[R]]()
    for row in rows:
        by_claim.setdefault(row.result.claim, []).append(row)
    groups = dict[tuple[Verdict, str], _UnnamedGroup[R]]()
    for claim, audits in by_claim.items():
        entry = catalogue.entries.get(claim)
        verdict = verdict_on([one.result.verdict for one in audits], entry)
        title = catalogue.titles.get(claim, claim)
        tile = Tile(title=title, claim=claim, mark=_choose_mark(verdict, entry), rows=audits)
        cause = _get_refuting_cause(verdict, entry)
        key = (verdict, "" if cause is None else cause.name)
        groups.setdefault(key, _UnnamedGroup(verdict, cause)).tiles.append(tile)
    return [_make_group(one) for one in sorted(groups.values(), key=_get_group_sort_key)]


def verdict_on(verdicts: Iterable[Verdict], entry: CatalogueRow | None) -> Verdict:
    """Return the verdict on a claim by its audits, where nothing contradicts it by its proof.

    Examples
    --------
    >>> verdict_on(["not refuted", "refuted"], None)
    'refuted'
    """
    gravest_one = choose_gravest_verdict(verdicts)
    proved = entry is not None and entry.is_proved
    # A proof in the ledger never overrules an audit: a refuted claim stays refuted, and the
    # contradiction stays visible.
    return "proved" if proved and gravest_one == "not refuted" else gravest_one


def _get_refuting_cause(verdict: Verdict, entry: CatalogueRow | None) -> Cause | None:
    return None if verdict != "refuted" or entry is None else entry.cause


def _get_group_sort_key(group: _UnnamedGroup[R]) -> tuple[int, int, bool, int]:
    ranked, cause, alone = list(_WITHOUT_CAUSE).index(group.verdict), group.cause, len(group.tiles)
    if cause is None:
        return ranked, len(_NATURES), False, -alone
    return ranked, _NATURES.index(cause.nature), not cause.privacy, -alone


def _make_group(group: _UnnamedGroup[R]) -> ClaimGroup[R]:
    verdict, cause, tiles = group.verdict, group.cause, group.tiles
    if cause is None:
        return ClaimGroup(title=_WITHOUT_CAUSE[verdict], text="", kind="", tiles=tiles)
    kind = cause.nature + (", of privacy" if cause.privacy else "")
    return ClaimGroup(title=cause.name, text=cause.text, kind=kind, tiles=tiles)


def _choose_mark(verdict: Verdict, entry: CatalogueRow | None) -> Mark:
    repaired = verdict == "refuted" and entry is not None and bool(entry.row.repair)
    return "repaired" if repaired else verdict
