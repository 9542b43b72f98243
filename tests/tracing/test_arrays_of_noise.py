"""Noise that is mixed, stacked, or drawn for several outputs in one call."""

import math

import numpy as np
import pytest
from scipy.stats import kstest, multivariate_normal

from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.tracing.discrete import KINDS
from dpaudit.tracing.law import TracedLaw
from dpaudit.tracing.reading import read_law
from dpaudit.tracing.runs import MissingLaw
from dpaudit.tracing.steps import MixedVector

PAIR = Pair(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 5.0]), REPLACE_RECORD)
FACTORS = np.array([[1.0, 0.0], [0.5, 2.0]])


def read(function, seed=0):
    return read_law(as_mechanism(function).calls, PAIR, np.random.default_rng(seed))


# A matrix of noise


def mixed(data, rng):
    return np.array([data.sum(), data.max()]) - FACTORS @ (2.0 * rng.normal(size=2))


def test_losses_of_mixed_noise_are_those_of_its_covariance():
    law = read(mixed)
    assert isinstance(law, TracedLaw), law
    values = law.sample(PAIR.dataset, 20, np.random.default_rng(1))
    here, there = (
        multivariate_normal(mean, 4 * FACTORS @ FACTORS.T) for mean in ([3.0, 2.0], [6.0, 5.0])
    )
    losses = law.privacy_loss(values, PAIR)
    assert losses == pytest.approx(here.logpdf(values) - there.logpdf(values), rel=1e-9)
    low, high = law.loss_bounds(values[0], PAIR)
    assert low <= losses[0] + 1e-9
    assert high >= losses[0] - 1e-9
    assert kstest(law.uniform_residuals(values, PAIR.dataset).ravel(), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("other", [FACTORS, 2 * FACTORS])
def test_mixed_noise_is_weighed_as_it_is_drawn(other):
    law, rng = KINDS["normal of a matrix"], np.random.default_rng(2)
    own, there = MixedVector(np.zeros(2), FACTORS), MixedVector(np.array([0.4, -0.2]), other)
    drawn = [law.tilted(own, there, 0.5, rng) for _ in range(3000)]
    weights = np.array([math.exp(log_mgf - 0.5 * loss) for _, loss, log_mgf in drawn])
    assert weights.mean() == pytest.approx(1.0, abs=5 * weights.std() / math.sqrt(3000))
    value = drawn[0][0]
    written = [multivariate_normal(one.centre, one.matrix @ one.matrix.T) for one in (own, there)]
    assert drawn[0][1] == pytest.approx(written[0].logpdf(value) - written[1].logpdf(value))
    enclosed = float(law.enclosed_loss(value, own, there))
    assert enclosed == pytest.approx(drawn[0][1], rel=1e-9)


def mixed_by_data(data, rng):
    return np.array([data.sum(), 1.0]) + (FACTORS * data.max()) @ rng.normal(size=2)


def test_a_matrix_that_depends_on_data_is_part_of_the_law():
    law = read(mixed_by_data)
    assert isinstance(law, TracedLaw), law
    here, there = (
        multivariate_normal([total, 1.0], largest**2 * FACTORS @ FACTORS.T)
        for total, largest in ((3.0, 2.0), (6.0, 5.0))
    )
    values = law.sample(PAIR.dataset, 5, np.random.default_rng(1))
    written = here.logpdf(values) - there.logpdf(values)
    assert law.privacy_loss(values, PAIR) == pytest.approx(written, rel=1e-9)


# Noise of several calls in one array


def stacked(data, rng):
    noise = np.stack([rng.laplace(size=2), rng.normal(size=2)], axis=1)
    return 2.0 * data.sum() - noise * 3.0


def joined(data, rng):
    return data + np.concatenate([rng.laplace(size=1), rng.laplace(0.0, 4.0, size=2)])


def test_every_part_of_stacked_noise_meets_its_own_part_of_the_value():
    law = read(stacked)
    assert isinstance(law, TracedLaw), law
    values = law.sample(PAIR.dataset, 10, np.random.default_rng(1))
    written = [
        np.sum(np.abs(v[:2] - 12) - np.abs(v[:2] - 6)) / 3
        + np.sum((v[2:] - 12) ** 2 - (v[2:] - 6) ** 2) / 18
        for v in values
    ]
    assert law.privacy_loss(values, PAIR) == pytest.approx(written, rel=1e-9)


def test_parts_that_are_put_together_keep_their_scales():
    law = read(joined)
    values = law.sample(PAIR.dataset, 10, np.random.default_rng(1))
    written = [(abs(v[2] - 5) - abs(v[2] - 2)) / 4 for v in values]
    assert law.privacy_loss(values, PAIR) == pytest.approx(written, rel=1e-9)


# Several outputs a call


class Twice:
    def sample(self, dataset, trials, rng):
        return dataset.sum() + np.stack([rng.laplace(size=trials) for _ in range(2)], axis=1)


def one_by_one(data, trials, rng):
    return [{"sum": data.sum() + rng.laplace()} for _ in range(trials)]


@pytest.mark.parametrize("function", [Twice(), one_by_one])
def test_the_law_is_that_of_one_output(function):
    law = read(function)
    assert isinstance(law, TracedLaw), law
    values = law.sample(PAIR.dataset, 7, np.random.default_rng(1))
    assert len(values) == 7
    assert len(np.unique(values)) == values.size
    written = (np.abs(values - 6) - np.abs(values - 3)).sum(axis=1)
    assert law.privacy_loss(values, PAIR) == pytest.approx(written, rel=1e-9)


REFUSED = {
    "low rank": lambda x, rng: (
        np.array([x.sum(), x.max()]) + np.array([[1.0, 1.0], [2.0, 2.0]]) @ rng.normal(size=2)
    ),
    "mixed twice": lambda x, rng: (
        np.array([x.sum(), x.max()]) + FACTORS @ (z := rng.normal(size=2)),
        x[:2] + FACTORS.T @ z,
    ),
    "mixed and released": lambda x, rng: (
        x[1:] + FACTORS @ (z := rng.normal(size=2)), x.sum() + z[0],
    ),
    "mixed Laplace noise": lambda x, rng: x[1:] + FACTORS @ rng.laplace(size=2),
    "more values than noise": lambda x, rng: x + np.ones((3, 2)) @ rng.normal(size=2),
    "stacked twice": lambda x, rng: x.sum() + np.stack([z := rng.laplace(size=2), z]),
    "stacked and released": lambda x, rng: (
        x.sum() + np.stack([z := rng.laplace(size=2), rng.laplace(size=2)]), x[:2] + z,
    ),
    "stacked noise for two values": lambda x, rng: (
        np.ones((2, 1, 1)) * x.sum() + np.stack([rng.laplace(size=2), rng.laplace(size=2)])
    ),
    "stacked beside data": lambda x, rng: np.stack([rng.laplace(size=3), x]),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_such_law_is_refused(name):
    assert isinstance(read(REFUSED[name]), MissingLaw)


def shared_noise(data, trials, rng):
    return data.sum() + rng.laplace() * np.ones(trials)


def shared_coin(data, trials, rng):
    factor = 1.0 + rng.integers(2)
    return [[data.sum() + rng.laplace(), float(factor)] for _ in range(trials)]


def quiet_where_many(data, trials, rng):
    return data.sum() + rng.laplace(size=trials) * (1.0 if trials < 10 else 0.1)


@pytest.mark.parametrize("function", [shared_noise, shared_coin])
def test_outputs_of_one_call_that_share_a_draw_have_no_law(function):
    assert isinstance(read(function), MissingLaw)


def test_a_call_for_many_outputs_that_differs_fails_the_residuals():
    law = read(quiet_where_many)
    values = law.sample(PAIR.dataset, 200, np.random.default_rng(1))
    assert kstest(law.uniform_residuals(values, PAIR.dataset).ravel(), "uniform").pvalue < 1e-9
