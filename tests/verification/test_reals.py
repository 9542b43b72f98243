"""Balls hold the true number, are narrow, and say so where they do not decide."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.verification.reals import (
    ComputationTimeout,
    Matrix,
    Real,
    UndecidedComparison,
    binomial,
    chi2_above,
    dot,
    exp,
    identity,
    largest,
    log,
    ncdf,
    norm,
    precision,
    root,
    sigmoid,
    smallest,
    sort_reals,
    sqrt,
    total,
    vector,
)

DOUBLES = st.floats(allow_nan=False, allow_infinity=False, width=64)


@pytest.fixture(autouse=True)
def sixty_digits():
    with precision(60), mpmath.workdps(80):
        yield


def holds(ball: Real, true: mpmath.mpf, relative: float = 1e-55) -> bool:
    """Return whether a ball holds a number of 80 digits, and hardly any other."""
    middle, radius = _dyadic(ball.ball.mid()), _dyadic(ball.ball.rad().mid())
    unknown = abs(true) * mpmath.mpf(10) ** -75
    inside = abs(middle - true) <= radius * (1 + mpmath.mpf(10) ** -9) + unknown
    return bool(inside and (radius <= relative * abs(middle) or not true))


def _dyadic(exact) -> mpmath.mpf:
    mantissa, exponent = exact.man_exp()
    return mpmath.ldexp(int(mantissa), int(exponent))


@given(DOUBLES, DOUBLES)
def test_doubles_enter_exactly_and_sums_are_decided_with_enough_digits(one, other):
    with precision(700):
        assert Real(one) + other - one == other
        assert (Real(one) < other) == (Fraction(one) < Fraction(other))


@pytest.mark.parametrize("x", [-40.0, -1.5, 0.0, 1e-30, 0.3, 7.0])
def test_functions_are_those_of_another_library(x):
    assert holds(exp(x), mpmath.exp(x))
    assert holds(ncdf(x), mpmath.ncdf(x))
    assert holds(sigmoid(x), 1 / (1 + mpmath.exp(-mpmath.mpf(x))))


@pytest.mark.parametrize("x", [1e-300, 0.3, 1.0, 2.0, 1e300])
def test_roots_and_logarithms(x):
    assert holds(sqrt(x), mpmath.sqrt(x))
    assert holds(log(x), mpmath.log(x))
    assert sqrt(4) == 2
    assert sqrt(0) == 0


@pytest.mark.parametrize(("degrees", "x"), [(1, 0.5), (3, 7.5), (40, 300.0), (7, 1e-8)])
def test_the_tail_of_chi_squared(degrees, x):
    half = mpmath.mpf(degrees) / 2
    assert holds(
        chi2_above(degrees, x), mpmath.gammainc(half, a=mpmath.mpf(x) / 2, regularized=True)
    )


def test_what_a_ball_holds_can_fail_from_both_sides():
    third = mpmath.mpf(1) / 3
    assert holds(Real(1) / 3, third)
    assert not holds(Real(1) / 3, third + mpmath.mpf(10) ** -50)
    with precision(10):
        assert not holds(Real(1) / 3, third)


def test_sums_and_lengths():
    assert total([0.5, Fraction(1, 2), Real(1)]) == 2
    assert dot([1, 2], [3, 4]) == 11
    assert norm([3.0, 4.0]) == 5
    assert norm([0.0, 0.0]) == 0
    assert norm([]) == 0
    assert binomial(50, 25) == math.comb(50, 25)
    assert 1 / Real(4) == 0.25


def test_cancellation_is_seen_and_overcome():
    """(x + y)^2 - x^2 is 0 in 50 digits and in 100; it is 2."""
    with pytest.raises(UndecidedComparison):
        _ = (Real(1e300) + 1e-300) ** 2 - Real(1e300) ** 2 > 0
    with precision(1300):
        assert (Real(1e300) + 1e-300) ** 2 - Real(1e300) ** 2 > 1.99


def test_what_is_equal_is_decided_where_it_is_exact_and_nowhere_else():
    assert Real(0.5) == Fraction(1, 2)
    third = Real(1) / 3
    for ask in (third.__eq__, third.__lt__, third.__le__, third.__gt__, third.__ge__):
        with pytest.raises(UndecidedComparison):
            ask(Fraction(1, 3))
    assert largest((Real(1) / 3, Real(1) / 3)) < 0.34


def test_even_powers_of_what_may_be_zero_are_at_least_zero():
    near = Real(1) / 3 * 3 - 1
    assert near**2 >= 0
    assert abs(near) < 1e-50
    assert near**3 < 1e-100
    assert Real(2) ** -3 == 0.125


@pytest.mark.parametrize(
    "failing", [lambda: Real(1) / 0, lambda: log(0), lambda: log(-1), lambda: sqrt(-1)]
)
def test_what_has_no_value_is_an_arithmetic_error(failing):
    with pytest.raises(ArithmeticError):
        failing()


@pytest.mark.parametrize("value", [math.nan, math.inf, "1", None])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="is no number"):
        Real(value)


def test_time_ends_inside_as_well():
    with precision(60, 0.0), precision(100), pytest.raises(ComputationTimeout):
        _ = Real(1) < 2


def test_order_statistics_of_ties():
    third = Real(1) / 3
    low, middle, high = sort_reals([third, Real(0), third])
    assert low == 0
    assert middle > 0.3
    assert high < 0.4
    assert smallest((third, 0.5)) < 0.4


# --- roots


@pytest.mark.parametrize("level", [0.3, -5.7, 1e10, -1e50, 1e-200])
@pytest.mark.parametrize("rise", [1.0, 1e-6, 1e20])
def test_a_root_is_enclosed_and_narrow(level, rise):
    found = root(lambda x: sigmoid(x) + rise * x - level, rise, 0.0)
    below, above = (Real(end) for end in (found.ball.lower(), found.ball.upper()))
    with precision(250):
        assert sigmoid(below) + rise * below <= Real(level)
        assert sigmoid(above) + rise * above >= Real(level)
        assert above - below <= 1e-40 * (abs(Real(level)) + 1) / rise


def test_a_root_at_a_kink_and_a_root_that_is_a_double():
    kinked = root(lambda x: largest((x, 0)) + x, 1, -7.0)
    assert abs(kinked) < 1e-50
    assert abs(root(lambda x: 3 * x - 1.5, 3, 1e9) - 0.5) < 1e-50


# --- matrices


@pytest.fixture
def square():
    return np.random.default_rng(5).standard_normal((4, 4))


def test_solutions_determinants_and_eigenvalues_are_numpys(square):
    matrix, right = Matrix(square.tolist()), [1.0, -2.0, 0.5, 3.0]
    solved = [float(x) for x in matrix.solve(vector(right)).entries()]
    assert solved == pytest.approx(np.linalg.solve(square, right))
    assert float(matrix.det()) == pytest.approx(np.linalg.det(square))
    gram = sorted(float(x) for x in (matrix.T * matrix).eigenvalues())
    assert gram == pytest.approx(np.linalg.eigvalsh(square.T @ square))
    radius = float(matrix.spectral_radius())
    assert radius == pytest.approx(np.abs(np.linalg.eigvals(square)).max(), rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "radius"),
    [
        ([[1, 1], [0, 1]], 1.0),  # defective
        ([[0, -2], [2, 0]], 2.0),  # imaginary
        ([[0, 1], [0, 0]], 0.0),
        ([[1, 0, 0], [0, -1, 0], [0, 0, 0.5]], 1.0),
        ([[1e100, 1e-100], [1e-100, 1]], 1e100),
    ],
)
def test_the_spectral_radius_of_difficult_matrices(rows, radius):
    found = Matrix(rows).spectral_radius()
    assert found.ball.lower() <= radius <= found.ball.upper()
    assert abs(found - radius) <= 1e-13 * radius


def test_a_singular_matrix_is_undecided_and_a_nearly_singular_one_takes_digits():
    with pytest.raises(UndecidedComparison):
        Matrix([[1, 1], [1, 1]]).solve(vector([1, 2]))
    rows = [[1, 1], [1, 1 + Fraction(1, 10**80)]]
    with pytest.raises(UndecidedComparison):
        Matrix(rows).solve(vector([0, 1]))
    with precision(250):
        assert Matrix(rows).solve(vector([0, 1])).entries()[1] > 1e79


def test_tied_eigenvalues_are_enclosed():
    assert all(abs(value - 1) < 1e-50 for value in identity(3).eigenvalues())
