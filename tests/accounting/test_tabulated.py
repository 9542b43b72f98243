"""Tables of a guarantee: never below it, close to it, and what groups of it cost."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpaudit.accounting.events import GaussianRelease, LaplaceRelease
from dpaudit.accounting.strongest_guarantee import NumericalDP, TabulatedDP
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, PureDP

TABLES = {
    "gaussian": TabulatedDP(GaussianDP(0.7)),
    "pure": TabulatedDP(PureDP(0.4)),
    "approximate": TabulatedDP(ApproximateDP(1.0, 1e-5)),
}


@pytest.mark.parametrize("kind", TABLES)
@given(epsilon=st.floats(0, 30), log10_delta=st.floats(-13, -0.01))
@settings(max_examples=60, deadline=None)
def test_a_table_is_never_below_what_it_tabulates(kind, epsilon, log10_delta):
    table, exact = TABLES[kind], TABLES[kind].exact
    assert table.delta(epsilon) >= exact.delta(epsilon) * (1 - 1e-12)
    assert table.epsilon(10**log10_delta) >= exact.epsilon(10**log10_delta) * (1 - 1e-12)


@pytest.mark.parametrize("delta", [0.1, 1e-3, 1e-6, 1e-10])
def test_a_table_is_close(delta):
    exact = GaussianDP(0.7).epsilon(delta)
    assert TABLES["gaussian"].epsilon(delta) == pytest.approx(exact, rel=0.02, abs=0.01)


@pytest.mark.parametrize("delta", [0.2, 1e-3, 1e-8])
def test_both_answers_are_inverse(delta):
    table = TABLES["gaussian"]
    assert table.delta(table.epsilon(delta)) == pytest.approx(delta, rel=1e-9)


def test_beyond_the_table_the_guarantee_itself_answers():
    assert TABLES["gaussian"].epsilon(1e-30) == GaussianDP(0.7).epsilon(1e-30)
    assert TABLES["approximate"].epsilon(1e-6) == math.inf
    assert TABLES["pure"].epsilon(0.0) == 0.4


@pytest.mark.slow
def test_groups_of_a_numerical_guarantee_are_sound_and_close():
    event = GaussianRelease(sensitivity=0.3, noise_scale=1.0)
    exact = GaussianDP(0.9).epsilon(1e-5)
    group = NumericalDP(event).group(3).epsilon(1e-5)
    assert exact <= group <= 1.05 * exact


@pytest.mark.slow
def test_groups_of_laplace_do_not_pass_their_pure_bound():
    event = LaplaceRelease(sensitivity=0.5, noise_scale=1.0, count=4)
    assert NumericalDP(event).group(2).epsilon(1e-6) <= 2 * 2.0 + 1e-9
