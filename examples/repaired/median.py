"""A median by the exponential mechanism, and its factor of two.

The mechanism draws a price with a probability that grows with its score, which says how near the
price is to the median. When one record changes, one score can rise by 1 and another fall by 1.
This is the reason for the 2 in `exp(score / 2)`, which people often leave out.
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
claim, buyers = {"epsilon": 1.0}, {"bounds": (0, 100), "records": 10}
proofs = [dpaudit.prove(one, domain=buyers, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, paid, changed, **claim) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
