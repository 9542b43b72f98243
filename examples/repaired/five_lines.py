"""A count, in five lines.

One person moves a count by 1 at most, so Laplace noise of scale 1 makes it 1-differentially
private. The broken function adds half of that noise, which gives only epsilon = 2.
"""

import numpy as np

import dpaudit


def broken(ages, rng):
    return (ages >= 65).sum() + rng.laplace(scale=0.5)


def repaired(ages, rng):
    return (ages >= 65).sum() + rng.laplace(scale=1.0)


ages, changed = np.array([31, 44, 70]), np.array([31, 44, 47])
claim, people = {"epsilon": 1.0}, {"bounds": (0, 120), "records": 3}
proofs = [dpaudit.prove(one, domain=people, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, ages, changed, **claim) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
