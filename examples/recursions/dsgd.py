"""Decentralised stochastic gradient descent (DSGD), with noise on the gradients.

Source: Nedic and Ozdaglar, Distributed subgradient methods for multi-agent optimization (2009): x_i
<- sum_j W_ij x_j - step * gradient_i(x_i). Least squares on a ring of four nodes, ten rounds; the
features are public; the labels, three at each node, are private. A node sees its own and its
neighbours' models in every round; the observer "mean" sees only the mean of the last models.

Given all earlier models, the model of node 0 moves by step * a / 3 if a label with features a moves
by 1, under noise of scale step * .5: mu = sqrt(10) * ||a|| / 1.5 for an observer of all models. A
neighbour learns less, because it does not see one of the models that enter node 0.
"""

import numpy as np

SOURCE = "Nedic, Ozdaglar 2009"
PRIVATE = np.zeros((4, 3))
CHANGES = {"label 0 of node 0 by 1": np.array([[1.0, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0]])}
FEATURES = np.array(
    [
        [[1.0, 0.5], [0.0, 1.0], [-1.0, 0.5]],
        [[0.5, -1.0], [1.0, 1.0], [0.0, 0.5]],
        [[1.0, 0.0], [0.5, 0.5], [-0.5, 1.0]],
        [[0.0, -1.0], [1.0, -0.5], [0.5, 1.0]],
    ]
)
MU = {
    "dsgd": {
        "label 0 of node 0 by 1": {
            "node 1": 2.24182841121,
            "node 2": 0.982252221567,
            "all models": 2.35702260396,
            "mean": 1.01263219709,
        },
    },
}


def dsgd(private, rng):
    mixing = np.array([[2, 1, 0, 1], [1, 2, 1, 0], [0, 1, 2, 1], [1, 0, 1, 2]]) / 4
    models, sent = np.zeros((4, 2)), []
    for _ in range(10):
        errors = np.einsum("nrk,nk->nr", FEATURES, models) - private
        gradients = np.einsum("nrk,nr->nk", FEATURES, errors) / 3
        noisy = gradients + 0.5 * rng.standard_normal((4, 2))
        models = mixing @ models - 0.3 * noisy
        sent.append(models)
    sent = np.array(sent)
    return {
        "node 1": sent[:, :3],
        "node 2": sent[:, 1:],
        "all models": sent,
        "mean": models.mean(axis=0),
    }
