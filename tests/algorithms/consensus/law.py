"""Checks of a private variant's law.

Each is a function of the mechanism, so that broken ones go through the very same check and have to
fail it.
"""

import mpmath
import numpy as np
import pytest
from scipy import stats

from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
from dpaudit.algorithms.problems.graphs import complete
from dpaudit.algorithms.problems.schedules import Geometric

TRIALS = 20_000
FEW_TRIALS = 5_000


def make(**options):
    """Return a setting in which one record moves noise and determinant alike."""
    defaults = {
        "graph": complete(3),
        "iterations": 3,
        "penalty": Geometric(0.25, (1.0, 1.2, 1.1)),
        "dual_step": 0.2,
        "noise_rate": Geometric((0.9, 0.8, 1.0), 1.1),
        "loss_weight": 8.0,
        "regulariser_weight": 0.3,
    }
    return ConsensusADMM(**(defaults | options))


MECHANISMS = {
    "pp": lambda a: a.penalty_perturbation(),
    "dvp": lambda a: a.dual_variable_perturbation(),
    "pvp": lambda a: a.primal_perturbation(),
    "recycled": lambda a: a.recycled(0.2),
}
everywhere = pytest.mark.parametrize("variant", MECHANISMS)
sizes = pytest.mark.parametrize(
    "trials", [FEW_TRIALS, pytest.param(TRIALS, marks=pytest.mark.slow)], ids=["few", "many"]
)


# The 50-digit oracle: eq. (58)-(61) as printed, all nodes, determinants in full


def log_density(algorithm, data, path, slope, curvature, only_odd=False):
    """Return ``sum_t sum_i log p(f_i(t) | past)`` up to the noise's constant."""
    n, d = data.nodes, data.dimension
    C, rho = mpmath.mpf(algorithm.loss_weight), mpmath.mpf(algorithm.regulariser_weight)
    eta = algorithm.penalty.values(algorithm.iterations, n).tolist()
    alpha = algorithm.noise_rate.values(algorithm.iterations, n).tolist()
    theta = mpmath.mpf(algorithm.dual_step)
    vector = lambda values: mpmath.matrix([mpmath.mpf(float(v)) for v in values])  # noqa: E731
    f, lam = [vector(np.zeros(d))] * n, [vector(np.zeros(d))] * n
    neighbours = [np.flatnonzero(row) for row in algorithm.graph.adjacency]
    total = mpmath.mpf(0)
    for t in range(algorithm.iterations):
        new = [vector(row) for row in path[t]]
        for i in range(n):
            if only_odd and t % 2:
                continue
            rows, V, two = data.rows_of(i), len(neighbours[i]), 2 * mpmath.mpf(eta[t][i])
            B = data.node_sizes[i]
            loss, hessian = vector(np.zeros(d)), mpmath.zeros(d)
            for x, y in zip(data.features[rows], data.labels[rows], strict=True):
                x, y = vector(x), mpmath.mpf(float(y))
                margin = y * (new[i].T * x)[0]
                loss += y * slope(margin) * x
                hessian += curvature(margin) * x * x.T
            e = -(C / B * loss + rho / n * new[i] + 2 * lam[i]) / (two * V)
            for j in neighbours[i]:
                e -= (2 * new[i] - f[i] - f[j]) / (2 * V)
            jacobian = (C / B * hessian + rho / n * mpmath.eye(d)) / (two * V) + mpmath.eye(d)
            total += -mpmath.mpf(alpha[t][i]) * mpmath.norm(e) + mpmath.log(mpmath.det(jacobian))
        f = new
        for i in range(n):
            for j in neighbours[i]:
                lam[i] = lam[i] + theta / 2 * (f[i] - f[j])
    return total


def logistic_slope(m):
    return -1 / (1 + mpmath.exp(m))


def logistic_curvature(m):
    return 1 / ((1 + mpmath.exp(m)) * (1 + mpmath.exp(-m)))


def oracle_error(algorithm, pair, outputs, only_odd=False):
    """Return the largest relative error of the privacy loss."""
    mechanism = algorithm.recycled(0.2) if only_odd else algorithm.penalty_perturbation()
    loss = mechanism.privacy_loss(outputs, pair)
    worst = 0.0
    with mpmath.workdps(50):
        for value, path in zip(loss, outputs, strict=True):
            p, q = (
                log_density(algorithm, data, path, logistic_slope, logistic_curvature, only_odd)
                for data in (pair.dataset, pair.neighbour)
            )
            worst = max(worst, float(abs((mpmath.mpf(float(value)) - (p - q)) / (p - q))))
    return worst


def likelihood_z(mechanism, pair, outputs):
    """Return the z-score of ``E_Q e^L = 1`` on outputs of Q."""
    ratio = np.exp(mechanism.privacy_loss(outputs, pair))
    return float((ratio.mean() - 1) / (ratio.std() / np.sqrt(len(ratio))))


def residual_p_values(mechanism, outputs, data):
    """Return p-values of uniformity of norms, directions and angles, and of no correlation."""
    residuals = mechanism.uniform_residuals(outputs, data)
    kinds = residuals.reshape(-1, data.dimension).T
    p_values = [float(stats.kstest(kind, "uniform").pvalue) for kind in kinds]
    correlation = np.corrcoef(residuals.T)[np.triu_indices(residuals.shape[1], k=1)]
    squares = len(residuals) * np.sum(correlation**2)
    return [*p_values, float(stats.chi2.sf(squares, len(correlation)))]
