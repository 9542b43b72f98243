"""What is drawn has the exact law: chi-square and Kolmogorov-Smirnov tests at 1e-6, seeds fixed."""

import math

import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.known_answer import KNOWN_ANSWERS
from dpaudit.algorithms.known_answer.answer import OnGrid
from dpaudit.algorithms.known_answer.noisy_max import ReportNoisyMax

LEVEL, TRIALS = 1e-6, 40_000
FINITE = [
    "randomised-response",
    "truncated-geometric",
    "noisy-max-1",
    "noisy-max-2",
    "svt-1",
    "svt-2",
    "svt-3",
    "svt-4",
    "svt-5",
    "svt-6",
]
sides = pytest.mark.parametrize("side", ["dataset", "neighbour"])


def drawn(name, side, trials=TRIALS, seed=3):
    """Return the mechanism, the input, and outputs."""
    mechanism = KNOWN_ANSWERS[name].mechanism
    mechanism = mechanism.exact if isinstance(mechanism, OnGrid) else mechanism
    data = getattr(mechanism.pair(), side)
    return mechanism, data, mechanism.sample(data, trials, np.random.default_rng(seed))


def assert_law(values, cdf):
    assert stats.kstest(np.ravel(values), cdf).pvalue > LEVEL


def assert_counts(counts, probabilities):
    """Raise unless counts fit, where outcomes that are expected too rarely are put together."""
    expected = probabilities * counts.sum()
    often = expected >= 5
    seen = np.append(counts[often], counts[~often].sum())
    hoped = np.append(expected[often], expected[~often].sum())
    assert seen[hoped < 1e-9].sum() == 0
    seen, hoped = seen[hoped > 1e-9], hoped[hoped > 1e-9]
    assert stats.chisquare(seen, hoped * seen.sum() / hoped.sum()).pvalue > LEVEL


@sides
@pytest.mark.parametrize("name", KNOWN_ANSWERS)
def test_one_seed_gives_one_batch_of_so_many_trials(name, side):
    _, _, first = drawn(name, side, trials=5)
    _, _, again = drawn(name, side, trials=5)
    _, _, other = drawn(name, side, trials=5, seed=4)
    assert len(first) == 5
    assert np.isfinite(first).all()
    np.testing.assert_array_equal(first, again)
    assert first.shape == other.shape


@pytest.mark.sampled(5)
@sides
@pytest.mark.parametrize("name", FINITE)
def test_finite_laws(name, side):
    mechanism, data, outputs = drawn(name, side)
    law = mechanism.law(data)
    symbols = outputs[..., 0] if outputs.ndim == 3 else outputs
    counts = np.bincount(law.indices(symbols), minlength=len(law.probabilities))
    assert_counts(counts, law.probabilities)


def test_a_wrong_law_is_noticed():
    right, data, outputs = drawn("noisy-max-1", "neighbour", trials=10 * TRIALS)
    wrong = ReportNoisyMax(variant=1, epsilon=1.1 * right.epsilon).law(data)
    with pytest.raises(AssertionError):
        assert_counts(np.bincount(outputs.astype(int)), wrong.probabilities)


@sides
@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("laplace", 1.0),
        ("laplace-half-noise", 0.5),
        ("laplace-20-times", 20.0),
        ("laplace-floating-point", 1.0),
        ("noisy-histogram", 2.0),
        ("noisy-histogram-inverted", 0.5),
        ("prefix-sum", 10.0),
    ],
)
def test_laplace_noise(name, scale, side):
    _, data, outputs = drawn(name, side)
    entries = np.diff(outputs, prepend=0.0) if name == "prefix-sum" else outputs
    uniforms = stats.laplace.cdf((entries - data).reshape(TRIALS, -1), scale=scale)
    assert_law(uniforms, "uniform")
    # The largest of k independent entries.
    assert_law(uniforms.max(axis=1), stats.beta(uniforms.shape[1], 1).cdf)


@sides
def test_gaussian_noise(side):
    mechanism, data, outputs = drawn("gaussian", side)
    assert_law(outputs, stats.norm(data[0], mechanism.noise_scale).cdf)


@sides
@pytest.mark.parametrize(
    ("name", "share"), [("gaussian-sampled", 0.1), ("gaussian-fixed-batch", 1)]
)
def test_gaussian_noise_on_a_sample(name, share, side):
    _, data, outputs = drawn(name, side)
    chance = share * data.sum()  # the one record that counts

    def cdf(x):
        return (1 - chance) * stats.norm.cdf(x) + chance * stats.norm.cdf(x - 1)

    assert_law(outputs, cdf)


@sides
@pytest.mark.parametrize(("name", "noise"), [("noisy-max-3", "laplace"), ("noisy-max-4", "expon")])
def test_the_largest_noisy_answer(name, noise, side):
    mechanism, data, outputs = drawn(name, side)
    one = getattr(stats, noise)(scale=2.0)
    assert_law(outputs, lambda x: one.cdf(np.subtract.outer(x, data)).prod(axis=-1))
    grid = np.linspace(data[0] + 1e-9, 60, 200_001)
    density = mechanism.density(grid, data)
    total = float(((density[1:] + density[:-1]) / 2 * np.diff(grid)).sum())
    assert total == pytest.approx(1 - one.cdf(1e-9) ** 5, abs=1e-6)


@sides
@pytest.mark.parametrize("below", [0, 2])
def test_values_published_by_the_sparse_vector(below, side):
    """Given how many were below, the density of a value is that of its noise, times an integral."""
    _, data, outputs = drawn("svt-3", side, trials=200_000)
    own = outputs[(outputs[:, below, 0] == 1) & ((outputs[..., 0] == 0).sum(1) == below)]
    grid, step = np.linspace(-60, 60, 600_001, retstep=True)
    noise = stats.laplace(scale=2.0)
    inner = np.cumsum(noise.pdf(grid) * noise.cdf(grid - data[0]) ** below) * step
    density = np.cumsum(inner * noise.pdf(grid - data[0]))
    assert_law(own[:, below, 1], lambda v: np.interp(v, grid, density / density[-1]))


@sides
@pytest.mark.parametrize("name", ["rappor", "rappor-one-time"])
def test_bits_of_rappor(name, side):
    mechanism, data, reports = drawn(name, side)
    filled = mechanism.filter(data) == 1
    low, high = mechanism.rates
    for chosen, rate in ((filled, high), (~filled, low)):
        size = int(chosen.sum())
        counts = np.bincount(reports[:, chosen].sum(axis=1).astype(int), minlength=size + 1)
        assert_counts(counts, stats.binom.pmf(np.arange(size + 1), size, rate))


@sides
@pytest.mark.parametrize(("name", "shape"), [("norm-noise", 3), ("norm-noise-wrong-radius", 1)])
def test_norm_noise(name, shape, side):
    _, data, outputs = drawn(name, side)
    noise = outputs - data
    norms = np.linalg.norm(noise, axis=1)
    assert_law(norms, stats.gamma(shape).cdf)
    assert_law(noise[:, 0] / norms, stats.uniform(-1, 2).cdf)  # Archimedes: on the sphere in R^3


# A score is the logarithm of a ratio of densities: it averages to 1 where it is inverted


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    "name", [n for n, a in KNOWN_ANSWERS.items() if a.true < 4 and not n.startswith("gaussian")]
)
def test_scores_are_likelihood_ratios(name):
    mechanism, _, on_dataset = drawn(name, "dataset")
    _, _, on_neighbour = drawn(name, "neighbour", seed=8)
    for ratio in (np.exp(-mechanism.score(on_dataset)), np.exp(mechanism.score(on_neighbour))):
        error = float(ratio.std()) / math.sqrt(TRIALS)
        assert abs(float(ratio.mean()) - 1) < stats.norm.isf(LEVEL / 2) * error + 1e-3


def test_a_score_of_twice_the_ratio_is_noticed():
    mechanism, _, on_neighbour = drawn("laplace", "neighbour")
    assert abs(np.exp(2 * mechanism.score(on_neighbour)).mean() - 1) > 0.5
