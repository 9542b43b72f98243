"""Claims, distinguishers, attacks, figures, releases and packages, found through entry points.

Entry points name light cards, the project's own like any third party's. What does the work is
imported on use, so that a list costs nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Generic, TypeVar

from dpaudit._references import find_entry_points, load_reference
from dpaudit.errors import InvalidArgument, UnknownName, VerbatimText
from dpaudit.extension.attack import Attack
from dpaudit.extension.claim import Claim
from dpaudit.extension.distinguisher import Distinguisher
from dpaudit.extension.figure import Figure
from dpaudit.extension.ledger import Paper
from dpaudit.extension.package import Package
from dpaudit.extension.release import ReleaseCard

T = TypeVar("T")


class BrokenEntryPoint(UserWarning):
    """An installed entry point that cannot be used; everything else works without it."""


@dataclass(frozen=True)
class Registry(Generic[T]):
    """The installed cards of one kind, by name.

    Parameters
    ----------
    group
        The group of entry points.
    noun
        What messages call one of them.
    kind
        The class of the cards.
    """

    group: str
    noun: str
    kind: type[T]

    def all(self) -> dict[str, T]:
        """Return every card that can be loaded; warn of the others and leave them out."""
        cards = {}
        # Sorted, since the order of installed packages differs between machines, and random
        # draws of an audit follow the order in which distinguishers are tried.
        for name, entry in sorted(self._entries().items()):
            try:
                cards[name] = self._card(entry)
            # Somebody else's broken package must not keep all others from working.
            except InvalidArgument as error:
                warnings.warn(f"{error}; it is left out", BrokenEntryPoint, stacklevel=2)
        return cards

    def get(self, name: str) -> T:
        """Return the card called ``name``; no other one is loaded.

        Raises
        ------
        UnknownName
            No installed package has it.
        InvalidArgument
            It is there, and cannot be loaded.

        Examples
        --------
        >>> CLAIMS.get("huang2020-lemma5").relation
        'replace-record'
        """
        entries = self._entries()
        if name not in entries:
            raise UnknownName(self.noun, name, entries)
        return self._card(entries[name])

    def __iter__(self) -> Iterator[str]:
        """Yield every installed name; nothing is loaded."""
        return iter(sorted(self._entries()))

    def _entries(self) -> Mapping[str, EntryPoint]:
        return find_entry_points(self.group)

    def _card(self, entry: EntryPoint) -> T:
        package = "" if entry.dist is None else f" ({entry.dist.name})"
        where = f"entry point {entry.name} of {self.group}{package}"
        card = load_reference(where, entry.value)
        # An entry point names any object; without this a wrong one would fail much later,
        # without its name.
        if not isinstance(card, self.kind):
            raise InvalidArgument(where, card, f"a {self.kind.__name__}")
        # Reports and certificates have the name of the card, by which readers must find it again.
        if (called := getattr(card, "name", entry.name)) != entry.name:
            raise InvalidArgument(
                where, VerbatimText(f"a card called {called!r}"), "one of the same name"
            )
        return card


CLAIMS = Registry("dpaudit.claims", "claim", Claim)
DISTINGUISHERS = Registry("dpaudit.distinguishers", "distinguisher", Distinguisher)
ATTACKS = Registry("dpaudit.attacks", "attack", Attack)
FIGURES = Registry("dpaudit.figures", "figure", Figure)
RELEASES = Registry("dpaudit.releases", "release", ReleaseCard)
PACKAGES = Registry("dpaudit.packages", "package", Package)
PAPERS = Registry("dpaudit.papers", "paper", Paper)
