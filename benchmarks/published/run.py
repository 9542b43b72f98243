"""Published bounds of what nodes of a network learn, over what is exact: ``make published``.

Writes ``docs/published-bounds.md``. Nothing is random, and nothing is timed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.published import exact, page, statements
from benchmarks.published.graphs import GRAPHS, OBSERVER, distances, mixing_rounds, weights_of
from dpaudit import account
from dpaudit.algorithms.multistep.algorithm import compute_theorem6_multiplier
from dpaudit.algorithms.problems.graphs import Graph
from dpaudit.guarantees.kinds import GaussianDP, ZeroConcentratedDP

ROOT = Path(__file__).resolve().parents[2]
DELTA = 1e-5
ROUNDS = 10  # with noise in every round
ERROR = 1e-3  # with which messages are read
LENGTHS = (5, 10, 20, 40)  # rounds over which growth is shown
PROMISES = (0.01, 0.1, 1.0, 5.0)  # epsilons of private ADMM's experiments
ADMM_DELTA = 1e-6
PROMISED, MULTISTEP = 1.0, (6, 10, 5)  # an epsilon; nodes, iterations, inner steps
_LEAST = 1e-12  # a square of mu, below which nothing is learnt
DRAWN, AWAY = "ring", 2  # a graph, and how far the node is whose growth is shown


@dataclass(frozen=True)
class Once:
    """A node with noise once: squares of mu, published and exact, and epsilons at `DELTA`."""

    graph: str
    nodes: int
    rounds: int
    distance: int
    node: int
    published: float
    exact: Fraction
    later: Fraction
    misread: float

    @property
    def ratio(self) -> float:
        """The published square over the exact one."""
        return self.published / float(self.exact)

    @property
    def epsilons(self) -> tuple[float, float]:
        """Published and exact, each from its square."""
        published = ZeroConcentratedDP(self.published / 2).epsilon(DELTA)
        return published, GaussianDP(float(self.exact) ** 0.5).epsilon(DELTA)


@dataclass(frozen=True)
class Every:
    """A node with noise in every round: squares of mu, the exact one proved."""

    graph: str
    nodes: int
    rounds: int
    distance: int
    node: int
    summed: float
    factored: float
    exact: float
    proof: str

    @property
    def epsilons(self) -> tuple[float, float, float]:
        """By the sum, by the factorisation, exact."""
        summed = ZeroConcentratedDP(self.summed / 2).epsilon(DELTA)
        factored, here = (GaussianDP(x**0.5).epsilon(DELTA) for x in (self.factored, self.exact))
        return summed, factored, here


@dataclass(frozen=True)
class Growth:
    """What so many rounds of one change add up to: mu^2 by the sum without its limit, and exact."""

    rounds: int
    summed: float
    exact: float


@dataclass(frozen=True)
class Conversion:
    """A promised epsilon, the rho that private ADMM's code takes for it, and what rho gives."""

    promised: float
    rho: float
    exact: float


@dataclass(frozen=True)
class Promise:
    """Epsilon as promised, and exactly for who is so many edges away; 0: for who hears all."""

    distance: int
    promised: float
    exact: float


def once(name: str, graph: Graph) -> list[Once]:
    """Return all nodes that the observer learns anything of, where noise is added once."""
    weights = weights_of(graph)
    rounds, apart = mixing_rounds(weights), distances(graph)
    published = statements.noise_once(weights, heard_by(graph), rounds)
    here = exact.squares_once(graph, OBSERVER, rounds)
    later = exact.squares_once_later(graph, OBSERVER, rounds)
    return [
        Once(
            graph=name,
            nodes=graph.nodes,
            rounds=rounds,
            distance=apart[node],
            node=node,
            published=float(published[node]),
            exact=here[node],
            later=later[node],
            misread=exact.square_misread(weights, graph, OBSERVER, node, rounds, ERROR),
        )
        for node in range(graph.nodes)
        if here[node] > 0
    ]


def every_round(name: str, graph: Graph) -> Iterator[Every]:
    """Yield one node a distance, of all rounds' noise: see `shown_nodes`."""
    weights = weights_of(graph)
    summed = statements.noise_every_round(weights, [*heard_by(graph), OBSERVER], ROUNDS).tolist()
    grams = exact.grams_every_round(weights, graph, OBSERVER, ROUNDS)
    factored = [statements.factored(gram) for gram in grams]
    for distance, node in shown_nodes(distances(graph), summed, factored):
        view = exact.views_every_round(weights, graph, OBSERVER, node, ROUNDS)
        yield Every(
            graph=name,
            nodes=graph.nodes,
            rounds=ROUNDS,
            distance=distance,
            node=node,
            summed=summed[node],
            factored=factored[node],
            exact=view.mu.upper**2,
            proof=view.proof,
        )


def shown_nodes(
    apart: Sequence[int], summed: Sequence[float], factored: Sequence[float]
) -> Iterator[tuple[int, int]]:
    """Yield distances, and the node there whose sum is loosest; of neighbours, its factored number.

    Examples
    --------
    >>> list(shown_nodes([0, 1, 1, 2, 2], [0, 2, 2, 2, 2], [0, 1.5, 1.9, 0.2, 0.1]))
    [(1, 2), (2, 4)]
    """
    for distance in range(1, max(apart) + 1):
        nodes = [n for n, far in enumerate(apart) if far == distance and factored[n] > _LEAST]
        size = {n: factored[n] if distance == 1 else summed[n] / factored[n] for n in nodes}
        if nodes:
            yield distance, max(nodes, key=lambda one: round(size[one], 6))


def growth(graph: Graph, node: int) -> Iterator[Growth]:
    """Yield what one change, the same in all rounds, adds up to."""
    heard, weights = [*heard_by(graph), OBSERVER], weights_of(graph)
    for rounds in LENGTHS:
        summed = statements.noise_every_round(weights, heard, rounds, clip=False)
        view = exact.views_every_round(weights, graph, OBSERVER, node, rounds, [1] * rounds)
        yield Growth(rounds, float(summed[node]), view.mu.upper**2)


def conversions() -> Iterator[Conversion]:
    """Yield what the promised epsilons of private ADMM's experiments are exactly."""
    for promised in PROMISES:
        rho = statements.concentrated_rho(promised, ADMM_DELTA)
        yield Conversion(promised, rho, GaussianDP((2 * rho) ** 0.5).epsilon(ADMM_DELTA))


def theorem(nodes: int, iterations: int, inner_steps: int) -> Iterator[Promise]:
    """Yield what node 0's record is promised on a ring by Theorem 6, and what observers learn."""
    sigma = compute_theorem6_multiplier(PROMISED, DELTA, iterations * inner_steps)
    sizes = {"nodes": nodes, "iterations": iterations, "inner_steps": inner_steps}
    run: dict[str, Any] = {"graph": "ring", "about": 0, "noise_scale": sigma} | sizes
    for distance in range(nodes // 2 + 1):
        run["observer"] = [distance] if distance else []
        proved: Any = account("multistep-view", DELTA, **run).proved  # there is one of every view
        yield Promise(distance, PROMISED, proved.upper)


def heard_by(graph: Graph) -> list[int]:
    """Return the observer's neighbours."""
    return [int(node) for node in np.flatnonzero(graph.adjacency[OBSERVER])]


def worst_of_each_distance(rows: Iterable[Once]) -> list[Once]:
    """Return the node with the smallest ratio of every graph and distance."""
    kept: dict[tuple[str, int], Once] = {}
    for row in rows:
        key = (row.graph, row.distance)
        if key not in kept or round(row.ratio, 6) < round(kept[key].ratio, 6):
            kept[key] = row
    return [kept[key] for key in sorted(kept, key=lambda key: (list(GRAPHS).index(key[0]), key[1]))]


@dataclass(frozen=True)
class Found:
    """All rows of the page."""

    nodes: list[Once]
    every: list[Every]
    growth: list[Growth]
    conversions: list[Conversion]
    promises: list[Promise]

    @property
    def once(self) -> list[Once]:
        """The nodes with noise once that are shown."""
        return worst_of_each_distance(self.nodes)

    def page(self) -> str:
        """Return the page."""
        return page.written(
            nodes=self.nodes,
            once=self.once,
            every=self.every,
            growth=self.growth,
            conversions=self.conversions,
            promises=self.promises,
        )


def found() -> Found:
    """Work everything out."""
    graphs = {name: make() for name, make in GRAPHS.items()}
    return Found(
        nodes=[row for name, graph in graphs.items() for row in once(name, graph)],
        every=[row for name, graph in graphs.items() for row in every_round(name, graph)],
        growth=list(growth(graphs[DRAWN], AWAY)),
        conversions=list(conversions()),
        promises=list(theorem(*MULTISTEP)),
    )


def main() -> None:
    """Write the page and its picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="a folder")
    docs = parser.parse_args().docs
    all_rows = found()
    shown = {
        docs / "published-bounds.md": all_rows.page(),
        docs / "pictures" / "published-bounds.svg": page.drawn(
            all_rows.once, all_rows.every, DRAWN
        ),
    }
    for file, text in shown.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        print(file)


if __name__ == "__main__":
    main()
