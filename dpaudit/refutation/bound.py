"""A sensitivity lemma as an object: what it bounds, by what, and under which checkable conditions.

| symbol      | name         | meaning                                              |
|-------------|--------------|------------------------------------------------------|
| q(D), q(D') | ``movement`` | norm of the query's difference on one instance       |
| C           | ``claimed``  | the published bound                                  |
| C*          | ``proved``   | a bound that a proof supports, where there is one    |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import dpaudit._validate as check
from dpaudit.refutation.certificate import Certificate
from dpaudit.refutation.inequality import Condition, broken, exceeds

InstanceT = TypeVar("InstanceT")


@dataclass(frozen=True, kw_only=True)
class Lemma(Generic[InstanceT]):
    """A claimed sensitivity on one choice of public parameters.

    Parameters
    ----------
    name, source
        Of the claim; the source names paper, lemma and assumptions.
    norm, relation
        In which norm the query moves, and between which neighbours.
    claimed
        The published bound.
    proved, proof
        A bound that holds, and why in a sentence.
    movement
        How far the query moves on an instance, computed from the instance alone.
    conditions
        Every assumption, as numbers of an instance.

    Raises
    ------
    InvalidArgument
        A bound is not a finite number above 0.

    Examples
    --------
    >>> from dpaudit.refutation import Condition
    >>> halved = Lemma(
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
    >>> halved.ratio((0.0, 1.0)), halved.refuted_by((0.0, 1.0)), halved.refuted_by((0.0, 9.0))
    (2.0, True, False)
    """

    name: str
    source: str
    norm: str
    relation: str
    claimed: float
    proved: float
    proof: str
    movement: Callable[[InstanceT], float]
    conditions: Callable[[InstanceT], tuple[Condition, ...]]

    def __post_init__(self) -> None:
        check.positive("claimed", self.claimed)
        check.positive("proved", self.proved)

    def ratio(self, instance: InstanceT) -> float:
        """Return true movement over claimed bound."""
        return self.movement(instance) / self.claimed

    def broken(self, instance: InstanceT) -> tuple[str, ...]:
        """Return the names of the conditions that the instance violates."""
        return broken(self.conditions(instance))

    def refuted_by(self, instance: InstanceT) -> bool:
        """Return whether the instance meets every condition and moves further than claimed."""
        return not self.broken(instance) and exceeds(self.ratio(instance))

    def certificate(
        self,
        instance: InstanceT,
        *,
        parameters: Mapping[str, Any],
        arrays: Mapping[str, Any],
        search: Mapping[str, int],
    ) -> Certificate | None:
        """Return the certificate of a violation, or None where the instance is none.

        Parameters
        ----------
        instance
            What was found.
        parameters, arrays
            The public parameters, and the instance as arrays, as the verifier reads them.
        search
            Seed and budget.
        """
        if not self.refuted_by(instance):
            return None
        moved = self.movement(instance)
        quantities = {"bound": self.claimed, "movement": moved, "ratio": moved / self.claimed}
        return Certificate(
            claim=self.name,
            source=self.source,
            relation=self.relation,
            parameters=parameters,
            instance=arrays,
            quantities=quantities,
            conditions=self.conditions(instance),
            search=search,
        )
