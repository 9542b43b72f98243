"""Mechanisms that add noise to a fixed vector, T times, and how they are audited."""

from dataclasses import dataclass

import numpy as np

from dpaudit.auditing.exact import exact_loss
from dpaudit.auditing.sampling.probe import make_drawer
from dpaudit.execution import Executor, one_thread
from dpaudit.extension.case import PrivacyCase
from dpaudit.guarantees.kinds import ApproximateDP
from dpaudit.laws.steps import ExponentialNormSteps, GaussianSteps, NormStep, Step
from dpaudit.neighbours import REPLACE_RECORD, Pair


@dataclass(frozen=True)
class Fixed:
    """The first record, released ``steps`` times; the state is the number of trials."""

    steps: int

    def check(self, dataset):
        pass

    def start(self, dataset, trials):
        return trials

    def shift(self, state, pair):
        moved = pair.neighbour[0] - pair.dataset[0]
        return np.broadcast_to(moved, (state, *moved.shape))

    def advance(self, state, output):
        return state


@dataclass(frozen=True)
class FixedNorm(Fixed):
    rate: float

    def step(self, state, dataset):
        return NormStep(np.broadcast_to(dataset[0], (state, dataset.shape[1])), np.array(self.rate))

    def shift_bounds(self, pair):
        size = self.rate * np.linalg.norm(pair.neighbour[0] - pair.dataset[0])
        return np.full(self.steps, size), np.full(self.steps, size)


@dataclass(frozen=True)
class FixedGaussian(Fixed):
    scale: float

    def step(self, state, dataset):
        return Step(np.broadcast_to(dataset[0], (state, dataset.shape[1])), np.array(self.scale))

    def squared_shift_bounds(self, pair):
        square = self.steps * float(np.sum((pair.neighbour[0] - pair.dataset[0]) ** 2))
        return square / self.scale**2, square / self.scale**2


@dataclass(frozen=True)
class Drifting(FixedNorm):
    """The shift depends on what was released: longer where the last output was positive."""

    def start(self, dataset, trials):
        return np.zeros((trials, dataset.shape[1]))

    def step(self, state, dataset):
        return NormStep(self._scale(state) * dataset[0], np.array(self.rate))

    def shift(self, state, pair):
        return self._scale(state) * (pair.neighbour[0] - pair.dataset[0])

    def advance(self, state, output):
        return output

    def shift_bounds(self, pair):
        low, high = super().shift_bounds(pair)
        return low, 1.5 * high

    def _scale(self, state):
        return np.where(state[:, :1] > 0, 1.5, 1.0)


def unit_pair(dimension):
    zero = np.zeros((1, dimension))
    return Pair(zero, np.eye(dimension)[:1], REPLACE_RECORD)


def norm_steps(steps, rate, process=FixedNorm):
    return ExponentialNormSteps(process(steps, rate))


def gaussian(scale, steps=1):
    return GaussianSteps(FixedGaussian(steps, scale))


def evidence(mechanism, pair, delta, trials, *, claimed=1.0, seed=0):
    """Return what the exact-loss audit finds."""
    case = PrivacyCase(
        mechanism=mechanism,
        pair=pair,
        claimed=claimed if not isinstance(claimed, float) else ApproximateDP(claimed, delta),
        at_delta=delta,
        view="all",
        data="none",
        default_trials=trials,
        parameters={},
    )
    with one_thread():  # as in an audit; otherwise every block looks for it anew
        drawer = make_drawer(mechanism, pair, Executor(), seed)
        return exact_loss.exact_loss(case, drawer, trials, 0.05)
