"""The law of all noisy gradients along a Dirac canary: moments, tilted draws, and what attains."""

import mpmath
import numpy as np
import pytest
from scipy.stats import kstest

import dpaudit
from dpaudit import Pair, PoissonSubsampledGaussian, proved_guarantee
from dpaudit.errors import InvalidArgument
from dpaudit.laws.canary_steps import CanarySteps
from dpaudit.mechanisms.mechanism import Tiltable

WITH, WITHOUT = np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.0])
PAIR = Pair(WITH, WITHOUT, dpaudit.relation("add-remove-record"))


def law(q=0.2, s=1.0, steps=8, shift=1.0, code_q=None):
    def train(records, trials, rng):
        batches = rng.random((trials, steps, len(records))) < (q if code_q is None else code_q)
        return shift * (batches @ records) + s * rng.standard_normal((trials, steps))

    return CanarySteps(train, np.any, steps, sampling_ratio=q, noise_multiplier=s)


def in_digits(q, s, power):
    """Return ``log E_r g^a`` by adaptive quadrature in 30 digits."""
    with mpmath.workdps(30):
        q, s, a = mpmath.mpf(q), mpmath.mpf(s), mpmath.mpf(power)

        def density(x):
            g = 1 - q + q * mpmath.exp((x - 0.5) / s**2)
            return mpmath.npdf(x, 0, s) * g**a

        ends = [-12 * s + min(0, a), *range(int(min(0, a)), int(max(0, a)) + 2), max(0, a) + 12 * s]
        return float(mpmath.log(mpmath.quad(density, ends)))


@pytest.mark.parametrize(
    ("q", "s", "power"), [(0.2, 1.0, 3.7), (0.02, 0.6, -5.5), (0.9, 2.0, 1.0), (1.0, 0.7, -2.5)]
)
def test_log_moments_are_those_in_digits(q, s, power):
    assert law(q, s)._log_moment(power) == pytest.approx(in_digits(q, s, power), abs=1e-12)


@pytest.mark.parametrize("power", [0.0, 1.0, 2.6, 7.0, -0.5, -4.3, -60.0])
@pytest.mark.parametrize(("q", "s"), [(0.2, 1.0), (0.03, 0.5), (1.0, 0.8)])
def test_tilted_draws_have_the_tilted_law(q, s, power):
    one = law(q, s)
    points = np.linspace(-12 * s + min(0, power), 12 * s + max(0, power), 40_001)
    density = np.exp(
        -((points / s) ** 2) / 2 + power * (one._loss(points) - one._loss(points[20_000]))
    )
    share = np.cumsum(density) / density.sum()
    drawn = one._draw(power, 4000, np.random.default_rng(3))
    assert kstest(drawn, lambda x: np.interp(x, points, share)).pvalue > 1e-4


def test_it_can_be_audited_and_refuses_what_is_no_pair():
    assert isinstance(law(), Tiltable)
    with pytest.raises(InvalidArgument, match="one side that has the canary"):
        law().privacy_loss(np.zeros((1, 8)), Pair(WITHOUT, WITHOUT[:1], PAIR.relation))
    with pytest.raises(InvalidArgument, match=r"shape \(trials, 8\)"):
        law().privacy_loss(np.zeros((1, 7)), PAIR)
    with pytest.raises(InvalidArgument, match="sampling_ratio"):
        law(q=1.5)


def test_a_dirac_canary_attains_what_is_proved():
    event = PoissonSubsampledGaussian(sampling_ratio=0.2, noise_multiplier=1.0, count=8)
    proved = proved_guarantee(event).epsilon(1e-5)
    result = dpaudit.audit(law(), WITH, WITHOUT, epsilon=proved, delta=1e-5, trials=4000)
    assert result.verdict == "not refuted"
    assert 0.97 * proved < result.measured.lower <= proved <= result.measured.upper < 1.03 * proved
    halved = dpaudit.audit(law(), WITH, WITHOUT, epsilon=proved / 2, delta=1e-5, trials=1000)
    assert halved.verdict == "refuted"


@pytest.mark.parametrize("broken", [{"shift": 1.1}, {"code_q": 0.25}])
def test_code_of_another_law_is_noticed(broken):
    result = dpaudit.audit(law(**broken), WITH, WITHOUT, epsilon=9, delta=1e-5, trials=1000)
    assert not all(check.passed for check in result.self_checks)
