"""True epsilons of report-noisy-max and sparse vectors: against another quadrature."""

import math
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from dpaudit.algorithms.known_answer.laws import best_event, compute_outcome_losses
from dpaudit.algorithms.known_answer.noisy_max import ReportNoisyMax
from dpaudit.algorithms.known_answer.sparse_vector import SparseVector


def worst_of_random_pairs(mechanism, count=15):
    """Return the largest loss of an outcome on pairs of random answers, moved at random."""
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(count):
        answers = rng.normal(0, 3, mechanism.answers)
        moved = answers + rng.choice([-1.0, 1.0], mechanism.answers)
        p, q = (mechanism.law(data).probabilities for data in (answers, moved))
        worst = max(worst, float(np.abs(np.log(p) - np.log(q)).max()))
    return worst


# Report noisy max


@pytest.mark.parametrize("variant", [1, 2])
def test_noisy_max_index_by_another_quadrature(variant):
    mechanism = ReportNoisyMax(variant=variant, epsilon=1.3, gap=0.4)
    rate = mpmath.mpf("0.65")

    def below(x):
        if variant == 2:
            return 1 - mpmath.exp(-rate * x) if x > 0 else mpmath.mpf(0)
        return mpmath.exp(rate * x) / 2 if x < 0 else 1 - mpmath.exp(-rate * x) / 2

    def density(x):
        if variant == 2:
            return rate * mpmath.exp(-rate * x) if x > 0 else mpmath.mpf(0)
        return rate / 2 * mpmath.exp(-rate * abs(x))

    for data in (mechanism.pair().dataset, mechanism.pair().neighbour):
        law = mechanism.law(data)
        own = [mpmath.mpf(float(a)) for a in data]
        first = mpmath.quad(
            lambda x: density(x - own[0]) * below(x - own[1]) ** 4,  # noqa: B023
            [-60, *sorted({0, own[0], own[1]}), own[1] + 10, 120],
        )
        assert law.probabilities[0] == pytest.approx(float(first), rel=1e-9)
        assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)


def test_noisy_max_index_is_epsilon_in_the_limit_or_attained():
    gaps = [ReportNoisyMax(variant=1, gap=g) for g in (0.0, 5.0, 20.0, 60.0)]
    events = [mechanism.event_epsilon for mechanism in gaps]
    assert (np.diff(events) > -1e-12).all()
    assert 1 - 1e-9 < events[-1] <= 1 + 1e-12
    assert best_event(ReportNoisyMax(variant=2)) == pytest.approx(1)


@pytest.mark.parametrize("variant", [1, 2])
def test_noisy_max_index_never_exceeds_the_truth(variant):
    assert worst_of_random_pairs(ReportNoisyMax(variant=variant)) <= 1 + 1e-9


def test_noisy_max_value():
    laplace, exponential = stats.laplace(scale=2), stats.expon(scale=2)
    three, four = ReportNoisyMax(variant=3), ReportNoisyMax(variant=4)
    assert 5 * (laplace.logcdf(-2) - laplace.logcdf(-3)) == pytest.approx(three.event_epsilon)
    grid = np.linspace(-8, 8, 999)
    assert np.abs(three.score(grid)).max() == pytest.approx(three.true_epsilon)
    assert exponential.cdf(1) ** 5 > 0 == exponential.cdf(0)
    assert np.isinf(four.score(np.array([0.5])))
    assert four.score(np.array([40.0]))[0] == pytest.approx(-0.5, abs=1e-6)  # one tail, of rate 1/2


# Sparse vector technique


@pytest.mark.sampled(2)
@pytest.mark.parametrize("variant", [1, 2, 3, 4, 6])
def test_sparse_vector_law_by_another_quadrature(variant):
    mechanism = SparseVector(variant=variant, answers=10 if variant < 3 else 4, gap=0.3)
    r, s = (mpmath.mpf(float(rate)) for rate in mechanism.rates)

    def below(x):
        return mpmath.exp(s * x) / 2 if x < 0 else 1 - mpmath.exp(-s * x) / 2

    def chance(answers, outcome):
        """Return that of a run of one threshold, as an integral over it."""

        def integrand(z):
            factors = (
                below(z - a) if said == 0 else below(a - z)
                for a, said in zip(answers, outcome, strict=True)
            )
            return r / 2 * mpmath.exp(-r * abs(z)) * mpmath.fprod(factors)

        return mpmath.quad(integrand, [-160, -40, -8, *sorted({0.0, *answers}), 8, 40, 160])

    data = mechanism.pair().neighbour
    law = mechanism.law(data)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-12)
    for index in (0, 1, len(law.outcomes) // 2, len(law.outcomes) - 1):
        outcome = law.outcomes[index]
        ends = np.flatnonzero(outcome == 1) + 1 if mechanism.recipe.renews else []
        runs = np.split(np.arange(len(data)), ends)
        runs = [run[outcome[run] >= 0] for run in runs]
        exact = mpmath.fprod(chance(data[run].tolist(), outcome[run]) for run in runs if len(run))
        assert law.probabilities[index] == pytest.approx(float(exact), rel=1e-8)


@pytest.mark.parametrize("variant", [1, 2, 4, 6])
def test_sparse_vector_is_as_bad_as_stated_in_the_limit(variant):
    events = [
        best_event(SparseVector(variant=variant, answers=10 if variant < 3 else 6, gap=gap))
        for gap in (0.0, 10.0, 60.0)
    ]
    truth = SparseVector(variant=variant, answers=10 if variant < 3 else 6).true_epsilon
    assert (np.diff(events) > -1e-12).all()
    assert 0.99 * truth < events[-1] <= truth * (1 + 1e-9)


@pytest.mark.parametrize("variant", [1, 2, 3, 4, 6])
def test_sparse_vector_never_exceeds_the_truth(variant):
    mechanism = SparseVector(variant=variant, answers=10 if variant < 3 else 5)
    assert worst_of_random_pairs(mechanism) <= mechanism.true_epsilon * (1 + 1e-9)


def test_sparse_vector_2_that_stops_at_once_has_the_law_of_1():
    two, one = SparseVector(variant=2, gap=0.7, limit=1), SparseVector(variant=1, gap=0.7)
    assert two.true_epsilon == one.true_epsilon == 1
    for data in (one.pair().dataset, one.pair().neighbour):
        of_two, of_one = two.law(data), one.law(data)
        np.testing.assert_array_equal(of_two.outcomes, of_one.outcomes)
        np.testing.assert_allclose(of_two.probabilities, of_one.probabilities, rtol=1e-12)
    drawn = two.sample(one.pair().dataset, 20_000, np.random.default_rng(0))
    assert ((drawn == 1).sum(axis=1) <= 1).all()
    first_above = one.law(one.pair().dataset).probabilities[(drawn[0] == of_one.outcomes).all(1)]
    assert (drawn == drawn[0]).all(axis=1).mean() == pytest.approx(float(first_above[0]), abs=0.02)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_sparse_vector_2_never_exceeds_the_truth_whenever_it_stops(limit):
    mechanism = SparseVector(variant=2, answers=5 * limit, limit=limit)
    assert mechanism.true_epsilon == pytest.approx(1)
    assert best_event(mechanism) < 1
    far = SparseVector(variant=2, answers=5 * limit, limit=limit, gap=60.0)
    assert 0.99 < best_event(far) <= 1 + 1e-9


def test_sparse_vector_3_attains_its_epsilon():
    mechanism = SparseVector(variant=3, answers=4, gap=1.0)
    outputs = np.zeros((3, 4, 2))
    outputs[:, 3, 0] = 1
    outputs[:, 3, 1] = [0.9, -2.0, 3.0]  # below both answers, below, above
    scores = mechanism.score(outputs)
    np.testing.assert_allclose(scores[:2], mechanism.true_epsilon, rtol=1e-3)
    assert scores[2] < 1

    def density(value, answer):
        """Return that of three below and the last at ``value``, over the threshold."""
        noise, threshold = stats.laplace(scale=2), stats.laplace(scale=2)
        ends = sorted({-90.0, *(x for x in (0.0, answer) if x < value), value})
        pieces = [
            integrate.quad(lambda z: threshold.pdf(z) * noise.cdf(z - answer) ** 3, low, high)[0]
            for low, high in pairwise(ends)
        ]
        return sum(pieces) * noise.pdf(value - answer)

    exact = [math.log(density(v, 1.0) / density(v, 2.0)) for v in (0.9, -2.0, 3.0)]
    np.testing.assert_allclose(scores, exact, atol=1e-3)


def test_sparse_vector_5_has_an_impossible_outcome():
    mechanism = SparseVector(variant=5, answers=4)
    law, loss = compute_outcome_losses(mechanism)
    chance = law.probabilities[np.isposinf(loss)].sum()
    assert chance == pytest.approx((1 - math.exp(-0.5)) / 2)
    assert math.isinf(best_event(mechanism))
