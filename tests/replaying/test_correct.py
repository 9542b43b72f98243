"""Mechanisms whose claim is true, of many sorts and sizes: none may be accused."""

import math
import random

import numpy as np
import pytest
from scipy import stats


def laplace(n, epsilon):
    def release(data, rng):
        values = [(data ** (j + 1)).sum() + rng.laplace(scale=3 / epsilon) for j in range(3)]
        return values[0], round(values[1]), min(max(values[2], 0.0), float(n))

    return release, 0.0


def gaussian(n, epsilon):
    epsilon, delta = min(epsilon, 1.0), 1e-5
    scale = math.sqrt(3) * math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def release(data, rng):
        return {str(j): (data ** (j + 1)).sum() + rng.normal(scale=scale) for j in range(3)}

    return release, delta


def local(n, epsilon):
    return lambda data, rng: data + rng.laplace(scale=1 / epsilon, size=len(data)), 0.0


def standard_library(n, epsilon):
    return (lambda data: sum(data) + random.expovariate(epsilon) - random.expovariate(epsilon)), 0.0


def sparse_vector(n, epsilon):
    def release(data, rng):
        threshold = n / 3 + rng.laplace(scale=2 / epsilon)
        for j in range(20):
            if (data ** (j + 1)).sum() + rng.laplace(scale=4 / epsilon) > threshold:
                return j
        return -1

    return release, 0.0


def exponential_mechanism(n, epsilon):
    def release(data, rng):
        scores = epsilon * np.histogram(data, 4, (0, 1))[0] / 2
        weights = np.exp(scores - scores.max())
        return int(rng.choice(4, p=weights / weights.sum()))

    return release, 0.0


def randomised_response(n, epsilon):
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    return (lambda data, rng: [int((x > 0.5) == (rng.random() < truth)) for x in data]), 0.0


def adaptive(n, epsilon):
    def release(data, rng):
        first = data.sum() + rng.laplace(scale=2 / epsilon)
        bound = 1 / (1 + math.exp(-first))
        return first, np.clip(data, 0, bound).sum() + rng.laplace(scale=2 * bound / epsilon)

    return release, 0.0


def noisy_ratio(n, epsilon):
    def release(data, rng):
        total = data.sum() + rng.laplace(scale=2 / epsilon)
        return total / max(1.0, (data > 0.5).sum() + rng.laplace(scale=2 / epsilon))

    return release, 0.0


def gradient_steps(n, epsilon):
    epsilon, delta = min(epsilon, 1.0), 1e-5
    scale = 2 * math.sqrt(5) * math.sqrt(2 * math.log(1.25 / delta)) / epsilon

    def release(data, rng):
        weight = 0.0
        for _ in range(5):
            gradient = np.clip(weight - data, -1, 1).sum()
            weight -= 0.1 * (gradient + rng.normal(scale=scale))
        return weight

    return release, delta


def geometric(n, epsilon):
    p = 1 - math.exp(-epsilon)

    def release(data, rng):
        return int((data > 0.5).sum() + rng.geometric(p) - rng.geometric(p))

    return release, 0.0


def frozen_law_of_scipy(n, epsilon):
    return (lambda data: stats.laplace(loc=data.mean(), scale=1 / (n * epsilon)).rvs()), 0.0


def noisy_median(n, epsilon):
    def release(data, rng):
        grid = np.linspace(0, 1, 21)
        scores = -np.abs((data[:, None] < grid).sum(axis=0) - n / 2)
        return float(grid[np.argmax(epsilon * scores / 2 + rng.gumbel(size=21))])

    return release, 0.0


SORTS = (
    *(laplace, gaussian, local, standard_library, sparse_vector, exponential_mechanism),
    *(randomised_response, adaptive, noisy_ratio, gradient_steps, geometric),
    *(frozen_law_of_scipy, noisy_median),
)


def _accused(sort, seed, replay_here):
    rng = np.random.default_rng(seed)
    epsilon, n = float(rng.choice([0.1, 0.5, 1.0, 3.0, 8.0])), int(rng.integers(2, 12))
    data = rng.random(n)
    other = data.copy()
    other[int(rng.integers(n))] = rng.choice([0.0, 1.0, rng.random()])
    release, delta = sort(n, epsilon)
    claimed = epsilon if delta == 0 else min(epsilon, 1.0)
    given = {"epsilon": claimed, "delta": delta, "relation": "declared: one record", "seed": seed}
    return replay_here(release, data, other, **given).verdict != "not refuted"


@pytest.mark.parametrize("sort", SORTS)
def test_a_true_claim_is_not_accused(sort, replay_here):
    assert not _accused(sort, 1, replay_here)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 18))
@pytest.mark.parametrize("sort", SORTS)
def test_no_true_claim_is_accused(sort, seed, replay_here):
    assert not _accused(sort, seed, replay_here)
