r"""Releases of Poisson samples: each record takes part by a fresh coin of a public probability.

**Theorem.** Let a release be ``h(sum over i of m_i g_i) + noise``, where g_i depends on record i
and on what was released before, h on that and on its argument, and the m_i are coins that show 1
with probability q, one for each record, of which nothing else is made. Let one of two neighbours
have one record more. Then given the other coins one centre is c, and the other is c with
probability 1 - q and else c', ``|c - c'|`` at most the distance D of the centre for fixed coins. So
Gaussian noise of scale s has the dominating pair of a Poisson-subsampled Gaussian release with
multiplier ``s / D`` (Zhu, Dong & Wang 2022, Theorem 11), and Laplace noise of scale b costs
``log(1 + q (exp(D / b) - 1))``.

*Proof.* The record's coin is independent of all others, so both laws are mixtures over these with
the same weights; divergences are jointly convex. Where its coin shows 0 the record adds 0 to the
sum and is nowhere else. []

Steps of one loop are such releases one after the other, each with coins of its own: accountants
compose them as what they are. Under replaced records nothing is gained here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal

import numpy as np

from dpaudit.accounting.composition import pure_epsilon
from dpaudit.accounting.events import PoissonSubsampledGaussian, PoissonSubsampledLaplace
from dpaudit.guarantees import rounding
from dpaudit.proving.events.draft import Draft
from dpaudit.proving.events.kinds import ReleaseReader
from dpaudit.proving.events.release_forms import Additive
from dpaudit.proving.events.releases import AdditivePlan, Bounds, ReleaseCost
from dpaudit.proving.program import Node

_COPIES = frozenset({"reshape", "broadcast", "transpose"})
_COMPARISONS = frozenset({"less", "less_equal"})


@dataclass(frozen=True)
class Sample:
    """The coins that decide which records a sum is about.

    Parameters
    ----------
    rate
        The probability that a record takes part.
    rows
        Nodes of what is summed, a row for each record.
    """

    rate: float
    rows: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class SampledPlan:
    """A release with additive noise of a sum over a sample.

    Parameters
    ----------
    whole
        The release for fixed coins.
    sample
        Which records take part.
    """

    whole: AdditivePlan
    sample: Sample

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the cost of the release: that for fixed coins where the theorem does not apply.

        Raises
        ------
        NotProved
            Nothing bounds its centre.
        """
        spent = self.whole.measure(bounds)
        # Two added records have two coins, and a replaced one takes its old row out as well:
        # the mixture of the theorem is of one coin.
        is_one_more = bounds.universe.change == "add-remove" and bounds.universe.count == 1
        if not is_one_more or not all(_is_by_record(bounds, one) for one in self.sample.rows):
            return spent
        if self.whole.release.noise.law == "normal":
            return _compute_sampled_gaussian(spent, self.sample.rate)
        if self.whole.release.noise.law == "laplace":
            return _compute_sampled_laplace(spent, self.sample.rate)
        return spent


def _is_by_record(bounds: Bounds, index: int) -> bool:
    """Return whether row i of a value is of record i alone."""
    rows = bounds.facts(index).rows
    return rows is not None and rows.records is None and rows.axis == 0


def _compute_sampled_gaussian(spent: ReleaseCost, rate: float) -> ReleaseCost:
    """Return the cost with the event of a sample; mu and rho hold without one."""
    if not 0 < spent.mu < math.inf:
        return spent
    # Downwards: a smaller multiplier is less noise. Steps of a loop then share one event.
    multiplier = round_down(-rounding.up(-1 / rounding.to_larger_fraction(spent.mu)))
    event = PoissonSubsampledGaussian(sampling_ratio=rate, noise_multiplier=multiplier)
    return replace(spent, mechanism="Gaussian noise on a Poisson sample", event=event)


def round_down(value: float) -> float:
    """Return a number of eleven digits that is not above one: steps that differ by less are alike.

    Examples
    --------
    >>> round_down(1.999999999999996), round_down(0.5), round_down(123.4)
    (1.9999999999, 0.5, 123.4)
    """
    unit = Decimal(1).scaleb(Decimal(value).adjusted() - 10)
    found = float(Decimal(value).quantize(unit, rounding=ROUND_FLOOR))
    # The decimal is below the value, yet the nearest double to it may be above.
    return found if found <= value else math.nextafter(found, 0.0)


def _compute_sampled_laplace(spent: ReleaseCost, rate: float) -> ReleaseCost:
    event = PoissonSubsampledLaplace(sampling_ratio=rate, sensitivity=spent.epsilon)
    epsilon = pure_epsilon(event)
    rho = rounding.half_square_up(epsilon)
    mechanism = "Laplace noise on a Poisson sample"
    return replace(spent, mechanism=mechanism, event=event, epsilon=epsilon, rho=rho)


def sample_of(reader: ReleaseReader, release: Additive) -> Sample | None:
    """Return the sample of which a release's centre is a sum, None where it is of no one sample."""
    return _ReleaseWalk(reader, release).sample()


class _ReleaseWalk:
    """The nodes between a release and public ones."""

    def __init__(self, reader: ReleaseReader, release: Additive) -> None:
        self.reader, self.release = reader, release
        self.draft: Draft = reader.draft
        self.users = reader.users
        self.draws: set[int] = set()
        self.rates: set[float] = set()
        self.rows: list[int] = []

    def sample(self) -> Sample | None:
        """Return the one sample on which the centre depends, and on nothing else of records."""
        if not self._walk() or len(self.draws) != 1 or len(self.rates) != 1:
            return None
        (draw,), (rate,) = self.draws, self.rates
        # Coins that are used outside the release would show who takes part, and amplify
        # nothing.
        return Sample(rate, tuple(self.rows)) if self._is_closed(draw) else None

    def _walk(self) -> bool:
        """Go down from the centre to sums over samples; fail where it meets records elsewhere."""
        pending, seen = [self.release.centre], {self.release.centre}
        while pending:
            node = self.draft.node(pending.pop())
            if node.index in self.reader.public:
                continue
            if self._is_sum_over_sample(node):
                continue
            # Data or draws outside the sample depend on a record whether or not its coin shows
            # 1.
            if not node.operands and node.operation != "constant":
                return False
            if None in node.shape:
                return False
            fresh = [one for one in node.operands if one not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return True

    def _is_sum_over_sample(self, node: Node) -> bool:
        """Note the coins and rows of a sum over records that take part."""
        for coins, rows in self._products(node):
            mask = self._coins(coins)
            # A row that depends on the coins is not the g_i of the theorem, which is fixed
            # given history.
            if mask is None or self._depends_on(rows, mask[0]):
                continue
            self.draws.add(mask[0])
            self.rates.add(mask[1])
            self.rows.append(rows)
            return True
        return False

    def _products(self, node: Node) -> Sequence[tuple[int, int]]:
        """Return the factors of which a node is a sum over records, in both orders."""
        if node.operation == "matmul":
            left, right = node.operands
            is_row = len(self.draft.shape(left)) == 1 and self.draft.shape(left) == (None,)
            return [(left, right)] if is_row else []
        if node.operation != "sum" or node.parameters["axis"] not in (None, 0, (0,), [0]):
            return []
        inner = self.draft.node(node.operands[0])
        if inner.shape[:1] != (None,):
            return []
        # Whoever does not take part has to add exactly 0.
        if inner.operation == "where" and self._is_zero(inner.operands[2]):
            return [(inner.operands[0], inner.operands[1])]
        if inner.operation != "multiply":
            return []
        one, other = inner.operands
        return [(one, other), (other, one)]

    def _is_zero(self, index: int) -> bool:
        """Return whether a node is the constant 0."""
        value = self.draft.value(index)
        return value is not None and not np.any(value)

    def _coins(self, index: int) -> tuple[int, float] | None:
        """Return the draw and the rate of coins, one for each record."""
        node = self.draft.node(index)
        while node.operation in _COPIES and node.operation != "transpose":
            node = self.draft.node(node.operands[0])
        if node.operation not in _COMPARISONS or node.shape != (None,):
            return None
        draw, edge = self.draft.node(node.operands[0]), self.draft.value(node.operands[1])
        # The rate has to be one public number: odds by record may depend on the record.
        if edge is None or edge.size != 1 or not 0 < float(edge.item()) <= 1:
            return None
        is_uniform = draw.operation == "draw" and draw.parameters["law"] == "uniform"
        return (draw.index, float(edge.item())) if is_uniform and draw.shape == (None,) else None

    def _depends_on(self, index: int, draw: int) -> bool:
        """Return whether a node depends on a draw other than through public nodes."""
        pending, seen = [index], {index}
        while pending:
            at = pending.pop()
            if at == draw:
                return True
            if at in self.reader.public:
                continue
            fresh = [one for one in self.draft.node(at).operands if one not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return False

    def _is_closed(self, draw: int) -> bool:
        """Return whether everything that is made of the coins leads to the release."""
        inside = self._before_release()
        pending, seen = [draw], {draw}
        while pending:
            at = pending.pop()
            if at == self.release.node.index:
                continue
            if at not in inside or at in self.draft.program.outputs:
                return False
            fresh = [k for k in self.users[at] if k in self.reader.live and k not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return True

    def _before_release(self) -> set[int]:
        """Return the nodes on which the release depends other than through public ones."""
        start = self.release.node.index
        pending, seen = [start], {start}
        while pending:
            at = pending.pop()
            if at in self.reader.public and at != start:
                continue
            fresh = [one for one in self.draft.node(at).operands if one not in seen]
            seen.update(fresh)
            pending.extend(fresh)
        return seen
