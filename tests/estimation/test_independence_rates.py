"""Comparisons of calls and processes: at 5% as rare as they say, and with as few as two of each."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.estimation.independence import (
    compute_crowding_p_value,
    compute_heterogeneity_p_value,
    compute_normal_ranks,
    compute_serial_correlation_p_value,
    compute_trend_p_value,
)

ALPHA, TABLES = 0.05, 500


def calls_of(processes, each, size):
    """Return the call and the process of outputs, numbered from 0."""
    calls = np.repeat(np.arange(processes * each), size)
    return calls, calls // each


@pytest.mark.parametrize(("processes", "each"), [(1, 2), (2, 2), (8, 2), (4, 8)])
@pytest.mark.parametrize("draw", ["normal", "coin"])
def test_calls_of_one_law_are_told_apart_as_rarely_as_is_said(processes, each, draw):
    calls, process = calls_of(processes, each, 40)
    rng = np.random.default_rng(31)
    for within in (None, process):
        wrong = 0
        for _ in range(TABLES):
            scores = rng.normal(size=len(calls))
            scores = scores if draw == "normal" else (scores > 0).astype(float)
            wrong += (
                compute_heterogeneity_p_value(compute_normal_ranks(scores), calls, within) < ALPHA
            )
        assert wrong <= binom.ppf(0.99999, TABLES, ALPHA)
        # And not much rarer: a comparison that never alarms compares nothing.
        assert wrong >= binom.ppf(0.001, TABLES, ALPHA / 2)


@pytest.mark.parametrize(("processes", "each"), [(1, 2), (2, 2), (8, 2)])
def test_two_calls_of_one_process_are_compared(processes, each):
    calls, process = calls_of(processes, each, 40)
    scores = np.random.default_rng(32).normal(size=len(calls)) + 3.0 * (calls % 2)
    assert compute_heterogeneity_p_value(compute_normal_ranks(scores), calls, process) < 1e-6


def test_what_processes_differ_by_is_no_difference_of_their_calls():
    calls, process = calls_of(8, 4, 40)
    scores = np.random.default_rng(33).normal(size=len(calls)) + 3.0 * process
    assert compute_heterogeneity_p_value(compute_normal_ranks(scores), calls, process) > 1e-3
    assert compute_heterogeneity_p_value(compute_normal_ranks(scores), process) < 1e-6


@pytest.mark.parametrize("place", [0, 5, -1])
def test_rare_outputs_that_come_together_are_seen_in_any_call(place):
    groups = np.arange(512) // 8
    rare = np.isin(groups, np.unique(groups)[place]).astype(float)
    assert compute_crowding_p_value(rare, groups) < 1e-6


@pytest.mark.parametrize("rate", [0.01, 0.05])
def test_rare_outputs_that_are_spread_alarm_as_rarely_as_is_said(rate):
    groups, rng = np.arange(512) // 8, np.random.default_rng(34)
    wrong = sum(
        compute_crowding_p_value((rng.random(512) < rate).astype(float), groups) < ALPHA
        for _ in range(TABLES)
    )
    assert wrong <= binom.ppf(0.99999, TABLES, ALPHA)


@pytest.mark.parametrize("sign", [1, -1])
def test_what_rises_or_falls_or_repeats_is_seen(sign):
    rng = np.random.default_rng(35)
    noise = rng.normal(size=400)
    drifting = compute_normal_ranks(noise + sign * np.linspace(0, 2, 400))
    assert compute_trend_p_value(drifting, np.zeros(400, dtype=np.int64)) < 1e-6
    following = noise[1:] + sign * 0.8 * noise[:-1]
    assert (
        compute_serial_correlation_p_value(
            compute_normal_ranks(following), np.zeros(399, dtype=np.int64), 1
        )
        < 1e-6
    )
    assert compute_trend_p_value(compute_normal_ranks(noise), np.zeros(400, dtype=np.int64)) > 1e-3
    assert (
        compute_serial_correlation_p_value(
            compute_normal_ranks(noise), np.zeros(400, dtype=np.int64), 1
        )
        > 1e-3
    )
