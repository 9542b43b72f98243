"""Events: count, loop and nesting say the same, and nothing else is accounted for."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.events import GaussianRelease, Sequence
from dpaudit.errors import InvalidArgument, UnsupportedEvent

POSITIVE = st.floats(1e-3, 1e3)


def mu_of(event):
    return gaussian_guarantee(event).mu


@given(POSITIVE, POSITIVE, st.integers(0, 30))
def test_count_equals_loop_equals_nested(sensitivity, noise_scale, count):
    one = GaussianRelease(sensitivity=sensitivity, noise_scale=noise_scale)
    counted = GaussianRelease(sensitivity=sensitivity, noise_scale=noise_scale, count=count)
    nested = Sequence(())
    for _ in range(count):
        nested = Sequence((nested, one))
    expected = sensitivity / noise_scale * math.sqrt(count)
    for event in (counted, Sequence((one,) * count), Sequence((Sequence((counted,)),)), nested):
        assert mu_of(event) == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=1, max_size=8))
def test_squares_add_up_and_more_releases_cost_more(parts):
    events = [GaussianRelease(sensitivity=s, noise_scale=n) for s, n in parts]
    total = mu_of(Sequence(tuple(events)))
    assert total**2 == pytest.approx(sum((s / n) ** 2 for s, n in parts), rel=1e-12)
    assert total >= mu_of(Sequence(tuple(events[:-1])))


def test_nothing_released_costs_nothing():
    assert mu_of(Sequence(())) == 0
    assert mu_of(GaussianRelease(sensitivity=1.0, noise_scale=1.0, count=0)) == 0
    assert mu_of(GaussianRelease(sensitivity=0.0, noise_scale=1.0)) == 0


@pytest.mark.parametrize("event", [None, 3, "gaussian", object(), (), 1.0])
def test_an_unknown_event_is_refused(event):
    for wrapped in (event, Sequence((event,)), Sequence((Sequence((event,)),))):
        with pytest.raises(UnsupportedEvent, match=f"got {type(event).__name__}"):
            gaussian_guarantee(wrapped)


@pytest.mark.parametrize(
    ("field", "value"),
    [("sensitivity", -1.0), ("noise_scale", 0.0), ("count", -1), ("count", 1.5), ("count", True)],
)
def test_bad_parameters_are_refused_by_name(field, value):
    with pytest.raises(InvalidArgument, match=f"^{field}: got"):
        GaussianRelease(**{"sensitivity": 1.0, "noise_scale": 1.0, field: value})


def test_a_cost_no_number_can_hold_is_refused():
    with pytest.raises(InvalidArgument, match="noise_scale: got inf"):
        gaussian_guarantee(GaussianRelease(sensitivity=1e200, noise_scale=1e-200))
