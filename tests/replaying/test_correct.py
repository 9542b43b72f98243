"""Mechanisms whose claim is true, of many sorts and sizes: none may be accused."""

import math
import random
import threading
from functools import partial

import numpy as np
import pytest
from scipy import stats

from dpaudit.replaying.api import replay


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


def children_of_one_seed(n, epsilon):
    """Generators that are spawned, or share their bits, draw each its own noise."""

    def release(data, rng):
        one, two = np.random.default_rng().spawn(2)
        seeds = np.random.SeedSequence(int(rng.integers(2**62))).spawn(2)
        bits = np.random.PCG64(int(rng.integers(2**62)))
        sources = (one, two, *map(np.random.default_rng, seeds))
        sources += (np.random.Generator(bits), np.random.Generator(bits))
        return [
            (data ** (j + 1)).sum() + source.laplace(scale=6 / epsilon)
            for j, source in enumerate(sources)
        ]

    return release, 0.0


def rejected_noise(n, epsilon):
    """A loop that rejects noise that is far out ends in every run."""

    def release(data, rng):
        while True:
            u, v = random.uniform(-1, 1), random.uniform(-1, 1)
            if 0 < (s := u * u + v * v) < 1:
                break
        scale = math.sqrt(2 * math.log(1.25e5)) / min(epsilon, 1.0)
        return data.sum() + scale * u * math.sqrt(-2 * math.log(s) / s)

    return release, 1e-5


def rounded_counts(n, epsilon):
    """The centre cannot be fitted to rounded numbers: it has to have been seen."""

    def release(data, rng):
        counts = np.histogram(data, 4, (0, 1))[0]
        return [max(0, int(one + rng.laplace(scale=2 / epsilon))) for one in counts]

    return release, 0.0


SORTS = (
    *(children_of_one_seed, rejected_noise, rounded_counts),
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


@pytest.mark.sampled(8)
@pytest.mark.parametrize("sort", SORTS)
def test_a_true_claim_is_not_accused(sort, replay_here):
    assert not _accused(sort, 1, replay_here)


def test_uniform_noise_at_its_delta_is_not_accused(replay_here):
    one, other = np.array([0.2, 0.9, 0.4, 1.0, 0.7]), np.array([0.2, 0.9, 0.4, 1.0, 0.0])

    def release(data, rng):
        return data.sum() + rng.uniform(-5, 5)

    assert replay_here(release, one, other, epsilon=0.0, delta=0.07).verdict == "not refuted"
    assert replay_here(release, one, other, epsilon=0.0, delta=0.069).verdict == "refuted"


def test_a_choice_that_rarely_falls_the_other_way_is_no_scale_of_the_data(replay_here):
    """Where all draws are far out the clipping hides which scale was chosen."""

    def release(data, rng):
        noisy = data.sum() + rng.laplace(scale=0.1)
        scale = 1.0 if noisy > 2.5 else 10.0
        return float(np.clip(data.sum() + rng.laplace(scale=scale), 0, 400))

    found = replay_here(release, np.ones(3), np.array([1.0, 1.0, 0.0]), epsilon=11.0)
    assert found.verdict == "not refuted"


def test_rare_flips_that_have_to_meet_are_noise(replay_here):
    rare = 1 / (1 + math.exp(21))

    def release(data):
        return [bool((x > 0.5) ^ (random.random() < rare) ^ (random.random() < rare)) for x in data]

    one, other = np.array([0.2, 0.9, 0.4, 1.0, 0.7]), np.array([0.2, 0.9, 0.4, 1.0, 0.0])
    assert replay_here(release, one, other, epsilon=20.5, seed=8).verdict == "not refuted"


def test_code_that_only_raises_is_told(replay_here):
    found = replay_here(
        lambda data, rng: data.nothing, np.zeros(2), np.ones(2), relation="declared: all"
    )
    assert [one.kind for one in found.findings] == ["nothing released"]
    assert found.verdict == "withheld"


def test_code_that_returns_nothing_is_told(replay_here):
    def forgets(data, rng):
        data.sum() + rng.laplace()

    found = replay_here(forgets, np.zeros(2), np.ones(2), relation="declared: all")
    assert found.verdict == "withheld"
    assert "let the function return the value that it releases" in found.reasons[0]


def test_code_that_returns_nothing_on_one_of_the_two_is_refuted(replay_here):
    found = replay_here(
        lambda data, rng: 1.0 if data.sum() else None,
        np.zeros(2),
        np.ones(2),
        relation="declared: all",
    )
    assert found.verdict == "refuted"


def test_a_count_of_calls_says_nothing_about_data(replay_here):
    calls = [0]

    def release(data, rng):
        calls[0] += 1
        return calls[0] % 2, int(rng.laplace() > 0)

    assert replay_here(release, np.zeros(2), np.ones(2), relation="declared: all").verdict == (
        "not refuted"
    )


def test_noise_that_the_first_call_keeps_accuses_nobody(tmp_path, monkeypatch):
    """Every call draws, and all but the first throw it away: one process shows one value."""
    (tmp_path / "keeping.py").write_text(
        "KEPT = {}\n"
        "def release(data, rng):\n"
        "    return sum(data) + KEPT.setdefault('noise', rng.laplace(scale=1.0))\n"
        "def raw(data, rng):\n"
        "    rng.laplace(scale=1.0)\n"
        "    return float(max(data))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    given = {"epsilon": 1.0, "relation": "declared: one record", "folder": tmp_path}
    kept = replay("keeping:release", [0.0, 1.0], [0.0, 0.0], **given)
    assert kept.verdict == "withheld"
    assert kept.findings[0].kind == "hidden state"
    assert replay("keeping:raw", [0.0, 1.0], [0.0, 0.0], **given).verdict == "refuted"


def test_noise_of_other_threads_is_told_and_counted(replay_here):
    def release(data, scale=0.1):
        out = []
        draw = partial(np.random.default_rng().laplace, scale=scale)
        one = threading.Thread(target=lambda: out.append(data.sum() + draw()))
        one.start()
        one.join()
        return out

    given = {"relation": "declared: one record", "epsilon": 1.0}
    found = replay_here(release, np.zeros(1), np.ones(1), **given)
    assert found.verdict == "refuted"
    assert any("other threads" in one.words for one in found.findings)
    quiet = replay_here(partial(release, scale=1.0), np.zeros(1), np.ones(1), **given)
    assert quiet.verdict == "not refuted"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 18))
@pytest.mark.parametrize("sort", SORTS)
def test_no_true_claim_is_accused(sort, seed, replay_here):
    assert not _accused(sort, seed, replay_here)
