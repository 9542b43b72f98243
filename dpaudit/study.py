"""An attack that measures what it recovers, as a card, and what it found.

An `dpaudit.attack.Attack` scores transcripts for an audit. A study runs a mechanism, takes what an
attacker sees and knows, and says how close the attacker comes to what it wants, next to chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from dpaudit.execution import Progress
from dpaudit.references import load_reference

Cell = float | int | str | None


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What an attack achieved.

    Parameters
    ----------
    rows
        A table: the columns of the first row are those of all.
    reading
        What the table says, in sentences.
    chance
        What a guess gets, in words.
    draw
        Draws it into the file it is given and returns the path, where there is a picture.
    """

    rows: Sequence[Mapping[str, Cell]]
    reading: Sequence[str]
    chance: str
    draw: Callable[[Path], Path] | None = None


class Run(Protocol):
    """Runs a study: its parameters and a seed decide every number."""

    def __call__(self, parameters: Any, seed: int, progress: Progress) -> Findings:
        """Return what was found."""
        ...


@dataclass(frozen=True, kw_only=True)
class Study:
    """An attack as the registry knows it, with its threat model.

    Parameters
    ----------
    name, title, source
        What it is called, what it does, and where it is from.
    sees, knows, wants
        The attacker.
    run
        ``"module:function"`` of a `Run`.
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

    def load(self) -> Run:
        """Import and return the code that runs the attack."""
        run: Run = load_reference(f"attack {self.name}", self.run)
        return run

    def load_parameters(self) -> Any:
        """Import and return the model of the parameters."""
        return load_reference(f"attack {self.name}", self.parameters)
