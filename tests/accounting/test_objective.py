"""Objective perturbation: the dominating pair is a profile, and real maps stay below it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.accounting.events import ExponentialNormRelease, ObjectivePerturbation
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs.exponential_norm import ObjectivePerturbationPair, pair_of

SHIFTS = st.floats(0.01, 20.0)
DIMENSIONS = st.sampled_from([1, 2, 3, 10, 105])
DETERMINANTS = st.one_of(st.just(0.0), st.floats(1e-6, 3.0))


def release(shift, dimension, log_determinant=0.0, count=1):
    return ObjectivePerturbation(
        sensitivity=shift,
        noise_rate=1.0,
        dimension=dimension,
        log_determinant=log_determinant,
        count=count,
    )


def law(pair, *edges):
    """Return all losses of a pair and their probabilities; no panel lies astride an edge."""
    atoms = pair.atoms(np.array([-pair.largest - 1, *edges, pair.largest + 1]))
    return atoms.losses, np.exp(atoms.log_masses)


def divergence(losses, masses, epsilon):
    """Return the profile, exact where the losses were cut at epsilon."""
    return float(masses @ np.maximum(0, -np.expm1(epsilon - losses)))


def smooth(dimension, shift, epsilon):
    """Return the profile of exponential-norm noise by an integral on ``(epsilon, s)`` alone."""
    if epsilon >= shift:
        return 0.0
    pair = pair_of(shift, dimension)
    if dimension == 1:  # Laplace
        return -math.expm1((epsilon - shift) / 2) if epsilon > -shift else -math.expm1(epsilon)
    nodes, weights = np.polynomial.legendre.leggauss(400)
    low, high = math.asin(max(epsilon / shift, -1)), math.pi / 2
    angle = low + (high - low) * (nodes + 1) / 2
    density = np.exp(pair.log_density(angle)) * weights * (high - low) / 2
    return divergence(pair.loss(angle), density, epsilon)


def assert_is_a_symmetric_profile(pair):
    losses, masses = law(pair)
    assert masses.sum() == pytest.approx(1, abs=1e-9)
    assert masses @ np.exp(-losses) == pytest.approx(1, abs=1e-9)
    assert losses.max() == pytest.approx(pair.largest, rel=0.02)
    assert np.abs(losses).min() >= pair.log_determinant * (1 - 1e-9)
    assert pair.reversed() == pair
    for order in (0.2, 1.0, 3.0):
        up, down = masses @ np.exp(order * losses), masses @ np.exp((-1 - order) * losses)
        assert math.log(up) == pytest.approx(math.log(down), rel=1e-8, abs=1e-9)


def assert_is_the_bound_beyond_the_determinant(pair):
    s, d, j = pair.shift, pair.dimension, pair.log_determinant
    for share in (0.0, 0.1, 0.5, 0.9):
        epsilon = j + share * s
        ours = divergence(*law(pair, epsilon), epsilon)
        assert ours == pytest.approx(smooth(d, s, epsilon - j), rel=1e-7, abs=1e-11)


def middle(value):
    """What the fast suite leaves out: the values beside it are the extremes."""
    return pytest.param(value, marks=pytest.mark.slow)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dimension", [1, 2, middle(10), 105])
@pytest.mark.parametrize("shift", [0.01, middle(0.5), 7.0])
@pytest.mark.parametrize("log_determinant", [0.0, middle(0.3), 2.0])
def test_is_a_profile_and_the_bound(dimension, shift, log_determinant):
    pair = ObjectivePerturbationPair(shift, dimension, log_determinant)
    assert_is_a_symmetric_profile(pair)
    assert_is_the_bound_beyond_the_determinant(pair)


@settings(max_examples=8, deadline=None)
@given(SHIFTS, DIMENSIONS, DETERMINANTS)
def test_is_a_profile_and_the_bound_for_any_parameters(shift, dimension, log_determinant):
    pair = ObjectivePerturbationPair(shift, dimension, log_determinant)
    assert_is_a_symmetric_profile(pair)
    assert_is_the_bound_beyond_the_determinant(pair)


def test_laplace_keeps_its_atoms_when_the_sum_of_parameters_was_rounded():
    # (j + s) - j is less than s in floating point
    shift, log_determinant = 1.5598737928657576, 2.853867904161509
    assert (log_determinant + shift) - log_determinant < shift
    losses, masses = law(ObjectivePerturbationPair(shift, 1, log_determinant))
    at_top = losses > log_determinant + shift - 1e-9
    assert masses[at_top].sum() == pytest.approx(0.5, rel=1e-9)
    bracket = numerical_delta(release(shift, 1, log_determinant), 4.40716)
    assert bracket.upper >= -math.expm1((4.40716 - log_determinant - shift) / 2)
    many = [numerical_epsilon(release(shift, 1, j, 50), 1e-5) for j in (log_determinant, 2.85)]
    assert many[0].upper >= many[1].lower  # a larger determinant never is better


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dimension", [1, 2, 10])
@pytest.mark.parametrize("log_determinant", [0.0, 0.5])
def test_released_profile_is_convex_between_the_trivial_bounds(dimension, log_determinant):
    powers = np.linspace(1, math.exp(log_determinant + 1.0), 10)
    brackets = [
        numerical_delta(release(1.0, dimension, log_determinant), math.log(y)) for y in powers
    ]
    low = np.array([b.lower for b in brackets])
    high = np.array([b.upper for b in brackets])
    assert (low[1:-1] <= (high[:-2] + high[2:]) / 2 + 1e-12).all()
    assert (high >= 0).all()
    assert (high <= 1).all()
    assert high[-1] == 0
    assert (np.diff(low) <= (high - low)[1:] + 1e-12).all()


@pytest.mark.parametrize("log_determinant", [0.0, 0.4])
@pytest.mark.parametrize("count", [1, 10])
def test_pure_bound(log_determinant, count):
    event = release(0.5, 10, log_determinant, count)
    assert numerical_epsilon(event, 0.0).upper == pytest.approx(count * (log_determinant + 0.5))
    assert numerical_delta(event, count * (log_determinant + 0.5) + 1e-9).upper == 0
    assert numerical_epsilon(event, 1e-9).upper <= count * (log_determinant + 0.5)


def test_nothing_moves_and_only_the_determinant_remains():
    still = ObjectivePerturbation(sensitivity=0.0, noise_rate=1.0, dimension=3, log_determinant=0.2)
    assert numerical_epsilon(still, 0.0).upper == pytest.approx(0.2)
    nothing = ObjectivePerturbation(sensitivity=0.0, noise_rate=1.0, dimension=3)
    assert numerical_epsilon(nothing, 0.0).upper == 0


@settings(max_examples=15, deadline=None)
@given(SHIFTS, DIMENSIONS, st.floats(0, 1), st.integers(1, 20))
def test_is_not_below_a_fixed_shift(shift, dimension, share, count):
    # p = q = s/2 and equal records are one of the cases covered
    fixed = ExponentialNormRelease(
        sensitivity=shift, noise_rate=1.0, dimension=dimension, count=count
    )
    epsilon = share * shift * count
    lower = numerical_delta(fixed, epsilon, 2**12).lower
    assert lower <= numerical_delta(release(shift, dimension, 0.0, count), epsilon, 2**12).upper


def noise(rng, dimension, size):
    directions = rng.standard_normal((size, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions * rng.gamma(dimension, size=size)[:, None]


def in_ball(rng, dimension):
    direction = rng.standard_normal(dimension)
    return direction / np.linalg.norm(direction) * rng.choice([1.0, rng.uniform() ** 0.5])


def losses_of_a_random_map(rng, shift, dimension, log_determinant, size):
    """Return exact losses under P of outputs whose noise is ``f`` or ``f + p u + q w``.

    p and q are functions of ``t = f . theta`` with fixed signs and sizes at most s/2, so that the
    determinant is ``1 + p' theta.u + q' theta.w``; they change so slowly that it stays within
    ``exp(-j)`` and ``2 - exp(-j)``, which is below ``exp(j)``.
    """
    theta = in_ball(rng, dimension)
    theta /= np.linalg.norm(theta)
    records = [in_ball(rng, dimension) for _ in range(2)]
    if rng.uniform() < 0.3:
        records[1] = records[0]  # the corner with the longest shift
    steepest = -math.expm1(-log_determinant) / (shift / 2 * 0.25) / 2
    output = noise(rng, dimension, size)
    t = output @ theta
    moved, determinant = output.copy(), np.ones(size)
    for record in records:
        sign, rate, middle = rng.choice([-1, 1]), steepest * rng.uniform(-1, 1), rng.normal()
        share = 1 / (1 + np.exp(-np.clip(rate * (t - middle), -500, 500)))
        moved += sign * shift / 2 * share[:, None] * record
        slope = sign * shift / 2 * rate * share * (1 - share)
        determinant += slope * float(theta @ record)
    assert np.abs(np.log(determinant)).max() <= log_determinant + 1e-12
    lengths = np.linalg.norm(moved, axis=1) - np.linalg.norm(output, axis=1)
    return lengths - np.log(determinant)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dimension", [1, 2, 10])
@pytest.mark.parametrize("log_determinant", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("shift", [0.5, 4.0])
def test_losses_of_real_maps_stay_below(dimension, log_determinant, shift):
    rng = np.random.default_rng([7, dimension, int(10 * log_determinant), int(shift)])
    pair = ObjectivePerturbationPair(shift, dimension, log_determinant)
    levels = [0.0, log_determinant / 2, log_determinant, log_determinant + shift / 2]
    upper = [numerical_delta(release(shift, dimension, log_determinant), e).upper for e in levels]
    size = 20_000
    for _ in range(12):
        loss = losses_of_a_random_map(rng, shift, dimension, log_determinant, size)
        assert loss.max() <= pair.largest + 1e-9
        for epsilon, bound in zip(levels, upper, strict=True):
            one = np.maximum(0, -np.expm1(epsilon - loss))
            other = np.maximum(0, np.exp(-loss) - math.exp(epsilon))
            for value in (one, other):
                assert value.mean() - 5 * value.std() / math.sqrt(size) <= bound + 1e-12


def test_the_shift_that_both_records_make_is_no_bound_by_itself():
    # One record moves the noise on one half, the other record on the other half, and the losses on
    # the two halves are both near s/2.
    shift, epsilon = 4.0, 1.0
    rng = np.random.default_rng(11)
    output = noise(rng, 10, 200_000)
    loss = largest_loss(output, shift / 2, math.pi / 2)
    mean = float(np.maximum(0, -np.expm1(epsilon - loss)).mean())
    alone = smooth(10, shift / 2 * math.sqrt(2), epsilon)
    assert alone < mean <= numerical_delta(release(shift, 10), epsilon).upper


# No two directions are worse than two that agree


def largest_loss(output, length, angle):
    """Return the largest loss at a corner of two shifts of this length, at this angle."""
    v, w = np.zeros((2, output.shape[1]))
    v[0], w[0], w[1] = length, length * math.cos(angle), length * math.sin(angle)
    corners = [np.linalg.norm(output + corner, axis=1) for corner in (v, w, v + w)]
    return np.max(corners, axis=0) - np.linalg.norm(output, axis=1)


def lost(r, r_far, a, angle, rays=4_000):
    """Return the area of a disc that one of the shifts takes out of the larger disc, by rays."""
    turn = (np.arange(rays) + 0.5) * 2 * math.pi / rays
    low, high = np.zeros(rays), np.full(rays, r)
    v, w = (a * np.array([math.cos(x), math.sin(x)]) for x in (angle / 2, -angle / 2))
    for shift in (v, w, v + w):
        along = shift[0] * np.cos(turn) + shift[1] * np.sin(turn)
        across = shift[0] * np.sin(turn) - shift[1] * np.cos(turn)
        half = np.sqrt(np.maximum(r_far**2 - across**2, 0))
        low, high = np.maximum(low, -along - half), np.minimum(high, half - along)
    kept = np.maximum(np.maximum(high, 0) ** 2 - np.maximum(low, 0) ** 2, 0) / 2
    return math.pi * r**2 - float(kept.sum()) * 2 * math.pi / rays


@settings(max_examples=200, deadline=None)
@given(st.floats(-3, 0.5), st.floats(0, 1), st.floats(0, math.pi))
def test_shifts_that_agree_take_the_largest_area_out_of_a_disc(size, share, angle):
    a = 10**size
    r_far = 1 + 2 * a * share
    assert lost(1, r_far, a, angle) <= lost(1, r_far, a, 0.0) + 1e-5 * a


def test_where_the_discs_are_one_opposite_shifts_take_out_as_much():
    for a in (0.01, 0.3, 0.9):
        exact = 2 * (math.asin(a) + a * math.sqrt(1 - a * a))
        for angle in (0.0, math.pi):
            assert lost(1, 1, a, angle) == pytest.approx(exact, rel=1e-5)
        assert lost(1, 1, a, math.pi / 2) < exact


@pytest.mark.parametrize("dimension", [2, 3, 10, 104])
@pytest.mark.parametrize("shift", [0.3, 4.0])
def test_no_angle_between_two_records_is_worse_than_none(dimension, shift):
    rng = np.random.default_rng([3, dimension])
    size = 100_000
    output = noise(rng, dimension, size)
    for angle in (0.3, 1.0, math.pi / 2, 2.5, math.pi):
        loss = largest_loss(output, shift / 2, angle)
        for epsilon in (0.0, 0.02 * shift, 0.1 * shift, 0.4 * shift):
            value = np.maximum(0, -np.expm1(epsilon - loss))
            above = value.mean() - 5 * value.std() / math.sqrt(size)
            assert above <= smooth(dimension, shift, epsilon) + 1e-12


@pytest.mark.parametrize("dimension", [2, 10])
def test_shifts_that_agree_attain_the_bound(dimension):
    loss = largest_loss(noise(np.random.default_rng(5), dimension, 400_000), 1.0, 0.0)
    for epsilon in (0.1, 0.5):
        value = np.maximum(0, -np.expm1(epsilon - loss))
        assert value.mean() == pytest.approx(smooth(dimension, 2.0, epsilon), rel=0.02)
