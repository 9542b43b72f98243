"""Consensus ADMM and its variants a second time: one trial, one node at a time, as in the papers.

Also the setting in which the two are compared.
"""

import numpy as np
from scipy import optimize

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import random_connected
from dpaudit.algorithms.problems.schedules import Geometric
from dpaudit.laws.exponential_norm import draw_exponential_norm_noise

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
        """Return one output ``(T, n, d)`` from noise of that shape."""
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
        draw_exponential_norm_noise(shape, rates[t], source) if t % every == 0 else np.zeros(shape)
        for t in range(algorithm.iterations)
    ]
    return np.stack(drawn)


VARIANTS = {
    "pp": (lambda a: a.penalty_perturbation(), 1),
    "dvp": (lambda a: a.dual_variable_perturbation(), 1),
    "pvp": (lambda a: a.primal_perturbation(), 1),
    "recycled": (lambda a: a.recycled(0.3), 2),
}
