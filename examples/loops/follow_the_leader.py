"""DP-FTRL: eight gradients, each of one record, whose running sums come from a noisy tree.

Guarantee: mu = 2 * sqrt(4) / 4 = 1, which is epsilon = 4.3772 at delta = 1e-5, for one record
replaced. Clipped gradients are at most 2 apart, as on this pair after every history; the first one
is part of four sums of the tree, each with noise of scale 4. The mu is a closed form, and its
epsilon is from 50-digit arithmetic. The false claim is that a gradient is part of one sum: 1.9931.
"""

import numpy as np

DATASET = np.array([50.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
NEIGHBOUR = np.array([-50.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
EPSILON = 4.3772
DELTA = 1e-5
FALSE_EPSILON = 1.9931


def follow_the_leader(data, rng):
    gradients, tree, model, models = [], {}, 0.0, []
    for step, record in enumerate(data, start=1):
        gradients.append(np.clip(model - record, -1.0, 1.0))
        size = step & -step  # of the sum that this gradient completes
        tree[step] = sum(gradients[step - size :]) + rng.normal(scale=4.0)
        total, end = 0.0, step
        while end:
            total, end = total + tree[end], end - (end & -end)
        model = -0.1 * total
        models.append(model)
    return np.array(models)
