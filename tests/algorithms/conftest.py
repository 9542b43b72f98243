"""The second implementation of multi-step DP-ADMM, small datasets, and algorithms for them."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.problems.graphs import complete, from_edges, random_connected, ring, star
from dpaudit.algorithms.problems.losses import LOGISTIC
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize
from dpaudit.datasets import Dataset, breast_cancer, split_unevenly
from dpaudit.neighbours import REPLACE_RECORD, Pair

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"

GRAPHS = {
    "complete": complete(4),
    "ring": ring(4),
    "star": star(4),
    "random": random_connected(4, np.random.default_rng(3)),
    "edges": from_edges(4, [(0, 2), (2, 1), (1, 3), (3, 2)]),
    "two nodes": ring(2),
    "one node": complete(1),
}


@pytest.fixture(scope="session")
def load_benchmark():
    """Return a loader of a script's module by name; the benchmarks are no package."""

    def load(name):
        spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
        module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


@pytest.fixture(scope="session")
def reference(load_benchmark):
    return load_benchmark("_reference_loop")


@pytest.fixture(scope="session", params=GRAPHS)
def graph(request):
    return GRAPHS[request.param]


@pytest.fixture(scope="session")
def make_data():
    """Return a maker of random records of norm at most 1, some of exactly 1."""

    def make(sizes, dimension=3, seed=0):
        rng = np.random.default_rng(seed)
        features = rng.standard_normal((sum(sizes), dimension))
        features /= np.maximum(1, np.linalg.norm(features, axis=1, keepdims=True))
        return Dataset(features, rng.choice([-1.0, 1.0], sum(sizes)), node_sizes=sizes)

    return make


@pytest.fixture(scope="session")
def make_pair(make_data):
    """Return a maker of neighbours: one record of the last node becomes its opposite."""

    def make(sizes=(5, 3), dimension=3, seed=0):
        data = make_data(sizes, dimension, seed)
        row = len(data.labels) - 2
        unit = np.eye(dimension)[0]
        one, other = data.with_record(row, unit, 1.0), data.with_record(row, -unit, 1.0)
        return Pair(one, other, REPLACE_RECORD)

    return make


@pytest.fixture(scope="session")
def make_algorithm():
    """Return a maker of the algorithm, here a small one on two nodes with noise that bites."""

    def make(kind=MultiStepADMM, **options):
        usual = {
            "graph": ring(2),
            "iterations": 3,
            "inner_steps": 2,
            "noise_multiplier": 2.0,
            "penalty": 0.3,
            "loss": LOGISTIC,
            "regulariser_weight": 0.2,
            "step_size": ConstantStepSize(1.5),
        }
        return kind(**usual | options)

    return make


@pytest.fixture(scope="session")
def loop_of(reference):
    """Return the maker of the loop for an algorithm with a constant step size, or another eta."""

    def make(algorithm, data, eta=None):
        adjacency = algorithm.graph.adjacency
        return reference.LoopADMM(
            records=[data.signed_records[data.rows_of(node)] for node in range(data.nodes)],
            neighbours=[np.flatnonzero(row).tolist() for row in adjacency],
            slope=reference.SLOPES[algorithm.loss.name],
            eta=eta or (lambda k, r, i: algorithm.step_size.value),
            sigma=algorithm.noise_multiplier,
            iterations=algorithm.iterations,
            inner_steps=algorithm.inner_steps,
            rho=algorithm.penalty,
            lam=algorithm.regulariser_weight,
        )

    return make


@pytest.fixture(scope="session")
def real_data():
    """Return the breast-cancer records, dealt unevenly to four nodes."""
    return split_unevenly(breast_cancer(), 4, np.random.default_rng(1))
