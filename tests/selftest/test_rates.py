"""Error rates, their intervals, and the estimators' cases: sound ones pass, spoiled ones do not."""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from scipy import stats

from dpaudit.errors import InvalidArgument
from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.estimation.one_run import p_value
from dpaudit.selftest.estimators import CASES, CONTROLS, Case
from dpaudit.selftest.laws import (
    Canaries,
    CoinPair,
    Coins,
    ExactLoss,
    Games,
    GaussianLawPair,
    LearnedEvent,
    NormPair,
)
from dpaudit.selftest.run import CONFIDENCE, Rate


@pytest.mark.parametrize(("misses", "audits"), [(0, 50), (3, 50), (50, 50)])
def test_the_interval_is_clopper_and_pearsons(misses, audits):
    low, high = Rate(misses, audits, 0.05).interval
    tail = (1 - CONFIDENCE) / 2
    if misses:
        assert stats.binom.sf(misses - 1, audits, low) == pytest.approx(tail)
    else:
        assert low == 0
    if misses < audits:
        assert stats.binom.cdf(misses, audits, high) == pytest.approx(tail)
    else:
        assert high == 1


def test_a_rate_is_sound_up_to_what_chance_explains():
    least = next(m for m in range(10_000) if not Rate(m, 10_000, 0.05).sound)
    assert 560 < least < 580  # three standard errors, 22 each, above 500
    assert not Rate(1, 100, 1e-7).sound


@pytest.mark.parametrize(
    ("given", "name"), [((5, 3, 0.1), "misses"), ((0, 0, 0.1), "audits"), ((0, 9, 1.0), "nominal")]
)
def test_rates_refuse(given, name):
    with pytest.raises(InvalidArgument) as refused:
        Rate(*given)
    assert refused.value.name == name


def test_a_batch_of_event_audits_is_the_same_audits_one_by_one():
    coins = Coins(epsilon=1.0, other=0.2, trials=20, delta=0.01)
    batch = coins.run(6, 0.05, default_rng(3))
    rate = math.e * 0.2 + 0.01
    counts = default_rng(3).binomial(20, [[rate], [0.2]], (2, 6))
    single = [joint_lower_bound(x, y, 20, 20, delta=0.01, alpha=0.05) for x, y in counts.T.tolist()]
    assert batch.tolist() == single


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "law",
    [
        Coins(epsilon=1.0, other=0.1, trials=9),
        Canaries(epsilon=1.0, guesses=20, canaries=30, at=18, delta=0.01),
        LearnedEvent(epsilon=2.0, trials=20, each=5),
        Games(epsilon=1.0, pairs=50, pilot=30),
    ],
)
def test_two_error_probabilities_are_tried_on_the_same_audits(law):
    """A stricter bound is nowhere above the looser one: only of the same draws is that so."""
    loose, strict = (law.run(8, alpha, default_rng(1)) for alpha in (0.2, 0.001))
    assert loose.shape == strict.shape == (8,)
    assert (strict <= loose).all()


def test_exact_loss_audits_have_ends_on_both_sides():
    law = ExactLoss(GaussianLawPair(1.0), 1e-5, trials=60)
    low, high = law.lower(13, 0.05, default_rng(0)), law.upper(13, 0.05, default_rng(0))
    assert low.shape == high.shape == (13,)
    assert law.epsilon == pytest.approx(4.3772, abs=1e-4)
    assert np.median(low) < law.epsilon < np.median(high)


@pytest.mark.parametrize("pair", [GaussianLawPair(0.7), NormPair(1.0, 3, 2), CoinPair(0.5, 0.3, 9)])
def test_weighted_losses_have_the_profile_that_is_said_to_be_true(pair):
    """Two computations of one number: the exact profile, and losses drawn tilted."""
    delta = 0.02
    found = [
        pair.losses(side, 1.5, 100_000, default_rng(2)).estimate(math.log(delta))
        for side in pair.sides
    ]
    assert max(found) == pytest.approx(pair.epsilon(delta), rel=0.02)


def test_the_directions_of_unlike_coins_differ():
    pair = CoinPair(0.5, 0.3, 20)
    one, other = (pair._epsilon(side, 1e-3) for side in pair.sides)
    assert abs(one - other) > 0.5


def test_the_worst_mechanism_of_one_run_attains_the_p_value():
    law = Canaries(epsilon=1.99, guesses=200, canaries=400, at=184, delta=1e-3)
    told = p_value(184, 200, 400, 1.99, 1e-3)
    assert law.law()[184:].sum() == pytest.approx(told, rel=1e-6)
    assert 0.049 < told < 0.05


def test_a_miss_is_on_the_wrong_side():
    numbers = np.array([0.5, 1.0, 1.5, 2.0])
    lower = Case(estimator="", law="", true=1.0, run=lambda *_: numbers)
    upper = Case(estimator="", law="", true=1.0, run=lambda *_: numbers, upper=True)
    assert (lower.missed(numbers), upper.missed(numbers)) == (2, 1)


def rate_of(case, asked, alpha=0.05, share=1.0):
    audits = max(1, round(case.audits(asked) * share))
    certified = case.run(audits, alpha, default_rng(11))
    return Rate(case.missed(certified), audits, alpha)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.estimator}, {case.law}")
@pytest.mark.parametrize(
    "audits", [8, *(pytest.param(n, marks=pytest.mark.slow) for n in (20, 10_000))]
)
def test_every_estimator_is_sound(case, audits):
    assert rate_of(case, audits).sound


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.estimator}, {case.law}")
def test_no_true_claim_is_refuted_at_one_in_ten_million(case):
    assert rate_of(case, 10_000, 1e-7, case.strict).misses == 0


NAMED = [pytest.param(case, id=f"{case.estimator}, {case.law}") for case in CONTROLS]


@pytest.mark.slow
@pytest.mark.parametrize("case", NAMED)
def test_every_estimator_made_unsound_is_caught(case):
    assert not rate_of(case, 10_000).sound


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", [case for case in CONTROLS if case.quick])
def test_a_quick_self_test_catches_what_it_tries(case):
    assert not rate_of(case, 500).sound


def test_every_estimator_has_a_case():
    assert {case.estimator.partition(",")[0] for case in CASES} == {
        "event bound",
        "exact loss",
        "one run",
        "canaries' scores",
        "betting",
        "event",
    }
