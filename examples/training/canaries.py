"""The common part of the recipes: a thousand canaries of one run, their scores, what these say.

Medians of five runs: ``python examples/training/canaries.py numpy``, sklearn, torch, opacus or jax.
"""

import sys
from importlib import import_module

import numpy as np
from numpy_steps import DATA, DELTA, NOISE, RATE

import dpaudit
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.laws.canary_steps import log_ratios

CANARIES, GUESSES = 1000, 100  # half of the guesses for the highest scores, half for the lowest


def inserted(coins, size=1.0):
    """Return the records, and each canary of coin +1: so large a feature that no other record has.

    Its gradient is along that feature alone, at any model: as input, it is a Dirac canary.
    """
    rows = np.eye(len(coins), DATA.shape[1] + len(coins), DATA.shape[1])
    return np.append(np.pad(DATA, ((0, 0), (0, len(coins)))), size * rows[coins == 1], axis=0)


def scored(products):
    """Return each canary's score of inner products with its gradient, (steps, canaries).

    They are of noisy sums, in clipping norms; the score is their log-likelihood ratio.
    """
    return log_ratios(products, sampling_ratio=RATE, noise_multiplier=NOISE).sum(axis=0)


def bounds(scores, coins):
    """Return what one run certifies, what its whole curve does if that is Gaussian, an estimate.

    The first two assume nothing of the canaries but fair coins. The estimate takes them for
    independent runs with normal scores, which the canaries of one run are not.
    """
    how = {"delta": DELTA, "design": "independent", "guesses": [GUESSES]}
    result = dpaudit.audit_scores(scores, coins == 1, **how)
    curve = next(one.lower for one in result.model_based if one.name.startswith("Gaussian curve"))
    here, there = scores[coins == 1], scores[coins == -1]
    gap = max(0.0, (here.mean() - there.mean()) / there.std())
    return result.measured.lower, curve, GaussianDP(gap).epsilon(DELTA)


def said(name, scores, coins):
    """Return these three in words."""
    certified, whole, independent = bounds(scores, coins)
    return (
        f"{name}: one run certifies {certified:.3f}, and {whole:.3f} if its curve is Gaussian; "
        f"estimate if canaries were independent runs: {independent:.3f}"
    )


def medians(run, runs=5):
    """Return the medians of these three over runs, each of a seed of its own."""
    return np.median([bounds(*run(np.random.default_rng(seed))) for seed in range(runs)], axis=0)


if __name__ == "__main__":
    certified, whole, independent = medians(import_module(f"{sys.argv[1]}_canaries").run)
    print(f"{certified:.2f}, if Gaussian {whole:.2f}, estimate {independent:.2f}")
