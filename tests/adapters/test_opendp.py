"""Measurements of OpenDP, audited on the real library: honest, and held to half of their epsilon.

OpenDP cannot be seeded: these tests are at a confidence of 1 - 1e-6 and with margins to match.
"""

import importlib.util

import numpy as np
import pytest

from dpaudit import Pair, relation
from dpaudit.adapters.opendp import OpenDPMechanism
from dpaudit.testing import assert_not_refuted

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("opendp") is None,
    reason="opendp is not installed: pip install 'dpaudit[opendp]'",
)

ONE = Pair(np.array([0.0]), np.array([1.0]), relation("replace-record"))
THREE = Pair(np.array([0.0, 1.0, 1.0]), np.array([1.0, 1.0, 1.0]), relation("replace-record"))


def laplace():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float)
    return dp.m.make_laplace(*space, scale=0.5)


def geometric():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    return dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=0.5)


def noisy_sum():
    import opendp.prelude as dp

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(bounds=(0.0, 1.0)), size=3), dp.symmetric_distance()
    return space >> dp.t.then_sum() >> dp.m.then_laplace(scale=0.5)


@pytest.mark.parametrize(
    ("build", "pair", "distance"), [(laplace, ONE, 1.0), (geometric, ONE, 1), (noisy_sum, THREE, 2)]
)
def test_a_measurement_keeps_its_epsilon_and_not_half_of_it(build, pair, distance):
    mechanism = OpenDPMechanism(build)
    claimed = mechanism.claimed_epsilon(distance)
    assert claimed == pytest.approx(2.0, rel=1e-6)
    found = assert_not_refuted(mechanism, pair, claimed, 0.0, trials=1500)
    assert found.measured.lower > 1.0
    with pytest.raises(AssertionError, match=r"^refuted"):
        assert_not_refuted(mechanism, pair, claimed / 2, 0.0, trials=1500)


def test_no_seed_repeats_it():
    mechanism = OpenDPMechanism(laplace)
    first, again = (mechanism.sample(ONE.dataset, 3, np.random.default_rng(0)) for _ in range(2))
    assert not np.array_equal(first, again)
