"""The column-space attack: without error where N > d_m, nothing where the message has full law."""

import math
import pickle

import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.claims.hu2020.message import OneMessage
from dpaudit.algorithms.sharing.claims.hu2020.update import UpdateSetting
from dpaudit.algorithms.sharing.noise import MessageNoise, ParameterNoise, WhitenedNoise
from dpaudit.attacks.distinguishers.column_space import (
    INSIDE,
    OUTSIDE,
    column_basis,
    compute_relative_residuals,
    fit,
    messages_of,
)
from dpaudit.attacks.distinguishers.message_support import one_entry_flipped
from dpaudit.datasets import Dataset, breast_cancer
from dpaudit.errors import InvalidArgument
from dpaudit.laws.steps import GaussianSteps
from dpaudit.neighbours import REPLACE_COLUMN, REPLACE_RECORD, Pair

CERTAIN = math.log(OUTSIDE / INSIDE)


@pytest.fixture
def rng():
    return default_rng(3)


@pytest.fixture(scope="module")
def pair():
    return one_entry_flipped(breast_cancer())


def drawn(samples, columns, rng):
    """Return a pair of designs with unit rows of which one entry differs in sign."""
    features = rng.standard_normal((samples, columns))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    return one_entry_flipped(Dataset(features, np.resize([1.0, -1.0], samples)))


def scores(mechanism, pair, runs, rng):
    here, there = (mechanism.sample(data, runs, rng) for data in (pair.dataset, pair.neighbour))
    score = fit(mechanism, pair, here[:2], there[:2], rng)
    return score(here), score(there)


def sharing(noise, blocks=(15, 15), iterations=1):
    return SharingADMM(block_sizes=blocks, iterations=iterations, noise=noise, penalty=0.01)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e6])
@pytest.mark.parametrize("kind", [ParameterNoise, WhitenedNoise])
def test_noise_on_the_model_never_hides_the_data(kind, scale, pair, rng):
    here, there = scores(sharing(kind(scale)).messages(), pair, 200, rng)
    assert (here > CERTAIN / 2).all()
    assert (there < -CERTAIN / 2).all()


def test_every_message_of_a_run_counts(pair, rng):
    here, there = scores(sharing(ParameterNoise(1.0), iterations=3).messages(), pair, 20, rng)
    assert here == pytest.approx(3 * CERTAIN)
    assert there == pytest.approx(-3 * CERTAIN)


def test_the_network_view_tells_the_same(pair, rng):
    here, there = scores(sharing(WhitenedNoise(1.0)).network(), pair, 20, rng)
    assert here.min() > there.max()


@pytest.mark.parametrize("scale", [1.0, 100.0])
def test_noise_on_the_message_tells_nothing(scale, pair, rng):
    found = scores(sharing(MessageNoise(scale)).messages(), pair, 100, rng)
    assert not np.any(found)


@pytest.mark.parametrize("kind", [ParameterNoise, WhitenedNoise])
@pytest.mark.parametrize(("samples", "told"), [(5, 1.0), (4, 0.0), (3, 0.0)])
def test_it_takes_more_samples_than_columns(kind, samples, told, rng):
    pair = drawn(samples, 4, rng)
    here, there = scores(sharing(kind(1.0), (4,)).messages(), pair, 300, rng)
    assert (here > 0).mean() == told
    assert (there < 0).mean() == told


def test_dependent_columns_are_told_from_their_neighbour(rng):
    features = np.zeros((12, 3))
    features[:6, 0] = features[6:, 1] = 0.5
    features[:, 2] = 0.5  # the sum of the other two
    pair = one_entry_flipped(Dataset(features, np.ones(12)))
    assert column_basis(pair.dataset.features).shape == (12, 2)
    here, there = scores(sharing(ParameterNoise(1.0), (3,)).messages(), pair, 50, rng)
    assert abs(here - there).min() > CERTAIN / 2


def test_columns_that_nearly_depend_lower_the_score_and_do_not_turn_it(rng):
    features = rng.standard_normal((40, 3)) / 3
    features[:, 2] = features[:, 1] + 1e-9 * features[:, 2]
    pair = one_entry_flipped(Dataset(features, np.ones(40)))
    here, there = scores(sharing(WhitenedNoise(1.0), (3,)).messages(), pair, 100, rng)
    assert (here >= 0).all()
    assert (there <= 0).all()


def test_one_message_without_an_axis_of_parties_is_read(rng):
    pair = drawn(6, 2, rng)
    setting = UpdateSetting(features=2, samples=6)
    seen = GaussianSteps(
        OneMessage(setting=setting, dual=np.ones(6), gap=np.zeros(6), noise_scale=1.0)
    )
    found = scores(seen, pair, 10, rng)
    assert not np.any(found)


def test_the_score_pickles_and_is_deterministic(pair, rng):
    seen = sharing(ParameterNoise(1.0)).messages()
    here = seen.sample(pair.dataset, 5, rng)
    score = fit(seen, pair, here, here, rng)
    again = pickle.loads(pickle.dumps(score))
    assert again(here).tolist() == score(here).tolist()
    assert np.array_equal(score(here), fit(seen, pair, here, here, default_rng(9))(here))


def test_a_residual_is_that_of_least_squares(rng):
    design, message = rng.standard_normal((9, 4)), rng.standard_normal(9)
    left = np.linalg.lstsq(design, message)[1][0]
    found = compute_relative_residuals(message[None, None], column_basis(design))
    assert found == pytest.approx(math.sqrt(left) / np.linalg.norm(message))


def test_a_message_of_zeros_tells_nothing(pair, rng):
    quiet = sharing(ParameterNoise(0.0)).messages()  # the first message is the noise alone
    assert not np.any(scores(quiet, pair, 5, rng))


@pytest.mark.parametrize(
    ("shape", "party"), [((2, 3, 4), 0), ((2, 1, 1, 4), 1), ((2, 1, 1, 3), 0), ((2, 4), None)]
)
def test_outputs_without_messages_are_refused(shape, party):
    with pytest.raises(InvalidArgument, match="outputs: got shape") as caught:
        messages_of(np.zeros(shape), party, 4)
    assert "\n" not in str(caught.value)


def test_models_are_no_messages(pair, rng):
    seen = sharing(ParameterNoise(1.0)).models()
    with pytest.raises(InvalidArgument, match="outputs"):
        scores(seen, pair, 2, rng)


def test_a_replaced_record_is_refused(rng):
    data = Dataset(np.eye(3)[:, :2], np.ones(3))
    pair = Pair(data, data.with_record(0, [0.0, 1.0], 1.0), REPLACE_RECORD)
    seen = sharing(ParameterNoise(1.0), (2,)).messages()
    with pytest.raises(InvalidArgument, match=f"relation.*{REPLACE_COLUMN.name}"):
        fit(seen, pair, np.zeros((1, 1, 1, 3)), np.zeros((1, 1, 1, 3)), rng)
