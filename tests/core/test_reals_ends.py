"""Balls at their ends: what they do not tell, what holds 0, roots, and small matrices."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from dpaudit.reals import (
    ComputationTimeout,
    Matrix,
    Real,
    UndecidedComparison,
    binomial,
    chi2_above,
    diagonal,
    dot,
    exp,
    identity,
    largest,
    length,
    log,
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

ZERO = Real(1) / 3 * 3 - 1  # a ball around 0


@pytest.fixture(autouse=True)
def _sixty_digits():
    with precision(60):
        yield


@pytest.mark.parametrize(
    "asked",
    [
        lambda: 1 / ZERO,
        lambda: exp(Real(1e300)) - exp(Real(1e300)),
        lambda: log(ZERO + 0),
        lambda: sqrt(ZERO - 0),
        lambda: ZERO < 0,
        lambda: ZERO <= 0,
        lambda: ZERO == 0,
        lambda: bool(ZERO),
        lambda: ZERO**3 >= 0,
        lambda: ZERO**-2,
        lambda: Matrix([[ZERO]]).solve(vector([1])),
    ],
)
def test_what_digits_do_not_tell_is_undecided(asked):
    with pytest.raises(UndecidedComparison):
        asked()


def test_powers_of_what_may_be_zero():
    assert ZERO**2 >= 0
    assert ZERO**4 >= 0
    assert ZERO**0 == 1
    assert (Real(-2) ** 3, Real(-2) ** 2, Real(-2) ** -1) == (-8, 4, Fraction(-1, 2))
    assert length(ZERO) >= 0
    assert length(Real(9)) == 3


def test_comparisons_of_what_is_exact():
    two = Real(2)
    assert not two < 2
    assert not two > 2
    assert two <= 2 <= two
    assert two >= 2
    assert two == 2 != Real(3)
    assert bool(two)
    assert not bool(Real(0))
    assert (1 - two, two - 1, 1 / two, two / 4, -two, abs(-two)) == (-1, 1, 0.5, 0.5, -2, 2)
    assert (two * 3, 3 * two, two + 1, 1 + two) == (6, 6, 3, 3)
    with pytest.raises(ZeroDivisionError):
        _ = two / 0
    with pytest.raises(TypeError):
        _ = two * "a"


def test_the_shorter_of_two_times_counts():
    with precision(60, 0.0), precision(60, 1000.0), pytest.raises(ComputationTimeout):
        _ = Real(1) < 2
    with precision(60, 1000.0):
        assert Real(1) < 2


def test_the_largest_and_the_smallest_of_ties():
    third = Real(1) / 3
    assert largest([third, third, 0.2]) > 0.3
    assert smallest([third, third, 0.5]) < 0.4
    assert largest([2, -3]) == 2
    assert smallest([2, -3]) == -3
    assert [float(one) for one in sort_reals([Real(3), Real(1), Real(2), Real(1)])] == [
        1,
        1,
        2,
        3,
    ]


def test_sums_of_different_lengths_are_refused():
    assert total([]) == 0
    assert dot([1, 2], [3, 4]) == 11
    with pytest.raises(ValueError, match="zip"):
        dot([1, 2], [3])
    assert norm([3, 4]) == 5


@pytest.mark.parametrize("x", [-1e6, -3.0, 0.0, 3.0, 1e6])
def test_a_sigmoid_and_its_mirror_add_up(x):
    both = sigmoid(x) + sigmoid(-x)
    assert abs(both - 1) < 1e-50
    assert -1e-50 < sigmoid(x) < 1 + Real(1e-50)
    assert float(sigmoid(3.0)) == pytest.approx(1 / (1 + math.exp(-3)))


def test_a_tail_with_two_degrees_is_an_exponential():
    assert abs(chi2_above(2, 3.0) - exp(-1.5)) < 1e-50
    assert chi2_above(4, 0) == 1


@pytest.mark.parametrize("guess", [-100.0, 0.0, 100.0])
def test_a_root_is_enclosed_by_what_the_function_rises(guess):
    found = root(lambda x: 2 * x + x**3 - 3, 2, guess)  # 1
    assert abs(found - 1) < 1e-40
    wide = root(lambda x: (x - 5) * Real(1), 0.5, guess)
    assert abs(wide - 5) < 1e-40
    blurred = root(lambda x: x - 1 + ZERO * 1e50, 0.5, guess)  # known to 1e-10 or so
    assert not blurred.ball.is_exact()
    with pytest.raises(UndecidedComparison):
        _ = blurred == 1


def test_matrices_by_hand():
    a = Matrix([[2, 1], [1, 3]])
    assert a.det() == 5
    assert (a.rows, a.cols, a.T[0, 1], a[1, 1]) == (2, 2, 1, 3)
    assert [float(x) for x in a.solve(vector([5, 10])).entries()] == [1.0, 3.0]
    assert [float(x) for x in (a * identity(2) - a).entries()] == [0, 0, 0, 0]
    assert [float(x) for x in (2 * a + -a).row(0)] == [2, 1]
    assert [float(x) for x in (a * 2).column(1)] == [2, 6]
    assert diagonal([2, 3]).det() == 6
    with precision(60):
        low, high = sort_reals(a.eigenvalues())
        assert abs(low + high - 5) < 1e-40
        assert abs(low * high - 5) < 1e-40


@pytest.mark.parametrize(
    ("rows", "radius"),
    [
        ([[0, 1], [0, 0]], 0.0),
        ([[1, 1], [0, 1]], 1.0),
        ([[0, 2], [-2, 0]], 2.0),
        ([[0.5, 0], [0, -3]], 3.0),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 1.0),
    ],
)
def test_spectral_radii(rows, radius):
    with precision(60):
        found = Matrix(rows).spectral_radius()
        assert abs(float(found) - radius) < 1e-12
        assert found.ball.overlaps(Real(radius).ball)


def test_an_integer_beyond_doubles_is_a_number_like_any_other():
    assert float(Real(10**400) / Real(10) ** 399) == pytest.approx(10, rel=1e-15)
    assert float(binomial(3000, 1500) / Real(2) ** 3000) == pytest.approx(
        math.comb(3000, 1500) / 2**3000, rel=1e-15
    )
    with pytest.raises(TypeError, match="no number"):
        Real(math.inf)
