"""Shifts that are read off outputs, and what several of them spend together."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from dpaudit.freezing.tracked_noise import Call
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.replaying.laws import Laws, NumberLaw, StandardDraw
from dpaudit.replaying.movement import CallMovement
from dpaudit.replaying.shifts import _one_shift, _read_off_outputs
from dpaudit.replaying.spending import _compute_noise_excess, compose_moved_epsilon, total_mu

KEY = "laplace(0;)#0"
CALL = Call(0, "laplace", "laplace", "a.py:3 in f", (), (), KEY)


def value(spent, kind="normal"):
    return CallMovement(
        index=0, key=KEY, place="a.py:3 in f", name=kind, kind=kind, shape=(), scale=1.0,
        other_scale=1.0, moved=spent, seen="sum", steady=True, declared=None, epsilon=None,
        spent=spent,
    )  # fmt: skip


def law(centre, factor, error=0.0, entry=0, key=KEY):
    return NumberLaw("laplace", centre, factor, StandardDraw(key, entry), error=error)


def laws(*numbers):
    return Laws("[,]", (), [], list(numbers))


def read(first, second):
    return _read_off_outputs(CALL, (laws(*first), laws(*second)))


@pytest.mark.parametrize("factor", [1e-3, 1.0, 1e4, -1e4, -1e-3])
def test_a_shift_and_how_far_it_is_off_are_in_scales_of_the_noise(factor):
    found = read([law(3.0 * factor, factor, 1e-7)], [law(1.0 * factor, factor, 2e-7)])
    shift, off = found[0]
    assert shift == pytest.approx(2.0)
    assert off == pytest.approx(2 * 3e-7 / abs(factor) + 1e-6)


@pytest.mark.parametrize("factor", [1e-3, 1e4, -1e4])
@pytest.mark.parametrize(("times", "shown"), [(1.9, 0.0), (2.1, 2.1)])
def test_what_both_roundings_explain_is_no_shift(factor, times, shown):
    error = 1e-3 * abs(factor)
    other = law(0.0, factor, error / 2)
    shift, _ = read([law(times * error, factor, error / 2)], [other])[0]
    assert abs(shift) == pytest.approx(shown * 1e-3)


def test_a_draw_that_only_one_dataset_shows_has_no_shift():
    here, other = law(0.0, 1.0), law(0.0, 1.0, key="laplace(0;)#1")
    assert read([here], [other]) == "unseen"
    assert read([other], [here]) == "unseen"
    assert read([here], [None]) == "unseen"
    assert read([None], [here]) == "unseen"
    assert read([other], [other]) == {}
    assert read([here], [law(0.0, 1.0, entry=1)]) == "unseen"


@pytest.mark.parametrize(("first", "second"), [(1.0, 1.0 + 1e-6), (1.0 + 1e-6, 1.0), (1.0, -1.0)])
def test_a_scale_that_differs_has_no_shift(first, second):
    assert read([law(0.0, first)], [law(1.0, second)]) == "scale"


@pytest.mark.parametrize("apart", [1.0, -1.0])
@pytest.mark.parametrize("order", [1, -1])
def test_one_draw_with_two_shifts_is_shared(apart, order):
    first = [law(0.0, 1.0), law(apart, 1.0)][::order]
    assert read(first, [law(0.0, 1.0), law(0.0, 1.0)]) == "shared"
    assert read(first, first) == {0: (0.0, pytest.approx(1e-6))}


def test_a_noise_that_several_entries_have_moves_them_together_or_is_shared():
    call = replace(CALL, scale=2.0, draw=np.float64(0.3))
    zeros = np.zeros(3)
    shift = _one_shift(np.full(3, 4.0), zeros, 1.0, 1.0, call, call)
    assert np.array_equal(shift, [2.0])
    assert _one_shift(np.array([4.0, 4.0, 5.0]), zeros, 1.0, 1.0, call, call) == "shared"
    assert _one_shift(zeros, zeros, 1.0, 1.01, call, call) == "scale"
    assert _one_shift(zeros, zeros, 0.0, 0.0, call, call) == "no law"
    assert _one_shift(np.full(3, np.inf), zeros, 1.0, 1.0, call, call) == "unseen"


def test_gaussian_values_spend_as_the_root_of_squares_and_laplace_values_as_a_sum():
    assert total_mu([value(3.0), value(4.0)]) == pytest.approx(5.0)
    assert total_mu([value(3.0), value(0.0, "laplace")]) == pytest.approx(3.0)
    assert total_mu([value(3.0), value(4.0, "laplace")]) is None
    assert total_mu([value(0.0)]) is None
    assert compose_moved_epsilon(
        [value(3.0, "laplace"), value(4.0, "laplace")], 0.0
    ) == pytest.approx(7.0)
    both = compose_moved_epsilon([value(0.3), value(0.4)], 1e-5)
    assert both == pytest.approx(GaussianDP(0.5).epsilon(1e-5), rel=1e-6)
    assert compose_moved_epsilon([value(0.3)], 0.0) is None


def test_an_excess_is_how_many_times_the_noise_of_the_claim_there_is():
    several = [value(0.2, "laplace"), value(0.3, "laplace")]
    assert _compute_noise_excess(several, None, 2.0, 0.0) == pytest.approx(4.0)
    assert _compute_noise_excess([*several, value(0.1)], None, 2.0, 1e-5) is None
    assert _compute_noise_excess([], None, 2.0, 0.0) is None
    assert _compute_noise_excess([value(0.5)], 0.5, 2.0, 0.0) is None
    times = _compute_noise_excess([value(0.5)], 0.5, 2.0, 1e-5)
    assert GaussianDP(times * 0.5).epsilon(1e-5) <= 2.0  # at least so many: it is rounded down
    assert GaussianDP(0.5 * times).epsilon(1e-5) == pytest.approx(2.0, rel=1e-6)
    assert math.isclose(
        _compute_noise_excess([value(0.25)], 0.25, 2.0, 1e-5), 2 * times, rel_tol=1e-6
    )
