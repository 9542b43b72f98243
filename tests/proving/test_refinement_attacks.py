"""Small random programs: no value of them moves further than any refinement says."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.distances.refinements import REFINEMENTS
from dpaudit.proving.program import PathProgram, evaluate_program
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Part, Universe
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


OF_TWO: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a.sum(),
    lambda a, b: (a * b).sum(),
    lambda a, b: a @ b,
    lambda a, b: a.sum() ** 2,
    lambda a, b: a.sum() * b.sum(),
    lambda a, b: np.log1p((a**2).sum()),
    lambda a, b: np.exp(-(a**2).sum()),
    lambda a, b: np.sqrt(((a - b) ** 2).sum()),
    lambda a, b: (a**2).sum() / (1 + np.abs(b).sum()),
    lambda a, b: np.minimum(a.sum(), 1.5),
    lambda a, b: a.max() - b.min(),
]
OF_COUNTED: list[Callable[[Any, Any], Any]] = [
    *OF_TWO,
    lambda a, b: (a * b).mean() - a.mean() * b.mean(),
    lambda a, b: np.median(a) - np.median(b),
    lambda a, b: np.array([np.median(a), np.median(b), a.max()]),
    lambda a, b: np.array([a.sum(), b.sum(), (a * b).sum()]),
    lambda a, b: np.abs(a - b.mean()).sum(),
]
OF_TABLE: list[Callable[[Any], Any]] = [
    lambda x: x.T @ x,
    lambda x: x.mean(axis=0),
    lambda x: (x - x.mean(axis=0)).T @ (x - x.mean(axis=0)),
    lambda x: np.array([np.median(column) for column in x.T]),
    lambda x: (x @ np.array([1.0, -2.0])).sum(),
    lambda x: (x**2).sum(axis=1).max(),
    lambda x: np.median(x, axis=0),
    lambda x: x.sum(axis=0) ** 2,
]


def _choose(rng: Draw, several: Any) -> Any:
    return several[rng.integers(len(several))]


def _grow(rng: Draw, known: list[Any], steps: Any) -> list[Any]:
    """Return arrays, and more that are made of them."""
    for _ in range(rng.integers(1, 5)):
        known = [*known, _choose(rng, steps)(rng, _choose(rng, known), _choose(rng, known))]
    return known


def _array_function(seed: int) -> Callable[[Any], Any]:
    """Return a random function of an array; the same each time it is called."""

    def function(x: Any) -> Any:
        rng = np.random.default_rng(seed)
        known = _grow(rng, [x], TO_ARRAY)
        return _choose(rng, TO_NUMBER)(rng, known[-1])

    return function


def _table_function(seed: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        rng = np.random.default_rng(seed)
        if rng.integers(4) == 0:
            return _choose(rng, OF_TABLE)(x)
        known = _grow(rng, [x[:, 0], x[:, 1]], TO_ARRAY)
        return _choose(rng, OF_COUNTED)(known[-1], _choose(rng, known))

    return function


def _uncounted_function(seed: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        rng = np.random.default_rng(seed)
        known = _grow(rng, [x], TO_ARRAY[:14])
        return _choose(rng, OF_TWO)(known[-1], _choose(rng, known))

    return function


ENDS = [(0.0, 1.0), (-2.0, 3.0), (-1.0, 1.0), (0.5, 4.0)]


def _replace_records(seed: int, shape: tuple[int, ...], count: int) -> list[tuple[Any, Any]]:
    """Return neighbours of corners, middles and any numbers that differ in some records."""
    rng = np.random.default_rng(seed)
    low, high = ENDS[seed // 2 % 4]
    pairs = []
    for _ in range(300):
        x = _choose_numbers(rng, low, high, shape)
        y = x.copy()
        places = rng.choice(shape[0], count, replace=False)
        y[places] = _choose_numbers(rng, low, high, (count, *shape[1:]))
        pairs.append((x, y))
    return pairs


def _add_records(seed: int, count: int) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(seed)
    low, high = ENDS[seed // 2 % 4]
    pairs = []
    for _ in range(200):
        x = _choose_numbers(rng, low, high, (rng.integers(1, 6),))
        pairs.append((x, np.concatenate([x, _choose_numbers(rng, low, high, (count,))])))
    return pairs


def _choose_numbers(rng: Draw, low: float, high: float, shape: Any) -> NDArray[np.float64]:
    middle = 0.5 * low + 0.5 * high
    found: NDArray[np.float64] = rng.choice([low, high, middle, low, high], shape)
    return found if rng.random() < 0.8 else rng.uniform(low, high, shape)


def _assert_bounds_hold(program: PathProgram, universe: Universe, pairs: list[Any]) -> None:
    """Check each refinement by itself, and all of them together, for every value."""
    analysis = Analysis(program, universe)
    values = [[evaluate_program(program, {"0": x}, ()) for x in pair] for pair in pairs]
    for node in program.nodes:
        if analysis.kinds[node.index] is NodeKind.PRIVATE and None not in node.shape:
            steps = [_subtract(one[node.index], other[node.index]) for one, other in values]
            most = np.max([_norms(step) for step in steps], axis=0)
            for refine in (Analysis.distance, *REFINEMENTS):
                bound = refine(analysis, node.index)
                ends = np.array([bound.l1, bound.l2, bound.linf])
                assert (most <= ends * (1 + SLACK) + SLACK).all()


def _subtract(one: Any, other: Any) -> NDArray[np.float64]:
    return np.abs(np.asarray(one, dtype=float) - np.asarray(other, dtype=float)).ravel()


def _norms(steps: NDArray[np.float64]) -> tuple[float, float, float]:
    return steps.sum(), np.sqrt((steps**2).sum()), steps.max(initial=0.0)


def _attack_array(seed: int) -> None:
    count, (low, high) = 1 + seed % 2, ENDS[seed // 2 % 4]
    tracing, _ = trace(_array_function(seed), np.zeros(RECORDS))
    part = Part("0", (RECORDS,), np.asarray(low), np.asarray(high))
    universe = Universe((part,), RECORDS, "replace", count)
    _assert_bounds_hold(tracing.program, universe, _replace_records(seed, (RECORDS,), count))


def _attack_table(seed: int) -> None:
    count, (low, high), shape = 1 + seed % 2, ENDS[seed // 2 % 4], (RECORDS, 2)
    tracing, _ = trace(_table_function(seed), np.zeros(shape))
    part = Part("0", shape, np.full(2, low), np.full(2, high))
    universe = Universe((part,), RECORDS, "replace", count)
    _assert_bounds_hold(tracing.program, universe, _replace_records(seed, shape, count))


def _attack_uncounted(seed: int) -> None:
    count, (low, high) = 1 + seed % 2, ENDS[seed // 2 % 4]
    tracing, _ = trace(_uncounted_function(seed), np.zeros(RECORDS), uncounted=True)
    part = Part("0", (None,), np.asarray(low), np.asarray(high))
    universe = Universe((part,), None, "add-remove", count, "add-remove-record")
    _assert_bounds_hold(tracing.program, universe, _add_records(seed, count))


ATTACKS = [_attack_array, _attack_table, _attack_uncounted]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("seed", [0, 1])
def test_no_value_of_a_random_program_moves_further(
    attack: Callable[[int], None], seed: int
) -> None:
    attack(seed)


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("block", range(20))
def test_no_value_of_many_random_programs_moves_further(
    attack: Callable[[int], None], block: int
) -> None:
    for seed in range(1000 + 20 * block, 1020 + 20 * block):
        attack(seed)
