"""Mechanisms that workers import: from a module that is quick to import."""

import time
from dataclasses import dataclass

import numpy as np

from dpaudit.laws.steps import GaussianSteps, Step


def noisy_sum(dataset, trials, rng):
    return dataset.sum() + rng.laplace(scale=0.5, size=trials)


class Sum:
    """Counts its calls, and has a method that is a mechanism."""

    def __init__(self, scale=0.5):
        self.scale, self.calls = scale, 0

    def sample(self, dataset, trials, rng):
        self.calls += 1
        return dataset.sum() + rng.laplace(scale=self.scale, size=trials)


@dataclass(frozen=True)
class Laplace:
    scale: float = 1.0

    def sample(self, dataset, trials, rng):
        return np.sum(dataset) + rng.laplace(scale=self.scale, size=trials)


class Mean:
    """One Gaussian step."""

    steps = 1

    def check(self, dataset):
        pass

    def start(self, dataset, trials):
        return np.zeros((trials, 1))

    def step(self, state, dataset):
        return Step(np.full_like(state, np.mean(dataset)), np.array([0.5]))

    def shift(self, state, pair):
        return np.full_like(state, np.mean(pair.neighbour) - np.mean(pair.dataset))

    def advance(self, state, output):
        return output

    def squared_shift_bounds(self, pair):
        total = (np.mean(pair.neighbour) - np.mean(pair.dataset)) ** 2 / 0.5**2
        return total, total


class Digits(GaussianSteps):
    """A law whose losses can be computed by other code."""

    def loss_in_digits(self, output, pair, digits=50):
        here, there = np.mean(pair.dataset), np.mean(pair.neighbour)
        return float(np.sum((output - there) ** 2 - (output - here) ** 2) / (2 * 0.5**2))


def slow(dataset, trials, rng):
    time.sleep(0.0005 * trials)
    return noisy_sum(dataset, trials, rng)


def slow_to_begin(dataset, trials, rng):
    time.sleep(0.06)
    return noisy_sum(dataset, trials, rng)
