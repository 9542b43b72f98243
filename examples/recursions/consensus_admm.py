"""Consensus ADMM by its centre, by nodes and by edges, with noise on what is sent.

Sources: Boyd, Parikh, Chu, Peleato and Eckstein, Distributed optimization and statistical learning
via the alternating direction method of multipliers (2011), section 7.1, with a centre that takes
the mean, and section 7.2, where here every edge of a network has a separate average, to which both
ends send their model plus their dual variable. By nodes, Shi, Ling, Yuan, Wu and Yin, On the linear
convergence of the ADMM in decentralized consensus optimization (2014): a node broadcasts its model.
There are four nodes, on a ring unless there is a centre, losses (x - b_i)**2 / 2, and penalty 1;
b_i at each node is private. A node sees what it sends and what it hears; the observer "all
messages", or "eavesdropper", reads the wire.

With a centre, a message moves by 1/2 under noise of variance .1, given the earlier ones, because
its dual variable follows from messages: mu = 5 for ten of them. Node 1 sees the nine means before
its last message, each with the noise of all three others: mu = sqrt(9 / 3 * 2.5) = sqrt(7.5). By
nodes, a broadcast moves by 1 / (1 + 2 * 2) under noise of scale .2: mu = sqrt(20) on the wire. By
edges, the dual variables are hidden: with u = 0, a round moves the model by x = (1 - 2 u) / 3 and
both messages by x + u, and then u <- u + x: mu**2 = sum of 2 (x + u)**2 / noise**2.
"""

import numpy as np

from dpaudit import Message

SOURCE = "Boyd and others 2011; Shi and others 2014"
PRIVATE = np.zeros(4)
CHANGES = {"node 0 by 1": np.array([1.0, 0.0, 0.0, 0.0])}
MU = {
    "by_centre": {
        "node 0 by 1": {
            "node 1": 2.73861278753,
            "all messages": 5.0,
        },
    },
    "by_nodes": {
        "node 0 by 1": {
            "node 1": 4.08835453809,
            "node 2": 2.56334046543,
            "all messages": 4.472135955,
        },
    },
    "by_edges": {
        "node 0 by 1": {
            "node 1": 3.87939563142,
            "node 2": 2.50777892142,
            "eavesdropper": 4.71699096494,
        },
    },
}


def by_centre(private, rng):
    mean, duals, sent, means = 0.0, np.zeros(4), [], []
    for _ in range(10):
        means.append(mean)
        messages = (private + mean - duals) / 2 + np.sqrt(0.1) * rng.standard_normal(4)
        mean = messages.mean()
        duals = duals + messages - mean
        sent.append(messages)
    sent = np.array(sent)
    return {"node 1": [sent[:, 1], means], "all messages": sent}


def by_nodes(private, rng):
    models, duals, sent = np.zeros(4), np.zeros(4), []
    for _ in range(20):
        around = np.roll(models, 1) + np.roll(models, -1)
        models = (private + 2 * models + around - duals) / 5 + rng.normal(scale=0.2, size=4)
        duals = duals + 2 * models - np.roll(models, 1) - np.roll(models, -1)
        sent.append(models)
    sent = np.array(sent)
    return {"node 1": sent[:, :3], "node 2": sent[:, 1:], "all messages": sent}


def by_edges(private, rng):
    edges = [(i, (i + side) % 4) for i in range(4) for side in (1, -1)]
    averages, duals, sent = dict.fromkeys(edges, 0.0), dict.fromkeys(edges, 0.0), []
    for _ in range(12):
        pull = {edge: averages[edge] - duals[edge] for edge in edges}
        models = [(private[i] + sum(pull[e] for e in edges if e[0] == i)) / 3 for i in range(4)]
        values = {e: models[e[0]] + duals[e] + rng.normal(scale=0.5) for e in edges}
        for i, j in edges:
            averages[i, j] = (values[i, j] + values[j, i]) / 2
            duals[i, j] += models[i] - averages[i, j]
            sent.append(Message(values[i, j], sender=f"node {i}", receiver=f"node {j}"))
    return sent
