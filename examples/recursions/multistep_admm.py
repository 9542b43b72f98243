"""Multi-step DP-ADMM, with linear and with quadratic losses.

Source: Huang and Gong, Differentially private ADMM for convex distributed learning: improved
accuracy via multi-step approximation, Algorithm 1: a node takes several noisy steps before it sends
the mean of its inner models. There is a ring of four nodes, and the gradient is a x - b_i, where a
is public (0 for linear losses) and b_i at each node is private. A node sees its own inner models,
from which it knows its noise, and the means that its neighbours send; the observer "all messages"
reads the means, and "inner models" is the view for which such algorithms are usually analysed.

An inner model moves by 1 / (2 * 2 * penalty + weight) = 1/4 under noise of scale 1/2, given the
earlier ones: mu = sqrt(10 * 3) / 2 for all inner models.
"""

import numpy as np

SOURCE = "Huang, Gong"
PRIVATE = np.zeros(4)
CHANGES = {"node 0 by 1": np.array([1.0, 0.0, 0.0, 0.0])}
MU = {
    "linear": {
        "node 0 by 1": {
            "node 1": 2.48133589437,
            "node 2": 1.61428630097,
            "all messages": 2.73208449984,
            "inner models": 2.73861278753,
        },
    },
    "quadratic": {
        "node 0 by 1": {
            "node 1": 2.51385986882,
            "node 2": 1.52678951164,
            "all messages": 2.73611149513,
            "inner models": 2.73861278753,
        },
    },
}


def linear(private, rng):
    return _multistep(private, rng, slope=0.0)


def quadratic(private, rng):
    return _multistep(private, rng, slope=0.8)


def _multistep(private, rng, slope):
    models, means, duals = np.zeros(4), np.zeros(4), np.zeros(4)
    sent, inner = [], []
    for _ in range(10):
        around = np.roll(means, 1) + np.roll(means, -1)
        pull = 2 * duals + 0.5 * (2 * means + around)
        steps = []
        for _ in range(3):
            models = (private - slope * models + pull + 2 * models) / (2 * 0.5 * 2 + 2)
            models = models + 0.5 * rng.standard_normal(4)
            steps.append(models)
        means = np.mean(steps, axis=0)
        duals = duals - 0.5 / 2 * (2 * means - np.roll(means, 1) - np.roll(means, -1))
        sent.append(means)
        inner += steps
    sent, inner = np.array(sent), np.array(inner)
    return {
        "node 1": [inner[:, 1], sent[:, [0, 2]]],
        "node 2": [inner[:, 2], sent[:, [1, 3]]],
        "all messages": sent,
        "inner models": inner,
    }
