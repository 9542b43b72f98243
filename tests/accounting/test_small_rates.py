"""Rates of Poisson samples that are next to nothing: delta(0) is at most what is drawn at all."""

import math
from fractions import Fraction

import pytest

from dpaudit.accounting.calibrate import calibrate
from dpaudit.accounting.events import PoissonSubsampledGaussian
from dpaudit.accounting.strongest_guarantee import proved_guarantee
from dpaudit.accounts.training import Training, format_training_scope
from dpaudit.errors import ConvergenceError, InvalidArgument


def at(ratio, noise, delta, count=1):
    event = PoissonSubsampledGaussian(sampling_ratio=ratio, noise_multiplier=noise, count=count)
    return proved_guarantee(event).epsilon(delta)


def delta_of_a_removal(epsilon, ratio, noise):
    """Return delta of one step, by the threshold on the output, in closed form."""
    level = noise**2 * math.log((math.expm1(epsilon) + ratio) / ratio) + 0.5
    without, drawn = (math.erfc((level - at) / noise / math.sqrt(2)) / 2 for at in (0, 1))
    return (1 - ratio) * without + ratio * drawn - math.exp(epsilon) * without


@pytest.mark.parametrize("noise", [1e-9, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("ratio", [1e-300, 1e-12, 1e-6])
def test_nothing_is_lost_at_a_delta_above_the_rate(ratio, noise):
    assert at(ratio, noise, 1e-5) == 0
    assert at(ratio, noise, 1e-5, count=10) == 0


def test_what_is_lost_at_a_delta_below_the_rate_is_the_closed_form():
    found = at(0.01, 1.0, 1e-5)
    assert delta_of_a_removal(found, 0.01, 1.0) == pytest.approx(1e-5, rel=1e-5)


def test_noise_next_to_nothing_is_refused_before_memory_is_full():
    with pytest.raises(ConvergenceError, match="too much work"):
        at(1e-12, 1e-5, 1e-13)


def test_a_target_that_any_noise_meets_is_named():
    with pytest.raises(InvalidArgument, match="one that takes noise above 1e-12 to meet"):
        calibrate(
            lambda noise: PoissonSubsampledGaussian(sampling_ratio=1e-12, noise_multiplier=noise),
            1.0,
            1e-5,
        )


@pytest.mark.parametrize(
    ("batch", "records"), [(1, 10**12), (1, 3), (2, 3), (10**9 - 1, 10**9), (5, 5), (256, 60_000)]
)
def test_a_printed_rate_is_neither_0_nor_1_unless_it_is(batch, records):
    said = format_training_scope(Training(batch_size=batch, records=records))
    shown = Fraction(said.split("probability ")[1].split(";")[0].replace(" ", ""))
    exact = Fraction(batch, records)
    assert exact <= shown <= exact * (1 + Fraction(1, 10**5))
    assert (shown == 1) == (batch == records)
