"""Gradient tracking on a path, with noise on the gradients.

Source: Nedic, Olshevsky and Shi, Achieving geometric convergence for distributed optimization over
time-varying graphs (2017), DIGing: x <- W x - step * y, y <- W y + g(x new) - g(x). Quadratics a_i
x**2 / 2 - b_i x; the curvatures are public, and b_i at each node is private. A node sees its own
and its neighbours' x and y; the observer "models" sees only the last models.

Each noisy gradient enters twice, with opposite signs. All messages together reveal the twelve noisy
gradients of node 0, each of which moves by 1 under noise of scale .5: mu = 2 * sqrt(12). The view
of node 1 reveals them too, because node 1 sees all messages to and from node 0.
"""

import numpy as np

SOURCE = "Nedic, Olshevsky, Shi 2017"
PRIVATE = np.zeros(4)
CHANGES = {"node 0 by 1": np.array([1.0, 0.0, 0.0, 0.0])}
MU = {
    "gradient_tracking": {
        "node 0 by 1": {
            "node 1": 6.92820323028,
            "node 2": 6.35609943283,
            "node 3": 4.87995473242,
            "all messages": 6.92820323028,
            "models": 2.63001791935,
        },
    },
}


def gradient_tracking(private, rng):
    curvatures = np.array([1.0, 2.0, 1.5, 0.5])
    mixing = np.array([[2, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [0, 0, 1, 2]]) / 3
    models = np.zeros(4)
    gradients = curvatures * models - private + rng.normal(scale=0.5, size=4)
    trackers, sent = gradients.copy(), []
    for _ in range(12):
        sent.append(np.stack([models, trackers]))
        models = mixing @ models - 0.2 * trackers
        fresh = curvatures * models - private + rng.normal(scale=0.5, size=4)
        trackers = mixing @ trackers + fresh - gradients
        gradients = fresh
    sent = np.array(sent)
    return {
        "node 1": sent[:, :, :3],
        "node 2": sent[:, :, 1:],
        "node 3": sent[:, :, 2:],
        "all messages": sent,
        "models": models,
    }
