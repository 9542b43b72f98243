"""ADMM over joined tables a second time: one trial, one row and one tuple at a time.

Written from the paper's unreduced equations (32)-(34), with the gradient of every tuple formed.
Random numbers are drawn in the order the batched code draws them, for all trials at once.
"""

import numpy as np


def probabilities(z, margin):
    if margin:
        return 1 / (1 + np.exp(-z))
    weights = np.exp(z - z.max())
    return weights / weights.sum()


def z_update(target, dual, total, rho, margin):
    """Return eq. (32) of one row, by damped Newton on the full Hessian."""
    z = total.copy()
    for _ in range(300):
        p = probabilities(z, margin)
        gradient = p - target - dual - rho * (total - z)
        hessian = np.diag(p) - np.outer(p, p) + rho * np.eye(len(z))
        step = np.linalg.solve(hessian, gradient)
        size = np.sqrt(2) * np.linalg.norm(step)
        z = z - step * (np.log1p(size) / size if size > 1e-7 else 1)
    return z


class Draws:
    """The randomness of all trials: noisy labels first, then client by client, step by step."""

    def __init__(self, algorithm, data, trials, rng):
        classes = algorithm.loss.outputs
        n_labels = len(data.labels)
        self.labels = np.zeros((trials, n_labels, classes))
        if algorithm.label_epsilon:
            self.labels = rng.laplace(0, 2 / algorithm.label_epsilon, (trials, n_labels, classes))
        self.batches, self.noise = {}, {}
        steps = getattr(algorithm.solver, "steps", 0)
        for key in np.ndindex(algorithm.iterations, data.tables, steps):
            n, d = data.features[key[1]].shape
            if algorithm.solver.sampling_ratio < 1:
                drawn = rng.random((trials, n))
                self.batches[key] = drawn < algorithm.solver.sampling_ratio
            if algorithm.solver.noise_multiplier > 0:
                self.noise[key] = rng.standard_normal((trials, d, classes))


def run(algorithm, data, trials, rng):
    """Return the models after each iteration, (R, T, D, d_c), and z, lambda of the last."""
    draws = Draws(algorithm, data, trials, rng)
    results = [one_trial(algorithm, data, draws, trial) for trial in range(trials)]
    return tuple(np.array(part) for part in zip(*results, strict=True))


def one_trial(algorithm, data, draws, trial):
    margin, classes = algorithm.loss.margin, algorithm.loss.outputs
    rho, M, N = algorithm.penalty, data.tables, data.rows
    theta = [np.zeros((table.shape[1], classes)) for table in data.features]
    lam, z = np.zeros((N, classes)), np.zeros((N, classes))
    released = []
    for t in range(algorithm.iterations):
        h = np.zeros((M, N, classes))
        for i in range(M):
            for j in range(N):
                h[i, j] = theta[i].T @ data.features[i][data.mappings[i][j]]
        for j in range(N):
            label = data.labels[data.label_rows[j]]
            one_hot = np.array([label]) if margin else np.eye(classes)[int(label)]
            y = one_hot + draws.labels[trial, data.label_rows[j]]
            y = (1 + y) / 2 if margin else y
            total = h[:, j].sum(axis=0)
            z[j] = z_update(y, lam[j], total, rho, margin)
            lam[j] = lam[j] + rho * (total - z[j])
        theta = [
            client(algorithm, data, draws, (t, i), trial, theta[i], lam, h, z) for i in range(M)
        ]
        released.append(np.concatenate(theta))
    return np.array(released), z, lam


def client(algorithm, data, draws, key, trial, theta, lam, h, z):
    """Return eq. (34) of one client."""
    i, N, rho, solver = key[1], data.rows, algorithm.penalty, algorithm.solver
    residuals = [sum(h[k, j] for k in range(len(h)) if k != i) - z[j] for j in range(N)]
    X, beta = data.features[i][data.mappings[i]], algorithm.regulariser_weight
    if not hasattr(solver, "steps"):
        left, right = beta * np.eye(X.shape[1]), np.zeros_like(theta)
        for x, dual, s in zip(X, lam, residuals, strict=True):
            left += rho / N * np.outer(x, x)
            right -= np.outer(x, dual + rho * s) / N
        return np.linalg.solve(left, right)
    for step in range(solver.steps):
        here = (*key, step)
        total = np.zeros_like(theta)
        for j in range(len(data.features[i])):
            if here in draws.batches and not draws.batches[here][trial, j]:
                continue
            gradient = np.zeros_like(theta)
            for g in np.flatnonzero(data.mappings[i] == j):
                gradient += np.outer(X[g], lam[g] + rho * (residuals[g] + theta.T @ X[g]))
            norm = np.linalg.norm(gradient)
            total += gradient / max(1, norm / solver.clip_norm)
        if here in draws.noise:
            # Minus, because the batched code adds its noise to the model, not to the gradient.
            total -= solver.clip_norm * solver.noise_multiplier * draws.noise[here][trial]
        total /= solver.sampling_ratio * N
        theta = theta - solver.learning_rate * (beta * theta + total)
    return theta
