"""Models of noisy marginals: on a stand-in, and on mbi itself where it is installed."""

import numpy as np
import pytest

from dpaudit import Pair, relation
from dpaudit.adapters.mbi import MarginalModel
from dpaudit.testing import assert_not_refuted

ADDED = Pair([0, 1, 1], [0, 1, 1, 1], relation("add-remove-record"))


class Marginal:
    def __init__(self, counts):
        self.counts = counts

    def datavector(self):
        return self.counts


class Model:
    """One noisy count of every value, as mbi's models have them."""

    def __init__(self, domain, measurements):
        (self.counts,), self.domain = measurements, domain
        self.total = self.counts.sum()

    def project(self, names):
        assert names == ["letter"]
        return Marginal(self.counts)


class Domain:
    attributes = ("letter",)


def test_a_model_is_estimated_in_every_trial_from_the_generator_of_the_audit():
    def measure(dataset, rng):
        return Domain(), [np.bincount(dataset, minlength=2) + rng.integers(10, size=2)]

    mechanism = MarginalModel(measure, Model)
    first, again = (mechanism.sample([0, 1, 1], 5, np.random.default_rng(1)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first.shape == (5, 3)
    np.testing.assert_array_equal(first[:, 0], first[:, 1:].sum(axis=1))


@pytest.mark.filterwarnings("ignore:JAX is running in float32:UserWarning")
def test_a_model_is_as_private_as_its_measurements():
    mbi = pytest.importorskip("mbi", reason="pip install 'dpaudit[mbi]'")
    domain = mbi.Domain(["letter"], [2])

    def measure(dataset, rng):
        counts = np.bincount(dataset, minlength=2) + rng.laplace(0, 0.25, 2)
        return domain, [mbi.LinearMeasurement(counts, ("letter",), 0.25)]

    def estimate(domain, measurements):
        return mbi.estimation.MirrorDescent().estimate(domain, measurements, iters=20)

    mechanism = MarginalModel(measure, estimate)
    assert_not_refuted(mechanism, ADDED, 4.0, 0.0, trials=600)
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(mechanism, ADDED, 1.0, 0.0, trials=600)
