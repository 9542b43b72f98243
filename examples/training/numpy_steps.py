"""Plain numpy: every noisy gradient of DP-SGD is seen, and one Dirac canary; exact losses."""

import numpy as np
from scipy.special import expit

import dpaudit
from dpaudit.datasets import breast_cancer
from dpaudit.laws.canary_steps import CanarySteps

RATE, NOISE, STEPS, CLIP, DELTA = 0.2, 2.0, 100, 1.0, 1e-5
DATA = breast_cancer().signed_records  # one row for each record: label times features
WITHOUT = np.pad(DATA, ((0, 0), (0, 1)))  # the last coordinate is the canary's alone
WITH = np.append(WITHOUT, CLIP * np.eye(1, WITHOUT.shape[1], DATA.shape[1]), axis=0)


def train(records, trials, rng, steps=STEPS):
    """Return the noisy sum of every step of every run, (trials, steps, coordinates)."""
    models, seen = np.zeros((trials, records.shape[1])), []
    canary, norms = records[:, DATA.shape[1] :].any(axis=1), np.linalg.norm(records, axis=1)
    for _ in range(steps):
        slopes = np.where(canary, 1.0, -expit(-models @ records.T))  # a canary is its gradient
        clipped = slopes * np.minimum(1, CLIP / np.maximum(np.abs(slopes) * norms, 1e-12))
        taken = clipped * (rng.random(clipped.shape) < RATE)
        seen.append(taken @ records + NOISE * CLIP * rng.standard_normal(models.shape))
        models = models - 0.02 * seen[-1]
    return np.stack(seen, axis=1)


def audited(seen, holds, pair=(WITH, WITHOUT), steps=STEPS, trials=10_000):
    """Return the audit of what a training shows along its canary against what is proved."""
    step = {"sampling_ratio": RATE, "noise_multiplier": NOISE}
    proved = dpaudit.proved_guarantee(dpaudit.PoissonSubsampledGaussian(**step, count=steps))
    law = CanarySteps(seen, holds, steps, **step)
    claim = {"epsilon": proved.epsilon(DELTA), "delta": DELTA}
    return dpaudit.audit(law, *pair, **claim, trials=trials)


if __name__ == "__main__":
    print(audited(lambda *run: train(*run)[:, :, -1], lambda records: records[:, -1].any()).reason)
