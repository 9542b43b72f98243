"""How far sums, waves and tails may be off, beside loops and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from mpmath import mp
from scipy.stats import binom

from dpaudit.accounting.discrete_events import RandomizedResponse
from dpaudit.accounting.grid.convolution import _ROUNDING, _UNDERFLOW, Convolution
from dpaudit.accounting.pairs.closed_forms import GaussianPair, LaplacePair, bound_wave_rounding
from dpaudit.accounting.pairs.composition import Composition
from dpaudit.accounting.pairs.pair import (
    _round_order_to_power,
    compute_tilted_log_moments,
    farthest_moment,
)
from dpaudit.accounting.series.decided_outputs import _bound_log_loss_removal
from dpaudit.accounting.strongest_guarantee import _compute_expm1_ratio
from dpaudit.guarantees.rounding import UNIT


def law(masses, spacing=0.1, astray=0.0, noise=0.0):
    return Convolution(np.asarray(masses, dtype=float), -3, spacing, -2.0, astray, noise)


def distances(found):
    return found.points[None, :] - found.points[:, None]


@pytest.mark.parametrize("order", [0.3, 2.0, 40.0])
def test_suffix_sums_are_those_of_a_double_loop(order):
    found = law([0.1, 0.4, 0.0, 0.2, 0.3])
    assert found.points.tolist() == pytest.approx([-0.3, -0.2, -0.1, 0.0, 0.1])
    t = distances(found)
    weights = np.where(t > -1e-12, np.exp(-order * t), 0.0)
    np.testing.assert_allclose(found.suffix_sums(order), weights @ found.masses, rtol=1e-13)
    profile = (weights * -np.expm1(-t)) @ found.masses
    np.testing.assert_allclose(found.suffix_profile(order), profile, rtol=1e-12, atol=1e-16)


@pytest.mark.parametrize("order", [0.3, 2.0, 40.0])
@pytest.mark.parametrize("size", [1, 5, 4000])
def test_noise_adds_up_by_the_norm_of_its_weights(order, size):
    """Every mass errs by itself: a sum of them by the root of its weights' squares."""
    found, sums = law(np.zeros(size), noise=1.0), np.zeros(size)
    t = 0.1 * np.arange(size)
    norm = math.sqrt(float(np.sum(np.exp(-2 * order * t))))
    rough = math.sqrt(min(size, 1 / -math.expm1(-2 * order * 0.1)))
    np.testing.assert_allclose(found.errors(order, sums), _UNDERFLOW + rough)
    assert norm <= rough * (1 + 1e-12)
    assert size == 5 or rough <= norm * (1 + 1e-12)
    of_profile = math.sqrt(float(np.sum((np.exp(-order * t) * -np.expm1(-t)) ** 2)))
    np.testing.assert_allclose(found.profile_errors(order, sums), _UNDERFLOW + of_profile)


@pytest.mark.parametrize("order", [0.3, 2.0, 40.0])
def test_mass_that_went_astray_counts_by_the_largest_weight(order):
    found = law(np.zeros(5), astray=0.25)
    np.testing.assert_allclose(found.errors(order, np.zeros(5)), _UNDERFLOW + 0.25)
    t = np.linspace(0, 4, 400_001)
    top = float((np.exp(-order * t) * -np.expm1(-t)).max())
    np.testing.assert_allclose(
        found.profile_errors(order, np.zeros(5)), _UNDERFLOW + 0.25 * top, rtol=1e-8
    )


def test_a_filter_errs_by_no_more_than_units_of_what_it_summed():
    found = law(np.full(50, 0.1))
    sums = found.suffix_sums(0.3)
    many = min(50, 1 / -math.expm1(-0.3 * 0.1))
    expected = 4 * _ROUNDING * np.minimum(many, 50 * sums)
    np.testing.assert_allclose(found.errors(0.3, sums), _UNDERFLOW + expected)
    tiny = np.full(50, 1e-30)
    np.testing.assert_allclose(found.errors(0.3, tiny), _UNDERFLOW + 4 * _ROUNDING * 50 * tiny)
    assert found.slack(2.0) == pytest.approx(8 * _ROUNDING * (2.0 + 2.0 * 0.1 * 47), abs=0)


@pytest.mark.parametrize("order", [-3.0, -1.0, 0.0, 0.5, 7.0])
def test_waves_of_gaussian_losses_are_off_by_less_than_is_said(order):
    pair, u = GaussianPair(1.3), np.array([0.0, 1.0, -1.0, 30.0, 1e4])
    error = pair.characteristic_error(order, u)
    phases = u * (2 * abs(order) + 1) * 1.3**2 / 2
    np.testing.assert_allclose(error, 4 * UNIT * (1 + np.abs(phases)), rtol=1e-12)
    for wave, at, off in zip(pair.characteristic(order, u), u, error, strict=True):
        exponent = mp.mpc(-(mp.mpf(at) ** 2), mp.mpf(at) * (2 * mp.mpf(order) + 1))
        exact = mp.exp(exponent * mp.mpf(1.3) ** 2 / 2)
        assert abs(mp.mpc(wave) - exact) <= off


def test_rounded_phases_are_off_by_four_units_of_each():
    assert bound_wave_rounding(np.array([-3.0, 0.0, 5.0])).tolist() == [
        16 * UNIT,
        4 * UNIT,
        24 * UNIT,
    ]


def test_laws_are_kept_for_the_next_power_of_two_of_either_sign():
    orders = [0.0, 0.3, 1.0, 1.1, 2.0, 5.0, 8.0]
    assert [_round_order_to_power(order) for order in orders] == [1, 1, 1, 2, 2, 8, 8]
    assert [_round_order_to_power(-order) for order in orders] == [1, 1, 1, 2, 2, 8, 8]


@pytest.mark.parametrize("order", [-40.0, -2.0, 0.25, 40.0])
def test_moments_of_a_bounded_loss_are_integrals(order):
    """Of Laplace noise and shift 3: atoms at -3 and 3, and exp((loss - 3) / 2) / 4 between them."""
    power = order + 0.5
    between = (math.exp(3 * power) - math.exp(-3 * power)) / (4 * power) * math.exp(-1.5)
    atoms = math.exp(3 * order) / 2 + math.exp(-3 - 3 * order) / 2
    pair = LaplacePair(3.0)
    found = compute_tilted_log_moments(pair, -3.0, 3.0, np.array([order]))
    assert found[0] == pytest.approx(math.log(between + atoms), rel=1e-9)
    far = 2 * farthest_moment(-3.0, 3.0)
    assert compute_tilted_log_moments(pair, -3.0, 3.0, np.array([far, -far])).tolist() == [
        3 * far,
        3 * far,
    ]
    assert compute_tilted_log_moments(pair, -2.0, 3.0, np.array([far, -far])).tolist() == [
        3 * far,
        2 * far,
    ]


@pytest.mark.parametrize("loss", [12.0, 16.0, 20.0])
def test_what_other_losses_take_away_is_bounded_by_a_tail(loss):
    """Of 20 answers, e : 1 true, under Q: each loss is 1 or, with e / (1 + e), -1."""
    answers = RandomizedResponse(truth=math.e / (1 + math.e), count=20)
    pairs = Composition.of(answers).directions[0]
    lost = round(10 + loss / 2)
    exact = binom.logsf(lost - 1, 20, math.e / (1 + math.e))
    found = _bound_log_loss_removal(pairs, loss)
    assert exact - 1e-9 <= found <= exact + 4
    assert found < 0
    assert _bound_log_loss_removal(pairs, 0.0) == 0.0
    alone = Composition.of(RandomizedResponse(truth=0.7)).directions[0]
    assert (_bound_log_loss_removal(alone, 1.0), _bound_log_loss_removal(alone, 0.0)) == (
        -math.inf,
        0.0,
    )


@pytest.mark.parametrize("whole", [1e-3, 5.0, 699.0, 701.0, 900.0])
def test_a_share_of_what_grows_beyond_doubles(whole):
    for part in (0.0, min(1.0, 0.1 * whole), 0.3 * whole, whole - 0.5 * min(1.0, whole), whole):
        with mp.workdps(40):
            exact = mp.expm1(part) / mp.expm1(whole)
        assert _compute_expm1_ratio(part, whole) == pytest.approx(float(exact), rel=1e-12, abs=0)
