"""An attack that measures how much it recovers: its card, and its findings.

It runs a mechanism, takes what an attacker sees and knows, and says how close the attacker comes to
what it wants, next to chance. What scores outputs for an audit is a
`dpaudit.extension.distinguisher.Distinguisher`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dpaudit._references import load_reference

# A list of attacks imports every card, and so must not import what draws or runs them.
if TYPE_CHECKING:
    from dpaudit.execution import Progress
    from dpaudit.plots import Panel

Cell = float | int | str | None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """The result of an attack.

    Parameters
    ----------
    rows
        A table: the columns of the first row are those of all.
    reading
        The meaning of the table, in sentences.
    chance
        The success of a guess, in words.
    panels
        The picture, where there is one.
    """

    rows: Sequence[Mapping[str, Cell]]
    reading: Sequence[str]
    chance: str
    panels: Sequence[Panel] = ()


def get_column_numbers(rows: Sequence[Mapping[str, Cell]], column: str) -> list[float]:
    """Return a column as numbers, NaN where a row has none.

    Examples
    --------
    >>> get_column_numbers([{"error": 0.5}, {"error": None}], "error")
    [0.5, nan]
    """
    cells = [row[column] for row in rows]
    return [float(cell) if isinstance(cell, int | float) else math.nan for cell in cells]


class AttackRunner(Protocol):
    """A function that runs an attack: its parameters and a seed decide every number."""

    def __call__(self, parameters: Any, seed: int, progress: Progress) -> Findings:
        """Return the findings."""
        ...


@dataclass(frozen=True, kw_only=True)
class Attack:
    """An attack as the registry knows it, with its threat model.

    Parameters
    ----------
    name, title, source
        The identifier, a title, and the paper or book.
    sees, knows, wants
        The threat model.
    run
        The ``"module:function"`` of an `AttackRunner`.
    parameters
        ``"module:Model"``: a pydantic model of its parameters, with their defaults.
    """

    name: str
    title: str
    source: str
    sees: str
    knows: str
    wants: str
    run: str
    parameters: str

    @property
    def attacker(self) -> dict[str, str]:
        """The knowledge, the view and the aim of the attacker."""
        return {"sees": self.sees, "knows": self.knows, "wants": self.wants}

    def load(self) -> AttackRunner:
        """Import and return the code that runs the attack."""
        run: AttackRunner = load_reference(f"attack {self.name}", self.run)
        return run

    def load_parameters(self) -> Any:
        """Import and return the model of the parameters."""
        return load_reference(f"attack {self.name}", self.parameters)
