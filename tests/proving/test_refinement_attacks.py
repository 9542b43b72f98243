"""Small random programs: no value of them moves further than any refinement says."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpaudit.proving.analysis import Analysis
from dpaudit.proving.program import Program, evaluate
from dpaudit.proving.refinements import REFINEMENTS
from dpaudit.proving.trace import Kind
from dpaudit.proving.universe import Distance, Part, Universe
from tests.proving.arrays import trace

RECORDS = 3
SLACK = 1e-9
Draw = np.random.Generator

TO_ARRAY: list[Callable[[Draw, Any, Any], Any]] = [
    lambda rng, a, b: a + b,
    lambda rng, a, b: a - b,
    lambda rng, a, b: a * b,
    lambda rng, a, b: np.abs(a - rng.choice([0.0, 0.3, 1.0])),
    lambda rng, a, b: np.maximum(a, b),
    lambda rng, a, b: np.minimum(a, float(rng.choice([0.25, 0.5]))),
    lambda rng, a, b: a / (1 + b**2),
    lambda rng, a, b: a * float(rng.choice([-1.0, 0.5, 3.0])),
    lambda rng, a, b: a**2,
    lambda rng, a, b: np.exp(-np.abs(a)),
    lambda rng, a, b: np.sqrt(np.abs(a)),
    lambda rng, a, b: np.sin(3 * a),
    lambda rng, a, b: np.where(a > b, a, 0.5),
    lambda rng, a, b: 1.0 * (a < b),
    lambda rng, a, b: a - a.mean(),
    lambda rng, a, b: a * b.sum(),
    lambda rng, a, b: a[::-1] - b,
    lambda rng, a, b: np.sort(a),
    lambda rng, a, b: a / (2 + (b**2).sum()),
]
TO_NUMBER: list[Callable[[Draw, Any], Any]] = [
    lambda rng, a: a.sum(),
    lambda rng, a: a.mean(),
    lambda rng, a: (a**2).sum(),
    lambda rng, a: a.max() - a.min(),
    lambda rng, a: np.median(a),
    lambda rng, a: np.quantile(a, float(rng.choice([0.25, 0.6]))),
    lambda rng, a: np.sqrt((a**2).sum()),
    lambda rng, a: np.log1p((a**2).sum()),
    lambda rng, a: a.sum() ** 2 - (a**2).sum(),
    lambda rng, a: (a * np.exp(a)).sum() / np.exp(a).sum(),
    lambda rng, a: (a**2).sum() / (1 + np.abs(a).sum()),
    lambda rng, a: a.prod(),
    lambda rng, a: a[0] - a[2],
    lambda rng, a: a @ a[::-1],
    lambda rng, a: np.abs(a - a.mean()).sum(),
    lambda rng, a: np.sort(a)[1] - a.mean(),
]


def _compose(seed: int) -> Callable[[Any], Any]:
    """Return a random function of an array; the same each time it is called."""

    def function(x: Any) -> Any:
        rng = np.random.default_rng(seed)
        known = [x]
        for _ in range(rng.integers(1, 5)):
            step = TO_ARRAY[rng.integers(len(TO_ARRAY))]
            first, second = (known[rng.integers(len(known))] for _ in range(2))
            known.append(step(rng, first, second))
        return TO_NUMBER[rng.integers(len(TO_NUMBER))](rng, known[-1])

    return function


def _datasets(low: float, high: float, seed: int) -> tuple[NDArray[np.float64], Any]:
    """Return datasets of corners and of any numbers, and which pairs of them are neighbours."""
    rng = np.random.default_rng(seed)
    values = np.array([low, 0.5 * low + 0.5 * high, high])
    grid = np.array(list(itertools.product(values, repeat=RECORDS)))
    grid = np.concatenate([grid, rng.uniform(low, high, (20, RECORDS))])
    datasets, pairs = list(grid), []
    for number, x in enumerate(grid):
        for place, value in itertools.product(range(RECORDS), [*values, rng.uniform(low, high)]):
            other = x.copy()
            other[place] = value
            pairs.append((number, len(datasets)))
            datasets.append(other)
    return np.array(datasets), np.array(pairs).T


def _move_most(program: Program, datasets: NDArray[np.float64], pairs: Any) -> list[Distance]:
    """Return how far each value moves, for the worst of pairs."""
    values = [evaluate(program, {"0": x}, ()) for x in datasets]
    most = []
    for node in program.nodes:
        each = np.array([one[node.index] for one in values], dtype=float).reshape(len(values), -1)
        steps = np.abs(each[pairs[0]] - each[pairs[1]])
        norms = steps.sum(axis=1), np.sqrt((steps**2).sum(axis=1)), steps.max(axis=1, initial=0.0)
        most.append(Distance(*(float(one.max()) for one in norms)))
    return most


def _attack(seed: int) -> None:
    low, high = [(0.0, 1.0), (-2.0, 3.0), (-1.0, 1.0), (0.5, 4.0)][seed % 4]
    tracing, _ = trace(_compose(seed), np.zeros(RECORDS))
    part = Part("0", (RECORDS,), np.asarray(low), np.asarray(high))
    analysis = Analysis(tracing.program, Universe((part,), RECORDS, "replace"))
    most = _move_most(tracing.program, *_datasets(low, high, seed))
    for index, found in enumerate(most):
        if analysis.kinds[index] is Kind.PRIVATE:
            for bound in (analysis.distance(index), *(one(analysis, index) for one in REFINEMENTS)):
                for moved, end in zip(_norms(found), _norms(bound), strict=True):
                    assert moved <= end * (1 + SLACK) + SLACK


def _norms(distance: Distance) -> tuple[float, float, float]:
    return distance.l1, distance.l2, distance.linf


@pytest.mark.parametrize("seed", range(6))
def test_no_value_of_a_random_program_moves_further(seed: int) -> None:
    _attack(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_no_value_of_many_random_programs_moves_further(block: int) -> None:
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        _attack(seed)
