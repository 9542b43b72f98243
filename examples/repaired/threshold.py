"""The first question above a threshold.

The sparse vector technique says which of many counts is the first above a threshold, for the
price of one. It adds noise to the threshold and noise to every count. Published variants left the
second out: then one output is possible on one dataset and impossible on its neighbour.
"""

import numpy as np

import dpaudit

THRESHOLD = 1.5


def broken(answers, rng):
    limit = THRESHOLD + rng.laplace(scale=2.0)
    return next((k for k, count in enumerate(answers.sum(axis=0)) if count > limit), None)


def repaired(answers, rng):
    limit = THRESHOLD + rng.laplace(scale=2.0)
    counts = answers.sum(axis=0)
    return next((k for k, one in enumerate(counts) if one + rng.laplace(scale=4.0) > limit), None)


answers, changed = np.array([[1, 0], [0, 1], [0, 1]]), np.array([[1, 0], [0, 1], [1, 0]])
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, answers, changed, epsilon=1.0))
