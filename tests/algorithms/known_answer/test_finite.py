"""True epsilons of finitely many outputs: against enumeration."""

import math
from itertools import product

import numpy as np
import pytest

from dpaudit.algorithms.known_answer import KNOWN_ANSWERS
from dpaudit.algorithms.known_answer.discrete import RandomisedResponse, TruncatedGeometric
from dpaudit.algorithms.known_answer.laws import best_event

# Finitely many outputs: enumeration


def test_randomised_response():
    mechanism = RandomisedResponse(epsilon=math.log(3))
    p, q = (mechanism.law(d).probabilities for d in (np.array([1.0]), np.array([0.0])))
    np.testing.assert_allclose([p, q], [[0.25, 0.75], [0.75, 0.25]])
    assert best_event(mechanism) == pytest.approx(mechanism.true_epsilon)


@pytest.mark.parametrize("bits", [0, 1, 3])
@pytest.mark.parametrize("count", range(6))
def test_truncated_geometric_is_geo_sample(bits, count):
    """Balcer & Vadhan 2018, Algorithm 4.8: integer thresholds of a uniform integer up to d."""
    n, a = 5, 2**bits
    d = (2 * a + 1) * (a + 1) ** (n - 1)
    below = [a ** (count - z) * (a + 1) ** (n - (count - z)) for z in range(count)]
    above = [d - a ** (z - count + 1) * (a + 1) ** (n - 1 - (z - count)) for z in range(count, n)]
    exact = np.diff([0, *below, *above, d]) / d
    law = TruncatedGeometric(epsilon=math.log1p(1 / a)).law(np.array([float(count)]))
    np.testing.assert_allclose(law.probabilities, exact, rtol=1e-12)


def test_truncated_geometric_over_all_neighbours():
    mechanism = TruncatedGeometric(epsilon=0.7)
    laws = np.array([mechanism.law(np.array([float(c)])).probabilities for c in range(6)])
    np.testing.assert_allclose(laws.sum(axis=1), 1, rtol=1e-13)
    assert np.abs(np.diff(np.log(laws), axis=0)).max() == pytest.approx(mechanism.true_epsilon)
    assert best_event(mechanism) == pytest.approx(mechanism.true_epsilon)


@pytest.mark.parametrize("name", ["rappor", "rappor-one-time"])
def test_rappor_by_enumeration(name):
    mechanism = KNOWN_ANSWERS[name].mechanism
    pair, f = mechanism.pair(), mechanism.permanent

    def one(bit):
        """Return the chance of a published 1, over the coins of both steps."""
        kept = {bit: 1 - f, 0: f / 2 + (1 - f) * (bit == 0), 1: f / 2 + (1 - f) * (bit == 1)}
        shown = (0.0, 1.0) if mechanism.one_time else (mechanism.low, mechanism.high)
        return sum(kept[b] * shown[b] for b in (0, 1))

    filters = [mechanism.filter(d).astype(int) for d in (pair.dataset, pair.neighbour)]
    differ = np.flatnonzero(filters[0] != filters[1])
    assert len(differ) == 8
    loss = [
        sum(
            math.log(one(int(p[i])) if bit else 1 - one(int(p[i])))
            - math.log(one(int(q[i])) if bit else 1 - one(int(q[i])))
            for i, bit in zip(differ, report, strict=True)
        )
        for report in product((0, 1), repeat=8)
        for p, q in [filters]
    ]
    assert max(map(abs, loss)) == pytest.approx(mechanism.true_epsilon)
