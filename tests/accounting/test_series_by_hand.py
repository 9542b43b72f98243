"""Ends of an epsilon from ends of delta: where a series says both, in closed form."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

import dpaudit.accounting.dp_accounting_adapter as adapter
import dpaudit.accounting.series.inversion as inversion
from dpaudit.accounting.events import (
    ApproximateRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
)
from dpaudit.accounting.grid.numerical import (
    _compute_log_hinge_peak,
    _make_ordered_bracket,
    search_valley_minimum,
)
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.accounting.series.inversion import (
    _find_epsilon_by_newton,
    _find_exceeded_epsilon,
    _find_sufficient_epsilon,
    _make_epsilon_steps,
)
from dpaudit.errors import ConvergenceError


@dataclass
class Falling:
    """``delta = exp(-2 epsilon)``, known to so much of itself on either side."""

    off: float = 0.0
    order: float = 1.0

    def delta(self, epsilon):
        exact = math.exp(-2 * epsilon)
        return Bracket(exact * (1 - self.off), exact * (1 + self.off))

    def slope(self, epsilon):
        return 2.0


@pytest.mark.parametrize("off", [0.0, 1e-9, 1e-3])
@pytest.mark.parametrize("start", [1.0, 1.0 + 1e-9, 1.0 - 1e-9])
def test_the_ends_of_epsilon_are_where_delta_is_certain(start, off):
    series, delta = Falling(off), math.exp(-2.0)
    upper, lower = (
        _find_sufficient_epsilon(series, start, delta),
        _find_exceeded_epsilon(series, start, delta),
    )
    assert series.delta(upper).upper <= delta
    assert series.delta(lower).lower >= delta
    assert lower <= 1.0 <= upper
    assert upper - lower <= 2 * off + 1e-8


def test_ends_that_nothing_makes_certain():
    assert _find_exceeded_epsilon(Falling(0.0), 1e-12, 2.0) == 0.0  # delta is never so large
    with pytest.raises(ConvergenceError, match="certain to be enough"):
        _find_sufficient_epsilon(Falling(0.0), 1e-300, 1e-300)


@pytest.mark.parametrize("ends", [(0.1, 0.3), (0.3, 0.1)])
def test_delta_is_that_of_the_worse_direction(ends, monkeypatch):
    sampled = PoissonSubsampledGaussian(sampling_ratio=0.2, noise_multiplier=1.0)
    forth, _ = Composition.of(sampled).directions
    monkeypatch.setattr(
        inversion,
        "_bound_series_delta",
        lambda pairs, _: Bracket.exactly(ends[0 if pairs == forth else 1]),
    )
    found = inversion.bound_delta_by_inversion(sampled, 0.5)
    assert found.lower == pytest.approx(0.3)
    assert found.upper == pytest.approx(0.3)


def test_what_is_trimmed_is_in_the_upper_end_and_not_in_the_lower_one():
    sampled = PoissonSubsampledGaussian(sampling_ratio=0.2, noise_multiplier=1.0)
    pairs = Composition.of(sampled).trimmed(1e-4)
    series = inversion._Series.around(pairs, 0.5)
    found = series.delta(0.5)
    assert found.upper - found.lower >= pairs.truncation_mass > 0
    exact = inversion.bound_delta_by_inversion(sampled, 0.5)
    assert found.lower <= exact.upper
    assert found.upper >= found.lower + pairs.truncation_mass


def fake_library():
    laws = SimpleNamespace(
        create_from_rounded_probability=lambda masses, delta, interval, **_: (masses, delta)
    )
    one = SimpleNamespace(self_compose=lambda count: count)
    return SimpleNamespace(
        PrivacyLossDistribution=laws, from_laplace_mechanism=lambda *_, **__: one
    )


@pytest.mark.parametrize(("up", "places"), [(True, (3, -2)), (False, (2, -3))])
def test_a_response_of_another_library_keeps_its_delta_and_its_side(up, places):
    part = ApproximateRelease(epsilon=0.25, delta=0.1)
    masses, delta = adapter._build_library_response(fake_library(), part, 0.1, up)
    truth = 1 / (1 + math.exp(-0.25))
    assert masses == pytest.approx({places[0]: 0.9 * truth, places[1]: 0.9 * (1 - truth)})
    assert delta == 0.1
    laplace = LaplaceRelease(sensitivity=1.0, noise_scale=2.0, count=5)
    assert adapter._build_library_distribution(fake_library(), laplace, 0.1, up) == 5


def test_newton_s_steps_end_where_delta_is():
    series = Falling(1e-12)
    assert _find_epsilon_by_newton(series, 1.1, math.exp(-2.0)) == pytest.approx(1.0, abs=1e-9)
    assert _find_epsilon_by_newton(series, 0.9, math.exp(-2.0)) == pytest.approx(1.0, abs=1e-9)
    far = _find_epsilon_by_newton(series, 10.0, math.exp(-2.0))
    assert abs(far - 10.0) >= 5  # no further than the series is good for, and on


def test_steps_begin_with_what_the_slope_says_and_grow():
    found = list(_make_epsilon_steps(Falling(), 1.0, 0.1))
    assert found[0] == pytest.approx(0.05, rel=2e-3)
    assert found[0] > 0.05
    assert all(one < two for one, two in itertools.pairwise(found))
    assert next(_make_epsilon_steps(Falling(), 1.0, -0.1)) == 1e-14
    assert (
        next(_make_epsilon_steps(Falling(), 1.0, 5.0)) == 1e-14
    )  # a slope says nothing so far away


@pytest.mark.parametrize("order", [1e-6, 0.3, 1.0, 7.0, 1e4])
def test_the_factor_of_chernoff_s_bound_is_the_largest(order):
    """Of ``exp(-order x) (1 - exp(-x))``, on a fine grid around ``log(1 + 1 / order)``."""
    peak = math.log1p(1 / order)
    points = (peak * (1 + k / 1000) for k in range(-900, 901))
    exact = max(-order * x + math.log(-math.expm1(-x)) for x in points)
    assert _compute_log_hinge_peak(order) == pytest.approx(exact, abs=1e-12)
    assert _compute_log_hinge_peak(0.0) == 0.0


def test_ends_in_order_and_ends_that_cross():
    assert _make_ordered_bracket(1.0, 2.0) == Bracket(1.0, 2.0)
    assert _make_ordered_bracket(1.0 + 1e-12, 1.0) == Bracket(1.0, 1.0)
    with pytest.raises(ConvergenceError, match="in order"):
        _make_ordered_bracket(1.0 + 1e-6, 1.0)


def test_a_valley_is_found_by_factors():
    def valley(x):
        return (math.log(x) - 2) ** 2 + 1

    found = search_valley_minimum(valley, 1e-3, 2.0, 1e-6, 1e9)
    assert valley(found) <= min(valley(found / 2), valley(found * 2))
    assert search_valley_minimum(valley, 1e-3, 2.0, 1e-6, 1.0) < 1.0
    assert search_valley_minimum(lambda x: math.inf if x < 5 else x, 1.0, 2.0, 1e-3, 1e9) == 8.0
