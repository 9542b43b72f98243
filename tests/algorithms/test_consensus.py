"""Consensus ADMM and its variants, held to a loop written from the papers and to the optimum."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

from algorithms.consensus import ConsensusADMM
from algorithms.graphs import Graph, complete, random_connected, ring, star
from algorithms.norm_noise import draw
from algorithms.schedules import Constant, Geometric, Given
from algorithms.smooth_losses import LOGISTIC, SMOOTH_LOSSES, SMOOTHED_HINGE
from dpaudit.datasets import Dataset, breast_cancer, split_unevenly
from dpaudit.errors import ConvergenceError, InvalidArgument

GRAPHS = {
    "complete": complete(4),
    "ring": ring(4),
    "star": star(4),
    "random": random_connected(4, np.random.default_rng(0)),
}
VALUES = {
    "logistic": (lambda m: np.logaddexp(0, -m), lambda m: -1 / (1 + np.exp(m))),
    "smoothed-hinge": (
        lambda m: np.where(m < 0, 0.5 - m, np.maximum(0, 1 - m) ** 2 / 2),
        lambda m: np.clip(m - 1, -1, 0),
    ),
    "linear": (lambda m: -m, lambda m: -np.ones_like(m)),
}


def rng(seed=0):
    return np.random.default_rng(seed)


def make(**options):
    defaults = {
        "graph": random_connected(4, rng(2)),
        "iterations": 5,
        "penalty": Geometric((0.55, 0.65, 0.6, 0.5), (1.01, 1.03, 1.1, 1.2)),
        "dual_step": 0.45,
        "noise_rate": Geometric(2.0, 1.1),
        "loss_weight": 3.0,
        "regulariser_weight": 0.2,
    }
    return ConsensusADMM(**(defaults | options))


@pytest.fixture(scope="module")
def small():
    source = rng(1)
    features = source.standard_normal((22, 4))
    features /= np.maximum(1, np.linalg.norm(features, axis=1))[:, None] * 1.0001
    return Dataset(features, source.choice([-1.0, 1.0], 22), node_sizes=(9, 2, 5, 6))


@pytest.fixture(scope="module")
def real():
    return split_unevenly(breast_cancer(), 4, rng(1))


# The loop: one trial, one node at a time, letters as in the papers


class Loop:
    def __init__(self, algorithm, data):
        self.a, self.data = algorithm, data
        self.x = [data.signed_records[data.rows_of(i)] for i in range(data.nodes)]
        self.neighbours = [np.flatnonzero(row) for row in algorithm.graph.adjacency]
        self.value, self.slope = VALUES[algorithm.loss.name]
        self.eta = algorithm.penalty.values(algorithm.iterations, data.nodes)

    def O(self, i, f):  # noqa: E743  the paper's name
        C, rho = self.a.loss_weight, self.a.regulariser_weight
        margins = self.x[i] @ f
        value = C * self.value(margins).mean() + rho / self.data.nodes * (f @ f) / 2
        gradient = C * self.slope(margins) @ self.x[i] / len(margins) + rho / self.data.nodes * f
        return value, gradient

    def argmin(self, function, start):
        """Return the minimiser by L-BFGS, its last digits from the root of the gradient."""
        options = {"ftol": 1e-15, "gtol": 1e-9}
        rough = optimize.minimize(function, start, jac=True, method="L-BFGS-B", options=options)
        fine = optimize.root(lambda f: function(f)[1], rough.x, tol=1e-13)
        assert np.abs(function(fine.x)[1]).max() < 1e-9
        assert np.abs(fine.x - rough.x).max() < 1e-4
        return fine.x

    def lagrangian(self, i, f_old, lam, eta, e=0.0, dual_noise=0.0):
        def function(f):
            value, gradient = self.O(i, f)
            gaps = [f + e - (f_old[i] + f_old[j]) / 2 for j in self.neighbours[i]]
            value += 2 * (lam + dual_noise) @ f + eta * sum(gap @ gap for gap in gaps)
            return value, gradient + 2 * (lam + dual_noise) + 2 * eta * sum(gaps)

        return function

    def run(self, noise, variant, gamma=0.0):
        """Return one transcript ``(T, n, d)`` from noise of that shape."""
        n, theta = self.data.nodes, self.a.dual_step
        f, lam, path, g = np.zeros_like(noise[0]), np.zeros_like(noise[0]), [], None
        for t in range(self.a.iterations):
            new = np.empty_like(f)
            for i in range(n):
                e, V, eta = noise[t, i], len(self.neighbours[i]), self.eta[t, i]
                args = (i, f, lam[i])
                if variant == "pp" or (variant == "recycled" and t % 2 == 0):
                    new[i] = self.argmin(self.lagrangian(*args, eta, e=e), f[i])
                elif variant == "dvp":
                    function = self.lagrangian(*args, theta, dual_noise=theta * V * e)
                    new[i] = self.argmin(function, f[i])
                elif variant == "pvp":
                    new[i] = self.argmin(self.lagrangian(*args, eta), f[i]) + e
                else:
                    total = g[i] + 2 * lam[i] + eta * sum(f[i] - f[j] for j in self.neighbours[i])
                    new[i] = f[i] - total / (2 * eta * V + gamma)
            if t % 2 == 0:
                V = [len(around) for around in self.neighbours]
                g = [
                    self.O(i, new[i])[1] + 2 * self.eta[t, i] * V[i] * noise[t, i] for i in range(n)
                ]
            f = new
            lam = lam + np.stack(
                [theta / 2 * sum(f[i] - f[j] for j in self.neighbours[i]) for i in range(n)]
            )
            path.append(f)
        return np.stack(path)


def noise_of(algorithm, data, trials, seed, every=1):
    """Return what a mechanism draws, shape ``(T, R, n, d)``; 0 where it draws nothing."""
    source, shape = rng(seed), (trials, data.nodes, data.dimension)
    rates = algorithm.noise_rate.values(algorithm.iterations, data.nodes)
    drawn = [
        draw(shape, rates[t], source) if t % every == 0 else np.zeros(shape)
        for t in range(algorithm.iterations)
    ]
    return np.stack(drawn)


VARIANTS = {
    "pp": (lambda a: a.penalty_perturbation(), 1),
    "dvp": (lambda a: a.dual_variable_perturbation(), 1),
    "pvp": (lambda a: a.primal_perturbation(), 1),
    "recycled": (lambda a: a.recycled(0.3), 2),
}


@pytest.mark.parametrize("loss", SMOOTH_LOSSES.values(), ids=SMOOTH_LOSSES)
@pytest.mark.parametrize("variant", VARIANTS)
def test_the_loop_agrees(variant, loss, small):
    algorithm, (mechanism, every) = make(loss=loss), VARIANTS[variant]
    transcripts = mechanism(algorithm).sample(small, 4, rng(7))
    noise = noise_of(algorithm, small, 4, 7, every)
    loop = Loop(algorithm, small)
    expected = np.stack([loop.run(noise[:, r], variant, gamma=0.3) for r in range(4)])
    np.testing.assert_allclose(transcripts, expected, atol=1e-7)
    assert np.abs(transcripts).max() > 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"dual_step": 0.225},
        {"penalty": Constant(0.55)},
        {"loss_weight": 6.0},
        {"regulariser_weight": 0.8},
        {"noise_rate": Geometric(2.0, 1.0)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_the_loop_tells_other_parameters_apart(wrong, small):
    transcripts = make(**wrong).penalty_perturbation().sample(small, 1, rng(7))
    expected = Loop(make(), small).run(noise_of(make(), small, 1, 7)[:, 0], "pp")
    assert np.abs(transcripts[0] - expected).max() > 1e-3


def test_with_eta_equal_to_theta_penalty_perturbation_is_dual_variable_perturbation(small):
    algorithm = make(penalty=Constant(0.45), dual_step=0.45)
    transcripts = algorithm.penalty_perturbation().sample(small, 3, rng(8))
    same = make(dual_step=0.45).dual_variable_perturbation().sample(small, 3, rng(8))
    np.testing.assert_array_equal(transcripts, same)
    noise = noise_of(algorithm, small, 3, 8)
    on_the_dual = [Loop(algorithm, small).run(noise[:, r], "dvp") for r in range(3)]
    np.testing.assert_allclose(transcripts, on_the_dual, atol=1e-7)
    other = make().penalty_perturbation().sample(small, 3, rng(8))
    assert np.abs(other - transcripts).max() > 1e-2


def test_without_noise_every_variant_is_its_non_private_one(small):
    algorithm = make().without_noise()
    plain = algorithm.penalty_perturbation().sample(small, 2, rng())
    np.testing.assert_array_equal(plain[0], plain[1])
    np.testing.assert_array_equal(plain, algorithm.primal_perturbation().sample(small, 2, rng()))
    silence = np.zeros(plain.shape[1:])
    loop = Loop(algorithm, small)
    np.testing.assert_allclose(plain[0], loop.run(silence, "pp"), atol=1e-8)
    for variant, (mechanism, _) in VARIANTS.items():
        path = mechanism(algorithm).sample(small, 1, rng())[0]
        np.testing.assert_allclose(path, loop.run(silence, variant, gamma=0.3), atol=1e-8)
        quiet = mechanism(make(noise_rate=Constant(1e9))).sample(small, 1, rng())[0]
        np.testing.assert_allclose(path, quiet, atol=1e-6)


# The optimum


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


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
@pytest.mark.parametrize("variant", ["admm", "m-admm", "recycled"])
def test_consensus_reaches_the_centralised_optimum(graph, variant, real):
    algorithm = make(
        graph=graph,
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


def test_the_smoothed_hinge_reaches_its_optimum_too(real):
    algorithm = make(
        graph=ring(4), loss=SMOOTHED_HINGE, iterations=600, penalty=Constant(0.2), dual_step=0.2,
        loss_weight=1.0, regulariser_weight=0.3,
    ).without_noise()  # fmt: skip
    models = algorithm.penalty_perturbation().sample(real, 1, rng())[0, -1]
    best, total = centralised(real, algorithm)
    assert max(total(model)[0] for model in models) - best < 1e-6


def test_the_measures_of_section_5(small):
    models = rng().standard_normal((2, 4, 4))
    loop = Loop(make(), small)
    for r in range(2):
        objective = sum(loop.O(i, models[r, i])[0] for i in range(4))
        average = np.mean([loop.value(loop.x[i] @ models[r, i]).mean() for i in range(4)])
        assert make().objective(models, small)[r] == pytest.approx(objective, rel=1e-12)
        assert make().average_loss(models, small)[r] == pytest.approx(average, rel=1e-12)


# Solutions satisfy their stationarity condition


def stationarity(transcripts, noise, algorithm, data):
    """Return the largest norm of eq. (12)'s right side with the noise of (24), in every trial."""
    loop, worst = Loop(algorithm, data), 0.0
    for r, path in enumerate(transcripts):
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
    transcripts = algorithm.penalty_perturbation().sample(small, 6, rng(3))
    noise = noise_of(algorithm, small, 6, 3)
    assert stationarity(transcripts, noise, algorithm, small) < 3 * allowed(algorithm, small, noise)


def test_a_loose_tolerance_shows(small):
    loose = make(tolerance=1e-3)
    transcripts = loose.penalty_perturbation().sample(small, 6, rng(3))
    noise = noise_of(loose, small, 6, 3)
    found = stationarity(transcripts, noise, make(), small)
    assert found > 1e3 * allowed(make(), small, noise)
    assert found < 3 * allowed(loose, small, noise)


def test_a_trial_that_does_not_converge_is_named(small):
    with pytest.raises(ConvergenceError, match=r"trial \d+ has a gradient of"):
        make(tolerance=1e-30).penalty_perturbation().sample(small, 3, rng())


# R-ADMM: even broadcasts are functions of earlier ones


def test_even_broadcasts_are_recomputed_from_the_transcript_alone(small):
    algorithm, gamma = make(iterations=6), 0.3
    transcripts = algorithm.recycled(gamma).sample(small, 5, rng(4))
    A, V = algorithm.graph.adjacency, algorithm.graph.degrees[:, None]
    eta = algorithm.penalty.values(6, 4)[:, :, None]
    f, lam, gradient = np.zeros((5, 4, 4)), np.zeros((5, 4, 4)), None
    for t in range(6):
        now = transcripts[:, t]
        if t % 2:  # no dataset is in sight
            total = gradient + 2 * lam + eta[t] * (V * f - A @ f)
            np.testing.assert_allclose(now, f - total / (2 * eta[t] * V + gamma), atol=1e-9)
        else:
            gradient = eta[t] * (V * f + A @ f) - 2 * lam - 2 * eta[t] * V * now
        f, lam = now, lam + algorithm.dual_step / 2 * (V * now - A @ now)


# The published bound


def test_the_published_bound_is_equation_26(small):
    algorithm = make()
    alpha, eta = (schedule.values(5, 4) for schedule in (algorithm.noise_rate, algorithm.penalty))
    for t in range(1, 6):
        sums = [
            sum(
                3.0 * (1.4 / 4 + alpha[r, i])
                / (eta[r, i] * algorithm.graph.degrees[i] * small.node_sizes[i])
                for r in range(t)
            )
            for i in range(4)
        ]  # fmt: skip
        assert algorithm.published_bounds(small)[t - 1] == pytest.approx(max(sums), rel=1e-12)


def test_the_condition_of_theorem_41(small):
    assert make(loss_weight=0.5).meets_theorem41(small)
    assert not make(loss_weight=30.0).meets_theorem41(small)
    assert not make(loss_weight=0.5, penalty=Constant(0.4)).meets_theorem41(small)
    assert not make(loss_weight=0.1, loss=SMOOTHED_HINGE).meets_theorem41(small)
    with pytest.raises(InvalidArgument, match="noise_rate: got None"):
        make().without_noise().published_bounds(small)


# Refusals


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"iterations": 0}, "iterations"),
        ({"dual_step": 0.0}, "dual_step"),
        ({"loss_weight": -1.0}, "loss_weight"),
        ({"regulariser_weight": -1.0}, "regulariser_weight"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"graph": Graph(1, ()), "penalty": Constant(1.0)}, "graph"),
        ({"penalty": Given(((1.0, 1.0),))}, "table"),
        ({"noise_rate": Geometric((1.0, 2.0), 1.0)}, "first"),
        ({"noise_rate": Geometric(1.0, 1e200)}, "ratio"),
    ],
)
def test_bad_parameters_are_refused_by_name(options, name):
    with pytest.raises(InvalidArgument) as refusal:
        make(**options)
    assert refusal.value.name == name


def test_a_negative_proximal_weight_is_refused():
    with pytest.raises(InvalidArgument, match="proximal_weight: got -1"):
        make().recycled(-1.0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_datasets_that_do_not_fit_are_refused(variant, small):
    mechanism = VARIANTS[variant][0](make())
    for data, name in (
        (replace(small, node_sizes=(11, 11)), "dataset"),
        (small.with_record(3, 2 * np.ones(4), 1.0), "norm of features[3]"),
        (small.with_record(3, np.zeros(4), 2.0), "labels[3]"),
    ):
        with pytest.raises(InvalidArgument) as refusal:
            mechanism.sample(data, 2, rng())
        assert refusal.value.name == name


def test_the_default_loss_is_the_papers():
    assert make().loss is LOGISTIC
