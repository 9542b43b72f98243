"""What is to be accounted for: releases by name, with their parameters, or a TOML file of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dpaudit.extension.registry as registry
from dpaudit.accounting.events import Event, Sequence, releases, repeated
from dpaudit.errors import InvalidArgument, Shown
from dpaudit.extension.parameters import parsed_parameters
from dpaudit.extension.release import Published, ReleaseCard
from dpaudit.toml import read_tables


@dataclass(frozen=True)
class Part:
    """One release and its parameters, checked."""

    card: ReleaseCard
    parameters: Any

    @classmethod
    def of(cls, name: str, given: Mapping[str, Any]) -> Part:
        """Return the release called ``name``, or raise `UnknownName` or `InvalidArgument`."""
        card = registry.RELEASES.get(name)
        return cls(card, parsed_parameters(card.load_parameters(), given))

    @property
    def event(self) -> Event:
        """The event of the whole run."""
        return self.card.load_event()(self.parameters)

    def having(self, **changes: Any) -> Part:
        """Return the same release with other parameters, checked."""
        return Part.of(self.card.name, self.parameters.model_dump() | changes)

    def published(self, delta: float) -> Published | None:
        """Return what the paper's own formula says, if there is one."""
        formula = self.card.load_published()
        return None if formula is None else formula(self.parameters, delta)


@dataclass(frozen=True)
class Target:
    """Releases one after the other.

    Parameters
    ----------
    name
        For titles and file names.
    parts
        At least one.
    """

    name: str
    parts: tuple[Part, ...]

    @property
    def event(self) -> Event:
        """All of it."""
        return self.parts[0].event if len(self.parts) == 1 else self.at(1)

    @property
    def relation(self) -> str:
        """The neighbour relation of every part."""
        named = {part.card.relation for part in self.parts} - {"any"}
        return named.pop() if named else "any"

    @property
    def length(self) -> int:
        """How often the release is made, or 1 for a sequence."""
        if len(self.parts) > 1 or self.parts[0].card.count is None:
            return 1
        return int(getattr(self.parts[0].parameters, self.parts[0].card.count))

    def at(self, length: int) -> Event:
        """Return the event of another length: that many releases, or repetitions of a sequence."""
        first = self.parts[0]
        if len(self.parts) == 1 and first.card.count is not None:
            return first.having(**{first.card.count: length}).event
        return repeated(Sequence(tuple(part.event for part in self.parts)), length)

    def published_at(self, length: int, delta: float) -> Published | None:
        """Return what the paper's formula says at another length."""
        first = self.parts[0]
        if len(self.parts) > 1 or first.card.count is None:
            return None
        return first.having(**{first.card.count: length}).published(delta)


def read_target(word: str, changes: Mapping[str, Any]) -> Target:
    """Return what a name or a TOML file describes.

    Parameters
    ----------
    word
        A registered release, or the path of a file with ``[[release]]`` tables, each with a
        ``kind`` and its parameters.
    changes
        Parameters given besides; only for a single release.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        The name, a parameter or the file is not as expected.
    """
    if not word.endswith(".toml"):
        return Target(word, (Part.of(word, changes),))
    tables = read_tables(Path(word), "release")
    if len(tables) > 1 and changes:
        given = Shown(", ".join(changes))
        raise InvalidArgument("--set", given, "nothing: the file has several releases")
    parts = tuple(_part(table, word, changes) for table in tables)
    if not any(releases(part.event) for part in parts):
        raise InvalidArgument(word, Shown("no release"), "a count above 0")
    target = Target(Path(word).stem, parts)
    relations = sorted({part.card.relation for part in parts} - {"any"})
    if len(relations) > 1:
        raise InvalidArgument(word, relations, "releases about one neighbour relation")
    return target


def _part(table: Any, path: str, changes: Mapping[str, Any]) -> Part:
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        raise InvalidArgument(f"release in {path}", table, "a table with a kind")
    given = {name: value for name, value in table.items() if name != "kind"}
    return Part.of(table["kind"], given | dict(changes))
