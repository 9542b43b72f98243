"""A median by the exponential mechanism, and its factor of two.

Each price is drawn with a probability that grows with its score, how near it is to the median.
When one record changes, one score can rise by 1 and another fall by 1, and so can the total that
the probabilities are divided by: that is where the 2 in `exp(score / 2)` comes from. It is the
line that is left out most often.
"""

import numpy as np

import dpaudit

PRICES = np.array([30, 70])


def scores(paid):
    return -np.abs((paid[:, None] < PRICES).sum(axis=0) - len(paid) / 2)


def drawn(weights, rng):
    return int(rng.choice(PRICES, p=weights / weights.sum()))


def broken(paid, rng):
    return drawn(np.exp(scores(paid)), rng)


def repaired(paid, rng):
    return drawn(np.exp(scores(paid) / 2), rng)


paid = np.array([20, 50, 50, 50, 50, 50, 90, 90, 90, 90])
changed = np.array([95, 50, 50, 50, 50, 50, 90, 90, 90, 90])
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, paid, changed, epsilon=1.0))
