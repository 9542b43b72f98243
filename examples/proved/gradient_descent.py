"""DP-GD: logistic regression by twenty noisy full gradients, each record's clipped to norm 1.

Guarantee: mu = sqrt(20) * (2/50) / .2 = .8944 for one of fifty records replaced, which is epsilon =
3.8487 at delta = 1e-5. Two clipped gradients are at most 2 apart, and their means 2/50.
"""

import numpy as np

DOMAIN = {"bounds": (-1, 1), "records": 50, "columns": 4}
RELATION = "replace-record"
EPSILON, DELTA = 3.8487, 1e-5


def gradient_descent(data, rng):
    features, labels = data[:, :-1], data[:, -1]
    weights, states = np.zeros(3), []
    for _ in range(20):
        chances = 1 / (1 + np.exp(-(features @ weights)))
        gradients = (chances - labels)[:, None] * features
        norms = np.linalg.norm(gradients, axis=1, keepdims=True)
        clipped = gradients / np.maximum(1.0, norms)
        weights = weights - 0.5 * (clipped.mean(axis=0) + rng.normal(scale=0.2, size=3))
        states.append(weights)
    return np.array(states)
