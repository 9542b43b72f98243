"""What is certified of a pair is below its true loss, in closed form, as often as is stated."""

import math

import pytest
from scipy.stats import binom

from tests.metric import mechanisms
from tests.metric.audited import DIAGONAL, ORIGIN, audited

LOSSES = {
    "planar": (mechanisms.planar(1.0), (ORIGIN, DIAGONAL), "euclidean", 2 * math.sqrt(2)),
    "salary": (mechanisms.salary(1.0), (3.0, 5.0), "absolute", 2.0),
    "per axis": (mechanisms.per_axis(1.0), (ORIGIN, DIAGONAL), "manhattan", 4.0),
    "line": (
        mechanisms.exponential(2.0),
        (2, 4),
        "absolute",
        mechanisms.loss_of_exponential(2, 4, 2.0),
    ),
}


def too_large(name, seeds):
    """Count the seeds whose certified epsilon exceeds the true loss of the pair."""
    mechanism, pair, distance, loss = LOSSES[name]
    found = [
        audited(mechanism, *pair, distance=distance, epsilon=9.0, trials=300, seed=seed)
        for seed in range(seeds)
    ]
    assert all(one.measured.lower > loss / 4 for one in found[:3])
    return sum(one.measured.lower > loss for one in found)


@pytest.mark.parametrize("name", ["salary"])
def test_what_is_certified_is_below_the_true_loss(name):
    assert too_large(name, 12) <= binom.isf(1e-3, 12, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("name", LOSSES)
def test_what_is_certified_is_below_the_true_loss_in_200_seeds(name):
    assert too_large(name, 200) <= binom.isf(1e-3, 200, 0.05)
