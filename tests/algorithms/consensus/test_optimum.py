"""Consensus ADMM and its variants: the optimum they reach, and how exact a solution is."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import complete, random_connected, ring, star
from dpaudit.algorithms.problems.schedules import Constant, Geometric
from dpaudit.algorithms.problems.smooth_losses import LOGISTIC, SMOOTHED_HINGE
from dpaudit.datasets import Dataset
from dpaudit.errors import ConvergenceError
from dpaudit.mechanisms.residuals import record_residuals

from .loop import VALUES, Loop, make, noise_of, rng

GRAPHS = {
    "complete": complete(4),
    "ring": ring(4),
    "star": star(4),
    "random": random_connected(4, np.random.default_rng(0)),
}


def centralised(data, algorithm):
    """Return the least value of eq. (1) and the function, written out."""
    value, slope = VALUES[algorithm.loss.name]
    shares = np.repeat([1 / size for size in data.node_sizes], data.node_sizes)

    def total(f):
        margins = data.signed_records @ f
        at = algorithm.loss_weight * (shares @ value(margins))
        gradient = algorithm.loss_weight * (shares * slope(margins)) @ data.signed_records
        return (
            at + algorithm.regulariser_weight * (f @ f) / 2,
            gradient + algorithm.regulariser_weight * f,
        )

    options = {"gtol": 1e-9, "maxiter": 5000}
    found = optimize.minimize(total, np.zeros(data.dimension), jac=True, options=options)
    assert np.abs(found.jac).max() < 1e-6
    return found.fun, total


# Every variant and every graph; all of them together when slow.
TELLING = {("admm", "ring"), ("m-admm", "star"), ("m-admm", "random"), ("recycled", "complete")}
PLACES = [
    pytest.param(variant, shape, marks=[pytest.mark.slow] * ((variant, shape) not in TELLING))
    for variant in ("admm", "m-admm", "recycled")
    for shape in GRAPHS
]


@pytest.mark.slow
@pytest.mark.parametrize(("variant", "shape"), PLACES)
def test_consensus_reaches_the_centralised_optimum(variant, shape, real):
    algorithm = make(
        graph=GRAPHS[shape],
        iterations=400,
        penalty=Geometric((0.11, 0.13, 0.12, 0.11), (1.001, 1.0, 1.002, 1.001)),
        dual_step=0.1,
        loss_weight=1.0,
        regulariser_weight=0.3,
    ).without_noise()
    mechanism = {
        "admm": algorithm.dual_variable_perturbation,
        "m-admm": algorithm.penalty_perturbation,
        "recycled": lambda: replace(algorithm, iterations=1500).recycled(0.5),
    }[variant]()
    models = mechanism.sample(real, 1, rng())[0, -1]
    best, total = centralised(real, algorithm)
    for model in models:
        assert -1e-12 < total(model)[0] - best < 1e-6
    assert algorithm.objective(models[None], real)[0] == pytest.approx(best, abs=1e-6)
    assert total(np.zeros(30))[0] - best > 0.1


@pytest.mark.slow
def test_the_smoothed_hinge_reaches_its_optimum_too(real):
    algorithm = make(
        graph=ring(4), loss=SMOOTHED_HINGE, iterations=600, penalty=Constant(0.2), dual_step=0.2,
        loss_weight=1.0, regulariser_weight=0.3,
    ).without_noise()  # fmt: skip
    models = algorithm.penalty_perturbation().sample(real, 1, rng())[0, -1]
    best, total = centralised(real, algorithm)
    assert max(total(model)[0] for model in models) - best < 1e-6


def few_records(node_sizes, seed, d=6):
    source = rng(seed)
    features = source.standard_normal((sum(node_sizes), d))
    features /= np.linalg.norm(features, axis=1, keepdims=True) * (1 + 1e-12)
    return Dataset(features, source.choice([-1.0, 1.0], len(features)), node_sizes=node_sizes)


@pytest.mark.sampled(5)
@pytest.mark.parametrize("loss_weight", [400.0, 1750.0])
@pytest.mark.parametrize("records", [4, 10, 12])
@pytest.mark.parametrize("seed", range(3))
def test_kinks_of_a_steep_smoothed_hinge_are_got_over(records, loss_weight, seed):
    algorithm = ConsensusADMM(
        graph=ring(2), iterations=2, noise_rate=1.0, loss=SMOOTHED_HINGE, loss_weight=loss_weight
    )
    data = few_records((records, records), seed)
    with record_residuals() as residuals:
        algorithm.penalty_perturbation().sample(data, 400, rng(seed))
    (argmin,) = residuals.reached
    assert argmin.problems == 400 * 2 * 2
    assert argmin.worst <= argmin.tolerance == 1e-12


@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTHED_HINGE], ids=lambda loss: loss.name)
def test_hardly_any_curvature_beside_the_loss_is_got_over(loss):
    algorithm = ConsensusADMM(
        graph=ring(3), iterations=2, penalty=1e-6, dual_step=1e-6, noise_rate=1.0,
        loss=loss, loss_weight=1e3, regulariser_weight=1e-6,
    )  # fmt: skip
    with record_residuals() as residuals:
        algorithm.penalty_perturbation().sample(few_records((4, 1, 30), 0), 100, rng())
    assert residuals.reached[0].worst <= 1e-12


def test_a_curvature_below_rounding_is_an_error_that_names_it():
    algorithm = ConsensusADMM(
        graph=ring(2), iterations=2, penalty=1e-9, dual_step=1e-9, noise_rate=1.0,
        loss=SMOOTHED_HINGE, loss_weight=1e12, regulariser_weight=0.0,
    )  # fmt: skip
    expected = r"^iteration \d, node \d: argmin: .*weight 3.33e\+10 .*curvature 2e-09.*, expected"
    with pytest.raises(ConvergenceError, match=expected):
        algorithm.penalty_perturbation().sample(few_records((30, 30), 0, 30), 100, rng())


# Solutions satisfy their stationarity condition


def stationarity(outputs, noise, algorithm, data):
    """Return the largest norm of eq. (12)'s right side with the noise of (24), in every trial."""
    loop, worst = Loop(algorithm, data), 0.0
    for r, path in enumerate(outputs):
        f, lam = np.zeros_like(path[0]), np.zeros_like(path[0])
        for t, new in enumerate(path):
            for i in range(data.nodes):
                function = loop.lagrangian(i, f, lam[i], loop.eta[t, i], e=noise[t, r, i])
                worst = max(worst, float(np.linalg.norm(function(new[i])[1])))
            f = new
            around = [sum(f[i] - f[j] for j in loop.neighbours[i]) for i in range(data.nodes)]
            lam = lam + algorithm.dual_step / 2 * np.stack(around)
    return worst


def allowed(algorithm, data, noise):
    problem = algorithm.problem(data, algorithm.iterations, 0)
    largest = algorithm.stretch.max() * (np.linalg.norm(noise, axis=-1).max() + 20)
    return algorithm.tolerance * (problem.curvature + algorithm.loss_weight + largest)


def test_every_broadcast_is_stationary_to_the_stated_residual(small):
    algorithm = make()
    outputs = algorithm.penalty_perturbation().sample(small, 6, rng(3))
    noise = noise_of(algorithm, small, 6, 3)
    assert stationarity(outputs, noise, algorithm, small) < 3 * allowed(algorithm, small, noise)


def test_a_loose_tolerance_shows(small):
    loose = make(tolerance=1e-3)
    outputs = loose.penalty_perturbation().sample(small, 6, rng(3))
    noise = noise_of(loose, small, 6, 3)
    found = stationarity(outputs, noise, make(), small)
    assert found > 1e3 * allowed(make(), small, noise)
    assert found < 3 * allowed(loose, small, noise)


def test_a_trial_that_does_not_converge_is_named(small):
    with pytest.raises(ConvergenceError, match=r"trial \d+ has a gradient of"):
        make(tolerance=1e-30).penalty_perturbation().sample(small, 3, rng())
