r"""Draws whose law depends on records: the exponential mechanism, and coins with private odds.

**Theorem (choice).** One item is drawn with probabilities ``exp(s_i) / sum over j of exp(s_j)``. If
the scores of neighbours differ by ``d_i = s'_i - s_i``, that costs the largest ``d_j - d_i``, which
is at most twice the largest move.

*Proof.* ``log p_i - log p'_i = -d_i + log(sum over j of p_j exp(d_j))``, and that logarithm is
between the least and the largest d_j. []

McSherry & Talwar 2007, Theorem 6. Weights that are divided by their sum are of that form, with
their logarithms for scores. A number added to all scores does not matter, so neither does it that
one subtracts their largest before the exponential.

**Theorem (coins).** Independent coins that show 1 with probabilities p_i cost
``sum over i of max(|log p_i - log p'_i|, |log(1 - p_i) - log(1 - p'_i)|)``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from dpaudit.guarantees import rounding
from dpaudit.proving.events.draft import Draft, size_of
from dpaudit.proving.events.release_forms import RecordDraw
from dpaudit.proving.events.releases import (
    Bounds,
    ReleaseCost,
    make_pure_spending,
    make_unbounded_error,
)
from dpaudit.proving.events.responses import count_changed_entries
from dpaudit.proving.events.selection import differences_of, range_of
from dpaudit.proving.program import Node
from dpaudit.proving.refusals import NotProved

_WIDENING = frozenset({"broadcast", "reshape"})


@dataclass(frozen=True, eq=False)
class ChoicePlan:
    """The nodes whose distance a choice by private probabilities asks for.

    Parameters
    ----------
    node
        The draw.
    scores
        Whose exponentials are proportional to the probabilities.
    differences
        Of all pairs of scores; None where there are many.
    """

    node: Node
    scores: int
    differences: int | None

    @classmethod
    def of(cls, draft: Draft, release: RecordDraw) -> ChoicePlan:
        """Append the questions to a draft.

        Raises
        ------
        NotProved
            The probabilities do not add up to 1 by how they are formed.
        """
        node = release.node
        # Probabilities are followed through the form of their quotient, since their entries are
        # not independent: they add up to 1.
        scores = softmax_scores(draft, node.operands[0])
        if scores is None:
            reason = (
                "the code draws an item with probabilities that depend on records in an unknown way"
            )
            raise NotProved.at(
                node.place, reason, "divide the exponentials of the scores by their sum"
            )
        return cls(node, scores, differences_of(draft, scores, node.place))

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the cost of the draw.

        Raises
        ------
        NotProved
            Nothing bounds its scores.
        """
        epsilon = range_of(bounds, self.scores, self.differences)
        if epsilon == math.inf:
            raise make_unbounded_error(bounds, self.scores, self.node.place)
        # Items that are drawn with replacement are independent releases of one cost each.
        count = max(1, size_of(self.node.shape))
        return make_pure_spending(
            self.node, "exponential mechanism", rounding.times_up(count, epsilon)
        )


def softmax_scores(draft: Draft, index: int) -> int | None:
    """Return the scores of which a row is ``exp(scores) / sum(exp(scores))``, or None."""
    node = draft.node(index)
    if node.operation != "divide" or len(node.shape) != 1:
        return None
    top, bottom = (_find_narrow_node(draft, one) for one in node.operands)
    total = draft.node(bottom)
    # The weights have to be divided by their own sum, over all of them.
    if total.operation != "sum" or draft.shape(bottom) != () or total.operands != (top,):
        return None
    weights = draft.node(top)
    if weights.shape != node.shape:
        return None
    if weights.operation != "exp":
        return draft.apply("log", [top], place=node.place)
    return _without_shift(draft, weights.operands[0])


def _find_narrow_node(draft: Draft, index: int) -> int:
    """Return the node of which another one is a copy that is spread out, if it is one number."""
    while draft.node(index).operation in _WIDENING:
        before = draft.node(index).operands[0]
        # Where several numbers are spread out, entries of the copy differ.
        if draft.shape(before) != draft.shape(index) and size_of(draft.shape(before)) != 1:
            break
        index = before
    return index


def _without_shift(draft: Draft, index: int) -> int:
    """Return scores without one number that is added to all of them."""
    node = draft.node(index)
    if node.operation != "subtract" or draft.shape(node.operands[0]) != node.shape:
        return index
    shift = _find_narrow_node(draft, node.operands[1])
    return node.operands[0] if size_of(draft.shape(shift)) == 1 else index


@dataclass(frozen=True, eq=False)
class CoinsPlan:
    """The nodes whose distance coins with private odds ask for: logarithms of both probabilities.

    Parameters
    ----------
    node
        The draw.
    logarithms
        Of p and of 1 - p.
    tries
        How often each coin is thrown.
    """

    node: Node
    logarithms: Sequence[int]
    tries: int

    @classmethod
    def of(cls, draft: Draft, release: RecordDraw) -> CoinsPlan:
        """Append the questions to a draft."""
        node = release.node
        p = draft.broadcast(node.operands[0], node.shape)
        # Both sides of a coin are outputs; near p = 1 the rare side costs the most.
        other = draft.apply("subtract", [draft.constant(1.0), p], place=node.place)
        both = [draft.apply("log", [one], place=node.place) for one in (p, other)]
        return cls(node, both, int(node.parameters.get("n", 1)))

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the cost of the coins.

        Raises
        ------
        NotProved
            Nothing bounds their odds.
        """
        distances = [bounds.distance(one) for one in self.logarithms]
        # For each coin the larger of the two sides counts, so coins that move times the largest
        # is a bound.
        largest = max(one.linf for one in distances)
        each = math.inf
        if largest < math.inf:
            each = rounding.times_up(count_changed_entries(bounds, self.logarithms[0]), largest)
        epsilon = min(each, rounding.sum_up((1, one.l1) for one in distances))
        if epsilon == math.inf:
            raise make_unbounded_error(bounds, self.logarithms[0], self.node.place)
        return make_pure_spending(
            self.node, "private coins", rounding.times_up(self.tries, epsilon)
        )


def plan_of(draft: Draft, release: RecordDraw) -> ChoicePlan | CoinsPlan:
    """Append the questions of a draw from records to a draft.

    Raises
    ------
    NotProved
        No rule bounds draws of its law.
    """
    node = release.node
    law = node.parameters["law"]
    # Without replacement, the second item depends on the first, and the theorem is of one draw.
    if law == "choice" and len(node.operands) == 1 and node.parameters.get("replace", True):
        return ChoicePlan.of(draft, release)
    if law in ("bernoulli", "binomial") and len(node.operands) == 1:
        return CoinsPlan.of(draft, release)
    raise NotProved.at(node.place, f"the law of a {law} draw depends on records")
