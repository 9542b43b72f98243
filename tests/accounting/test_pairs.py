"""Dominating pairs: their atoms, moments and directions against closed forms."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

from dpaudit.accounting.pairs.closed_forms import (
    GaussianPair,
    LaplacePair,
    RandomizedResponsePair,
    SubsampledGaussianPair,
)
from dpaudit.accounting.pairs.exponential_norm import ExponentialNormPair, ObjectivePerturbationPair
from dpaudit.accounting.pairs.pair import log_mgf_of

PAIRS = [
    GaussianPair(0.01),
    GaussianPair(1.0),
    GaussianPair(5.0),
    LaplacePair(1e-3),
    LaplacePair(2.0),
    RandomizedResponsePair(0.3),
    RandomizedResponsePair(20.0),
    ExponentialNormPair(0.5, 2),
    ExponentialNormPair(3.0, 105),
    ObjectivePerturbationPair(0.5, 10, 0.25),
    SubsampledGaussianPair(0.01, 2.0),
    SubsampledGaussianPair(0.3, 1.0),
    SubsampledGaussianPair(0.3, 1.0, removal=False),
    SubsampledGaussianPair(0.99, 20.0),
]
FINITE = 60.0  # all but 1e-12 of these laws lies between -FINITE and FINITE


def law(pair, edges=(-FINITE, FINITE)):
    return pair.atoms(np.asarray(edges, dtype=np.float64))


def log_orders(pair, orders):
    return pair.log_mgf(np.asarray(orders, dtype=np.float64))


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_atoms_have_the_mass_of_p_and_of_q(pair):
    atoms = law(pair)
    masses = np.exp(atoms.log_masses)
    assert masses.sum() == pytest.approx(1, abs=1e-11)
    assert masses @ np.exp(-atoms.losses) == pytest.approx(1, abs=1e-11)
    np.testing.assert_allclose(log_orders(pair, [0.0, -1.0]), 0, atol=1e-12)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_moments_are_those_of_the_atoms(pair):
    orders = np.array([-2.0, -0.5, 0.3, 1.0, 2.0])
    exact = log_mgf_of(law(pair, (-200.0, 200.0)), orders)
    np.testing.assert_allclose(log_orders(pair, orders), exact, rtol=1e-9, atol=1e-11)
    assert log_orders(pair, orders.reshape(5, 1)).shape == (5, 1)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_reversal_exchanges_p_and_q(pair):
    other = pair.reversed()
    assert other.reversed() == pair
    assert pair.symmetric == (other == pair)
    orders = np.array([-1.7, 0.4, 2.0])
    np.testing.assert_allclose(
        log_orders(other, orders), log_orders(pair, -1 - orders), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_cutting_at_edges_changes_no_divergence(pair):
    rough, fine = law(pair), law(pair, np.linspace(-FINITE, FINITE, 4001))
    for epsilon in (0.0, 0.3, 1.5):
        cut = law(pair, (-FINITE, epsilon, FINITE))
        values = [
            float(np.exp(atoms.log_masses) @ np.maximum(0, -np.expm1(epsilon - atoms.losses)))
            for atoms in (cut, fine, rough)
        ]
        assert values[0] == pytest.approx(values[1], rel=1e-7, abs=1e-13)
        assert values[2] == pytest.approx(values[0], rel=1e-2, abs=1e-3)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_losses_stay_within_the_edges_and_below_the_largest(pair):
    atoms = law(pair, (-0.1, 0.05, 0.2))
    assert ((atoms.losses >= -0.1) & (atoms.losses <= 0.2)).all()
    assert law(pair).losses.max() <= pair.largest * (1 + 1e-12)
    if math.isfinite(pair.largest):
        assert law(pair).losses.max() == pytest.approx(pair.largest, rel=0.01)


@pytest.mark.parametrize("mu", [0.01, 1.0, 5.0])
def test_gaussian_cells(mu):
    for low, high in ((-mu, 0.0), (0.0, mu / 3), (3 * mu, 4 * mu)):
        atoms = law(GaussianPair(mu), (low, high))
        exact = np.diff(ndtr((np.array([low, high]) - mu**2 / 2) / mu))[0]
        assert np.exp(atoms.log_masses).sum() == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("mu", [0.1, 1.0])
def test_gaussian_mass_thirty_deviations_out(mu):
    with mpmath.workdps(60):
        low, high = 30 * mu, 30.5 * mu
        x = [(mpmath.mpf(e) - mpmath.mpf(mu) ** 2 / 2) / mu for e in (low, high)]
        exact = (mpmath.erfc(x[0] / mpmath.sqrt(2)) - mpmath.erfc(x[1] / mpmath.sqrt(2))) / 2
        for cells in (1, 7, 1000):
            atoms = law(GaussianPair(mu), np.linspace(low, high, cells + 1))
            ours = float(log_mgf_of(atoms, np.array(0.0)))
            assert ours == pytest.approx(float(mpmath.log(exact)), rel=1e-10)


@pytest.mark.parametrize("shift", [1e-3, 2.0])
def test_laplace_atoms(shift):
    atoms = law(LaplacePair(shift))
    masses = np.exp(atoms.log_masses)
    assert masses[atoms.losses == shift] == pytest.approx([0.5])
    assert masses[atoms.losses == -shift] == pytest.approx([math.exp(-shift) / 2])
    inner = law(LaplacePair(shift), (-shift / 2, shift / 2))
    exact = (math.exp(-shift / 4) - math.exp(-3 * shift / 4)) / 2
    assert np.exp(inner.log_masses).sum() == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.0, 0.3), (1.0, 0.0), (2.0, 1e-3), (100.0, 0.5)])
def test_randomised_response_atoms(epsilon, delta):
    pair = RandomizedResponsePair(epsilon, delta)
    atoms = law(pair, (-200.0, 200.0))
    masses = np.exp(atoms.log_masses)
    assert pair.infinite_mass == delta
    assert masses.sum() == pytest.approx(1 - delta, rel=1e-14)
    assert masses @ np.exp(-atoms.losses) == pytest.approx(1 - delta, rel=1e-14)
    assert float(pair.log_mgf(np.array(0.0))) == pytest.approx(math.log1p(-delta))


@settings(max_examples=60, deadline=None)
@given(st.floats(1e-6, 0.999), st.floats(0.3, 100), st.booleans(), st.floats(-8, 8))
def test_subsampled_loss_is_the_ratio_of_densities(ratio, noise, removal, deviations):
    pair = SubsampledGaussianPair(ratio, noise, removal)
    output = deviations * noise
    loss = float(pair.loss(np.array(output)))
    with mpmath.workdps(50):
        y, s, q = (mpmath.mpf(output if removal else -output), mpmath.mpf(noise), mpmath.mpf(ratio))
        without = mpmath.exp(-(y**2) / (2 * s * s))
        mixed = (1 - q) * without + q * mpmath.exp(-((y - 1) ** 2) / (2 * s * s))
        exact = mpmath.log(mixed / without) if removal else mpmath.log(without / mixed)
        density = mpmath.log((mixed if removal else without) / (s * mpmath.sqrt(2 * mpmath.pi)))
    assert loss == pytest.approx(float(exact), rel=1e-9, abs=1e-14)
    assert float(pair.log_density(np.array(output))) == pytest.approx(float(density), rel=1e-12)
    back = float(pair.position(np.array(loss)))
    slope = abs(float(mpmath.expm1(-exact if removal else exact))) + ratio
    if slope > 1e-5:  # elsewhere the loss does not tell outputs apart
        assert float(pair.loss(np.array(back))) == pytest.approx(loss, rel=1e-9, abs=1e-13)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize(("ratio", "noise"), [(0.01, 2.0), (0.3, 0.5), (0.5, 20.0)])
def test_subsampled_moments_in_thirty_digits(ratio, noise, removal):
    pair = SubsampledGaussianPair(ratio, noise, removal)
    with mpmath.workdps(30):
        s, q = mpmath.mpf(noise), mpmath.mpf(ratio)
        for order in (-3.0, 0.5, 4.0):

            def integrand(y, order=order):
                odds = 1 - q + q * mpmath.exp((2 * y - 1) / (2 * s * s))
                power = odds ** (1 + order) if removal else odds ** (-order)
                return power * mpmath.npdf(y, 0, s)

            knots = [i * 3 * s for i in range(-5, 8)] + [8 * s + 30]
            exact = float(mpmath.log(mpmath.quad(integrand, sorted(set(knots)))))
            assert float(log_orders(pair, order)) == pytest.approx(exact, rel=1e-8, abs=1e-13)


def test_directions_of_a_sampled_release():
    removal, addition = SubsampledGaussianPair(0.2, 1.0), SubsampledGaussianPair(0.2, 1.0, False)
    assert removal.largest == math.inf
    assert addition.largest == pytest.approx(-math.log(0.8))
    assert law(removal).losses.min() >= math.log(0.8) - 1e-12
    assert law(addition).losses.max() <= -math.log(0.8) + 1e-12


@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize(("ratio", "noise"), [(0.5, 0.05), (0.1, 0.02), (0.9, 0.1), (1e-6, 0.1)])
@pytest.mark.parametrize("tail", [1e-318, 1e-20, 5e-15, 1e-3])
def test_no_mass_is_lost_where_the_loss_is_flat(ratio, noise, removal, tail):
    """Where sampling hardly shows, many outputs have the same loss as far as numbers can tell."""
    pair = SubsampledGaussianPair(ratio, noise, removal).trimmed(tail)
    assert float(log_orders(pair, 0.0)) <= 1e-12
    assert float(np.exp(log_orders(pair, 0.0))) >= 1 - pair.truncation_mass - 1e-12
    at_zero = pair.characteristic(2.0, np.array([0.0, 0.5]))
    assert at_zero[0] == pytest.approx(1, abs=1e-12)
    assert abs(at_zero[1]) <= 1 + 1e-12


@pytest.mark.parametrize("ratio", [1e-3, 0.3, 0.5, 0.9])
@pytest.mark.parametrize("removal", [True, False])
def test_a_faint_subsampled_loss_keeps_its_digits(ratio, removal):
    """It was off by the last digit of ``log(1 - q)``, which many steps add up."""
    noise = 1e5
    output = np.array([-3e5, -1e4, 0.7e5, 2e5])
    with mpmath.workdps(40):
        exact = []
        for y in output if removal else -output:
            log_ratio = (2 * mpmath.mpf(float(y)) - 1) / (2 * mpmath.mpf(noise) ** 2)
            exact.append(float(mpmath.log1p(mpmath.mpf(ratio) * mpmath.expm1(log_ratio))))
    ours = SubsampledGaussianPair(ratio, noise, removal).loss(output)
    np.testing.assert_allclose(ours if removal else -ours, exact, rtol=1e-14)


@pytest.mark.parametrize("tail", [1e-318, 1e-12, 1e-3])
@pytest.mark.parametrize(("ratio", "noise"), [(1e-6, 1.0), (0.01, 0.1), (0.5, 2.0), (0.99, 10.0)])
@pytest.mark.parametrize("removal", [True, False])
def test_tails_are_as_rare_as_they_are_called(ratio, noise, removal, tail):
    pair = SubsampledGaussianPair(ratio, noise, removal, tail)
    low, high = (mpmath.mpf(x) / noise for x in pair.interval)
    with mpmath.workdps(30):
        shift, share = (1 / mpmath.mpf(noise), mpmath.mpf(ratio)) if removal else (0, 0)
        below = (1 - share) * mpmath.ncdf(low) + share * mpmath.ncdf(low - shift)
        above = (1 - share) * mpmath.ncdf(-high) + share * mpmath.ncdf(shift - high)
        assert below + above <= pair.truncation_mass * (1 + mpmath.mpf("1e-10"))


@pytest.mark.sampled(5)
@pytest.mark.parametrize("removal", [True, False])
@pytest.mark.parametrize(("ratio", "noise"), [(0.5, 0.3), (0.01, 0.2), (0.1, 1.0), (0.5, 20.0)])
@pytest.mark.parametrize("order", [1e-3, 0.5, 3.0, 40.0])
def test_the_variation_of_a_subsampled_loss_bounds_its_waves(ratio, noise, removal, order):
    """By the density in many digits; a floor of ``log(1 - q)`` draws much of the mass."""
    pair = SubsampledGaussianPair(ratio, noise, removal).trimmed(1e-12)
    variation = pair.variation(order)
    with mpmath.workdps(50):
        s, q = mpmath.mpf(noise), mpmath.mpf(ratio)
        ends = [mpmath.mpf(x) for x in (pair.interval if removal else pair.interval[::-1])]
        y = mpmath.linspace(*((x if removal else -x) for x in ends), 400)
        density = []
        for at in y:
            sampled = q * mpmath.exp((2 * at - 1) / (2 * s * s))
            odds = 1 - q + sampled
            tilt = odds ** (1 + order) if removal else odds ** (-order)
            density.append(mpmath.npdf(at, 0, s) * tilt * s * s * odds / sampled)
        rough = sum(abs(b - a) for a, b in itertools.pairwise(density)) + density[0] + density[-1]
        exact = rough / mpmath.exp(float(log_orders(pair, order)))
        assert variation >= float(exact) * (1 - 1e-9) or exact > 1e200
    assert variation == math.inf or variation <= 1.3 * float(exact)


@pytest.mark.parametrize("pair", PAIRS, ids=repr)
def test_moments_are_exact_up_to_the_farthest_order(pair):
    """And above, where all that is told is a bound, they are no smaller."""
    top = pair.farthest_order
    if not math.isfinite(top):
        return
    assert top >= 1
    low, high = -min(pair.reversed().largest, FINITE), min(pair.largest, FINITE)
    order = min(top, 300.0)
    fine = law(pair, np.linspace(low, high, 30_001))
    if order * (high - low) < 3e4:
        exact = float(log_mgf_of(fine, np.array(order)))
        assert float(log_orders(pair, order)) == pytest.approx(exact, rel=1e-9)
    assert float(log_orders(pair, 2.01 * top)) >= 2.0 * float(log_orders(pair, top))


@pytest.mark.parametrize("most", [0.5, 2.0, 6.0])
@pytest.mark.parametrize(("ratio", "noise"), [(0.05, 0.7), (0.4, 1.5)])
def test_what_is_beyond_the_largest_loss_is_counted_under_both_laws(ratio, noise, most):
    """The output at which the ratio is so large, by hand, and the normal tails beyond it."""
    edge = noise**2 * math.log(math.expm1(most) / ratio + 1) + 0.5
    without, with_it = mpmath.ncdf(-edge / noise), mpmath.ncdf((1 - edge) / noise)
    found = SubsampledGaussianPair(ratio, noise).up_to(most).beyond
    assert found[0] == pytest.approx(float((1 - ratio) * without + ratio * with_it), rel=1e-9)
    assert found[1] == pytest.approx(float(without), rel=1e-9)
