"""PATE: ten teachers vote on five questions, and the label with most noisy votes is released.

Guarantee: epsilon = 2.5 at delta = 0 for one teacher replaced. A vote that changes moves two counts
by 1, under Laplace noise of scale 4, in each of five questions: 5 * 2/4, in closed form. This is
the epsilon of all noisy counts; the labels alone have an epsilon of 1.6891 on this pair, by the
probabilities of all 243 sequences of labels. The false claim is that a vote moves one count: 1.25.
"""

import numpy as np

DATASET = np.array([[0] * 5, [0] * 5, *[[1] * 5] * 4, *[[2] * 5] * 4])
NEIGHBOUR = np.array([[1] * 5, *DATASET[1:]])
EPSILON = 2.5
DELTA = 0.0
FALSE_EPSILON = 1.25


def teachers(data, rng):
    labels = []
    for votes in data.T:
        counts = np.bincount(votes, minlength=3)
        noisy = counts + rng.laplace(scale=4.0, size=3)
        labels.append(int(np.argmax(noisy)))
    return labels
