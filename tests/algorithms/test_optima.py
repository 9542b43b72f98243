"""Without noise every algorithm reaches the centralised optimum on real records, to 1e-6.

Breast cancer and slices of a9a and Adult; gaps are absolute, in objectives of 0.5 to 2.5. The
oracle is scikit-learn's logistic regression, accepted by a gradient that is written out here and
vanishes. ADMM over joined tables has a file of its own, ``test_optima_tables.py``.
"""

import os
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.consensus.dp_admm_2019 import ServerADMM
from dpaudit.algorithms.multistep.algorithm import MultiStepADMM, final_model
from dpaudit.algorithms.problems.graphs import ring, star
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.fdml import FDML
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import a9a, adult, breast_cancer, split_unevenly, subset
from dpaudit.datasets.sources import DATA_VARIABLE

GRAPHS = {"ring": ring(4), "star": star(4)}
# Who holds which columns: halves, except for Adult, numbers with one and categories with the other.
LOADERS = {
    "breast-cancer": (breast_cancer, (12, 18)),
    "a9a": (a9a, (66, 57)),
    "adult": (adult, (6, 98)),
}
# Records of a9a and Adult, and of their longer slices when slow.
SLICES = {"": 300, "-long": 1200}
SPLITS = [
    "breast-cancer",
    "a9a",
    "adult",
    *(pytest.param(f"{name}-long", marks=pytest.mark.slow) for name in ("a9a", "adult")),
]
CLOSE = 1e-6
# Weights of the regulariser: beside a sum of four nodes' mean losses, beside one mean loss.
OF_NODES, OF_SAMPLES = 0.1, 0.02


def rng(seed=0):
    return np.random.default_rng(seed)


class Optimum:
    """The least of ``sum shares_n log(1 + exp(-y_n x_n'w)) + weight ||w||^2 / 2``."""

    def __init__(self, data, shares, weight):
        self.data, self.shares, self.weight = data, shares, weight
        fit = LogisticRegression(
            C=1 / weight, fit_intercept=False, tol=1e-12, max_iter=1000, solver="newton-cholesky"
        ).fit(data.features, data.labels, sample_weight=shares)
        self.model = fit.coef_[0]
        # By strong convexity the gap is at most ||gradient||^2 / (2 weight), here 1e-17 or less.
        assert np.linalg.norm(self.gradient(self.model)) < 1e-9
        assert self.gap(np.zeros(data.dimension)) > 0.1

    def gradient(self, w):
        margins = self.data.labels * (self.data.features @ w)
        slopes = -self.shares * self.data.labels / (1 + np.exp(margins))
        return slopes @ self.data.features + self.weight * w

    def value(self, w):
        margins = self.data.labels * (self.data.features @ w)
        return self.shares @ np.logaddexp(0, -margins) + self.weight / 2 * w @ w

    def gap(self, w):
        return self.value(w) - self.value(self.model)

    def gaps(self, models):
        return np.array([self.gap(model) for model in models])


@pytest.fixture(scope="module", params=SPLITS)
def records(request):
    """Return some hundred or thousand real records, and a split of their columns."""
    name = request.param.removesuffix("-long")
    load, blocks = LOADERS[name]
    if name == "breast-cancer":
        return load(), blocks
    if not os.environ.get(DATA_VARIABLE):
        pytest.skip(f"{DATA_VARIABLE} does not name the directory of {name}")
    count = SLICES[request.param.removeprefix(name)]
    return subset(load(), count, rng()), blocks


@pytest.fixture(scope="module")
def spread(records):
    """Return the records, dealt unevenly to four nodes."""
    return split_unevenly(records[0], 4, rng(1))


@pytest.fixture(scope="module")
def of_nodes(spread):
    """Return the optimum of the sum of the nodes' mean losses."""
    shares = np.repeat([1 / size for size in spread.node_sizes], spread.node_sizes)
    optimum = Optimum(spread, shares, OF_NODES)
    pooled = Optimum(spread, np.full(len(shares), 4 / len(shares)), OF_NODES)
    assert optimum.gap(pooled.model) > 100 * CLOSE
    return optimum


def of_samples(data):
    """Return the optimum of the mean loss of all records."""
    return Optimum(data, np.full(len(data.labels), 1 / len(data.labels)), OF_SAMPLES)


def assert_consensus_at(optimum, models):
    """Assert that every node's model is optimal, and that all of them are the same."""
    gaps = optimum.gaps(models)
    assert -1e-12 < gaps.min() <= gaps.max() < CLOSE
    assert np.abs(models - models[0]).max() < 1e-4


def assert_objective(optimum, algorithm, models):
    """Assert that the algorithm measures its models as the oracle does."""
    objective = algorithm.objective(models[None], optimum.data).item()
    assert objective == pytest.approx(optimum.value(optimum.model), abs=CLOSE)


# Horizontal splits, exact minimisation at every node


def consensus(graph, iterations):
    return ConsensusADMM(
        graph=graph,
        iterations=iterations,
        penalty=Geometric((0.11, 0.13, 0.12, 0.11), (1.001, 1.0, 1.002, 1.001)),
        dual_step=0.1,
        regulariser_weight=OF_NODES,
    )


VARIANTS = {
    "admm": lambda graph: consensus(graph, 200).dual_variable_perturbation(),
    "m-admm": lambda graph: consensus(graph, 200).penalty_perturbation(),
    "r-admm": lambda graph: consensus(graph, 300).recycled(0.5),
}


# On a ring with all records; on a star with one set of them, and with the others when slow.
PLACES = [
    pytest.param(
        name + length, graph, id=f"{name}{length}-{shape}", marks=[pytest.mark.slow] * bool(later)
    )
    for name in LOADERS
    for length in (SLICES if name != "breast-cancer" else [""])
    for shape, graph in GRAPHS.items()
    for later in [(shape == "star" and name != "breast-cancer") or length]
]


@pytest.mark.slow
@pytest.mark.parametrize(("records", "graph"), PLACES, indirect=["records"], scope="module")
@pytest.mark.parametrize("variant", VARIANTS.values(), ids=VARIANTS)
def test_consensus_admm(variant, graph, spread, of_nodes):
    mechanism = variant(graph)
    models = mechanism.sample(spread, 1, rng())[0, -1]
    assert_consensus_at(of_nodes, models)
    assert_objective(of_nodes, mechanism.algorithm, models)


# Horizontal splits, gradient steps at every node


def multi_step(graph=GRAPHS["ring"], **options):
    usual = {
        "iterations": 600,
        "inner_steps": 1,
        "noise_multiplier": 0.0,
        "penalty": 0.05,
        "regulariser_weight": OF_NODES,
        "step_size": ConstantStepSize(0.3),
    }
    return MultiStepADMM(graph=graph, **usual | options)


def by_server(**options):
    usual = {
        "iterations": 800,
        "noise_multiplier": 0.0,
        "penalty": 0.1,
        "regulariser_weight": OF_NODES,
        "step_size": ConstantStepSize(0.3),
    }
    return ServerADMM(nodes=4, **usual | options)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
@pytest.mark.parametrize("inner_steps", [1, 2, 5])
def test_multi_step_admm(inner_steps, graph, spread, of_nodes):
    algorithm = multi_step(graph, inner_steps=inner_steps)
    models = algorithm.broadcast().sample(spread, 1, rng())[0, -1]
    assert_consensus_at(of_nodes, models)
    assert_objective(of_nodes, algorithm, models)


def test_linearised_admm_through_a_server(spread, of_nodes):
    models = by_server().broadcast().sample(spread, 1, rng())[0, -1]
    assert_consensus_at(of_nodes, models)


# What takes thousands of steps whatever the records: on the smallest, with the others when slow.
FEWEST = [
    pytest.param(name, marks=[pytest.mark.slow] * (name != "breast-cancer"))
    for name in ("breast-cancer", "a9a-long", "adult-long")
]

PUBLISHED = {
    "one step": lambda step: multi_step(step_size=step),
    "two steps": lambda step: multi_step(inner_steps=2, step_size=step),
    "server": lambda step: by_server(step_size=step),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("make", PUBLISHED.values(), ids=PUBLISHED)
def test_the_published_step_size_reaches_it_too(make, spread, of_nodes):
    """By eq. (23) the proximal weight grows like sqrt(k); the diameter says how fast."""
    algorithm = make(DecayingStepSize(diameter=10.0))
    path = algorithm.broadcast().sample(spread, 1, rng())[0]
    assert of_nodes.gaps(path[50]).min() > 10 * CLOSE
    assert_consensus_at(of_nodes, path[-1])


@pytest.mark.slow
@pytest.mark.parametrize("records", FEWEST, indirect=True, scope="module")
def test_the_published_average_takes_thousands_of_iterations(spread, of_nodes):
    """Eq. (22) weighs the start as much as the end: its distance falls like 1/t, the gap 1/t^2."""
    outputs = multi_step(iterations=12_000).inner().sample(spread, 1, rng())
    gaps = [of_nodes.gaps(final_model(outputs[:, :t])[0]).max() for t in (3000, 6000, 12_000)]
    assert gaps[0] > 2 * CLOSE
    assert gaps[2] < CLOSE
    np.testing.assert_allclose(np.divide(gaps[:-1], gaps[1:]), 4, rtol=0.05)
    assert of_nodes.gaps(outputs[0, 3000]).max() < 1e-12


# Vertical splits


def fdml(blocks, **options):
    risk = Risk(regulariser_weight=OF_SAMPLES)
    return FDML(**{"block_sizes": blocks, "epochs": 600, "risk": risk} | options)


def test_sharing_admm(records):
    data, blocks = records
    optimum, risk = of_samples(data), Risk(regulariser_weight=OF_SAMPLES)
    algorithm = SharingADMM(
        block_sizes=blocks, iterations=300, penalty=0.4 / len(data.labels), risk=risk
    )
    *_, last = algorithm.iterates(data, 1, rng())
    assert -1e-12 < optimum.gap(last.models[0]) < CLOSE
    assert risk.value(last.models, data).item() == pytest.approx(
        optimum.value(last.models[0]), abs=1e-12
    )


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_fdml_with_all_samples_in_a_step(decay, records):
    data, blocks = records
    optimum, algorithm = of_samples(data), fdml(blocks, step_size=3.0, decay=decay)
    path = algorithm.sample(data, 1, rng())[0]
    assert -1e-12 < optimum.gap(path[-1]) < CLOSE
    assert optimum.gap(path[10]) > 10 * CLOSE
    assert algorithm.risk.value(path[-1:], data).item() == pytest.approx(
        optimum.value(optimum.model), abs=CLOSE
    )


@pytest.mark.slow
@pytest.mark.parametrize("records", FEWEST, indirect=True, scope="module")
def test_fdml_with_batches_of_one_size_and_a_falling_step(records):
    data, blocks = records
    whole = subset(data, len(data.labels) // 50 * 50, rng())
    optimum = of_samples(whole)
    batches = fdml(blocks, batch_size=50, step_size=2.0, decay=0.5)
    gaps = optimum.gaps(batches.sample(whole, 3, rng())[:, -1])
    assert -1e-12 < gaps.min() <= gaps.max() < CLOSE
    constant = optimum.gaps(replace(batches, decay=0.0).sample(whole, 3, rng())[:, -1])
    assert constant.min() > CLOSE


@pytest.mark.slow
def test_a_smaller_last_batch_slows_fdml_down():
    """Its records count more than others: an epoch's steps no longer add up to the gradient.

    What is left is of the order of the step size instead of its square.
    """
    data = breast_cancer()
    assert len(data.labels) % 50 == 19
    algorithm = fdml((12, 18), batch_size=50, step_size=2.0, decay=0.5)
    even, odd = (
        np.median(of_samples(part).gaps(algorithm.sample(part, 8, rng())[:, -1]))
        for part in (subset(data, 550, rng()), data)
    )
    assert odd > CLOSE
    assert odd > 30 * even
