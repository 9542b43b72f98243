"""An account of releases: every accountant's answer, the paper's number, and what is proved.

The releases are given by name with their parameters, as a TOML file of them, or as an event.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import dpaudit._validate as check
import dpaudit.extension.registry as registry
from dpaudit.accounting.accountants import Answer, ask_all, strongest
from dpaudit.accounting.events import Event, Sequence, releases, repeated
from dpaudit.accounting.proved import proved_guarantee
from dpaudit.accounts.releases import KINDS, parameters_of
from dpaudit.drawing import Grid
from dpaudit.errors import ConvergenceError, InvalidArgument, Shown
from dpaudit.extension.parameters import parsed_parameters
from dpaudit.extension.release import Published, ReleaseCard
from dpaudit.formats import stamped
from dpaudit.toml import read_tables


@dataclass(frozen=True)
class Part:
    """One release and its parameters, checked."""

    card: ReleaseCard
    parameters: Any

    @classmethod
    def of(cls, card: ReleaseCard, given: Mapping[str, Any]) -> Part:
        """Return the card's release with these parameters, or raise `InvalidArgument`."""
        return cls(card, parsed_parameters(card.parameters, given))

    @property
    def event(self) -> Event:
        """The event of the whole run."""
        return self.card.event(self.parameters)

    @property
    def relation(self) -> str:
        """The neighbour relation."""
        by_parameters = self.card.neighbours
        return self.card.relation if by_parameters is None else by_parameters(self.parameters)

    def having(self, **changes: Any) -> Part:
        """Return the same release with other parameters, checked."""
        return Part.of(self.card, self.parameters.model_dump() | changes)

    def published(self, delta: float) -> Published | None:
        """Return what the paper's own formula says, if there is one."""
        formula = self.card.published
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

    @classmethod
    def of(cls, event: Event) -> Target:
        """Return an event's releases, each as one of the kinds that have a name.

        Raises
        ------
        InvalidArgument, UnsupportedEvent
            Nothing is released, the relations differ, or a part is not an event.
        """
        parts = tuple(Part.of(KINDS[type(part)], parameters_of(part)) for part in releases(event))
        return cls._checked(parts[0].card.name if len(parts) == 1 else "event", "event", parts)

    @classmethod
    def _checked(cls, name: str, source: str, parts: tuple[Part, ...]) -> Target:
        """Return releases of which there is at least one, about one neighbour relation."""
        if not any(releases(part.event) for part in parts):
            raise InvalidArgument(source, Shown("no release"), "a count above 0")
        relations = sorted({part.relation for part in parts} - {"any"})
        if len(relations) > 1:
            raise InvalidArgument(source, relations, "releases about one neighbour relation")
        return cls(name, parts)

    @property
    def event(self) -> Event:
        """All of it."""
        return self.parts[0].event if len(self.parts) == 1 else self.at(1)

    @property
    def relation(self) -> str:
        """The neighbour relation of every part."""
        named = {part.relation for part in self.parts} - {"any"}
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

    def grids(self, delta: float) -> list[Grid]:
        """Return who learns how much about whom, of the parts that can say so."""
        return [
            part.card.grid(part.parameters, delta)
            for part in self.parts
            if part.card.grid is not None
        ]

    @property
    def words(self) -> tuple[str, ...]:
        """What the guarantee is about, of every part that says so."""
        cards = [(part.card.words, part.parameters) for part in self.parts]
        return tuple(words(parameters) for words, parameters in cards if words is not None)

    def remarks(self, delta: float) -> tuple[str, ...]:
        """Return what is said beside the answer, of every part that says something."""
        said = [(part.card.remarks, part.parameters) for part in self.parts]
        return tuple(
            line
            for remarks, parameters in said
            if remarks is not None
            for line in remarks(parameters, delta)
        )

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
        return Target(word, (Part.of(registry.RELEASES.get(word), changes),))
    tables = read_tables(Path(word), "release")
    if len(tables) > 1 and changes:
        given = Shown(", ".join(changes))
        raise InvalidArgument("--set", given, "nothing: the file has several releases")
    parts = tuple(_part(table, word, changes) for table in tables)
    return Target._checked(Path(word).stem, word, parts)


def _part(table: Any, path: str, changes: Mapping[str, Any]) -> Part:
    if not isinstance(table, dict) or not isinstance(table.get("kind"), str):
        raise InvalidArgument(f"release in {path}", table, "a table with a kind")
    given = {name: value for name, value in table.items() if name != "kind"}
    return Part.of(registry.RELEASES.get(table["kind"]), given | dict(changes))


PRIORS = (0.5, 0.1, 0.01)


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """The strongest proved guarantee in words a reader understands.

    Parameters
    ----------
    advantage
        Largest true-positive less false-positive rate of any attack.
    success
        Prior probability of one of two neighbours, and the best chance to guess right.
    group
        A number of steps of the relation between two datasets, and epsilon for them, or None.
    """

    advantage: float
    success: tuple[tuple[float, float], ...]
    group: tuple[int, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Account:
    """Everything about one target at one delta.

    Parameters
    ----------
    name, title, relation, parameters
        What was accounted for.
    delta
        At which epsilon was asked.
    answers
        Of every accountant.
    proved
        The answer with the least upper end, or None.
    published
        The paper's own number, or None.
    meaning
        Of the strongest guarantee.
    words
        What the guarantee is about, of every part that says so.
    remarks
        What is said beside the answer: other readings, and what would change it.
    """

    name: str
    title: str
    relation: str
    parameters: tuple[dict[str, Any], ...]
    delta: float
    answers: tuple[Answer, ...]
    proved: Answer | None
    published: Published | None
    meaning: Meaning
    words: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def _repr_html_(self) -> str:
        from dpaudit.accounts.shown import as_html

        return as_html(self)

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON takes it; times are left out, infinities are text."""
        return stamped("account", _plain(asdict(self)))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if name != "seconds"}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def account(
    release: str | Event, delta: float = 1e-5, *, group: int | None = None, **parameters: Any
) -> Account:
    """Return every accountant's answer about a release, and what the best of them means.

    Parameters
    ----------
    release
        The name of an installed release (``dpaudit list`` shows them), the path of a TOML file of
        releases, or an event.
    delta
        The delta in [0, 1) at which epsilon is asked.
    group
        Also for datasets this many steps of the neighbour relation apart.
    parameters
        Public parameters of a release by name. One that is called as an argument here, such as
        the delta of ``approximate``, is given in an event.

    Raises
    ------
    UnknownName, InvalidArgument, DataError
        The name, a parameter or the file is not as expected.
    UnsupportedEvent
        No theorem covers the event.

    Examples
    --------
    >>> answer = account("gaussian", delta=1e-5, noise_scale=5.0, count=25)
    >>> answer.proved.accountant, round(answer.proved.upper, 4)
    ('Gaussian DP', 4.3772)
    >>> from dpaudit.accounting.events import LaplaceRelease
    >>> event = LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=100)
    >>> round(account(event, 1e-5).proved.upper, 4)
    4.2203
    """
    check.delta("delta", delta)
    if group is not None:
        check.integer("group", group, least=1)
    if isinstance(release, str):
        return account_for(read_target(release, parameters), delta, group)
    if parameters:
        given = Shown(", ".join(parameters))
        raise InvalidArgument("parameters", given, "none: the event has its own")
    return account_for(Target.of(release), delta, group)


def account_for(target: Target, delta: float, group: int | None = None) -> Account:
    """Return the account of a target at ``delta`` in [0, 1), if asked also for a group."""
    answers = ask_all(target.event, delta)
    _agree(answers)
    guarantee = proved_guarantee(target.event)
    single = target.parts[0] if len(target.parts) == 1 else None
    return Account(
        name=target.name,
        title=single.card.title if single else f"a sequence of {len(target.parts)} releases",
        relation=target.relation,
        parameters=tuple(
            {"kind": part.card.name} | part.parameters.model_dump() for part in target.parts
        ),
        delta=delta,
        answers=answers,
        proved=strongest(answers),
        published=single.published(delta) if single else None,
        meaning=Meaning(
            advantage=guarantee.advantage(),
            success=tuple((prior, guarantee.success(prior)) for prior in PRIORS),
            group=None if group is None else (group, guarantee.group(group).epsilon(delta)),
        ),
        words=target.words,
        remarks=target.remarks(delta),
    )


def _agree(answers: tuple[Answer, ...]) -> None:
    """Raise `ConvergenceError` if a proved upper end is below a certified lower end."""
    best = strongest(answers)
    for answer in answers:
        if answer.lower is None or best is None or best.upper is None:
            continue
        if answer.lower > best.upper * (1 + 1e-9):
            raise ConvergenceError(
                f"accountants contradict each other: {best.accountant} proves {best.upper}, "
                f"{answer.accountant} certifies at least {answer.lower}; please report this"
            )
