"""Logistic regression with noisy weights.

Chaudhuri, Monteleoni and Sarwate (2011): records of norm at most 1 and a penalty on the weights
that is added to the mean loss let one record move the weights by at most 2 / (n * penalty), and
noise whose density falls off with its norm at that rate makes them private. scikit-learn adds its
penalty to the sum of the losses: `C` is 1 / (n * penalty), and 1 / penalty trains with a penalty
n times too small. The fit draws nothing, so that it is made once a call, and the noise of all
trials beside it.
"""

import numpy as np
from sklearn.linear_model import LogisticRegression

import dpaudit

PENALTY = 1.0


def noise(records, trials, rng):
    direction = rng.normal(size=(trials, records.shape[1]))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    scale = 2 / (len(records) * PENALTY)
    return direction * rng.gamma(records.shape[1], scale, size=(trials, 1))


def broken(data, trials, rng):
    records, labels = data
    model = LogisticRegression(C=1 / PENALTY, fit_intercept=False).fit(records, labels)
    return model.coef_[0] + noise(records, trials, rng)


def repaired(data, trials, rng):
    records, labels = data
    scale = 1 / (len(records) * PENALTY)
    model = LogisticRegression(C=scale, fit_intercept=False).fit(records, labels)
    return model.coef_[0] + noise(records, trials, rng)


records = np.random.default_rng(0).normal(size=(50, 2))
records /= np.linalg.norm(records, axis=1, keepdims=True)
labels = np.arange(50) % 2
changed = np.append(labels[:-1], 1 - labels[-1])
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, (records, labels), (records, changed), epsilon=1.0, trials=4000))
