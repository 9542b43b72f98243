"""Runs of plain numpy that go together: each lane is what one run is, and is held to as much."""

import functools
import math
import time

import numpy as np
import pytest

from dpaudit.errors import MechanismError
from dpaudit.mechanisms.foreign.code_mechanism import as_mechanism
from dpaudit.neighbours import REPLACE_RECORD, Pair
from dpaudit.tracing.determined_values import RunOutput
from dpaudit.tracing.joint_runs import RunsDiverge, split_runs_into_batches
from dpaudit.tracing.law import TracedLaw
from dpaudit.tracing.plain import is_plain_numpy
from dpaudit.tracing.reading import read_law

RECORDS = np.random.default_rng(0).normal(size=(20, 3))
PAIR = Pair(RECORDS, np.concatenate([RECORDS[:-1], [[3.0, -2.0, 4.0]]]), REPLACE_RECORD)
CALLS = [0]
HELD: list[float] = []


def descent(data, rng):
    w, path = np.zeros(data.shape[1]), []
    for _ in range(4):
        g = w - data
        g = g / np.maximum(1, np.linalg.norm(g, axis=1, keepdims=True))
        w = w - 0.5 * (g.mean(axis=0) + 0.3 * rng.standard_normal(w.shape))
        path.append(w.copy())
    return np.array(path)


def in_place(data, rng):
    w = data.mean(axis=0) + rng.laplace(scale=0.5, size=3)
    first = w.copy()
    w -= 0.1 * (w - data).sum(axis=0) / len(data)
    w += rng.normal(0.0, 0.2, size=3)
    return {"first": first, "last": w}


def matrices(data, rng):
    w = data[0] + rng.standard_normal(3)
    second = (data.T @ (data @ w)) / np.linalg.norm(w) + rng.standard_normal(3)
    third = np.where(second > 0, second, -1.0).reshape(3, 1)[:, 0] + rng.standard_normal(3)
    return np.stack([w, second, third])


def numbers(data, rng):
    one = float(data[0, 0]) + rng.standard_normal()
    two = one**2 * data.mean() + rng.laplace(scale=0.7)
    return one, [two, abs(one)]


def affine(data, rng):
    one = data.mean(axis=0) + rng.standard_normal(3)
    return one * 0.3 + 2.0, one[0] + rng.standard_normal()


def parts(data, rng):
    w = data.mean(axis=0) + rng.standard_normal(3)
    w[1] = 0.5 * w[0]
    return w[0], w[2], w[1:].sum() + rng.standard_normal()


PLAIN = [descent, in_place, matrices, numbers, affine]


def law_of(function, seed=0):
    law = read_law(as_mechanism(function).calls, PAIR, np.random.default_rng(seed))
    assert isinstance(law, TracedLaw)
    return law


@pytest.mark.parametrize("function", PLAIN)
def test_lanes_are_single_runs_bit_for_bit(function):
    law = law_of(function)
    assert law._together is not None
    values = law.sample(PAIR.dataset, 30, np.random.default_rng(1))
    with law._patch_primitives():
        for data in (PAIR.dataset, PAIR.neighbour):
            meetings, together = law._together.forced(data, values)
            for at, row in enumerate(values):
                alone, outcome = law._run_at_values(data, row)
                assert together.fixed == outcome.fixed
                assert np.array_equal(together.numbers[at], outcome.numbers)
                for many, one in zip(meetings, alone, strict=True):
                    assert np.array_equal(many.parameters.centre[at], one.parameters.centre)
                    assert np.array_equal(many.parameters.scale, one.parameters.scale)


@pytest.mark.parametrize("function", PLAIN)
def test_losses_of_runs_together_are_those_of_single_ones(function, monkeypatch):
    law = law_of(function)
    drawn = law.sample_tilted(PAIR, 0.8, 40, np.random.default_rng(2))
    noise = law.uniform_residuals(drawn.outputs, PAIR.dataset)
    monkeypatch.setattr("dpaudit.tracing.law.split_runs_into_batches", lambda runs, *data: None)
    alone = law.privacy_loss(drawn.outputs, PAIR)
    assert drawn.privacy_loss == pytest.approx(alone, rel=1e-9, abs=1e-9)
    assert noise == pytest.approx(law.uniform_residuals(drawn.outputs, PAIR.dataset), abs=1e-12)


@pytest.mark.parametrize(("function", "tilt"), [(descent, 0.0), (descent, 0.6), (in_place, 0.6)])
def test_weights_of_runs_together_average_to_one_on_both_sides(function, tilt):
    drawn = law_of(function).sample_tilted(PAIR, tilt, 2000, np.random.default_rng(3))
    of_p = np.exp(drawn.log_mgf - tilt * drawn.privacy_loss)
    for weights in (of_p, of_p * np.exp(-drawn.privacy_loss)):
        assert abs(weights.mean() - 1) < 4.5 * weights.std() / math.sqrt(2000) + 1e-9


def counted(data, rng):
    CALLS[0] += 1
    return data.mean(axis=0) + rng.standard_normal(3)


def noted(data, rng):
    HELD.append(1.0)
    return data.mean(axis=0) + rng.standard_normal(3)


def of_its_own(data, rng):
    of_its_own.calls = 1
    return data.mean(axis=0) + rng.standard_normal(3)


def clocked(data, rng):
    return data.mean(axis=0) + rng.standard_normal(3) + 0 * time.monotonic()


def kept_in_default(data, rng, held=[]):  # noqa: B006
    return data.mean(axis=0) + rng.standard_normal(3)


def through_a_class(data, rng):
    class Kept:
        calls = 0

    return data.mean(axis=0) + rng.standard_normal(3) + Kept.calls


def through_another(data, rng):
    return counted(data, rng)


def changed_global(data, rng):
    global CHANGED
    CHANGED = 1
    return data.mean(axis=0) + rng.standard_normal(3)


def imports(data, rng):
    from random import random

    return data.mean(axis=0) + rng.standard_normal(3) + 0 * random()


def reads_dictionary(data, rng):
    return np.linalg.norm.__dict__ and data.mean(axis=0) + rng.standard_normal(3)


def of_global_state(data, rng):
    return data.mean(axis=0) + rng.standard_normal(3) + 0 * np.random.random()  # noqa: NPY002


def of_old_memory(data, rng):
    return data.mean(axis=0) + rng.standard_normal(3) + 0 * np.empty(3)


def closing_over(held):
    return lambda data, rng: data.mean(axis=0) + rng.standard_normal(3) + held[0]


@pytest.mark.parametrize(
    "function",
    [
        counted, noted, of_its_own, clocked, kept_in_default, through_a_class, through_another,
        changed_global, imports, reads_dictionary, of_global_state, of_old_memory,
        closing_over([0.0]), functools.lru_cache(descent), functools.partial(descent),
    ],
)  # fmt: skip
def test_code_that_may_keep_something_goes_alone(function):
    assert not is_plain_numpy(function)


@pytest.mark.parametrize("function", [*PLAIN, parts])
def test_code_of_arrays_alone_is_plain(function):
    assert is_plain_numpy(function)


def branching(data, rng):
    one = data.mean() + rng.standard_normal()
    return one, (one if one > 0 else 2 * one) + rng.standard_normal()


def into_an_array(data, rng):
    found = np.zeros(3)
    for at in range(3):
        found[at] = data[at].mean() + rng.standard_normal()
    return found


@pytest.mark.parametrize("function", [branching, into_an_array])
def test_runs_that_differ_go_alone_and_draw_as_if_none_had_gone_together(function, monkeypatch):
    law = law_of(function)
    assert law._together is not None
    with law._patch_primitives(), pytest.raises(RunsDiverge):
        law._together.forced(PAIR.dataset, np.zeros((20, len(law.keys))))
    tried = law.sample_tilted(PAIR, 0.5, 20, np.random.default_rng(4))
    monkeypatch.setattr("dpaudit.tracing.law.split_runs_into_batches", lambda runs, *data: None)
    alone = law.sample_tilted(PAIR, 0.5, 20, np.random.default_rng(4))
    assert np.array_equal(tried.outputs, alone.outputs)
    assert np.array_equal(tried.privacy_loss, alone.privacy_loss)


def past_the_noise(data, rng):
    one = data.mean() + rng.standard_normal()
    return np.where(one > 3.0, data.sum(), one), one


def hidden_at_times(data, rng):
    one = data.mean() + rng.standard_normal()
    two = data.sum() + rng.standard_normal()
    return one, np.where(one > 3.0, 0.0, two)


@pytest.mark.parametrize("function", [past_the_noise, hidden_at_times])
def test_what_a_rare_lane_does_is_refused(function, unseen):
    law = law_of(function)
    with pytest.raises(MechanismError, match="does not hold"):
        law.sample_tilted(PAIR, 0.0, 3000, np.random.default_rng(5))


def test_a_lane_that_differs_from_its_run_lets_all_go_alone(monkeypatch):
    law = law_of(descent)
    alone = type(law)._both

    def other(self, values, pair):
        own, neighbours, outcome = alone(self, values, pair)
        return own, neighbours, RunOutput(outcome.fixed, outcome.numbers + 1e-12)

    monkeypatch.setattr(TracedLaw, "_both", other)
    with law._patch_primitives(), pytest.raises(RunsDiverge):
        law._draw_tilted_together(law._together, PAIR, 0.5, 20, np.random.default_rng(6))


def test_runs_go_together_within_memory():
    small = np.zeros(40)
    assert split_runs_into_batches(100, small, small) == [100]
    assert split_runs_into_batches(10, small) is None
    assert sum(split_runs_into_batches(1000, np.zeros(2**14))) == 1000
    assert max(split_runs_into_batches(1000, np.zeros(2**14))) <= 64
    assert split_runs_into_batches(1000, np.zeros(2**18)) is None
    assert split_runs_into_batches(1000, np.array([object()])) is None
