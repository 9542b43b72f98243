"""Refinements: the sensitivities of 49 statistics, and no bound below what records can do."""

import math
from typing import Any

import numpy as np
import pytest

from benchmarks.dpriv_bench import functions
from benchmarks.dpriv_bench.functions import STATISTICS
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
