"""Refinements: the sensitivities of 49 statistics, and no bound below what records can do."""

import math
from typing import Any

import numpy as np
import pytest

from benchmarks.dpriv_bench import functions
from benchmarks.dpriv_bench.functions import STATISTICS
from dpaudit import Domain
from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.distances.refinements.pairs import is_affine
from dpaudit.proving.distances.refinements.polynomials import AtomTable
from dpaudit.proving.events.bound import bound_trace
from dpaudit.proving.program import PathProgram
from dpaudit.proving.runs.reading import read_trace
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Part, Universe
from tests.proving.arrays import trace
from tests.proving.refining import refine, search_grid

ATTAINED = 1e-9
ROUNDING = 1e-12  # of the sums of brute force


def _grid(n: int, low: float, high: float) -> Any:
    inner = np.linspace(low, high, {4: 6, 5: 4, 6: 3, 7: 2}[n])
    return np.unique([*inner, *np.clip([0.0, 0.5], low, high)])


def _sensitivity(number: int, shape: tuple[int, ...], low: float, high: float) -> float:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(functions, "float", lambda value: value, raising=False)
        return refine(STATISTICS[number].query, shape, low, high).linf


@pytest.mark.parametrize("number", sorted(STATISTICS))
def test_statistics_have_the_sensitivity_that_brute_force_attains(number: int) -> None:
    query = STATISTICS[number].query
    truth = search_grid(query, 5, _grid(5, 0.0, 1.0))
    assert truth == pytest.approx(STATISTICS[number].claimed.at(5), rel=1e-12)
    bound = _sensitivity(number, (5,), 0.0, 1.0)
    assert truth * (1 - ROUNDING) <= bound <= truth * (1 + ATTAINED)


@pytest.mark.slow
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-2.0, 3.0), (-1.0, 1.0), (0.25, 4.0)])
@pytest.mark.parametrize("n", [4, 5, 6, 7])
@pytest.mark.parametrize("number", sorted(STATISTICS))
def test_no_statistic_moves_further_than_its_bound(
    number: int, n: int, ends: tuple[float, float]
) -> None:
    bound = _sensitivity(number, (n,), *ends)
    if bound < math.inf:
        truth = search_grid(STATISTICS[number].query, n, _grid(n, *ends))
        assert truth * (1 - ROUNDING) <= bound


CLOSED: dict[str, tuple[Any, tuple[int, ...], tuple[float, float]]] = {
    "variance": (lambda x: np.var(x), (1000,), (0.000999, 0.000999)),
    "unbiased variance": (lambda x: x.var(ddof=1), (5,), (0.2, 0.2)),
    "standard deviation": (lambda x: np.std(x), (5,), (0.4, 0.4)),
    "covariance matrix": (lambda x: np.cov(x.T), (5, 2), (0.8, 0.4)),
    "Gram matrix": (lambda x: x.T @ x, (5, 2), (4.0, 2.0)),
    "squares about means": (
        lambda x: ((x - x.mean(axis=0)) ** 2).sum(axis=0),
        (5, 2),
        (1.6, 0.8 * math.sqrt(2)),
    ),
    "medians of columns": (lambda x: np.median(x, axis=0), (6, 2), (1.0, math.sqrt(0.5))),
    "trimmed mean": (lambda x: np.sort(x)[1:-1].mean(), (5,), (1 / 3, 1 / 3)),
    "quartiles": (lambda x: np.quantile(x, [0.25, 0.5, 0.75]), (5,), (1.0, 1.0)),
    "an entry twice": (lambda x: x[[0, 0, 1]] * 1.0, (3,), (2.0, math.sqrt(2))),
    "weights of the order": (lambda x: 3 * np.sort(x)[0] + np.sort(x)[2], (5,), (3.0, 3.0)),
    "pairs": (lambda x: np.abs(x[:, None] - x[None, :]).sum(), (5,), (8.0, 8.0)),
    "length of a mean": (
        lambda x: np.linalg.norm(x.mean(axis=0)),
        (5, 2),
        (math.sqrt(2) / 5, math.sqrt(2) / 5),
    ),
    "weighted mean": (
        lambda x: (x[:, 0] * x[:, 1]).sum() / (1 + x[:, 1].sum()),
        (5, 2),
        (0.5, 0.5),
    ),
}


@pytest.mark.parametrize("name", CLOSED)
def test_usual_statistics_have_their_sensitivity(name: str) -> None:
    function, shape, (l1, l2) = CLOSED[name]
    found = refine(function, shape, 0.0, 1.0)
    assert (found.l1, found.l2) == pytest.approx((l1, l2), rel=1e-9)


def test_two_records_move_twice_as_far_as_one() -> None:
    found = refine(lambda x: (x * (1 - x)).sum(), (5,), 0.0, 1.0, count=2)
    assert found.l1 == pytest.approx(0.5, rel=1e-9)


def test_medians_of_columns_side_by_side_move_by_the_largest_of_them() -> None:
    found = refine(lambda x: np.array([np.median(one) for one in x.T]), (5, 6), 0.0, 1.0)
    assert (found.l1, found.l2, found.linf) == pytest.approx((6.0, math.sqrt(6), 1.0))


def test_a_record_that_is_added_counts_in_full() -> None:
    tracing, output = trace(lambda x: (x * (1 - x)).sum(), np.zeros(3), uncounted=True)
    part = Part("0", (None,), np.asarray(0.5), np.asarray(0.75))
    universe = Universe((part,), None, "add-remove", relation="add-remove-record")
    found = Analysis(tracing.program, universe).distance(tracing.symbol_of(output).index)
    assert found.l1 == pytest.approx(0.25, rel=1e-9)


def test_a_square_moves_further_than_between_its_ends() -> None:
    assert refine(lambda x: x[0] ** 2, (3,), -1.0, 1.0).l1 == pytest.approx(1.0)


def test_the_root_of_fourth_powers_is_no_length() -> None:
    found = refine(lambda x: np.sqrt((x**4).sum()), (4,), 0.0, 3.0)
    assert found.l1 == pytest.approx(9.0)


def test_values_that_differ_in_public_ends_are_not_alike() -> None:
    program = PathProgram()
    total = program.add("sum", [program.add("data", shape=(3,), part="")], shape=(), axis=None)
    coin = program.add("draw", shape=(), law="uniform", number=0)
    factors = [program.add("constant", shape=(), value=one) for one in (1.0, 2.0)]
    shares = [program.add("multiply", [coin, one], shape=()) for one in factors]
    found = [program.add("multiply", [total, one], shape=()) for one in shares]
    kinds = [NodeKind.PUBLIC] * len(program.nodes)
    for index in (0, total, *found):
        kinds[index] = NodeKind.PRIVATE
    part = Part("", (3,), np.zeros(()), np.ones(()))
    analysis = Analysis(program, Universe((part,), 3, "replace"), kinds)
    assert [analysis.distance(one).l1 for one in found] == pytest.approx([1.0, 2.0])


def test_a_sum_within_a_function_or_squared_is_not_affine() -> None:
    table = AtomTable()
    sums = table.enter("others", parameters=0, ends=(0.0, 4.0))
    cell = table.enter("cell", parameters=0, ends=(0.0, 1.0), is_changing=True)
    (leaf,) = sums.atoms()
    assert is_affine(table, sums * cell + cell, leaf)
    assert not is_affine(table, sums * sums, leaf)
    assert not is_affine(table, cell * table.enter("exp", (sums,)), leaf)


def test_a_form_that_is_nested_many_times_has_a_short_key():
    def doubled(data, rng):
        value = np.tanh(data[0] * data[1])
        for _ in range(40):
            value = np.tanh(value * value - value)
        return value + rng.laplace(scale=1.0)

    trace = read_trace(doubled, Domain(bounds=(0, 1), records=2), "replace-record", runs=2)
    assert bound_trace(trace).pure < np.inf
