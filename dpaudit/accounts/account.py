"""An account: every accountant's answer, the paper's number, and what the proved one means.

What is to be accounted for: releases by name, with their parameters, or a TOML file of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import dpaudit.extension.registry as registry
from dpaudit.accounting.accountants import Answer, ask_all, strongest
from dpaudit.accounting.events import Event, Sequence, releases, repeated
from dpaudit.accounting.proved import proved_guarantee
from dpaudit.extension.parameters import parsed_parameters
from dpaudit.drawing.panels import Curve, Panel
from dpaudit.errors import ConvergenceError, InvalidArgument, Shown
from dpaudit.execution import Progress
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
        card = registry.release(name)
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


PRIORS = (0.5, 0.1, 0.01)
_DRAWN = ("basic", "advanced", "optimal", "zCDP", "Renyi", "proved")
_LENGTHS, _LINES, _RATES = 10, 24, 60


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

    def document(self) -> dict[str, Any]:
        """Return all of it as JSON takes it; times are left out, infinities are text."""
        document: dict[str, Any] = _plain(asdict(self))
        return document


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items() if name != "seconds"}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


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


def panels(target: Target, delta: float, progress: Progress) -> tuple[Panel, Panel]:
    """Return epsilon against the number of releases, and the trade-off curve."""
    lengths = sorted({round(x) for x in np.geomspace(1, max(target.length, 10), _LENGTHS)})
    progress.start("accounting", len(lengths) + 1)
    growth = _growth(target, delta, lengths, progress)
    trade_off = _trade_off(target)
    progress.advance(1)
    return growth, trade_off


def _growth(target: Target, delta: float, lengths: list[int], progress: Progress) -> Panel:
    points: dict[str, list[tuple[int, float]]] = {name: [] for name in (*_DRAWN, "published")}
    for length in lengths:
        answers = ask_all(target.at(length), delta)
        best = strongest(answers)
        proved = [] if best is None else [replace(best, accountant="proved")]
        for answer in (*answers, *proved):
            if answer.accountant in points and answer.upper is not None:
                points[answer.accountant].append((length, answer.upper))
        formula = target.published_at(length, delta)
        if formula is not None:
            points["published"].append((length, formula.epsilon))
        progress.advance(1)
    curves = [_curve(name, found) for name, found in points.items()]
    return Panel(
        title=f"epsilon at delta = {delta:g}",
        x_label="releases" if len(target.parts) == 1 else "repetitions of the sequence",
        y_label="epsilon",
        curves=tuple(curve for curve in curves if curve is not None),
        log_x=True,
        log_y=True,
    )


def _curve(name: str, points: list[tuple[int, float]]) -> Curve | None:
    kept = [(x, y) for x, y in points if 0 < y < math.inf]
    if not kept:
        return None
    return Curve(label=name, x=[float(x) for x, _ in kept], y=[y for _, y in kept])


def _trade_off(target: Target) -> Panel:
    """Return the lower envelope of lines that no attack goes below (Wasserman & Zhou 2010)."""
    guarantee = proved_guarantee(target.event)
    top = min(guarantee.epsilon(1e-6), 50.0)
    epsilons = np.linspace(0, top, _LINES)
    deltas = np.array([guarantee.delta(float(epsilon)) for epsilon in epsilons])
    rates = np.concatenate([[0.0], np.geomspace(1e-4, 1, _RATES)])
    steep = 1 - deltas[:, None] - np.exp(epsilons)[:, None] * rates
    shallow = np.exp(-epsilons)[:, None] * (1 - deltas[:, None] - rates)
    least = np.maximum(np.maximum(steep, shallow).max(axis=0), 0)
    return Panel(
        title="no attack does better than this",
        x_label="false-positive rate",
        y_label="false-negative rate",
        curves=(
            Curve(label="proved", x=rates.tolist(), y=least.tolist()),
            Curve(label="nothing revealed", x=[0.0, 1.0], y=[1.0, 0.0]),
        ),
    )
