"""The plan of an audit: how it is asked for and with which settings, written out when it ended.

While an audit runs, it fixes settings that were left to it: the unit of work, the looks in place of
a time, the outputs that there were when somebody stopped it. Each is a change of a setting of the
plan, and only ``str(plan)`` makes text of it.
"""

from __future__ import annotations

import json
import shlex
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

from dpaudit.extension.setting_table import Door, Kind, Setting, rows_of
from dpaudit.extension.settings import Settings


@dataclass(frozen=True)
class CodeExpression:
    """A value that a call names without stating it, such as a function: its own words."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class AuditPlan(ABC):
    """The plan that repeats an audit.

    Parameters
    ----------
    given
        Settings by their names; one that is None is left to the audit.
    """

    given: Mapping[str, Any] = field(default_factory=dict)

    def updated(self, **changed: Any) -> Self:
        """Return the plan with other settings.

        Examples
        --------
        >>> str(CommandPlan({"seed": 0}, targets=("own.toml",)).updated(unit=16))
        'dpaudit audit own.toml --seed 0 --unit 16'
        """
        return replace(self, given={**self.given, **changed})

    def with_unit(self, unit: int) -> Self:
        """Return the plan with a unit of work, unless it states one."""
        return self if self.given.get("unit") is not None else self.updated(unit=unit)

    def with_looks(self, looks: Sequence[tuple[int, float]]) -> Self:
        """Return the plan with the looks that were taken in place of a time.

        Examples
        --------
        >>> str(CallPlan({"seed": 0, "time": 30.0}, "audit(f, ").with_looks([(100, 0.1)]))
        'audit(f, seed=0, looks=((100, 0.1),))'
        """
        return self.updated(time=None, looks=tuple((trials, share) for trials, share in looks))

    def with_search(self, calls: int) -> Self:
        """Return the plan with as many calls of a search as a pace allowed."""
        return self.updated(search_calls=calls)

    @abstractmethod
    def __str__(self) -> str:
        """Return the one line that repeats the audit."""


@dataclass(frozen=True)
class CommandPlan(AuditPlan):
    """A command line of ``dpaudit audit``.

    Parameters
    ----------
    targets
        Claims, files of audits and mechanisms, in the order in which they are audited.
    outputs
        Whether the targets are files of outputs.

    Examples
    --------
    >>> str(CommandPlan({"looks": ((100, 0.1), (900, 0.8))}, targets=("own.toml",)))
    'dpaudit audit own.toml --looks 100:0.1,900:0.8'
    """

    targets: Sequence[str] = ()
    outputs: bool = False

    @classmethod
    def of_claim(cls, name: str, settings: Settings) -> CommandPlan:
        """Return the command that repeats the audit of an installed claim.

        Examples
        --------
        >>> str(CommandPlan.of_claim("c", Settings(parameters={"nodes": 3})))
        'dpaudit audit c --epsilon 1.0 --delta 1e-05 --data worst-case --confidence 0.95 --seed 0 \
--set nodes=3'
        """
        given = {one.name: getattr(settings, one.name) for one in fields(settings)}
        # A default is decided again in the same way, and need not be stated.
        for setting, usual in (("estimator", "auto"), ("doubles", "report")):
            if given[setting] == usual:
                del given[setting]
        return cls(given, (name,))

    def __str__(self) -> str:
        words = ["dpaudit", "audit", *(["--outputs"] if self.outputs else []), *self.targets]
        options = (option_words(row, self.given.get(row.name)) for row in rows_of())
        return shlex.join([*words, *(word for one in options for word in one)])


def replay_command(target: str, given: Mapping[str, Any]) -> str:
    """Return the command that replays a mechanism of one's own on the pair of its audit.

    Parameters
    ----------
    target
        ``module:function``.
    given
        Settings by their names; those that a replay does not have are left out.

    Examples
    --------
    >>> replay_command("mine.py:f", {"dataset": "a.csv", "epsilon": 1.0, "trials": 10})
    'dpaudit replay mine.py:f --epsilon 1.0 --dataset a.csv'
    """
    options = (option_words(row, given.get(row.name)) for row in rows_of(door=Door.REPLAY))
    return shlex.join(["dpaudit", "replay", target, *(word for one in options for word in one)])


@dataclass(frozen=True)
class CallPlan(AuditPlan):
    """A call from Python: the arguments before the settings, and those after them."""

    before: str = "dpaudit.audit("
    after: str = ")"

    def __str__(self) -> str:
        given = [f"{name}={one!r}" for name, one in self.given.items() if one is not None]
        return f"{self.before}{', '.join(given)}{self.after}"

    @classmethod
    def of_case(cls, settings: Settings) -> CallPlan:
        """Return the call that repeats an audit of a case, with the settings that are no defaults.

        Examples
        --------
        >>> str(CallPlan.of_case(Settings(seed=3)).updated(trials=50))
        'audit_case(case, Settings(seed=3, trials=50))'
        """
        usual = Settings()
        asked = {one.name: getattr(settings, one.name) for one in fields(settings)}
        changed = {name: one for name, one in asked.items() if one != getattr(usual, name)}
        return cls(changed, "audit_case(case, Settings(", "))")


@dataclass(frozen=True)
class Wording(AuditPlan):
    """Words of whoever asked, which stay as they are."""

    words: str = ""

    def __str__(self) -> str:
        return self.words


def join_options(words: Sequence[str], given: Iterable[tuple[str, Any]]) -> str:
    """Return a command line with options, by their flags; those that are None left out.

    Examples
    --------
    >>> join_options(["dpaudit", "attack", "a"], [("--set", {"k": 2}), ("--quiet", None)])
    'dpaudit attack a --set k=2'
    """
    return shlex.join(
        [*words, *(word for flag, one in given for word in _format_plain_option(flag, one))]
    )


def _format_plain_option(flag: str, value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, Mapping):
        return [
            word
            for key, one in value.items()
            for word in (flag, f"{key}={_format_option_value(one)}")
        ]
    return [flag, str(value)]


def option_words(row: Setting, value: Any) -> list[str]:
    """Return an option of a command line with its value, as words.

    Examples
    --------
    >>> from dpaudit.extension.setting_table import row_of
    >>> option_words(row_of("read"), ["mean", "count"])
    ['--read', 'mean', '--read', 'count']
    """
    if value is None or value is False:
        return []
    match row.kind:
        case Kind.FLAG:
            return [row.flag]
        case Kind.PARAMETERS:
            return [
                word
                for key, one in value.items()
                for word in (row.flag, f"{key}={_format_option_value(one)}")
            ]
        case Kind.NUMBERS:
            return [row.flag, *map(repr, value)]
        case Kind.WORDS:
            given = [value] if isinstance(value, str) else value
            return [word for one in given for word in (row.flag, str(one))]
        case Kind.LOOKS:
            return [row.flag, ",".join(f"{trials}:{share!r}" for trials, share in value)]
        case Kind.BOUNDS:
            return [word for one in _format_bounds(value) for word in (row.flag, one)]
        case _:
            return [row.flag, str(value)]


def _format_bounds(value: Any) -> list[str]:
    """Return bounds as the command line takes them: one for all columns, or one for each."""
    if isinstance(value, Mapping):
        return [f"{column}={low!r},{high!r}" for column, (low, high) in value.items()]
    low, high = value
    return [f"{low!r},{high!r}"]


def _format_option_value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
