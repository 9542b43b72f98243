r"""Randomised response: each entry is told truly or at random, by coins of a public law.

**Theorem.** Let entry i of what is shown be a function f of a private entry ``a_i`` and of coins
of its own, which nothing else uses, a_i one of finitely many whole numbers. With
``P(y | a)`` the law of ``f(a, coins)``, and neighbours that differ in m entries by at most d, it
costs m times the largest ``log P(y | a) / P(y | a')`` over y and ``|a - a'| <= d``. Whole numbers
that differ do so by 1 at least: m is at most the L1 distance.

*Proof.* Entries are independent given the records, and those that are equal have equal laws. []

The laws are added up exactly, over all values of the coins: the odds of a uniform draw that is
compared with public numbers are the lengths between these. Warner 1965 is two values; any number
of values, any odds and any way to write them (`where`, `==`, sums modulo k) are the same sum.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.guarantees import rounding
from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.distances.facts import RowOrigins
from dpaudit.proving.events.draft import Draft, is_known, size_of
from dpaudit.proving.events.kinds import ReleaseReader
from dpaudit.proving.events.release_forms import ReleaseMatch
from dpaudit.proving.events.releases import (
    Bounds,
    ReleaseCost,
    make_pure_spending,
    make_unbounded_error,
)
from dpaudit.proving.program import EVALUATORS, Node, PathProgram, Shape
from dpaudit.proving.universe import Universe

_ENTRYWISE = frozenset(
    "add subtract multiply minimum maximum remainder less less_equal equal not_equal logical_and "
    "logical_or logical_xor negative absolute sign floor ceil rint trunc logical_not where".split()
)
_MOVES = frozenset({"take", "reshape", "transpose"})
# Pairs of private values are compared with each other, for every answer.
_MOST_VALUES = 64
# Private values times outcomes of all coins, each with an exact fraction.
_MOST_WAYS = 4096

Law = Mapping[float, Fraction]
"""The probability of each value."""


@dataclass(frozen=True, eq=False)
class Response:
    """Entries that are told by coins.

    Parameters
    ----------
    node
        What is shown.
    truth
        The node of the private entries.
    laws
        Of an entry that is shown, by the private one.
    coins
        The nodes of the draws, an entry of each for an entry that is shown.
    inside
        Nodes between these and what is shown, which nothing else uses.
    """

    node: Node
    truth: int
    laws: Mapping[int, Law]
    coins: tuple[int, ...] = ()
    inside: frozenset[int] = frozenset()

    @property
    def shape(self) -> Shape:
        """The shape of the response."""
        return self.node.shape

    def stacked(self, draft: Draft) -> int:
        """Append the private entries, in a row, in the unit in which a distance of 1 costs 1."""
        # The cost by unit of distance, so that an L1 distance of the stack bounds the cost.
        slope = math.nextafter(slope_of(self.laws), math.inf)
        row = draft.flatten(draft.broadcast(self.truth, self.shape))
        return draft.apply("multiply", [row, draft.constant(slope)], place=self.node.place)

    def measure(self, bounds: Bounds) -> ReleaseCost:
        """Return the cost.

        Raises
        ------
        NotProved
            An answer tells for sure what an entry is not.
        """
        moved = bounds.distance(self.truth)
        # One private entry may be told several times, each time by coins of its own.
        copies = size_of(self.shape) // max(size_of(bounds.program.nodes[self.truth].shape), 1)
        changed = copies * min(count_changed_entries(bounds, self.truth), moved.l1)
        epsilon = epsilon_of(self.laws, moved.linf)
        if epsilon == math.inf:
            raise make_unbounded_error(bounds, self.truth, self.node.place)
        return make_pure_spending(
            self.node, "randomised response", rounding.times_up(math.floor(changed), epsilon)
        )


def slope_of(laws: Mapping[int, Law]) -> float:
    """Return the largest log-ratio of two laws by the distance of their private entries."""
    apart = {abs(one - other) for one, other in itertools.permutations(laws, 2)}
    return max((epsilon_of(laws, by) / by for by in apart), default=0.0)


def count_changed_entries(bounds: Bounds, index: int) -> int:
    """Return in how many entries of a value neighbours differ at most, by where records stand."""
    shape = bounds.program.nodes[index].shape
    rows, count = bounds.facts(index).rows, size_of(shape)
    # Where nothing is known of rows, every entry may differ.
    if rows is None or not shape or bounds.universe.change != "replace":
        return count
    length = shape[rows.axis] or 1
    return min(count, count // length * _rows_of_records(rows) * bounds.universe.count)


def _rows_of_records(rows: RowOrigins) -> int:
    """Return in how many rows one record stands at most."""
    if rows.records is None:
        return 1
    # A set, as a record may stand twice in one row and still changes it once.
    pairs = {(n, int(one)) for each in rows.records for n, one in enumerate(each) if one >= 0}
    counts = Counter(record for _, record in pairs)
    return max(counts.values(), default=0)


def epsilon_of(laws: Mapping[int, Law], reach: float) -> float:
    """Return the largest log-ratio of two laws whose private entries are within reach.

    Examples
    --------
    >>> fair = Fraction(1, 4)
    >>> laws = {0: {0.0: 1 - fair, 1.0: fair}, 1: {0.0: fair, 1.0: 1 - fair}}
    >>> round(epsilon_of(laws, 1.0), 9) == round(math.log(3), 9)
    True
    """
    found = Fraction(1)
    for one, other in itertools.permutations(laws, 2):
        if abs(one - other) <= reach:
            # An answer that only one of two values can give tells them apart for sure.
            if laws[one].keys() != laws[other].keys():
                return math.inf
            ratios = (p / laws[other][value] for value, p in laws[one].items())
            found = max(found, *ratios)
    # Equal laws cost nothing at all, which no rounded logarithm would say.
    return 0.0 if found == 1 else rounding.bound_above(math.log(found), 1.0)


def claim_responses(reader: ReleaseReader, universe: Universe) -> None:
    """Have entries that are told by coins be releases, where their odds are bounded."""
    nodes = reader.draft.program.nodes
    if any(nodes[one].parameters["law"] in _LAWS for one in reader.noise):
        for claim in _ResponseFinder(reader, universe).claims():
            reader.claim([claim])


def find_responses(program: PathProgram, universe: Universe) -> dict[int, Response]:
    """Return the entries of a program that are told by coins, by their node."""
    reader = ReleaseReader(program)
    if not any(program.nodes[one].parameters["law"] in _LAWS for one in reader.noise):
        return {}
    claims = [one.release for one in _ResponseFinder(reader, universe).claims()]
    return {one.node.index: one for one in claims if isinstance(one, Response)}


@dataclass(frozen=True, eq=False)
class _Cone:
    """The steps between a value and the private entries and coins that form it.

    Parameters
    ----------
    inside
        Nodes, the value among them, in order.
    coins
        Nodes of fresh draws.
    truth
        The node of the private entries.
    """

    inside: tuple[int, ...]
    coins: tuple[int, ...]
    truth: int


class _ResponseFinder:
    """Values that are functions of a private entry and of coins of their own."""

    def __init__(self, reader: ReleaseReader, universe: Universe) -> None:
        self.reader = reader
        self.draft = reader.draft
        self.program = PathProgram(list(reader.draft.program.nodes[: reader.draft.own]))
        self.users = self.program.uses()
        self.analysis = Analysis(self.program, universe)
        self.is_random, self.is_secret = _find_node_origins(self.program)
        self.used: set[int] = set()

    def claims(self) -> Iterator[ReleaseMatch]:
        """Yield the first values of finite odds, in order."""
        for node in self.program.nodes:
            is_mixed = self.is_random[node.index] and self.is_secret[node.index]
            if not is_mixed or node.index not in self.reader.live or not is_known(node.shape):
                continue
            claim = self._claim(node) if node.operation in _ENTRYWISE else None
            if claim is not None:
                self.used.update(claim.hidden, claim.heads)
                yield claim

    def _claim(self, node: Node) -> ReleaseMatch | None:
        cone = self._cone(node)
        # The first value that coins form is the release; whatever is made of it afterwards is
        # public.
        if cone is None or self.used & {*cone.inside, *cone.coins}:
            return None
        if not self._is_closed(node, cone):
            return None
        laws = self._laws(node, cone)
        # A larger part of the program may have finite odds where this one has not.
        if laws is None or epsilon_of(laws, math.inf) == math.inf:
            return None
        atoms = np.concatenate([self._atoms(one).reshape(-1) for one in cone.coins])
        inside = {one for one in cone.inside if self.is_random[one]}
        hidden = frozenset({*inside, *cone.coins} - {node.index})
        return ReleaseMatch(
            (node.index,),
            hidden,
            atoms,
            Response(node, cone.truth, laws, cone.coins, hidden - {*cone.coins}),
        )

    def _cone(self, node: Node) -> _Cone | None:
        """Return the parts of a value, if it is coins and one private value, entry by entry."""
        inside, coins, truths, pending = {node.index}, set[int](), set[int](), [*node.operands]
        while pending:
            one = pending.pop()
            if one in inside or one in coins or self.draft.value(one) is not None:
                continue
            if not self.is_random[one]:
                truths.add(one)
            elif self._is_coin(one):
                coins.add(one)
            elif self._is_entrywise(one, node):
                inside.add(one)
                pending.extend(self.program.nodes[one].operands)
            else:
                return None
        return self._with_one_truth(node, inside, coins, truths)

    def _is_entrywise(self, index: int, node: Node) -> bool:
        one = self.program.nodes[index]
        return one.operation in _ENTRYWISE and one.shape == node.shape

    def _is_spread(self, index: int, node: Node) -> bool:
        """Return whether a value has an entry for each of a node's, or one for all."""
        shape = self.draft.shape(index)
        return shape == node.shape or (is_known(shape) and size_of(shape) == 1)

    def _with_one_truth(
        self, node: Node, inside: set[int], coins: set[int], truths: set[int]
    ) -> _Cone | None:
        """Go down to one private value of which all others are made entry by entry."""
        # Several private values are functions of a common one, or their joint changes are
        # unknown. The last in the program cannot be an operand of the others.
        while len(truths) > 1:
            last = max(truths)
            made = self.program.nodes[last]
            if made.operation not in _ENTRYWISE or not self._is_spread(last, node):
                return None
            truths.remove(last)
            inside.add(last)
            operands = self.program.nodes[last].operands
            truths.update(one for one in operands if self.draft.value(one) is None)
        if not truths or not coins:
            return None
        (truth,) = truths
        # A coin for several entries makes them dependent.
        if any(self.draft.shape(one) != node.shape for one in coins):
            return None
        if not self._is_spread(truth, node):
            return None
        return _Cone(tuple(sorted(inside)), tuple(sorted(coins)), truth)

    def _is_coin(self, index: int) -> bool:
        """Return whether a node is entries of a draw, each once."""
        node = self.program.nodes[index]
        while node.operation in _MOVES:
            node = self.program.nodes[node.operands[0]]
        return node.index in self.reader.noise and node.parameters["law"] in _LAWS

    def _draw_of(self, index: int) -> Node:
        node = self.program.nodes[index]
        while node.operation in _MOVES:
            node = self.program.nodes[node.operands[0]]
        return node

    def _atoms(self, index: int) -> NDArray[np.int64]:
        node = self.program.nodes[index]
        if node.index in self.reader.noise:
            return self.reader.noise[node.index].terms[0].atoms
        before = self._atoms(node.operands[0])
        return np.asarray(EVALUATORS[node.operation](before, **node.parameters))

    def _is_closed(self, node: Node, cone: _Cone) -> bool:
        """Return whether nothing else uses the coins, nor the nodes they are part of."""
        for one in (*cone.inside, *cone.coins):
            if one == node.index or not self.is_random[one]:
                continue
            users = {user for user in self.users[one] if user in self.reader.live}
            # Whoever sees a coin knows what it hides.
            if not users <= set(cone.inside) or one in self.reader.draft.program.outputs:
                return False
        return True

    def _laws(self, node: Node, cone: _Cone) -> dict[int, Law] | None:
        """Return the law of an entry for each value of the private one."""
        values = self._values(cone.truth)
        laws = [self._law_of_coin(one, cone) for one in cone.coins]
        known = [one for one in laws if one is not None]
        if values is None or len(known) < len(laws):
            return None
        if math.prod(map(len, known)) * len(values) > _MOST_WAYS:
            return None
        return _laws_of_entry(self.draft, node, cone, values, known)

    def _values(self, truth: int) -> list[int] | None:
        """Return the whole numbers that a private entry may be, if they are few."""
        facts = self.analysis.facts(truth)
        if facts.refusal is not None or not facts.is_integer:
            return None
        low, high = float(np.min(facts.low)), float(np.max(facts.high))
        if not high - low < _MOST_VALUES:
            return None
        return list(range(math.ceil(low), math.floor(high) + 1))

    def _law_of_coin(self, index: int, cone: _Cone) -> Law | None:
        node = self._draw_of(index)
        if node.parameters["law"] == "uniform":
            return self._law_of_uniform(index, cone)
        law = _LAWS[node.parameters["law"]]
        return None if law is None else law(node.parameters)

    def _law_of_uniform(self, index: int, cone: _Cone) -> Law | None:
        """Return the lengths between numbers with which a uniform draw is compared."""
        edges = {Fraction(0), Fraction(1)}
        for one in cone.inside:
            node = self.program.nodes[one]
            if index not in node.operands:
                continue
            other = next((k for k in node.operands if k != index), index)
            value = self.draft.value(other)
            if node.operation not in ("less", "less_equal") or value is None or value.size != 1:
                return None
            # Outside [0, 1] the comparison always ends in the same way.
            edges.add(min(max(Fraction(float(value.item())), Fraction(0)), Fraction(1)))
        return _compute_interval_law(sorted(edges))


def _compute_interval_law(edges: Sequence[Fraction]) -> Law | None:
    """Return a law with a number between each two edges, of the probability to lie there."""
    # A number inside each interval stands for all of it: comparisons with the edges see nothing
    # else. Whether an edge belongs to it does not matter, since a draw equals it with
    # probability 0.
    found = {float((a + b) / 2): b - a for a, b in itertools.pairwise(edges) if a < b}
    inner = [float(one) for one in edges[1:-1]]
    # Two edges that are neighbouring doubles have no double between them.
    return found if len(found) == len(edges) - 1 and not set(inner) & found.keys() else None


def _law_of_integers(given: Mapping[str, Any]) -> Law | None:
    low, high = given["low"], given["high"]
    if not isinstance(low, int) or not isinstance(high, int) or high - low > 1024:
        return None
    return {float(one): Fraction(1, high - low) for one in range(low, high)}


def _law_of_bernoulli(given: Mapping[str, Any]) -> Law | None:
    p = given["p"]
    if not isinstance(p, int | float) or not 0 <= p <= 1:
        return None
    # The exact value of the double that the generator compares with.
    odds = Fraction(float(p))
    return {value: q for value, q in ((0.0, 1 - odds), (1.0, odds)) if q}


def _law_of_binomial(given: Mapping[str, Any]) -> Law | None:
    return _law_of_bernoulli(given) if given["n"] == 1 else None


def _law_of_choice(given: Mapping[str, Any]) -> Law | None:
    """Return the law of a number that is drawn with public probabilities."""
    weights = [Fraction(float(one)) for one in given.get("p", ())]
    if not given["replace"] or len(weights) != given["count"] or len(weights) > _MOST_VALUES:
        return None
    total = sum(weights)
    return {float(n): one / total for n, one in enumerate(weights) if one} if total else None


_LAWS = {
    "uniform": None,
    "integers": _law_of_integers,
    "bernoulli": _law_of_bernoulli,
    "binomial": _law_of_binomial,
    "choice": _law_of_choice,
}


def _laws_of_entry(
    draft: Draft, node: Node, cone: _Cone, values: Sequence[int], laws: Sequence[Law]
) -> dict[int, Law] | None:
    """Add up the probabilities of the answers that an entry may be told as."""
    ways = list(itertools.product(*(one.items() for one in laws)))
    odds = [math.prod((p for _, p in way), start=Fraction(1)) for way in ways]
    found: dict[int, Law] = {}
    for value in values:
        numbers = {one: np.array([w[n][0] for w in ways]) for n, one in enumerate(cone.coins)}
        numbers[cone.truth] = np.full(len(ways), float(value))
        told = _compute_coin_entry(draft, node, cone, numbers)
        if told is None:
            return None
        law: dict[float, Fraction] = {}
        for one, p in zip(told.tolist(), odds, strict=True):
            law[float(one)] = law.get(float(one), Fraction(0)) + p
        found[value] = law
    return found


def _compute_coin_entry(
    draft: Draft, node: Node, cone: _Cone, numbers: dict[int, NDArray[Any]]
) -> NDArray[Any] | None:
    """Return an entry for all values of coins; None where it is rounded, or entries differ."""
    with np.errstate(all="ignore"):
        for index in cone.inside:
            one = draft.node(index)
            operands = [numbers.get(k, _get_uniform_constant(draft, k)) for k in one.operands]
            if any(k is None for k in operands):
                return None
            told = EVALUATORS[one.operation](*operands, **one.parameters)
            found = np.asarray(told, dtype=float)
            if not _is_exact(found):
                return None
            numbers[index] = found
    return np.broadcast_to(np.asarray(numbers[node.index], dtype=float), numbers[cone.truth].shape)


def _is_exact(numbers: NDArray[Any]) -> bool:
    """Return whether doubles are small multiples of a power of 2, of which no sum is rounded."""
    # Multiples of 2**-20 below 2**20 leave 13 bits for carries in a sum of doubles.
    scaled = np.asarray(numbers, dtype=float) * 2.0**20
    return bool(np.all(np.isfinite(scaled) & (scaled == np.rint(scaled)) & (abs(scaled) < 2.0**40)))


def _get_uniform_constant(draft: Draft, index: int) -> NDArray[Any] | None:
    """Return a constant that is the same for all entries."""
    value = draft.value(index)
    if value is None or not value.size or not np.all(value == value.flat[0]):
        return None
    return np.asarray(value.flat[0])


def _find_node_origins(program: PathProgram) -> tuple[list[bool], list[bool]]:
    """Return which nodes depend on draws, and which on data."""
    is_random, is_secret = list[bool](), list[bool]()
    for node in program.nodes:
        is_random.append(node.operation == "draw" or any(is_random[k] for k in node.operands))
        is_secret.append(
            node.operation in ("data", "size") or any(is_secret[k] for k in node.operands)
        )
    return is_random, is_secret
