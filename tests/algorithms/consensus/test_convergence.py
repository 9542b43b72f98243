"""Theorems 3.1 and 3.2 of zhang2018 on random quadratics: what holds, and what does not."""

import numpy as np
import pytest

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import complete, random_connected
from dpaudit.algorithms.problems.schedules import TableSchedule
from dpaudit.algorithms.problems.smooth_losses import LINEAR
from dpaudit.datasets import Dataset

ITERATIONS = 12


def quadratic(seed, shared):
    """Return M-ADMM on ``O_i(f) = rho/(2N) f^2 - C b_i f`` and the dataset that holds the b_i."""
    source = np.random.default_rng(seed)
    nodes = int(source.integers(2, 6))
    graph = complete(nodes) if seed % 2 else random_connected(nodes, source)
    theta = 10 ** source.uniform(-1, 1)
    excess = 10 ** source.uniform(-2, 2, 1 if shared else nodes)
    algorithm = ConsensusADMM(
        graph=graph,
        iterations=ITERATIONS,
        penalty=TableSchedule(np.tile(theta * (1 + excess) * np.ones(nodes), (ITERATIONS, 1))),
        dual_step=theta,
        loss_weight=3.0,
        regulariser_weight=nodes * 10 ** source.uniform(-2, 2),
        loss=LINEAR,
    )
    slopes = source.uniform(-1, 1, (nodes, 1))
    return algorithm, Dataset(slopes, np.ones(nodes), node_sizes=(1,) * nodes)


def run(algorithm, data):
    """Return ``Z(t) - Z*`` of eq. (17)-(19), shape ``(T + 1, 2N)``, and the matrix J."""
    n, theta = data.nodes, algorithm.dual_step
    curvature = algorithm.regulariser_weight / n
    laplacian, signless, w = matrices(algorithm)
    values, vectors = np.linalg.eigh(laplacian)
    root = vectors @ np.diag(np.sqrt(np.clip(values, 0, None))) @ vectors.T
    slopes = algorithm.loss_weight * data.signed_records[:, 0]
    best = slopes.mean() / curvature
    y_best = np.linalg.pinv(root) @ (slopes - curvature * best)
    path = algorithm.penalty_perturbation().sample(data, 1, np.random.default_rng(0))[0, :, :, 0]
    f = np.vstack([np.zeros(n), path])
    y = np.vstack([np.zeros(n), theta * np.cumsum(path @ root, axis=0)])
    j = np.block([[np.eye(n) / theta, np.zeros((n, n))], [np.zeros((n, n)), w @ signless]])
    return np.hstack([y - y_best, f - best]), j


def matrices(algorithm):
    adjacency = algorithm.graph.adjacency
    degrees = np.diag(algorithm.graph.degrees)
    w = np.diag(algorithm.penalty.values(1, algorithm.graph.nodes)[0])
    return degrees - adjacency, degrees + adjacency, w


def equation_19(algorithm, data):
    """Return the largest ``<Z(t+1) - Z*, J (Z(t+1) - Z(t))>``, relative to the first norm."""
    z, j = run(algorithm, data)
    products = np.einsum("ti,ij,tj->t", z[1:], j, z[1:] - z[:-1])
    return products.max() / (z[0] @ j @ z[0])


def contraction(algorithm, data, *, printed):
    """Return the largest ratio of the two sides of Theorem 3.2, with delta of (23) over all mu."""
    laplacian, signless, w = matrices(algorithm)
    theta, n = algorithm.dual_step, data.nodes
    m = algorithm.regulariser_weight / n
    least = np.linalg.svd(laplacian)[1][:-1].min()
    tilde = np.linalg.svd(w @ signless)[1].max()
    bar = np.linalg.svd((w - theta * np.eye(n)) @ laplacian)[1][:-1]
    numerator = 2 * m + (2 * bar.min() if printed else 0.0)
    mu = 1 + 10 ** np.linspace(-3, 3, 40)
    squares = (mu**2 * m**2 + mu * bar.max() ** 2) / (theta * least * (mu - 1))
    delta = np.minimum(theta * least / (mu**2 * tilde), numerator / (squares + tilde)).max()
    z, j = run(algorithm, data)
    norms = np.einsum("ti,ij,tj->t", z, j, z)
    seen = norms[:-1] > 1e-12 * norms[0]
    return ((1 + delta) * norms[1:][seen] / norms[:-1][seen]).max()


@pytest.fixture(scope="module", params=[30, pytest.param(120, marks=pytest.mark.slow)])
def examples(request):
    return range(request.param)


@pytest.fixture(scope="module")
def shared(examples):
    return [quadratic(seed, shared=True) for seed in examples]


@pytest.fixture(scope="module")
def varying(examples):
    return [quadratic(seed, shared=False) for seed in examples]


def test_equation_19_holds_for_a_shared_penalty(shared):
    assert max(equation_19(*case) for case in shared) < 1e-9


@pytest.mark.slow
def test_equation_19_fails_for_penalties_that_differ(varying):
    assert max(equation_19(*case) for case in varying) > 1e-3


@pytest.mark.slow
def test_the_rate_23_holds_once_repaired_and_fails_as_printed(shared):
    assert max(contraction(*case, printed=False) for case in shared) < 1
    assert max(contraction(*case, printed=True) for case in shared) > 1.001


def spectral_radius(algorithm):
    """Return that of the iteration's map, from (13) and (14), where the duals sum to 0."""
    laplacian, signless, w = matrices(algorithm)
    n = len(w)
    m = algorithm.regulariser_weight / n
    inverse = np.linalg.inv(m * np.eye(n) + 2 * w @ np.diag(algorithm.graph.degrees))
    top = np.hstack([inverse @ w @ signless, -inverse])
    down = np.hstack([np.zeros((n, n)), np.eye(n)]) + algorithm.dual_step * laplacian @ top
    off = np.block([[np.eye(n), np.zeros((n, n))], [np.zeros((n, n)), np.eye(n) - 1 / n]])
    return np.abs(np.linalg.eigvals(off @ np.vstack([top, down]) @ off)).max()


def test_it_converges_all_the_same(shared, varying):
    """No example against the statement of Theorem 3.1, only against its proof."""
    assert max(spectral_radius(algorithm) for algorithm, _ in shared + varying) < 1
