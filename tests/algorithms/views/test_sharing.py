"""Views of ADMM sharing, held to runs of the algorithm itself."""

import dataclasses
from functools import cache

import numpy as np
import pytest

from dpaudit.algorithms.problems.regularisers import L1
from dpaudit.algorithms.problems.sample_losses import LOGISTIC, SQUARED
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise, NoNoise, ParameterNoise, WhitenedNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.algorithms.views.sharing import LinearSharing
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument

from .runs import (
    ROUNDS,
    brute_mu,
    check_draws,
    differentiated,
    observers,
    relabelled,
    slowly,
)

BLOCKS = {"two parties": (1, 2), "three parties": (1, 1, 1), "four parties": (1, 1, 1, 1)}
SAMPLES = 2


def make(blocks, rounds=ROUNDS, noise=None):
    risk = Risk(loss=SQUARED, scaling="sum", regulariser_weight=0.5)
    noise = noise or MessageNoise(tuple(0.5 + 0.1 * m for m in range(len(blocks))))
    return LinearSharing(
        SharingADMM(block_sizes=blocks, iterations=rounds, penalty=2.0, risk=risk, noise=noise)
    )


def make_data(blocks):
    rng = np.random.default_rng(1)
    return Dataset(rng.normal(size=(SAMPLES, sum(blocks))) / 2, [1.0, -1.0])


@cache
def long_runs(name):
    blocks = BLOCKS[name]
    sharing, data = make(blocks), make_data(blocks)
    shape, other = (ROUNDS, len(blocks), SAMPLES), relabelled(data)
    slopes, sent = differentiated(lambda normals: sharing.messages(data, normals), shape)
    moved = sharing.messages(other, np.zeros((1, *shape))).ravel() - sent
    network = sharing.network(data)
    change = (sharing.data(other) - sharing.data(data)).tolist()
    views = {key: network.view(observer, change) for key, observer in observers(network)}
    return sharing, (data, other), shape, slopes, moved, network, views


def test_the_forms_are_derivatives_of_runs():
    _, _, _, slopes, moved, _, views = long_runs("two parties")
    noise, found = views["all edges"].moments()
    np.testing.assert_allclose(noise, slopes, atol=1e-12)
    np.testing.assert_allclose(found, moved, atol=1e-12)


def test_messages_are_those_of_the_algorithm():
    sharing, (data, _), *_ = long_runs("two parties")
    own = sharing.algorithm.network().sample(data, 4, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    normals = np.stack(
        [rng.standard_normal((4, *long_runs("two parties")[2][1:])) for _ in range(ROUNDS)], axis=1
    )
    np.testing.assert_allclose(sharing.messages(data, normals), own[:, :, :-1], atol=1e-12)


@pytest.mark.parametrize("name", ["two parties", "three parties", *slowly("four parties")])
def test_mu_is_that_of_plain_linear_algebra(name):
    _, _, shape, slopes, moved, network, views = long_runs(name)
    for key, view in views.items():
        assert view.infinite == sees_through(key, shape[1]), key
        assert view.proof == "exact"
        if view.infinite:
            continue
        brute = brute_mu(network, view, slopes, moved)
        assert view.mu.lower * (1 - 1e-9) <= brute <= view.mu.upper * (1 + 1e-9), key


def sees_through(key, parties):
    """The centre adds no noise: its gap and the sum of all messages tell z, and z the labels."""
    return key in ("all edges", f"participant {parties}") or (key, parties) == ("1 and 2", 2)


def draws(name, runs):
    sharing, both, shape, slopes, _, network, views = long_runs(name)
    rng = np.random.default_rng(7)
    check_draws(
        network,
        views,
        slopes,
        lambda s, z: sharing.messages(both[s], z),
        shape,
        rng,
        runs=runs,
        block=5000,
    )


@pytest.mark.parametrize("name", ["two parties", "three parties", *slowly("four parties")])
def test_mu_is_that_of_draws(name):
    draws(name, 5_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCKS)
def test_mu_is_that_of_a_million_draws(name):
    draws(name, 1_000_000)


def test_all_parties_together_see_the_labels():
    sharing, data = make((1, 1), rounds=2), make_data((1, 1))
    network = sharing.network(data)
    view = network.view(network.coalition(0, 1), [1, 0])
    assert (view.infinite, view.proof) == (True, "exact")
    assert network.view(network.coalition(2), [1, 0]).infinite  # the centre's own


def test_a_party_without_noise_leaves_the_rest_to_hide_the_labels():
    data = make_data((1, 1))
    network = make((1, 1), rounds=3, noise=MessageNoise((0.0, 1.0))).network(data)
    assert not network.view(network.coalition(0), [1, 0]).infinite
    assert network.view(network.coalition(1), [1, 0]).infinite


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("noise", {"noise": ParameterNoise(1.0)}),
        ("noise", {"noise": WhitenedNoise(1.0)}),
        ("noise", {"noise": NoNoise()}),
        ("loss", {"risk": Risk(loss=LOGISTIC)}),
        ("risk", {"risk": Risk(loss=SQUARED, regulariser=L1)}),
        ("risk", {"risk": Risk(loss=SQUARED, regulariser_weight=0.0)}),
        ("risk", {"radius": 1.0}),
    ],
)
def test_what_is_not_linear_or_not_gaussian_is_refused(name, changes):
    with pytest.raises(InvalidArgument) as caught:
        LinearSharing(dataclasses.replace(make((1, 1)).algorithm, **changes))
    assert caught.value.name == name
