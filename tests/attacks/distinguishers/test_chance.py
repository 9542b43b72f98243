"""Every attack on a mechanism that reveals nothing: it does as well as a guess, and certifies 0."""

import numpy as np
import pytest
from numpy.random import default_rng
from scipy.stats import binomtest

import dpaudit.extension.registry as registry
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise
from dpaudit.attacks.prediction_inversion.inversion import (
    column_space,
    invert_predictions,
    principal_angle,
    recover_all_tuples,
    relative_error,
)
from dpaudit.attacks.reconstruction.study import right_guesses
from dpaudit.datasets import Dataset
from dpaudit.estimation.event import choose_event, event_bound
from dpaudit.neighbours import REPLACE_COLUMN, Pair

ROUNDS, TUPLES, COLUMNS = 8, 60, 5
RUNS = 400


@pytest.fixture
def rng():
    return default_rng(11)


@pytest.fixture
def pair(rng):
    """Return two designs whose first party's columns differ and that send the same law.

    With parameters at zero the first messages are noise alone, whatever the data.
    """
    rows = rng.standard_normal((30, 4))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    other = rows.copy()
    other[0, 0] *= -1
    labels = np.resize([1.0, -1.0], 30)
    return Pair(Dataset(rows, labels), Dataset(other, labels), REPLACE_COLUMN)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", sorted(registry.DISTINGUISHERS.all()))
def test_a_score_tells_nothing_where_nothing_is_revealed(name, pair, rng):
    seen = SharingADMM(block_sizes=(2, 2), iterations=1, noise=MessageNoise(1.0)).messages()

    def sent(data):
        return seen.sample(data, RUNS, rng)

    learning, setting, fresh = ((sent(pair.dataset), sent(pair.neighbour)) for _ in range(3))
    score = registry.DISTINGUISHERS.get(name).load()(seen, pair, *learning, rng)
    event = choose_event(*map(score, setting), 0.0)
    scores = tuple(map(score, fresh))
    assert event_bound(*scores, event, 0.0, 1e-6).lower == 0
    favoured, other = scores if event.above else scores[::-1]
    right = event.hits(favoured) + RUNS - event.hits(other)
    assert binomtest(right, 2 * RUNS, 0.5).pvalue > 1e-4


def test_the_likeliest_candidate_is_right_by_chance(pair, rng):
    seen = SharingADMM(block_sizes=(2, 2), iterations=1, noise=MessageNoise(1.0)).messages()
    right = right_guesses(seen, [pair.dataset, pair.neighbour], 1000, rng)
    assert binomtest(right, 1000, 0.5).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(5))
def test_predictions_that_are_noise_invert_to_no_tuple(seed):
    rng = default_rng(seed)
    tuples = rng.uniform(0, 1, (TUPLES, COLUMNS))
    models = rng.standard_normal((ROUNDS, COLUMNS, 1))
    noise = rng.standard_normal((ROUNDS, TUPLES, 1))
    guess = relative_error(np.broadcast_to(tuples.mean(axis=0), tuples.shape), tuples)
    assert relative_error(invert_predictions(noise, models).tuples, tuples) > guess
    assert relative_error(invert_predictions(np.zeros_like(noise), models).tuples, tuples) == 1
    known = np.arange(20)
    found = recover_all_tuples(noise, known, tuples[known]).tuples[20:]
    assert relative_error(found, tuples[20:]) > guess
    real = np.einsum("nd,tdk->tnk", tuples, models)
    assert relative_error(invert_predictions(real, models).tuples, tuples) < 1e-9


def test_the_space_of_noise_is_as_far_from_the_tables_as_a_random_one():
    rng = default_rng(0)
    angles, chance = [], []
    for _ in range(40):
        tuples = rng.standard_normal((TUPLES, COLUMNS))
        noise = rng.standard_normal((COLUMNS, TUPLES, 1))
        random = np.linalg.qr(rng.standard_normal((TUPLES, COLUMNS)))[0]
        angles.append(principal_angle(column_space(noise), tuples))
        chance.append(principal_angle(random, tuples))
    spread = np.std(angles) + np.std(chance)
    assert abs(np.mean(angles) - np.mean(chance)) < 4 * spread / np.sqrt(40)
    assert min(angles) > 1
