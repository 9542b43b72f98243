"""Consensus ADMM: three agents agree on the mean of their numbers by six noisy messages each.

Guarantee: for an observer who reads all messages, mu = 2.0891, which is epsilon = 10.5503 at
delta = 1e-5, for one number in [0, 1] replaced. Given the earlier messages, message t of the agent
with this number moves by 1 - 2**-t under noise of scale 1, because the private dual variable adds
up the effects of the number. The root of the sum of squares is a closed form, and its epsilon is
from 50-digit arithmetic. The false claim is that all messages move by 1/2, as the first does:
5.5450.
"""

import numpy as np

DATASET, NEIGHBOUR = np.array([0.0, 0.4, 0.8]), np.array([1.0, 0.4, 0.8])
EPSILON = 10.5503
DELTA = 1e-5
FALSE_EPSILON = 5.5450


def consensus_admm(data, rng):
    consensus, duals, sent = 0.0, np.zeros(len(data)), []
    for _ in range(6):
        primals = (data + consensus - duals) / 2.0
        messages = primals + duals + rng.normal(scale=1.0, size=len(data))
        consensus = messages.mean()
        duals = duals + primals - consensus
        sent.append(messages)
    return np.array(sent)
