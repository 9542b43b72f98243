"""A mean that is clamped to what was seen.

Clamping a noisy mean costs nothing if the limits are fixed beforehand. Here they are the smallest
and the largest record: now and then the clamped mean equals one of them, exactly and without noise.
"""

import numpy as np

import dpaudit


def broken(grades, rng):
    noisy = grades.mean() + rng.laplace(scale=1 / len(grades))
    return np.clip(noisy, grades.min(), grades.max())


def repaired(grades, rng):
    noisy = grades.mean() + rng.laplace(scale=1 / len(grades))
    return np.clip(noisy, 0.0, 1.0)


grades, changed = np.array([0.3, 0.4, 0.6, 0.9]), np.array([0.3, 0.4, 0.6, 0.7])
claim, marks = {"epsilon": 1.0}, {"bounds": (0, 1), "records": 4}
proofs = [dpaudit.prove(one, domain=marks, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, grades, changed, **claim) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
