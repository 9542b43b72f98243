"""Losses that runs show: a run on one dataset is replayed on its neighbour.

The draws are moved so that every release comes out as before. The sum of ``log p(r) - log p(r')``
over the draws is the log-ratio of the densities of the outputs there, which no bound on epsilon may
be below. Where no draws give the same releases, the two datasets are told apart by every run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.universe import Universe

from .pairs import Data, Neighbours, Pairs, constants_of
from .silence import silence_numpy
from .stacked import evaluate_stacked

_SLACK = 1e-7  # of draws that are to be alike, relative
_LAWS = ("laplace", "normal")


@dataclass(frozen=True)
class Release:
    """A noisy value: a centre plus, or minus, a public number times a draw of its own.

    Parameters
    ----------
    node, centre, noise, draw
        The nodes.
    """

    node: int
    centre: int
    noise: int
    draw: int


def additive_releases(program: PathProgram) -> tuple[Release, ...] | None:
    """Return what a program releases, where its outputs are noisy values and public numbers.

    None where it is anything else, such as a choice, or noise of another law or shape.
    """
    found = []
    for output in dict.fromkeys(program.outputs):
        if program.nodes[output].operation == "constant":
            continue
        release = _additive(program, output)
        if release is None:
            return None
        found.append(release)
    draws = {node.index for node in program.nodes if node.operation == "draw"}
    return tuple(found) if {one.draw for one in found} == draws else None


def are_normal(program: PathProgram) -> bool:
    """Return whether all noise is normal."""
    laws = {node.parameters["law"] for node in program.nodes if node.operation == "draw"}
    return laws == {"normal"}


def _additive(program: PathProgram, index: int) -> Release | None:
    node = program.nodes[index]
    if node.operation not in ("add", "subtract"):
        return None
    for place in (0, 1) if node.operation == "add" else (1,):
        noise, centre = node.operands[place], node.operands[1 - place]
        needed = [program.nodes[one] for one in program.slice(noise)]
        draws = [one for one in needed if one.operation == "draw"]
        is_plain = {one.operation for one in needed} <= {"draw", "multiply", "divide", "constant"}
        if len(draws) == 1 and is_plain and draws[0].shape == node.shape:
            is_known = draws[0].parameters["law"] in _LAWS
            return Release(index, centre, noise, draws[0].index) if is_known else None
    return None


@dataclass(frozen=True)
class Losses:
    """What replays of many pairs show.

    Parameters
    ----------
    epsilon
        Log-ratios of densities, of shape ``(pairs,)``; infinite where outputs differ.
    mu
        Root of the sum of squares of conditional movements by scale.
    """

    epsilon: NDArray[np.float64]
    mu: NDArray[np.float64]


class Replay:
    """Replays the runs of a program on neighbours.

    Parameters
    ----------
    program
        Its outputs hold every release.
    releases
        The releases, in order.
    generator
        Of draws.
    """

    def __init__(
        self, program: PathProgram, releases: Sequence[Release], generator: np.random.Generator
    ) -> None:
        self.program, self.releases = program, sorted(releases, key=lambda one: one.node)
        self.generator = generator
        self.draws = [node for node in program.nodes if node.operation == "draw"]

    def measure(self, pairs: Pairs) -> Losses:
        """Return losses of runs whose draws point away from the neighbour's centres."""
        draws = [self._draw(node, len(pairs)) for node in self.draws]
        for _ in range(len(self.releases)):
            draws = self._pointed(pairs, draws)
        one, stays = evaluate_stacked(self.program, pairs.one, draws)
        stays = stays & ~self._swallowed(one, draws)
        moved = before = draws
        for _ in range(len(self.releases) + 1):
            before, moved = moved, self._moved(pairs, moved, one)
        return self._losses(draws, moved, _differ(before, moved), stays)

    def _draw(self, node: Node, many: int) -> NDArray[np.float64]:
        shape = (many, *(one for one in node.shape if one is not None))
        if node.parameters["law"] == "uniform":
            return self.generator.random(shape)
        sizes = self.generator.choice((0.1, 1.0, 3.0, 10.0), (many,) + (1,) * (len(shape) - 1))
        return np.asarray(sizes * self.generator.standard_normal(shape))

    def _values(
        self, data: Data, draws: Sequence[Any], forced: Mapping[int, Any] | None = None
    ) -> list[NDArray[np.float64]]:
        return evaluate_stacked(self.program, data, draws, forced)[0]

    def _number(self, release: Release) -> int:
        return int(self.program.nodes[release.draw].parameters["number"])

    def _sign(self, release: Release) -> int:
        return -1 if self.program.nodes[release.node].operation == "subtract" else 1

    def _pointed(self, pairs: Pairs, draws: list[Any]) -> list[Any]:
        """Return draws with the sign in which the loss is positive."""
        one = self._values(pairs.one, draws)
        forced = {release.node: one[release.node] for release in self.releases}
        other, found = self._values(pairs.other, draws, forced), list(draws)
        for release in self.releases:
            number = self._number(release)
            moved = np.subtract(one[release.centre], other[release.centre], dtype=float)
            scale = one[release.noise] / draws[number]
            sign = np.sign(moved) * self._sign(release) * np.sign(scale)
            keeps = self.generator.random(len(pairs)) < 0.1
            keeps = keeps.reshape(-1, *(1,) * (found[number].ndim - 1)) | (sign == 0)
            found[number] = np.where(keeps, found[number], sign * np.abs(found[number]))
        return found

    def _moved(self, pairs: Pairs, draws: list[Any], one: list[Any]) -> list[Any]:
        """Return the draws with which the neighbour releases what the dataset does."""
        forced = {release.node: one[release.node] for release in self.releases}
        other, found = self._values(pairs.other, draws, forced), list(draws)
        for release in self.releases:
            number = self._number(release)
            rest = np.subtract(one[release.node], other[release.centre], dtype=float)
            scale = other[release.noise] / draws[number]
            found[number] = rest * self._sign(release) / scale
        return found

    def _swallowed(self, one: list[Any], draws: list[Any]) -> NDArray[np.bool_]:
        """Return for which pairs a release is so large that its noise is lost in its rounding."""
        found = np.zeros(len(draws[0]), dtype=bool)
        for release in self.releases:
            scale = np.abs(one[release.noise] / draws[self._number(release)])
            lost = np.finfo(np.float64).eps * np.abs(one[release.node]) > _SLACK * scale
            found |= lost.reshape(len(found), -1).any(axis=1)
        return found

    def _losses(self, draws: list[Any], moved: list[Any], differs: Any, stays: Any) -> Losses:
        many = len(draws[0])
        epsilon, squares = np.zeros(many), np.zeros(many)
        for release in self.releases:
            number = self._number(release)
            before, after = (np.reshape(value[number], (many, -1)) for value in (draws, moved))
            if self.program.nodes[release.draw].parameters["law"] == "laplace":
                epsilon += (np.abs(after) - np.abs(before)).sum(axis=1)
            else:
                epsilon += (after**2 - before**2).sum(axis=1) / 2
            squares += ((after - before) ** 2).sum(axis=1)
        mu = np.sqrt(squares)
        shown = (np.where(differs, math.inf, value) for value in (epsilon, mu))
        return Losses(*(np.where(stays, np.nan_to_num(v, posinf=math.inf), 0.0) for v in shown))


def _differ(before: list[Any], after: list[Any]) -> NDArray[np.bool_]:
    """Return for which pairs no draws give the same releases: other uses of them tell."""
    found = np.zeros(len(before[0]), dtype=bool)
    for one, other in zip(before, after, strict=True):
        one, other = (np.reshape(value, (len(value), -1)) for value in (one, other))
        is_apart = np.abs(one - other) > _SLACK * (1 + np.abs(one))
        found |= (is_apart | (np.isnan(one) != np.isnan(other))).any(axis=1)
    return found


def search_losses(
    program: PathProgram,
    universe: Universe,
    releases: Sequence[Release],
    seed: int,
    *,
    rounds: int = 4,
    width: int = 48,
) -> tuple[float, float]:
    """Return the largest log-ratio and the largest mu that a search finds."""
    rng = np.random.default_rng([seed, 2])
    neighbours = Neighbours(universe, constants_of(program), rng)
    replay, epsilon, mu = Replay(program, releases, rng), 0.0, 0.0
    records = universe.records if universe.records is not None else int(rng.integers(1, 6))
    pairs = neighbours.make(width, records)
    with silence_numpy():
        for _ in range(rounds):
            for way in (pairs, turn(pairs)):
                losses = replay.measure(way)
                epsilon = max(epsilon, float(losses.epsilon.max(initial=0.0)))
                mu = max(mu, float(losses.mu.max(initial=0.0)))
            best = np.argsort(-losses.mu)[:4]
            pairs = neighbours.beside(pairs, best.tolist(), width)
    return epsilon, mu


def turn(pairs: Pairs) -> Pairs:
    """Return pairs with both datasets in each other's place."""
    return Pairs(pairs.other, pairs.one, pairs.differs)
