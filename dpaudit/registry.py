"""Claims, attacks and figures by name, found through entry points like any third party's.

Entry points name light objects: `dpaudit.claims.Claim`, `dpaudit.attack.Attack` and
`dpaudit.reproduction.card.Figure`. What does the work is named in them as ``"module:object"`` and
imported on use, so that listing costs nothing.
"""

from __future__ import annotations

import importlib
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

from dpaudit.errors import InvalidArgument, UnknownName, shorten

if TYPE_CHECKING:
    from dpaudit.attack import Attack
    from dpaudit.claims import Claim
    from dpaudit.reproduction.card import Figure

CLAIMS = "dpaudit.claims"
ATTACKS = "dpaudit.attacks"
FIGURES = "dpaudit.figures"


def claims() -> dict[str, Claim]:
    """Return every installed claim by name."""
    from dpaudit.claims import Claim

    return _installed(CLAIMS, Claim)


def attacks() -> dict[str, Attack]:
    """Return every installed attack by name."""
    from dpaudit.attack import Attack

    return _installed(ATTACKS, Attack)


def figures() -> dict[str, Figure]:
    """Return every installed figure by name."""
    from dpaudit.reproduction.card import Figure

    return _installed(FIGURES, Figure)


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
    known = {entry.name for entry in entry_points(group=CLAIMS)}
    if name not in known:
        raise UnknownName("claim", name, known)
    return claims()[name]


def attack(name: str) -> Attack:
    """Return the attack called ``name``, or raise `UnknownName`."""
    known = attacks()
    if name not in known:
        raise UnknownName("attack", name, known)
    return known[name]


def load_reference(what: str, reference: str) -> Any:
    """Return the object that ``"module:object"`` names.

    Raises
    ------
    InvalidArgument
        The reference is malformed, or nothing of that name can be imported.
    """
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise InvalidArgument(what, reference, "a reference of the form module:object")
    try:
        found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing runs other people's code
        expected = f"something that can be imported ({type(error).__name__}: {shorten(str(error))})"
        raise InvalidArgument(what, reference, expected) from error
    return found


def _installed(group: str, kind: type) -> dict[str, Any]:
    found = {entry.name: _loaded(entry, kind) for entry in entry_points(group=group)}
    return dict(sorted(found.items()))


def _loaded(entry: EntryPoint, kind: type) -> Any:
    card = load_reference(f"entry point {entry.name} of {entry.group}", entry.value)
    if not isinstance(card, kind):
        raise InvalidArgument(f"entry point {entry.name}", card, f"a {kind.__name__}")
    return card
