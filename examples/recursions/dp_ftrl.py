"""DP-FTRL: follow the regularised leader on prefix sums from a binary tree.

Source: Kairouz, McMahan, Song, Thakkar, Thakurta and Xu, Practical and private (deep) learning
without sampling or shuffling (2021). A node of the tree is the sum of the gradients below it plus
noise that is drawn once; the model after t rounds is minus a step times the sum of the nodes that
make up the first t gradients. The gradient in a round is half of the model minus the private number
of that round. An observer sees all models, or only the last one.

All models together reveal every node that was used. Of the eight rounds, the first is below four
such nodes and the fourth below two: mu is 2 and sqrt(2).
"""

import numpy as np

SOURCE = "Kairouz and others 2021"
PRIVATE = np.zeros(8)
CHANGES = {
    "round 1 by 1": np.eye(8)[0],
    "round 4 by 1": np.eye(8)[3],
}
MU = {
    "dp_ftrl": {
        "round 1 by 1": {
            "all models": 2.0,
            "last model": 0.347321026463,
        },
        "round 4 by 1": {
            "all models": 1.41421356237,
            "last model": 0.518450045333,
        },
    },
}


def dp_ftrl(private, rng):
    tree, gradients, models = {}, [], [0.0]
    for t in range(1, 9):
        gradients.append(models[-1] / 2 - private[t - 1])
        start, total = 0, 0.0
        for size in (8, 4, 2, 1):
            if t & size:
                if (start, size) not in tree:
                    node = sum(gradients[start : start + size])
                    tree[start, size] = node + rng.standard_normal()
                total += tree[start, size]
                start += size
        models.append(-0.25 * total)
    return {"all models": models[1:], "last model": models[-1]}
