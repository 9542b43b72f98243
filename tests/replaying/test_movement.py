"""How far a noisy call moved, and at which scale, where only its output shows it."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpaudit.freezing.observing import observe_runs
from dpaudit.replaying.findings import _declared
from dpaudit.replaying.laws import laws_of
from dpaudit.replaying.movement import compute_movements
from dpaudit.replaying.request import ReplayRequest


def moved(function, dataset=(0.0,), neighbour=(1.0,)):
    one, other = observe_runs(function, np.array(dataset), np.array(neighbour)).sides
    laws = laws_of(one), laws_of(other)
    (found,) = compute_movements(
        one, other, laws, frozenset({call.key for call in one.runs[0].calls})
    )
    return found


def hidden(data, rng):
    """Return two numbers of one call, whose sums with noise are made where nothing sees them."""
    small, large = rng.laplace(size=2)
    weight = 5.0 if data.sum() == 0 else 7.0
    return [math.fsum([data.sum(), 2.0 * small]), math.fsum([3 * data.sum(), weight * large])]


def test_an_output_shows_the_whole_movement_and_the_largest_scale_of_either_dataset():
    found = moved(hidden)
    assert found.seen == "output"
    assert found.moved == pytest.approx(1.0 + 3.0)  # of Laplace noise, in L1
    assert (found.scale, found.other_scale) == pytest.approx((5.0, 7.0))
    assert found.scale_moved


def test_an_output_of_gaussian_noise_moves_by_its_euclidean_length():
    def gaussian(data, rng):
        small, large = rng.normal(size=2)
        return [math.fsum([3 * data.sum(), small]), math.fsum([4 * data.sum(), -2.0 * large])]

    found = moved(gaussian)
    assert found.seen == "output"
    assert (found.moved, found.scale) == pytest.approx((5.0, 2.0))


@pytest.mark.parametrize(
    ("declared", "moved", "steady", "broken"),
    [
        (1.0, 2.0, True, True),
        (1.0, 2.0, False, False),
        (2.0, 1.0, True, False),
        (1.0, 1.0, True, False),
        (None, 2.0, True, False),
        (1.0, None, True, False),
    ],
)
def test_a_declaration_is_broken_by_a_movement_that_no_noise_has_a_part_in(
    declared, moved, steady, broken
):
    call = SimpleNamespace(
        declared=declared, moved=moved, steady=steady, name="n", place="p", index=0
    )
    assert [one.tier for one in _declared([call], ReplayRequest(1.0, 0.0))] == [
        "violation"
    ] * broken
