"""Rows that coins choose: their lengths, and what a sample of records costs."""

import math
from functools import cache

import numpy as np
import pytest

import dpaudit
from dpaudit import Domain
from dpaudit.proving.events.bound import bound_trace
from dpaudit.proving.runs.reading import read_trace

RATE, NOISE, DELTA = 0.1, 1.2, 1e-5
DATA = Domain(bounds=(-5, 5), records=(1, 9), columns=3)
FIXED = Domain(bounds=(-5, 5), records=9, columns=3)
SAMPLED = dpaudit.PoissonSubsampledGaussian(sampling_ratio=RATE, noise_multiplier=NOISE)
MASK = np.arange(9) % 2 == 0


def clipped(data):
    return data / np.maximum(1.0, np.linalg.norm(data, axis=1, keepdims=True))


def chosen(data, rng):
    coins = rng.random(len(data)) < RATE
    return clipped(data)[coins].sum(axis=0) + rng.normal(scale=NOISE, size=3)


def chosen_by_where(data, rng):
    coins = rng.random(len(data)) < RATE
    rows = np.where(coins[:, None], clipped(data), 0.0)
    return rows.sum(axis=0) + rng.normal(scale=NOISE, size=3)


def others_are_ones(data, rng):
    coins = rng.random(len(data)) < RATE
    rows = np.where(coins[:, None], clipped(data), 1.0)
    return rows.sum(axis=0) + rng.normal(scale=NOISE, size=3)


def others_are_chosen(data, rng):
    coins = rng.random(len(data)) < RATE
    rows = np.where(coins[:, None], 0.0, clipped(data))
    return rows.sum(axis=0) + rng.normal(scale=NOISE, size=3)


def chosen_by_a_public_mask(data, rng):
    rows = np.where(MASK[:, None], clipped(data), 0.0)
    return rows.sum(axis=0) + rng.normal(scale=NOISE, size=3)


def bound_of(function, domain=DATA, relation="add-remove-record"):
    return bound_trace(read_trace(function, domain, relation, runs=20))


@cache
def proved_of_sample():
    return dpaudit.account(SAMPLED, DELTA).proved.upper


@pytest.mark.parametrize("function", [chosen, chosen_by_where])
def test_a_sample_of_clipped_rows_costs_what_the_accountants_say(function):
    bound = bound_of(function)
    assert bound.epsilon(DELTA) == pytest.approx(proved_of_sample(), rel=1e-6)
    assert bound.mu == pytest.approx(1 / NOISE)


def test_a_row_that_is_replaced_by_ones_is_as_long_as_these():
    # A record whose coin shows 0 adds a row of ones all the same: no sample, and longer than 1.
    assert bound_of(others_are_ones).mu >= math.sqrt(3) / NOISE * (1 - 1e-9)


def test_what_is_chosen_where_coins_show_0_is_not_sampled_at_their_rate():
    assert bound_of(others_are_chosen).epsilon(DELTA) > dpaudit.GaussianDP(0.9 / NOISE).epsilon(
        DELTA
    )


def test_replaced_rows_are_at_most_two_lengths_apart():
    bound = bound_of(chosen_by_a_public_mask, FIXED, "replace-record")
    assert bound.mu == pytest.approx(2 / NOISE)
