"""The law of balls and bins with one record that matters: draws, weights, losses, audits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import kstest

import dpaudit
from dpaudit.accounting.events import AllocatedGaussian
from dpaudit.accounting.grid.numerical import numerical_delta, numerical_epsilon
from dpaudit.errors import InvalidArgument
from dpaudit.laws.allocated_sums import AllocatedSums
from dpaudit.neighbours import REPLACE_RECORD, Pair

WITH, WITHOUT = np.array([1.0, 0.0]), np.array([0.0, 0.0])
PAIRS = [Pair(WITH, WITHOUT, REPLACE_RECORD), Pair(WITHOUT, WITH, REPLACE_RECORD)]
EPOCHS = AllocatedSums(batches=20, noise_multiplier=0.8, epochs=2)


@pytest.mark.parametrize("dataset", [WITH, WITHOUT, -WITH / 2], ids=["one", "none", "half"])
def test_residuals_of_draws_are_uniform(dataset):
    sums = EPOCHS.sample(dataset, 2000, np.random.default_rng(1))
    residuals = EPOCHS.uniform_residuals(sums, dataset)
    assert residuals.shape == (2000, 40)
    assert kstest(residuals.ravel(), "uniform").pvalue > 1e-3
    assert np.abs(np.corrcoef(residuals[:, :20].T) - np.eye(20)).max() < 0.1


def test_residuals_of_another_dataset_are_not():
    sums = EPOCHS.sample(3 * WITH, 2000, np.random.default_rng(1))
    assert kstest(EPOCHS.uniform_residuals(sums, WITHOUT).ravel(), "uniform").pvalue < 1e-6


@pytest.mark.parametrize("pair", PAIRS, ids=["removal", "addition"])
@pytest.mark.parametrize("tilt", [0.0, 1.0, 3.0])
def test_weights_average_to_one_and_stay_below_their_bound(pair, tilt):
    drawn = EPOCHS.sample_tilted(pair, tilt, 40_000, np.random.default_rng(2))
    np.testing.assert_allclose(EPOCHS.privacy_loss(drawn.outputs, pair), drawn.privacy_loss)
    assert drawn.log_mgf.max() <= EPOCHS.log_mgf_bounds(pair, tilt)[1] + 1e-9
    for weights in (np.exp(drawn.log_weight), np.exp(drawn.log_weight - drawn.privacy_loss)):
        error = weights.std() / math.sqrt(len(weights))
        assert abs(weights.mean() - 1) < 5 * error + 1e-12


@pytest.mark.parametrize(("batches", "noise", "tilt"), [(20, 0.7, 2.0), (50, 1.5, 35.0)])
def test_payoffs_average_to_the_accountants_delta(batches, noise, tilt):
    event = AllocatedGaussian(batches=batches, noise_multiplier=noise)
    epsilon = numerical_epsilon(event, 1e-5).upper
    bracket = numerical_delta(event, epsilon)
    epoch = AllocatedSums(batches=batches, noise_multiplier=noise)
    drawn = epoch.sample_tilted(PAIRS[0], tilt, 40_000, np.random.default_rng(3))
    payoff = np.exp(drawn.log_weight) * np.maximum(-np.expm1(epsilon - drawn.privacy_loss), 0)
    error = payoff.std() / math.sqrt(len(payoff))
    assert error < 0.2 * bracket.upper
    assert bracket.lower - 4 * error < payoff.mean() < bracket.upper + 4 * error


def audited(batches, noise, claimed, trials, delta=1e-5):
    return dpaudit.audit(
        AllocatedSums(batches=batches, noise_multiplier=noise),
        WITH,
        WITHOUT,
        epsilon=claimed,
        delta=delta,
        trials=trials,
    )


def test_an_audit_comes_close_and_refutes_half_of_it():
    bracket = numerical_epsilon(AllocatedGaussian(batches=20, noise_multiplier=0.7), 1e-5)
    found = audited(20, 0.7, bracket.lower / 2, 5000)
    assert found.verdict == "refuted"
    assert 0.98 * bracket.lower < found.measured.lower <= bracket.upper


class Twice(AllocatedSums):
    """Broken: a record takes part in two batches, and the law knows of one."""

    def sample(self, dataset, trials, rng):
        sums = super().sample(dataset, trials, rng)
        for term in dataset:
            self._allocate(sums, float(term), rng)
        return sums


def test_a_record_that_takes_part_twice_is_not_the_law_that_is_stated():
    broken = Twice(batches=20, noise_multiplier=0.7)
    found = dpaudit.audit(broken, WITH, WITHOUT, epsilon=4.0, delta=1e-5, trials=5000)
    assert found.verdict == "withheld"
    assert not all(check.passed for check in found.self_checks)


def test_two_records_that_matter_have_no_known_law():
    with pytest.raises(InvalidArgument, match="at most one is not 0"):
        EPOCHS.privacy_loss(np.zeros((1, 2, 20)), Pair(np.ones(2), WITH, REPLACE_RECORD))
