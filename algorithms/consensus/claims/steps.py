"""A claim on steps of M-ADMM as an inequality, and the search for an instance that breaks it.

The statements are in `dpaudit.algorithms.consensus.claims.statements`; they are searched over
graphs, penalties and quadratics (`dpaudit.algorithms.consensus.claims.search`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator

from dpaudit._typing import Array
from dpaudit.algorithms.consensus.claims.search import Family, small, space
from dpaudit.errors import MechanismError
from dpaudit.refutation import Attained, Certificate, Condition, Found, exceeds, maximise, minimal
from dpaudit.refutation.inequality import broken
from dpaudit.refutation.search import Batch

# Value and bound; and what their difference is compared to, if that is not the bound.
Sides = tuple[Array, Array, Array | None]

_SHRINKING = 60  # instances generated for the smallest one


@dataclass(frozen=True, kw_only=True)
class Statement:
    """An inequality on a step, and what a certificate of its violation holds.

    Parameters
    ----------
    name, source
        Of the claim.
    family
        The instances.
    sides
        Of a batch, shape ``(R,)`` each.
    arrays
        Which arrays of an instance matter.
    parameters
        What the verifier has to know.
    quantities
        Further numbers of an instance.
    because
        Why it fails.
    hints
        Other ratios to climb, each with its share of the budget.
    """

    name: str
    source: str
    family: Family
    sides: Callable[[Batch], Sides]
    arrays: tuple[str, ...]
    parameters: Mapping[str, Any]
    quantities: Callable[[Batch], Mapping[str, float]]
    because: str
    hints: tuple[Callable[[Batch], Array], ...] = ()

    def ratios(self, batch: Batch) -> Array:
        """Return value over bound, or 1 and their difference over the scale, shape ``(R,)``."""
        value, bound, scale = self.sides(batch)
        return value / bound if scale is None else 1 + (value - bound) / scale


def attained(statement: Statement, budget: int, rng: Generator, *, seed: int) -> Attained:
    """Return the worst instance of a search over the statement's family.

    Raises
    ------
    MechanismError
        An assumption does not hold on what was found: the search is wrong.
    """
    batch = _worst(statement, budget, rng)
    conditions = conditions_of(statement, batch)
    if names := broken(conditions):
        raise MechanismError(f"{statement.name}: the instance found breaks: {', '.join(names)}")
    value, bound, scale = statement.sides(batch)
    ratio = float(statement.ratios(batch)[0])
    refuted = exceeds(ratio)
    stated = refuted and statement.parameters["factor"] >= 1
    numbers = {"value": float(value[0]), "bound": float(bound[0])}
    certificate = Certificate(
        claim=statement.name,
        source=statement.source,
        relation="none",
        parameters=dict(statement.parameters) | {"nodes": statement.family.nodes},
        instance={name: batch[name][0] for name in statement.arrays},
        quantities=numbers | dict(statement.quantities(batch)) | {"ratio": ratio},
        conditions=conditions,
        search={"seed": seed, "budget": budget},
        kind="property",
    )
    return Attained(
        value=numbers["value"],
        bound=numbers["bound"],
        scale=None if scale is None else float(scale[0]),
        instance=words(statement, batch),
        because=statement.because if stated else None,
        minimal=_smallest(statement, seed) if refuted else None,
        certificate=certificate if refuted else None,
    )


def _worst(statement: Statement, budget: int, rng: Generator) -> Batch:
    """Return the best batch of one instance, over searches that climb ratio or a hint."""
    climbed = (statement.ratios, *statement.hints)
    shares = [budget - budget // 2, budget // 2] if statement.hints else [budget]
    found: list[Found] = [
        maximise(space(statement.family, climb), share, rng)
        for climb, share in zip(climbed, shares, strict=True)
    ]
    batches = [{name: values[None] for name, values in one.instance.items()} for one in found]
    return max(batches, key=lambda batch: float(statement.ratios(batch)[0]))


def conditions_of(statement: Statement, batch: Batch) -> tuple[Condition, ...]:
    """Return the theorem's assumptions as numbers of an instance."""
    penalty, theta = batch["penalty"][0], statement.family.dual_step
    pairs = {
        "penalties at least theta": (theta, penalty.min()),
        "connected graph": (components(batch["adjacency"][0]), 1),
        "strongly convex": (0.0, batch["curvature"].min()),
    }
    if "mu" in statement.arrays:
        pairs["mu above 1"] = (1.0, batch["mu"][0])
    if statement.family.shared:
        pairs["one penalty"] = (np.ptp(penalty), 0.0)
    return tuple(
        Condition(name=name, value=float(value), limit=float(limit))
        for name, (value, limit) in pairs.items()
    )


def components(adjacency: Array) -> int:
    """Return how many parts a graph falls into.

    Examples
    --------
    >>> components(np.zeros((3, 3))), components(np.ones((3, 3)))
    (3, 1)
    """
    nodes = len(adjacency)
    reached = np.linalg.matrix_power(np.eye(nodes) + adjacency, nodes) > 0
    return len(np.unique(reached, axis=0))


def words(statement: Statement, batch: Batch) -> str:
    """Return an instance as words for people."""
    graph = batch["adjacency"][0]
    edges = ", ".join(f"{i}-{j}" for i, j in zip(*np.nonzero(np.triu(graph)), strict=True))
    named = {"penalty": "penalties", "curvature": "curvatures", "slope": "slopes"}
    numbers = [
        f"{named.get(name, name)} {np.array2string(batch[name][0], precision=4, separator=', ')}"
        for name in statement.arrays
        if name != "adjacency"
    ]
    return f"edges {edges}; theta {statement.family.dual_step:.4g}; {'; '.join(numbers)}"


@dataclass(frozen=True)
class _One:
    """The statement on batches of one instance, as what `minimal` shrinks."""

    statement: Statement

    def ratio(self, batch: Batch) -> float:
        return float(self.statement.ratios(batch)[0])

    def broken(self, batch: Batch) -> tuple[str, ...]:
        return broken(conditions_of(self.statement, batch))

    def refuted_by(self, batch: Batch) -> bool:
        return not self.broken(batch) and exceeds(self.ratio(batch))


def _smallest(statement: Statement, seed: int) -> str | None:
    family = small(statement.family)
    batch = minimal(family, _One(statement), budget=_SHRINKING, seed=seed)
    return None if batch is None else words(statement, batch)
