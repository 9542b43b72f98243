"""Claims of epsilon a unit of distance: right mechanisms stand, and broken ones fall."""

import math

import numpy as np
import pytest
from scipy.stats import binom

import dpaudit
from dpaudit.laws.isolated import Isolation
from tests.metric import mechanisms
from tests.metric.mechanisms import EPSILON, PLACES

HERE = {"isolation": Isolation(in_process=True), "trials": 4000}
PLANE = {"bounds": (-10, 10), "records": 2}
NUMBER = {"bounds": (0, 40), "form": "value"}
LINE = {"bounds": (0, PLACES - 1), "integers": True, "form": "value"}
BITS = {"bounds": (0, 1), "integers": True, "records": 6}
ORIGIN, DIAGONAL = np.zeros(2), np.array([2.0, 2.0])


def audited(mechanism, *pair, distance="euclidean", **given):
    sound = {"relation": f"metric: {distance}", "epsilon": EPSILON, **HERE}
    return dpaudit.audit(mechanism, *pair, **{**sound, **given})


RIGHT = {
    "planar": (mechanisms.planar(), PLANE, "euclidean"),
    "per axis": (mechanisms.per_axis(), PLANE, "manhattan"),
    "salary": (mechanisms.salary(), NUMBER, "absolute"),
    "exponential": (mechanisms.exponential(), LINE, "absolute"),
    "responses": (mechanisms.responses(), BITS, "hamming"),
}
BROKEN = {
    "planar of half the scale": (mechanisms.planar(2 * EPSILON), PLANE, "euclidean"),
    "exponential radius": (mechanisms.exponential_radius(), PLANE, "euclidean"),
    "salary of half the scale": (mechanisms.salary(2 * EPSILON), NUMBER, "absolute"),
    "clipped noise": (mechanisms.clipped(), NUMBER, "absolute"),
    "exponential of twice": (mechanisms.exponential(3 * EPSILON), LINE, "absolute"),
    "responses of twice": (mechanisms.responses(2 * EPSILON), BITS, "hamming"),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_mechanism_is_not_refuted_in_a_domain(name):
    mechanism, domain, distance = RIGHT[name]
    result = audited(mechanism, domain=domain, distance=distance, confidence=0.999999)
    assert result.verdict == "not refuted"
    assert result.measured.lower > 0.25 * result.claimed.epsilon


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


def test_a_result_states_the_distance():
    result = audited(mechanisms.planar(), ORIGIN, np.array([3.0, 4.0]), trials=500)
    stated = result.a_unit
    assert (stated.distance, stated.claimed, stated.apart) == ("euclidean", EPSILON, 5.0)
    assert result.claimed.epsilon == 2.5
    assert "The two are 5 apart (euclidean), at 0.5 a unit." in result.reason
    assert "a unit of distance (euclidean)" in result.statement
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


LOSSES = {
    "planar": (mechanisms.planar(1.0), (ORIGIN, DIAGONAL), "euclidean", 2 * math.sqrt(2)),
    "salary": (mechanisms.salary(1.0), (3.0, 5.0), "absolute", 2.0),
    "per axis": (mechanisms.per_axis(1.0), (ORIGIN, DIAGONAL), "manhattan", 4.0),
    "line": (
        mechanisms.exponential(2.0),
        (2, 4),
        "absolute",
        mechanisms.loss_of_exponential(2, 4, 2.0),
    ),
}


def too_large(name, seeds):
    """Count the seeds whose certified epsilon exceeds the true loss of the pair."""
    mechanism, pair, distance, loss = LOSSES[name]
    found = [
        audited(mechanism, *pair, distance=distance, epsilon=9.0, trials=300, seed=seed)
        for seed in range(seeds)
    ]
    assert all(one.measured.lower > loss / 4 for one in found[:3])
    return sum(one.measured.lower > loss for one in found)


@pytest.mark.parametrize("name", ["salary"])
def test_what_is_certified_is_below_the_true_loss(name):
    assert too_large(name, 12) <= binom.isf(1e-3, 12, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_what_is_certified_is_below_the_true_loss_in_200_seeds(name):
    assert too_large(name, 200) <= binom.isf(1e-3, 200, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_mechanism_is_not_refuted_in_a_domain_with_any_seed(name):
    mechanism, domain, distance = RIGHT[name]
    found = [
        audited(mechanism, domain=domain, distance=distance, seed=seed, trials=1000).verdict
        for seed in range(100)
    ]
    assert found.count("refuted") <= binom.isf(1e-3, 100, 0.05)
