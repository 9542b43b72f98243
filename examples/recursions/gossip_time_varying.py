"""Gossip in pairs that change with time: a hypercube of eight nodes, one direction a round.

Source: Boyd, Ghosh, Prabhakar and Shah, Randomized gossip algorithms (2006): two nodes meet and
both take the mean of their numbers. Here the public schedule is that of a hypercube: in round t a
node meets the one whose index differs in bit t mod 3. Private: a number at each node. A node sees
what it sends, and what the node that it meets sends.

A node keeps half of its state. So, given the earlier messages, message t moves by 2**-t under noise
of scale .5: mu**2 = 4 * sum of 4**-t over six rounds for an observer of all messages.
"""

import numpy as np

SOURCE = "Boyd, Ghosh, Prabhakar, Shah 2006"
PRIVATE = np.zeros(8)
CHANGES = {"node 0 by 1": np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
MU = {
    "gossip_time_varying": {
        "node 0 by 1": {
            "node 1": 2.01560188592,
            "node 2": 0.946077062103,
            "node 3": 0.946077062103,
            "node 4": 0.542515932762,
            "node 5": 0.542515932762,
            "node 6": 0.542515932762,
            "node 7": 0.542515932762,
            "all messages": 2.30911915024,
        },
    },
}


def gossip_time_varying(private, rng):
    states = private.copy()
    seen = {f"node {i}": [] for i in range(1, 8)} | {"all messages": []}
    for t in range(6):
        sent = states + rng.normal(scale=0.5, size=8)
        partners = np.arange(8) ^ (1 << t % 3)
        states = (states + sent[partners]) / 2
        for i in range(1, 8):
            seen[f"node {i}"] += [sent[i], sent[partners[i]]]
        seen["all messages"].append(sent)
    return seen
