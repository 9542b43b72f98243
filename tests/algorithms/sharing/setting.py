"""Small data for ADMM sharing, and an algorithm for it."""

import numpy as np

from dpaudit.algorithms.sharing.algorithm import SharingADMM
from dpaudit.algorithms.sharing.noise import MessageNoise, ParameterNoise, WhitenedNoise
from dpaudit.algorithms.sharing.vertical import Risk
from dpaudit.datasets import Dataset

BLOCKS = (2, 3, 1)
NOISES = {
    "parameter": ParameterNoise(0.3),
    "whitened": WhitenedNoise(0.3),
    "message": MessageNoise(0.3),
}


def rng(seed=0):
    return np.random.default_rng(seed)


def make_data(samples=9, dimension=6, seed=0):
    features = rng(seed).standard_normal((samples, dimension)) / np.sqrt(dimension)
    return Dataset(features, rng(seed + 1).choice([-1.0, 1.0], samples))


def dependent_data():
    """Return data whose second party's third column is the sum of its other two."""
    features = make_data(12).features.copy()
    features[:, 4] = features[:, 2] + features[:, 3]
    return Dataset(features, make_data(12).labels)


def make(**options):
    usual = {"block_sizes": BLOCKS, "iterations": 4, "penalty": 0.7}
    usual["risk"] = Risk(scaling="sum", regulariser_weight=0.4)
    return SharingADMM(**usual | options)


def last_models(algorithm, data, trials=1):
    for iterate in algorithm.iterates(data, trials, rng()):
        models = iterate.models
    return models
