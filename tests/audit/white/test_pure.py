"""At delta = 0: the largest loss over outputs, computed once more before it counts."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from dpaudit.auditing import largest_loss as pure
from dpaudit.auditing.largest_loss import climb
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import PureDP
from dpaudit.laws import steps
from dpaudit.laws.steps import ExponentialNormSteps, GaussianSteps
from dpaudit.neighbours import REPLACE_RECORD, Pair

from .steps import Drifting, FixedNorm, evidence, gaussian, norm_steps, unit_pair


def found(mechanism, pair, claimed, trials=1000, seed=0):
    return evidence(mechanism, pair, 0.0, trials, claimed=PureDP(claimed), seed=seed)


# The largest loss


def test_the_supremum_of_fixed_shifts_is_nearly_attained():
    one = found(norm_steps(5, 0.3), unit_pair(20), 1.5)
    assert 1.5 * (1 - 1e-6) < one.lower <= 1.5
    assert one.trusted
    assert one.upper is None


def test_of_adaptive_shifts_the_longer_ones_are_found():
    one = found(norm_steps(4, 0.5, Drifting), unit_pair(3), 10.0)
    assert 1.8 < one.lower <= 4 * 0.5 * 1.5


def test_a_smaller_claim_is_refuted_and_rechecked():
    one = found(norm_steps(5, 0.3), unit_pair(20), 1.4)
    assert one.trusted
    assert one.lower > 1.4
    assert [c for c in one.self_checks if c.name == "largest loss"]


def test_no_error_probability_is_spent_and_the_report_says_so():
    one = found(norm_steps(2, 0.5), unit_pair(3), 1.0)
    assert one.budget == {}
    assert any("no error probability is spent" in note for note in one.notes)


def test_one_far_output_of_gaussian_noise_refutes_any_epsilon():
    for claimed in (1.0, 50.0, 1e5):
        one = found(gaussian(2.0), unit_pair(2), claimed)
        assert one.trusted
        assert one.lower > claimed
        assert any("has no bound" in note for note in one.notes)
    many = found(gaussian(1.0), unit_pair(2), 5.0, trials=3000)
    assert many.trusted
    assert 5 < many.lower < 1e6


def test_the_same_seed_finds_the_same_output():
    first, second = (found(norm_steps(3, 0.4), unit_pair(4), 5.0, 500) for _ in range(2))
    assert first == second
    assert found(norm_steps(3, 0.4), unit_pair(4), 5.0, 500, seed=1).lower != first.lower


# Neighbours


class KnowsNeighbours(ExponentialNormSteps):
    """Any vector of length 2 is a neighbour too."""

    def neighbours(self, pair):
        return (Pair(pair.dataset, 2 * pair.neighbour, REPLACE_RECORD),)


def test_further_neighbours_are_searched():
    one = found(KnowsNeighbours(FixedNorm(3, 0.5)), unit_pair(4), 10.0)
    assert 2.99 < one.lower <= 3.0


# What may not refute


class Forged(ExponentialNormSteps):
    """Its double-precision loss is 1% too large, in both of its ways."""

    def privacy_loss(self, transcripts, pair):
        return 1.01 * super().privacy_loss(transcripts, pair)

    def sample_tilted(self, pair, tilt, trials, rng):
        sample = super().sample_tilted(pair, tilt, trials, rng)
        return replace(sample, privacy_loss=1.01 * sample.privacy_loss)


def test_a_forged_larger_loss_is_not_confirmed_by_fifty_digits():
    one = found(Forged(FixedNorm(5, 0.3)), unit_pair(20), 1.505)
    assert [c.name for c in one.self_checks if not c.passed] == ["largest loss"]
    assert not one.trusted
    assert one.lower <= 1.505


@dataclass(frozen=True)
class NoDigits:
    """The same mechanism with no way to compute a loss in more digits."""

    inner: ExponentialNormSteps

    def sample(self, dataset, trials, rng):
        return self.inner.sample(dataset, trials, rng)

    def privacy_loss(self, transcripts, pair):
        return self.inner.privacy_loss(transcripts, pair)

    def uniform_residuals(self, transcripts, dataset):
        return self.inner.uniform_residuals(transcripts, dataset)

    def sample_tilted(self, pair, tilt, trials, rng):
        return self.inner.sample_tilted(pair, tilt, trials, rng)

    def log_mgf_bounds(self, pair, tilt):
        return self.inner.log_mgf_bounds(pair, tilt)


def test_without_fifty_digits_nothing_is_refuted():
    one = found(NoDigits(norm_steps(5, 0.3)), unit_pair(4), 1.0)
    assert one.lower == 1.0
    assert one.estimate > 1.4
    assert any("in 50 digits, so nothing" in note for note in one.notes)


def test_rounding_above_a_sharp_claim_is_taken_back():
    """The search may round the supremum up; the digits decide."""
    mechanism, pair = norm_steps(1, 1.0), unit_pair(2)
    output = np.array([[-3.0, 0.0]])
    winner = pure.Winner(pure.Peak(1 + 1e-12, output, 1), pair, "the dataset")
    lower, checks, _ = pure.certified_loss(mechanism, winner, 1.0)
    assert lower == 1.0
    assert all(check.passed for check in checks)


# The loss in 50 digits


def test_digits_of_norm_steps_are_those_of_the_formula():
    mechanism, pair = norm_steps(2, 0.7), unit_pair(3)
    outputs = mechanism.sample(pair.dataset, 1, np.random.default_rng(0))
    with mpmath.workdps(50):
        expected = mpmath.mpf(0)
        for output in outputs[0]:
            point = mpmath.matrix([mpmath.mpf(float(x)) for x in output])
            other = point - mpmath.matrix([1, 0, 0])
            expected += mpmath.mpf(0.7) * (mpmath.norm(other) - mpmath.norm(point))
        assert abs(mechanism.loss_in_digits(outputs[0], pair) - expected) < mpmath.mpf(10) ** -45
    assert float(expected) == pytest.approx(mechanism.privacy_loss(outputs, pair)[0], rel=1e-13)


def test_digits_of_gaussian_steps_are_those_of_the_formula():
    mechanism, pair = gaussian(1.7, steps=3), unit_pair(2)
    outputs = mechanism.sample(pair.dataset, 1, np.random.default_rng(0))
    with mpmath.workdps(50):
        terms = [mpmath.mpf(float(x)) for x in outputs[0][:, 0]]
        expected = sum((1 - 2 * x) / (2 * mpmath.mpf(1.7) ** 2) for x in terms)
        assert abs(mechanism.loss_in_digits(outputs[0], pair) - expected) < mpmath.mpf(10) ** -45
    assert isinstance(mechanism, GaussianSteps)
    assert float(expected) == pytest.approx(mechanism.privacy_loss(outputs, pair)[0], rel=1e-13)


@pytest.mark.parametrize("scale", [1.0, 1e300, 1e-310])
def test_squared_distances_are_exact_over_all_exponents(scale):
    rng = np.random.default_rng(3)
    point, centre = rng.standard_normal(22) * scale, rng.standard_normal(22) * np.exp(range(22))
    point[0], centre[1], centre[2] = centre[0], 0.0, -5e-324
    exact = sum(
        (Fraction(a) - Fraction(b)) ** 2
        for a, b in zip(point.tolist(), centre.tolist(), strict=True)
    )
    with mpmath.workdps(50):
        found = steps._squared_distance(point, centre)
        assert abs(found * exact.denominator / exact.numerator - 1) < mpmath.mpf(10) ** -49


# The ascent


def test_the_ascent_spends_no_more_than_its_budget_and_never_falls():
    calls = []

    def loss(points):
        calls.append(len(points))
        return -np.sum(points**2, axis=1)

    starts = np.random.default_rng(0).standard_normal((10, 3))
    peak = climb(loss, starts, 537, np.random.default_rng(1))
    assert sum(calls) == peak.evaluated <= 537
    assert peak.loss >= (-np.sum(starts**2, axis=1)).max()
    assert peak.loss > -1e-3


def test_the_ascent_skips_what_is_not_a_number():
    def loss(points):
        with np.errstate(invalid="ignore"):
            return np.sqrt(1 - np.sum(points**2, axis=1))

    peak = climb(loss, np.full((4, 2), 0.5), 400, np.random.default_rng(1))
    assert math.isfinite(peak.loss)
    assert peak.loss <= 1


def test_an_ascent_from_nowhere_is_refused():
    with pytest.raises(InvalidArgument, match="starts"):
        climb(lambda x: x[:, 0], np.empty((0, 2)), 10, np.random.default_rng(0))


def test_the_largest_loss_is_looked_for_on_both_sides():
    pair = unit_pair(2)
    (one, _), (other, _) = pure._both(pair)
    assert one is pair
    assert np.array_equal(other.dataset, pair.neighbour)
    assert np.array_equal(other.neighbour, pair.dataset)
