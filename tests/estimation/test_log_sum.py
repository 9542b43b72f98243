"""Sums of logarithms, next to another implementation."""

import numpy as np
import pytest
from scipy.special import logsumexp

from dpaudit.estimation.betting import log_sum


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_it_is_the_library_s_sum(axis):
    values = np.random.default_rng(0).normal(0, 400, (5, 6, 7))
    values[values < -300] = -np.inf
    values[2] = -np.inf
    expected = logsumexp(values, axis=axis)
    np.testing.assert_allclose(log_sum(values, axis), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([-np.inf], -np.inf), ([np.inf, 1.0], np.inf), ([800.0, 800.0], 800 + np.log(2))],
)
def test_infinities_and_large_numbers(values, expected):
    assert log_sum(values) == pytest.approx(expected)


def test_what_is_no_number_stays_none():
    assert np.isnan(log_sum([0.0, np.nan]))
