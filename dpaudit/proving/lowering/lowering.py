"""Programs of arrays as programs of one real number a node, which the checker reads.

What is written is untrusted: the checker bounds it by rules of its own, and `dpaudit verify` writes
it again from the reader's code. Where a program treats all records alike, one number of each stands
for all; elsewhere each record has numbers of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from dpaudit.proving.events.inverse_cdf import with_plain_laws
from dpaudit.proving.events.responses import Response, find_responses
from dpaudit.proving.events.usage import SEEN
from dpaudit.proving.lowering.arrays import Arranger, ScalarBlock, replace_items
from dpaudit.proving.lowering.entrywise import ENTRYWISE, apply_sampling_coin
from dpaudit.proving.lowering.reductions import Reducer
from dpaudit.proving.lowering.scalars import (
    Core,
    NotAlike,
    NotLowered,
    NotSampled,
    Scalar,
    to_json_number,
)
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.trace import FunctionTrace
from dpaudit.proving.universe import Universe

_ONE = Fraction(1)
# Each record has numbers of its own there, so that programs grow with the number of records.
_MOST_ROWS = 2000
_ARRANGED = frozenset("take transpose broadcast reshape assign concatenate".split())
_REDUCED = frozenset("sum mean prod max min median quantile argmax argmin".split())
_LINEAR = frozenset("add subtract multiply divide negative".split())
_RANGES = {
    "bool": (0, 1),
    **{f"uint{n}": (0, 2**n - 1) for n in (8, 16, 32, 64)},
    **{f"int{n}": (-(2 ** (n - 1)), 2 ** (n - 1) - 1) for n in (8, 16, 32, 64)},
}
_HALVES = frozenset({"exponential", "geometric"})
_TYPED = frozenset("data less less_equal equal not_equal argmax argmin".split())
_CONTINUOUS = frozenset("normal laplace logistic cauchy uniform exponential gumbel".split())
_CHECKED = frozenset(_RANGES) | {"float64"}


@dataclass(eq=False)
class LoweredPrograms:
    """Programs of all paths, as JSON has them.

    Parameters
    ----------
    alike
        Whether one number of each record stands for all records.
    draws
        The laws of noise, by number.
    paths
        Nodes and outputs.
    """

    alike: bool
    draws: list[dict[str, Any]]
    paths: list[dict[str, Any]]


@dataclass(eq=False)
class _DrawNumbering:
    """The draws of all paths: each entry of one has a number."""

    laws: list[dict[str, Any]] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def number(self, draw: int, entry: int, law: Mapping[str, Any], *, each: bool) -> int:
        """Return the number of an entry of a draw that has a law."""
        found = {**law, "each": each}
        key = repr((draw, entry, sorted(found.items())))
        if key not in self._known:
            self._known[key] = len(self.laws)
            self.laws.append(found)
        return self._known[key]


def lower_trace(trace: FunctionTrace) -> LoweredPrograms:
    """Return programs of all paths: where records are alike, if that is possible.

    Parameters
    ----------
    trace
        The paths of a function.

    Raises
    ------
    NotLowered
        The checker has no such program.
    """
    programs = [with_plain_laws(one.program) for one in trace.paths]
    wanted = find_needed_nodes(programs)
    is_small = (trace.universe.records or math.inf) <= _MOST_ROWS
    # The shortest program first: one number for all records. Samples are tried only where
    # records are added, as they gain nothing under replacement.
    ways = [(True, True), (True, False), *([(False, False)] if is_small else [])]
    for alike, samples in ways[trace.universe.change == "replace" :]:
        draws = _DrawNumbering()
        try:
            paths = [
                _Lowering(trace.universe, program, needed, draws, alike, samples).path()
                for program, needed in zip(programs, wanted, strict=True)
            ]
        except (NotAlike, NotSampled) as error:
            reason = str(error)
            continue
        return LoweredPrograms(alike, draws.laws, paths)
    raise NotLowered(f"no rule covers its treatment of records: {reason}")


def find_needed_nodes(programs: Sequence[PathProgram]) -> list[set[int]]:
    """Return of each path the nodes that it, or another one that is the same so far, needs."""
    found: dict[tuple[bool, ...], set[int]] = {}
    parts = []
    for program in programs:
        decisions = [one for one in program.nodes if one.operation == "decide"]
        needed = set[int]()
        seen = (node.index for node in program.nodes if node.operation in SEEN)
        for one in (*program.outputs, *seen):
            needed.update(program.slice(one))
        outcomes = [bool(one.parameters["outcome"]) for one in decisions]
        edges = [-1, *(one.index for one in decisions), len(program.nodes)]
        own = [(tuple(outcomes[:k]), edges[k], edges[k + 1]) for k in range(len(edges) - 1)]
        for way, first, last in own:
            # Paths that are alike so far have to be written alike, or the checker takes them
            # for different programs: what one of them needs before they part, all of them
            # write.
            found.setdefault(way, set()).update(one for one in needed if first < one <= last)
        parts.append([way for way, _, _ in own])
    return [set().union(*(found[way] for way in ways)) for ways in parts]


class _Lowering:
    """One path."""

    def __init__(
        self,
        universe: Universe,
        program: PathProgram,
        needed: set[int],
        draws: _DrawNumbering,
        alike: bool,
        samples: bool,
    ) -> None:
        self.universe, self.program, self.needed = universe, program, needed
        self.users = program.uses()
        self.draws, self.alike, self.samples = draws, alike, samples
        self.core = Core(records=universe.records)
        self.arranger = Arranger(universe.records)
        self.reducer = Reducer(self.core, self.arranger)
        self.blocks: dict[int, ScalarBlock] = {}
        self.failures: dict[int, NotLowered] = {}
        self.responses = self._responses()
        self.uniform: dict[int, tuple[int, int]] = {}

    def path(self) -> dict[str, Any]:
        """Return the nodes and outputs."""
        hidden = frozenset[int]().union(*(one.inside for one in self.responses.values()))
        for node in self.program.nodes:
            if node.index in self.needed - hidden:
                self._lower(node)
        outputs = [one for index in self.program.outputs for one in self._seen(index)]
        return {"nodes": self.core.nodes, "outputs": outputs}

    def _responses(self) -> dict[int, Response]:
        try:
            return find_responses(self.program, self.universe)
        except NotProved:
            return {}

    def _lower(self, node: Node) -> None:
        self.core.place = node.place
        operands = () if node.index in self.responses else node.operands
        missing = [self.failures[one] for one in operands if one in self.failures]
        try:
            if missing:
                raise missing[0]
            found = self._value(node, [self.blocks[one] for one in operands])
            self.blocks[node.index] = self._typed(node, found)
        except NotLowered as error:
            # A decision cannot be left out. Any other node may fail: perhaps nothing that is
            # shown needs it.
            if node.operation == "decide" or isinstance(error, NotAlike | NotSampled):
                raise
            self.failures[node.index] = error

    def _seen(self, index: int) -> list[int]:
        if index in self.failures:
            raise self.failures[index]
        return [one.node for one in self._shown(self.blocks[index]).items]

    def _typed(self, node: Node, block: ScalarBlock) -> ScalarBlock:
        """Return numbers of a type that holds whole numbers of some size only."""
        if node.dtype not in _CHECKED:
            raise NotLowered(f"no rule covers {node.dtype} numbers")
        if node.dtype == "float64" or node.operation in _TYPED or self._is_only_moved(node):
            return block
        # Rounded to whole numbers, continuous noise has another law.
        if node.operation == "draw" and node.parameters["law"] in _CONTINUOUS:
            raise NotLowered("no rule covers rounded noise")
        if node.operation == "draw":
            return block
        low, high = _RANGES[node.dtype]
        found = tuple(self._fitted(one, low, high) for one in block.items)
        if node.dtype == "bool":
            self.core.truths.update(one.node for one in found)
        return replace_items(block, found)

    def _is_only_moved(self, node: Node) -> bool:
        """Return whether all numbers are some of others of the same type."""
        types = {self.program.nodes[one].dtype for one in node.operands}
        return node.operation in _ARRANGED and types == {node.dtype}

    def _fitted(self, one: Scalar, low: int, high: int) -> Scalar:
        if one.node in self.core.truths:
            return one
        inner = self.core.within(Scalar(one.node, one.number, one.is_local), low, high, whole=True)
        return replace(one, node=inner.node, number=inner.number)

    # operations

    def _value(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        name, given = node.operation, node.parameters
        if node.index in self.responses:
            return self._respond(node, self.responses[node.index])
        if name == "draw":
            return self._drawn(node, blocks)
        if name in ("data", "size", "constant"):
            return self._given(node)
        if name in _ARRANGED:
            return self.arranger.arrange_block(name, given, blocks)
        coins = any(one.sample is not None for block in blocks for one in block.items)
        if name in ("less", "less_equal") and (found := self._coins(node, blocks)) is not None:
            return found
        if coins and name in ENTRYWISE:
            both = self.arranger.together(blocks)
            groups = zip(*(one.items for one in both), strict=True)
            return replace_items(
                both[0], [apply_sampling_coin(self.core, name, one) for one in groups]
            )
        if name in ("argmax", "argmin") and (chosen := self._chosen(node, blocks[0])) is not None:
            return chosen
        noisy = any(one.noise for block in blocks for one in block.items)
        if noisy and name in _LINEAR and (sums := self._linear(node, blocks)) is not None:
            return sums
        return self._plain(node, [self._shown(one) for one in blocks] if noisy else blocks)

    def _plain(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        """Return the result of an operation on numbers without noise."""
        name, given = node.operation, node.parameters
        if name == "decide":
            (one,) = blocks[0].items
            decided = self.core.add("decide", [one], outcome=bool(given["outcome"]))
            self.core.truths.add(decided.node)
            return replace_items(blocks[0], [decided])
        if name == "within":
            low, high = (Fraction(float(given[k])) if math.isfinite(given[k]) else given[k]
                         for k in ("low", "high"))  # fmt: skip
            return replace_items(
                blocks[0],
                [self.core.within(one, low, high, whole=False) for one in blocks[0].items],
            )
        if name in _REDUCED:
            return self.reducer.reduced(name, given, blocks[0])
        ways = {
            "matmul": self.reducer.multiplied,
            "bin_counts": self.reducer.counted,
            "cumsum": self.reducer.cumulated,
            "sort": self.reducer.sorted_values,
            "call": self._called,
        }
        if name in ways:
            return ways[name](node, blocks)
        if name not in ENTRYWISE:
            raise NotLowered(f"no rule covers {name}")
        both = self.arranger.together(blocks)
        groups = zip(*(one.items for one in both), strict=True)
        return replace_items(both[0], [ENTRYWISE[name](self.core, *one) for one in groups])

    def _given(self, node: Node) -> ScalarBlock:
        if node.operation == "size":
            one = self.core.number(1)
            if not self.alike:
                return ScalarBlock((), (self.core.number(self.universe.records or 0),))
            return ScalarBlock((), (self.core.total(one),))
        if node.operation == "constant":
            value = np.asarray(node.parameters["value"])
            return ScalarBlock(
                value.shape, tuple(self._constant(one) for one in value.ravel().tolist())
            )
        return self._data(node.parameters["part"])

    def _constant(self, value: Any) -> Scalar:
        # The checker computes in exact numbers; whatever is made of a broken one is unbounded.
        if isinstance(value, float) and not math.isfinite(value):
            return self.core.add("broken", [self.core.number(0)])
        return self.core.number(Fraction(value))

    def _data(self, name: str) -> ScalarBlock:
        part = self.universe.part(name)
        cells = math.prod(n or 1 for n in part.shape[1:])
        rows: Sequence[int | None] = [None] if self.alike else range(self.universe.records or 0)
        items = [
            self.core.add("data", part=name, row=row, cell=cell, local=self.alike)
            for row in rows
            for cell in range(cells)
        ]
        shape = (len(rows), *(n or 1 for n in part.shape[1:]))
        return ScalarBlock(shape, tuple(items), 0 if self.alike else None)

    # noise

    def _drawn(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        if blocks:
            raise NotLowered("no rule covers a draw whose law depends on a value")
        given, shape = node.parameters, list(node.shape)
        rows = self.alike and bool(shape) and shape[0] == self.universe.records
        if rows:
            shape[0] = 1
        law = {k: v for k, v in given.items() if k != "number"}
        law = {k: float(v) if isinstance(v, float) else v for k, v in law.items()}
        zero = self.core.number(0)
        items = []
        for entry in range(math.prod(one or 1 for one in shape)):
            draw = self.draws.number(given["number"], entry, law, each=rows)
            self.uniform[draw] = (given["number"], entry)
            items.append(Scalar(zero.node, zero.number, rows, ((draw, _ONE),)))
        return ScalarBlock(tuple(one or 1 for one in shape), tuple(items), 0 if rows else None)

    def _coins(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock | None:
        """Return the coins of a Poisson sample, one for each record that there may be."""
        draws, edges = (block.items for block in blocks)
        if not self.samples or len(draws) != 1 or len(edges) != 1 or blocks[0].axis is None:
            return None
        (one,), (edge,) = draws, edges
        if edge.number is None or not 0 < edge.number <= 1 or not self._is_uniform(one):
            return None
        number, entry = self.uniform[one.noise[0][0]]
        law = {"law": "sample", "rate": to_json_number(edge.number)}
        draw = self.draws.number(number, entry, law, each=True)
        sure = self.core.number(1)
        return replace_items(blocks[0], [Scalar(sure.node, None, True, (), draw)])

    def _is_uniform(self, one: Scalar) -> bool:
        if one.number != 0 or len(one.noise) != 1 or one.noise[0][1] != 1:
            return False
        law = self.draws.laws[one.noise[0][0]]
        return law["law"] == "uniform" and bool(law["each"])

    def _linear(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock | None:
        """Return sums with noise, and public multiples of noise; None if there is more."""
        name = node.operation
        is_free = all(self._is_used_once(one) for one in node.operands)
        both = self.arranger.together(blocks)
        found = []
        for group in zip(*(one.items for one in both), strict=True):
            one = self._noisy(name, group, is_free) if any(s.noise for s in group) else None
            if one is None and any(s.noise for s in group):
                return None
            found.append(one or ENTRYWISE[name](self.core, *group))
        return replace_items(both[0], found)

    def _is_used_once(self, index: int) -> bool:
        return len(self.users[index]) == 1 and index not in self.program.outputs

    def _is_half(self, one: Scalar) -> bool:
        """Return whether noise is one of two draws whose difference hides something."""
        laws = {self.draws.laws[draw]["law"] for draw, _ in one.noise}
        return len(one.noise) == 1 and laws <= _HALVES

    def _noisy(self, name: str, group: tuple[Scalar, ...], is_free: bool) -> Scalar | None:
        a, b = group[0], group[-1]
        hiding = [one for one in group if one.noise and one.number is None]
        if hiding and not (is_free and all(map(self._is_half, hiding))):
            return None  # it hides something already
        if name in ("add", "subtract"):
            sign = _ONE if name == "add" else -_ONE
            return self._with_noise([(_ONE, a), (sign, b)])
        if name == "negative":
            return self._with_noise([(-_ONE, a)])
        one, other = (b, a) if name == "multiply" and b.noise else (a, b)
        if not one.noise or other.noise or not other.number:
            return None
        return self._with_noise([(1 / other.number if name == "divide" else other.number, one)])

    def _with_noise(self, terms: Sequence[tuple[Fraction, Scalar]]) -> Scalar:
        noise: dict[int, Fraction] = {}
        for factor, one in terms:
            for draw, own in one.noise:
                noise[draw] = noise.get(draw, Fraction(0)) + factor * own
        centre = self.core.sum((factor, replace(one, noise=())) for factor, one in terms)
        # Noise that cancels exactly hides nothing, and must not count as noise.
        kept = tuple((draw, factor) for draw, factor in sorted(noise.items()) if factor)
        local = any(one.is_local for _, one in terms)
        return replace(centre, noise=kept, is_local=local if kept else centre.is_local)

    def _shown(self, block: ScalarBlock) -> ScalarBlock:
        """Return an array after somebody has looked at it."""
        return replace_items(block, [self._add_release_node(one) for one in block.items])

    def _add_release_node(self, one: Scalar) -> Scalar:
        if one.sample is not None:
            raise NotSampled("the coins of a sample are seen")
        if not one.noise:
            return one
        draws, factors = zip(*one.noise, strict=True)
        centre = Scalar(one.node, one.number, one.is_local)
        return self.core.add(
            "release",
            [centre],
            draws=list(draws),
            factors=list(map(to_json_number, factors)),
            each=one.is_local,
            local=one.is_local,
        )

    def _chosen(self, node: Node, block: ScalarBlock) -> ScalarBlock | None:
        """Return the place of the largest score with noise of its own; None if it is none."""
        sign = _ONE if node.operation == "argmax" else -_ONE
        noise = [one.noise for one in block.items]
        factors = {sign * factor for one in noise for _, factor in one}
        draws = [draw for one in noise for draw, _ in one]
        if block.axis is not None or len(block.shape) != 1 or any(len(one) != 1 for one in noise):
            return None
        laws = {self.draws.laws[draw]["law"] for draw in draws}
        if len(factors) > 1 or not laws <= {"gumbel", "exponential", "laplace"}:
            return None
        (factor,) = factors
        # Laplace noise is symmetric, so its sign does not matter; the other two laws are not.
        if laws == {"laplace"}:
            factor = abs(factor)
        scores = [self.core.sum([(sign, replace(one, noise=()))]) for one in block.items]
        known = {"draws": draws, "factor": to_json_number(factor), "each": False, "local": False}
        return ScalarBlock((), (self.core.add("choose", scores, **known),))

    def _respond(self, node: Node, response: Response) -> ScalarBlock:
        """Return answers that are drawn by the odds of a whole number."""
        truth = self.arranger.together(
            [self.blocks[response.truth], self.blocks[response.coins[0]]]
        )
        coins = [self.blocks[one].items for one in response.coins]
        odds = [
            [value, to_json_number(Fraction(answer)), to_json_number(share)]
            for value, law in sorted(response.laws.items())
            for answer, share in sorted(law.items())
        ]
        items = []
        for place, one in enumerate(truth[0].items):
            draws = [coin[place].noise[0][0] for coin in coins]
            each = coins[0][place].is_local
            items.append(
                self.core.add("respond", [one], draws=draws, odds=odds, each=each, local=each)
            )
        return replace_items(truth[1], items)

    def _called(self, node: Node, blocks: list[ScalarBlock]) -> ScalarBlock:
        """Return the result of a function on public numbers."""
        if any(one.axis is not None for one in blocks):
            raise NotAlike("a function of all records")
        parts = [one for block in blocks for one in block.items]
        count = math.prod(n or 1 for n in node.shape)
        # The checker compares calls by name alone, so the name holds everything that the result
        # depends on.
        name = repr(sorted((k, repr(v)) for k, v in node.parameters.items()))
        items = [self.core.add("other", parts, function=name, entry=k) for k in range(count)]
        return ScalarBlock(tuple(n or 1 for n in node.shape), tuple(items))
