"""Values that repeat: found where they stand out, and only there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from dpaudit.attacks.distinguishers import histogram
from dpaudit.estimation.event import choose_event, event_bound
from dpaudit.estimation.repeated_values import RepeatedValues, find_repeated_scores, some_stand_out

RATE, RUNS = 2e-3, 20_000


def released(record, runs, seed, rate=RATE):
    """Return noise of which a few are the record itself, beside a column that says nothing."""
    rng = np.random.default_rng(seed)
    noise = rng.laplace(size=(runs, 2))
    noise[:, 0] = np.where(rng.random(runs) < rate, record, noise[:, 0])
    return noise


@pytest.mark.parametrize("columns", [slice(0, 1), slice(0, 2), slice(1, None, -1)])
def test_a_record_that_is_rarely_released_is_found(columns):
    sides = [[released(r, RUNS, s)[:, columns] for s in seeds] for r, seeds in _SIDES.items()]
    score = histogram.fit(None, None, sides[0][0], sides[1][0], None)
    event = choose_event(score(sides[0][1]), score(sides[1][1]), 1e-5)
    bound = event_bound(score(sides[0][2]), score(sides[1][2]), event, 1e-5, 0.05)
    assert bound.lower > 1.5
    assert bound.counts["other_hits"] == 0


_SIDES = {0.3: (0, 1, 2), 0.7: (3, 4, 5)}


def test_what_both_sides_release_as_often_does_not_stand_out():
    sides = [released(0.3, RUNS, seed) for seed in (0, 1)]
    assert len(find_repeated_scores(*(side[:, 0] for side in sides)).values) == 1
    assert not some_stand_out(*sides)
    assert some_stand_out(released(0.3, RUNS, 0), released(0.3, RUNS, 1, rate=RATE / 8))


def test_values_that_differ_in_their_last_bits_are_one():
    p, q = np.full(50, 0.1 + 0.2), np.full(50, 0.3)
    found = find_repeated_scores(p, q)
    assert (found.of_p.tolist(), found.of_q.tolist()) == ([50], [50])
    assert found.place(np.array([0.3, 0.1 + 0.2, 0.4])).tolist() == [0, 0, -1]


def test_of_nearly_constant_outputs_the_others_stand_out():
    others = np.arange(12.0) + 1
    p = np.concatenate([np.zeros(4988), others])
    assert some_stand_out(p, np.zeros(5000))
    assert not some_stand_out(p[:-10], np.zeros(4990))


def test_chance_makes_one_in_five_stand_out_at_most():
    rng, values = np.random.default_rng(0), 200
    of_p = binom.rvs(20, 0.5, size=(500, values), random_state=rng)
    found = [RepeatedValues(np.arange(values), p, 20 - p, (99_999,) * 2).stand_out() for p in of_p]
    assert np.mean([len(one.values) for one in found]) < 0.2
