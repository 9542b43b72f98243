"""The bracket of delta between two Gaussian laws, and functions of two datasets."""

from __future__ import annotations

import math

import numpy as np
import pytest
from flint import arb_mat
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from dpaudit.affine.features import (
    _bound_quadratic_delta,
    _bound_whitening_error,
    _Diagonal,
    _diagonalise_covariances,
    _Quadratic,
    view_pairs,
)
from dpaudit.affine.form import NotAffine
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.reals import precision


def diagonal(shift, spread):
    return _Diagonal(np.atleast_1d(shift), np.atleast_1d(spread), 0.0, 0.0)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("pair", [(0.5, 2.0), (0.0, 0.5), (1.0, 1.3), (-1.0, 0.2), (0.3, 1 - 1e-9)])
def test_one_coordinate_is_a_quadrature(pair, epsilon):
    shift, spread = pair

    def beyond(z):
        other = norm.pdf(z, shift, math.sqrt(spread))
        return max(0.0, norm.pdf(z) - math.exp(epsilon) * other)

    exact = quad(beyond, -9, 9, limit=2000, points=np.linspace(-8, 8, 40))[0]
    found = _bound_quadratic_delta(diagonal(shift, spread), epsilon, 2**16)
    assert found.lower - 1e-9 <= exact <= found.upper + 1e-9
    assert found.width < 1e-3


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_equal_spreads_are_the_gaussian_profile(mu):
    for epsilon in (0.0, 1.0, 3.0):
        found = _bound_quadratic_delta(diagonal([0.6 * mu, 0.8 * mu], [1.0, 1.0]), epsilon, 2**16)
        assert found.contains(GaussianDP(mu).delta(epsilon))
        assert found.width < 1e-3


def test_more_cells_are_closer():
    pair = diagonal([0.3, 0.1, 0.0], [1.2, 0.9, 1.5])
    widths = [_bound_quadratic_delta(pair, 0.2, cells).width for cells in (2**10, 2**14, 2**18)]
    assert widths[0] > 8 * widths[1] > 64 * widths[2]


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_what_either_law_is_off_by_is_paid_for(epsilon):
    shift, spread = np.array([0.4]), np.array([1.5])
    exact = _bound_quadratic_delta(_Diagonal(shift, spread, 0.0, 0.0), epsilon, 2**12)
    for p, q in ((1e-2, 0.0), (0.0, 1e-2), (1e-3, 2e-3)):
        found = _bound_quadratic_delta(_Diagonal(shift, spread, p, q), epsilon, 2**12)
        cost = p + math.exp(epsilon) * q
        assert found.lower == pytest.approx(max(0.0, exact.lower - cost), abs=1e-12)
        assert found.upper == pytest.approx(exact.upper + cost, abs=1e-12)


LAWS = [(0.7, 2.0), (0.7, 0.4), (-1.2, 0.9), (0.0, 3.0), (0.0, 0.5), (0.9, 1.0), (0.0, 1.0)]


def loss_of(shift, spread, z):
    return norm.logpdf(z) - norm.logpdf(z, shift, math.sqrt(spread))


@pytest.mark.parametrize(("shift", "spread"), LAWS)
def test_the_loss_is_a_quadratic_and_its_ends_are_those_within_the_farthest(shift, spread):
    part = _Quadratic.of(shift, spread)
    z = np.linspace(-9, 9, 20_001)
    loss = loss_of(shift, spread, z)
    assert np.allclose(part.square * z**2 + part.slope * z + part.constant, loss, atol=1e-12)
    assert math.isclose(part.low, loss.min(), abs_tol=1e-6)
    assert math.isclose(part.high, loss.max(), abs_tol=1e-6)
    assert part.low <= loss.min() + 1e-12
    assert part.high >= loss.max() - 1e-12


@pytest.mark.parametrize(("shift", "spread"), LAWS)
def test_the_law_of_the_loss_is_that_of_its_outputs(shift, spread):
    part = _Quadratic.of(shift, spread)
    z = np.linspace(-9, 9, 200_001)
    weights = norm.pdf(z) * (z[1] - z[0])
    loss = loss_of(shift, spread, z)
    for at in np.linspace(part.low - 0.1, part.high + 0.1, 9):
        exact = float(weights[loss <= at].sum())
        assert abs(float(part._distribution(np.array([at]))[0]) - exact) < 1e-4
    _, masses = part.floored(0.05)
    assert masses.min() >= 0
    assert math.isclose(masses.sum(), 1 - 2 * ndtr(-9.0), rel_tol=1e-14)


def exact_delta(shift, spread, epsilon):
    z = np.linspace(-12, 12, 400_001)
    gap = norm.pdf(z) - math.exp(epsilon) * norm.pdf(z, shift, math.sqrt(spread))
    return float(np.maximum(gap, 0).sum() * (z[1] - z[0]))


@pytest.mark.parametrize("epsilon", [0.0, 0.4])
@pytest.mark.parametrize(("shift", "spread"), LAWS[:5])
def test_a_bracket_of_one_coordinate_holds_its_integral(shift, spread, epsilon):
    pair = _Diagonal(np.array([shift]), np.array([spread]), 0.0, 0.0)
    found = _bound_quadratic_delta(pair, epsilon, 2**12)
    exact = exact_delta(shift, spread, epsilon)
    assert found.lower - 1e-7 <= exact <= found.upper + 1e-7
    assert found.width < 0.02


def test_what_the_pair_is_off_by_is_added_on_both_sides():
    shift, spread = np.array([0.7]), np.array([2.0])
    exact = _bound_quadratic_delta(_Diagonal(shift, spread, 0.0, 0.0), 0.5, 2**12)
    of_p = _bound_quadratic_delta(_Diagonal(shift, spread, 0.01, 0.0), 0.5, 2**12)
    of_q = _bound_quadratic_delta(_Diagonal(shift, spread, 0.0, 0.01), 0.5, 2**12)
    for found, off in ((of_p, 0.01), (of_q, 0.01 * math.exp(0.5))):
        assert found.upper - exact.upper == pytest.approx(off)
        assert exact.lower - found.lower == pytest.approx(off)


def test_coordinates_add_up():
    """Two coordinates of equal spread are one, of the length of the shift."""
    two = _bound_quadratic_delta(_Diagonal(np.array([0.6, 0.8]), np.ones(2), 0.0, 0.0), 0.3, 2**14)
    assert two.lower <= GaussianDP(1.0).delta(0.3) <= two.upper
    assert two.width < 0.01


def test_covariances_are_diagonalised_together():
    one = arb_mat([[2, 0, 0], [1, 1, 0]])
    other = arb_mat([[1, 0, 1], [0, 3, 0]])
    shift = arb_mat([[1], [2]])
    with precision(60):
        found = _diagonalise_covariances(one, other, shift)
        back = _diagonalise_covariances(other, one, arb_mat([[-1], [-2]]))
    s, t = np.array([[4.0, 2], [2, 2]]), np.array([[2.0, 0], [0, 9]])
    spreads = np.linalg.eigvals(np.linalg.solve(s, t)).real
    assert sorted(found.spread) == pytest.approx(sorted(spreads))
    assert sorted(back.spread) == pytest.approx(sorted(1 / spreads))
    d = np.array([1.0, 2])
    assert found.shift @ found.shift == pytest.approx(d @ np.linalg.solve(s, d))
    assert back.shift @ back.shift == pytest.approx(d @ np.linalg.solve(t, d))
    assert 0 < found.variation_p < 1e-12
    assert 0 < found.variation_q < 1e-12
    with precision(60):
        off = _bound_whitening_error(arb_mat([[1.1, 0], [0, 1]]))
        assert off == pytest.approx(0.21)
        with pytest.raises(ConvergenceError, match="ill-conditioned"):
            _bound_whitening_error(arb_mat([[1.3, 0], [0, 1]]))


@pytest.mark.parametrize("square", [1.0, -1.0])
def test_a_loss_at_its_vertex_has_one_root(square):
    """``square z^2``: both roots of the loss 0 are 0, and a loss beyond it has none."""
    law = _Quadratic(square=square, slope=0.0, constant=0.0, low=-64.0, high=64.0)
    low, high = law._between(np.array([0.0, square, -square]))
    assert low.tolist() == [0.0, -1.0, 0.0]
    assert high.tolist() == [0.0, 1.0, 0.0]


def test_coordinates_that_are_alike_cost_nothing():
    """A change of basis may leave coordinates that differ by rounding alone."""
    one = arb_mat([[1, 0], [0, 1]])
    with precision(60):
        found = _diagonalise_covariances(one, arb_mat([[2, 0], [0, 1]]), arb_mat([[1], [0]]))
        same = _diagonalise_covariances(one, one, arb_mat([[0], [0]]))
        near = _diagonalise_covariances(one, one, arb_mat([[0], [1e-9]]))
    assert (found.spread.tolist(), found.shift.tolist()) == ([4.0], [1.0])
    assert (len(same.spread), near.shift.tolist()) == (0, [1e-9])
    assert _bound_quadratic_delta(same, 0.5, 2**10).upper < 1e-12


# --- functions of two datasets -------------------------------------------------------------------

NARROW, WIDE = np.array([0.0, 1.0]), np.array([0.5, 2.0])


def scaled(x, rng):
    """The first number, with noise as wide as the second."""
    return {"all": x[0] + x[1] * rng.normal(), "none": rng.normal(), "second": x[1]}


def test_the_worse_direction_of_two_laws_counts():
    ways = exact_delta(0.5, 4.0, 0.4), exact_delta(0.25, 0.25, 0.4)
    for pair in ((NARROW, WIDE), (WIDE, NARROW)):
        found = view_pairs(scaled, pair)["all"].delta(0.4, 2**12)
        assert found.lower - 1e-6 <= max(ways) <= found.upper + 1e-6
        assert found.lower > min(ways) + 1e-3


def test_what_is_the_same_or_seen_by_itself_is_so():
    found = view_pairs(scaled, (NARROW, WIDE))
    assert found["none"].delta(0.0, 2**12).upper < 1e-6
    assert (found["second"].told_apart, found["second"].delta(9.0).lower) == (True, 1.0)
    assert found["everything"].told_apart
    same = view_pairs(scaled, (NARROW, np.array([0.3, 1.0])))
    assert not same["second"].told_apart
    assert same["second"].delta(0.0).upper == 0.0
    bracket = same["everything"].delta(0.2, 2**14)
    assert bracket.lower <= GaussianDP(0.3).delta(0.2) <= bracket.upper < bracket.lower + 1e-3


def test_means_count_wherever_numbers_are_added():
    """In sums, products with matrices, arrays that are filled, and what is returned as it is."""

    def recursion(x, rng):
        state, sent = np.zeros(2), np.zeros((3, 3))
        for t in range(3):
            state = np.array([[0.5, x[0]], [x[1], 0.25]]) @ (state + x) + 0.5 * x * rng.normal(
                size=2
            )
            sent[t, :2] = np.cumsum(1.0 + state)
            sent[t, 2] = x.max() * 2
        return sent[:, :2], np.concatenate([sent[:, 2], state])

    x = np.array([0.7, -0.3])
    found = view_pairs(recursion, (x, x + 1e-3))["output"]
    law = found.here
    noise = np.random.default_rng(1).normal(size=6)
    calls = iter(noise.reshape(3, 2))

    class Fixed:
        def normal(self, size):
            return next(calls)

    from dpaudit.affine.kinds import DOUBLES

    table = law.program.coefficients(DOUBLES, law.ids)
    expected = np.concatenate([one.ravel() for one in recursion(x, Fixed())])
    np.testing.assert_allclose(table @ np.append(noise, 1.0), expected, atol=1e-12)


def test_what_is_not_linear_in_noise_is_refused():
    with pytest.raises(NotAffine, match=r"numpy\.absolute is not linear"):
        view_pairs(lambda x, rng: abs(x + rng.normal()), (1.0, 2.0))


def test_outputs_of_other_shapes_are_refused():
    for function in (lambda x, rng: x + rng.normal(size=len(x)), lambda x, rng: {str(len(x)): 1.0}):
        with pytest.raises(InvalidArgument, match=r"^pair: "):
            view_pairs(function, (np.zeros(1), np.zeros(2)))
