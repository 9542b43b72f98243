"""A table published three ways: counts by town, the mean of what was spent, and a noisy majority.

Guarantee: epsilon = 1.75 for one of a hundred records replaced: 1 for the counts, of which two move
by 1, 1/2 for the mean of clipped numbers, and 1/4 for the largest of three noisy counts, which all
move in one direction.
"""

import numpy as np

DOMAIN = {"bounds": (0, 10), "records": 100, "columns": 2}
RELATION = "replace-record"
EPSILON, DELTA = 1.75, 0.0


def shared_budget(data, rng):
    towns, spent = data[:, 0], np.clip(data[:, 1], 0, 5)
    counts = np.histogram(towns, bins=[0, 2, 4, 6, 8, 10])[0]
    mean = spent.mean() + rng.laplace(scale=5 / (100 * 0.5))
    above = np.array([(spent > limit).sum() for limit in (1, 2, 3)])
    return {
        "counts": counts + rng.laplace(scale=2.0, size=5),
        "mean": mean,
        "largest": int(np.argmax(above + rng.gumbel(scale=4.0, size=3))),
    }
