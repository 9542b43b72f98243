"""One run with a thousand canaries: what it certifies, and when it must certify nothing."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.stats import kstest

from dpaudit.algorithms.problems.losses import HINGE, LINEAR, LOGISTIC
from dpaudit.attacks.canaries.audit import calibrate_multistep, claim_of, one_run_audit
from dpaudit.attacks.canaries.records import (
    Canaries,
    orthogonal_canaries,
    sample_mislabelled_canaries,
)
from dpaudit.attacks.canaries.scores import BroadcastLikelihood, Likelihood, Margin
from dpaudit.datasets import breast_cancer, load, split_evenly
from dpaudit.datasets.dataset import Dataset
from dpaudit.datasets.sources import DATA_VARIABLE
from dpaudit.errors import InvalidArgument
from dpaudit.estimation.one_run import draw_coins
from dpaudit.neighbours import REPLACE_LABEL, REPLACE_RECORD, Pair

DELTA = 1e-5
RAW_FILES = os.environ.get(DATA_VARIABLE)


@pytest.fixture
def rng():
    return default_rng(77)


@pytest.fixture(scope="module")
def data():
    return split_evenly(breast_cancer(), 10, default_rng(0))


@pytest.fixture(scope="module")
def adult():
    if not RAW_FILES:
        pytest.skip(f"{DATA_VARIABLE} does not name the directory of Adult's raw files")
    return split_evenly(load("adult"), 10, default_rng(0))


class Silent:
    """Runs the algorithm on no canary at all."""

    def __init__(self, mechanism, others):
        self.mechanism, self.others = mechanism, others

    def sample(self, dataset, trials, rng):
        return self.mechanism.sample(self.others, trials, rng)


def audit(algorithm, data, canaries, rng, mechanism=None, **options):
    return one_run_audit(
        mechanism or algorithm.inner(),
        Likelihood(algorithm, data),
        data,
        canaries,
        claim_of(algorithm, canaries.partner),
        delta=DELTA,
        rng=rng,
        **options,
    )


# Real data


@pytest.mark.slow
@pytest.mark.parametrize(("epsilon", "least"), [(1.0, 0.0), (4.0, 0.9), (10.0, 2.4)])
def test_adult_with_a_thousand_canaries(epsilon, least, adult, rng):
    canaries = orthogonal_canaries(adult, 1000, rng)
    found = audit(calibrate_multistep(epsilon, DELTA, 10), adult, canaries, rng)
    assert least <= found.lower <= found.if_gaussian < found.claimed
    assert found.claimed == pytest.approx(epsilon)
    assert not found.refuted
    assert found.canaries == 1000
    assert found.seconds < 60


def test_the_bundled_records_do_as_well(data, rng):
    found = audit(
        calibrate_multistep(10.0, DELTA, 10), data, orthogonal_canaries(data, 300, rng), rng
    )
    assert 1.5 < found.lower < found.claimed
    assert "does not contradict" in found.words


# Negative controls


@pytest.mark.slow
def test_a_run_that_reveals_nothing_certifies_nothing(data):
    algorithm, found = calibrate_multistep(10.0, DELTA, 10), []
    for seed in range(60):
        rng = default_rng(seed)
        canaries = orthogonal_canaries(data, 100, rng)
        silent = Silent(algorithm.inner(), canaries.remove(data))
        found.append(audit(algorithm, data, canaries, rng, silent, plans=(50,)))
    assert np.mean([one.lower > 0 for one in found]) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 60)
    assert max(one.lower for one in found) < 0.7
    # Half of the guesses are right, as coins have it.
    right = np.array([one.correct for one in found])
    assert (
        kstest((right + default_rng(0).random(60) - 25.5) / math.sqrt(12.5), "norm").pvalue > 1e-3
    )


def test_too_little_noise_is_caught(data, rng):
    algorithm = calibrate_multistep(1.0, DELTA, 10)
    broken = replace(algorithm, noise_multiplier=algorithm.noise_multiplier / 15)
    found = audit(algorithm, data, orthogonal_canaries(data, 300, rng), rng, broken.inner())
    assert found.refuted
    assert found.p_value < 1e-6
    assert "refuted" in found.words


def test_a_true_claim_is_never_contradicted_in_many_runs(data):
    algorithm = calibrate_multistep(1.0, DELTA, 10, iterations=2, inner_steps=1, loss=LINEAR)
    for seed in range(40):
        rng = default_rng(seed)
        found = audit(algorithm, data, orthogonal_canaries(data, 100, rng), rng, plans=(50,))
        assert not found.refuted


# Which guarantee is bounded


@pytest.mark.parametrize(
    ("partner", "relation"), [("flipped", REPLACE_LABEL), ("empty", REPLACE_RECORD)]
)
def test_one_coin_gives_neighbours_that_the_claim_covers(partner, relation, data, rng):
    canaries = orthogonal_canaries(data, 30, rng, partner)
    coins = draw_coins(30, rng)
    other = coins.copy()
    other[7] *= -1
    pair = Pair(canaries.insert(data, coins), canaries.insert(data, other), relation)
    algorithm = calibrate_multistep(4.0, DELTA, 10, loss=HINGE)
    _, most = algorithm.squared_shift_bounds(pair)  # of the sum of squared shifts over noise
    claimed = claim_of(algorithm, partner).mu
    assert math.sqrt(most) <= claimed * (1 + 1e-9)
    assert math.sqrt(most) == pytest.approx(claimed)


def test_the_node_sizes_do_not_depend_on_the_coins(data, rng):
    for partner in ("flipped", "empty"):
        canaries = orthogonal_canaries(data, 25, rng, partner)
        sizes = {canaries.insert(data, draw_coins(25, rng)).node_sizes for _ in range(5)}
        assert sizes == {canaries.remove(data).node_sizes}
        assert sum(sizes.pop()) == len(data.labels) + 25


def test_the_records_of_others_stay_at_their_nodes(data, rng):
    canaries = orthogonal_canaries(data, 25, rng)
    inserted = canaries.insert(data, draw_coins(25, rng))
    for node in range(data.nodes):
        own = data.features[data.rows_of(node)]
        kept = inserted.features[inserted.rows_of(node)]
        assert np.array_equal(kept[: len(own)], own)
        assert np.array_equal(kept[len(own) :], canaries.features[canaries.nodes == node])


# Scores


@pytest.mark.parametrize("partner", ["flipped", "empty"])
@pytest.mark.parametrize("loss", [HINGE, LOGISTIC])
def test_the_likelihood_score_is_the_exact_ratio_for_orthogonal_canaries(partner, loss, data, rng):
    canaries = orthogonal_canaries(data, 40, rng, partner)
    algorithm = calibrate_multistep(10.0, DELTA, 10, loss=loss)
    coins = draw_coins(40, rng)
    output = algorithm.inner().sample(canaries.insert(data, coins), 1, rng)
    scores = Likelihood(algorithm, data)(output[0], canaries)
    for number in (0, 11, 39):
        one, other = coins.copy(), coins.copy()
        one[number], other[number] = 1, -1
        relation = REPLACE_LABEL if partner == "flipped" else REPLACE_RECORD
        pair = Pair(canaries.insert(data, one), canaries.insert(data, other), relation)
        exact = algorithm.inner().privacy_loss(output, pair)[0]
        assert scores[number] == pytest.approx(exact, rel=1e-6, abs=1e-9)


def test_every_view_has_a_score_and_the_closest_view_certifies_most(data, rng):
    algorithm, canaries = calibrate_multistep(20.0, DELTA, 10), orthogonal_canaries(data, 300, rng)
    claim, lower = claim_of(algorithm, "flipped"), []
    views = (
        (algorithm.inner(), Likelihood(algorithm, data)),
        (algorithm.broadcast(), BroadcastLikelihood(algorithm, data)),
        (algorithm.broadcast(), Margin()),
    )
    for mechanism, score in views:
        found = one_run_audit(mechanism, score, data, canaries, claim, delta=DELTA, rng=rng)
        lower.append(found.lower)
    assert lower[0] == max(lower)


def test_the_score_of_another_view_is_refused(data, rng):
    algorithm, canaries = calibrate_multistep(1.0, DELTA, 10), orthogonal_canaries(data, 20, rng)
    with pytest.raises(InvalidArgument, match="output"):
        audit(algorithm, data, canaries, rng, algorithm.broadcast(), plans=(10,))


# Records


@pytest.mark.parametrize("count", [7, 10, 400])
def test_crafted_canaries_are_unit_records_spread_over_the_nodes(count, data, rng):
    canaries = orthogonal_canaries(data, count, rng)
    assert len(canaries) == count
    assert np.linalg.norm(canaries.features, axis=1) == pytest.approx(np.ones(count))
    held = np.bincount(canaries.nodes, minlength=10)
    assert held.max() - held.min() <= 1
    first = canaries.features[canaries.nodes == 0][: data.dimension]
    assert first @ first.T == pytest.approx(np.eye(len(first)), abs=1e-9)


def test_mislabelled_canaries_are_real_records_with_the_other_label(data, rng):
    canaries = sample_mislabelled_canaries(data, 30, rng)
    known = {tuple(row): label for row, label in zip(data.features, data.labels, strict=True)}
    labels = [known[tuple(row)] for row in canaries.features]
    assert np.array_equal(canaries.labels, -np.array(labels))
    found = audit(calibrate_multistep(4.0, DELTA, 10), data, canaries, rng, plans=(10,))
    assert found.lower < found.claimed


@pytest.mark.parametrize(
    "fields",
    [
        {"labels": np.ones(2)},
        {"nodes": np.array([1, 0, 0])},
        {"partner": "absent"},
        {"features": np.zeros((0, 2)), "labels": np.zeros(0), "nodes": np.zeros(0, dtype=int)},
    ],
)
def test_canaries_that_do_not_fit_are_refused(fields):
    given = {"features": np.eye(3)[:, :2], "labels": np.ones(3), "nodes": np.array([0, 0, 1])}
    with pytest.raises(InvalidArgument):
        Canaries(**given | fields)


def test_more_mislabelled_canaries_than_records_are_refused(rng):
    with pytest.raises(InvalidArgument, match="count"):
        sample_mislabelled_canaries(Dataset(np.eye(2), np.ones(2)), 3, rng)


def test_every_plan_pays_its_share_for_the_gaussian_bound_and_the_p_value_too(data):
    """Two equal plans say what one says at half of the error probability."""
    algorithm = calibrate_multistep(4.0, DELTA, 10)
    canaries = orthogonal_canaries(data, 100, default_rng(3))
    one = audit(algorithm, data, canaries, default_rng(4), plans=(50,), confidence=0.975)
    two = audit(algorithm, data, canaries, default_rng(4), plans=(50, 50), confidence=0.95)
    assert two.if_gaussian == pytest.approx(one.if_gaussian, rel=1e-9)
    assert two.lower == pytest.approx(one.lower, rel=1e-9)
    assert two.p_value == pytest.approx(min(1.0, 2 * one.p_value))
