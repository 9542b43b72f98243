"""A statement's verdict at the setting that is drawn, and at others that were tried.

One function judges both: it returns `Findings`, and `judge_all_settings` calls it at every setting
of a grid. The verdict stays that of the setting drawn; the others only say where the statement
held.
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
class SettingFinding:
    """The judgement of one statement in one setting.

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


Findings = Mapping[str, SettingFinding]


@dataclass(frozen=True, kw_only=True)
class AlternativeSetting:
    """Another setting at which a statement was judged.

    Parameters
    ----------
    setting
        The parameters that were set for it; all else is as drawn.
    number, held, caveat
        As in `SettingFinding`.
    """

    setting: Setting
    number: float | None
    held: bool | None
    caveat: str = ""


@dataclass(frozen=True, kw_only=True)
class StatementJudgement:
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
        As in `SettingFinding`.
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
    tried: tuple[AlternativeSetting, ...] = ()


def make_judgements(
    statements: Mapping[str, str], findings: Findings
) -> tuple[StatementJudgement, ...]:
    """Return a judgement for every statement, by the statements' short names.

    Examples
    --------
    >>> found = {"fast": SettingFinding(held=True, number=2.0, measure="seconds", evidence="2 s")}
    >>> make_judgements({"fast": "it is fast"}, found)[0].statement
    'it is fast'
    """
    return tuple(
        StatementJudgement(
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
    judged: Sequence[StatementJudgement],
    statements: Mapping[str, str],
    others: Sequence[tuple[Setting, Findings]],
) -> tuple[StatementJudgement, ...]:
    """Return the judgements with the results of other settings on their statements."""
    return tuple(
        replace(
            judgement, tried=(*judgement.tried, *_list_tried_settings_of(judgement.name, others))
        )
        for judgement in judged
    )


def _list_tried_settings_of(
    name: str, others: Sequence[tuple[Setting, Findings]]
) -> list[AlternativeSetting]:
    return [
        AlternativeSetting(
            setting=setting, number=found.number, held=found.held, caveat=found.caveat
        )
        for setting, findings in others
        if (found := findings.get(name)) is not None
    ]


def judge_all_settings(
    settings: Sequence[Setting], judge: Callable[[Setting], Findings], progress: Progress
) -> list[tuple[Setting, Findings]]:
    """Return the findings of ``judge`` at every setting.

    Examples
    --------
    >>> from dpaudit.execution import Silent
    >>> def judge(setting):
    ...     x = setting["x"]
    ...     return {"small": SettingFinding(held=x < 2, number=x, measure="x, below 2")}
    >>> [
    ...     found["small"].held
    ...     for _, found in judge_all_settings([{"x": 1}, {"x": 3}], judge, Silent())
    ... ]
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


def is_held_together(some: Iterable[bool | None]) -> bool | None:
    """Return whether all of several judgements held; None if one could not be judged.

    Examples
    --------
    >>> (
    ...     is_held_together([True, True]),
    ...     is_held_together([True, None]),
    ...     is_held_together([None, False]),
    ... )
    (True, None, False)
    """
    found = list(some)
    # False outweighs None: one panel in which a statement fails settles it, whatever the others
    # could not show.
    if False in found:
        return False
    return None if None in found else True


def all_held(judged: Sequence[StatementJudgement]) -> bool:
    """Return whether every statement held at the setting that is drawn."""
    return all(judgement.held for judgement in judged)
