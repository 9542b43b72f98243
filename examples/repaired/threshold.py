"""The first question above a threshold.

The sparse vector technique says which of many counts is the first above a threshold, and costs as
much as a single count, however many come before it. It adds noise to the threshold and to every
count. Published variants left out the noise on the counts: then some output is possible on one
dataset and impossible on its neighbour.
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


answers = np.array([[1, 0, 0, 0, 0], [0, 1, 1, 1, 1], [0, 1, 1, 1, 1]])
changed = np.array([[1, 0, 0, 0, 0], [0, 1, 1, 1, 1], [1, 0, 0, 0, 0]])
claim, people = {"epsilon": 1.0}, {"bounds": (0, 1), "columns": 5, "records": 3}
proofs = [dpaudit.prove(one, domain=people, **claim) for one in (broken, repaired)]
audits = [dpaudit.audit(one, answers, changed, **claim) for one in (broken, repaired)]
print(*proofs, *audits, sep="\n")
