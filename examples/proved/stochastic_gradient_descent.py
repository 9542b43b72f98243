"""DP-SGD: thirty noisy sums of clipped gradients, each of a Poisson sample of the records.

Guarantee: epsilon = 2.9562 at delta = 1e-5 for one record added or removed: thirty Poisson-sampled
Gaussian releases of rate 1/10 and noise multiplier 1.2, by `dpaudit account`.
"""

import numpy as np

DOMAIN = {"bounds": (-1, 1), "records": (1, 100), "columns": 3}
RELATION = "add-remove-record"
EPSILON, DELTA = 2.9562, 1e-5
RATE, NOISE, BATCH = 0.1, 1.2, 10  # a public batch: a divisor that counts would tell its size


def stochastic_gradient_descent(data, rng):
    features, targets = data[:, :-1], data[:, -1]
    weights = np.zeros(2)
    for _ in range(30):
        chosen = rng.random(len(data)) < RATE
        gradients = (features @ weights - targets)[:, None] * features
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients * np.minimum(1.0, 1.0 / np.maximum(norms, 1e-12))
        noisy = clipped[chosen].sum(axis=0) + rng.normal(scale=NOISE, size=2)
        weights = weights - 0.5 * noisy / BATCH
    return weights
