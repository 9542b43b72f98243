"""Losses: convex, with a slope that is their derivative and stays within its stated range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.algorithms.problems.losses import LOSSES, loss_called
from dpaudit.errors import UnknownName

UNTIMED = settings(deadline=None)
MARGIN = st.floats(-1e6, 1e6)
MODERATE = st.floats(-50, 50)
KINKS = {"hinge": 1.0, "absolute": 1.0}
# Where each end of the range is reached; None: in the limit only.
LOWEST_AT = {
    "logistic": -1000.0,
    "hinge": 0.0,
    "smoothed-hinge": 0.0,
    "linear": 0.0,
    "absolute": 0.0,
}
HIGHEST_AT = {
    "logistic": 1000.0,
    "hinge": 2.0,
    "smoothed-hinge": 2.0,
    "linear": 0.0,
    "absolute": 2.0,
}


@pytest.fixture(params=LOSSES.values(), ids=LOSSES.keys(), scope="module")
def loss(request):
    return request.param


def value(loss, margin):
    return float(loss.value(np.array([margin]))[0])


def slope(loss, margin):
    return float(loss.slope(np.array([margin]))[0])


@UNTIMED
@given(at=MODERATE, other=MODERATE)
def test_the_slope_is_a_subgradient_of_a_convex_loss(loss, at, other):
    line = value(loss, at) + slope(loss, at) * (other - at)
    assert value(loss, other) >= line - 1e-12 * (1 + abs(at) + abs(other))


@UNTIMED
@given(one=MODERATE, other=MODERATE, share=st.floats(0, 1))
def test_a_chord_lies_above_the_loss(loss, one, other, share):
    chord = share * value(loss, one) + (1 - share) * value(loss, other)
    inside = value(loss, share * one + (1 - share) * other)
    assert inside <= chord + 1e-12 * (1 + abs(one) + abs(other))


@UNTIMED
@given(margin=MODERATE)
def test_the_slope_is_the_derivative_away_from_kinks(loss, margin):
    step = 1e-4
    if abs(margin - KINKS.get(loss.name, np.inf)) <= step:
        margin += 1.0
    difference = (value(loss, margin + step) - value(loss, margin - step)) / (2 * step)
    assert slope(loss, margin) == pytest.approx(difference, abs=1e-4)


@UNTIMED
@given(margin=MARGIN)
def test_the_slope_range_is_never_left(loss, margin):
    low, high = loss.slope_range
    assert low <= slope(loss, margin) <= high


def test_the_slope_range_is_attained(loss):
    ends = slope(loss, LOWEST_AT[loss.name]), slope(loss, HIGHEST_AT[loss.name])
    assert ends == loss.slope_range


@UNTIMED
@given(one=MARGIN, other=MARGIN)
def test_the_loss_is_lipschitz(loss, one, other):
    change = abs(value(loss, one) - value(loss, other))
    assert change <= loss.lipschitz * abs(one - other) + 1e-9


def test_the_logistic_slope_survives_huge_margins_without_warnings():
    loss = loss_called("logistic")
    margins = np.array([-1000.0, -40.0, 0.0, 40.0, 1000.0])
    slopes = loss.slope(margins)
    np.testing.assert_allclose(slopes, [-1, -1, -0.5, -np.exp(-40.0), 0], rtol=1e-12)
    np.testing.assert_allclose(loss.value(margins)[[0, -1]], [1000, 0], rtol=1e-12)
    np.testing.assert_array_equal(margins, [-1000.0, -40.0, 0.0, 40.0, 1000.0])


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_shapes_are_kept(loss, shape):
    margins = np.zeros(shape)
    assert np.shape(loss.value(margins)) == np.shape(loss.slope(margins)) == shape


def test_losses_by_name():
    assert all(loss_called(name) is known for name, known in LOSSES.items())
    with pytest.raises(UnknownName, match="did you mean 'hinge'"):
        loss_called("hing")
