"""Claims of epsilon a unit of distance: right mechanisms stand, and broken ones fall."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import dpaudit
from tests.metric import mechanisms
from tests.metric.audited import BITS, DIAGONAL, LINE, NUMBER, ORIGIN, PLANE, audited
from tests.metric.mechanisms import EPSILON

RIGHT = {
    "planar": (mechanisms.planar(), PLANE, "euclidean"),
    "per axis": (mechanisms.per_axis(), PLANE, "manhattan"),
    "salary": (mechanisms.salary(), NUMBER, "absolute"),
    "exponential": (mechanisms.exponential(), LINE, "absolute"),
    "responses": (mechanisms.responses(), BITS, "hamming"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_mechanism_is_not_refuted_in_a_domain(name):
    mechanism, domain, distance = RIGHT[name]
    result = audited(mechanism, domain=domain, distance=distance, confidence=0.999999)
    assert result.verdict == "not refuted"
    assert result.measured.lower > 0.25 * result.claimed.epsilon


def test_a_result_states_the_distance():
    result = audited(mechanisms.planar(), ORIGIN, np.array([3.0, 4.0]), trials=500)
    stated = result.a_unit
    assert (stated.distance, stated.claimed, stated.apart) == ("euclidean", EPSILON, 5.0)
    assert result.claimed.epsilon == 2.5
    assert "The two are 5 apart (euclidean), at 0.5 a unit." in result.reason
    assert "a unit of distance (euclidean)" in result.statement
    assert result.pair == "two datasets that are 5 apart (euclidean)"
    assert "epsilon=0.5" in result.rerun
    assert "relation='metric: euclidean'" in result.rerun


def test_delta_is_one_for_all_distances():
    result = audited(mechanisms.planar(), ORIGIN, DIAGONAL, delta=0.01, trials=500)
    assert (result.claimed.delta, result.a_unit.claimed) == (0.01, EPSILON)
    assert result.claimed.epsilon == pytest.approx(EPSILON * 2 * math.sqrt(2))


def gaussian(x, trials, rng):
    return np.asarray(x) + rng.normal(scale=2.0, size=(trials, 2))


@pytest.mark.parametrize(
    ("a_unit", "broken", "number"),
    [
        (dpaudit.GaussianDP(0.5), dpaudit.GaussianDP(0.25), 2.5),
        (dpaudit.ZeroConcentratedDP(0.125), dpaudit.ZeroConcentratedDP(0.03), 3.125),
    ],
)
def test_mu_grows_with_the_distance_and_rho_with_its_square(a_unit, broken, number):
    pair = ORIGIN, np.array([3.0, 4.0])
    given = {"epsilon": None, "trials": 3000, "confidence": 0.999999}
    stands = audited(gaussian, *pair, claim=a_unit, **given)
    assert stands.claimed.value == pytest.approx(number)
    assert stands.verdict == "not refuted"
    assert audited(gaussian, *pair, claim=broken, **given).verdict == "refuted"


def test_no_loss_at_any_distance_may_be_claimed():
    constant = audited(lambda x, rng: rng.normal(), 1.0, 3.0, distance="absolute", epsilon=0.0)
    assert (constant.verdict, constant.claimed.epsilon) == ("not refuted", 0.0)
    found = audited(mechanisms.salary(), domain=NUMBER, distance="absolute", epsilon=0.0)
    assert found.verdict == "refuted"


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_mechanism_is_not_refuted_in_a_domain_with_any_seed(name):
    mechanism, domain, distance = RIGHT[name]
    found = [
        audited(mechanism, domain=domain, distance=distance, seed=seed, trials=1000).verdict
        for seed in range(100)
    ]
    assert found.count("refuted") <= binom.isf(1e-3, 100, 0.05)
