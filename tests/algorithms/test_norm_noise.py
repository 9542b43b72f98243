"""Noise of density exp(-alpha ||e||): its law, and its transform to uniforms. Schedules."""

import numpy as np
import pytest
from scipy import integrate, stats

from dpaudit.algorithms.problems.schedules import Constant, Geometric, TableSchedule
from dpaudit.errors import InvalidArgument
from dpaudit.laws.exponential_norm import convert_noise_to_uniforms, draw_exponential_norm_noise


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("d", [1, 2, 3, 7])
def test_norms_are_gamma_and_directions_uniform(d):
    noise = draw_exponential_norm_noise((20_000, d), np.array(1.7), rng())
    norms = np.linalg.norm(noise, axis=1)
    assert stats.kstest(norms, stats.gamma(d, scale=1 / 1.7).cdf).pvalue > 1e-4
    directions = noise / norms[:, None]
    covariance = directions.T @ directions / len(noise)
    np.testing.assert_allclose(covariance, np.eye(d) / d, atol=0.02)
    np.testing.assert_allclose(directions.mean(axis=0), 0, atol=0.03)


def test_in_one_dimension_it_is_laplace_noise():
    noise = draw_exponential_norm_noise((20_000, 1), np.array(0.5), rng())
    assert stats.kstest(noise[:, 0], stats.laplace(scale=2).cdf).pvalue > 1e-4


def test_in_two_dimensions_a_coordinate_has_the_integrated_density():
    """The density is ``alpha^2 / (2 pi) exp(-alpha ||e||)``, integrated here by quadrature."""
    points = np.array([0.1, 0.6, 1.5])

    def density(y, x):
        return 4 / (2 * np.pi) * np.exp(-2 * np.hypot(x, y))

    below = [0.5 + 2 * integrate.dblquad(density, 0, x, 0, 20, epsabs=1e-5)[0] for x in points]
    noise = draw_exponential_norm_noise((200_000, 2), np.array(2.0), rng())
    empirical = [(noise[:, 0] <= x).mean() for x in points]
    np.testing.assert_allclose(empirical, below, atol=0.006)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_uniforms_are_uniform_and_independent(d):
    rates = np.array([0.3, 5.0])
    out = convert_noise_to_uniforms(
        draw_exponential_norm_noise((10_000, 2, d), rates, rng(1)), rates
    ).reshape(10_000, -1)
    assert all(stats.kstest(column, "uniform").pvalue > 1e-4 for column in out.T)
    pairs = [(i, j) for i in range(2 * d) for j in range(i)]
    for i, j in pairs:  # on a grid: what a correlation would not see
        counts = np.histogram2d(out[:, i], out[:, j], bins=5, range=[[0, 1], [0, 1]])[0]
        assert stats.chisquare(counts.ravel()).pvalue > 1e-5


@pytest.mark.parametrize(
    "other",
    [
        lambda noise: 1.03 * noise,
        lambda noise: noise + np.eye(6)[2] * 0.3,
        lambda noise: noise * np.array([1, 1, 1, 1, 1, 1.15]),
        lambda noise: np.abs(noise),
        lambda noise: noise[:, ::-1] + 0.2 * noise,
    ],
    ids=["scale", "shift", "last coordinate", "sign", "dependence"],
)
def test_other_noise_is_not_taken_for_it(other):
    noise = other(draw_exponential_norm_noise((20_000, 6), np.array(2.0), rng(2)))
    out = convert_noise_to_uniforms(noise, np.array(2.0))
    p_values = [stats.kstest(column, "uniform").pvalue for column in out.T]
    correlation = np.corrcoef(out.T)[np.triu_indices(6, k=1)]
    assert min(p_values) < 1e-4 or np.abs(correlation).max() > 5 / np.sqrt(20_000)


def test_the_same_stream_gives_the_same_noise_per_rate():
    one, two = (
        draw_exponential_norm_noise((5, 3, 4), np.full(3, rate), rng(3)) for rate in (1.0, 2.0)
    )
    np.testing.assert_allclose(one, 2 * two, rtol=1e-12)


# Schedules


def test_geometric_is_the_papers_figure_1():
    first, ratio = (0.55, 0.65, 0.6, 0.55, 0.6), (1.01, 1.03, 1.1, 1.2, 1.02)
    values = Geometric(first, ratio).values(40, 5)
    assert values.shape == (40, 5)
    for t in (1, 2, 40):
        expected = [f * q ** (t - 1) for f, q in zip(first, ratio, strict=True)]
        np.testing.assert_allclose(values[t - 1], expected)
    np.testing.assert_array_equal(Geometric(0.5, 1.0).values(3, 2), Constant(0.5).values(3, 2))


def test_schedules_are_values():
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert TableSchedule(table) == TableSchedule(((1.0, 2.0), (3.0, 4.0)))
    assert hash(Geometric([1.0, 2.0], 1.1)) == hash(Geometric((1.0, 2.0), 1.1))
    table[0, 0] = -1
    np.testing.assert_array_equal(TableSchedule(((1.0, 2.0),)).values(1, 2), [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (lambda: Constant(0.0), "Constant.value"),
        (lambda: Geometric(0.5, -1.0), "ratio"),
        (lambda: Geometric((), 1.0), "first"),
        (lambda: Geometric((1.0, 0.0), 1.0), "first"),
        (lambda: Geometric("fast", 1.0), "first"),
        (lambda: Geometric((1.0, 2.0), 1.0).values(2, 3), "first"),
        (lambda: Geometric(1.0, 0.5).values(2000, 1), "ratio"),
        (lambda: TableSchedule(((1.0, 0.0),)), "table"),
        (lambda: TableSchedule((1.0, 2.0)), "table"),
        (lambda: TableSchedule(((1.0, 2.0),)).values(2, 2), "table"),
        (lambda: TableSchedule(((1.0, 2.0),)).values(1, 3), "table"),
    ],
)
def test_bad_schedules_are_refused_by_name(build, name):
    with pytest.raises(InvalidArgument) as refusal:
        build()
    assert refusal.value.name == name
