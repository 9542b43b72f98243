"""A mean that is clamped to what was seen.

Clamping a noisy mean is free, as long as the limits are known beforehand. The smallest and the
largest record are not: the clamped mean equals one of them every so often, exactly and without
noise.
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
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, grades, changed, epsilon=1.0))
