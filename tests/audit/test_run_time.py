"""How long a call takes, where that is asked for: leaks show, and the machine's moods do not."""

from __future__ import annotations

import time

import numpy as np
import pytest

import dpaudit

PAIR = np.ones(3), np.ones(2)


def waits_for_the_third(data, rng):
    time.sleep(4e-3 if len(data) > 2 else 1e-3)
    return rng.laplace()


def works_as_long_whatever_the_data(data, rng):
    return sum(range(3000)) + rng.laplace()


def one_noise_a_call(data, trials, rng):
    return data.sum() + np.full(trials, rng.laplace(scale=4.0)) * rng.laplace()


NOISE = np.random.default_rng().normal()


def noise_of_the_process(data, rng):
    return NOISE + 0.001 * rng.normal()


def timed(mechanism, epsilon=1.0, trials=400, seed=1):
    return dpaudit.audit(
        mechanism, *PAIR, epsilon=epsilon, trials=trials, observe="time", seed=seed
    )


def counts_of_long(witness):
    """Return how many runs took long; the event says it of these, or of those that did not."""
    sign, limit = witness.event.removeprefix("`seconds` ").split()
    assert sign in ("<", ">")
    assert float(limit) > 1e-3  # what the quicker branch sleeps
    counts = witness.on_dataset, witness.on_neighbour
    return counts if sign == ">" else tuple(witness.runs - count for count in counts)


def test_a_branch_that_takes_longer_is_what_leaked():
    found = timed(waits_for_the_third, trials=100)
    assert found.verdict == "refuted", found.reason
    assert found.witness.parts == ["`seconds`"]
    of_dataset, of_neighbour = counts_of_long(found.witness)
    assert of_neighbour < 10 < of_dataset
    assert any("took turns" in note for note in found.notes)


def test_what_takes_as_long_on_both_is_not_refuted():
    assert timed(works_as_long_whatever_the_data, epsilon=0.1).verdict == "not refuted"


def test_outputs_are_compared_all_the_same():
    found = timed(noise_of_the_process)
    assert found.verdict == "withheld"
    assert "something in common" in found.reason


@pytest.mark.slow
def test_run_times_of_one_law_are_hardly_ever_told_apart():
    lower = [timed(works_as_long_whatever_the_data, 0.0, 800, seed).lower for seed in range(60)]
    assert np.count_nonzero(lower) <= 8  # 3 of 60 are expected at 95%, 9 with probability .004
