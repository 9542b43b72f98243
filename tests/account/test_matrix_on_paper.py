"""Ends of matrix mechanisms on paper: balls that overlap, sums that round, rounds left over."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, fmpq, fmpq_mat

from dpaudit.accounting.matrices import sensitivity
from dpaudit.accounting.matrices.correlation import compute_squared_mahalanobis
from dpaudit.accounting.matrices.participation import Participation
from dpaudit.accounting.matrices.sensitivity import (
    compute_squared_sensitivity,
    root_down,
    root_up,
    square_of_patterns,
)
from dpaudit.accounting.matrices.strategies import Dense, Toeplitz, Tree
from dpaudit.affine.rounds import Gram

WIDE = [arb(1, 0.5), arb(1.2, 0.5)]  # up to 1.7, whichever is larger


def gram_of(rows):
    table = np.empty((len(rows), len(rows)), dtype=object)
    for i, row in enumerate(rows):
        table[i] = [arb(entry) for entry in row]
    return Gram(len(rows), table)


@pytest.mark.parametrize("balls", [WIDE, WIDE[::-1]])
def test_of_balls_that_overlap_the_largest_is_either(balls):
    sums, _ = Participation(kind="min-separation", separation=2).heaviest(balls, 1)
    assert sums.upper() >= arb("1.699")
    diagonal = gram_of([[balls[0], 0], [0, balls[1]]])
    assert square_of_patterns(diagonal, [(0,), (1,)]).upper.upper() >= arb("1.699")


def test_an_inner_product_that_may_be_below_0_counts_by_its_size():
    off = arb(-0.4, 0.5)  # from -0.9 to 0.1
    found = square_of_patterns(gram_of([[1, off], [off, 1]]), [(0, 1)])
    assert found.upper.upper() >= arb("3.799")


def test_roots_of_balls_are_rounded_outwards():
    assert root_up(arb(4, 1)) >= math.sqrt(5)
    assert root_down(arb(4, 1)) <= math.sqrt(3)


def test_magnitudes_are_not_below_what_doubles_round_down():
    odd = 2**27 + 1  # whose square has 55 bits
    assert Fraction(float(Toeplitz(1, [fmpq(odd)]).magnitudes()[0, 0])) >= odd**2


@pytest.mark.parametrize(("band", "is_banded"), [(1, False), (2, True), (3, True)])
def test_a_band_of_two_is_no_band_of_one(band, is_banded):
    rows = fmpq_mat([[1, 0, 0], [1, 1, 0], [0, 1, 1]])
    assert Dense(3, rows).is_banded(band) is is_banded


def test_rounds_left_over_fill_a_node_of_their_own():
    # six rounds side by side: 6 leaves, 3 pairs, a full node of four and half of one, the root
    expected = 6 + 3 * 2**2 + 4**2 + 2**2 + 6**2
    assert Tree(8).bound_separated_square(1, 6) == expected
    assert Tree(8).square(range(6)) == expected


def test_the_worst_cycle_may_begin_later():
    rows = fmpq_mat([[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 1, 0], [0, 0, 0, 3]])
    found = compute_squared_sensitivity(Dense(4, rows), Participation(kind="cyclic", separation=2))
    assert (found.upper, found.lower, found.pattern) == (13, 13, (1, 3))


def test_a_round_behind_the_last_full_separation_counts():
    apart = Participation(kind="min-separation", separation=2)
    assert compute_squared_sensitivity(Toeplitz(5, [fmpq(1)]), apart).upper == 3


def test_late_columns_are_cut_off():
    strategy = Toeplitz(3, [fmpq(1), fmpq(2), fmpq(3)])
    assert [strategy.inner(0, 0), strategy.inner(1, 1), strategy.inner(1, 2)] == [14, 5, 2]


def test_coefficients_that_fall_below_0_are_not_known_to_fall():
    assert not Toeplitz(2, [fmpq(1), fmpq(-1)]).is_decreasing
    assert Toeplitz(2, [fmpq(1), fmpq(1)]).is_decreasing


@pytest.mark.parametrize("table", [[[2, 1], [0, 2]], [[1, 1], [1, 1]], [[0, 0], [0, 1]]])
def test_what_is_no_covariance_has_no_distance(table):
    assert compute_squared_mahalanobis(fmpq_mat([[1], [1]]), fmpq_mat(table)) is None


def test_sums_over_patterns_are_not_below_what_doubles_round_down(monkeypatch):
    monkeypatch.setattr(sensitivity, "_MOST_PATTERNS", 0)
    rows = fmpq_mat([[2**27, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 1]])
    apart = Participation(kind="min-separation", separation=2, most=2)
    found = compute_squared_sensitivity(Dense(4, rows), apart)
    largest = 2**54 + 1  # rounds 0 and 3
    assert Fraction(int(found.upper.p), int(found.upper.q)) >= largest
    assert found.lower == largest


def test_rounds_exactly_a_separation_apart_meet(monkeypatch):
    monkeypatch.setattr(sensitivity, "_MOST_PATTERNS", 0)
    rows = fmpq_mat([[1, 0, 1, 0], [0, 1, 0, 1]])  # columns 0 and 2 alike, and 1 and 3
    apart = Participation(kind="min-separation", separation=2)
    found = compute_squared_sensitivity(Dense(4, rows), apart)
    assert found.lower == 4
    assert found.upper >= 4


def test_a_lower_end_is_that_of_signs(monkeypatch):
    monkeypatch.setattr(sensitivity, "_MOST_PATTERNS", 0)
    # three columns of which each two have -1: no signs make all inner products positive
    rows = fmpq_mat([[1, -1, 0], [0, 1, -1], [-1, 0, 1]])
    apart = Participation(kind="min-separation", separation=1)
    found = compute_squared_sensitivity(Dense(3, rows), apart)
    assert found.lower == 8  # 6 + 2 (1 + 1 - 1)
    assert float(found.upper) >= 9  # of rows in a plane, 120 degrees apart
