"""A training run: stochastic gradient descent with noise.

DP-SGD clips the gradient of every record to norm 1 before it adds them up, so that a record moves
the sum by at most 1. Frameworks return the mean gradient of a batch, and it is tempting to clip
this mean: then one record with a large gradient turns the whole step. Both runs add the same noise
and claim the epsilon that the accountant proves for 20 steps with samples of half of the records.
The proof of the repaired run reads its code and finds the same epsilon.
"""

import numpy as np

import dpaudit

STEPS, RATE, NOISE, DELTA = 20, 0.5, 2.0, 1e-3
BATCH = 10  # public: a divisor that counts the records would tell whether one more is there


def clipped(gradients):
    norms = np.linalg.norm(gradients, axis=-1, keepdims=True)
    return gradients / np.maximum(norms, 1.0)


def sum_of_clipped(gradients, chosen):
    return clipped(gradients)[chosen].sum(axis=0)


def clipped_mean(gradients, chosen):
    return clipped(gradients[chosen].sum(axis=0) / BATCH) * BATCH


def trained(data, rng, total):
    features, targets = data[:, :-1], data[:, -1]
    model = np.zeros(2)
    for _ in range(STEPS):
        gradients = (features @ model - targets)[:, None] * features
        chosen = rng.random(len(data)) < RATE
        noisy = total(gradients, chosen) + rng.normal(scale=NOISE, size=2)
        model = model - 0.1 * noisy / BATCH
    return model


def broken(data, rng):
    return trained(data, rng, clipped_mean)


def repaired(data, rng):
    return trained(data, rng, sum_of_clipped)


data = np.random.default_rng(0).normal(size=(19, 3))
with_one_more = np.vstack([data, [[6.0, 6.0, 50.0]]])
release = dpaudit.PoissonSubsampledGaussian(
    sampling_ratio=RATE, noise_multiplier=NOISE, count=STEPS
)
claim = {"epsilon": dpaudit.account(release, DELTA).proved.upper, "delta": DELTA}
claim["relation"] = "add-remove-record"
records = {"bounds": (-50, 50), "columns": 3, "records": (19, 20)}
proofs = [dpaudit.prove(one, domain=records, **claim) for one in (broken, repaired)]
audits = [
    dpaudit.audit(one, with_one_more, data, **claim, trials=2000) for one in (broken, repaired)
]
print(*proofs, *audits, sep="\n")
