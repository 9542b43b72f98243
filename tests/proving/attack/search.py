"""The attack on one program: pairs at random, then beside those that move a claim most."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.distances.refinements import ranges
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Distance, Universe

from .exact import Undecided
from .judge import (
    Break,
    Claim,
    Measured,
    Prover,
    confirm,
    kinds_of,
    measure_facts,
    measure_movement,
)
from .pairs import Neighbours, Pairs, constants_of
from .silence import silence_numpy
from .stacked import evaluate_stacked

MakesProver = Callable[[PathProgram, Universe, tuple[NodeKind, ...]], Prover]


@dataclass(frozen=True)
class Effort:
    """How long one program is attacked.

    Parameters
    ----------
    rounds
        Of pairs: one at random, then beside the best.
    width
        Pairs of a round.
    best
        How many of them the next round starts from.
    refined
        Of how many nodes the prover is asked to look deeper; the output is the first.
    boxes, levels, variables
        Of a range that it encloses, at most: fewer are quicker, and no less sound.
    """

    rounds: int = 3
    width: int = 32
    best: int = 3
    refined: int = 1
    boxes: int = 40
    levels: int = 3
    variables: int = 2

    @contextmanager
    def spend(self) -> Iterator[None]:
        """Enclose ranges as roughly inside the block."""
        most = {"BOXES": self.boxes, "LEVELS": self.levels, "VARIABLES": self.variables}
        with mock.patch.multiple(ranges, **{f"MOST_{name}": n for name, n in most.items()}):
            yield


CHEAP = Effort()
FULL = Effort(
    refined=2,
    boxes=ranges.MOST_BOXES,
    levels=ranges.MOST_LEVELS,
    variables=ranges.MOST_VARIABLES,
)
DEEP = replace(FULL, rounds=25, width=64, best=6, refined=1000)


@dataclass
class Outcome:
    """What an attack on one program came to.

    Parameters
    ----------
    proved, refused
        How many nodes that stem from records have a finite distance, and how many have none.
    tight
        How many nodes were moved by all that is proved of one of their norms.
    breaks
        Claims that a pair refutes over the reals.
    undecided
        How many suspects were too close to be told.
    crash
        What the prover failed with, other than a refusal.
    stage
        How far a proof of the whole came: ``refused``, ``traced`` or ``proved``.
    findings
        What is wrong with it, in words.
    """

    proved: int = 0
    refused: int = 0
    tight: int = 0
    breaks: list[Break] = field(default_factory=list)
    undecided: int = 0
    crash: str = ""
    stage: str = ""
    findings: list[str] = field(default_factory=list)

    def merge(self, other: Outcome) -> None:
        """Add what another program came to."""
        self.proved += other.proved
        self.refused += other.refused
        self.tight += other.tight
        self.undecided += other.undecided
        self.breaks += other.breaks


class Attack:
    """An attack on one program.

    Parameters
    ----------
    program, universe
        What is attacked.
    prover
        What makes claims of it.
    seed
        Of pairs and coins.
    """

    def __init__(
        self, program: PathProgram, universe: Universe, make_prover: MakesProver, seed: int
    ) -> None:
        self.program, self.universe = program, universe
        kinds = kinds_of(program)
        self.prover = make_prover(program, universe, kinds)
        self.nodes = [n for n in program.nodes if kinds[n.index] is NodeKind.PRIVATE]
        self.generator = np.random.default_rng([seed, 1])
        self.neighbours = Neighbours(universe, constants_of(program), self.generator)
        self.whole = {n.parameters["part"]: n.dtype for n in self.nodes if n.operation == "data"}
        self.outcome = Outcome()
        self._suspects: set[tuple[int, str]] = set()
        self._tight: set[int] = set()
        self._last: Pairs
        self._refined: set[int] = set()

    def run(self, effort: Effort = CHEAP) -> Outcome:
        """Return what came of it."""
        self._choose_refined(effort)
        with silence_numpy(), effort.spend():
            self._count()
            for _ in range(1 if self.universe.records is not None else 2):
                self._climb(effort)
        self.outcome.tight = len(self._tight)
        return self.outcome

    def _count(self) -> None:
        for node in self.nodes:
            is_finite = np.isfinite(self._distance(node.index).linf)
            self.outcome.proved += int(is_finite)
            self.outcome.refused += int(not is_finite)

    def _choose_refined(self, effort: Effort) -> None:
        """Choose the nodes of which refinements are asked: the last, then any."""
        order = [node.index for node in self.nodes]
        rest = self.generator.permutation(order[:-1]).tolist()
        self._refined = set([*order[-1:], *rest][: effort.refined])

    def _distance(self, index: int) -> Distance:
        if index in self._refined:
            return self.prover.distance(index)
        return self.prover.facts(index).distance

    def _climb(self, effort: Effort) -> None:
        pairs = self.neighbours.make(effort.width, self._records())
        for number in range(effort.rounds):
            claims = list(self._measure(pairs))
            if number + 1 == effort.rounds or not claims:
                return
            _, claim = claims[self._target(claims)]
            best = np.argsort(-claim.ratio)[: effort.best]
            pairs = self.neighbours.beside(self._last, best.tolist(), effort.width)

    def _records(self) -> int:
        """Return the number of records, where neighbours differ in it of the larger dataset."""
        if self.universe.records is not None:
            return self.universe.records
        return int(self.generator.integers(1, 6))

    def _target(self, claims: list[tuple[Node, Claim]]) -> int:
        """Return which claim is aimed at: a late one, more often."""
        last = len(claims) - 1
        return max(0, last - int(self.generator.integers(0, len(claims)) ** 2 // len(claims)))

    def _draws(self, pairs: Pairs) -> list[NDArray[Any]]:
        draws = [node for node in self.program.nodes if node.operation == "draw"]
        return [self.generator.random((len(pairs), *_known(node))) for node in draws]

    def _measure(self, pairs: Pairs) -> Iterator[tuple[Node, Claim]]:
        """Yield claims of nodes, and note those that are beaten."""
        draws = self._draws(pairs)
        try:
            (one, stays), (other, also) = self._evaluate(pairs, draws)
            if not (stays & also).all():
                pairs, draws = pairs.among(stays & also), [v[stays & also] for v in draws]
                (one, _), (other, _) = self._evaluate(pairs, draws)
        except (ValueError, IndexError):  # nothing to choose from, or a power of integers below 0
            return
        self._last = pairs
        if not len(pairs):
            return
        for node in self.nodes:
            first, second = (_as_long(value[node.index], len(pairs)) for value in (one, other))
            for claim in self._claims(Measured(node, first, second), pairs):
                if claim.is_beaten:
                    self._suspect(node, claim, pairs, draws)
                elif claim.name in ("l1", "l2", "linf"):
                    if claim.ratio[claim.best] > 1 - 1e-9:
                        self._tight.add(node.index)
                    yield node, claim

    def _evaluate(self, pairs: Pairs, draws: list[NDArray[Any]]) -> list[Any]:
        """Return the values of both sides, and which of them stay on the path."""
        sides = (self._typed(data) for data in (pairs.one, pairs.other))
        return [evaluate_stacked(self.program, data, draws) for data in sides]

    def _claims(self, measured: Measured, pairs: Pairs) -> Iterator[Claim]:
        index = measured.node.index
        yield from measure_facts(self.prover.facts(index), measured, pairs)
        yield from measure_movement(self._distance(index), measured)

    def _typed(self, data: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        return {name: value.astype(self.whole.get(name, "float64")) for name, value in data.items()}

    def _suspect(self, node: Node, claim: Claim, pairs: Pairs, draws: list[NDArray[Any]]) -> None:
        """Note a claim that is beaten over the reals, once for each node and name."""
        if (node.index, claim.name) in self._suspects:
            return
        self._suspects.add((node.index, claim.name))
        best = claim.best % len(pairs)
        coins = tuple(one[best] for one in draws)
        differs = pairs.differs[best]
        found = Break(
            claim.name,
            node,
            claim.bound,
            float(claim.found[best]),
            *pairs.pair(best),
            differs,
            coins,
        )
        try:
            if confirm(
                self.prover.facts(node.index), self._distance(node.index), self.program, found
            ):
                self.outcome.breaks.append(found)
        except Undecided:
            self.outcome.undecided += 1


def _known(node: Node) -> tuple[int, ...]:
    return tuple(one for one in node.shape if one is not None)


def _as_long(value: NDArray[Any], many: int) -> NDArray[Any]:
    """Return a value of each pair: what is alike of all of them stands once."""
    return value if len(value) == many else np.broadcast_to(value, (many, *value.shape[1:]))
