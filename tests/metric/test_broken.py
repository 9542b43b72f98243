"""Broken mechanisms fall: their claim a unit of distance is refuted on a pair that is found."""

import math

import numpy as np
import pytest

from tests.metric import mechanisms
from tests.metric.audited import BITS, DIAGONAL, LINE, NUMBER, ORIGIN, PLANE, audited
from tests.metric.mechanisms import EPSILON

BROKEN = {
    "planar of half the scale": (mechanisms.planar(2 * EPSILON), PLANE, "euclidean"),
    "exponential radius": (mechanisms.exponential_radius(), PLANE, "euclidean"),
    "salary of half the scale": (mechanisms.salary(2 * EPSILON), NUMBER, "absolute"),
    "clipped noise": (mechanisms.clipped(), NUMBER, "absolute"),
    "exponential of twice": (mechanisms.exponential(3 * EPSILON), LINE, "absolute"),
    "responses of twice": (mechanisms.responses(2 * EPSILON), BITS, "hamming"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_mechanism_is_refuted_in_a_domain(name):
    mechanism, domain, distance = BROKEN[name]
    result = audited(mechanism, domain=domain, distance=distance)
    assert result.verdict == "refuted"
    assert result.relation == f"metric: {distance}"


def test_noise_of_each_number_is_too_little_for_the_straight_distance():
    """By the root of two, along the diagonal; along an axis it is enough."""
    given = {"trials": 20_000, "confidence": 0.999}
    refuted = audited(mechanisms.per_axis(), ORIGIN, DIAGONAL, **given)
    assert refuted.verdict == "refuted"
    assert refuted.claimed.epsilon == pytest.approx(EPSILON * 2 * math.sqrt(2))
    assert refuted.measured.lower <= EPSILON * 4
    for pair, distance in (((ORIGIN, DIAGONAL), "manhattan"), ((ORIGIN, [2.0, 0.0]), "euclidean")):
        found = audited(mechanisms.per_axis(), *map(np.asarray, pair), distance=distance, **given)
        assert found.verdict == "not refuted"


@pytest.mark.slow
def test_noise_of_each_number_falls_in_a_domain():
    found = [
        audited(mechanisms.per_axis(), domain=PLANE, trials=20_000, seed=seed).verdict
        for seed in range(10)
    ]
    assert found.count("refuted") >= 9
