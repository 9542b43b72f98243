"""Coverage: over many repetitions a bound misses the truth no more often than it may.

The true epsilons are closed forms. Every bound is run on laws drawn directly, with small samples
(asymptotics would show there), a fixed seed, and a tolerance that a valid bound exceeds once in a
million runs. Negative controls show that each suite can fail. The full size runs with -m slow.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from dpaudit.estimation.event import choose_event, event_bound
from dpaudit.estimation.exact_loss import (
    LossDirection,
    TiltedLosses,
    best_tilt,
    delta_lower,
    delta_upper,
    lower_end,
    upper_end,
)
from dpaudit.guarantees import gaussian
from dpaudit.guarantees.kinds import PureDP

ALPHA, TRIALS, PILOTS = 0.05, 300, 25
full_size = pytest.mark.slow
sizes = pytest.mark.parametrize(
    "repetitions", [40, *(pytest.param(n, marks=full_size) for n in (100, 1000))]
)


def allowed(repetitions, alpha=ALPHA):
    """Return a number of misses that a valid bound exceeds once in a million runs."""
    return binom.isf(1e-6, repetitions, alpha)


# Laws: each draws tilted losses of one direction, and knows its delta


@dataclass(frozen=True)
class Gaussian:
    """N(0, 1) against N(mu, 1)."""

    mu: float

    def log_delta(self, epsilon):
        return gaussian.log_delta(self.mu, epsilon)

    def losses(self, tilt, trials, rng):
        loss = rng.normal((0.5 + tilt) * self.mu**2, self.mu, trials)
        log_mgf = tilt * (1 + tilt) / 2 * self.mu**2
        return TiltedLosses(loss, np.full(trials, log_mgf), tilt, log_mgf)


@dataclass(frozen=True)
class Mixture:
    """One of two Gaussians by a fair coin that is published: the weights depend on the path."""

    mus: tuple[float, float]

    def log_delta(self, epsilon):
        return np.logaddexp(*(gaussian.log_delta(mu, epsilon) for mu in self.mus)) - math.log(2)

    def losses(self, tilt, trials, rng):
        mu = rng.choice(self.mus, trials)
        loss = rng.normal((0.5 + tilt) * mu**2, mu)
        bound = tilt * (1 + tilt) / 2 * max(self.mus) ** 2
        return TiltedLosses(loss, tilt * (1 + tilt) / 2 * mu**2, tilt, bound)


@dataclass(frozen=True)
class Responses:
    """Randomised response, repeated: discrete losses, ties everywhere."""

    epsilon: float
    count: int

    def pmf(self):
        """Return the losses and their probabilities on the dataset."""
        truths = np.arange(self.count + 1)
        loss = (2 * truths - self.count) * self.epsilon
        return loss, binom.pmf(truths, self.count, 1 / (1 + math.exp(-self.epsilon)))

    def log_delta(self, epsilon):
        loss, mass = self.pmf()
        excess = np.maximum(loss - epsilon, 0.0)
        # A floor in place of log 0, for the root search.
        return math.log(max(float((mass * -np.expm1(-excess)).sum()), 1e-300))

    def losses(self, tilt, trials, rng):
        loss, mass = self.pmf()
        tilted = mass * np.exp(tilt * loss)
        log_mgf = math.log(tilted.sum())
        drawn = rng.choice(loss, trials, p=tilted / tilted.sum())
        return TiltedLosses(drawn, np.full(trials, log_mgf), tilt, log_mgf)


@dataclass(frozen=True)
class Halved:
    """Negative control: the losses of half of what the law has, with weights to match."""

    law: Gaussian

    def log_delta(self, epsilon):
        return self.law.log_delta(epsilon)

    def losses(self, tilt, trials, rng):
        return Gaussian(self.law.mu / 2).losses(tilt, trials, rng)


def epsilon_of(laws, delta):
    """Return the true epsilon of a pair, one law a direction: the worse of the two."""
    target = math.log(delta)
    worst = [
        brentq(lambda e: law.log_delta(e) - target, 0.0, 200.0, xtol=1e-13)  # noqa: B023
        for law in laws
        if law.log_delta(0.0) > target
    ]
    return max(worst, default=0.0)


def pilots(laws, delta, tilt, rng):
    return [law.losses(tilt, 200, rng) for law in laws]


def misses(laws, tilt, delta, repetitions, alpha=ALPHA, spoil=lambda losses: losses):
    """Return how often the lower and the upper end miss, and how often there is no upper one."""
    rng, log_delta = np.random.default_rng(17), math.log(delta)
    exact, counts = epsilon_of(laws, delta), np.zeros(3, int)
    for repetition in range(repetitions):
        if repetition % PILOTS == 0:
            pilot = pilots(laws, delta, tilt, rng)
        fresh = [spoil(law.losses(tilt, TRIALS, rng)) for law in laws]
        pair = [LossDirection(*both) for both in zip(fresh, pilot, strict=True)]
        lower, upper = lower_end(pair, log_delta, alpha), upper_end(pair, log_delta, alpha)
        counts += (lower > exact, upper is not None and upper < exact, upper is None)
    return counts


def only_full(*values):
    return pytest.param(*values, marks=full_size)


# The extremes, one law of each kind and a pair of two directions are tried at any size.
CASES = [
    ((Gaussian(0.2),), 1e-5),
    only_full((Gaussian(0.2),), 1e-10),
    only_full((Gaussian(1.0),), 1e-5),
    only_full((Gaussian(1.0),), 1e-10),
    only_full((Gaussian(3.0),), 1e-5),
    ((Gaussian(3.0),), 1e-10),
    ((Gaussian(1.0), Gaussian(0.8)), 1e-5),
    only_full((Mixture((0.8, 1.0)),), 1e-5),
    ((Mixture((0.5, 1.5)),), 1e-5),
    ((Responses(1.0, 1),), 1e-3),
    ((Responses(0.1, 100),), 1e-5),
]


def tilt_for(laws, delta):
    """Return the tilt for a Gaussian of the same loss variance: good enough for every law."""
    sizes = {Gaussian: lambda g: g.mu, Mixture: lambda m: max(m.mus)}
    other = lambda r: r.epsilon * math.sqrt(r.count)  # noqa: E731
    return best_tilt(max(sizes.get(type(law), other)(law) for law in laws), math.log(delta))


@pytest.mark.sampled(2)
@sizes
@pytest.mark.parametrize(("laws", "delta"), CASES, ids=str)
def test_exact_loss_ends_cover_the_truth(laws, delta, repetitions):
    low, high, _ = misses(laws, tilt_for(laws, delta), delta, repetitions)
    assert low <= allowed(repetitions)
    assert high <= allowed(repetitions)


@sizes
@pytest.mark.parametrize("slack", [0.5, math.inf])
def test_a_loose_bound_on_the_weights_keeps_the_ends_valid(slack, repetitions):
    def loosen(losses):
        return replace(losses, log_mgf_bound=losses.log_mgf_bound + slack)

    low, high, missing = misses((Gaussian(1.0),), 4.5, 1e-5, repetitions, spoil=loosen)
    assert low <= allowed(repetitions)
    assert high <= allowed(repetitions)
    assert (missing == repetitions) == (slack == math.inf)


@sizes
@pytest.mark.parametrize("tilt", [0.0, only_full(3.0), 7.0])
def test_a_poor_tilt_costs_sharpness_only(tilt, repetitions):
    low, high, _ = misses((Gaussian(1.0),), tilt, 1e-5, repetitions)
    assert low <= allowed(repetitions)
    assert high <= allowed(repetitions)


def test_an_epsilon_of_zero_is_never_exceeded():
    for laws, delta in (((Gaussian(1e-9),), 1e-5), ((Gaussian(0.02),), 0.05)):
        assert epsilon_of(laws, delta) == 0
        assert misses(laws, tilt_for(laws, 1e-5), delta, 50)[0] <= allowed(50)


# Negative controls


def shifted_weights(by):
    def spoil(x):
        return replace(x, log_mgf=x.log_mgf + by, log_mgf_bound=x.log_mgf_bound + max(by, 0.0))

    return spoil


def only_large(x):
    large = x.privacy_loss > 4
    return replace(x, privacy_loss=x.privacy_loss[large], log_mgf=x.log_mgf[large])


def large_ones_lost(x):
    return replace(x, privacy_loss=np.where(x.privacy_loss > 4.9, 0.0, x.privacy_loss))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("spoil", "which", "repetitions"),
    [
        pytest.param(shifted_weights(0.3), 0, 40, id="weights too large"),
        pytest.param(shifted_weights(-0.3), 1, 40, id="weights too small"),
        pytest.param(only_large, 0, 100, id="trials selected"),
        pytest.param(large_ones_lost, 1, 40, id="large losses lost"),
    ],
)
def test_spoiled_trials_are_caught(spoil, which, repetitions):
    missed = misses((Gaussian(1.0),), 4.5, 1e-5, repetitions, spoil=spoil)[which]
    assert missed > allowed(repetitions)


def test_a_looser_error_probability_is_caught():
    """Half of log(1/alpha) stays within alpha: betting at a fixed size leaves that room."""
    low, high, _ = misses((Gaussian(1.0),), 4.5, 1e-5, 150, alpha=ALPHA**0.1)
    assert low > allowed(150)
    assert high > allowed(150)


def test_the_loss_of_another_pair_is_caught():
    assert misses((Halved(Gaussian(1.0)),), 4.5, 1e-5, 40)[1] > allowed(40)


def test_an_upper_end_that_forgets_a_direction_is_caught():
    rng, missed = np.random.default_rng(3), 0
    exact = epsilon_of((Gaussian(1.0), Gaussian(0.8)), 1e-5)
    for _ in range(50):
        weak = Gaussian(0.8)
        one = LossDirection(weak.losses(4.5, TRIALS, rng), weak.losses(4.5, 200, rng))
        missed += upper_end([one], math.log(1e-5), ALPHA) < exact
    assert missed > allowed(50)


# Bands


@sizes
@pytest.mark.parametrize("laws", [(Gaussian(1.0),), (Gaussian(1.0), Gaussian(0.8))], ids=str)
def test_delta_bands_cover_everywhere_at_once(laws, repetitions):
    rng, epsilons = np.random.default_rng(23), (0.0, 1.5, 3.0, 4.4, 5.5)
    exact = [max(math.exp(law.log_delta(e)) for law in laws) for e in epsilons]
    share, missed, repetitions = ALPHA / (2 * len(epsilons)), 0, repetitions // 2
    for repetition in range(repetitions):
        if repetition % PILOTS == 0:
            pilot = pilots(laws, 1e-5, 4.0, rng)
        fresh = [law.losses(4.0, TRIALS, rng) for law in laws]
        pair = [LossDirection(*both) for both in zip(fresh, pilot, strict=True)]
        missed += any(
            not delta_lower(pair, e, share) <= d <= (delta_upper(pair, e, share) or 1)
            for e, d in zip(epsilons, exact, strict=True)
        )
    assert missed <= allowed(repetitions)


# Events


def gaussian_scores(rng, n):
    return rng.normal(1.0, 1, n), rng.normal(0, 1, n)


def laplace_scores(rng, n):
    return rng.laplace(1.0, 1, n), rng.laplace(0, 1, n)


def response_scores(rng, n):
    truth = 1 / (1 + math.exp(-1.0))
    return (rng.random(n) < truth).astype(float), (rng.random(n) > truth).astype(float)


def equal_scores(rng, n):
    return rng.normal(size=n), rng.normal(size=n)


def leaking_scores(rng, n):
    """(0, 0.1)-private: one time in ten the output tells which dataset it was."""
    return np.where(rng.random(n) < 0.1, 1.0, 0.0), np.where(rng.random(n) < 0.1, -1.0, 0.0)


EVENTS = [
    (gaussian_scores, 1e-5, gaussian.epsilon_at(1.0, math.log(1e-5))),
    only_full(gaussian_scores, 0.1, gaussian.epsilon_at(1.0, math.log(0.1))),
    (laplace_scores, 0.0, 1.0),
    only_full(response_scores, 0.0, 1.0),
    (response_scores, 0.1, PureDP(1.0).epsilon(0.1)),
    only_full(equal_scores, 0.0, 0.0),  # below, as a control
    (leaking_scores, 0.1, 0.0),
]


def event_misses(scores, delta, exact, repetitions, alpha=ALPHA, forget=False):
    """Return misses over repetitions, thresholds and sizes that matter; thresholds are fresh."""
    rng, missed = np.random.default_rng(29), 0
    for _ in range(repetitions):
        p, q = scores(rng, 500)
        event = choose_event(p, q, delta)
        fresh = scores(rng, 1000)
        bound = event_bound(*fresh, event, 0.0 if forget else delta, alpha)
        missed += bound.lower > exact
    return missed


# The error of the joint test is enumerated exactly in tests/estimation/test_joint.py; this is the
# whole path, with events chosen from scores.
@pytest.mark.sampled(1)
@pytest.mark.parametrize("repetitions", [10, only_full(15), only_full(3000)])
@pytest.mark.parametrize(("scores", "delta", "exact"), EVENTS)
def test_the_event_bound_covers_the_truth(scores, delta, exact, repetitions):
    assert event_misses(scores, delta, exact, repetitions) <= allowed(repetitions)


def test_forgetting_delta_is_caught():
    assert event_misses(leaking_scores, 0.1, 0.0, 25, forget=True) > allowed(25)


def test_a_claim_of_too_much_is_caught():
    """At the same confidence, 0.8 of the truth is exceeded again and again."""
    assert event_misses(response_scores, 0.0, 0.8, 8) > allowed(8)


def test_an_event_bound_at_a_looser_error_probability_is_caught():
    loose = event_misses(response_scores, 0.0, 1.0, 16, alpha=0.6)
    assert loose > allowed(16)


@pytest.mark.parametrize("repetitions", [16, only_full(40)])
def test_certifying_on_the_scores_that_set_the_threshold_is_caught(repetitions):
    """With equal laws and many thresholds the best of them looks like a violation."""
    rng, missed = np.random.default_rng(31), 0
    for _ in range(repetitions):
        p, q = equal_scores(rng, 1000)
        event = choose_event(p, q, 0.0)
        missed += event_bound(p, q, event, 0.0, 0.8).lower > 0
    fresh = event_misses(equal_scores, 0.0, 0.0, repetitions, alpha=0.8)
    assert missed > 2 * max(fresh, 1)
