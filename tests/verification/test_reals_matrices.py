"""Lengths, products and spectra of enclosed numbers, as verifiers use them."""

from fractions import Fraction

import pytest

from dpaudit.verification.reals import (
    Matrix,
    Real,
    UndecidedComparison,
    diagonal,
    dot,
    largest,
    length,
    norm,
    precision,
    sort_reals,
    sqrt,
    total,
)


@pytest.fixture(autouse=True)
def digits():
    with precision(60):
        yield


def test_an_inner_product_is_the_sum_of_products():
    assert dot([Real(0.5), Real(8), 2], [4, Fraction(1, 2), 0.25]) == total([2, 4.0, 0.5])
    with pytest.raises(UndecidedComparison):
        assert dot([1e200, 4.0, -1e200], [0.5] * 3) == 2
    with precision(250):
        assert dot([1e200, 4.0, -1e200], [0.5] * 3) == 2


def test_a_length_is_enclosed_where_its_square_may_be_below_zero():
    square = (Real(1) / 3) ** 2 - Real(1) / 9  # 0, but no ball says so
    with pytest.raises(UndecidedComparison):
        sqrt(square)
    assert 0 <= length(square) + 1e-20 <= 2e-20
    assert length(Real(0)) == 0
    assert norm([]) == 0
    assert length(4) == 2


@pytest.mark.parametrize("other", [1, 1.0, Fraction(1), Real(1)])
def test_products_take_every_kind_of_number_and_nothing_else(other):
    assert Real(3) * other == 3
    assert other * Real(3) == 3
    with pytest.raises(TypeError):
        Real(3) * "1"
    assert Real(3) != "1"


def test_singular_values_of_a_complete_graph_are_enclosed_though_they_are_equal():
    laplacian = 5 * diagonal([1] * 5) - Matrix([[1] * 5] * 5)
    squares = sort_reals((laplacian.T * laplacian).eigenvalues())
    assert [round(float(length(one)), 12) for one in squares] == [0, 5, 5, 5, 5]
    assert abs(largest(squares) - 25) < 1e-12
