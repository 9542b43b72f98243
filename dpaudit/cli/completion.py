"""Completions of the shell: names of installed claims and methods, and files of audits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from glob import escape, glob


def of(*words: str) -> Callable[[str], list[str]]:
    """Return a function that completes one of these words.

    Examples
    --------
    >>> of("claims", "attacks")("cl")
    ['claims']
    """
    return lambda incomplete: _select_completions(incomplete, words)


def complete_targets(incomplete: str) -> list[str]:
    """Return claims and files of audits that begin so."""
    from dpaudit.extension.registry import CLAIMS

    # What somebody has typed so far may hold brackets or stars, which are letters of a name
    # here.
    files = glob(f"{escape(incomplete)}*.toml")
    return _select_completions(incomplete, [*CLAIMS.all(), *files])


def complete_distinguishers(incomplete: str) -> list[str]:
    """Return distinguishers whose names begin so."""
    from dpaudit.extension.registry import DISTINGUISHERS

    return _select_completions(incomplete, DISTINGUISHERS.all())


def complete_attacks(incomplete: str) -> list[str]:
    """Return attacks, and distinguishers, whose names begin so."""
    from dpaudit.extension.registry import ATTACKS, DISTINGUISHERS

    return _select_completions(incomplete, [*ATTACKS.all(), *DISTINGUISHERS.all()])


def complete_releases(incomplete: str) -> list[str]:
    """Return releases, and files of them, that begin so."""
    from dpaudit.extension.registry import RELEASES

    files = glob(f"{escape(incomplete)}*.toml")
    return _select_completions(incomplete, [*RELEASES.all(), *files])


def complete_figures(incomplete: str) -> list[str]:
    """Return figures whose names begin so."""
    from dpaudit.extension.registry import FIGURES

    return _select_completions(incomplete, FIGURES.all())


def complete_papers(incomplete: str) -> list[str]:
    """Return papers whose names begin so."""
    from dpaudit.extension.registry import PAPERS

    return _select_completions(incomplete, PAPERS)


def complete_causes(incomplete: str) -> list[str]:
    """Return causes by which statements of papers fall, whose names begin so."""
    from dpaudit.extension.registry import PAPERS

    names = {cause.name for paper in PAPERS.all().values() for cause in paper.causes}
    return _select_completions(incomplete, names)


def complete_pages(incomplete: str) -> list[str]:
    """Return everything that has a page of its own and begins so."""
    from dpaudit.extension.registry import ATTACKS, CLAIMS, DISTINGUISHERS, PAPERS, RELEASES

    rooms = (CLAIMS, ATTACKS, DISTINGUISHERS, RELEASES)
    names = {name for room in rooms for name in room.all()}
    rows = {row.name for paper in PAPERS.all().values() for row in paper.rows}
    return _select_completions(incomplete, names | rows)


def _select_completions(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
