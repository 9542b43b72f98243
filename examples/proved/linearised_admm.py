"""DP-ADMM: three agents learn a regression together, each by noisy clipped gradients of its own.

Every agent takes a linearised step on the mean of its records' gradients, each clipped to norm 1,
adds Gaussian noise, and sends its model; the consensus and the duals are made of what was sent.

Guarantee: mu = sqrt(8) * (2/20) / .2 = 1.4142 for one of sixty records replaced, which is epsilon =
6.5730 at delta = 1e-5: a record moves the gradients of its own agent alone, by at most 2/20.
"""

import numpy as np

DOMAIN = {"bounds": (-1, 1), "records": 60, "columns": 3}
RELATION = "replace-record"
EPSILON, DELTA = 6.5730, 1e-5
AGENTS, PENALTY, STEP = 3, 1.0, 2.0


def clipped_mean(rows, model):
    gradients = (rows[:, :-1] @ model - rows[:, -1])[:, None] * rows[:, :-1]
    norms = np.linalg.norm(gradients, axis=1, keepdims=True)
    return (gradients / np.maximum(1.0, norms)).mean(axis=0)


def linearised_admm(data, rng):
    shares = [data[20 * agent : 20 * (agent + 1)] for agent in range(AGENTS)]
    models, duals = np.zeros((AGENTS, 2)), np.zeros((AGENTS, 2))
    consensus, sent = np.zeros(2), []
    for _ in range(8):
        means = np.array([clipped_mean(*one) for one in zip(shares, models, strict=True)])
        gradients = means + rng.normal(scale=0.2, size=means.shape)
        models = (PENALTY * consensus - duals + STEP * models - gradients) / (PENALTY + STEP)
        consensus = (models + duals / PENALTY).mean(axis=0)
        duals = duals + PENALTY * (models - consensus)
        sent.append(models)
    return np.array(sent)
