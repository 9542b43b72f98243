"""Checks of the law before an exact-loss audit, and pilots where delta is tiny."""

import math

import numpy as np
import pytest

from dpaudit.auditing.exact import exact_loss
from dpaudit.auditing.exact.stated_bounds import require_bound
from dpaudit.errors import MechanismError
from dpaudit.guarantees.gaussian import log_delta
from dpaudit.laws.steps import ExponentialNormSteps, GaussianSteps

from .steps import FixedGaussian, evidence, gaussian, norm_steps, unit_pair


class OtherDigits(ExponentialNormSteps):
    """Its loss, and what other code says of it, differ a little."""

    def loss_in_digits(self, output, pair, digits=50):
        return super().loss_in_digits(output, pair, digits) + 1e-4


def failed(found):
    return [check.name for check in found.self_checks if not check.passed]


def test_losses_are_compared_with_other_code_at_any_delta():
    right = norm_steps(3, 0.5)
    found = evidence(right, unit_pair(4), 1e-5, 100)
    assert found.trusted
    assert "loss in many digits" in [check.name for check in found.self_checks]
    wrong = evidence(OtherDigits(right.process), unit_pair(4), 1e-5, 100)
    assert failed(wrong) == ["loss in many digits"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_a_vector_s_norm_is_tested_beside_its_many_angles(factor):
    class Noisier(ExponentialNormSteps):
        def sample(self, dataset, trials, rng):
            return factor * super().sample(dataset, trials, rng)

    law = norm_steps(10, 0.3)
    found = evidence(Noisier(law.process), unit_pair(104), 1e-5, 100)
    assert "noise residuals on the dataset" in failed(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "trials", "least", "exact"),
    [
        (10, 300, 2.98, 2.998759),
        # A tilt for Gaussian losses would reach 11.7.
        pytest.param(50, 1000, 13.0, 13.05796, marks=pytest.mark.slow),
    ],
)
def test_a_tiny_delta_gets_a_tilt_that_reaches_it(steps, trials, least, exact):
    found = evidence(norm_steps(steps, 0.3), unit_pair(20), 1e-300, trials)
    assert found.trusted
    assert least < found.lower < exact


# How the error probability and the trials are spent


def spent_by(monkeypatch, name):
    """Return what each call of a bound is given, as it is called."""
    given, genuine = [], getattr(exact_loss, name)

    def noted(directions, at, alpha):
        given.append((directions, alpha))
        return genuine(directions, at, alpha)

    monkeypatch.setattr(exact_loss, name, noted)
    return given


def test_the_ends_and_the_band_share_one_error_probability(monkeypatch):
    names = ("lower_end", "upper_end", "delta_lower", "delta_upper")
    given = {name: spent_by(monkeypatch, name) for name in names}
    found = evidence(gaussian(1.0), unit_pair(2), 1e-3, 500)
    spent = {name: [a for both, a in calls if len(both) == 2] for name, calls in given.items()}
    assert [len(spent[name]) for name in names] == [1, 1, 41, 41]
    assert math.fsum(alpha for each in spent.values() for alpha in each) == pytest.approx(0.05)
    assert sorted(found.budget.values()) == pytest.approx([0.01, 0.02, 0.02])
    assert spent["lower_end"] + spent["upper_end"] == pytest.approx([0.02, 0.02])


def test_what_certifies_was_not_seen_by_the_pilots(monkeypatch):
    given = spent_by(monkeypatch, "upper_end")
    evidence(gaussian(1.0), unit_pair(2), 1e-3, 500)
    for direction in given[0][0]:
        assert not set(direction.losses.privacy_loss) & set(direction.pilot.privacy_loss)
        assert len(direction.losses.privacy_loss) == 500


def test_the_band_falls_and_holds_the_exact_profile():
    found = evidence(gaussian(1.0), unit_pair(2), 1e-3, 500)
    lower, upper = found.band.lower, found.band.upper
    known = [u for u in upper if u is not None]
    assert list(lower) == sorted(lower, reverse=True)
    assert known == sorted(known, reverse=True)
    for epsilon, low, high in zip(found.epsilons, lower, upper, strict=True):
        exact = math.exp(log_delta(1.0, epsilon))
        assert low <= exact
        assert high is None or exact <= high


def test_a_bound_on_all_weights_is_that_from_above():
    class Between(FixedGaussian):
        def squared_shift_bounds(self, pair):
            return 1.0, 4.0

    law, tilt = GaussianSteps(Between(1, 1.0)), 3.0
    assert law.log_mgf_bounds(unit_pair(2), tilt) == (6.0, 24.0)


@pytest.mark.parametrize("law", [gaussian(0.5, 5), norm_steps(3, 0.5)], ids=["gaussian", "norm"])
def test_losses_in_digits_are_those_of_each_output_from_one_replay(law, monkeypatch):
    pair, replays = unit_pair(4), []
    outputs = law.sample(pair.dataset, 6, np.random.default_rng(0))
    alone = [float(law.loss_in_digits(one, pair)) for one in outputs]
    replayed = type(law)._replayed
    monkeypatch.setattr(
        type(law), "_replayed", lambda *given: (replays.append(1), replayed(*given))[1]
    )
    together = [float(one) for one in law.losses_in_digits(outputs, pair)]
    assert len(replays) == 1
    assert together == pytest.approx(alone, rel=1e-12)
    assert len(set(alone)) == 6


def test_a_bound_that_a_single_output_passes_is_none():
    """However small all the others are."""
    moments = np.r_[np.full(999, -5.0), 0.5]
    require_bound(object(), moments, 0.5)
    with pytest.raises(MechanismError, match=r"returned 0\.4, expected at least the 0\.5"):
        require_bound(object(), moments, 0.4)
