"""Logistic regression with noisy weights.

By Chaudhuri, Monteleoni and Sarwate (2011), one record of norm at most 1 moves the weights by at
most 2 / (n * penalty) if the penalty is added to the mean loss. Noise whose density falls off with
its norm at that rate makes them private. scikit-learn adds its penalty to the *sum* of the losses:
`C` is 1 / (n * penalty), and `C=1 / penalty` trains with a penalty that is n times too small.
`dpaudit.prove` cannot read scikit-learn's solver: the repair rests on the theorem and on the audit.
The fit needs no random numbers, so one call fits once and draws the noise for all trials.
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
claim = {"epsilon": 1.0, "relation": "replace-label"}
people = {"bounds": (-1, 1), "columns": 2, "norm": 1.0, "labels": (0, 1), "records": 50}
pair = (records, labels), (records, changed)
proofs = [dpaudit.prove(one, domain=people, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, *pair, **claim, trials=4000) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
