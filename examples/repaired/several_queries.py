"""Two answers for the price of one.

Each answer is 1-differentially private, both together are 2: an accountant says so of a release
of two Laplace mechanisms, and the audit of the function's outputs agrees.
"""

import numpy as np

import dpaudit


def broken(heights, rng):
    return heights.sum() + rng.laplace(scale=1.0), (heights**2).sum() + rng.laplace(scale=1.0)


def repaired(heights, rng):
    return heights.sum() + rng.laplace(scale=2.0), (heights**2).sum() + rng.laplace(scale=2.0)


heights, without = np.array([0.4, 0.7, 1.0]), np.array([0.4, 0.7])
for mechanism, scale in ((broken, 1.0), (repaired, 2.0)):
    release = dpaudit.LaplaceRelease(sensitivity=1.0, noise_scale=scale, count=2)
    print(f"proved: {dpaudit.account(release, delta=0.0).proved.upper:g}")
    print(dpaudit.audit(mechanism, heights, without, epsilon=1.0))
