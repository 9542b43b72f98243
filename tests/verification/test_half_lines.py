"""The probability of a half-line of noise that is turned, shifted and clipped."""

import math
from types import SimpleNamespace

import pytest

from dpaudit.replaying.laws import _of_mechanism
from dpaudit.verification.replay_certificates import (
    _all_of,
    _compute_condition_threshold,
    _half_line,
    _OutputLaw,
)
from dpaudit.verification.replay_events import EventCondition, StatedEvent
from dpaudit.verification.rerun_replay import _get_documented_law


def beyond(z):
    """Return the probability that Laplace noise of scale 1 is at least z."""
    return math.exp(-z) / 2 if z > 0 else 1 - math.exp(z) / 2


@pytest.mark.parametrize("factor", [2.0, -2.0])
@pytest.mark.parametrize("threshold", [-1.5, 0.5, 2.0])
def test_noise_of_either_sign_is_beyond_a_threshold_as_often(factor, threshold):
    law = _OutputLaw(1.0, factor, "laplace", "", 0.0)
    above = beyond((threshold - 1.0) / 2)  # the noise is symmetric: its sign says nothing
    assert float(_half_line(law, threshold, above=True)) == pytest.approx(above)
    assert float(_half_line(law, threshold, above=False)) == pytest.approx(1 - above)


@pytest.mark.parametrize(("threshold", "above"), [(-1.0, 1.0), (4.0, 0.0)])
def test_beyond_an_end_of_a_clip_everything_or_nothing_is(threshold, above):
    law = _OutputLaw(1.0, 2.0, "laplace", "", 0.0, 0.0, 3.0)
    assert float(_half_line(law, threshold, above=True)) == above
    assert float(_half_line(law, threshold, above=False)) == 1 - above


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
def test_the_documented_scale_of_a_mechanism_is_that_of_its_package(delta):
    """``sensitivity / (epsilon - log(1 - delta))``, as the replay has it: delta is less noise."""
    said = {"sensitivity": 3.0, "epsilon": 0.5, "delta": delta}
    law, scale = _get_documented_law("diffprivlib.Laplace", said)
    assert (law, scale) == ("laplace", pytest.approx(3.0 / (0.5 - math.log1p(-delta))))
    call = SimpleNamespace(kind="diffprivlib.Laplace", declared=said)
    assert _of_mechanism(call) == (law, pytest.approx(scale, rel=1e-12))
    if delta:
        call = SimpleNamespace(kind="diffprivlib.Gaussian", declared=said)
        assert _get_documented_law(call.kind, said) == (
            "normal",
            pytest.approx(math.sqrt(2 * math.log(1.25 / delta)) * 6.0),
        )
        assert _of_mechanism(call) == (
            "normal",
            pytest.approx(_get_documented_law(call.kind, said)[1]),
        )


@pytest.mark.parametrize("factor", [2.0, -2.0])
@pytest.mark.parametrize("steps", [-1.5, 0.0, 1.5])
def test_steps_from_a_centre_are_of_the_size_of_the_noise_whatever_its_sign(factor, steps):
    law = _OutputLaw(3.0, factor, "normal", "", 0.0)
    assert _compute_condition_threshold(SimpleNamespace(steps=steps), law) == 3.0 + 2.0 * steps


@pytest.mark.parametrize("kind", ["uniform", "exponential"])
@pytest.mark.parametrize(("error", "infinite"), [(1e-6, False), (0.0, True), (1e-9, True)])
def test_a_verifier_takes_no_probability_for_0_within_the_error_of_a_centre(kind, error, infinite):
    own, other = (_OutputLaw(centre, -1.0, kind, "", error) for centre in (1e-6, 0.0))
    condition = EventCondition(0, True, -5e-7, (None, None), ("", ""))
    probable, found = _all_of(StatedEvent("all of", 0, (condition,)), [[own], [other]])
    assert float(probable) == pytest.approx(5e-7, rel=1e-6)
    assert (not found > 0) == infinite
