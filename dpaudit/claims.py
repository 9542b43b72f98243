"""A claim: what a source states, under which assumptions, and the code that makes it auditable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dpaudit.registry import load_reference

if TYPE_CHECKING:
    from dpaudit.case import Prepare

WORST_CASE = "worst-case"


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A published claim, as the registry knows it.

    Parameters
    ----------
    name
        Its identifier, also that of its entry point.
    title, statement, source
        In words; the source names paper, theorem and equation.
    kind
        ``privacy`` bounds what an observer learns, ``sensitivity`` how far a query moves.
    relation
        The neighbour relation it is about (`dpaudit.neighbours.RELATIONS`).
    assumptions
        Name and sentence of each; checked on every audited instance.
    prepare
        ``"module:function"`` of a `dpaudit.case.Prepare`: settings to a case that can be audited.
    parameters
        ``"module:Model"``: a pydantic model of the claim's own parameters, with their defaults.
    """

    name: str
    title: str
    statement: str
    source: str
    kind: Literal["privacy", "sensitivity"]
    relation: str
    assumptions: Mapping[str, str]
    prepare: str
    parameters: str

    def load(self) -> Prepare:
        """Import and return the code that prepares an audit."""
        prepare: Prepare = load_reference(f"claim {self.name}", self.prepare)
        return prepare

    def load_parameters(self) -> Any:
        """Import and return the model of the claim's parameters."""
        return load_reference(f"claim {self.name}", self.parameters)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the user asks of an audit; None leaves the choice to the claim.

    Parameters
    ----------
    epsilon, delta
        Of the claimed guarantee.
    data
        ``worst-case``, or the name of a dataset.
    data_path, data_options
        Where the dataset's files are, and what else its loader takes.
    trials
        Certifying transcripts per dataset of the pair.
    confidence
        Of the whole report on this claim.
    seed
        The only source of randomness.
    estimator
        ``auto``, ``exact-loss`` or ``event``.
    attack
        Scores the event bound may use; all installed ones by default.
    parameters
        The claim's own.
    """

    epsilon: float = 1.0
    delta: float = 1e-5
    data: str = WORST_CASE
    data_path: str | None = None
    data_options: Mapping[str, Any] = field(default_factory=dict)
    trials: int | None = None
    confidence: float = 0.95
    seed: int = 0
    estimator: str = "auto"
    attack: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Imported here: this module is on the path of `dpaudit list`, numpy is not.
        from dpaudit import _validate as check

        check.non_negative("epsilon", self.epsilon)
        check.delta("delta", self.delta)
        check.probability("confidence", self.confidence)
        check.integer("seed", self.seed, least=0)
        check.choice("estimator", self.estimator, ("auto", "exact-loss", "event"))
        if self.trials is not None:
            check.integer("trials", self.trials, least=100)
