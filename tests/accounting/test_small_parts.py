"""Small parts of accountants, each by its formula: which side rounding is on, orders and sizes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import dpaudit.guarantees.rounding as rounding
from dpaudit.accounting.composition import gaussian_bracket
from dpaudit.accounting.events import (
    ADD_REMOVE,
    BatchedGaussian,
    GaussianRelease,
    LaplaceRelease,
)
from dpaudit.accounting.pairs.allocation import Allocated
from dpaudit.accounting.pairs.composition import _displaces
from dpaudit.accounting.proved import NumericalDP
from dpaudit.accounting.renyi import _log_gap
from dpaudit.accounting.selection import negative_binomial, parameter_of


def test_the_lower_end_of_gaussian_releases_is_of_a_mu_that_was_rounded_down(monkeypatch):
    down, up = rounding.root_down, rounding.root_up
    least, most = list[Fraction](), list[Fraction]()
    monkeypatch.setattr(rounding, "root_down", lambda one: least.append(one) or down(one))
    monkeypatch.setattr(rounding, "root_up", lambda one: most.append(one) or up(one))
    gaussian_bracket(GaussianRelease(sensitivity=0.7, noise_scale=0.1, count=3), 1e-5)
    exact = 3 * Fraction(7) ** 2
    assert max(least) < exact  # as both numbers are no doubles
    assert max(most) >= exact
    assert max(most) - min(least) < exact * Fraction(1, 10**14)


@pytest.mark.parametrize("law", ["geometric", "logarithmic"])
@pytest.mark.parametrize("order", [1.25, 2.0, 9.0])
def test_more_runs_cost_their_mean_over_the_order_less_one(law, order):
    shape, runs = {"geometric": 1, "logarithmic": 0}[law], 20.0
    g = parameter_of(law, runs)
    b, at_b = np.array([1.5, 3.0, math.inf]), np.array([0.2, 0.35, 1.1])
    known = min(
        (1 - 1 / one) * divergence + math.log(1 / g) / one
        for one, divergence in zip(b, at_b, strict=True)
    )
    due = 0.3 + (shape + 1) * known + math.log(runs) / (order - 1)
    found = negative_binomial(law, runs, np.array([0.3]), np.array([order]), (b, at_b))
    assert found == pytest.approx([due])


@pytest.mark.parametrize(
    ("sampling", "records", "batch", "displaces"),
    [
        ("poisson", 10, 10, True),
        ("fixed", 10, 9, True),
        ("fixed", 10, 10, False),
        ("fixed", 1, 1, False),
        ("fixed-replacement", 1, 1, False),
        ("fixed-replacement", 4, 1, True),
        ("fixed-replacement", 2, 1, True),
        ("fixed-replacement", 3, 3, True),
    ],
)
def test_a_record_takes_a_place_where_others_are_left_for_it(sampling, records, batch, displaces):
    part = BatchedGaussian(
        sampling=sampling,
        records=records,
        batch_size=batch,
        noise_multiplier=1.0,
        relation=ADD_REMOVE,
    )
    assert _displaces(part) is displaces


@pytest.mark.parametrize("batches", [1, 3, 12])
def test_what_sums_of_masses_may_be_off_by_grows_with_the_batches(batches):
    off = batches * ((16 * 1024 + 1024) * 2.0**-53 + 1e-13)
    below, above = (Allocated(batches, 2.0, upper).law(1e-12) for upper in (False, True))
    assert below.slack == pytest.approx(1e-13 + 2 * off)
    assert above.slack == 1e-13
    total = [float(np.exp(law.log_masses).sum()) for law in (below, above)]
    assert -1.5 * off < math.log(total[0]) < -0.5 * off
    assert 0.5 * off < math.log(total[1]) < 1.5 * off


@pytest.mark.parametrize("order", [1.0001, 1.01, 2.0, 40.0])
@pytest.mark.parametrize("u", [-3.0, -1e-3, 1e-6, 0.5, 29.0, 31.0, 300.0])
def test_the_excess_of_a_power_over_its_tangent_is_that_of_fifty_digits(order, u):
    with mpmath.workdps(60):
        a, x = mpmath.mpf(order), mpmath.mpf(u)
        due = float(mpmath.log(mpmath.exp(a * x) - 1 - a * mpmath.expm1(x)))
    assert _log_gap(np.array([u]), order)[0] == pytest.approx(due, rel=1e-9, abs=1e-9)


def test_a_number_of_cells_is_that_of_a_grid_which_is_then_used():
    release = LaplaceRelease(sensitivity=0.01, noise_scale=1.0, count=10_000)
    coarse, usual = NumericalDP(release, 256), NumericalDP(release)
    assert coarse.bracket(1e-5).width > 100 * usual.bracket(1e-5).width
    assert coarse.delta(1.0) > usual.delta(1.0)
    assert replace(coarse, cells=None) == usual
