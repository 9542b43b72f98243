"""Checks of the law before an exact-loss audit, and pilots where delta is tiny."""

import pytest

from dpaudit.laws.steps import ExponentialNormSteps

from .steps import evidence, norm_steps, unit_pair


class OtherDigits(ExponentialNormSteps):
    """Its loss, and what other code says of it, differ a little."""

    def loss_in_digits(self, transcript, pair, digits=50):
        return super().loss_in_digits(transcript, pair, digits) + 1e-4


def failed(found):
    return [check.name for check in found.self_checks if not check.passed]


def test_losses_are_compared_with_other_code_at_any_delta():
    right = norm_steps(3, 0.5)
    found = evidence(right, unit_pair(4), 1e-5, 300)
    assert found.trusted
    assert "loss in many digits" in [check.name for check in found.self_checks]
    wrong = evidence(OtherDigits(right.process), unit_pair(4), 1e-5, 300)
    assert failed(wrong) == ["loss in many digits"]


@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_a_vector_s_norm_is_tested_beside_its_many_angles(factor):
    class Noisier(ExponentialNormSteps):
        def sample(self, dataset, trials, rng):
            return factor * super().sample(dataset, trials, rng)

    law = norm_steps(10, 0.3)
    found = evidence(Noisier(law.process), unit_pair(104), 1e-5, 300)
    assert "noise residuals on the dataset" in failed(found)


def test_a_tiny_delta_gets_a_tilt_that_reaches_it():
    """The exact epsilon is 13.05796: a tilt for Gaussian losses would reach 11.7."""
    found = evidence(norm_steps(50, 0.3), unit_pair(20), 1e-300, 1000)
    assert found.trusted
    assert 13.0 < found.lower < 13.05796
