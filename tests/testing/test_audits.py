"""Correct noise passes over many seeds; halved noise and wrong laws fail with a useful message."""

import math
import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.laws.steps import GaussianSteps, Step
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.testing import assert_not_refuted

PAIR = Pair(np.array([0.0, 1.0]), np.array([1.0, 1.0]), REPLACE_RECORD)
DELTA = 1e-5
EXACT = GaussianDP(1.0).epsilon(DELTA)


@dataclass(frozen=True)
class Sum:
    """One release of the sum, with Gaussian noise."""

    scale: float = 1.0
    steps: int = 1

    def check(self, dataset):
        pass

    def start(self, dataset, trials):
        return np.zeros((trials, 1))

    def step(self, state, dataset):
        return Step(np.full_like(state, np.sum(dataset)), np.array([self.scale]))

    def shift(self, state, pair):
        return np.full_like(state, np.sum(pair.neighbour) - np.sum(pair.dataset))

    def advance(self, state, output):
        return output

    def squared_shift_bounds(self, pair):
        square = (np.sum(pair.neighbour) - np.sum(pair.dataset)) ** 2 / self.scale**2
        return square, square


class Quieter(GaussianSteps):
    """Draws with half the noise that its law states."""

    def sample(self, dataset, trials, rng):
        halved = replace(self.process, scale=self.process.scale / 2)
        return GaussianSteps(halved).sample(dataset, trials, rng)


def laplace(scale):
    return lambda dataset, trials, rng: np.sum(dataset) + rng.laplace(scale=scale, size=trials)


class Laplace:
    def sample(self, dataset, trials, rng):
        return laplace(1.0)(dataset, trials, rng)


def failure(*arguments, **options):
    with pytest.raises(AssertionError) as caught:
        assert_not_refuted(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(s, marks=pytest.mark.slow) for s in range(1, 5))]
)
def test_the_exact_law_at_its_exact_epsilon_passes(seed):
    result = assert_not_refuted(GaussianSteps(Sum()), PAIR, EXACT, DELTA, trials=500, seed=seed)
    assert 0.7 * EXACT < result.measured.lower <= EXACT


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(s, marks=pytest.mark.slow) for s in range(3, 25))]
)
def test_outputs_at_their_exact_epsilon_pass(seed):
    result = assert_not_refuted(laplace(1.0), PAIR, 1.0, 0.0, trials=2000, seed=seed)
    assert 0 < result.measured.lower <= 1.0


@pytest.mark.sampled(1)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("mechanism", "epsilon", "delta"),
    [
        (GaussianSteps(Sum(0.5)), EXACT, DELTA),
        (laplace(0.5), 1.0, 0.0),
        (laplace(0.5), 1.0, DELTA),
        (lambda dataset, trials, rng: np.full(trials, np.sum(dataset)), 1.0, 0.0),
    ],
)
def test_halved_noise_is_refuted(mechanism, epsilon, delta, seed):
    message = failure(mechanism, PAIR, epsilon, delta, seed=seed, trials=2000)
    assert "The certified lower bound" in message
    assert f"repeat: assert_not_refuted(mechanism, pair, epsilon={epsilon!r}" in message
    assert f"trials=2000, confidence=0.999999, seed={seed}, unit=" in message
    assert "next: another seed" in message


@pytest.mark.parametrize("mechanism", [GaussianSteps(Sum(0.5)), laplace(0.5)])
def test_the_line_that_repeats_a_failure_runs_and_fails_alike(mechanism):
    message = failure(mechanism, PAIR, 1.0, DELTA, seed=3, trials=500, unit=50)
    (line,) = re.findall("repeat: (.*)", message)
    assert line.endswith("seed=3, unit=50)")
    given = {"mechanism": mechanism, "pair": PAIR, "assert_not_refuted": assert_not_refuted}
    with pytest.raises(AssertionError) as caught:
        eval(line, given)
    assert str(caught.value) == message


def test_a_gaussian_law_at_delta_0_is_refuted_by_one_output_whatever_epsilon():
    """Its loss has no bound, so it is private at no epsilon: no event shows that at 40."""
    for epsilon in (1.0, 40.0):
        assert "refuted" in failure(GaussianSteps(Sum()), PAIR, epsilon, 0.0, trials=1000)


def test_outputs_at_delta_0_are_audited_through_events():
    def sample(dataset, trials, rng):
        return GaussianSteps(Sum()).sample(dataset, trials, rng)

    result = assert_not_refuted(sample, PAIR, 40.0, 0.0, trials=300)
    assert "event" in result.measured.estimator


def test_a_law_that_is_not_the_codes_fails_by_itself():
    message = failure(Quieter(Sum()), PAIR, 1000.0, DELTA)
    assert message.startswith("the stated law is not that of the code, so nothing was certified")
    assert "noise residuals" in message
    assert "repeat: assert_not_refuted(" in message


@pytest.mark.slow
def test_mechanisms_and_functions_are_the_same():
    one = assert_not_refuted(Laplace(), PAIR, 1.0, 0.0, trials=500, seed=3)
    other = assert_not_refuted(laplace(1.0), PAIR, 1.0, 0.0, trials=500, seed=3)
    assert one.measured == other.measured


@pytest.mark.slow
def test_less_confidence_accuses_sooner():
    options = {"trials": 400, "seed": 1}
    strict = assert_not_refuted(laplace(1.0), PAIR, 1.5, 0.0, **options)
    loose = assert_not_refuted(laplace(1.0), PAIR, 1.5, 0.0, confidence=0.9, **options)
    assert strict.measured.lower < loose.measured.lower
    assert strict.measured.confidence == pytest.approx(1 - 1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mechanism": 3}, "mechanism: got 3, expected an object with a method sample"),
        ({"pair": (0, 1)}, "pair: got values of shape (2,) #"),
        ({"epsilon": -1.0}, "epsilon: got -1.0"),
        ({"epsilon": math.inf}, "epsilon: got inf"),
        ({"delta": 1.0}, "delta: got 1.0, expected a number in [0, 1)"),
        ({"trials": 99}, "trials: got 99, expected an integer, at least 100"),
        ({"trials": None}, "trials: got None, expected an integer, at least 100"),
        ({"confidence": 1.0}, "confidence: got 1.0, expected a number in (0, 1)"),
        ({"seed": -1}, "seed: got -1"),
    ],
)
def test_a_bad_argument_is_named(arguments, words):
    given = {"mechanism": Laplace(), "pair": PAIR, "epsilon": 1.0, "delta": 0.0} | arguments
    with pytest.raises(InvalidArgument) as caught:
        assert_not_refuted(**given)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("mechanism", "words"),
    [
        (lambda dataset, trials, rng: np.zeros(3), r"returned shape \(3,\)"),
        (lambda dataset, trials, rng: 1 // 0, "raised ZeroDivisionError"),
        (lambda dataset, rng: rng.no_such_law(), "raised AttributeError"),
    ],
)
def test_a_mechanism_that_breaks_its_contract_is_refused(mechanism, words):
    with pytest.raises(MechanismError, match=words):
        assert_not_refuted(mechanism, PAIR, 1.0, 0.0)
