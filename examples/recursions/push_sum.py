"""Push-sum on a directed graph, with noise on what is sent.

Source: Kempe, Dobra and Gehrke, Gossip-based computation of aggregate information (2003), protocol
Push-Sum: a node splits its sum and its weight evenly among itself and its receivers; the sum
divided by the weight tends to the mean. The weights are public. Private: a number at each node. A
node sees what it sends and what it hears; the observer "estimates" sees only the last estimates.

Given the earlier messages, message t of node 0 moves by the share that the node keeps, .25, to the
power t, under noise of scale .5: mu**2 = 4 * sum of 16**-t over ten rounds for an observer of all
messages.
"""

import numpy as np

SOURCE = "Kempe, Dobra, Gehrke 2003"
PRIVATE = np.zeros(5)
CHANGES = {"node 0 by 1": np.array([1.0, 0.0, 0.0, 0.0, 0.0])}
MU = {
    "push_sum": {
        "node 0 by 1": {
            "node 1": 2.05127958322,
            "node 4": 0.823875745057,
            "all messages": 2.06559111798,
            "estimates": 0.510889927761,
        },
    },
}


def push_sum(private, rng):
    hearers = {0: [1, 2, 3], 1: [2], 2: [3], 3: [4], 4: [0]}
    shares = np.zeros((5, 5))
    for sender, receivers in hearers.items():
        shares[[sender, *receivers], sender] = 1 / (1 + len(receivers))
    keeps = np.diag(shares)
    sums, weights, sent = private, np.ones(5), []
    for _ in range(10):
        messages = sums + rng.normal(0.0, 0.5, size=5)
        sums = keeps * sums + (shares - np.diag(keeps)) @ messages
        weights = shares @ weights
        sent.append(messages)
    sent = np.stack(sent)
    return {
        "node 1": sent[:, [0, 1]],
        "node 4": sent[:, [3, 4]],
        "all messages": sent,
        "estimates": sums / weights,
    }
