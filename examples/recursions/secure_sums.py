"""Sums behind masks that cancel in pairs, and users that drop out.

Source: Sabater, Bellet and Ramon, An accurate, scalable and verifiable protocol for federated
differentially private averaging (2022), GOPA: every pair shares a Gaussian mask that one adds and
the other subtracts, and each user adds separate noise. User 5 drops out; its partners reveal the
masks that they share with it, as Bonawitz and others (2017) do. Private: a number at each user. The
server sees the messages that arrive and the revealed masks; together with user 4 it also knows that
user's masks, number and noise; the observer "sum" sees only the corrected sum.

For the h users who are left, the covariance is noise**2 in the direction of the sum, and noise**2 +
h mask**2 in all other directions: mu**2 = 1 / (h noise**2) + (1 - 1/h) / (noise**2 + h mask**2),
with h = 5, and h = 4 together with user 4.
"""

import numpy as np

SOURCE = "Sabater, Bellet, Ramon 2022"
PRIVATE = np.zeros(6)
CHANGES = {"user 0 by 1": np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
MU = {
    "secure_sums": {
        "user 0 by 1": {
            "server": 0.904256356356,
            "server with user 4": 1.01029186633,
            "sum": 0.894427191,
        },
    },
}


def secure_sums(private, rng):
    noisy = private + rng.normal(scale=0.5, size=6)
    masks = np.triu(rng.normal(scale=3.0, size=(6, 6)), k=1)
    masks = masks - masks.T
    sent = noisy + masks.sum(axis=1)
    arrived, revealed = sent[:5], masks[:5, 5]
    return {
        "server": [arrived, revealed],
        "server with user 4": [arrived, revealed, masks[4], noisy[4]],
        "sum": arrived.sum() - revealed.sum(),
    }
