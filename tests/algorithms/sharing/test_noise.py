"""The noise of ADMM sharing, and its views."""

from dataclasses import replace

import numpy as np
import pytest

from dpaudit.algorithms.sharing.noise import (
    MessageNoise,
    NoNoise,
    ParameterNoise,
    WhitenedNoise,
    compute_published_noise_scale,
    compute_published_sensitivity,
)
from dpaudit.algorithms.sharing.vertical import column_slices, split_into_parties
from dpaudit.mechanisms.mechanism import HasLaw, Mechanism, Tiltable

from .setting import BLOCKS, NOISES, dependent_data, make, make_data, rng


def first_noise(algorithm, data, trials):
    """Return what the noise did to the models and to the messages of one iteration."""
    (iterate,) = replace(algorithm, iterations=1).iterates(data, trials, rng(5))
    return iterate.perturbed - iterate.models, iterate.state.messages


def covariance_z(samples, covariance):
    """Return the largest z-score of the empirical second moments of centred Gaussians."""
    n = len(samples)
    variances = np.diag(covariance)
    error = np.sqrt((np.outer(variances, variances) + covariance**2) / n)
    return np.abs((samples.T @ samples / n - covariance) / np.maximum(error, 1e-12)).max()


@pytest.mark.parametrize("make_some", [lambda: make_data(12), dependent_data])
@pytest.mark.parametrize("kind", NOISES)
def test_the_covariance_of_the_noise(kind, make_some):
    data, sigma = make_some(), (0.5, 0.3, 2.0)
    algorithm = make(noise=replace(NOISES[kind], scale=sigma))
    xi, messages = first_noise(algorithm, data, 40_000)
    for m, (columns, party) in enumerate(
        zip(column_slices(BLOCKS), split_into_parties(data, BLOCKS), strict=True)
    ):
        design, identity = party.design, np.eye(party.dimension)
        inverse = np.linalg.pinv(design.T @ design, hermitian=True, rcond=1e-12)
        model, message = {
            "parameter": (identity, design @ design.T),
            "whitened": (inverse, design @ inverse @ design.T),
            "message": (0 * identity, np.eye(len(design))),
        }[kind]
        assert covariance_z(xi[:, columns], sigma[m] ** 2 * model) < 5.5
        assert covariance_z(messages[:, m], sigma[m] ** 2 * message) < 5.5
        if kind == "whitened":
            assert covariance_z(messages[:, m], 1.1 * sigma[m] ** 2 * message) > 5.5


@pytest.mark.parametrize("kind", NOISES)
def test_which_messages_betray_the_column_space(kind):
    data = make_data(20)
    messages = make(noise=NOISES[kind]).messages().sample(data, 4, rng())
    for m, party in enumerate(split_into_parties(data, BLOCKS)):
        basis, _ = np.linalg.qr(party.design)
        outside = messages[:, :, m] - messages[:, :, m] @ basis @ basis.T
        assert (np.abs(outside).max() < 1e-12) == (kind != "message")


def test_whitened_noise_survives_dependent_columns():
    data = dependent_data()
    assert [len(party.singular_values) for party in split_into_parties(data, BLOCKS)] == [2, 2, 1]
    messages = make(noise=WhitenedNoise(1.0)).messages().sample(data, 50, rng())
    assert np.abs(messages).max() < 50


def test_the_published_constants():
    c = compute_published_sensitivity(
        features=4,
        parties=2,
        penalty=10.0,
        regulariser_weight=1e-3,
        regulariser_curvature=1.0,
        bound=1.0,
    )
    assert c == pytest.approx(3 / 40 * (1e-3 + 21))
    assert compute_published_noise_scale(0.5, 1e-5, c) == pytest.approx(2 * c * 4.844805262605389)


# Views


def test_the_views_show_one_run():
    data, algorithm = make_data(), make(noise=ParameterNoise(0.2))
    network = algorithm.network().sample(data, 3, rng())
    messages = algorithm.messages().sample(data, 3, rng())
    models = algorithm.models().sample(data, 3, rng())
    assert network.shape == (3, 4, 5, 9)
    assert models.shape == (3, 4, 6)
    np.testing.assert_array_equal(network[:, :, :3], messages)
    gap, dual = network[:, :, 3], network[:, :, 4]
    steps = np.diff(dual, axis=1, prepend=0)
    np.testing.assert_allclose(steps, algorithm.penalty * gap, atol=1e-14)  # eq. (9)


def test_the_message_view_is_the_law_to_the_last_bit():
    data, algorithm = make_data(), make(noise=MessageNoise((0.1, 0.2, 0.3)))
    walked = np.stack([i.state.messages for i in algorithm.iterates(data, 3, rng())], axis=1)
    np.testing.assert_array_equal(algorithm.messages().sample(data, 3, rng()), walked)


def test_only_the_message_variant_has_a_law():
    assert isinstance(make(noise=MessageNoise(1.0)).messages(), Tiltable)
    for noise in (NoNoise(), ParameterNoise(1.0), WhitenedNoise(1.0)):
        assert isinstance(make(noise=noise).messages(), Mechanism)
        assert not isinstance(make(noise=noise).messages(), HasLaw)
    assert not isinstance(make(noise=MessageNoise(1.0)).network(), HasLaw)


def test_the_first_message_holds_no_data():
    first = make().messages().sample(make_data(), 1, rng())[:, 0]
    np.testing.assert_array_equal(first, np.zeros_like(first))
