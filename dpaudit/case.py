"""What a claim becomes once its instance is fixed: something that can be run and judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from numpy.random import Generator

from dpaudit.guarantees import Guarantee
from dpaudit.mechanism import Mechanism
from dpaudit.neighbours import Pair
from dpaudit.settings import Settings


@dataclass(frozen=True, kw_only=True)
class AssumptionOutcome:
    """Whether an assumption of the claim holds on the instance, and how that was seen."""

    name: str
    holds: bool
    evidence: str


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A guarantee that follows from a theorem, and which one."""

    guarantee: Guarantee
    source: str


@dataclass(frozen=True, kw_only=True)
class PrivacyCase:
    """A mechanism, a pair and the guarantee that is claimed for it.

    Parameters
    ----------
    mechanism, pair
        What is run, and on what.
    claimed
        The guarantee of the claim.
    at_delta
        Where epsilon is measured.
    proved
        What a theorem gives for this configuration, if one does.
    pair_ceiling
        A proved guarantee for this pair alone.
    view, data
        What the observer sees, and what the records are, in words.
    default_trials
        Certifying transcripts per dataset that give a useful answer in about a minute.
    parameters
        Every public parameter of the mechanism.
    """

    mechanism: Mechanism[Any]
    pair: Pair[Any]
    claimed: Guarantee
    at_delta: float
    view: str
    data: str
    default_trials: int
    parameters: Mapping[str, Any]
    assumptions: tuple[AssumptionOutcome, ...] = ()
    proved: Proof | None = None
    pair_ceiling: Proof | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attained:
    """The largest movement of a query found by a search, and where."""

    value: float
    bound: float
    instance: str


@dataclass(frozen=True, kw_only=True)
class SensitivityCase:
    """A claimed bound on how far a query moves between neighbours, and a search that tries it.

    Parameters
    ----------
    bound
        The claimed sensitivity, at the instance the report names.
    attain
        Evaluates the query on ``trials`` states of neighbouring pairs; returns the best found.
        The ratio ``value / bound`` decides, as the bound may differ from state to state.
    proved
        A sensitivity that a proof supports, with its source.
    """

    bound: float
    attain: Callable[[int, Generator], Attained]
    view: str
    data: str
    relation: str
    pair: str
    default_trials: int
    parameters: Mapping[str, Any]
    assumptions: tuple[AssumptionOutcome, ...] = ()
    proved: tuple[float, str] | None = None
    notes: tuple[str, ...] = field(default=())


Case = PrivacyCase | SensitivityCase


class Prepare(Protocol):
    """Turns settings into a case, or raises an `InvalidArgument` that names what is wrong."""

    def __call__(self, settings: Settings, parameters: Any) -> Case:
        """Return the case."""
        ...
