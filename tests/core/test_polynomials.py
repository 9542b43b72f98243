"""Exact polynomials: what is an identity and what is none."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings, strategies

from dpaudit.errors import InvalidArgument
from dpaudit.extension.identities import make_identity_finding
from dpaudit.polynomials import (
    Polynomial,
    make_polynomial,
    make_unknown,
    make_unknowns,
    total,
    vectors,
)

X, Y, Z = make_unknowns("x y z")
U, V, W = vectors("u v w")
WHOLE = strategies.integers(-3, 3)
MADE = strategies.recursive(
    strategies.sampled_from([X, Y, Z]) | WHOLE.map(make_polynomial),
    lambda inner: strategies.tuples(strategies.sampled_from("+-*"), inner, inner).map(
        lambda made: {"+": made[1] + made[2], "-": made[1] - made[2], "*": made[1] * made[2]}[
            made[0]
        ]
    ),
    max_leaves=6,
)
POINT = strategies.fixed_dictionaries({"x": WHOLE, "y": WHOLE, "z": WHOLE})


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((X + Y) ** 2, X**2 + 2 * X * Y + Y**2),
        ((U - V) @ (V - W), ((U - W).square - (V - W).square - (U - V).square) / 2),
        ((X**2 - Y**2) / X, X - Y**2 / X),
        (1 / X - Y, (1 - X * Y) * X**-1),
        ((U / X - 3 * V) @ (X * U), U.square - 3 * X * (U @ V)),
        (total([U, V, W]).square, (U + V + W) @ (W + V + U)),
    ],
)
def test_an_identity_holds_and_with_another_sign_or_factor_does_not(left, right):
    assert make_identity_finding(left, right, "").holds
    for monomial in right.terms:
        for factor in (-1, 2, Fraction(1, 2)):
            changed = Polynomial({**right.terms, monomial: factor * right.terms[monomial]})
            assert not make_identity_finding(left, changed, "").holds
    assert not make_identity_finding(left, right + Fraction(1, 10**30), "").holds


@settings(max_examples=60, deadline=None)
@given(MADE, MADE, POINT)
def test_values_of_sums_and_products_are_sums_and_products_of_values(one, other, point):
    assert (one + other).value(point) == one.value(point) + other.value(point)
    assert (one - other).value(point) == one.value(point) - other.value(point)
    assert (one * other).value(point) == one.value(point) * other.value(point)
    assert one.substitute({"x": other}).value(point) == one.value(
        {**point, "x": other.value(point)}
    )


@settings(max_examples=20, deadline=None)
@given(MADE, MADE)
def test_two_are_equal_where_and_only_where_they_have_all_values_in_common(one, other):
    # A polynomial of degree at most 6 in each unknown is zero if it is on a grid of 7 points each.
    grid = [dict(zip("xyz", point, strict=True)) for point in product(range(7), repeat=3)]
    same = all(one.value(point) == other.value(point) for point in grid)
    assert (one == other) is same
    assert (hash(one) == hash(other)) or not same


def test_products_of_vectors_are_inner_products():
    rng = np.random.default_rng(0)
    arrays = {name: rng.integers(-4, 5, size=5) for name in "uvw"}
    values = {f"<{a}, {b}>": int(arrays[a] @ arrays[b]) for a in "uvw" for b in "uvw" if a <= b}
    left, right = 2 * U - V / 3 + W, U - 5 * W
    u, v, w = arrays.values()
    exact = Fraction(int((6 * u - v + 3 * w) @ (u - 5 * w)), 3)
    assert (left @ right).value(values) == exact


def test_inner_products_do_not_depend_on_the_order_and_are_no_products_of_norms():
    assert U @ V == V @ U
    assert U - V + (V - U) == total(())
    assert U - V != V - U
    assert (U @ V) ** 2 != U.square * V.square


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: X + 0.5,
        lambda: X * np.float64(1.0),
        lambda: X + True,
        lambda: X / (X + Y),
        lambda: X / 0,
        lambda: (X / Y).value({"x": 1, "y": 0}),
        lambda: X.value({"y": 1}),
        lambda: (1 / X).substitute({"x": Y + 1}),
    ],
)
def test_what_is_not_exact_or_not_defined_is_refused(wrong):
    with pytest.raises(InvalidArgument):
        wrong()


def test_numbers_compare_with_polynomials_that_are_constant():
    assert X - X == 0
    assert X - X + 2 == 2
    assert X != 2
    assert make_unknown("x") == X
