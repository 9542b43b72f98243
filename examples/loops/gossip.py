"""Gossip: five nodes of a ring average their numbers, and everybody hears the noisy messages.

Guarantee: mu = sqrt(9) / 3 = 1, which is epsilon = 4.3772 at delta = 1e-5, for one number in [0, 1]
replaced. Given the messages, the state of a node is its number plus a term that everybody knows, so
each of its nine messages moves by 1 under noise of scale 3. The mu is a closed form, and its
epsilon is from 50-digit arithmetic. The false claim is that a node sends its number once: 1.2711.
"""

import numpy as np

DATASET = np.array([0.0, 0.2, 0.4, 0.6, 0.8])
NEIGHBOUR = np.array([1.0, 0.2, 0.4, 0.6, 0.8])
EPSILON = 4.3772
DELTA = 1e-5
FALSE_EPSILON = 1.2711


def gossip(data, rng):
    states, heard = data.astype(float), []
    for _ in range(9):
        messages = states + 3.0 * rng.standard_normal(len(states))
        neighbours = (np.roll(messages, 1) + np.roll(messages, -1)) / 2.0
        states = states + 0.5 * (neighbours - messages)
        heard.append(messages)
    return np.array(heard)
