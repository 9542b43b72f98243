"""Claims, attacks, figures and releases by name, found through entry points like any third party's.

Entry points name light objects: `dpaudit.extension.claim.Claim`,
`dpaudit.extension.distinguisher.Attack`, `dpaudit.extension.attack.Study`,
`dpaudit.extension.figure.Figure` and `dpaudit.extension.release.ReleaseCard`. What does the work is
named in them as ``"module:object"``, or imports what it needs, on use: listing costs nothing.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any

from dpaudit._references import load_reference
from dpaudit.errors import InvalidArgument, UnknownName
from dpaudit.extension.attack import Study
from dpaudit.extension.claim import Claim
from dpaudit.extension.distinguisher import Attack
from dpaudit.extension.figure import Figure
from dpaudit.extension.release import ReleaseCard

CLAIMS = "dpaudit.claims"
ATTACKS = "dpaudit.attacks"
FIGURES = "dpaudit.figures"
RELEASES = "dpaudit.releases"
STUDIES = "dpaudit.studies"


def claims() -> dict[str, Claim]:
    """Return every installed claim by name."""
    return _installed(CLAIMS, Claim)


def attacks() -> dict[str, Attack]:
    """Return every installed attack by name."""
    return _installed(ATTACKS, Attack)


def figures() -> dict[str, Figure]:
    """Return every installed figure by name."""
    return _installed(FIGURES, Figure)


def releases() -> dict[str, ReleaseCard]:
    """Return everything installed that can be accounted for, by name."""
    return _installed(RELEASES, ReleaseCard)


def studies() -> dict[str, Study]:
    """Return every installed attack that measures what it recovers, by name."""
    return _installed(STUDIES, Study)


def study(name: str) -> Study:
    """Return the study called ``name``, or raise `UnknownName`."""
    known = studies()
    if name not in known:
        raise UnknownName("attack", name, known)
    return known[name]


def release(name: str) -> ReleaseCard:
    """Return the release called ``name``, or raise `UnknownName`."""
    known = {entry.name: entry for entry in entry_points(group=RELEASES)}
    if name not in known:
        raise UnknownName("release", name, sorted(known))
    found: ReleaseCard = _loaded(known[name], ReleaseCard)
    return found


def figure(name: str) -> Figure:
    """Return the figure called ``name``, or raise `UnknownName`."""
    known = figures()
    if name not in known:
        raise UnknownName("figure", name, known)
    return known[name]


def claim(name: str) -> Claim:
    """Return the claim called ``name``.

    Raises
    ------
    UnknownName
        No installed package has it.

    Examples
    --------
    >>> claim("huang2020-lemma5").relation
    'replace-record'
    """
    known = {entry.name: entry for entry in entry_points(group=CLAIMS)}
    if name not in known:
        raise UnknownName("claim", name, known)
    found: Claim = _loaded(known[name], Claim)
    return found


def attack(name: str) -> Attack:
    """Return the attack called ``name``, or raise `UnknownName`."""
    known = attacks()
    if name not in known:
        raise UnknownName("attack", name, known)
    return known[name]


def _installed(group: str, kind: type) -> dict[str, Any]:
    found = {entry.name: _loaded(entry, kind) for entry in entry_points(group=group)}
    return dict(sorted(found.items()))


def _loaded(entry: EntryPoint, kind: type) -> Any:
    card = load_reference(f"entry point {entry.name} of {entry.group}", entry.value)
    if not isinstance(card, kind):
        raise InvalidArgument(f"entry point {entry.name}", card, f"a {kind.__name__}")
    return card
