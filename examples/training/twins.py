"""Seven broken twins of DP-SGD, each refuted by what all noisy gradients show of one canary.

    python examples/training/twins.py            all of them, with the right ones beside
    python examples/training/twins.py numpy "noise forgotten in a layer"
    python examples/training/twins.py torch      those of torch_twins.py

A model of four parameters (weights of the means, the errors, the worst values, and a bias) on
breast-cancer records. Each has a coordinate in which only canaries have a gradient: the observer
sees these four of every step's noisy sum, in units of the clipping norm.
"""

import functools
import sys
import time
from importlib import import_module

import numpy as np
from scipy.special import expit

import dpaudit
from dpaudit.datasets import breast_cancer
from dpaudit.mechanisms.foreign.isolation import Isolation

RATE, NOISE, STEPS, CLIP, DELTA, LEARNING_RATE = 0.25, 2.0, 8, 1.0, 1e-5, 0.002
SIZES = [11, 11, 11, 2]  # of the layers
LAYERS = [slice(0, 11), slice(11, 22), slice(22, 33), slice(33, 35)]
TRIALS = 20_000  # runs of either side that certify
OTHERS = 16  # records of the pair that fixed-size batches are shown on
OWN = [10, 21, 32, 34]  # the coordinates of canaries, one in a layer


def rows(count=24):
    """Return records as they are trained on: signed features, and nothing in canaries' places."""
    data = breast_cancer()
    signed = np.c_[data.features, np.ones(len(data.labels))] * data.labels[:, None]
    return np.insert(signed, [10, 20, 30, 31], 0.0, axis=1)[:count]


def gradient_canary(sign=1.0):
    """Return a record whose gradient is the same at every model, and large in every layer."""
    canary = np.zeros((1, 35))
    canary[0, OWN] = 10.0 * sign
    return canary


class Training:
    """DP-SGD with Poisson sampling, as it should be; a broken twin overrides a line of it."""

    def sample(self, records, trials, rng):
        """Return what canaries' coordinates show of every noisy sum, (trials, steps, 4)."""
        models, seen = np.zeros((trials, records.shape[1])), []
        for _ in range(STEPS):
            batches = self.batches(trials, len(records), rng)
            released = self.summed(models, records, batches) + self.noise(models.shape, rng)
            models -= LEARNING_RATE * released
            seen.append(released[:, OWN] / CLIP)
        return observed(np.stack(seen, axis=1))

    def gradients(self, models, records):
        """Return the gradients of every run and record, a canary's being itself."""
        canary = records[:, OWN].any(axis=1)
        slopes = np.where(canary, 1.0, -expit(-models @ records.T))
        return slopes[:, :, None] * records

    def batches(self, trials, count, rng):
        """Return how often each record is in the batch of each run."""
        return (rng.random((trials, count)) < RATE).astype(float)

    def summed(self, models, records, batches):
        """Return the sum of clipped gradients over each batch."""
        return np.einsum("rn,rnd->rd", batches, clipped(self.gradients(models, records)))

    def noise(self, shape, rng):
        """Return the noise of a step."""
        return NOISE * CLIP * rng.standard_normal(shape)


def observed(steps):
    """Return canaries' coordinates of every step, and how far their sum moved since the last."""
    along = steps.sum(axis=-1, keepdims=True) / np.sqrt(len(OWN))
    return np.concatenate([steps, np.diff(along, axis=1, prepend=along[:, -1:])], axis=-1)


def clipped(gradients):
    norms = np.linalg.norm(gradients, axis=-1, keepdims=True)
    return gradients * np.minimum(1, CLIP / np.maximum(norms, 1e-12))


class NoiseForgottenInALayer(Training):
    def noise(self, shape, rng):
        noise = super().noise(shape, rng)
        noise[:, LAYERS[-1]] = 0.0  # the bias has been left out of the loop
        return noise


class ClippingPerParameter(Training):
    def summed(self, models, records, batches):
        gradients = self.gradients(models, records)
        each = [clipped(gradients[:, :, layer]) for layer in LAYERS]
        return np.einsum("rn,rnd->rd", batches, np.concatenate(each, axis=-1))


class WrongBatchDivisor(Training):
    def noise(self, shape, rng):
        # A mean over the batch with the noise of a mean over all records.
        return RATE * super().noise(shape, rng)


class NoiseSeededEqually(Training):
    def noise(self, shape, rng):
        # A generator made anew for every step, of one seed.
        return super().noise(shape, np.random.default_rng(rng.bit_generator.seed_seq))


class LossAveragedBeforeClipping(Training):
    def summed(self, models, records, batches):
        size, gradients = RATE * len(records), self.gradients(models, records)
        return size * clipped(np.einsum("rn,rnd->rd", batches, gradients) / size)


class FixedSizeBatches(Training):
    def batches(self, trials, count, rng):
        ranks = rng.random((trials, count)).argsort(axis=1).argsort(axis=1)
        return (ranks < RATE * OTHERS).astype(float)


class DoubleParticipation(Training):
    def batches(self, trials, count, rng):
        # Two augmented copies of each record, both clipped, sampled each by itself.
        return sum(super(DoubleParticipation, self).batches(trials, count, rng) for _ in range(2))


TWINS = {
    "right": Training(),
    "noise forgotten in a layer": NoiseForgottenInALayer(),
    "clipping per parameter": ClippingPerParameter(),
    "wrong batch divisor": WrongBatchDivisor(),
    "noise seeded equally": NoiseSeededEqually(),
    "loss averaged before clipping": LossAveragedBeforeClipping(),
    "fixed-size batches accounted as Poisson": FixedSizeBatches(),
    "double participation": DoubleParticipation(),
}


def pair(fixed=False):
    """Return the records with a canary and without; for batches of fixed size, others oppose it."""
    others = np.repeat(gradient_canary(-1.0), OTHERS, axis=0) if fixed else rows()
    return np.append(others, gradient_canary(), axis=0), others


def claimed():
    """Return the epsilon that is proved for the right training."""
    step = {"sampling_ratio": RATE, "noise_multiplier": NOISE, "count": STEPS}
    return dpaudit.proved_guarantee(dpaudit.PoissonSubsampledGaussian(**step)).epsilon(DELTA)


@functools.cache
def audit(training, fixed, trials, **given):
    """Return the audit of a training against what is proved for the right one."""
    given |= {"epsilon": claimed(), "delta": DELTA, "trials": trials}
    if callable(training):  # with a library that is slow to start: few calls, and few processes
        given |= {"isolation": Isolation(in_process=True), "unit": trials // 8}
    return dpaudit.audit(training, *pair(fixed), **given)


def audited(name, twins=TWINS, trials=TRIALS, **given):
    """Return the audits of a twin, and of the right training on the same pair."""
    return [audit(twins[one], "fixed" in name, trials, **given) for one in (name, "right")]


def main(family="numpy", *names):
    """Print what the audits of a family's twins say; of all, if none is named."""
    module = sys.modules[__name__] if family == "numpy" else import_module(f"{family}_twins")
    for name in names or [one for one in module.TWINS if one != "right"]:
        began = time.perf_counter()
        both = audited(name, module.TWINS, getattr(module, "TRIALS", TRIALS))
        for kind, result in zip(("broken", "right"), both, strict=True):
            lower = result.measured.lower
            print(f"{name}, {kind}: {claimed():.2f}, at least {lower:.2f}: {result.verdict}")
        print(f"  {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
