"""A histogram when people change their answer.

Noise of scale 1 on every bin is right where a person joins or leaves: one bin moves by 1. Here
the number of people is public and a person's age changes, so that one bin loses a person and
another gains one. The counts move by 2 in all, and the noise has to be twice as wide.
"""

import numpy as np

import dpaudit

BINS = [0, 30, 60, 100]


def broken(ages, rng):
    return np.histogram(ages, BINS)[0] + rng.laplace(scale=1.0, size=3)


def repaired(ages, rng):
    return np.histogram(ages, BINS)[0] + rng.laplace(scale=2.0, size=3)


ages, changed = np.array([23, 35, 71, 64]), np.array([23, 35, 71, 28])
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, ages, changed, epsilon=1.0))
