"""How many fresh outputs a scan takes: what its events need at rates worse than those it saw."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.estimation.joint import joint_lower_bound
from dpaudit.guarantees.kinds import PureDP
from dpaudit.scan.certification.certify import ATTEMPTS, SampleSizes, certify_claim

from .test_certify import PAIR, Local, coin

CHOOSING, MOST, ALPHA, EPSILON = 100, 25_600, 0.1, 0.7


def exactly(rate, other):
    """Return a mechanism of one bit that is 1 in exactly these shares of a hundred outputs."""

    def draw(value, count, rng):
        return (np.arange(count) % 100 < 100 * (rate if value == 0 else other)).astype(float)

    return Local(draw)


def needed_at(favoured, other):
    """Return the outputs that refute by rates two standard errors worse, to the power of two."""
    favoured -= 2 * math.sqrt(favoured * (1 - favoured) / CHOOSING)
    other += 2 * math.sqrt(other * (1 - other) / CHOOSING)
    runs = 50
    while True:
        hits = math.floor(favoured * runs), math.ceil(other * runs)
        alpha = ALPHA / 2 / ATTEMPTS
        if joint_lower_bound(*hits, runs, runs, delta=0.0, alpha=alpha) > EPSILON:
            return runs
        runs *= 2


@pytest.mark.parametrize("high", [0.8, 0.77])
@pytest.mark.parametrize("favours", ["dataset", "neighbour"])
def test_twice_what_refutes_at_worse_rates_is_drawn_whichever_side_is_favoured(high, favours):
    """An event and its complement promise the same, as the rates add up to 1."""
    low = round(1 - high, 2)
    mechanism = exactly(high, low) if favours == "dataset" else exactly(low, high)
    found = certify_claim(
        mechanism, PAIR, PureDP(EPSILON), SampleSizes(CHOOSING, MOST), ALPHA, seed=1
    )
    assert found.counting == 2 * needed_at(high, low) < MOST


def test_a_claim_of_nothing_is_not_refuted_by_outputs_that_certify_nothing():
    """A lower end of 0 is not above a claim of 0."""
    found = certify_claim(
        exactly(0.5, 0.5), PAIR, PureDP(0.0), SampleSizes(CHOOSING, 400), ALPHA, seed=1
    )
    assert (found.refuted, found.lower) == (False, 0.0)
    assert certify_claim(
        coin(0.9, 0.1), PAIR, PureDP(0.0), SampleSizes(CHOOSING, 400), ALPHA, 1
    ).refuted
