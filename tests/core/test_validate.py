"""Checks at the boundary: what passes, what is refused, and under which name."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dpaudit import _check as check
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import Table

NOT_NUMBERS = (None, "1", b"1", True, np.True_, [1.0], {}, 1j, np.complex64(1), math.nan, math.inf)
TOO_LARGE = 10**400


@pytest.mark.parametrize(
    "value", [0, -1.5, np.float32(0.5), np.int64(3), Fraction(1, 2), Decimal("2")]
)
def test_real_takes_every_kind_of_number(value):
    number = check.require_real("x", value)
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize("value", [*NOT_NUMBERS, -math.inf, TOO_LARGE, np.array([1.0, 2.0])])
@pytest.mark.parametrize(
    "refuse",
    [
        check.require_real,
        check.require_positive,
        check.non_negative,
        check.require_probability,
        check.require_delta,
    ],
)
def test_what_is_no_finite_number_is_refused_by_name(refuse, value):
    with pytest.raises(InvalidArgument, match=r"^epsilon: got ") as caught:
        refuse("epsilon", value)
    assert caught.value.name == "epsilon"


@pytest.mark.parametrize(
    ("accept", "good", "bad"),
    [
        (check.require_positive, (5e-324, 1, 1e308), (0, -0.0, -5e-324)),
        (check.non_negative, (0, 5e-324, 1e308), (-5e-324, -1)),
        (check.require_probability, (5e-324, 0.5, 1 - 2**-53), (0, 1, -0.1, 1.1)),
        (check.require_delta, (0, 5e-324, 1 - 2**-53), (1, -5e-324, 2)),
    ],
)
def test_ranges_end_where_they_say(accept, good, bad):
    assert [accept("x", value) for value in good] == list(good)
    for value in bad:
        with pytest.raises(InvalidArgument, match="x: got"):
            accept("x", value)


@pytest.mark.parametrize("value", [2, np.int8(2), np.uint64(2)])
def test_an_integer_may_be_any_integer_type(value):
    assert type(check.require_integer("n", value, least=2)) is int


@pytest.mark.parametrize("value", [1, 2.0, "2", True, np.True_, None, np.float64(2), np.array([2])])
def test_an_integer_is_not_guessed(value):
    with pytest.raises(InvalidArgument, match=r"n: got .*, expected an integer, at least 2"):
        check.require_integer("n", value, least=2)


def test_a_choice_is_one_of_the_options():
    assert check.require_choice("kind", "a", ("a", "b")) == "a"
    for value in ("c", None, ["a"], np.array(["a", "b"])):
        with pytest.raises(InvalidArgument, match=r"kind: got .*, expected one of: a, b"):
            check.require_choice("kind", value, ("a", "b"))


def test_an_array_is_copied_and_keeps_its_numbers():
    given = np.arange(6, dtype=np.int32).reshape(2, 3)
    array = check.finite_array("x", given, ndim=2)
    assert array.dtype == np.float64
    np.testing.assert_array_equal(array, given)
    given[0, 0] = 99
    assert array[0, 0] == 0


@pytest.mark.parametrize("value", ["a", ["a"], [[1.0], [1.0, 2.0]], None, [1j], np.array([[1j]])])
def test_what_is_no_array_of_numbers_is_refused(value):
    with pytest.raises(InvalidArgument, match=r"^x"):
        check.finite_array("x", value, ndim=2)


def test_a_wrong_number_of_axes_is_refused_with_the_shape():
    with pytest.raises(InvalidArgument, match=r"shape \(2,\).*2 axes"):
        check.finite_array("x", [1.0, 2.0], ndim=2)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_the_first_bad_entry_is_named_and_bad_rows_are_counted(bad):
    array = np.zeros((5, 3))
    array[2, 1] = array[2, 2] = array[4, 0] = bad
    with pytest.raises(InvalidArgument, match=r"x\[2, 1\]: got .*NaN or infinity: 2\)"):
        check.finite_array("x", array, ndim=2)
    with pytest.raises(InvalidArgument, match=r"y\[1\]: got .*NaN or infinity: 1\)"):
        check.finite_array("y", [0.0, bad], ndim=1)


def test_integers_beyond_every_double_are_refused():
    with pytest.raises(InvalidArgument, match=r"^rows: got .*, expected finite numbers in 1 axis"):
        check.finite_array("rows", [1.0, TOO_LARGE], 1)
    with pytest.raises(InvalidArgument, match=r"^data: got .*, expected a Dataset or an array"):
        Table.of("data", [[1.0, TOO_LARGE]])
