"""A statement's verdict at the setting that is drawn, and at others that were tried.

One function judges both: it returns `Findings`, and `sweep` calls it at every setting of a grid.
The verdict stays that of the setting drawn; the others only say where the statement held.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dpaudit.execution import Progress

Setting = Mapping[str, Any]

OUTCOMES = {True: "held", False: "did not hold", None: "could not be judged"}


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What one setting says of one statement.

    Parameters
    ----------
    held
        None where it could not be judged.
    number
        What decided, None where there is none.
    measure
        What the number is, and from where on the statement holds.
    evidence
        All the numbers, in words.
    caveat
        Why the number means less there than elsewhere; empty where it does not.
    """

    held: bool | None
    number: float | None
    measure: str
    evidence: str = ""
    caveat: str = ""

    def __post_init__(self) -> None:
        if self.number is not None and not math.isfinite(self.number):
            object.__setattr__(self, "number", None)  # JSON has no infinity


Findings = Mapping[str, Finding]


@dataclass(frozen=True, kw_only=True)
class Tried:
    """Another setting at which a statement was judged.

    Parameters
    ----------
    setting
        The parameters that were set for it; all else is as drawn.
    number, held, caveat
        As in `Finding`.
    """

    setting: Setting
    number: float | None
    held: bool | None
    caveat: str = ""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """Whether a statement of the paper held, with the numbers that decided.

    Parameters
    ----------
    statement
        In the paper's sense, in our words.
    held
        None where it could not be judged.
    evidence
        The numbers, at the setting that is drawn.
    name
        The short name that the figure's card gives to the statement.
    number, measure
        The one that decided, and what it is.
    caveat
        As in `Finding`.
    tried
        Other settings; they do not change ``held``.
    """

    statement: str
    held: bool | None
    evidence: str
    name: str = ""
    number: float | None = None
    measure: str = ""
    caveat: str = ""
    tried: tuple[Tried, ...] = ()


def judgements(statements: Mapping[str, str], findings: Findings) -> tuple[Judgement, ...]:
    """Return a judgement for every statement, by the statements' short names.

    Examples
    --------
    >>> found = {"fast": Finding(held=True, number=2.0, measure="seconds", evidence="2 s")}
    >>> judgements({"fast": "it is fast"}, found)[0].statement
    'it is fast'
    """
    return tuple(
        Judgement(
            name=name,
            statement=statement,
            held=findings[name].held,
            evidence=findings[name].evidence,
            number=findings[name].number,
            measure=findings[name].measure,
            caveat=findings[name].caveat,
        )
        for name, statement in statements.items()
        if name in findings
    )


def with_tried(
    judged: Sequence[Judgement],
    statements: Mapping[str, str],
    others: Sequence[tuple[Setting, Findings]],
) -> tuple[Judgement, ...]:
    """Return the judgements with what other settings say of their statements."""
    return tuple(
        replace(judgement, tried=(*judgement.tried, *_rows(judgement.name, others)))
        for judgement in judged
    )


def _rows(name: str, others: Sequence[tuple[Setting, Findings]]) -> list[Tried]:
    return [
        Tried(setting=setting, number=found.number, held=found.held, caveat=found.caveat)
        for setting, findings in others
        if (found := findings.get(name)) is not None
    ]


def sweep(
    settings: Sequence[Setting], judge: Callable[[Setting], Findings], progress: Progress
) -> list[tuple[Setting, Findings]]:
    """Return what ``judge`` finds at every setting.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> def judge(setting):
    ...     x = setting["x"]
    ...     return {"small": Finding(held=x < 2, number=x, measure="x, below 2")}
    >>> [found["small"].held for _, found in sweep([{"x": 1}, {"x": 3}], judge, Silent())]
    [True, False]
    """
    progress.start("other settings", len(settings))
    found = []
    for setting in settings:
        found.append((setting, judge(setting)))
        progress.advance(1)
    return found


def in_words(setting: Setting) -> str:
    """Return a setting on one line.

    Examples
    --------
    >>> in_words({"C": 50.0, "iterations": 30})
    'C = 50, iterations = 30'
    """
    return ", ".join(
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in setting.items()
    )


def held_together(some: Iterable[bool | None]) -> bool | None:
    """Return whether all of several judgements held; None if one could not be judged.

    Examples
    --------
    >>> held_together([True, True]), held_together([True, None]), held_together([None, False])
    (True, None, False)
    """
    found = list(some)
    if False in found:
        return False
    return None if None in found else True


def all_held(judged: Sequence[Judgement]) -> bool:
    """Return whether every statement held at the setting that is drawn."""
    return all(judgement.held for judgement in judged)
