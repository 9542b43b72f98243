"""A claim as an inequality between two numbers of an instance, with assumptions that are numbers.

| symbol | name       | meaning                                                             |
|--------|------------|---------------------------------------------------------------------|
| a <= b | ``sides``  | what is claimed of every instance inside the assumptions            |
| s      | ``scale``  | the size of what was added up in a and b; b itself unless given     |
| r      | ``ratio``  | ``1 + (a - b) / s``: above 1 where the claim fails; a / b for s = b |
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

import dpaudit._check as check
from dpaudit.errors import MechanismError
from dpaudit.verdicts import RELATIVE_ROUNDING

InstanceT = TypeVar("InstanceT")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """An assumption on a concrete instance, as a number that may not exceed a limit.

    Examples
    --------
    >>> Condition(name="bounded dual", value=0.9, limit=1.0).holds
    True
    >>> Condition(name="bounded dual", value=1.1, limit=1.0).holds
    False
    """

    name: str
    value: float
    limit: float

    @property
    def holds(self) -> bool:
        """Whether the value is at most the limit; NaN is not."""
        # Written so that a value that is no number fails.
        return self.value <= self.limit


# What a certificate holds up against the claim: an instance that breaks an inequality, one output
# whose exact privacy loss is too large, an output that only one of two datasets can give, a law
# whose exact delta is too large, counts that are drawn again, runs that are replayed, or guesses.
Kind = Literal[
    "sensitivity",
    "property",
    "pure-dp",
    "support",
    "approximate-dp",
    "statistical",
    "mechanism",
    "replay",
    "canaries",
    "attack-table",
    "outputs",
    "views",
    "proof",
]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The part of a certificate that one instance determines.

    Parameters
    ----------
    parameters
        Public parameters that the verifier has to know, plain numbers and names.
    instance
        Arrays: the neighbouring datasets, the state, an output; nested mappings are kept.
    quantities
        Numbers that the verifier recomputes; the inequality's ratio joins them unless one of them
        is a ratio already.
    kind, relation
        The sort of evidence, and between which neighbours.
    conditions
        What the evidence itself has to meet, after the assumptions of the claim.
    """

    parameters: Mapping[str, Any]
    instance: Mapping[str, Any]
    quantities: Mapping[str, float] = field(default_factory=dict)
    kind: Kind = "property"
    relation: str = "none"
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Inequality(Generic[InstanceT]):
    """A claim that one number of an instance is at most another, and can be refuted by one.

    Parameters
    ----------
    name, source
        Of the claim; the source names paper and theorem.
    sides
        The left and the right side on an instance.
    conditions
        Every assumption, as numbers of an instance.
    scale
        A number above 0 to which the excess is compared, for claims whose right side may be 0 or
        less; the right side itself by default.
    words
        An instance for people.
    because
        Why the claim fails on an instance that breaks it, as a sentence for the report.
    evidence
        What a certificate of a violation holds; None where there is no verifier for it.

    Examples
    --------
    >>> falls = Inequality(
    ...     name="decrease",
    ...     source="an example",
    ...     sides=lambda values: (values[1] - values[0], 0.0),
    ...     conditions=lambda values: (
    ...         Condition(name="starts in [0, 1]", value=abs(values[0]), limit=1.0),
    ...     ),
    ...     scale=lambda values: max(map(abs, values)),
    ... )
    >>> falls.ratio((1.0, 2.0)), falls.is_refuted_by((1.0, 2.0)), falls.is_refuted_by((3.0, 4.0))
    (1.5, True, False)
    """

    name: str
    source: str
    sides: Callable[[InstanceT], tuple[float, float]]
    conditions: Callable[[InstanceT], tuple[Condition, ...]]
    scale: Callable[[InstanceT], float] | None = None
    words: Callable[[InstanceT], str] = repr
    because: Callable[[InstanceT], str | None] | None = None
    evidence: Callable[[InstanceT], Evidence | None] | None = None

    def ratio(self, instance: InstanceT) -> float:
        """Return ``left / right``, or ``1 + (left - right) / scale`` where there is a scale.

        Raises
        ------
        MechanismError
            What the excess is compared to is not above 0, or a side is not a number.
        """
        left, right = self.sides(instance)
        if math.isnan(left) or math.isnan(right):
            raise MechanismError(f"{self.name}: sides {left} <= {right}, expected two numbers")
        scale = right if self.scale is None else self.scale(instance)
        # A ratio to 0 or to a negative number would turn the direction of the claim.
        if not scale > 0:
            raise MechanismError(f"{self.name}: the excess is compared to {scale}, expected > 0")
        return left / right if self.scale is None else 1 + (left - right) / scale

    def broken(self, instance: InstanceT) -> tuple[str, ...]:
        """Return the names of the conditions that the instance violates."""
        return find_broken_conditions(self.conditions(instance))

    def checked(self, instance: InstanceT) -> InstanceT:
        """Return an instance that was found, or raise `MechanismError` if it breaks a condition."""
        if names := self.broken(instance):
            raise MechanismError(f"{self.name}: the instance found breaks: {', '.join(names)}")
        return instance

    def is_refuted_by(self, instance: InstanceT) -> bool:
        """Return whether the instance meets every condition and breaks the inequality."""
        return not self.broken(instance) and exceeds(self.ratio(instance))


@dataclass(frozen=True, kw_only=True)
class Sensitivity(Inequality[InstanceT]):
    """A claimed bound on how far a query moves between neighbours: the right side is a constant.

    Parameters
    ----------
    movement
        How far the query moves on an instance, computed from the instance alone.
    claimed
        The published bound.
    proved, proof
        A bound that holds, and why in a sentence.
    norm, relation
        In which norm the query moves, and between which neighbours.

    Raises
    ------
    InvalidArgument
        A bound is not a finite number above 0.

    Examples
    --------
    >>> halved = Sensitivity(
    ...     name="halved-mean",
    ...     source="an example",
    ...     norm="absolute value",
    ...     relation="replace-record",
    ...     claimed=0.05,
    ...     proved=0.1,
    ...     proof="one of ten records in [0, 1] moves the mean by at most 1/10",
    ...     movement=lambda values: abs(values[0] - values[1]) / 10,
    ...     conditions=lambda values: (
    ...         Condition(name="records in [0, 1]", value=max(map(abs, values)), limit=1.0),
    ...     ),
    ... )
    >>> halved.ratio((0.0, 1.0)), halved.is_refuted_by((0.0, 1.0)), halved.is_refuted_by((0.0, 9.0))
    (2.0, True, False)
    """

    sides: Callable[[InstanceT], tuple[float, float]] = field(init=False)
    movement: Callable[[InstanceT], float]
    claimed: float
    proved: float
    proof: str
    norm: str
    relation: str

    def __post_init__(self) -> None:
        check.require_positive("claimed", self.claimed)
        check.require_positive("proved", self.proved)
        object.__setattr__(self, "sides", lambda one: (self.movement(one), self.claimed))


def find_broken_conditions(conditions: tuple[Condition, ...]) -> tuple[str, ...]:
    """Return the names of the conditions that do not hold."""
    return tuple(c.name for c in conditions if not c.holds)


def exceeds(ratio: float) -> bool:
    """Return whether a computed ratio is above 1 by more than rounding can explain.

    Examples
    --------
    >>> exceeds(1.0), exceeds(1 + 1e-12), exceeds(1.001)
    (False, False, True)
    """
    return ratio > 1 + RELATIVE_ROUNDING
