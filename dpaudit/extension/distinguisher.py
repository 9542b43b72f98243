"""What an attack is: a score, learned on transcripts of both datasets, that is higher on the first.

An attack certifies nothing by itself; the event bound turns its score into a number. `Attack` is
the light card the registry hands out; the code behind it is imported when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.random import Generator
from numpy.typing import NDArray

from dpaudit._references import load_reference


class Score(Protocol):
    """A fitted attack. It crosses process borders, so it must pickle."""

    def __call__(self, transcripts: NDArray[Any]) -> NDArray[Any]:
        """Return scores, shape ``(R,)``; higher means rather from the dataset."""
        ...


class Fit(Protocol):
    """What fits an attack on transcripts of the dataset and of the neighbour."""

    def __call__(
        self,
        mechanism: Any,
        pair: Any,
        on_dataset: NDArray[Any],
        on_neighbour: NDArray[Any],
        rng: Generator,
    ) -> Score:
        """Return the fitted score."""
        ...


@dataclass(frozen=True, kw_only=True)
class Attack:
    """An attack as the registry knows it.

    Parameters
    ----------
    name, statement
        What it is called and what it does.
    threat_model
        What the attacker knows, sees and wants.
    needs_law
        Whether it only works on mechanisms with a known law.
    unasked
        Whether an audit that names no attack tries it: what is slow, or made for few mechanisms, is
        run when it is named.
    for_few_values
        Whether it is tried unasked all the same where outputs take few values.
    fit
        ``"module:function"`` of a `Fit`.
    """

    name: str
    statement: str
    threat_model: str
    needs_law: bool
    fit: str
    unasked: bool = True
    for_few_values: bool = False

    def load(self) -> Fit:
        """Import and return the code that fits the attack."""
        fit: Fit = load_reference(f"attack {self.name}", self.fit)
        return fit
