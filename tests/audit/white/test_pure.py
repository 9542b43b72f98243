"""At delta = 0: the largest loss over outputs, computed once more before it counts."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

from dpaudit.auditing.exact import largest_loss
from dpaudit.auditing.exact.largest_loss import search_largest_loss
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import PureDP
from dpaudit.laws.loss_enclosure import compute_exact_squared_distance
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


@pytest.mark.slow
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

    def privacy_loss(self, outputs, pair):
        return 1.01 * super().privacy_loss(outputs, pair)

    def sample_tilted(self, pair, tilt, trials, rng):
        sample = super().sample_tilted(pair, tilt, trials, rng)
        return replace(sample, privacy_loss=1.01 * sample.privacy_loss)


def test_a_forged_larger_loss_is_not_confirmed():
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

    def privacy_loss(self, outputs, pair):
        return self.inner.privacy_loss(outputs, pair)

    def uniform_residuals(self, outputs, dataset):
        return self.inner.uniform_residuals(outputs, dataset)

    def sample_tilted(self, pair, tilt, trials, rng):
        return self.inner.sample_tilted(pair, tilt, trials, rng)

    def log_mgf_bounds(self, pair, tilt):
        return self.inner.log_mgf_bounds(pair, tilt)


def test_without_bounds_or_digits_nothing_is_refuted():
    one = found(NoDigits(norm_steps(5, 0.3)), unit_pair(4), 1.0)
    assert one.lower == 1.0
    assert one.estimate > 1.4
    assert any("with an error bound, nor in more digits" in note for note in one.notes)


def test_rounding_above_a_sharp_claim_is_taken_back():
    """The search may round the supremum up; the digits decide."""
    mechanism, pair = norm_steps(1, 1.0), unit_pair(2)
    output = np.array([[-3.0, 0.0]])
    winner = largest_loss.Winner(largest_loss.Peak(1 + 1e-12, output, 1), pair, "the dataset")
    found = largest_loss.certified_loss(mechanism, winner, 1.0)
    assert 1 - 1e-15 < found.lower <= 1.0
    assert all(check.passed for check in found.checks)


@dataclass(frozen=True)
class Cancels(NoDigits):
    """Doubles find 2 where it is 0; the digits say what they are told to."""

    said: Callable[[int], Any]

    def privacy_loss(self, outputs, pair):
        return np.full(len(outputs), 2.0)

    def loss_in_digits(self, output, pair, digits=50):
        return self.said(digits)


def square_of_a_sum(x, y, digits):
    """Return ``(x + y)^2 - x^2`` with so many digits."""
    with mpmath.workdps(digits):
        return (mpmath.mpf(x) + mpmath.mpf(y)) ** 2 - mpmath.mpf(x) ** 2


def certified(said, claimed=1.0, loss=2.0):
    mechanism = Cancels(norm_steps(1, 1.0), said)
    winner = largest_loss.Winner(
        largest_loss.Peak(loss, np.zeros((1, 2)), 1), unit_pair(2), "the dataset"
    )
    return largest_loss.certified_loss(mechanism, winner, claimed)


def test_digits_that_cancel_are_outdone_by_more_of_them():
    """In 50 digits and in 100 it is 0; it is 2."""
    assert square_of_a_sum(1e300, 1e-300, 50) == square_of_a_sum(1e300, 1e-300, 100) == 0
    found = certified(lambda digits: square_of_a_sum(1e300, 1e-300, digits))
    assert found.lower == pytest.approx(2.0, abs=1e-14)
    assert found.lower < 2.0
    assert "have no error bound" in found.reservation


def test_digits_that_find_2_where_it_is_0_refute_nothing():
    found = certified(lambda digits: 2.0 if digits == 50 else square_of_a_sum(1e300, 0.0, digits))
    assert found.lower == 0
    assert [check.passed for check in found.checks] == [False]


@pytest.mark.parametrize("said", [lambda digits: 2 + 1 / digits, lambda digits: math.nan])
def test_digits_that_do_not_agree_refute_nothing(said):
    found = certified(said)
    assert found.lower == 1.0
    assert any("do not agree" in note for note in found.notes)
    assert found.reservation == ""


def test_decimals_are_digits_too():
    found = certified(lambda digits: Decimal(2))
    assert 2 - 1e-15 < found.lower < 2
    assert found.checks[0].passed


def test_digits_that_take_longer_than_a_minute_refute_nothing(monkeypatch):
    monkeypatch.setattr(largest_loss, "SECONDS", -1.0)
    found = certified(lambda digits: 2.0)
    assert found.lower == 1.0


class InDigits(NoDigits):
    def loss_in_digits(self, output, pair, digits=50):
        return self.inner.loss_in_digits(output, pair, digits)


def test_a_refutation_by_digits_says_that_they_have_no_bound():
    one = found(InDigits(norm_steps(5, 0.3)), unit_pair(4), 1.0)
    assert one.lower > 1.4
    assert "have no error bound" in one.remark
    assert found(norm_steps(5, 0.3), unit_pair(4), 1.0).remark == ""


# The loss with an error bound


@dataclass(frozen=True)
class Says(NoDigits):
    """What its bounds are told to say."""

    said: tuple[float, float]

    def loss_bounds(self, output, pair):
        return self.said


@pytest.mark.parametrize(
    ("said", "lower", "checked"),
    [
        ((1.5, 1.5), 1.5, [True]),
        ((0.9, 1.6), 0.9, [True]),  # it may be above the claim
        ((1.2, 1.4), 1.2, [False]),  # it is not what was found
        ((-math.inf, math.inf), 1.0, []),
        ((math.nan, math.nan), 1.0, []),
    ],
)
def test_only_a_lower_end_above_the_claim_refutes(said, lower, checked):
    winner = largest_loss.Winner(
        largest_loss.Peak(1.5, np.zeros((1, 2)), 1), unit_pair(2), "the dataset"
    )
    found = largest_loss.certified_loss(Says(norm_steps(1, 1.0), said), winner, 1.0)
    assert found.lower == lower
    assert [check.passed for check in found.checks] == checked
    assert any("could not be enclosed" in note for note in found.notes) is (checked == [])


def test_a_loss_below_the_claim_is_a_proved_lower_end_too():
    winner = largest_loss.Winner(
        largest_loss.Peak(0.5, np.zeros((1, 2)), 1), unit_pair(2), "the dataset"
    )
    found = largest_loss.certified_loss(Says(norm_steps(1, 1.0), (0.4, 0.6)), winner, 1.0)
    assert found.lower == 0.4


def far_out(scale):
    """Return a Gaussian step, an output and a neighbour whose loss is ``((x + y)^2 - x^2) / 2``."""
    pair = Pair(np.zeros((1, 1)), np.array([[-1e-300]]), REPLACE_RECORD)
    return gaussian(scale), np.array([[1e300]]), pair


def test_what_cancels_in_a_gaussian_loss_is_enclosed():
    """Doubles find 0, and so do 50 digits and 100; it is 1 and a bit."""
    mechanism, output, pair = far_out(1.0)
    exact = ((Fraction(1e300) + Fraction(1e-300)) ** 2 - Fraction(1e300) ** 2) / 2
    low, high = mechanism.loss_bounds(output, pair)
    assert Fraction(low) <= exact <= Fraction(high)
    assert 0 < high - low < 1e-15
    assert math.isnan(mechanism.loss_in_digits(output, pair, 50)) or (
        abs(mechanism.loss_in_digits(output, pair, 50)) < 1
    )


def test_a_tie_is_enclosed():
    """The output is as far from the one record as from the other: the loss is 0."""
    pair = Pair(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), REPLACE_RECORD)
    low, high = norm_steps(3, 1e8).loss_bounds(np.full((3, 2), 1e10), pair)
    assert low <= 0 <= high
    assert high < 1e-300


def test_a_norm_far_out_is_enclosed():
    """``alpha (||o - v|| - ||o||)`` is below alpha by 5e-21: half a double's last digit is not."""
    output = np.array([[-1e10, 1.0]])
    low, high = norm_steps(1, 1.0).loss_bounds(output, unit_pair(2))
    with mpmath.workdps(60):
        exact = mpmath.norm(mpmath.matrix([-1e10 - 1, 1])) - mpmath.norm(mpmath.matrix([-1e10, 1]))
    assert low <= exact <= high
    assert low < 1.0 <= high
    assert high - low < 1e-15


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
    assert compute_exact_squared_distance(point, centre) == exact


# The ascent


def test_the_ascent_spends_no_more_than_its_budget_and_never_falls():
    calls = []

    def loss(points):
        calls.append(len(points))
        return -np.sum(points**2, axis=1)

    starts = np.random.default_rng(0).standard_normal((10, 3))
    peak = search_largest_loss(loss, starts, 537, np.random.default_rng(1))
    assert sum(calls) == peak.evaluated <= 537
    assert peak.loss >= (-np.sum(starts**2, axis=1)).max()
    assert peak.loss > -1e-3


def test_the_ascent_skips_what_is_not_a_number():
    def loss(points):
        with np.errstate(invalid="ignore"):
            return np.sqrt(1 - np.sum(points**2, axis=1))

    peak = search_largest_loss(loss, np.full((4, 2), 0.5), 400, np.random.default_rng(1))
    assert math.isfinite(peak.loss)
    assert peak.loss <= 1


def test_an_ascent_from_nowhere_is_refused():
    with pytest.raises(InvalidArgument, match="starts"):
        search_largest_loss(lambda x: x[:, 0], np.empty((0, 2)), 10, np.random.default_rng(0))


def test_the_largest_loss_is_looked_for_on_both_sides():
    pair = unit_pair(2)
    (one, _), (other, _) = largest_loss._get_pair_directions(pair)
    assert one is pair
    assert np.array_equal(other.dataset, pair.neighbour)
    assert np.array_equal(other.neighbour, pair.dataset)


@pytest.mark.parametrize("turned", [False, True])
def test_of_two_losses_in_many_digits_the_smaller_is_certified(turned):
    found = (2.0, 2.0 + 1e-12)
    certified = largest_loss._in_digits(2.5, found[::-1] if turned else found, 1.0)
    assert certified.lower == np.nextafter(2.0, 0.0)
