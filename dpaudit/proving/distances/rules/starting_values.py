"""The values at the start of a program: data, the number of records, constants, draws, decisions.

**Replaced records.** An entry moves between its ends; a record moves by at most the length of its
widths, and of a bounded norm C by 2 C, or by sqrt(2) C where its entries have one sign. Where one
cell of a record is replaced, each part moves by the widest of its cells in every norm. Parts that
neighbours have in common do not move.

**Records that are added** leave the others as they are: rows have no distance then, and a record's
own size counts where rows are added up. The number of records grows by as many as are added, and
is below 2^48, as no memory has more bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from dpaudit.proving.distances.facts import ANYHOW, Ends, Facts, RowOrigins, of_nothing, of_public
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.distances.settling import add_leading_axes, compute_width_up, settle_facts
from dpaudit.proving.program import Node
from dpaudit.proving.refusals import ProofRefusal
from dpaudit.proving.universe import Universe

MOST_RECORDS = 2.0**48
# From here on not every integer is a double.
_EXACT = 2.0**53

_ENDS_OF_LAWS = {
    "uniform": (0.0, 1.0),
    "exponential": (0.0, math.inf),
    "gamma": (0.0, math.inf),
    "bernoulli": (0.0, 1.0),
    "geometric": (1.0, math.inf),
    "poisson": (0.0, math.inf),
}
_WHOLE_LAWS = frozenset(
    "geometric discrete-laplace discrete-gaussian binomial bernoulli poisson integers "
    "permutation choice".split()
)


def bound_data(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a part of the dataset."""
    universe = knowledge.universe
    part = universe.part(node.parameters["part"])
    low = add_leading_axes(np.asarray(part.low, dtype=float), len(node.shape))
    high = add_leading_axes(np.asarray(part.high, dtype=float), len(node.shape))
    is_integer = part.is_integer or part.categories is not None
    # Where records are added, a part that no neighbour changes still gains or loses rows.
    if universe.change == "replace" and not part.is_changed:
        return of_public(low, high, is_integer=is_integer)
    change = compute_width_up(low, high) if universe.change == "replace" else np.zeros(())
    norms = {2: part.norm} if math.isfinite(part.norm) else {}
    return settle_facts(
        node.shape,
        universe,
        low,
        high,
        change,
        is_integer=is_integer,
        rows=RowOrigins(),
        norms=norms,
        moves=_moves_of_cells(universe, change),
    )


def _moves_of_cells(universe: Universe, change: Any) -> Ends:
    if not universe.of_cells:
        return ANYHOW
    # A single cell moves a whole part by its own width, in every norm.
    return np.full((3, 1), float(np.max(change, initial=0.0)))


def bound_size(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of the number of records."""
    universe = knowledge.universe
    if universe.records is not None:
        end = np.asarray(float(universe.records))
        return of_public(end, end, is_integer=True)
    return settle_facts(
        node.shape,
        universe,
        np.zeros(()),
        np.asarray(MOST_RECORDS),
        np.asarray(float(universe.count)),
        is_integer=True,
        moves=np.ones((3, 1)),
    )


def bound_constant(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of public numbers."""
    value = np.asarray(node.parameters["value"], dtype=float)
    # The rules are of real numbers: an infinite constant times a movement of 0 would be NaN.
    if not np.isfinite(value).all():
        return of_nothing(ProofRefusal(node.place, "the code uses an infinite or missing number"))
    is_integer = bool((value == np.floor(value)).all())
    # The conversion to double may have rounded an integer, and the proof is of the number that
    # the program has.
    if (np.abs(value) > _EXACT).any():
        low, high = np.nextafter(value, -math.inf), np.nextafter(value, math.inf)
        return of_public(low, high, is_integer=is_integer)
    return of_public(value, value, is_integer=is_integer)


def bound_draw(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a draw, which neighbours have in common."""
    law = node.parameters.get("law", "")
    low, high = _ends_of_draw(law, node.parameters)
    return of_public(np.asarray(low), np.asarray(high), is_integer=law in _WHOLE_LAWS)


def _ends_of_draw(law: str, given: Mapping[str, Any]) -> tuple[float, float]:
    if law == "integers" and {"low", "high"} <= given.keys():
        return float(given["low"]), float(given["high"]) - 1
    if law in {"choice", "permutation"} and "count" in given:
        return 0.0, float(given["count"]) - 1
    if law == "binomial" and "n" in given:
        return 0.0, float(np.max(given["n"]))
    return _ENDS_OF_LAWS.get(law, (-math.inf, math.inf))


def bound_decision(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a condition whose outcome this path has."""
    one = knowledge.facts(node.operands[0])
    return of_public(one.low, one.high, is_integer=one.is_integer)


def bound_within(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Return the facts of a value that has to lie between two ends, and does."""
    one = knowledge.facts(node.operands[0])
    given = node.parameters
    if bool(np.all(one.low >= given["low"]) and np.all(one.high <= given["high"])):
        return one
    return of_nothing(
        ProofRefusal(
            node.place,
            f"this operation needs numbers from {given['low']:g} to {given['high']:g}, and its "
            "argument may hold others",
            "clip them first",
        )
    )


RULES: dict[str, Rule] = {
    "data": bound_data,
    "size": bound_size,
    "constant": bound_constant,
    "draw": bound_draw,
    "decide": bound_decision,
    "within": bound_within,
}
