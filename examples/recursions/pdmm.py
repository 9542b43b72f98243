"""The primal-dual method of multipliers (PDMM) for the mean, with two places for its noise.

Sources: Zhang and Heusdens, Distributed optimization using the primal-dual method of multipliers
(2018), and with noise once at the start, Li, Heusdens and Christensen, Privacy-preserving
distributed optimization via subspace perturbation (2020). There is a ring of five nodes, with
losses (x - b_i)**2 / 2 and constant 1/2; b_i at each node is private. Node i keeps z_ij for each
neighbour, x_i = (b_i - sum_j A_ij z_ij) / 2, and neighbour j's z_ji becomes z_ij + A_ij x_i; A_ij =
1 = -A_ji.

With noise on the messages, a node sees the messages on its edges. Given the earlier ones, both
messages of a node move by 1/2 in each round, under noise of scale 1/2: mu = sqrt(2 * 12) for all of
them. With noise at the start, nodes put it into z, which they send in secret, and then broadcast
x_i. This noise adds no error to the mean of all numbers, so the observer learns the mean: mu is
infinite if one number moves, and finite if two numbers move in opposite directions.
"""

import numpy as np

SOURCE = "Zhang, Heusdens 2018; Li, Heusdens, Christensen 2020"
PRIVATE = np.zeros(5)
CHANGES = {
    "node 0 by 1": np.array([1.0, 0.0, 0.0, 0.0, 0.0]),
    "nodes 0 and 1 apart": np.array([1.0, -1.0, 0.0, 0.0, 0.0]),
}
MU = {
    "noisy_messages": {
        "node 0 by 1": {
            "node 1": 2.10448069703,
            "node 2": 1.56118920681,
            "all messages": 4.89897948557,
        },
        "nodes 0 and 1 apart": {
            "node 1": 5.33187012259,
            "node 2": 1.169560183,
            "all messages": 6.92820323028,
        },
    },
    "noisy_start": {
        "node 0 by 1": {
            "node 3": np.inf,
            "all messages": np.inf,
        },
        "nodes 0 and 1 apart": {
            "node 3": 0.333333333333,
            "all messages": 0.421637021356,
        },
    },
}


def noisy_messages(private, rng):
    right, left = np.zeros(5), np.zeros(5)  # z of node i for node i + 1, for node i - 1
    seen = []
    for _ in range(12):
        models = (private - right + left) / 2
        to_right = right + models + rng.normal(scale=0.5, size=5)
        to_left = left - models + rng.normal(scale=0.5, size=5)
        right, left = np.roll(to_left, -1), np.roll(to_right, 1)
        seen.append([to_right, to_left])
    seen = np.array(seen)
    heard_by_1 = [seen[:, 0, [0, 1]], seen[:, 1, [1, 2]]]
    heard_by_2 = [seen[:, 0, [1, 2]], seen[:, 1, [2, 3]]]
    return {"node 1": heard_by_1, "node 2": heard_by_2, "all messages": seen}


def noisy_start(private, rng):
    right, left = 3 * rng.standard_normal(5), 3 * rng.standard_normal(5)
    known_to_3 = [right[[2, 3]], left[[3, 4]]]
    sent = []
    for _ in range(12):
        models = (private - right + left) / 2
        right, left = np.roll(left - models, -1), np.roll(right + models, 1)
        sent.append(models)
    sent = np.array(sent)
    return {"node 3": [known_to_3, sent[:, 2:]], "all messages": sent}
