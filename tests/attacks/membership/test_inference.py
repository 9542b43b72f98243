"""Membership inference: against laws with known answers, a true claim, and broken ones."""

import math

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.stats import norm
from statsmodels.stats.proportion import proportion_confint

from dpaudit.algorithms.multistep.algorithm import final_model
from dpaudit.attacks.canaries.audit import calibrate_multistep, claim_of
from dpaudit.attacks.membership.inference import MeanMarginLoss, infer_membership
from dpaudit.datasets import breast_cancer, split_evenly
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, MechanismError
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.neighbours import ADD_REMOVE_RECORD, REPLACE_LABEL, REPLACE_RECORD, Pair


@pytest.fixture
def rng():
    return default_rng(11)


@pytest.fixture(scope="module")
def pair():
    data = Dataset(np.eye(3), np.ones(3))
    return Pair(data, data.with_record(0, [1.0, 0.0, 0.0], -1.0), REPLACE_LABEL)


def gaussian_sum(mu):
    """Return a mechanism that is exactly mu-Gaussian DP for flipped unit records."""

    def train(dataset, trials, rng):
        noise = rng.standard_normal((trials, dataset.dimension))
        return dataset.signed_records.sum(axis=0) + 2 / mu * noise

    return train


def attack(train, pair, claim, rng, trials=4000, **options):
    return infer_membership(
        train, pair, claim, shadow_trials=1000, trials=trials, rng=rng, **options
    )


@pytest.mark.parametrize("mu", [0.5, 1.0, 3.0])
def test_the_known_advantage_of_a_gaussian_is_found(mu, pair, rng):
    # The loss falls with the first coordinate, N(+-1, (2 / mu)^2): the attack is the best there is.
    found = attack(gaussian_sum(mu), pair, GaussianDP(mu), rng)
    low, estimate, high = found.best.advantage
    truth = 2 * norm.cdf(mu / 2) - 1
    assert found.advantage_bound == pytest.approx(truth)
    assert low < truth + 0.01
    assert high > truth - 0.03
    assert estimate == pytest.approx(truth, abs=0.05)
    assert not found.refuted


def test_the_rate_at_a_small_false_positive_rate_is_that_of_the_curve(pair, rng):
    rare = attack(gaussian_sum(2.0), pair, GaussianDP(2.0), rng, target_rate=0.02).rare
    assert rare.false_positive.estimate == pytest.approx(0.02, abs=0.015)
    curve = GaussianDP(2.0).true_positive_rate(rare.false_positive.estimate)
    assert rare.true_positive.estimate == pytest.approx(curve, abs=0.05)
    assert rare.true_positive.lower <= rare.power_bound


def test_a_claim_that_is_half_the_truth_is_refuted(pair, rng):
    assert attack(gaussian_sum(2.0), pair, GaussianDP(1.0), rng).refuted


def test_an_algorithm_without_noise_is_caught(pair, rng):
    def train(dataset, trials, rng):
        return np.repeat(dataset.signed_records[:1], trials, axis=0)

    found = attack(train, pair, GaussianDP(3.0), rng)
    assert found.refuted
    assert found.best.advantage[1] == 1


def test_a_true_claim_is_hardly_ever_refuted_and_the_intervals_cover(pair, rng):
    runs, mu = 300, 1.0
    found = [attack(gaussian_sum(mu), pair, GaussianDP(mu), rng, trials=200) for _ in range(runs)]
    assert sum(one.refuted for one in found) / runs <= 0.05
    missed = 0
    for one in found:
        for operating in (one.best, one.rare):
            cut = math.log(1 / math.expm1(operating.threshold))  # the margin with this loss
            rates = norm.sf((cut - 1) * mu / 2), norm.sf((cut + 1) * mu / 2)
            for truth, rate in zip(
                rates, (operating.true_positive, operating.false_positive), strict=True
            ):
                missed += not rate.lower <= truth <= rate.upper
    assert missed / runs <= 0.05


def test_an_algorithm_that_reveals_nothing_gives_no_advantage(pair, rng):
    def train(dataset, trials, rng):
        return rng.standard_normal((trials, dataset.dimension))

    found = attack(train, pair, GaussianDP(0.0), rng)
    assert found.advantage_bound == 0
    assert found.best.advantage[0] <= 0 <= found.best.advantage[2]
    assert not found.refuted


def test_multistep_admm_stays_within_its_guarantee(rng):
    data = split_evenly(breast_cancer(), 3, rng)
    odd = data.with_record(0, np.eye(data.dimension)[0], 1.0)
    pair = Pair(odd, odd.with_record(0, np.eye(data.dimension)[0], -1.0), REPLACE_RECORD)
    algorithm = calibrate_multistep(8.0, 1e-5, 3, iterations=3, inner_steps=2)

    def train(dataset, trials, rng):
        return final_model(algorithm.inner().sample(dataset, trials, rng))

    found = attack(train, pair, claim_of(algorithm, "flipped"), rng, trials=1000)
    assert not found.refuted
    assert found.best.advantage[2] > 0
    assert "is allowed" in found.words


def test_models_of_several_nodes_are_averaged():
    models = np.array([[[1.0, 0.0], [3.0, 0.0]], [[0.0, 5.0], [0.0, -5.0]]])
    found = MeanMarginLoss()(models, np.array([1.0, 0.0]), -1.0)
    assert found == pytest.approx([math.log1p(math.exp(2)), math.log(2)])


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"trials": 0}, "trials"),
        ({"target_rate": 0.0}, "target_rate"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_a_bad_argument_is_named(options, name, pair, rng):
    with pytest.raises(InvalidArgument, match=name):
        attack(gaussian_sum(1.0), pair, GaussianDP(1.0), rng, **options)


def test_a_pair_that_names_no_record_is_refused(rng):
    data = Dataset(np.eye(3), np.ones(3))
    pair = Pair(data, Dataset(np.eye(3)[1:], np.ones(2)), ADD_REMOVE_RECORD)
    with pytest.raises(InvalidArgument, match="relation"):
        attack(gaussian_sum(1.0), pair, GaussianDP(1.0), rng)


@pytest.mark.parametrize(
    "train", [lambda d, t, r: np.zeros((t + 1, 3)), lambda d, t, r: np.full((t, 3), np.nan)]
)
def test_models_that_break_the_contract_are_refused(train, pair, rng):
    with pytest.raises(MechanismError, match="finite models"):
        attack(train, pair, GaussianDP(1.0), rng)


def test_each_of_four_rates_has_its_share_of_the_error_probability(pair, rng):
    """Two operating points of two rates: a coverage of 95% in all is hardly seen to fail."""
    found = attack(gaussian_sum(1.0), pair, GaussianDP(1.0), rng, trials=500)
    for point in (found.best, found.rare):
        for rate in (point.true_positive, point.false_positive):
            interval = proportion_confint(rate.hits, 500, alpha=0.05 / 4, method="beta")
            assert (rate.lower, rate.upper) == pytest.approx(interval, rel=1e-9)
        allowed = GaussianDP(1.0).true_positive_rate(point.false_positive.upper)
        assert point.power_bound == allowed


def test_the_runs_that_are_counted_did_not_set_the_thresholds(pair, rng):
    seen = []

    def train(dataset, trials, rng):
        seen.append(gaussian_sum(1.0)(dataset, trials, rng))
        return seen[-1]

    found = attack(train, pair, None, rng, trials=700)
    assert [len(models) for models in seen] == [1000, 1000, 700, 700]
    record, label = pair.dataset.features[0], pair.dataset.labels[0]
    for point in (found.best, found.rare):
        inside, outside = (MeanMarginLoss()(models, record, label) for models in seen[2:])
        assert point.true_positive.hits == (inside <= point.threshold).sum()
        assert point.false_positive.hits == (outside <= point.threshold).sum()
