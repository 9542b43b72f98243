"""A distinguisher: a score of outputs that is higher on the dataset than on the neighbour.

It is learned on outputs of both and certifies nothing by itself; the event bound turns its
score into a number. `Distinguisher` is the light card that the registry hands out; the code behind
it is imported when it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dpaudit._references import load_reference

# A list of distinguishers costs no import of numpy.
if TYPE_CHECKING:
    from numpy.random import Generator
    from numpy.typing import NDArray


class Score(Protocol):
    """A fitted distinguisher. It crosses process borders, so it must pickle."""

    def __call__(self, outputs: NDArray[Any]) -> NDArray[Any]:
        """Return scores, shape ``(R,)``; higher means rather from the dataset."""
        ...


class Fit(Protocol):
    """A function that fits a distinguisher on outputs of the dataset and of the neighbour."""

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
class Distinguisher:
    """A distinguisher as the registry knows it.

    Parameters
    ----------
    name, statement
        The identifier, and a sentence on the method.
    threat_model
        The knowledge, the view and the aim of the attacker.
    needs_law
        True if it works only on mechanisms with a known law.
    default
        True if an audit that names no distinguisher tries it. One that is slow, or made for few
        mechanisms, runs when it is named.
    for_few_values
        True to try it by default all the same if outputs take few values, or if some values repeat
        on one dataset more than on the other.
    for_combinations
        True to try it by default all the same if some linear combination of the entries tells far
        more than any entry does.
    of_bits
        True if it reads the representation of numbers: a scan tries it on subjects that publish a
        value plus noise.
    fit
        ``"module:function"`` of a `Fit`.
    """

    name: str
    statement: str
    threat_model: str
    needs_law: bool
    fit: str
    default: bool = True
    for_few_values: bool = False
    for_combinations: bool = False
    of_bits: bool = False

    def load(self) -> Fit:
        """Import and return the code that fits it."""
        fit: Fit = load_reference(f"distinguisher {self.name}", self.fit)
        return fit
