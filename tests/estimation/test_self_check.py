"""Self-checks: silent on the law that runs, loud on every way it can be another one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtr

from dpaudit.estimation.self_check import (
    consistency_check,
    digits_check,
    likelihood_ratio_checks,
    uniformity_check,
    weight_check,
)

TRIALS = 10_000


def run(mu, rng, trials=TRIALS, shift=None, noise=1.0):
    """Return outputs on the dataset (mean 0) and on the neighbour, whose mean should be mu."""
    return (
        rng.normal(0, noise, trials),
        rng.normal(mu if shift is None else shift, noise, trials),
    )


def loss(outputs, mu):
    """Return log p/q of N(0, 1) against N(mu, 1)."""
    return mu**2 / 2 - mu * outputs


def passed(checks):
    return all(check.passed for check in checks)


# Silent


@pytest.mark.sampled(2)
@pytest.mark.parametrize("mu", [0.0, 0.05, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("trials", [1, 2, 50, 2000])
def test_no_false_alarm(mu, trials):
    rng = np.random.default_rng(1)
    for _ in range(300):
        p, q = run(mu, rng, trials)
        assert passed(likelihood_ratio_checks(loss(p, mu), loss(q, mu)))
        assert uniformity_check("dataset", ndtr(p)).passed
        assert consistency_check("dataset", loss(p, mu), loss(p, mu) * (1 + 1e-12)).passed


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 5.0])
def test_no_false_alarm_on_ties(epsilon):
    """Randomised response: two losses, and both parts of the overlap hang on one tie rule."""
    rng, truth = np.random.default_rng(2), 1 / (1 + math.exp(-epsilon))
    for _ in range(300):
        p = np.where(rng.random(500) < truth, epsilon, -epsilon)
        q = np.where(rng.random(500) < truth, -epsilon, epsilon)
        assert passed(likelihood_ratio_checks(p, q))


@pytest.mark.parametrize(("mu", "tilt"), [(0.2, 20.0), (1.0, 4.5), (3.0, 2.5), (1.0, 0.0)])
def test_no_false_alarm_on_weights(losses, mu, tilt):
    rng = np.random.default_rng(3)
    for _ in range(300):
        sample = losses(mu, tilt, 500, rng)
        assert weight_check("dataset", sample.log_mgf - tilt * sample.privacy_loss).passed


# Loud


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("mistake", ["sign", "twice", "half", "other pair", "one side only"])
def test_a_wrong_loss_is_noticed(mu, mistake):
    p, q = run(mu, np.random.default_rng(4), 100_000)
    right_p, right_q = loss(p, mu), loss(q, mu)
    wrong = {
        "sign": (-right_p, -right_q),
        "twice": (2 * right_p, 2 * right_q),
        "half": (right_p / 2, right_q / 2),
        "other pair": (loss(p, 1.5 * mu), loss(q, 1.5 * mu)),
        "one side only": (right_p, 1.5 * right_q),
    }[mistake]
    assert passed(likelihood_ratio_checks(right_p, right_q))
    assert not passed(likelihood_ratio_checks(*wrong))


@pytest.mark.parametrize("factor", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("mu", [1.0, 3.0])
def test_a_wrong_shift_is_noticed(mu, factor):
    """The neighbour moves the outputs by another amount than the loss supposes."""
    p, q = run(mu, np.random.default_rng(5), 20_000, shift=factor * mu)
    assert not passed(likelihood_ratio_checks(loss(p, mu), loss(q, mu)))


@pytest.mark.parametrize("noise", [0.95, 1.05])
def test_noise_off_by_five_percent_is_noticed(noise):
    p, _ = run(1.0, np.random.default_rng(6), 200_000, noise=noise)
    check = uniformity_check("dataset", ndtr(p).reshape(1000, 200))
    assert not check.passed
    assert "200000 residuals" in check.evidence


@pytest.mark.parametrize("axis", [1, 2])
def test_noise_that_is_off_in_one_place_only_is_noticed(axis):
    """One of a hundred coordinates, as the norm of a vector beside its angles; or one step."""
    normal = np.random.default_rng(8).standard_normal((200, 20, 104))
    place = [slice(None)] * 3
    place[axis] = slice(1)
    normal[tuple(place)] += 0.5 if axis == 2 else 0.1
    assert not uniformity_check("dataset", ndtr(normal)).passed


def test_many_places_raise_no_false_alarm():
    least = []
    for seed in range(300):
        uniform = np.random.default_rng(seed).random((50, 8, 10))
        check = uniformity_check("dataset", uniform)
        assert check.passed
        least.append(float(check.evidence.rpartition(" ")[2]))
    assert np.mean(np.array(least) <= 0.05) < 0.1  # of 18 places together


def test_one_number_a_trial_has_no_places():
    assert (
        "least of 1 places, p = 1"
        in uniformity_check("dataset", np.linspace(0.01, 0.99, 99)).evidence
    )


def test_a_biased_or_discrete_noise_is_noticed():
    rng = np.random.default_rng(7)
    for outputs in (rng.normal(0.05, 1, 100_000), np.round(rng.normal(size=100_000), 1)):
        assert not uniformity_check("dataset", ndtr(outputs)).passed


@pytest.mark.parametrize("mu", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("mistake", ["not tilted", "tilted twice", "log_mgf doubled"])
def test_weights_that_are_too_large_are_noticed(losses, mu, mistake):
    """Each would certify an epsilon that is not there."""
    rng, tilt = np.random.default_rng(8), 4.5 / mu
    actual = {"not tilted": 0.0, "tilted twice": 2 * tilt, "log_mgf doubled": tilt}[mistake]
    sample = losses(mu, actual, 500, rng)
    log_mgf = tilt * (1 + tilt) / 2 * mu**2 * (2 if mistake == "log_mgf doubled" else 1)
    check = weight_check("dataset", log_mgf - tilt * sample.privacy_loss)
    # Tilting further than claimed makes the seen weights smaller: the one mistake left to tests.
    assert check.passed == (mistake == "tilted twice")


@pytest.mark.parametrize("gap", [1e-6, -1e-6, 1.0, math.nan])
def test_two_different_losses_are_noticed(gap):
    one = np.linspace(-5, 5, 100)
    other = one.copy()
    other[37] += gap * (1 + abs(other[37]))
    assert not consistency_check("dataset", one, other).passed


def test_what_is_no_number_never_passes():
    bad = np.array([0.0, math.nan])
    assert not any(check.passed for check in likelihood_ratio_checks(bad, bad))
    assert not passed(likelihood_ratio_checks(bad, np.zeros(2)))
    assert not passed(likelihood_ratio_checks(np.zeros(2), bad))
    assert not uniformity_check("dataset", bad).passed
    assert not weight_check("dataset", bad).passed


@pytest.mark.parametrize("size", [400.0, 1e4, 1e300])
def test_absurd_losses_are_noticed_without_overflow(size):
    wrong = np.linspace(0.5, 1, 1000) * size
    assert not passed(likelihood_ratio_checks(-wrong, wrong))


def test_a_check_says_what_it_found():
    rng = np.random.default_rng(9)
    p, q = run(1.0, rng)
    for check in (
        *likelihood_ratio_checks(loss(p, 1.0), loss(q, 1.0)),
        uniformity_check("neighbour", ndtr(p)),
        consistency_check("dataset", p, p),
        weight_check("dataset", -np.ones(9)),
    ):
        assert check.name
        assert check.statement
        assert check.evidence
        assert check.statistic <= check.threshold


# Thresholds: a false alarm is so rare that its rate cannot be counted


def test_the_mean_of_a_ratio_is_doubted_at_one_in_ten_million():
    """One bet of stake 0.01, 0.1 or 0.5 on the mean: the average of the three wealths decides."""
    n, goal = 2000, math.log(1e7)

    def wealth(value):
        return logsumexp([n * math.log1p(b * (value - 1)) for b in (0.01, 0.1, 0.5)]) - math.log(3)

    value = brentq(lambda v: wealth(v) - goal, 1.0, 2.0)
    for factor, passes in ((0.98, True), (1.02, False)):
        values = np.full(n, math.log1p(factor * (value - 1)))
        check = weight_check("dataset", values)
        assert check.passed is passes
        assert check.threshold == pytest.approx(goal)


@pytest.mark.parametrize(("gap", "passes"), [(5e-8, True), (2e-7, False)])
def test_losses_agree_to_seven_digits(gap, passes):
    losses = np.array([0.0, 3.0, -40.0])
    moved = losses + gap * (1 + np.abs(losses))
    assert consistency_check("dataset", moved, losses).passed is passes
    assert digits_check(moved, losses).passed is passes
