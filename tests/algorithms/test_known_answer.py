"""True epsilons: each against enumeration, quadrature, or a closed form derived another way."""

import math
import pickle
from fractions import Fraction
from itertools import pairwise, product

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from algorithms.known_answer import KNOWN_ANSWERS, known_answers
from algorithms.known_answer.discrete import RandomisedResponse, Rappor, TruncatedGeometric
from algorithms.known_answer.floating_point import FloatingPointLaplace
from algorithms.known_answer.gaussian import Gaussian, SubsampledGaussian
from algorithms.known_answer.laplace import Laplace, NoisyHistogram
from algorithms.known_answer.laws import best_event, losses
from algorithms.known_answer.noisy_max import ReportNoisyMax
from algorithms.known_answer.norm import ExponentialNorm
from algorithms.known_answer.relations import EUCLIDEAN, EVERY_ANSWER, ONE_ANSWER
from algorithms.known_answer.repeated import ParallelLaplace, PrefixSum
from algorithms.known_answer.sparse_vector import SparseVector
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
    assert known_answers(0.1)[name].true == pytest.approx(PUBLISHED[name], abs=5e-5)


@pytest.mark.parametrize("scale", [0.1, 1.0])
@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_no_event_exceeds_the_truth(name, scale):
    answer = known_answers(scale)[name]
    assert 0 < answer.event <= answer.true * (1 + 1e-12)
    assert 0 <= answer.delta < 1
    assert answer.attack


@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_mechanisms_and_pairs_cross_process_borders(name):
    answer = pickle.loads(pickle.dumps(KNOWN_ANSWERS[name]))
    assert answer == KNOWN_ANSWERS[name]
    pair = pickle.loads(pickle.dumps(answer.pair))
    assert pair.relation.name == answer.pair.relation.name


# Laplace noise: densities and distribution functions of another library


@pytest.mark.parametrize("name", ["laplace", "laplace-half-noise"])
def test_laplace(name):
    mechanism = KNOWN_ANSWERS[name].mechanism
    scale = 1.0 if name == "laplace" else 0.5
    noise = stats.laplace(scale=scale)
    loss = noise.logpdf(np.linspace(-9, 9, 999)) - noise.logpdf(np.linspace(-9, 9, 999) - 1)
    assert np.abs(loss).max() == pytest.approx(mechanism.true_epsilon)
    assert math.log(noise.cdf(0) / noise.cdf(-1)) == pytest.approx(mechanism.event_epsilon)


@pytest.mark.parametrize("inverted", [False, True])
def test_noisy_histogram(inverted):
    mechanism = NoisyHistogram(epsilon=0.2, inverted=inverted)
    noise = stats.laplace(scale=0.2 if inverted else 5.0)
    event = noise.cdf(0) / noise.cdf(-1)  # of the one count that differs
    assert math.log(event) == pytest.approx(mechanism.true_epsilon)


@pytest.mark.parametrize("mechanism", [ParallelLaplace(epsilon=0.7), PrefixSum(epsilon=2.0)])
def test_repeated_laplace(mechanism):
    pair = mechanism.pair()
    count = mechanism.sample(pair.dataset, 1, np.random.default_rng(0)).shape[1]
    noise = stats.laplace(scale=count / mechanism.epsilon)
    of_all = count * (noise.logcdf(0) - noise.logcdf(-1))
    assert of_all == pytest.approx(mechanism.event_epsilon)
    grid = np.linspace(-50, 50, 2001)
    worst = np.abs(noise.logpdf(grid) - noise.logpdf(grid - 1)).max()
    assert count * worst == pytest.approx(mechanism.true_epsilon)


def test_floats_around_one_are_multiples_and_around_zero_are_not():
    rng = np.random.default_rng(0)
    noise = rng.choice([-1, 1], 100_000) * 2.0 ** rng.uniform(-80, 10, 100_000)
    noise = np.append(noise, [np.nextafter(1.5, 2) * -1, -0.5, np.nextafter(-0.5, 0)])
    assert all((Fraction(x) * 2**53).denominator == 1 for x in (1.0 + noise).tolist())
    drawn = -np.log(1 - np.arange(1, 20) / 64)  # noises that the mechanism can draw around 0
    finer = np.array([(Fraction(x) * 2**53).denominator > 1 for x in drawn.tolist()])
    assert finer.any()
    mechanism = FloatingPointLaplace()
    np.testing.assert_array_equal(np.isinf(mechanism.score(drawn)), finer)
    assert np.isfinite(mechanism.score(1 + noise)).all()


# Gaussian noise: the profile by quadrature


def hockey_stick(p, q, epsilon):
    """Return the integral of ``(p - e^epsilon q)_+`` on a fine grid."""
    grid = np.linspace(-40, 40, 800_001)
    return integrate.simpson(np.maximum(p(grid) - math.exp(epsilon) * q(grid), 0), x=grid)


def test_gaussian():
    mechanism = Gaussian(epsilon=0.9, delta=1e-3)
    scale = math.sqrt(2 * math.log(1250)) / 0.9
    p, q = stats.norm(1, scale).pdf, stats.norm(0, scale).pdf
    assert hockey_stick(p, q, mechanism.true_epsilon) == pytest.approx(1e-3, rel=1e-6)
    assert hockey_stick(p, q, mechanism.claimed_epsilon) < 1e-3


def test_subsampled_gaussian():
    honest, broken = SubsampledGaussian(), SubsampledGaussian(fixed_batch=True)
    without, with_it = stats.norm(0, 1).pdf, stats.norm(1, 1).pdf

    def mixed(x):
        return 0.9 * without(x) + 0.1 * with_it(x)

    assert hockey_stick(mixed, without, honest.true_epsilon) == pytest.approx(1e-3, rel=1e-6)
    assert hockey_stick(without, mixed, honest.true_epsilon) < 1e-3
    assert hockey_stick(with_it, without, broken.true_epsilon) == pytest.approx(1e-3, rel=1e-6)
    assert broken.claimed_epsilon == honest.true_epsilon


# Finitely many outputs: enumeration


def test_randomised_response():
    mechanism = RandomisedResponse(epsilon=math.log(3))
    p, q = (mechanism.law(d).probabilities for d in (np.array([1.0]), np.array([0.0])))
    np.testing.assert_allclose([p, q], [[0.25, 0.75], [0.75, 0.25]])
    assert best_event(mechanism) == pytest.approx(mechanism.true_epsilon)


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("count", range(6))
def test_truncated_geometric_is_geo_sample(bits, count):
    """Balcer & Vadhan 2018, Algorithm 4.8: integer thresholds of a uniform integer up to d."""
    n, a = 5, 2**bits
    d = (2 * a + 1) * (a + 1) ** (n - 1)
    below = [a ** (count - z) * (a + 1) ** (n - (count - z)) for z in range(count)]
    above = [d - a ** (z - count + 1) * (a + 1) ** (n - 1 - (z - count)) for z in range(count, n)]
    exact = np.diff([0, *below, *above, d]) / d
    law = TruncatedGeometric(epsilon=math.log1p(1 / a)).law(np.array([float(count)]))
    np.testing.assert_allclose(law.probabilities, exact, rtol=1e-12)


def test_truncated_geometric_over_all_neighbours():
    mechanism = TruncatedGeometric(epsilon=0.7)
    laws = np.array([mechanism.law(np.array([float(c)])).probabilities for c in range(6)])
    np.testing.assert_allclose(laws.sum(axis=1), 1, rtol=1e-13)
    assert np.abs(np.diff(np.log(laws), axis=0)).max() == pytest.approx(mechanism.true_epsilon)
    assert best_event(mechanism) == pytest.approx(mechanism.true_epsilon)


@pytest.mark.parametrize("name", ["rappor", "rappor-one-time"])
def test_rappor_by_enumeration(name):
    mechanism = KNOWN_ANSWERS[name].mechanism
    pair, f = mechanism.pair(), mechanism.permanent

    def one(bit):
        """Return the chance of a published 1, over the coins of both steps."""
        kept = {bit: 1 - f, 0: f / 2 + (1 - f) * (bit == 0), 1: f / 2 + (1 - f) * (bit == 1)}
        shown = (0.0, 1.0) if mechanism.one_time else (mechanism.low, mechanism.high)
        return sum(kept[b] * shown[b] for b in (0, 1))

    filters = [mechanism.filter(d).astype(int) for d in (pair.dataset, pair.neighbour)]
    differ = np.flatnonzero(filters[0] != filters[1])
    assert len(differ) == 8
    loss = [
        sum(
            math.log(one(int(p[i])) if bit else 1 - one(int(p[i])))
            - math.log(one(int(q[i])) if bit else 1 - one(int(q[i])))
            for i, bit in zip(differ, report, strict=True)
        )
        for report in product((0, 1), repeat=8)
        for p, q in [filters]
    ]
    assert max(map(abs, loss)) == pytest.approx(mechanism.true_epsilon)


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


def worst_of_random_pairs(mechanism, count=15):
    """Return the largest loss of an outcome on pairs of random answers, moved at random."""
    rng, worst = np.random.default_rng(5), 0.0
    for _ in range(count):
        answers = rng.normal(0, 3, mechanism.answers)
        moved = answers + rng.choice([-1.0, 1.0], mechanism.answers)
        p, q = (mechanism.law(data).probabilities for data in (answers, moved))
        worst = max(worst, float(np.abs(np.log(p) - np.log(q)).max()))
    return worst


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


def test_sparse_vector_3_attains_its_epsilon():
    mechanism = SparseVector(variant=3, answers=4, gap=1.0)
    transcripts = np.zeros((3, 4, 2))
    transcripts[:, 3, 0] = 1
    transcripts[:, 3, 1] = [0.9, -2.0, 3.0]  # below both answers, below, above
    scores = mechanism.score(transcripts)
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
    law, loss = losses(mechanism)
    chance = law.probabilities[np.isposinf(loss)].sum()
    assert chance == pytest.approx((1 - math.exp(-0.5)) / 2)
    assert math.isinf(best_event(mechanism))


# Exponential-norm noise, d = 3, in the distance to one centre and the cosine


def test_norm_noise_attains_its_epsilon_on_a_narrow_cone():
    def edge(r, slack):
        """Return the cosine below which the other centre is ``1 - slack`` further away."""
        return np.clip((r**2 + 1 - (r + 1 - slack) ** 2) / (2 * r), -1, 1)

    def chance(slack, loss):
        def inner(c, r):
            return (
                stats.gamma.pdf(r, 3) / 2 * math.exp(-loss * (math.sqrt(r**2 + 1 - 2 * r * c) - r))
            )

        return integrate.dblquad(inner, 1e-9, 60, -1, lambda r: edge(r, slack))[0]

    for slack in (0.1, 0.01):
        ratio = math.log(chance(slack, 0.0) / chance(slack, 1.0))
        assert 1 - slack < ratio < 1
    points = np.random.default_rng(0).normal(0, 4, (10_000, 3))
    assert np.abs(ExponentialNorm(epsilon=2.0).score(points)).max() <= 2


def test_norm_noise_of_the_wrong_radius_has_no_epsilon():
    def elsewhere(radius):
        """Return the chance of a ball around the centre, for noise around a unit vector."""

        def inner(c, r):
            far = math.sqrt(r**2 + 1 - 2 * r * c)
            return r**2 / 2 * math.exp(-far) / far**2

        return integrate.dblquad(inner, 0, radius, -1, 1)[0]

    ratios = [math.log(-math.expm1(-r) / elsewhere(r)) for r in (0.1, 0.01, 0.001)]
    np.testing.assert_allclose(np.diff(ratios), 2 * math.log(10), rtol=0.05)


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
        (lambda: ExponentialNorm(dimension=1), "dimension"),
        (lambda: known_answers(0.0), "epsilon"),
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
