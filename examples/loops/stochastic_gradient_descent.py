"""DP-SGD: eight noisy sums of clipped gradients, each of a Poisson sample of the records.

Guarantee: epsilon = 3.4308 at delta = 1e-3 for one record added or removed: eight Poisson-sampled
Gaussian releases of rate 1/4 and noise multiplier 1, by `dpaudit account`. This pair attains it:
the clipped gradient of the record that differs has norm 1 and the same direction after every
history, and the gradients of the others are 0. If the samples are released too, epsilon is 6.6354.
The false claim is the epsilon of a single release, 1.4723.
"""

import numpy as np

DATASET = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [1.0, 50.0]])
NEIGHBOUR = DATASET[:3]
EPSILON = 3.4308
DELTA = 1e-3
FALSE_EPSILON = 1.4723
BATCH = 2  # public: a divisor that counts the sample would tell its size


def stochastic_gradient_descent(data, rng):
    features, targets = data[:, :1], data[:, 1]
    weights, states = np.zeros(1), []
    for _ in range(8):
        chosen = rng.random(len(data)) < 0.25
        gradients = (features @ weights - targets)[:, None] * features
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(1.0, norms)
        noisy = clipped[chosen].sum(axis=0) + rng.normal(scale=1.0, size=1)
        weights = weights - 0.1 * noisy / BATCH
        states.append(weights)
    return np.array(states)
