"""Targets of an account: releases of known kinds, with their parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import dpaudit.extension.registry as registry
from dpaudit.accounting.events import Event, Sequence, get_releases, repeat_event
from dpaudit.accounting.samples import (
    JointEvent,
    Way,
    if_shared,
    join_ways,
    make_parallel_readings,
    ways_of,
)
from dpaudit.accounting.sharing import count_sampled_releases, get_alternatives
from dpaudit.accounts.sharing import (
    SHARING,
    convert_event_to_cards,
    find_sharing,
    is_attained,
    read_release,
    samples_of,
    tables_of,
    ways_of_part,
)
from dpaudit.errors import InvalidArgument, VerbatimText
from dpaudit.extension.parameters import parse_parameters
from dpaudit.extension.release import FormulaGuarantee, ReleaseCard
from dpaudit.plots import Grid
from dpaudit.toml import read_document


@dataclass(frozen=True)
class AccountPart:
    """One release and its parameters, checked."""

    card: ReleaseCard
    parameters: Any

    @classmethod
    def of(cls, card: ReleaseCard, given: Mapping[str, Any]) -> AccountPart:
        """Return the card's release with these parameters, or raise `InvalidArgument`."""
        return cls(card, parse_parameters(card.parameters, given))

    @property
    def event(self) -> Event:
        """The event of the whole run."""
        return self.card.event(self.parameters)

    @property
    def relation(self) -> str:
        """The neighbour relation."""
        by_parameters = self.card.neighbours
        return self.card.relation if by_parameters is None else by_parameters(self.parameters)

    @property
    def is_attained(self) -> bool:
        """Whether some neighbours lose as much as the event says."""
        return is_attained(self.card, self.parameters)

    @property
    def count(self) -> str | None:
        """The parameter that says how often it is released, or None."""
        by_parameters = self.card.counted
        return self.card.count if by_parameters is None else by_parameters(self.parameters)

    def having(self, **changes: Any) -> AccountPart:
        """Return the same release with other parameters, checked."""
        return AccountPart.of(self.card, self.parameters.model_dump() | changes)

    def published(self, delta: float) -> FormulaGuarantee | None:
        """Return the guarantee of the paper's own formula, if there is one."""
        formula = self.card.published
        return None if formula is None else formula(self.parameters, delta)


@dataclass(frozen=True)
class AccountTarget:
    """Releases one after the other.

    Parameters
    ----------
    name
        For titles and file names.
    parts
        At least one.
    samples
        ``independent`` where it is said that every release draws a sample of its own.
    written
        The releases of an event as they were written, of which parts hold equal ones together.
    """

    name: str
    parts: tuple[AccountPart, ...]
    samples: str | None = None
    written: tuple[Way, ...] = ()

    @classmethod
    def of(cls, event: Event, samples: str | None = None) -> AccountTarget:
        """Return an event's releases, each as one of the kinds that have a name.

        Raises
        ------
        InvalidArgument, UnsupportedEvent
            Nothing is released, the relations differ, or a part is not an event.
        """
        parts = tuple(AccountPart.of(*named) for named in convert_event_to_cards(event))
        target = cls(parts[0].card.name if len(parts) == 1 else "event", parts, samples)
        return replace(target._require_releases("event"), written=ways_of(event))

    def _require_releases(self, source: str) -> AccountTarget:
        """Return releases of which there is at least one, about one neighbour relation."""
        parts = self.parts
        ways = (way for part in parts for way in get_alternatives(part.event))
        if not any(get_releases(way) for way in ways):
            raise InvalidArgument(source, VerbatimText("no release"), "a count above 0")
        # A guarantee about one relation and one about another do not add up to any.
        relations = sorted({part.relation for part in parts} - {"any"})
        if len(relations) > 1:
            raise InvalidArgument(source, relations, "releases about one neighbour relation")
        # Asked for its refusal alone, of events with too many combinations of groups.
        get_alternatives(self.own)
        return self

    @property
    def own(self) -> Event:
        """All of it, if every release draws a sample of its own."""
        if len(self.parts) == 1:
            return self.parts[0].event
        # Repeated once, equal releases of several parts are counted together, as if they had been
        # written so.
        return repeat_event(Sequence(tuple(part.event for part in self.parts)), 1)

    @property
    def if_shared(self) -> JointEvent | None:
        """The event if releases of one sampler use one sample; None if there is no doubt."""
        if self.samples is not None:
            return None
        parts = (ways_of_part(part.card, part.parameters, part.event) for part in self.parts)
        return if_shared(self.written or join_ways(parts))

    @property
    def event(self) -> Event:
        """The whole event; the worse of two readings where shared samples are not stated."""
        shared = self.if_shared
        return self.own if shared is None else make_parallel_readings(shared.event, self.own)

    @property
    def relation(self) -> str:
        """The neighbour relation of every part."""
        named = {part.relation for part in self.parts} - {"any"}
        return named.pop() if named else "any"

    @property
    def length(self) -> int:
        """The number of times that the release is made, or 1 for a sequence."""
        count = self.parts[0].count
        # Where releases may share a sample, a longer run is another question: which of its releases
        # would.
        if len(self.parts) > 1 or count is None or self.if_shared is not None:
            return 1
        return int(getattr(self.parts[0].parameters, count))

    def at(self, length: int) -> Event:
        """Return the event of another length: that many releases, or repetitions of a sequence."""
        first = self.parts[0]
        if len(self.parts) == 1 and first.count is not None and self.if_shared is None:
            return first.having(**{first.count: length}).event
        return repeat_event(self.event, length)

    def grids(self, delta: float) -> list[Grid]:
        """Return who learns how much about whom, of the parts that can say so."""
        return [
            part.card.grid(part.parameters, delta)
            for part in self.parts
            if part.card.grid is not None
        ]

    @property
    def words(self) -> tuple[str, ...]:
        """The subject of the guarantee, for every part that states one."""
        cards = [(part.card.words, part.parameters) for part in self.parts]
        said = [words(parameters) for words, parameters in cards if words is not None]
        alone = sum(
            count_sampled_releases(p.event) for p in self.parts if p.card.name not in SHARING
        )
        if self.if_shared is not None:
            return (*said, _UNKNOWN)
        return (*said, *([_OWN_SAMPLES] if alone > 1 else []))

    @property
    def shared(self) -> tuple[dict[str, Any], ...]:
        """The shared parts, for every part that is several releases, or draws samples."""
        known = self.if_shared is None
        return tuple(
            one for p in self.parts for one in find_sharing(p.card.name, p.event, known=known)
        )

    def remarks(self, delta: float) -> tuple[str, ...]:
        """Return the remarks beside the answer, of every part that has some."""
        said = [(part.card.remarks, part.parameters) for part in self.parts]
        return tuple(
            line
            for remarks, parameters in said
            if remarks is not None
            for line in remarks(parameters, delta)
        )

    def compute_formula_at(self, length: int, delta: float) -> FormulaGuarantee | None:
        """Return the guarantee of the paper's formula at another length."""
        first = self.parts[0]
        if len(self.parts) > 1 or first.count is None or self.if_shared is not None:
            return None
        return first.having(**{first.count: length}).published(delta)


def read_target(word: str, changes: Mapping[str, Any]) -> AccountTarget:
    """Return the target that a name or a TOML file describes.

    Parameters
    ----------
    word
        A registered release, or the path of a file with ``[[release]]`` tables, each with a
        ``kind`` and its parameters; with ``[[round]]`` tables of releases of one sample,
        ``[[budget]]`` tables of releases that share a bound on contributions, or ``[[group]]``
        tables about disjoint parts of the data, each with such tables in it. The line ``samples =
        "independent"`` says that releases of one sampler draw a sample each.
    changes
        Parameters given besides; only for a single release.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        The name, a parameter or the file is not as expected.
    """
    if not word.endswith(".toml"):
        return AccountTarget(word, (AccountPart.of(registry.RELEASES.get(word), changes),))
    document = read_document(Path(word))
    tables = tables_of(document, word)
    if len(tables) > 1 and changes:
        given = VerbatimText(", ".join(changes))
        raise InvalidArgument("--set", given, "nothing: the file has several releases")
    parts = tuple(AccountPart.of(*read_release(table | dict(changes), word)) for table in tables)
    return AccountTarget(Path(word).stem, parts, samples_of(document, word))._require_releases(word)


_OWN_SAMPLES = (
    "Shared: nothing. Each release is taken to draw a sample of its own; releases of one sample "
    "lose more, and belong into one [[round]]."
)
_UNKNOWN = (
    "Shared: unknown. Nothing says whether releases of one sampler are of one sample a round, "
    'or each of its own, so this is the worse of both. samples = "independent" says that each '
    "draws its own, and a [[round]] that its releases share one."
)
