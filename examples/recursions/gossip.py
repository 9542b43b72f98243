"""Gossip averaging over a fixed graph, with noise on every message.

Source: Xiao and Boyd, Fast linear iterations for distributed averaging (2004): x <- W x, here with
Metropolis' weights on a star of five nodes, twenty rounds. Private: a number at each node. A node
sees what it sends and what its neighbours send; the observer "all messages" reads the wire.

Given the earlier messages, message t of a leaf moves by .8**t times the change of its number,
because the leaf keeps .8 of its state. So the centre and the observer of all messages have mu**2 =
sum of .64**t over 20 rounds.
"""

import numpy as np

SOURCE = "Xiao and Boyd 2004"
PRIVATE = np.zeros(5)
CHANGES = {"leaf 1 by 1": np.array([0.0, 1.0, 0.0, 0.0, 0.0])}
MU = {
    "gossip": {
        "leaf 1 by 1": {
            "centre": 1.66655589399,
            "leaf 2": 0.368880374102,
            "all messages": 1.66655589399,
        },
    },
}


def gossip(private, rng):
    weights = np.diag([0.2, 0.8, 0.8, 0.8, 0.8])
    weights[0, 1:] = weights[1:, 0] = 0.2
    own = np.diag(weights)
    states, sent = private, []
    for _ in range(20):
        messages = states + rng.standard_normal(5)
        states = own * states + (weights - np.diag(own)) @ messages
        sent.append(messages)
    sent = np.array(sent)
    return {"centre": sent, "leaf 2": sent[:, [0, 2]], "all messages": sent}
