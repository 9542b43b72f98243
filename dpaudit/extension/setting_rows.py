"""A row of the table of settings: its words about a setting, and who takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dpaudit.extension.setting_kinds import Door, Group, Kind

# No outputs of a pair are drawn at these doors: a stream brings its own, and the others certify
# nothing by outputs.
AUDITS = frozenset(Door) - {
    *(Door.SENSITIVITY, Door.VIEWS, Door.STREAM, Door.REPLAY, Door.PROVE),
}


@dataclass(frozen=True)
class Setting:
    """A row of the table.

    Parameters
    ----------
    name
        In Python, in files and in markers.
    default
        What it is where nobody gives it.
    kind, group, meaning
        What its values are, what it is about, and what it means, in a sentence.
    left
        In words, what it is where a command leaves it out.
    doors
        Who takes it.
    flag
        Of the command line.
    older
        Names that files and command lines took before.
    metavar
        How a help page shows a value; by default as the kind has it.
    """

    name: str
    default: Any
    kind: Kind
    group: Group
    meaning: str
    left: str
    doors: frozenset[Door]
    flag: str
    older: tuple[str, ...]
    metavar: str | None

    def is_given(self, value: Any) -> bool:
        """Return whether a value is more than the one found where nobody gave one.

        Examples
        --------
        >>> from dpaudit.extension.setting_table import row_of
        >>> row_of("seed").is_given(0), row_of("neighbour").is_given([])
        (True, True)
        >>> row_of("ignore").is_given([]), row_of("until_refuted").is_given(False)
        (False, False)
        """
        # Of these kinds a door finds an empty value where nobody gave any; an empty dataset is
        # given.
        may_be_empty = self.kind not in (Kind.FLAG, Kind.WORDS, Kind.PARAMETERS)
        return value is not None and (may_be_empty or bool(value))

    @property
    def help(self) -> str:
        """The sentence of a help page.

        Examples
        --------
        >>> from dpaudit.extension.setting_table import row_of
        >>> row_of("seed").help
        'The only source of randomness (default: 0).'
        """
        return f"{self.meaning} ({self.left})." if self.left else f"{self.meaning}."


def setting(
    default: Any,
    kind: Kind,
    group: Group,
    meaning: str,
    left: str = "",
    *,
    doors: frozenset[Door] = AUDITS,
    flag: str | None = None,
    older: Sequence[str] = (),
    metavar: str | None = None,
) -> Any:
    """Return a field that is a row of the table."""
    stated = {"kind": kind, "group": group, "meaning": meaning, "left": left, "doors": doors}
    stated |= {"flag": flag, "older": tuple(older), "metavar": metavar}
    if isinstance(default, Mapping):
        # Dataclasses refuse a mutable default, which all instances would share.
        return field(default_factory=lambda: dict(default), metadata=stated)
    return field(default=default, metadata=stated)
