"""The law of the final models, against linear algebra over all the noise and the code."""

import math
from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.random import default_rng

from dpaudit.algorithms.multistep.algorithm import MultiStepADMM
from dpaudit.algorithms.multistep.final import (
    ExactFinal,
    FinalModels,
    final_law,
    final_mu,
    final_pair_mu,
)
from dpaudit.algorithms.multistep.hidden_state import (
    ROUNDING,
    InnerLoops,
    composition_mu,
)
from dpaudit.algorithms.multistep.releases import _make_largest_mu_event
from dpaudit.algorithms.problems.graphs import complete, ring, star
from dpaudit.algorithms.problems.losses import LINEAR, LOGISTIC
from dpaudit.algorithms.problems.step_sizes import ConstantStepSize, DecayingStepSize
from dpaudit.datasets import Dataset
from dpaudit.errors import ConvergenceError, InvalidArgument
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.laws.steps import GaussianSteps
from dpaudit.neighbours import REPLACE_RECORD, Pair

from .affine import Affine, figure_1

CLOSE = 1e-9


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("message", ["average", "last"])
def test_final_models_agree_with_the_covariance(seed, message):
    rng = default_rng(seed)
    graph = (ring(4), star(3), complete(3), complete(1))[seed % 4]
    sizes = tuple(int(m) for m in rng.integers(1, 5, size=graph.nodes))
    data = Dataset(np.zeros((sum(sizes), 3)), np.ones(sum(sizes)), node_sizes=sizes)
    algorithm = MultiStepADMM(
        graph=graph, iterations=int(rng.integers(1, 4)), inner_steps=int(rng.integers(2, 4)),
        noise_multiplier=5.0, penalty=float(rng.uniform(0.05, 2)), message=message,
        step_size=DecayingStepSize(diameter=3.0),
    )  # fmt: skip
    weights = [
        [algorithm.eta(data, k, r) for r in range(1, algorithm.inner_steps + 1)]
        for k in range(1, algorithm.iterations + 1)
    ]
    oracle = Affine(
        adjacency=graph.adjacency, weights=np.array(weights), penalty=algorithm.penalty, sigma=5.0,
        shares=sizes[0] / np.array(sizes), hessians=np.full((graph.nodes, 1, 1), 0.3),
        change=np.ones(1), message=message,
    )  # fmt: skip
    assert final_mu(algorithm, data, 0, 0.3) == pytest.approx(oracle.mus()[1], rel=CLOSE)


def test_final_models_in_fifty_digits():
    """The largest systems are solved as exactly as small ones."""
    algorithm, data = figure_1()
    law = final_law(algorithm, data, 1e-4 / 5)
    with mpmath.workdps(50):
        shift = mpmath.matrix(law.response[:, 0].tolist())
        exact = mpmath.lu_solve(mpmath.matrix(law.covariance.tolist()), shift)
        square = sum(shift[i] * exact[i] for i in range(5))
        assert law.mu(0) == pytest.approx(float(mpmath.sqrt(square)), rel=CLOSE)


def two_modes(algorithm, sizes, curvature):
    """Return the mu of final models of a complete graph of equal nodes, in 50 digits.

    The average of all nodes and deviations from it are runs that do not meet.
    """
    with mpmath.workdps(50):
        n, rho = algorithm.graph.nodes, mpmath.mpf(algorithm.penalty)
        h, total = mpmath.mpf(curvature), mpmath.mpf(0)
        for difference, both, share in ((0, 2 * (n - 1), 1), (n, n - 2, n - 1)):
            # w, s, y, pull, f: their effect of b, and their covariance
            effect, covariance = mpmath.zeros(5, 1), mpmath.zeros(5)
            for k in range(1, algorithm.iterations + 1):
                for r in range(1, algorithm.inner_steps + 1):
                    eta = mpmath.mpf(float(algorithm.eta(sizes, k, r)[0]))
                    unit = 2 * rho * (n - 1) + eta
                    model = [(eta - h) / unit, 0, 0, 1 / unit, 0]
                    update = mpmath.eye(5)
                    update[4, 0] = 1
                    for j in range(5):
                        update[0, j] = model[j]
                        update[1, j] = model[j] + (j == 1)
                    into = mpmath.matrix([1, 1, 0, 0, 0]) / unit
                    effect = update * effect + into
                    covariance = update * covariance * update.T + into * into.T
                sent = mpmath.mpf(1) / algorithm.inner_steps
                update = mpmath.eye(5)
                update[1, 1] = update[3, 3] = 0
                update[2, 1] = -rho / 2 * difference * sent
                update[3, 2] = 2
                update[3, 1] = 2 * update[2, 1] + rho * both * sent
                effect, covariance = update * effect, update * covariance * update.T
            total += mpmath.mpf(share) / n * effect[4] ** 2 / covariance[4, 4]
        return float(mpmath.sqrt(total) / algorithm.noise_multiplier)


@pytest.mark.parametrize("penalty", [0.001, 0.1, 10.0])
def test_final_models_at_the_size_of_figure_1_in_fifty_digits(penalty):
    algorithm, sizes = figure_1(penalty=penalty)
    exact = two_modes(algorithm, sizes, 2e-5)
    for node in (0, 4):
        assert final_mu(algorithm, sizes, node, 2e-5) == pytest.approx(exact, rel=0.1 * ROUNDING)


def test_final_models_of_five_nodes_leak_a_third_of_composition():
    algorithm, sizes = figure_1()
    mu = final_mu(algorithm, sizes, 0, 1e-4 / 5)
    composed = composition_mu(InnerLoops.of(algorithm, sizes, 0))
    assert composed > 3 * mu
    assert GaussianDP(composed).epsilon(1e-5) > 3 * GaussianDP(mu).epsilon(1e-5)


def final_pair():
    data = Dataset(np.tile([0.6, 0.8], (6, 1)), np.ones(6), node_sizes=(2, 1, 3))
    pair = Pair(data, data.with_record(0, -data.features[0], 1.0), REPLACE_RECORD)
    algorithm = MultiStepADMM(
        graph=ring(3), iterations=3, inner_steps=2, noise_multiplier=1.5, loss=LINEAR,
        regulariser_weight=0.3, step_size=ConstantStepSize(2.0),
    )  # fmt: skip
    return algorithm, pair


def test_the_law_of_final_models_is_that_of_the_code():
    algorithm, pair = final_pair()
    law = FinalModels(algorithm)
    one = GaussianSteps(law).sample(pair.dataset, 20_000, default_rng(0))
    other = ExactFinal(law).sample(pair.dataset, 20_000, default_rng(1))
    assert one.mean(axis=0) == pytest.approx(other.mean(axis=0), abs=0.05 * one.std())
    for feature in range(2):
        same = np.cov(one[:, :, feature].T)
        assert np.cov(other[:, :, feature].T) == pytest.approx(same, abs=0.05 * same.max())


def test_the_loss_of_final_models_has_the_moments_of_a_gaussian():
    algorithm, pair = final_pair()
    mechanism, mu = ExactFinal(FinalModels(algorithm)), final_pair_mu(algorithm, pair)
    assert mu == pytest.approx(final_mu(algorithm, pair.dataset, 0, 0.1), rel=1e-12)
    losses = mechanism.privacy_loss(mechanism.sample(pair.dataset, 50_000, default_rng(0)), pair)
    assert losses.mean() == pytest.approx(mu**2 / 2, abs=5 * mu / math.sqrt(50_000))
    assert losses.std() == pytest.approx(mu, rel=0.02)
    assert mechanism.log_mgf_bounds(pair, 1.0) == (pytest.approx(mu**2),) * 2
    tilted = mechanism.sample_tilted(pair, -1.0, 50_000, default_rng(1))
    assert tilted.privacy_loss.mean() == pytest.approx(-(mu**2) / 2, abs=5 * mu / 200)


def test_bad_input_is_named():
    algorithm, pair = final_pair()
    with pytest.raises(InvalidArgument, match=r"^node: "):
        final_mu(algorithm, pair.dataset, 3, 0.0)
    with pytest.raises(InvalidArgument, match=r"^noise_multiplier: "):
        final_law(algorithm.without_noise(), pair.dataset, 0.0)
    with pytest.raises(InvalidArgument, match=r"^curvature: "):
        final_law(algorithm, pair.dataset, -1.0)
    for wrong in ({"loss": LOGISTIC}, {"batch_size": 1}):
        with pytest.raises(InvalidArgument, match=rf"^{next(iter(wrong))}: "):
            FinalModels(replace(algorithm, **wrong))
    single = replace(algorithm, iterations=1, inner_steps=1)
    with pytest.raises(InvalidArgument, match=r"^inner_steps: "):
        FinalModels(single)
    assert final_mu(single, pair.dataset, 0, 0.0) == 0  # nothing but the public start


@pytest.mark.parametrize("mus", [[1.0, math.nan], [math.nan, 1.0]])
def test_no_release_is_stated_of_a_mu_that_is_no_number(mus):
    with pytest.raises(ConvergenceError, match="mu"):
        _make_largest_mu_event(iter(mus))
    assert _make_largest_mu_event(iter([0.5, 1.0])).noise_scale == pytest.approx(1.0)
