"""Two answers for the price of one.

Each answer is 1-differentially private, but both together cost epsilon = 2. If you publish two
answers, divide the budget between them: each needs twice the noise.
"""

import numpy as np

import dpaudit


def broken(heights, rng):
    return heights.sum() + rng.laplace(scale=1.0), (heights**2).sum() + rng.laplace(scale=1.0)


def repaired(heights, rng):
    return heights.sum() + rng.laplace(scale=2.0), (heights**2).sum() + rng.laplace(scale=2.0)


heights, changed = np.array([0.4, 0.7, 1.0]), np.array([0.4, 0.7, 0.0])
claim, people = {"epsilon": 1.0}, {"bounds": (0, 1), "records": 3}
proofs = [dpaudit.prove(one, domain=people, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, heights, changed, **claim) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
