"""What can be accounted for by name: a kind of release, or a mechanism with its paper's formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dpaudit._references import load_reference

if TYPE_CHECKING:
    from dpaudit.accounting.events import Event


@dataclass(frozen=True, kw_only=True)
class Published:
    """What a paper's own formula says.

    Parameters
    ----------
    epsilon, delta
        The stated guarantee; infinite where the formula has no answer.
    source
        Paper, theorem, equation.
    note
        What a reader must know of it, such as that it is false.
    """

    epsilon: float
    delta: float
    source: str
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class ReleaseCard:
    """Something whose guarantee can be computed from public parameters.

    Parameters
    ----------
    name, title, source
        Its identifier, what it is, and the theorem that describes it as an event.
    relation
        The neighbour relation the event is about (`dpaudit.neighbours.RELATIONS`).
    parameters
        ``"module:Model"``: a pydantic model of its public parameters.
    event
        ``"module:function"``: parameters to the event of the whole run.
    count
        The parameter that says how often something is released, or None.
    noise
        The parameter that says how much noise there is: what calibration solves for.
    more_noise
        1 if a larger value of it is more noise, -1 if less.
    published
        ``"module:function"``: parameters and delta to `Published`, or None.
    """

    name: str
    title: str
    source: str
    relation: str
    parameters: str
    event: str
    count: str | None
    noise: str
    more_noise: int = 1
    published: str | None = None

    def load_parameters(self) -> Any:
        """Import and return the model of the parameters."""
        return load_reference(f"release {self.name}", self.parameters)

    def load_event(self) -> Callable[[Any], Event]:
        """Import and return what makes the event."""
        make: Callable[[Any], Event] = load_reference(f"release {self.name}", self.event)
        return make

    def load_published(self) -> Callable[[Any, float], Published] | None:
        """Import and return the paper's formula, if there is one."""
        if self.published is None:
            return None
        formula: Callable[[Any, float], Published] = load_reference(
            f"release {self.name}", self.published
        )
        return formula
