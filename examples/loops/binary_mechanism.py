"""The binary mechanism: running counts of eight events from a tree of noisy counts.

Guarantee: epsilon = 1 at delta = 0 for one event changed. The first event is part of four counts of
the tree, each with Laplace noise of scale 4: 4 * 1/4, in closed form, which this pair attains. The
running counts determine the counts of the tree. The false claim is that an event is part of only
one count: 0.25.
"""

import numpy as np

DATASET = np.array([0, 1, 0, 0, 1, 1, 0, 1])
NEIGHBOUR = np.array([1, 1, 0, 0, 1, 1, 0, 1])
EPSILON = 1.0
DELTA = 0.0
FALSE_EPSILON = 0.25


def binary_mechanism(data, rng):
    exact, noisy, released = np.zeros(9), np.zeros(9), []
    for step, event in enumerate(data, start=1):
        size = step & -step  # of the count that this event completes
        exact[step] = event + data[step - size : step - 1].sum()
        noisy[step] = exact[step] + rng.laplace(scale=4.0)
        total, end = 0.0, step
        while end > 0:
            total += noisy[end]
            end -= end & -end
        released.append(total)
    return np.array(released)
