"""Small parts of accountants, each by its formula: which side rounding is on, orders and sizes."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

import dpaudit.accounting.grid.convolution as convolution
import dpaudit.accounting.grid.numerical as numerical
import dpaudit.accounting.pairs.pair as pair_module
import dpaudit.accounting.series.inversion as inversion
import dpaudit.guarantees.rounding as rounding
from dpaudit.accounting.composition import gaussian_bracket
from dpaudit.accounting.events import (
    ADD_REMOVE,
    BatchedGaussian,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
)
from dpaudit.accounting.pairs.allocation import AllocationRatio
from dpaudit.accounting.pairs.composition import Composition, _is_replacing_records
from dpaudit.accounting.renyi import _log_gap
from dpaudit.accounting.selection import negative_binomial, parameter_of
from dpaudit.accounting.strongest_guarantee import NumericalDP


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
    assert _is_replacing_records(part) is displaces


@pytest.mark.parametrize("batches", [1, 3, 12])
def test_what_sums_of_masses_may_be_off_by_grows_with_the_batches(batches):
    off = batches * ((16 * 1024 + 1024) * 2.0**-53 + 1e-13)
    below, above = (AllocationRatio(batches, 2.0, upper).law(1e-12) for upper in (False, True))
    assert below.slack == pytest.approx(1e-13 + 2 * off, abs=0)
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


# Grids


def tilted(masses, first=0, log_total=-1.0):
    masses = np.array(masses)
    return convolution.TiltedMasses(masses / masses.sum(), first, log_total)


def test_a_convolution_errs_by_every_copy_and_to_its_side():
    one, other = tilted([1.0, 2.0, 1.0]), tilted([3.0, 1.0])
    given = [(one, 3), (other, 2)], 0, 64, 0.1, (1.0, 1.0), 1e-15
    above, below = (convolution.convolve_laws(*given, side) for side in (1, -1))
    middle = 3 * one.log_total + 2 * other.log_total
    assert above.log_total - middle == pytest.approx(5 * 1e-13, rel=1e-2, abs=0)
    assert below.log_total - middle == pytest.approx(-5 * 1e-13, rel=1e-2, abs=0)
    unit = float(np.finfo(float).eps)
    norms = [float(np.sqrt((part.masses**2).sum())) for part in (one, other)]
    whole = float(np.sqrt((above.masses**2).sum()))
    transform = 4 * unit * math.log2(64)
    due = transform * (3 * norms[0] + 2 * norms[1]) + (transform + 4 * unit * 5) * whole
    assert above.noise == pytest.approx(due, abs=0)


def test_what_lies_beyond_a_grid_lies_on_either_side(monkeypatch):
    asked = []
    monkeypatch.setattr(
        convolution, "_bound_mass_by_chernoff", lambda *given: asked.append(given[1:]) or 0.25
    )
    assert convolution._bound_mass_outside_grid([], -10, 64, 0.5, (2.0, 3.0)) == 0.5
    assert asked == [(-2.0, -5.0, 0.5), (3.0, 27.0, 0.5)]


def sampled(count=10):
    return PoissonSubsampledGaussian(sampling_ratio=0.2, noise_multiplier=1.0, count=count)


def test_chernoffs_bound_is_of_the_worse_direction():
    both = [
        numerical._bound_delta_by_chernoff(one, 1.5) for one in Composition.of(sampled()).directions
    ]
    assert min(both) < 0.9 * max(both)
    assert numerical.chernoff_delta(sampled(), 1.5) == max(both)


def test_each_law_errs_to_the_side_on_which_its_end_is(monkeypatch):
    sides, convolved = [], numerical.convolve_laws
    monkeypatch.setattr(
        numerical, "convolve_laws", lambda *given: sides.append(given[-1]) or convolved(*given)
    )
    numerical._build_delta_curves(Composition.of(sampled()), 2.0, 256, (0.0, 0.0))
    assert sides == [-1, 1, 1]  # P-masses down, Q-masses up, and what is rounded upwards up


def test_a_window_ends_where_the_losses_of_either_direction_do():
    (pair, _), *_ = Composition.of(sampled(1)).parts
    wide = numerical.Window(-50.0, 50.0, 1e-3, 1e-3)
    removal, addition = (
        numerical.step_window(one, 1.0, wide, 1) for one in (pair, pair.reversed())
    )
    assert removal[0] == pytest.approx(math.log(0.8))
    assert addition[1] == pytest.approx(-math.log(0.8))


def test_tails_that_are_trimmed_are_lost_above_and_not_below(monkeypatch):
    seen = []

    def curves(pairs, order, cells, lost):
        seen.append((pairs, lost))
        raise InterruptedError

    monkeypatch.setattr(numerical, "_build_delta_curves", curves)
    composed = Composition.of(sampled())
    with pytest.raises(InterruptedError):
        numerical._bound_grid_epsilon(composed, 1e-5, 256, 1e-3)
    (pairs, lost), *_ = seen
    assert 0 < pairs.truncation_mass <= 1e-3 * 1e-5
    assert lost == (pairs.truncation_mass, 0.0)


# Series


def test_what_decides_by_itself_is_known_up_to_a_doubt_or_else_between_all_and_none():
    pairs = SimpleNamespace(infinite_mass=0.01, beyond=(0.2, 0.05))
    one = inversion._Series(pairs, None, None, None, 0.0, 0.0, 1.0, 1e-3)
    for epsilon, most in ((0.5, 1e-3), (1.0, 1e-3), (1.01, math.exp(1.01) * 0.05)):
        sure = 0.2 - math.exp(epsilon) * 0.05
        found = one._known(epsilon)
        assert found.lower == pytest.approx(0.01 + sure)
        assert found.upper == pytest.approx(0.01 + sure + most)


def test_terms_that_are_cut_off_are_at_most_their_envelope():
    pair = SimpleNamespace(envelope=lambda order, u: order / u)
    assert inversion._bound_truncated_terms([(pair, 2)], 3.0, 10.0) == pytest.approx(
        0.3**2 / (math.pi * 10)
    )


def test_a_release_that_is_added_is_taken_off_the_lower_end():
    epsilon, event = 1.0, sampled()
    truth = numerical.numerical_delta(event, epsilon)
    for pairs in Composition.of(event).directions[:1]:
        series = inversion._Series.around(pairs.trimmed(1e-20), epsilon, (0.3, truth.upper))
        found = series.delta(epsilon)
        assert found.lower <= truth.upper
        assert found.upper > 1.05 * truth.upper  # more was released


def test_near_frequency_0_a_characteristic_is_off_by_its_distance_from_1():
    (pair, _), *_ = Composition.of(sampled(1)).parts
    u = 0.01 * np.arange(300.0)
    losses, masses = pair_module._near_zero(pair, 1.0, 0.01)
    away = u * float(np.abs(losses) @ masses)
    errors = pair.characteristic_error(1.0, u)
    due = 4e-16 + 5e-14 * np.minimum(away, 2.0) + 4e-15 * away
    assert errors[:256] == pytest.approx(due[:256], abs=0)
    assert errors[256:] == pytest.approx(pair_module.CHARACTERISTIC + 4e-15 * away[256:], abs=0)
