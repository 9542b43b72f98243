"""A training run: stochastic gradient descent with noise.

DP-SGD clips the gradient of every record to norm 1 before it adds them up, so that a record moves
the sum by at most 1. Frameworks return the mean gradient of a batch, and it is tempting to clip
that: then one record with a large gradient turns the whole step. Both runs add the same noise and
claim the epsilon that the accountant proves for 20 steps that sample half of the records. Each
function trains all trials side by side: the first axis of every array is the trial.
"""

import numpy as np

import dpaudit

STEPS, RATE, NOISE, DELTA = 20, 0.5, 2.0, 1e-3
BATCH = 10  # public: a divisor that counts the records would tell whether one more is there


def clipped(gradients):
    norms = np.linalg.norm(gradients, axis=-1, keepdims=True)
    return gradients / np.maximum(norms, 1.0)


def sum_of_clipped(gradients, chosen):
    return (clipped(gradients) * chosen).sum(axis=1)


def clipped_mean(gradients, chosen):
    batch = np.maximum(chosen.sum(axis=1), 1)
    return clipped((gradients * chosen).sum(axis=1) / batch) * batch


def trained(data, trials, rng, total):
    features, targets = data[:, :-1], data[:, -1]
    model = np.zeros((trials, features.shape[1]))
    for _ in range(STEPS):
        residuals = model @ features.T - targets  # trials x records
        gradients = residuals[:, :, None] * features
        chosen = rng.random((*residuals.shape, 1)) < RATE
        noisy = total(gradients, chosen) + rng.normal(scale=NOISE, size=model.shape)
        model = model - 0.1 * noisy / BATCH
    return model


def broken(data, trials, rng):
    return trained(data, trials, rng, clipped_mean)


def repaired(data, trials, rng):
    return trained(data, trials, rng, sum_of_clipped)


rng = np.random.default_rng(0)
data = np.column_stack([rng.normal(size=(19, 2)), rng.normal(size=19)])
with_one_more = np.vstack([data, [[6.0, 6.0, 50.0]]])
release = dpaudit.PoissonSubsampledGaussian(
    sampling_ratio=RATE, noise_multiplier=NOISE, count=STEPS
)
claim = {"epsilon": dpaudit.account(release, DELTA).proved.upper, "delta": DELTA}
for mechanism in (broken, repaired):
    print(dpaudit.audit(mechanism, with_one_more, data, **claim, trials=2000))
