"""Exponential-norm steps: both ends against the accountant's exact epsilon; broken ones caught."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.accounting.events import ExponentialNormRelease
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.exact_loss import LossDirection, TiltedLosses, lower_end, upper_end
from dpaudit.laws.steps import ExponentialNormSteps

from .steps import Drifting, FixedNorm, evidence, norm_steps, unit_pair


def exact(steps, rate, dimension, delta):
    release = ExponentialNormRelease(
        sensitivity=1.0, noise_rate=rate, dimension=dimension, count=steps
    )
    bracket = bound_proved_epsilon(release, delta)
    assert bracket.upper - bracket.lower < 1e-6
    return bracket.upper


def failed(found):
    return [check.name for check in found.self_checks if not check.passed]


# Closeness and coverage


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "rate", "known", "trials", "close"),
    [
        (10, 0.67, 2.0741, 400, 0.96),
        pytest.param(50, 0.3, 2.117, 1000, 0.98, marks=pytest.mark.slow),
    ],
)
def test_the_interval_is_close_for_a_fixed_shift_in_twenty_dimensions(
    steps, rate, known, trials, close
):
    truth = exact(steps, rate, 20, 1e-6)
    assert truth == pytest.approx(known, abs=5e-4)
    found = evidence(norm_steps(steps, rate), unit_pair(20), 1e-6, trials)
    assert failed(found) == []
    assert close * truth < found.lower <= truth <= found.upper < (2 - close) * truth


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_ten_thousand_trials_give_two_percent(seed):
    truth = exact(50, 0.3, 20, 1e-6)
    found = evidence(norm_steps(50, 0.3), unit_pair(20), 1e-6, 10_000, seed=seed)
    assert found.lower <= truth <= found.upper
    assert found.upper - found.lower < 0.02 * truth


def tilted_losses(mechanism, pair, tilt, count, rng):
    sample = mechanism.sample_tilted(pair, tilt, count, rng)
    return sample.privacy_loss, sample.log_mgf, mechanism.log_mgf_bounds(pair, tilt)[1]


def misses(mechanism, pair, truth, delta, tilt, repetitions, trials=300, alpha=0.05):
    """Return how often the lower end is above the truth, and the upper end below it."""
    rng, counts = np.random.default_rng(11), np.zeros(2, int)
    loss, log_mgf, bound = tilted_losses(mechanism, pair, tilt, (repetitions + 1) * trials, rng)
    parts = [
        TiltedLosses(one, other, tilt, bound)
        for one, other in zip(*(np.split(x, repetitions + 1) for x in (loss, log_mgf)), strict=True)
    ]
    for part in parts[1:]:
        both = [LossDirection(part, parts[0])]
        lower = lower_end(both, math.log(delta), alpha)
        upper = upper_end(both, math.log(delta), alpha)
        counts += (lower > truth, upper is not None and upper < truth)
    return counts


@pytest.mark.parametrize("repetitions", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("steps", "rate", "dimension", "delta", "tilt"),
    [
        pytest.param(1, 1.0, 3, 0.05, 1.0, marks=pytest.mark.slow),
        pytest.param(4, 0.6, 2, 1e-3, 2.0, marks=pytest.mark.slow),
        (6, 0.8, 5, 1e-4, 3.0),
    ],
)
def test_both_ends_cover_the_exact_epsilon(steps, rate, dimension, delta, tilt, repetitions):
    truth, pair = exact(steps, rate, dimension, delta), unit_pair(dimension)
    found = misses(norm_steps(steps, rate), pair, truth, delta, tilt, repetitions)
    assert found.max() <= binom.isf(1e-6, repetitions, 0.05)


def test_that_coverage_fails_for_a_smaller_truth():
    """Negative control: against 0.95 of the exact epsilon the lower end is caught."""
    truth, pair = exact(6, 0.8, 5, 1e-4), unit_pair(5)
    lower, _ = misses(norm_steps(6, 0.8), pair, 0.95 * truth, 1e-4, 3.0, 25)
    _, upper = misses(norm_steps(6, 0.8), pair, 1.05 * truth, 1e-4, 3.0, 25)
    assert min(lower, upper) > binom.isf(1e-6, 25, 0.05)


# Steps that depend on the past


@pytest.mark.slow
def test_adaptive_shifts_have_a_lower_end_between_those_of_fixed_ones():
    found = evidence(norm_steps(20, 0.4, Drifting), unit_pair(6), 1e-5, 1000)
    assert failed(found) == []
    assert exact(20, 0.4, 6, 1e-5) < found.lower < exact(20, 0.6, 6, 1e-5)
    assert found.lower > 0.95 * found.estimate


def test_their_weights_stay_within_the_bounds():
    mechanism, pair = norm_steps(20, 0.4, Drifting), unit_pair(6)
    for tilt in (0.0, 1.0, 7.0):
        sample = mechanism.sample_tilted(pair, tilt, 300, np.random.default_rng(0))
        low, high = mechanism.log_mgf_bounds(pair, tilt)
        assert low - 1e-12 <= sample.log_mgf.min() <= sample.log_mgf.max() <= high + 1e-12


# Broken mechanisms


@pytest.mark.slow
def test_halved_noise_is_refuted():
    """The claim is computed from the nominal rate; code and law have twice that."""
    claimed = exact(10, 0.67, 20, 1e-6)
    assert evidence(norm_steps(10, 1.34), unit_pair(20), 1e-6, 100).lower > 1.4 * claimed


class HalvedNoise(ExponentialNormSteps):
    """Draws with half the noise that its law states."""

    def sample(self, dataset, trials, rng):
        return norm_steps(self.process.steps, 2 * self.process.rate).sample(dataset, trials, rng)


class WrongNormaliser(ExponentialNormSteps):
    """Weighs tilted outputs by too much, and gives no bound that would betray it."""

    def sample_tilted(self, pair, tilt, trials, rng):
        sample = super().sample_tilted(pair, tilt, trials, rng)
        return replace(sample, log_mgf=1.5 * sample.log_mgf)

    def log_mgf_bounds(self, pair, tilt):
        return 0.0, math.inf


class WrongBound(WrongNormaliser):
    """The same, with the bound of the right weights."""

    log_mgf_bounds = ExponentialNormSteps.log_mgf_bounds


class Swapped(ExponentialNormSteps):
    """Its loss is that of the other direction."""

    def privacy_loss(self, outputs, pair):
        return -super().privacy_loss(outputs, pair)

    def sample_tilted(self, pair, tilt, trials, rng):
        sample = super().sample_tilted(pair, tilt, trials, rng)
        return replace(sample, privacy_loss=-sample.privacy_loss)


class Backwards(FixedNorm):
    """Its shift points the wrong way: tilted draws go towards small losses."""

    def shift(self, state, pair):
        return -super().shift(state, pair)


class Short(FixedNorm):
    """Its shift has 9/10 of the length."""

    def shift(self, state, pair):
        return 0.9 * super().shift(state, pair)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("broken", "check"),
    [
        (HalvedNoise(FixedNorm(10, 0.5)), "noise residuals"),
        (WrongNormaliser(FixedNorm(10, 0.5)), "weights"),
        (Swapped(FixedNorm(10, 0.5)), "likelihood ratio"),
        (ExponentialNormSteps(Backwards(10, 0.5)), "loss of outputs"),
        (ExponentialNormSteps(Short(10, 0.5)), "loss of outputs"),
    ],
    ids=["halved noise", "wrong normaliser", "swapped", "backwards", "short shift"],
)
def test_a_broken_law_fails_its_self_check(broken, check):
    found = evidence(broken, unit_pair(4), 1e-4, 400)
    assert any(name.startswith(check) for name in failed(found)), failed(found)
    assert not found.trusted


def test_weights_above_their_bound_are_refused():
    from dpaudit.errors import MechanismError

    with pytest.raises(MechanismError, match="log_mgf_bounds"):
        evidence(WrongBound(FixedNorm(10, 0.5)), unit_pair(4), 1e-4, 300)


@pytest.mark.slow
def test_without_a_bound_there_is_no_upper_end_and_the_report_says_why():
    class Unbounded(ExponentialNormSteps):
        def log_mgf_bounds(self, pair, tilt):
            return 0.0, math.inf

    truth = exact(10, 0.5, 4, 1e-4)
    found = evidence(Unbounded(FixedNorm(10, 0.5)), unit_pair(4), 1e-4, 1000)
    assert found.upper is None
    assert "no bound on the weights" in found.upper_note
    assert 0.97 * truth < found.lower <= truth


def test_a_rate_that_is_no_rate_is_refused():
    for rate in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(InvalidArgument, match="noise rate"):
            norm_steps(2, rate).sample(unit_pair(3).dataset, 2, np.random.default_rng(0))
    with pytest.raises(InvalidArgument, match="outputs"):
        norm_steps(2, 1.0).privacy_loss(np.zeros((5, 3, 3)), unit_pair(3))
