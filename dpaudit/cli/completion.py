"""What the shell completes: names of what is installed, and files of audits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from glob import escape, glob


def of(*words: str) -> Callable[[str], list[str]]:
    """Return what completes one of these words.

    Examples
    --------
    >>> of("claims", "attacks")("cl")
    ['claims']
    """
    return lambda incomplete: _beginning(incomplete, words)


def targets(incomplete: str) -> list[str]:
    """Return claims and files of audits that begin so."""
    from dpaudit.extension.registry import CLAIMS

    files = glob(f"{escape(incomplete)}*.toml")
    return _beginning(incomplete, [*CLAIMS.all(), *files])


def distinguishers(incomplete: str) -> list[str]:
    """Return distinguishers whose names begin so."""
    from dpaudit.extension.registry import DISTINGUISHERS

    return _beginning(incomplete, DISTINGUISHERS.all())


def attacks(incomplete: str) -> list[str]:
    """Return attacks, and distinguishers, whose names begin so."""
    from dpaudit.extension.registry import ATTACKS, DISTINGUISHERS

    return _beginning(incomplete, [*ATTACKS.all(), *DISTINGUISHERS.all()])


def releases(incomplete: str) -> list[str]:
    """Return releases, and files of them, that begin so."""
    from dpaudit.extension.registry import RELEASES

    files = glob(f"{escape(incomplete)}*.toml")
    return _beginning(incomplete, [*RELEASES.all(), *files])


def figures(incomplete: str) -> list[str]:
    """Return figures whose names begin so."""
    from dpaudit.extension.registry import FIGURES

    return _beginning(incomplete, FIGURES.all())


def papers(incomplete: str) -> list[str]:
    """Return papers whose names begin so."""
    from dpaudit.extension.registry import PAPERS

    return _beginning(incomplete, PAPERS)


def causes(incomplete: str) -> list[str]:
    """Return causes by which statements of papers fall, whose names begin so."""
    from dpaudit.extension.registry import PAPERS

    names = {cause.name for paper in PAPERS.all().values() for cause in paper.causes}
    return _beginning(incomplete, names)


def shown(incomplete: str) -> list[str]:
    """Return everything that has a page of its own and begins so."""
    from dpaudit.extension.registry import ATTACKS, CLAIMS, DISTINGUISHERS, PAPERS, RELEASES

    rooms = (CLAIMS, ATTACKS, DISTINGUISHERS, RELEASES)
    names = {name for room in rooms for name in room.all()}
    rows = {row.name for paper in PAPERS.all().values() for row in paper.rows}
    return _beginning(incomplete, names | rows)


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    return sorted(name for name in names if name.startswith(incomplete))
