"""Looks that choose: at which points of a claim, on either side, and what is plainly nothing."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.estimation.likelihood import distance
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP, RenyiDP, ZeroConcentratedDP
from dpaudit.scan.candidates.screen import (
    _at_most,
    compute_best_event_nats,
    first_look,
    list_claim_points,
    second_look,
)

RNG = np.random.default_rng(11)


def test_a_claim_is_looked_at_where_it_is_made_or_along_its_curve():
    assert list_claim_points(PureDP(2.0)) == ((2.0, 0.0),)
    assert list_claim_points(ApproximateDP(0.5, 1e-6)) == ((0.5, 1e-6),)
    for claim in (GaussianDP(1.0), ZeroConcentratedDP(0.1), RenyiDP(8.0, 0.5)):
        found = list_claim_points(claim)
        assert [delta for _, delta in found] == [1e-4, 0.02, 0.2, 0.5]
        assert [epsilon for epsilon, _ in found] == [claim.epsilon(delta) for _, delta in found]


def coins(rate, count=200):
    return (np.arange(count) < rate * count).astype(float)


def most_by_hand(p, q, point):
    """Return the nats of the best threshold, each side of it, by trying all."""
    found = [0.0]
    for value in np.unique([*p, *q]):
        for favoured, other in (
            ((p >= value).mean(), (q >= value).mean()),
            ((q <= value).mean(), (p <= value).mean()),
        ):
            found.append(float(distance([favoured], [other], len(p), len(q), *point)[0]))
    return max(found)


@pytest.mark.parametrize("point", [(0.0, 0.0), (0.5, 0.1), (2.0, 1e-3)])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("sizes", [(20, 20), (14, 30)])
def test_the_threshold_that_speaks_most_is_found_on_either_side(point, swapped, sizes):
    p, q = RNG.normal(size=sizes[0]).round(1), RNG.normal(1.0, size=sizes[1]).round(1)
    p, q = (q, p) if swapped else (p, q)
    assert _at_most(p, q, point) == pytest.approx(most_by_hand(p, q, point), rel=1e-12)


@pytest.mark.parametrize("favours", ["dataset", "neighbour"])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.8, 0.0), (0.8, 0.2)])
def test_a_chosen_event_speaks_by_its_rates_on_its_own_sides(favours, epsilon, delta):
    """Half of one side is where the other never is, above it or below; the rest is alike."""
    half, none = coins(0.5), coins(0.0)
    p, q = (half, none) if favours == "dataset" else (none, -half)
    expected = float(distance([0.5], [0.0], 200, 200, epsilon, delta)[0])
    assert compute_best_event_nats(p, q, (epsilon, delta)) == pytest.approx(expected) != 0
    assert compute_best_event_nats(p, p, (epsilon, delta)) == 0.0


def test_a_delta_takes_from_what_speaks_against_a_claim():
    p, q = coins(0.4), coins(0.0)
    assert compute_best_event_nats(p, q, (1.0, 0.0)) > 25
    assert 0 < compute_best_event_nats(p, q, (1.0, 0.2)) < compute_best_event_nats(p, q, (1.0, 0.1))
    assert compute_best_event_nats(p, q, (1.0, 0.4)) == 0.0


def test_a_second_look_takes_the_best_of_all_points_and_parts():
    still = np.zeros(200)
    p, q = (np.stack([still, side], axis=1) for side in (coins(0.4), coins(0.1)))
    each = [second_look(p, q, (point,)) for point in ((0.2, 0.0), (3.0, 0.0))]
    assert each[0] > 2 > each[1] == 0.0
    assert second_look(p, q, ((3.0, 0.0), (0.2, 0.0))) == each[0]
    assert second_look(p, q, ((0.2, 0.0), (3.0, 0.0))) == each[0]
    assert second_look(p, q, ()) == 0.0
    alone = [one[:, 1] for one in (p, q)]
    assert each[0] == pytest.approx(second_look(*alone, ((0.2, 0.0),)))


def test_a_first_look_is_nothing_where_nothing_differs():
    same = [1.0] * 6
    assert first_look(same, same) == 0.0
    assert first_look(same, [2.0] * 6) > 0
    assert first_look([1.0] * 6, [1.0] * 5 + [math.nan]) > 0
    assert first_look([1.0] * 5 + [math.nan], [1.0] * 6) > 0


@pytest.mark.parametrize("place", [0, 4, 8])
def test_a_second_look_takes_the_numbers_of_few_values_that_differ_most(place):
    """One of nine is even or odd: no threshold shows that, near or far from any centre."""
    alike = np.arange(210.0) % 7
    p, q = (np.stack([alike] * 9, axis=1) for _ in range(2))
    p[:, place], q[:, place] = 2 * (np.arange(210) % 4), 2 * (np.arange(210) % 3) + 1.0
    alone = second_look(p[:, place], q[:, place], ((1.0, 0.0),))
    assert second_look(p, q, ((1.0, 0.0),)) == pytest.approx(alone)
    assert alone > 100
