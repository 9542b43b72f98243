"""Adversaries who choose inputs after seeing: they reach mu, and never pass it.

A recursion runs many times at once, as its inputs are of one number each: an array of runs stands
for that number. What an adversary tells two datasets apart by is the exact log-likelihood ratio of
what it saw, given its own inputs; outputs that it did not choose on certify an epsilon.
"""

import math

import numpy as np
import pytest

import dpaudit
from tests.affine import adaptive, oracle

DELTA, CONFIDENCE = 1e-2, 0.999


class Chosen:
    """Inputs of many runs at once, by a strategy of the adversary.

    ``answer(t, model)`` is what all other records add, ``move(t, model)`` what one record adds, if
    it is there: at most 1, in its rounds.
    """

    def __init__(self, adversary, runs, steps, *, is_there):
        self.adversary, self.is_there = adversary, is_there
        self.steps, self.dimension, self.rows = steps, runs, []

    def at(self, step, *arguments):
        added = self.adversary.move(step, *arguments) * np.ones(self.dimension)
        assert np.abs(added).max() <= 1 + 1e-12
        shared = self.adversary.answer(step, *arguments) * np.ones(self.dimension)
        self.rows.append((shared, added))
        return shared + added if self.is_there else shared


class Constant:
    """Always adds 1, and answers nothing."""

    def __init__(self, rounds, _rng):
        self.rounds = set(rounds)

    def move(self, step, model):
        return float(step in self.rounds)

    def answer(self, step, model):
        return 0.0


class Linear(Constant):
    """Always adds 1; the other records answer models linearly."""

    def __init__(self, rounds, rng):
        super().__init__(rounds, rng)
        self.gains = rng.normal(scale=3.0, size=64)

    def answer(self, step, model):
        return self.gains[step] * model


class Nonlinear(Linear):
    """Adds and answers what waves make of a model."""

    def __init__(self, rounds, rng):
        super().__init__(rounds, rng)
        self.speeds = rng.normal(scale=5.0, size=64)

    def move(self, step, model):
        return super().move(step, model) * np.sin(self.speeds[step] * (model + 1))

    def answer(self, step, model):
        return 10 * np.cos(self.speeds[step] * model)


class Leaning(Constant):
    """Adds 1 where models moved its way so far, and else takes 1 away."""

    def move(self, step, model):
        return super().move(step, model) * np.where(model <= 0, 1.0, -1.0)


def play(recursion, adversary, steps, runs, rng, *, is_there):
    """Return what was seen, shape ``(rows, runs)``, and what inputs were and would have been."""
    inputs = Chosen(adversary, runs, steps, is_there=is_there)
    seen = np.array(recursion(inputs, rng)["inputs"])
    shared, added = np.array(inputs.rows).transpose(1, 0, 2)
    return seen, shared, shared + added


def log_ratio(table, played):
    """Return the log-likelihood of the record being there, less that of it not being there."""
    noise, data = table
    seen, without, within = played
    whitening = np.linalg.inv(np.linalg.cholesky(noise @ noise.T))
    far, near = (whitening @ (seen - data @ inputs) for inputs in (without, within))
    return ((far**2).sum(axis=0) - (near**2).sum(axis=0)) / 2


def certified(on_one, on_other):
    """Return an epsilon at DELTA that the scores of two datasets certify."""
    found = dpaudit.audit_outputs(on_one, on_other, epsilon=0.0, delta=DELTA, confidence=CONFIDENCE)
    return found.measured.lower


LOOPS = {
    "identity": [[1.0]] * 8,
    "square root": adaptive.toeplitz(adaptive.square_root(8)),
    "taken back": adaptive.toeplitz([0.7**k for k in range(8)]),
}
ROUNDS = {"single": {}, "cyclic": {"participation": "cyclic", "separation": 4}}


@pytest.mark.slow
@pytest.mark.parametrize("adversary", [Constant, Linear, Nonlinear, Leaning])
@pytest.mark.parametrize("participation", ROUNDS)
@pytest.mark.parametrize("loop", LOOPS)
def test_no_adversary_passes_mu_and_linear_ones_reach_it(loop, participation, adversary):
    steps, runs, rows = 8, 150_000, LOOPS[loop]
    recursion = adaptive.train(rows, scale=2.0)
    given = dpaudit.AdaptiveInputs(steps=steps, **ROUNDS[participation])
    proved = dpaudit.views(recursion, private=given).view("inputs").epsilon(DELTA)
    rounds = (0,) if participation == "single" else (0, 4)  # the worst of a Toeplitz strategy
    table = oracle.coefficients(
        adaptive.fixed(recursion), np.zeros((steps, 1)), lambda output: output["inputs"]
    )
    rng = np.random.default_rng(1)
    chosen = adversary(rounds, rng)
    scores = [
        log_ratio(table, play(recursion, chosen, steps, runs, rng, is_there=there))
        for there in (True, False)
    ]
    measured = certified(*scores)
    assert measured <= proved.upper
    if adversary in (Constant, Linear):
        assert measured >= 0.85 * proved.lower


def end_on_grid(is_there, runs, rng):
    """Return where a walk ends whose second step knows the first and moves it onto a grid."""
    hidden = rng.normal(size=runs)
    moved = 2 * np.round(hidden / 2) - hidden
    assert np.abs(moved).max() <= 1
    return hidden + is_there * moved + rng.normal(scale=0.05, size=runs)


def test_an_input_that_knows_a_hidden_state_passes_the_mu_of_those_that_do_not():
    def walk(inputs, rng):
        state = inputs.at(0) + rng.normal(size=1)
        return state + inputs.at(1, state) + rng.normal(scale=0.05, size=1)

    found = dpaudit.views(walk, private=dpaudit.AdaptiveInputs(steps=2)).view("output")
    rng, runs = np.random.default_rng(2), 20_000
    on_grid = [np.cos(np.pi * end_on_grid(there, runs, rng)) for there in (True, False)]
    measured = certified(*on_grid)
    naive = dpaudit.GaussianDP(found.mu.lower).epsilon(DELTA)
    assert found.mu.lower == pytest.approx(1 / math.hypot(1, 0.05), rel=1e-12)
    assert measured > 2 * naive
    assert measured <= found.epsilon(DELTA).upper
    assert found.mu.upper == pytest.approx(20.0, rel=1e-12)
