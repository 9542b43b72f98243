"""Aimed draws of balls and bins: weights, bounds and intervals, and broken ones caught."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dpaudit
from dpaudit.accounting.events import AllocatedGaussian
from dpaudit.accounting.grid.numerical import epsilon_of, numerical_delta, numerical_epsilon
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.exact_loss import LossDirection, TiltedLosses, upper_end
from dpaudit.guarantees import gaussian
from dpaudit.laws.allocated_draws import Large, Small, _beyond_one, draws_beyond
from dpaudit.laws.allocated_sums import AllocatedSums
from dpaudit.mechanisms.foreign.isolation import Isolation
from dpaudit.mechanisms.mechanism import TailDraws
from dpaudit.neighbours import REPLACE_RECORD, Pair

WITH, WITHOUT = np.array([1.0, 0.0]), np.array([0.0, 0.0])
REMOVAL, ADDITION = Pair(WITH, WITHOUT, REPLACE_RECORD), Pair(WITHOUT, WITH, REPLACE_RECORD)


def losses(batches, noise, epsilon, trials, seed, pair=REMOVAL):
    aimed = TailDraws(AllocatedSums(batches=batches, noise_multiplier=noise), pair, epsilon)
    drawn = aimed.sample(trials, np.random.default_rng(seed))
    return TiltedLosses(drawn.privacy_loss, drawn.log_mgf, 0.0, math.inf, aimed)


def check_mean(drawn, epsilon, low, high):
    paid = np.exp(drawn.log_payoffs(epsilon))
    error = paid.std() / math.sqrt(len(paid))
    assert error < 0.1 * high
    assert low - 4 * error < paid.mean() < high + 4 * error
    assert drawn.log_payoffs(epsilon).max() <= drawn.log_payoff_bound(epsilon) + 1e-9


@pytest.mark.parametrize(
    ("batches", "noise", "delta"), [(20, 0.5, 1e-5), (100, 1.0, 1e-10), (100, 2.0, 1e-10)]
)
def test_they_pay_the_accountants_delta_and_never_above_a_bound_near_it(batches, noise, delta):
    event = AllocatedGaussian(batches=batches, noise_multiplier=noise)
    epsilon = numerical_epsilon(event, delta).upper
    bracket = numerical_delta(event, epsilon)
    drawn = losses(batches, noise, epsilon, 5000, 1)
    check_mean(drawn, epsilon, bracket.lower, bracket.upper)
    assert drawn.log_payoff_bound(epsilon) < math.log(20 * bracket.upper)


@pytest.mark.parametrize("pair", [REMOVAL, ADDITION], ids=["removal", "addition"])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
def test_one_batch_is_the_gaussian_mechanism(pair, noise):
    epsilon = gaussian.epsilon_at(1 / noise, math.log(1e-5))
    check_mean(losses(1, noise, epsilon, 5000, 2, pair), epsilon, 1e-5, 1e-5)


@pytest.mark.parametrize("pair", [REMOVAL, ADDITION], ids=["removal", "addition"])
def test_they_pay_what_untilted_outputs_do(pair):
    law, epsilon = AllocatedSums(batches=10, noise_multiplier=0.8), 0.4
    sums = law.sample(pair.dataset, 40_000, np.random.default_rng(3))
    paid = np.maximum(-np.expm1(epsilon - law.privacy_loss(sums, pair)), 0.0)
    error = 4 * paid.std() / math.sqrt(len(paid))
    drawn = losses(10, 0.8, epsilon, 20_000, 4, pair)
    check_mean(drawn, epsilon, paid.mean() - error, paid.mean() + error)
    weights = np.exp(drawn.log_mgf - drawn.privacy_loss)
    assert weights.mean() < 1 + 5 * weights.std() / math.sqrt(len(weights))


def log_payoffs(draws, sums, epsilon, sign):
    ratio = np.exp(draws.size * sums - draws.size**2 / 2).mean(axis=1)
    excess = np.maximum(ratio - math.exp(epsilon) if sign > 0 else 1 - math.exp(epsilon) * ratio, 0)
    with np.errstate(divide="ignore"):
        return np.log(excess) - draws._log_density(sums)


@pytest.mark.parametrize(("size", "batches", "epsilon"), [(2.0, 20, 3.5), (1.0, 50, 0.7)])
def test_no_sums_at_all_pay_above_the_bound(size, batches, epsilon):
    """The worst is looked for: any number of jumps of about any height above raised sums."""
    rng = np.random.default_rng(5)
    draws = draws_beyond(size, batches, epsilon, removal=True)
    heights = np.linspace(draws.cells[0] - 3, draws.cells[-2] + 2, 60)
    rows = []
    for jumps in (0, 1, 2, 3, batches):
        for level in np.linspace(-1.0, 5.0, 40):
            base = np.full((len(heights), batches), level) + 0.2 * rng.standard_normal(batches)
            base[:, :jumps] = heights[:, None]
            rows.append(base)
    sums = np.concatenate(rows)
    for beyond in (0.9 * epsilon, epsilon, 1.2 * epsilon):
        found = log_payoffs(draws, sums, beyond, 1).max()
        assert found <= draws.log_bound(beyond) + 1e-9
    assert log_payoffs(draws, sums, epsilon, 1).max() > draws.log_bound(epsilon) - 1.0


def test_no_small_sums_pay_above_the_bound_and_some_attain_it():
    draws = draws_beyond(1.0, 20, 0.5, removal=False)
    sums = np.repeat(np.linspace(-9, 2, 2000)[:, None], 20, axis=1)
    found = log_payoffs(draws, sums, 0.5, -1).max()
    assert draws.log_bound(0.5) - 1e-3 < found <= draws.log_bound(0.5) + 1e-9


def audited(law, claimed, trials, delta=1e-5, seed=0, **how):
    return dpaudit.audit(
        law, WITH, WITHOUT, epsilon=claimed, delta=delta, trials=trials, seed=seed, **how
    )


def test_an_audit_gives_both_ends():
    bracket = numerical_epsilon(AllocatedGaussian(batches=20, noise_multiplier=0.7), 1e-5)
    law = AllocatedSums(batches=20, noise_multiplier=0.7)
    found = audited(law, bracket.upper, 5000).measured
    assert found.lower <= bracket.upper
    assert found.upper >= bracket.lower
    assert found.upper - found.lower < 0.02 * found.lower


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-5, 1e-10])
@pytest.mark.parametrize("noise", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("batches", [100, 1000])
def test_twenty_thousand_outputs_give_an_interval_of_two_per_cent(batches, noise, delta):
    bracket = numerical_epsilon(AllocatedGaussian(batches=batches, noise_multiplier=noise), delta)
    law = AllocatedSums(batches=batches, noise_multiplier=noise)
    found = audited(law, bracket.upper, 20_000, delta).measured
    assert found.lower <= bracket.upper
    assert found.upper >= bracket.lower
    assert found.upper - found.lower < 0.02 * found.lower


def truth(event, delta, pair):
    """Return the accountant's bracket of the epsilon of one direction."""
    way = 0 if pair is REMOVAL else 1
    attained, dominating = Composition.attained(event), Composition.of(event)
    lower = epsilon_of(attained.directions[way], delta).lower
    return Bracket(lower, epsilon_of(dominating.directions[way], delta).upper)


def check_upper_ends(batches, noise, delta, pair, count):
    """At error probability 1/2, below the accountant's lower end half of the time at most.

    Aimed before the truth, as an audit does it: no end is looked for below the aim.
    """
    event, alpha = AllocatedGaussian(batches=batches, noise_multiplier=noise), 0.5
    bracket, aim = truth(event, delta, pair), truth(event, 1.5 * delta, pair).lower
    assert aim < bracket.lower
    pilot = losses(batches, noise, aim, 1000, 10**6, pair)
    ends = []
    for seed in range(count):
        direction = LossDirection(losses(batches, noise, aim, 500, seed, pair), pilot)
        ends.append(upper_end([direction], math.log(delta), alpha))
    assert None not in ends
    missed = sum(end < bracket.lower for end in ends)
    assert missed <= count * alpha + 3 * math.sqrt(count * alpha * (1 - alpha))
    assert np.median(ends) < 1.01 * bracket.upper


BOTH = pytest.mark.parametrize("pair", [REMOVAL, ADDITION], ids=["removal", "addition"])


@BOTH
@pytest.mark.parametrize("noise", [0.5, 0.7])
def test_sixty_upper_ends_are_close_and_rarely_below_the_truth(pair, noise):
    check_upper_ends(20, noise, 1e-5, pair, 60)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(
    ("batches", "noise", "delta"),
    [(5, 2.0, 1e-5), (20, 0.5, 1e-5), (20, 0.7, 1e-5), (50, 1.0, 1e-10), (50, 2.0, 1e-10)],
)
def test_upper_ends_are_below_the_truth_as_rarely_as_they_say(batches, noise, delta, pair):
    check_upper_ends(batches, noise, delta, pair, 400)


class Louder(AllocatedSums):
    """Broken: the noise is 2% less than what the law states."""

    def _noise(self, trials, rng):
        return super()._noise(trials, rng) / 1.02


def test_noise_that_is_two_per_cent_less_is_not_the_law_that_is_stated():
    found = audited(Louder(batches=20, noise_multiplier=0.7), 4.0, 3000)
    assert found.verdict == "withheld"
    assert found.measured.upper is None or not all(c.passed for c in found.self_checks)


@pytest.mark.parametrize("draws", [Small, Large])
def test_weights_that_are_half_of_what_they_should_be_are_caught(monkeypatch, draws):
    """Negative control: they would lower the upper end."""
    right = draws._log_density
    monkeypatch.setattr(draws, "_log_density", lambda *at: right(*at) + math.log(2))
    law = AllocatedSums(batches=10, noise_multiplier=0.7)
    found = audited(law, 3.0, 4000, isolation=Isolation(in_process=True))
    assert found.verdict == "withheld"
    assert [c for c in found.self_checks if not c.passed and "payoffs of aimed" in c.name]


@pytest.mark.parametrize(
    ("name", "factor"), [("_log_density", 0.5), ("log_bound", math.exp(-1))], ids=["twice", "bound"]
)
@pytest.mark.parametrize("draws", [Small, Large])
def test_weights_twice_as_large_or_a_smaller_bound_are_refused(monkeypatch, draws, name, factor):
    right = getattr(draws, name)
    monkeypatch.setattr(draws, name, lambda *at: right(*at) + math.log(factor))
    law = AllocatedSums(batches=20, noise_multiplier=0.7)
    with pytest.raises(dpaudit.DpauditError, match="log_payoff_bound"):
        audited(law, 3.0, 1000, isolation=Isolation(in_process=True))


def test_several_epochs_and_extreme_noise_are_drawn_tilted():
    for epochs, noise in [(2, 1.0), (1, 50.0)]:
        law = AllocatedSums(batches=20, noise_multiplier=noise, epochs=epochs)
        assert law.log_payoff_bound(REMOVAL, 1.0, 1.0) == math.inf
        with pytest.raises(InvalidArgument, match=r"^aim: got 1\.0, expected one epoch"):
            law.sample_aimed(REMOVAL, 1.0, 2, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("size", "cap", "rate"), [(0.5, 1.0, 0.7), (2.0, 2.5, 1.0), (1.0, -0.5, 3.0)]
)
def test_what_lies_beyond_one_is_drawn_by_its_density(size, cap, rate):
    """``exp(rate V) - 1`` times the normal density, V the ratio of densities, capped at ``cap``."""
    drawn = np.sort(_beyond_one(size, cap, rate)(4000, np.random.default_rng(4)))
    y = np.linspace(-12, 14, 260_001)
    ratio = np.exp(size * np.minimum(y, cap) - size**2 / 2)
    law = np.cumsum(np.exp(-y * y / 2) * np.expm1(rate * ratio))
    cumulated = np.interp(drawn, y, law / law[-1])
    steps = np.arange(1, len(drawn) + 1) / len(drawn)
    gap = max(np.abs(cumulated - steps).max(), np.abs(cumulated - steps + 1 / len(drawn)).max())
    assert gap < 1.9 / math.sqrt(len(drawn))  # of a right sampler with probability 0.998
