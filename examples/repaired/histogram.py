"""A histogram when people change their answer.

If a person joins or leaves, one bin moves by 1, and noise of scale 1 on every bin is enough. Here
the number of people is public and one person's answer changes: one bin loses a person and another
gains one. The counts move by 2 in all, and the noise has to be twice as wide.
"""

import numpy as np

import dpaudit

BINS = [0, 30, 60, 100]


def broken(ages, rng):
    return np.histogram(ages, BINS)[0] + rng.laplace(scale=1.0, size=3)


def repaired(ages, rng):
    return np.histogram(ages, BINS)[0] + rng.laplace(scale=2.0, size=3)


ages, changed = np.array([23, 35, 71, 64]), np.array([23, 35, 71, 28])
claim, people = {"epsilon": 1.0}, {"bounds": (0, 100), "records": 4}
proofs = [dpaudit.prove(one, domain=people, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, ages, changed, **claim) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
