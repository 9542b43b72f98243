"""The registry of known answers: what is broken, what is published, what is refused."""

import math
import pickle

import numpy as np
import pytest

from dpaudit.algorithms.known_answer import KNOWN_ANSWERS, make_known_answers
from dpaudit.algorithms.known_answer.answer import EUCLIDEAN, EVERY_ANSWER, ONE_ANSWER, STEP, OnGrid
from dpaudit.algorithms.known_answer.discrete import Rappor, TruncatedGeometric
from dpaudit.algorithms.known_answer.gaussian import Gaussian, SubsampledGaussian
from dpaudit.algorithms.known_answer.laplace import (
    FloatingPointLaplace,
    Laplace,
    NoisyHistogram,
    ParallelLaplace,
    PrefixSum,
)
from dpaudit.algorithms.known_answer.noisy_max import ReportNoisyMax
from dpaudit.algorithms.known_answer.norm import ExponentialNorm
from dpaudit.algorithms.known_answer.registry import DP_SNIPER, answers
from dpaudit.algorithms.known_answer.sparse_vector import SparseVector
from dpaudit.errors import InvalidArgument
from dpaudit.neighbours import Pair

BROKEN = {
    "laplace-half-noise",
    "laplace-floating-point",
    "noisy-histogram-inverted",
    "gaussian-fixed-batch",
    "norm-noise-wrong-radius",
    "noisy-max-3",
    "noisy-max-4",
    "svt-3",
    "svt-4",
    "svt-5",
    "svt-6",
}
# Bichsel et al. 2021, Table 1, but for svt-3 and svt-6: infinite for streams without end, here of
# 4 and 10 answers. noisy-histogram-inverted has 10 there too; RAPPOR's 0.4 is rounded.
PUBLISHED = {
    "laplace": 0.1,
    "noisy-histogram": 0.1,
    "noisy-histogram-inverted": 10.0,
    "noisy-max-1": 0.1,
    "noisy-max-2": 0.1,
    "noisy-max-3": 0.25,
    "noisy-max-4": math.inf,
    "svt-1": 0.1,
    "svt-2": 0.1,
    "svt-3": 0.2,
    "svt-4": 0.175,
    "svt-5": math.inf,
    "svt-6": 0.5,
    "rappor": 0.4001,
    "rappor-one-time": 0.8007,
    "laplace-20-times": 0.1,
    "prefix-sum": 1.0,
    "laplace-floating-point": math.inf,
}


# The registry


def test_broken_is_what_is_known_to_be_broken():
    assert {name for name, answer in KNOWN_ANSWERS.items() if answer.broken} == BROKEN
    assert all(name == answer.name for name, answer in KNOWN_ANSWERS.items())


@pytest.mark.parametrize("name", PUBLISHED)
def test_true_values_are_those_that_are_published(name):
    assert make_known_answers(0.1)[name].true == pytest.approx(PUBLISHED[name], abs=5e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scale", [0.1, 1.0])
@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_no_event_exceeds_the_truth(name, scale):
    answer = make_known_answers(scale)[name]
    assert 0 < answer.event <= answer.true * (1 + 1e-12)
    assert 0 <= answer.delta < 1
    assert answer.attack


@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_mechanisms_and_pairs_cross_process_borders(name):
    answer = pickle.loads(pickle.dumps(KNOWN_ANSWERS[name]))
    assert answer == KNOWN_ANSWERS[name]
    pair = pickle.loads(pickle.dumps(answer.pair))
    assert pair.relation.name == answer.pair.relation.name


# What another tool has published


def test_published_numbers_are_at_parameters_whose_epsilon_is_published():
    found = answers(published=True)
    assert DP_SNIPER.keys() <= found.keys()
    for name, answer in found.items():
        assert answer.published == DP_SNIPER.get(name)
        if name in PUBLISHED:
            ten_answers = {"svt-3": 0.5}.get(name)
            assert answer.true == pytest.approx(ten_answers or PUBLISHED[name], abs=5e-5)
    assert found["truncated-geometric"].true == pytest.approx(math.log(9 / 8))
    assert all(answer.published is None for answer in answers(published=False).values())


def test_pairs_of_the_published_table_show_nearly_all_of_the_true_epsilon():
    found = answers(published=True)
    for name in ("noisy-max-1", "svt-4"):
        assert 0.97 * found[name].true < found[name].event < found[name].true


def test_a_quick_self_test_has_correct_and_broken_ones():
    quick = [answer.broken for answer in KNOWN_ANSWERS.values() if answer.quick]
    assert sorted(quick) == [False, False, True, True, True, True]


# Outputs on a grid


def test_a_grid_rounds_down_and_changes_nothing_else():
    exact = PrefixSum()
    rounded = OnGrid(exact)
    data = exact.pair().dataset
    fine, coarse = (m.sample(data, 50, np.random.default_rng(0)) for m in (exact, rounded))
    assert (coarse / STEP == np.floor(fine / STEP)).all()
    assert ((fine < 0) == (coarse < 0)).all()
    assert (rounded.claimed_epsilon, rounded.event_epsilon, rounded.delta) == (1.0, 1.0, 0.0)
    np.testing.assert_array_equal(rounded.score(coarse), exact.score(coarse))


def test_a_grid_may_meet_a_pole():
    mechanism = KNOWN_ANSWERS["norm-noise-wrong-radius"].mechanism
    assert mechanism.score(mechanism.pair().dataset[None]) == math.inf
    assert mechanism.score(mechanism.pair().neighbour[None]) == -math.inf


def test_every_number_with_noise_is_on_the_grid():
    """Else its floats would tell more than the law that is stated; one mechanism is about that."""
    for name, answer in KNOWN_ANSWERS.items():
        outputs = answer.mechanism.sample(answer.pair.dataset, 500, np.random.default_rng(0))
        assert (outputs / STEP == np.round(outputs / STEP)).all() == (
            name != "laplace-floating-point"
        )


# Refusals


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: Laplace(epsilon=0.0), "epsilon"),
        (lambda: Laplace(noise_factor=-1.0), "noise_factor"),
        (lambda: NoisyHistogram(bins=0), "bins"),
        (lambda: PrefixSum(entries=0), "entries"),
        (lambda: ParallelLaplace(count=0), "count"),
        (lambda: FloatingPointLaplace(epsilon=math.inf), "epsilon"),
        (lambda: Gaussian(epsilon=1.0), "epsilon"),
        (lambda: SubsampledGaussian(ratio=1.0), "ratio"),
        (lambda: SubsampledGaussian(records=3), "records"),
        (lambda: Rappor(bits=7), "bits"),
        (lambda: Rappor(low=0.6), "low"),
        (lambda: TruncatedGeometric(records=0), "records"),
        (lambda: ReportNoisyMax(variant=5), "variant"),
        (lambda: ReportNoisyMax(variant=1, answers=2), "answers"),
        (lambda: SparseVector(variant=7), "variant"),
        (lambda: SparseVector(variant=2, answers=9), "answers"),
        (lambda: SparseVector(variant=2, answers=14, limit=3), "answers"),
        (lambda: SparseVector(variant=2, limit=0), "limit"),
        (lambda: SparseVector(variant=4, limit=1), "limit"),
        (lambda: ExponentialNorm(dimension=1), "dimension"),
        (lambda: make_known_answers(0.0), "epsilon"),
        (lambda: Pair(np.zeros(3), np.zeros(3), EVERY_ANSWER), "pair"),
        (lambda: Pair(np.zeros(3), np.full(3, 1.5), EVERY_ANSWER), "pair"),
        (lambda: Pair(np.zeros(3), np.ones(3), ONE_ANSWER), "pair"),
        (lambda: Pair(np.zeros(3), np.ones(3), EUCLIDEAN), "pair"),
        (lambda: Pair(np.zeros(3), np.zeros(2), EUCLIDEAN), "pair"),
    ],
)
def test_refusals(make, name):
    with pytest.raises(InvalidArgument) as refused:
        make()
    assert refused.value.name == name
