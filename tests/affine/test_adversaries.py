"""Adversaries who choose inputs after seeing: they reach mu, and never pass it.

A recursion runs many times at once, as its inputs are of one number each: an array of runs stands
for that number. What an adversary tells two datasets apart by is the exact log-likelihood ratio of
what it saw, given its own inputs; outputs that it did not choose on certify an epsilon.
"""

import math
from functools import partial

import numpy as np
import pytest

import dpaudit
from dpaudit.affine.reading import read_recursion
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


# --- random recursions -------------------------------------------------------------------------

STEPS, BOTH = 4, ("mine", "other")


def tables(seed):
    """Return ``[W, L]`` of what is seen, and of the arguments of each input, by impulses."""
    recursion, _ = adaptive.random_recursion(seed)

    def by_impulses(of):
        return oracle.coefficients(
            lambda rows, rng: recursion(dict.fromkeys(BOTH, adaptive.Fixed(rows)), rng),
            np.zeros((STEPS, 1)),
            of,
        )

    seen = by_impulses(lambda output: output["seen"])
    given = [by_impulses(lambda output, n=n: [0.0, *output["arguments"][n]]) for n in range(STEPS)]
    return seen, given


def is_spanned(rows, table):
    """Return whether some rows are combinations of those of a table."""
    found = np.linalg.lstsq(table.T, rows.T, rcond=1e-10)[0]
    return np.allclose(table.T @ found, rows.T, atol=1e-8)


def lacks(seed, *, others_are_known):
    """Return whether some input behind what is seen is given what does not follow from it.

    Others' inputs are known if all that was given to them is known: then they are seen as such.
    """
    (noise, data), given = tables(seed)
    _, whose = adaptive.random_recursion(seed)
    behind = (data != 0).any(axis=0)
    for step in reversed(range(STEPS)):
        if behind[step]:
            behind |= (given[step][1] != 0).any(axis=0)
    table = np.concatenate([noise, data], axis=1)
    for step in np.flatnonzero(behind):
        if not is_spanned(np.concatenate(given[step], axis=1), table):
            return True
        if others_are_known and whose[step] == "other":
            unit = np.eye(1, STEPS, step)
            table = np.concatenate([table, np.hstack([np.zeros((1, noise.shape[1])), unit])])
    return False


def random_view(seed, **participation):
    recursion, _ = adaptive.random_recursion(seed)
    private = {name: dpaudit.AdaptiveInputs(steps=STEPS, **participation) for name in BOTH}
    found = dpaudit.views(recursion, private=private, observers={"all": lambda x: x["seen"]})
    return found.view("all", about="mine")


@pytest.mark.parametrize("seed", range(100))
def test_a_view_is_an_upper_one_where_arguments_do_not_follow_from_it(seed, monkeypatch):
    monkeypatch.setattr("dpaudit.affine.api.read_recursion", partial(read_recursion, runs=3))
    view = random_view(seed)
    if lacks(seed, others_are_known=True):
        assert view.is_upper
    if not lacks(seed, others_are_known=False):
        assert not view.is_upper
    assert view.proof == "exact"
    noise, data = tables(seed)[0]
    _, whose = adaptive.random_recursion(seed)
    mine = [step for step in range(STEPS) if whose[step] == "mine"]
    once = [oracle.least_noise(noise, data[:, step]) for step in mine]
    fixed = max(
        (math.inf if one is None else float(np.linalg.norm(one)) for one in once), default=0
    )
    assert view.mu.lower == pytest.approx(fixed, rel=1e-9)
    assert view.mu.upper >= view.mu.lower
    if not view.is_upper:
        assert view.mu.upper == pytest.approx(fixed, rel=1e-9)


class Wild:
    """Moves and answers by waves and steps of all that an input is given."""

    def __init__(self, rounds, rng):
        self.rounds = set(rounds)
        self.speeds = rng.normal(scale=rng.choice([0.3, 3.0, 10.0]), size=(STEPS, 3))
        self.gain = rng.choice([0.0, 1.0, 10.0])
        self.is_sharp = rng.random() < 0.5

    def _wave(self, step, given, shift):
        total = sum(w * one for w, one in zip(self.speeds[step], given, strict=False)) + shift
        return np.sign(np.sin(total)) if self.is_sharp else np.sin(total)

    def move(self, step, *given):
        return float(step in self.rounds) * self._wave(step, given, 1.5)

    def answer(self, step, *given):
        return self.gain * self._wave(step, given, 0.3 * step)


def ratio_of_known(table, seen, without, within):
    """Return a log-likelihood ratio where rows may depend on each other."""
    noise, data = table
    inverse = np.linalg.pinv(noise @ noise.T, rcond=1e-10, hermitian=True)
    far, near = seen - data @ without, seen - data @ within
    return ((inverse @ far) * far).sum(axis=0) / 2 - ((inverse @ near) * near).sum(axis=0) / 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(80))
def test_no_wild_adversary_passes_the_upper_end_of_a_random_view(seed):
    rng, (recursion, whose) = np.random.default_rng(seed), adaptive.random_recursion(seed)
    mine = [step for step in range(STEPS) if whose[step] == "mine"]
    every = bool(rng.random() < 0.5)
    participation = {"participation": "cyclic", "separation": 1} if every else {}
    proved = random_view(seed, **participation).epsilon(DELTA)
    if math.isinf(proved.upper) or not mine:
        return
    (table, _), runs = tables(seed), 40_000
    chosen = Wild(mine if every else rng.choice(mine, 1).tolist(), rng)
    scores = []
    for is_there in (True, False):
        inputs = Chosen(chosen, runs, STEPS, is_there=is_there)
        seen = np.array(recursion(dict.fromkeys(BOTH, inputs), rng)["seen"])
        shared, added = np.array(inputs.rows).transpose(1, 0, 2)
        scores.append(ratio_of_known(table, seen, shared, shared + added))
    assert certified(*scores) <= proved.upper
