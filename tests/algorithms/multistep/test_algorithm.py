"""Multi-step DP-ADMM: against the loop, its views, its final average, its refusals."""

import itertools

import numpy as np
import pytest

from dpaudit.accounting.events import GaussianRelease
from dpaudit.algorithms.multistep.algorithm import (
    MultiStepADMM,
    compute_theorem6_multiplier,
    final_model,
)
from dpaudit.algorithms.problems.graphs import complete, ring
from dpaudit.algorithms.problems.losses import LINEAR, LOGISTIC, LOSSES
from dpaudit.algorithms.problems.step_sizes import DecayingStepSize
from dpaudit.datasets import Dataset
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.mechanisms.mechanism import HasLaw, Mechanism

UNEVEN = (5, 1, 9, 3)
EXACT = {"rtol": 0, "atol": 1e-10}


def rng(seed=0):
    return np.random.default_rng(seed)


# Against the loop


@pytest.mark.parametrize("inner_steps", [1, 3])
@pytest.mark.parametrize("weight", [0.0, 0.5])
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
def test_batched_and_loop_agree(
    graph, loss, weight, inner_steps, make_algorithm, make_data, loop_of
):
    data = make_data(UNEVEN[: graph.nodes])
    algorithm = make_algorithm(
        graph=graph, loss=loss, regulariser_weight=weight, inner_steps=inner_steps
    )
    batched = algorithm.inner().sample(data, 4, rng())
    looped = loop_of(algorithm, data).sample(4, rng())
    assert batched.shape == (4, 3 * inner_steps, graph.nodes, 3)
    np.testing.assert_allclose(batched, looped, **EXACT)


@pytest.mark.parametrize("inner_steps", [1, 3])
def test_they_agree_with_the_published_step_size(
    graph, inner_steps, make_algorithm, make_data, loop_of, reference
):
    data = make_data(UNEVEN[: graph.nodes])
    published = {"epsilon": 2.0, "delta": 1e-5, "steps": 3 * inner_steps}
    algorithm = make_algorithm(
        graph=graph,
        inner_steps=inner_steps,
        noise_multiplier=compute_theorem6_multiplier(**published),
        step_size=DecayingStepSize(diameter=4.0),
    )
    c_2 = data.nodes + algorithm.regulariser_weight * 4.0
    constants = {"sizes": data.node_sizes, "d": 3, "diameter": 4.0, "c_0": 1.0, "c_1": 1.0}
    eta = reference.published_eta(**published, **constants, c_2=c_2)
    batched = algorithm.inner().sample(data, 4, rng())
    np.testing.assert_allclose(batched, loop_of(algorithm, data, eta).sample(4, rng()), **EXACT)


def test_they_agree_on_nodes_of_many_records(make_algorithm, make_data, loop_of):
    data = make_data((1300, 2, 700, 512), dimension=6)
    algorithm = make_algorithm(graph=ring(4))
    batched = algorithm.inner().sample(data, 3, rng())
    np.testing.assert_allclose(batched, loop_of(algorithm, data).sample(3, rng()), **EXACT)


@pytest.mark.parametrize(
    "change",
    [{"penalty": 0.31}, {"regulariser_weight": 0.21}, {"noise_multiplier": 2.01}, {"loss": LINEAR}],
    ids=str,
)
def test_the_loop_tells_parameters_apart(change, make_algorithm, make_data, loop_of):
    data = make_data(UNEVEN)
    batched = make_algorithm(graph=complete(4)).inner().sample(data, 4, rng())
    looped = loop_of(make_algorithm(graph=complete(4), **change), data).sample(4, rng())
    assert np.abs(batched - looped).max() > 1e-5


# Views and the final model


def test_the_broadcast_view_is_the_mean_over_the_inner_steps(make_algorithm, make_data):
    data, algorithm = make_data((4, 2)), make_algorithm(iterations=4, inner_steps=3)
    inner = algorithm.inner().sample(data, 5, rng())
    broadcast = algorithm.broadcast().sample(data, 5, rng())
    assert broadcast.shape == (5, 4, 2, 3)
    for k in range(4):
        mean = sum(inner[:, 3 * k + r] for r in range(3)) / 3
        np.testing.assert_allclose(broadcast[:, k], mean, atol=1e-14)


@pytest.mark.parametrize("inner_steps", [1, 4])
def test_the_final_model_is_equation_22(inner_steps, make_algorithm, make_data):
    data, algorithm = make_data((4, 2)), make_algorithm(inner_steps=inner_steps)
    outputs = algorithm.inner().sample(data, 2, rng())
    for trial, node in np.ndindex(2, 2):
        total, before = np.zeros(3), np.zeros(3)  # w~^{1,0} is the initial model
        models = iter(outputs[trial, :, node])
        for _k, _r in itertools.product(range(3), range(inner_steps)):
            total += before
            before = next(models)
        expected = total / 3 / inner_steps
        np.testing.assert_allclose(final_model(outputs)[trial, node], expected, atol=1e-14)


def test_the_objective_is_the_sum_of_the_nodes_means(make_algorithm, make_data):
    data, models = make_data((4, 2)), rng().standard_normal((3, 2, 3))
    objective = make_algorithm(regulariser_weight=0.6).objective(models, data)
    for trial in range(3):
        expected = 0.0
        for node, start in ((0, 0), (1, 4)):
            w, size = models[trial, node], data.node_sizes[node]
            for a, b in zip(data.features[start:][:size], data.labels[start:][:size], strict=True):
                expected += np.log1p(np.exp(-b * (a @ w))) / size
            expected += 0.6 / 2 * (w @ w) / 2
        assert objective[trial] == pytest.approx(expected, rel=1e-13)


# The stochastic variant


def test_the_stochastic_variant_averages_to_the_full_step(make_algorithm, make_data):
    data, trials = make_data((6, 4)), 40_000
    algorithm = make_algorithm(batch_size=2, noise_multiplier=0.0, iterations=1, inner_steps=1)
    drawn = algorithm.inner().sample(data, trials, rng())[:, 0]
    full = make_algorithm(noise_multiplier=0.0, iterations=1, inner_steps=1)
    exact = full.inner().sample(data, 1, rng())[0, 0]
    error = drawn.std(axis=0) / np.sqrt(trials)
    assert error.min() > 0
    assert np.abs((drawn.mean(axis=0) - exact) / error).max() < 5


def test_batches_of_equal_records_are_the_full_gradient(make_algorithm):
    same = Dataset(np.tile([[0.6, 0.0, 0.8]], (6, 1)), np.ones(6), node_sizes=(4, 2))
    algorithm = make_algorithm(batch_size=3)
    # Without noise, because batches and noise are drawn from one generator.
    still, full = algorithm.without_noise(), make_algorithm().without_noise()
    stochastic = still.inner().sample(same, 2, rng())
    np.testing.assert_allclose(stochastic, full.inner().sample(same, 2, rng()), atol=1e-14)


def test_the_stochastic_variant_offers_no_law_and_no_event(make_algorithm, make_data):
    algorithm = make_algorithm(batch_size=2)
    assert isinstance(algorithm.inner(), Mechanism)
    assert not isinstance(algorithm.inner(), HasLaw)
    assert not isinstance(algorithm.broadcast(), HasLaw)
    assert isinstance(make_algorithm().inner(), HasLaw)
    assert algorithm.broadcast().sample(make_data((6, 4)), 2, rng()).shape == (2, 3, 2, 3)
    with pytest.raises(UnsupportedEvent, match="mini-batches"):
        algorithm.event()


def test_the_event_counts_every_step(make_algorithm):
    event = make_algorithm(iterations=4, inner_steps=5, noise_multiplier=3.0).event()
    assert event == GaussianRelease(sensitivity=1.0, noise_scale=3.0, count=20)
    with pytest.raises(UnsupportedEvent, match="no noise"):
        make_algorithm().without_noise().event()


# Determinism


@pytest.mark.parametrize("batch_size", [None, 2])
@pytest.mark.parametrize("view", ["inner", "broadcast"])
def test_one_seed_one_result(view, batch_size, make_algorithm, make_data):
    mechanism = getattr(make_algorithm(batch_size=batch_size), view)()
    one, again, other = (mechanism.sample(make_data((4, 2)), 3, rng(seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).min() > 0


def test_trials_differ_and_the_global_generator_is_left_alone(make_algorithm, make_data):
    before = repr(np.random.get_state())  # noqa: NPY002 - this is the state nothing may touch
    outputs = make_algorithm().inner().sample(make_data((4, 2)), 3, rng())
    assert repr(np.random.get_state()) == before  # noqa: NPY002
    assert np.abs(outputs[0] - outputs[1]).min() > 0


# Refusals


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("iterations", 0),
        ("iterations", 2.0),
        ("inner_steps", 0),
        ("inner_steps", True),
        ("noise_multiplier", -1.0),
        ("noise_multiplier", np.nan),
        ("penalty", -0.1),
        ("penalty", 0.0),
        ("penalty", np.inf),
        ("regulariser_weight", -1e-9),
        ("regulariser_weight", np.nan),
        ("batch_size", 0),
    ],
)
def test_bad_parameters_are_refused_by_name(name, value, make_algorithm):
    with pytest.raises(InvalidArgument) as refusal:
        make_algorithm(**{name: value})
    assert refusal.value.name == name


UNIT = np.eye(3)[[0, 1, 2, 0]]
SIGNS = [1.0, -1.0, 1.0, -1.0]


@pytest.mark.parametrize(
    ("features", "labels", "sizes", "name"),
    [
        (UNIT, SIGNS, (2, 1, 1), "dataset"),  # three nodes, a graph of two
        (UNIT, [1.0, 0.0, 1.0, 0.0], (2, 2), "labels[1]"),
        (UNIT * [[1], [1], [1], [1.001]], SIGNS, (2, 2), "norm of features[3]"),
    ],
)
@pytest.mark.parametrize("view", ["inner", "broadcast"])
@pytest.mark.parametrize("batch_size", [None, 1])
def test_bad_data_are_refused_by_name(
    features, labels, sizes, name, view, batch_size, make_algorithm
):
    data = Dataset(features, labels, node_sizes=sizes)
    with pytest.raises(InvalidArgument) as refusal:
        getattr(make_algorithm(batch_size=batch_size), view)().sample(data, 1, rng())
    assert refusal.value.name == name


def test_data_with_nan_are_refused():
    with pytest.raises(InvalidArgument, match=r"^features\[1, 2\]: got nan"):
        Dataset([[0.0, 0.0, 1.0], [0.0, 1.0, np.nan]], [1.0, -1.0])


def test_a_stochastic_step_needs_a_batch_size(make_algorithm, make_data):
    data, algorithm = make_data((4, 2)), make_algorithm()
    with pytest.raises(InvalidArgument, match="batch_size: got None"):
        algorithm.stochastic_step(algorithm.start(data, 1), data, rng())


def test_parameters_are_keywords_with_documented_defaults():
    algorithm = MultiStepADMM(graph=ring(2), iterations=1, inner_steps=1, noise_multiplier=1.0)
    assert (algorithm.loss, algorithm.step_size) == (LOGISTIC, DecayingStepSize())
    with pytest.raises(TypeError):
        MultiStepADMM(ring(2), 1, 1, 1.0)
