"""k-means: three rounds of two centres on a line, from noisy counts and noisy sums.

Guarantee: mu = sqrt(3 * 2) / 5 = 0.4899, which is epsilon = 1.9482 at delta = 1e-5, for one record
in [-1, 1] added or removed. In each round the record moves one count by 1 and one sum by at most 1,
as on this pair, whichever cluster it is in, and both have noise of scale 5. The mu is a closed
form, and its epsilon is from 50-digit arithmetic. The false claim is that counts need no budget:
1.3263.
"""

import numpy as np

NEIGHBOUR = np.array([-0.9, -0.7, -0.2, 0.1, 0.6, 0.8])
DATASET = np.append(NEIGHBOUR, 1.0)
EPSILON = 1.9482
DELTA = 1e-5
FALSE_EPSILON = 1.3263


def k_means(data, rng):
    centres, released = np.array([-0.5, 0.5]), []
    for _ in range(3):
        nearest = np.abs(data[:, None] - centres).argmin(axis=1)
        counts = np.array([(nearest == k).sum() for k in (0, 1)]) + rng.normal(scale=5.0, size=2)
        sums = np.array([data[nearest == k].sum() for k in (0, 1)]) + rng.normal(scale=5.0, size=2)
        centres = np.clip(sums / np.maximum(counts, 1.0), -1.0, 1.0)
        released.append((counts, sums))
    return np.array(released)
