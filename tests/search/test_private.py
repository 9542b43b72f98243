"""Private mechanisms with a domain are not accused: sixty of them, true claims, many seeds."""

import numpy as np
import pytest
from scipy.stats import binom

import dpaudit
from dpaudit.mechanisms.foreign.isolation import Isolation
from tests.search.test_search import SENSITIVITY, UNIT

# Of six records in [0, 1], one of which is replaced: L1 sensitivities beside those of the search.
FURTHER = {
    "range": (lambda x: x.max() - x.min(), 1),
    "two sums": (lambda x: np.array([x.sum(), -x.sum()]), 2),
    "sorted": (np.sort, 1),
}
QUERIES = SENSITIVITY | FURTHER
HERE = Isolation(in_process=True)


def laplace(query, moved):
    def release(data, rng):
        found = query(data)
        return found + rng.laplace(scale=moved, size=np.shape(found))

    return release, {"epsilon": 1.0}


def gaussian(query, moved):
    """An L1 sensitivity is an L2 one, too."""

    def release(data, rng):
        found = query(data)
        return found + rng.normal(scale=moved, size=np.shape(found))

    return release, {"claim": dpaudit.GaussianDP(1.0)}


def twice(query, moved):
    def release(data, rng):
        found = query(data)
        shape = np.shape(found)
        return [found + rng.laplace(scale=2 * moved, size=shape) for _ in range(2)]

    return release, {"epsilon": 1.0}


MECHANISMS = [
    (name, noise.__name__, *noise(*QUERIES[name]))
    for name in QUERIES
    for noise in (laplace, gaussian, twice)
]


def is_accused(function, claimed, confidence, seed):
    given = {"domain": UNIT, "relation": "replace-record", "isolation": HERE, "trials": 500}
    result = dpaudit.audit(function, confidence=confidence, seed=seed, **claimed, **given)
    assert result.verdict != "withheld"
    return result.verdict == "refuted"


@pytest.mark.parametrize("number", range(0, 60, 17))
def test_a_few_private_mechanisms_are_not_accused(number):
    _, _, function, claimed = MECHANISMS[number]
    assert not is_accused(function, claimed, 0.999999, seed=number)


@pytest.mark.slow
def test_sixty_private_mechanisms_are_accused_no_more_often_than_their_confidence_allows():
    assert len(MECHANISMS) == 60
    accused = {confidence: 0 for confidence in (0.95, 0.999999)}
    for _, _, function, claimed in MECHANISMS:
        for seed in range(20):
            for confidence in accused:
                accused[confidence] += is_accused(function, claimed, confidence, seed)
    assert accused[0.999999] == 0
    assert accused[0.95] <= binom.ppf(0.999, 1200, 0.05)
