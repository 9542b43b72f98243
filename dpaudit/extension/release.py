"""Releases that can be accounted for by name: a kind, or a mechanism with its paper's formula."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

# Listing releases imports this module, and accountants are slow to import.
if TYPE_CHECKING:
    from pydantic import BaseModel

    from dpaudit.accounting.events import Event
    from dpaudit.plots import Grid


@dataclass(frozen=True, kw_only=True)
class FormulaGuarantee:
    """The number that a paper's own formula states.

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

    A module of cards is imported to list them: what its functions need beyond pydantic, they
    import when they are called.

    Parameters
    ----------
    name, title, source
        Its identifier, what it is, and the theorem that describes it as an event.
    relation
        The neighbour relation the event is about (`dpaudit.neighbours.RELATIONS`).
    parameters
        The model of its public parameters.
    event
        Parameters to the event of the whole run.
    count
        The parameter that says how often something is released, or None.
    counted
        Parameters to the name of that parameter or None, where they decide it.
    noise
        The parameter that says how much noise there is: what calibration solves for.
    more_noise
        1 if a larger value of it is more noise, -1 if less.
    published
        Parameters and delta to the paper's own number, or None.
    grid
        Parameters and delta to a table of who learns how much about whom, or None.
    words
        Parameters to a sentence about what the guarantee is about, or None.
    neighbours
        Parameters to the relation, where they decide it, or None.
    remarks
        Parameters and delta to sentences beside the answer, or None.
    attained
        Parameters to whether some neighbours lose as much as the event says, without which a lower
        end of it is none of the release; None: they do, as far as every stated bound is attained.
    plain
        Whether its event has the numbers of its parameters and nothing else: ``count`` queries, of
        one sample each where they draw any, whose sensitivity is what a record contributes. Rounds
        of one sample and budgets hold no other releases.
    """

    name: str
    title: str
    source: str
    relation: str
    parameters: type[BaseModel]
    event: Callable[[Any], Event]
    count: str | None
    noise: str
    more_noise: int = 1
    counted: Callable[[Any], str | None] | None = None
    published: Callable[[Any, float], FormulaGuarantee] | None = None
    grid: Callable[[Any, float], Grid] | None = None
    words: Callable[[Any], str] | None = None
    neighbours: Callable[[Any], str] | None = None
    remarks: Callable[[Any, float], tuple[str, ...]] | None = None
    attained: Callable[[Any], bool] | None = None
    plain: bool = False
