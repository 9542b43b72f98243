"""EXTRA on a ring, with noise on the messages.

Source: Shi, Ling, Wu and Yin, EXTRA: an exact first-order algorithm for decentralized consensus
optimization (2015), Algorithm 1: x1 = W x0 - step * g(x0), and after that x2 = (1 + W) x1 - (1 + W)
/ 2 x0 - step * (g(x1) - g(x0)). A node takes its own x without noise. Quadratics a_i x**2 / 2 - b_i
x; the curvatures are public, and b_i at each node is private. A node sees what it sends and what
its two neighbours send.

Given the earlier messages, the message of node 0 moves by d, with d0 = 0, d1 = step and d2 = (1 +
w) d1 - (1 + w) / 2 d0 - step * a (d1 - d0), where w = 1/3 is the node's own weight: an observer of
all messages has mu**2 = sum of d**2 / noise**2.
"""

import numpy as np

SOURCE = "Shi, Ling, Wu, Yin 2015"
PRIVATE = np.zeros(5)
CHANGES = {"node 0 by 1": np.array([1.0, 0.0, 0.0, 0.0, 0.0])}
MU = {
    "extra": {
        "node 0 by 1": {
            "node 1": 3.09446864198,
            "node 2": 1.65579052882,
            "all messages": 3.56261689951,
        },
    },
}


def extra(private, rng):
    curvatures, step = np.array([0.5, 1.0, 1.5, 2.0, 1.0]), 0.4

    def heard(messages):
        return (np.roll(messages, 1) + np.roll(messages, -1)) / 3

    old = np.zeros(5)
    before = old + rng.normal(scale=0.2, size=5)
    new = old / 3 + heard(before) - step * (curvatures * old - private)
    sent = [before]
    for _ in range(15):
        messages = new + rng.normal(scale=0.2, size=5)
        here, there = new / 3 + heard(messages), old / 3 + heard(before)
        slope = curvatures * (new - old)
        old, new = new, new + here - (old + there) / 2 - step * slope
        before = messages
        sent.append(messages)
    sent = np.array(sent)
    return {
        "node 1": sent[:, [0, 1, 2]],
        "node 2": sent[:, [1, 2, 3]],
        "all messages": sent,
    }
