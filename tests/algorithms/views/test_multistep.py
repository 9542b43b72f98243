"""Views of multi-step DP-ADMM, held to runs of the algorithm itself and to its theorem."""

from functools import cache

import numpy as np
import pytest

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.graphs import complete, ring
from dpaudit.algorithms.problems.losses import LINEAR, LOGISTIC, SQUARED
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.algorithms.views.multistep import LinearMultiStep
from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument

from .runs import (
    GRAPHS,
    ROUNDS,
    brute_mu,
    check_draws,
    differentiated,
    make_data,
    observers,
    relabelled,
    slowly,
)

INNER = 2


def make(graph, *, rounds=ROUNDS, loss=SQUARED, seen="broadcast", inner=INNER, multiplier=2.0):
    squared = loss == SQUARED
    algorithm = MultiStepADMM(
        graph=graph,
        iterations=rounds,
        inner_steps=inner,
        noise_multiplier=multiplier,
        loss=loss,
        regulariser_weight=0.1,
        step_size=ConstantStepSize(1.0) if squared else DecayingStepSize(),
    )
    return LinearMultiStep(algorithm, 0.3 if squared else None, seen=seen)


@pytest.mark.parametrize("seen", ["broadcast", "inner"])
@pytest.mark.parametrize("loss", [SQUARED, LINEAR], ids=lambda loss: loss.name)
def test_the_forms_are_derivatives_of_runs(loss, seen):
    graph, data = ring(3), make_data(ring(3), dimension=2)
    multistep = make(graph, rounds=3, loss=loss, seen=seen)
    shape, other = (3 * INNER, 3, 2), relabelled(data)
    slopes, sent = differentiated(lambda normals: multistep.messages(data, normals), shape)
    moved = multistep.messages(other, np.zeros((1, *shape))).ravel() - sent
    network = multistep.network(data)
    change = (multistep.data(other) - multistep.data(data)).tolist()
    noise, found = network.view(network.eavesdropper(), change).moments()
    np.testing.assert_allclose(noise, slopes, atol=1e-12)
    np.testing.assert_allclose(found, moved, atol=1e-12)


@pytest.mark.parametrize("seen", ["broadcast", "inner"])
def test_messages_are_those_of_the_algorithm(seen):
    data = make_data(ring(3), dimension=2)
    multistep = make(ring(3), rounds=3, loss=LINEAR, seen=seen)
    own = getattr(multistep.algorithm, seen)().sample(data, 4, np.random.default_rng(3))
    rng = np.random.default_rng(3)
    normals = np.stack([rng.standard_normal((4, 3, 2)) for _ in range(3 * INNER)], axis=1)
    np.testing.assert_allclose(multistep.messages(data, normals), own, atol=1e-12)


def test_runs_of_squared_losses_are_those_of_the_algorithm():
    data, normals = (
        make_data(ring(3), dimension=2),
        np.random.default_rng(2).normal(size=(2, 6, 3, 2)),
    )
    multistep = make(ring(3), rounds=3, seen="inner")
    algorithm, sent = multistep.algorithm, []
    state = algorithm.start(data, 2)
    for step in range(6):
        with np.errstate(invalid="ignore"):
            sent.append(algorithm.step(state, data).mean + 0.3 * normals[:, step])
        state = algorithm.advance(state, sent[-1])
    np.testing.assert_allclose(
        multistep.messages(data, normals), np.stack(sent, axis=1), atol=1e-12
    )


@cache
def long_runs(name):
    graph = GRAPHS[name]
    data = make_data(graph)
    multistep, other = make(graph), relabelled(data)
    shape = (ROUNDS * INNER, graph.nodes, 1)
    slopes, sent = differentiated(lambda normals: multistep.messages(data, normals), shape)
    moved = multistep.messages(other, np.zeros((1, *shape))).ravel() - sent
    network = multistep.network(data)
    change = (multistep.data(other) - multistep.data(data)).tolist()
    views = {key: network.view(observer, change) for key, observer in observers(network)}
    return multistep, (data, other), shape, slopes, moved, network, views


@pytest.mark.parametrize("name", ["complete", *slowly("ring", "star")])
def test_mu_is_that_of_plain_linear_algebra(name):
    *_, slopes, moved, network, views = long_runs(name)
    for key, view in views.items():
        if view.knows_the_change:
            assert view.mu.lower == np.inf
            continue
        brute = brute_mu(network, view, slopes, moved)
        assert view.mu.lower * (1 - 1e-9) <= brute <= view.mu.upper * (1 + 1e-9), key
        assert view.proof == "exact"


def draws(name, runs):
    multistep, both, shape, slopes, _, network, views = long_runs(name)
    rng = np.random.default_rng(11)
    check_draws(
        network, views, slopes, lambda s, z: multistep.messages(both[s], z), shape, rng, runs=runs
    )


@pytest.mark.parametrize("name", ["complete", *slowly("ring", "star")])
def test_mu_is_that_of_draws(name):
    draws(name, 10_000)


@pytest.mark.slow
@pytest.mark.parametrize("name", GRAPHS)
def test_mu_is_that_of_a_million_draws(name):
    draws(name, 1_000_000)


def test_all_inner_models_are_worth_the_paper_s_mu():
    """Opposite records of norm 1 attain Lemma 5, whoever else there is: ``sqrt(t l) / sigma``."""
    data = Dataset(np.ones((3, 1)), [1, -1, 1], node_sizes=(1, 1, 1))
    multistep = make(complete(3), rounds=6, loss=LINEAR, seen="inner", inner=3, multiplier=5.0)
    network = multistep.network(data)
    change = (multistep.data(relabelled(data)) - multistep.data(data)).tolist()
    found = network.view(network.eavesdropper(), change).mu.upper
    assert found == pytest.approx(multistep.algorithm.event().count ** 0.5 / 5.0, rel=1e-12)
    hidden = make(complete(3), rounds=6, loss=LINEAR, inner=3, multiplier=5.0).network(data)
    assert hidden.view(hidden.eavesdropper(), change).mu.upper < 0.999 * found


@pytest.mark.parametrize(
    ("name", "make_it"),
    [
        ("loss", lambda one: LinearMultiStep(one(loss=LOGISTIC))),
        ("noise_scale", lambda one: LinearMultiStep(one(loss=SQUARED))),
        ("batch_size", lambda one: LinearMultiStep(one(loss=LINEAR, batch_size=1))),
        ("seen", lambda one: LinearMultiStep(one(loss=LINEAR), seen="all")),
    ],
)
def test_what_is_not_linear_is_refused(name, make_it):
    def one(**options):
        return MultiStepADMM(
            graph=ring(3), iterations=2, inner_steps=2, noise_multiplier=1.0, **options
        )

    with pytest.raises(InvalidArgument) as caught:
        make_it(one)
    assert caught.value.name == name


def test_a_step_without_noise_tells_nodes_next_to_it():
    data = make_data(complete(3))
    scales = np.full((4, 3), 0.5)
    multistep = LinearMultiStep(make(complete(3), rounds=2).algorithm, scales)
    change = (multistep.data(relabelled(data)) - multistep.data(data)).tolist()
    network = multistep.network(data)
    assert not network.view(network.coalition(1), change).infinite
    scales[:2, 0] = 0  # both steps of the first iteration
    network = LinearMultiStep(multistep.algorithm, scales).network(data)
    view = network.view(network.coalition(1), change)
    assert (view.infinite, view.proof) == (True, "exact")
