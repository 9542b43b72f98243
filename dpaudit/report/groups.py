"""Claims in the groups of an index: by the cause that refutes them, or by their verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from dpaudit.extension.ledger import Cause
from dpaudit.report.catalogue import Catalogue, Entry
from dpaudit.report.schema import Result
from dpaudit.verdicts import Verdict, gravest

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
class Group(Generic[R]):
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


def grouped(rows: Iterable[R], catalogue: Catalogue) -> list[Group[R]]:
    """Return the claims of audits in groups: causes that touch privacy first, misprints last.

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
    groups = dict[_Key, list[Tile[R]]]()
    for claim, audits in by_claim.items():
        entry = catalogue.entries.get(claim)
        verdict = verdict_on([one.result.verdict for one in audits], entry)
        title = catalogue.titles.get(claim, claim)
        tile = Tile(title=title, claim=claim, mark=_mark(verdict, entry), rows=audits)
        groups.setdefault(_key(verdict, entry), []).append(tile)
    return [_group(key, groups[key]) for key in sorted(groups, key=_order)]


def verdict_on(verdicts: Iterable[Verdict], entry: Entry | None) -> Verdict:
    """Return the verdict on a claim by its audits, where nothing contradicts it by its proof.

    Examples
    --------
    >>> verdict_on(["not refuted", "refuted"], None)
    'refuted'
    """
    gravest_one = gravest(verdicts)
    proved = entry is not None and entry.is_proved
    return "proved" if proved and gravest_one == "not refuted" else gravest_one


_Key = tuple[Verdict, str, Cause | None]  # the verdict, the paper, and what it falls by


def _key(verdict: Verdict, entry: Entry | None) -> _Key:
    if verdict != "refuted" or entry is None or entry.cause is None:
        return verdict, "", None
    return verdict, entry.paper, entry.cause


def _order(key: _Key) -> tuple[int, int, bool, str]:
    verdict, paper, cause = key
    ranked = list(_WITHOUT_CAUSE).index(verdict)
    if cause is None:
        return ranked, len(_NATURES), False, ""
    return ranked, _NATURES.index(cause.nature), not cause.privacy, paper


def _group(key: _Key, tiles: Sequence[Tile[R]]) -> Group[R]:
    verdict, _, cause = key
    if cause is None:
        return Group(title=_WITHOUT_CAUSE[verdict], text="", kind="", tiles=tiles)
    kind = cause.nature + (", of privacy" if cause.privacy else "")
    return Group(title=cause.name, text=cause.text, kind=kind, tiles=tiles)


def _mark(verdict: Verdict, entry: Entry | None) -> Mark:
    repaired = verdict == "refuted" and entry is not None and bool(entry.row.repair)
    return "repaired" if repaired else verdict
