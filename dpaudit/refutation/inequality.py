"""A claim as an inequality between two numbers of an instance, with assumptions that are numbers.

| symbol | name       | meaning                                                             |
|--------|------------|---------------------------------------------------------------------|
| a <= b | ``sides``  | what is claimed of every instance inside the assumptions            |
| s      | ``scale``  | the size of what was added up in a and b; b itself unless given     |
| r      | ``ratio``  | ``1 + (a - b) / s``: above 1 where the claim fails; a / b for s = b |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, Protocol, TypeVar

from dpaudit.errors import MechanismError

# A ratio of computed floats; equality up to rounding is not a violation.
RELATIVE_ROUNDING = 1e-9

InstanceT = TypeVar("InstanceT")
InstanceT_contra = TypeVar("InstanceT_contra", contravariant=True)


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
        return self.value <= self.limit


# What a certificate holds up against the claim: an instance that breaks an inequality, one output
# whose exact privacy loss is too large, an output that only one of two datasets can give, a law
# whose exact delta is too large, or counts that are drawn again.
Kind = Literal["sensitivity", "property", "pure-dp", "support", "approximate-dp", "statistical"]


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
        Numbers that the verifier recomputes, beside the ratio.
    kind, relation
        The sort of evidence, and between which neighbours.
    """

    parameters: Mapping[str, Any]
    instance: Mapping[str, Any]
    quantities: Mapping[str, float] = field(default_factory=dict)
    kind: Kind = "property"
    relation: str = "none"


class Refutable(Protocol[InstanceT_contra]):
    """What can be searched for a violation."""

    def ratio(self, instance: InstanceT_contra) -> float:
        """Return a number that is above 1 where the claim fails."""
        ...

    def broken(self, instance: InstanceT_contra) -> tuple[str, ...]:
        """Return the names of the conditions that the instance violates."""
        ...

    def refuted_by(self, instance: InstanceT_contra) -> bool:
        """Return whether the instance meets every condition and breaks the claim."""
        ...


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
    >>> falls.ratio((1.0, 2.0)), falls.refuted_by((1.0, 2.0)), falls.refuted_by((3.0, 4.0))
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
        """Return ``1 + (left - right) / scale``, or raise `MechanismError` if the scale is 0."""
        left, right = self.sides(instance)
        scale = right if self.scale is None else self.scale(instance)
        if not scale > 0:
            raise MechanismError(f"{self.name}: the excess is compared to {scale}, expected > 0")
        return 1 + (left - right) / scale

    def broken(self, instance: InstanceT) -> tuple[str, ...]:
        """Return the names of the conditions that the instance violates."""
        return broken(self.conditions(instance))

    def refuted_by(self, instance: InstanceT) -> bool:
        """Return whether the instance meets every condition and breaks the inequality."""
        return not self.broken(instance) and exceeds(self.ratio(instance))


def broken(conditions: tuple[Condition, ...]) -> tuple[str, ...]:
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
