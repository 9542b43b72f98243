"""Fourier sums at evenly spaced frequencies against sums term by term."""

import mpmath
import numpy as np
import pytest

from dpaudit.accounting.pairs.waves import ERROR, fourier_sums


@pytest.mark.parametrize("count", [65, 1000, 4096])
@pytest.mark.parametrize("spread", [1e-6, 0.3, 50.0])
def test_sums_are_those_term_by_term(count, spread):
    rng = np.random.default_rng(count)
    points, masses = spread * rng.standard_normal(500), rng.random(500)
    masses /= masses.sum()
    step = 0.01 / spread
    exact = np.exp(1j * step * np.outer(np.arange(count), points)) @ masses
    assert abs(fourier_sums(points, masses, step, count) - exact).max() < ERROR


def test_a_term_in_thirty_digits():
    rng = np.random.default_rng(0)
    points, masses = rng.random(40), rng.random(40) / 40
    found = fourier_sums(points, masses, 0.7, 8000)
    with mpmath.workdps(30):
        for k in (1, 517, 7999):
            pairs = zip(points, masses, strict=True)
            waves = [mpmath.expj(k * mpmath.mpf(0.7) * x) * m for x, m in pairs]
            assert abs(complex(mpmath.fsum(waves)) - found[k]) < ERROR


def test_fewer_terms_are_felt(monkeypatch):
    """Negative control: Taylor's remainder is what the error says."""
    monkeypatch.setattr("dpaudit.accounting.pairs.waves._TERMS", 8)
    points = np.full(1, 0.37)
    exact = np.exp(1j * 0.7 * np.arange(4000) * 0.37)
    assert abs(fourier_sums(points, np.ones(1), 0.7, 4000) - exact).max() > ERROR
