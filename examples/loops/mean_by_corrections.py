"""A mean that is found by twenty noisy corrections, all of which are released.

Guarantee: epsilon = 5 at delta = 0, for one of four records in [0, 1] replaced. On this pair each
correction moves by 1/4 after every history, its Laplace noise has scale 1, and there are twenty:
20 * (1/4) / 1, in closed form. The false claim is the epsilon of a single correction, 0.25.
"""

import numpy as np

DATASET, NEIGHBOUR = np.array([0.0, 0.3, 0.6, 0.9]), np.array([1.0, 0.3, 0.6, 0.9])
EPSILON = 5.0
DELTA = 0.0
FALSE_EPSILON = 0.25


def mean_by_corrections(data, rng):
    estimate, releases = 0.0, []
    for _ in range(20):
        correction = (estimate - data).mean() + rng.laplace(scale=1.0)
        estimate -= 0.9 * correction
        releases.append(correction)
    return np.array(releases)
