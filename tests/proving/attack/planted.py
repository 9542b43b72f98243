"""Wrong rules, each of which the attack has to find: slips that people make in such proofs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np

from dpaudit.proving.distances import settling
from dpaudit.proving.distances.facts import Facts, RowOrigins
from dpaudit.proving.distances.rules import RULES, counts, entrywise, products, structure, sums
from dpaudit.proving.distances.rules.contract import Rule, RuleKnowledge
from dpaudit.proving.events import bound, composition, releases, selection
from dpaudit.proving.program import Node
from dpaudit.proving.universe import Distance

Change = Callable[[Facts, RuleKnowledge, Node], Facts]


def scaled(facts: Facts, factor: float) -> Facts:
    """Return facts of which all that says how far a value moves is a multiple."""
    distance = facts.distance
    return replace(
        facts,
        change=facts.change * factor,
        distance=Distance(distance.l1 * factor, distance.l2 * factor, distance.linf * factor),
        moves=facts.moves * factor,
    )


@contextmanager
def after(operation: str, change: Change) -> Iterator[None]:
    """Change what the rule of an operation says."""
    rule = RULES[operation]

    def wrong(knowledge: RuleKnowledge, node: Node) -> Facts:
        found = rule(knowledge, node)
        return found if found.refusal else change(found, knowledge, node)

    with mock.patch.dict(RULES, {operation: wrong}):
        yield


def _halve(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    return scaled(facts, 0.5)


def _as_operand(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    """Move as far as the first operand."""
    one = knowledge.facts(node.operands[0])
    same = one.distance.tighten(facts.distance)
    return replace(facts, distance=same, moves=np.minimum(facts.moves, one.moves))


def _forget_records(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    """Let a row depend on the first of its records alone."""
    if facts.rows is None or not facts.rows.records:
        return facts
    return replace(facts, rows=RowOrigins(facts.rows.records[:1], facts.rows.axis))


def _in_place(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    """Let rows that were taken stand where they stood before."""
    one = knowledge.facts(node.operands[0])
    is_alike = node.shape == knowledge.program.nodes[node.operands[0]].shape
    return replace(facts, rows=one.rows) if is_alike else facts


def _one_end(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    """Clip the end that a minimum has, and let the other be that of the number."""
    ends = [knowledge.facts(one) for one in node.operands]
    return replace(
        facts, low=np.broadcast_to(np.maximum(ends[0].low, ends[1].low), facts.low.shape)
    )


def _nowhere(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    return scaled(facts, 0.0) if facts.distance.linf < math.inf else facts


def _whole(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    return replace(facts, is_integer=True)


def _flat(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    """Move as far in L1 as in one entry."""
    most = facts.distance.linf
    return replace(facts, distance=Distance(most, most, most), moves=facts.moves[2:].repeat(3, 0))


def _one_branch(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    """Move as far as the branches, as if the condition were public."""
    branches = [knowledge.facts(one).distance for one in node.operands[1:]]
    l1, l2, linf = (max(getattr(one, name) for one in branches) for name in ("l1", "l2", "linf"))
    return replace(facts, distance=facts.distance.tighten(Distance(l1, l2, linf)))


def _no_jump(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    one = knowledge.facts(node.operands[0])
    return replace(facts, change=np.minimum(facts.change, one.change))


def _positive_low(facts: Facts, knowledge: RuleKnowledge, node: Node) -> Facts:
    one = knowledge.facts(node.operands[0])
    return replace(facts, low=np.minimum(np.abs(one.low), np.abs(one.high)))


@contextmanager
def instead(owner: Any, name: str, function: Callable[..., Any]) -> Iterator[None]:
    """Put a wrong function where a rule looks for another."""
    with mock.patch.object(owner, name, function):
        yield


@contextmanager
def rule(operation: str, wrong: Rule) -> Iterator[None]:
    """Put a wrong rule in the place of an operation's."""
    with mock.patch.dict(RULES, {operation: wrong}):
        yield


def _multiply_without_cross_term(knowledge: RuleKnowledge, node: Node) -> Facts:
    one, other = (knowledge.facts(index) for index in node.operands)
    low, high = products.product_ends(one.low, one.high, other.low, other.high)
    slopes = [np.maximum(np.abs(other.low), np.abs(other.high)), np.zeros(())]
    return entrywise.combine_entrywise_facts(knowledge, node, slopes, low, high)


def _divide_anyhow(knowledge: RuleKnowledge, node: Node) -> Facts:
    """Divide as if no divisor were 0: by those that lie farther from it."""
    one, other = (knowledge.facts(index) for index in node.operands)
    most = np.maximum(np.abs(other.low), np.abs(other.high))
    shown = replace(other, low=np.maximum(most, 1e-3), high=np.maximum(most, 1e-3))
    low, high = products._quotient_ends(one, shown)
    return entrywise.combine_entrywise_facts(
        knowledge, node, [1 / shown.low, 1 / shown.low], low, high
    )


def _one_copy(*_: Any) -> float:
    return 1.0


def _one_record(moves: Any, universe: Any, **others: Any) -> Any:
    return _TOTAL(moves, replace(universe, count=1), **others)


_TOTAL = settling.total


def _sizes_replaced(universe: Any, one: Facts) -> Any:
    """Add records as if they were replaced: by how far apart they are."""
    return one.change if np.isfinite(one.change).all() else settling.compute_magnitude(one)


_MOVES_OF_COUNTS = counts._moves_of_counts


def _count_once(counts_moved: Any, bins: int, *, is_added: bool) -> Any:
    return _MOVES_OF_COUNTS(counts_moved, bins, is_added=True)


def _keep_norms(norms: Any, copies: float) -> Any:
    return norms


PLANTED: dict[str, Callable[[], Any]] = {
    "half a sum": lambda: after("sum", _halve),
    "half a mean": lambda: after("mean", _halve),
    "half a quantile": lambda: after("quantile", _halve),
    "half a median": lambda: after("median", _halve),
    "half a matrix product": lambda: after("matmul", _halve),
    "half a difference": lambda: after("subtract", _halve),
    "a largest entry that does not move": lambda: after("max", _nowhere),
    "an argmax that does not move": lambda: after("argmax", _nowhere),
    "a row with one record forgotten": lambda: after("subtract", _forget_records),
    "rows that stand where they stood": lambda: after("take", _in_place),
    "a clip that has both ends": lambda: after("minimum", _one_end),
    "a histogram of replaced records": lambda: instead(counts, "_moves_of_counts", _count_once),
    "a running sum by its last entry": lambda: after("cumsum", _flat),
    "a copy that costs nothing": lambda: after("broadcast", _as_operand),
    "copies that are not counted": lambda: instead(entrywise, "_count_copies", _one_copy),
    "a product without its cross term": lambda: rule("multiply", _multiply_without_cross_term),
    "a divisor that is never 0": lambda: rule("divide", _divide_anyhow),
    "one record of a user": lambda: instead(settling, "total", _one_record),
    "a root of slope 1": lambda: after("sqrt", _as_operand),
    "an exponential of slope 1": lambda: after("exp", _as_operand),
    "a square of slope 1": lambda: after("power", _as_operand),
    "a public condition": lambda: after("where", _one_branch),
    "a floor that does not jump": lambda: after("floor", _no_jump),
    "an absolute value off 0": lambda: after("absolute", _positive_low),
    "a whole quotient": lambda: after("divide", _whole),
    "a sort that pairs entries": lambda: after("sort", _halve),
    "a joined value of its first part": lambda: after("concatenate", _as_operand),
    "written entries that do not move": lambda: after("assign", _as_operand),
    "added records by their range": lambda: instead(sums, "_sizes", _sizes_replaced),
    "norms of rows taken twice": lambda: instead(structure, "_scale_norms", _keep_norms),
    "a remainder that does not wrap": lambda: after("remainder", _as_operand),
    "a product of moves": lambda: after("prod", _halve),
    "a comparison that does not move": lambda: after("less", _nowhere),
}


# --- what whole programs cost


def _half_laplace(plan: Any, distance: Distance) -> Any:
    return _LAPLACE(plan, Distance(distance.l1 / 2, distance.l2 / 2, distance.linf / 2))


def _longest_entry(plan: Any, distance: Distance) -> Any:
    """Spend for the entry that moves most, whatever the others do."""
    return _LAPLACE(plan, Distance(distance.linf, distance.linf, distance.linf))


def _half_normal(plan: Any, distance: Distance) -> Any:
    return _NORMAL(plan, Distance(distance.l1, distance.linf / 2, distance.linf))


def _largest_alone(spent: Any, *others: Any) -> Any:
    """Spend for the dearest release alone."""
    dearest = sorted(spent, key=lambda one: min(one.epsilon, one.mu))[-1:]
    return _ADD_UP(dearest, *others)


_LAPLACE, _NORMAL = releases._RULES["laplace"], releases._RULES["normal"]
_ADD_UP = composition.add_up


def _law(name: str, wrong: Callable[..., Any]) -> Any:
    return mock.patch.dict(releases._RULES, {name: wrong})


PLANTED_COSTS: dict[str, Callable[[], Any]] = {
    "half the distance of a centre": lambda: _law("laplace", _half_laplace),
    "the entry that moves most": lambda: _law("laplace", _longest_entry),
    "half the length of a centre": lambda: _law("normal", _half_normal),
    "the dearest release alone": lambda: instead(bound, "add_up", _largest_alone),
}


def _moved_once(bounds: Any, row: int, differences: int | None) -> float:
    return float(bounds.distance(row).linf)


PLANTED_CHOICES: dict[str, Callable[[], Any]] = {
    "scores that all move one way": lambda: instead(selection, "range_of", _moved_once),
    "the tail of a slope that is halved": lambda: _half_slope(),
}


def _half_slope() -> Any:
    whole = selection.SelectionPlan._slope
    return mock.patch.object(
        selection.SelectionPlan, "_slope", lambda plan, bounds: whole(plan, bounds) / 2
    )
