"""DP-GD: linear regression by ten noisy full gradients, each record's clipped to norm 1.

Guarantee: mu = sqrt(10) * (2/4) / 2 = 0.7906, which is epsilon = 3.3415 at delta = 1e-5, for one of
four records replaced. Two clipped gradients are at most 2 apart, as on this pair after every
history, so their means are 2/4 apart. The mu is a closed form, and its epsilon is from 50-digit
arithmetic. The false claim takes the norm of one clipped gradient, 1, for the distance between two:
1.5347.
"""

import numpy as np

DATASET = np.array([[1.0, 0.0, 50.0], [0.3, 0.2, 0.1], [0.1, 0.9, 0.4], [0.5, 0.5, 0.6]])
NEIGHBOUR = np.array([[1.0, 0.0, -50.0], [0.3, 0.2, 0.1], [0.1, 0.9, 0.4], [0.5, 0.5, 0.6]])
EPSILON = 3.3415
DELTA = 1e-5
FALSE_EPSILON = 1.5347


def gradient_descent(data, rng):
    features, targets = data[:, :-1], data[:, -1]
    weights, states = np.zeros(features.shape[1]), []
    for _ in range(10):
        gradients = (features @ weights - targets)[:, None] * features
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(1.0, norms)
        noise = rng.normal(scale=2.0, size=weights.shape)
        weights = weights - 0.5 * (clipped.mean(axis=0) + noise)
        states.append(weights)
    return np.array(states)
