"""Groups: exact mechanisms on chains of neighbours, from which no bound may fall below."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import norm

import dpaudit.guarantees.rounding as rounding
from dpaudit.errors import InvalidArgument
from dpaudit.guarantees.kinds import (
    ApproximateDP,
    GaussianDP,
    GroupOf,
    Guarantee,
    PureDP,
    ZeroConcentratedDP,
)

KINDS = (
    PureDP(0.0),
    PureDP(0.4),
    ApproximateDP(0.5, 1e-5),
    ApproximateDP(2.0, 0.1),
    GaussianDP(0.7),
    ZeroConcentratedDP(0.1),
    GroupOf(GaussianDP(0.3), 2),
)
slow = pytest.mark.slow
every_kind = pytest.mark.parametrize("one", KINDS, ids=str)
kinds = st.sampled_from(KINDS)


@dataclass(frozen=True)
class Hidden(Guarantee):
    """A guarantee without the theorem on groups of its kind."""

    of: Guarantee

    def delta(self, epsilon):
        return self.of.delta(epsilon)

    def log_delta(self, epsilon):
        return self.of.log_delta(epsilon)

    def epsilon(self, delta):
        return self.of.epsilon(delta)


def hockey_stick(log_p, log_q, epsilon):
    return float(np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0.0).sum())


def answers_of_changed_records(epsilon, size):
    """Randomised response on every record, ``size`` of them changed: log-laws of the count."""
    count = np.arange(size + 1)
    choose = gammaln(size + 1) - gammaln(count + 1) - gammaln(size - count + 1)
    wrong = -np.logaddexp(0, epsilon)
    return (
        choose + size * wrong + epsilon * count,
        choose + size * wrong + epsilon * (size - count),
    )


def geometric(epsilon, size):
    """A count plus two-sided geometric noise, the count changed by ``size``: log-laws."""
    outputs = np.arange(-math.ceil(60 / epsilon), math.ceil(60 / epsilon) + size + 1)
    scale = math.log(math.tanh(epsilon / 2))
    return scale - epsilon * abs(outputs - 0.0), scale - epsilon * abs(outputs - size)


# Closed forms


def test_each_kind_has_the_group_its_theorem_gives():
    assert PureDP(0.5).group(3) == PureDP(1.5)
    assert GaussianDP(0.5).group(3) == GaussianDP(1.5)
    assert ZeroConcentratedDP(0.5).group(3) == ZeroConcentratedDP(4.5)
    assert GroupOf(PureDP(1.0), 2).group(3) == GroupOf(PureDP(1.0), 6)
    assert GaussianDP(0.5).replace_one() == GaussianDP(1.0)


@given(st.floats(0, 30), st.integers(-300, -3), st.integers(2, 12))
def test_approximate_groups_have_the_summed_delta(epsilon, exponent, size):
    delta = 10.0**exponent
    with mpmath.workdps(50):
        exact = mpmath.mpf(delta) * sum(mpmath.exp(i * mpmath.mpf(epsilon)) for i in range(size))
    group = ApproximateDP(epsilon, delta).group(size)
    if exact < 0.999:
        assert isinstance(group, ApproximateDP)
        assert rounding.to_written_fraction(
            group.at_epsilon
        ) >= size * rounding.to_written_fraction(epsilon)
        assert group.at_epsilon == pytest.approx(size * epsilon, rel=1e-14)
        assert mpmath.mpf(group.at_delta) >= exact
        assert group.at_delta == pytest.approx(float(exact), rel=1e-11)
    elif exact > 1.001:
        assert group == GroupOf(ApproximateDP(epsilon, delta), size)


@pytest.mark.parametrize("size", [2, 3, 7])
def test_the_numbers_of_a_group_are_rounded_up(size):
    draw = random.Random(size)
    for value in (draw.uniform(0.01, 2.0) for _ in range(60)):
        exact = size * Fraction(value)
        found = (
            PureDP(value).group(size).at_epsilon,
            ApproximateDP(value, 1e-9).group(size).at_epsilon,
            ApproximateDP(value, 0.0).group(size).at_epsilon,
            GaussianDP(value).group(size).mu,
            GroupOf(PureDP(value), size).epsilon(0.0),
            GroupOf(GaussianDP(value), size)._mu(),
        )
        assert all(exact <= Fraction(one) <= exact * (1 + Fraction(1, 10**12)) for one in found)
        rhos = ZeroConcentratedDP(value).group(size).rho, GroupOf(PureDP(value), size)._rho()
        assert Fraction(rhos[0]) >= size * exact
        assert Fraction(rhos[1]) >= exact**2 / 2
    assert PureDP(0.7).group(7) == PureDP(4.9)
    assert (
        GroupOf(PureDP(0.7), 7).delta(math.nextafter(4.9, 0))
        > 0
        == GroupOf(PureDP(0.7), 7).delta(4.9)
    )


def test_a_group_of_which_the_sum_says_nothing_still_has_a_bound():
    group = ApproximateDP(2.0, 0.1).group(3)
    # Three steps on the two lines of the trade-off curve, by hand.
    second = 0.1 + math.exp(2) * 0.1
    third = 1 - math.exp(-2) * (0.9 - second)
    assert group.delta(100.0) == pytest.approx(third, rel=1e-12)
    assert group.epsilon(0.5) == math.inf
    assert group.epsilon(third + 1e-6) < 100


# Exact mechanisms


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "mu"),
    [
        (2, 1e-3),
        (2, 5.0),
        *(pytest.param(2, mu, marks=slow) for mu in (0.3, 1.0)),
        *(pytest.param(5, mu, marks=slow) for mu in (1e-3, 0.3, 1.0, 5.0)),
    ],
)
def test_the_group_of_a_hidden_gaussian_is_the_exact_gaussian(mu, size):
    group, exact = Hidden(GaussianDP(mu)).group(size), GaussianDP(size * mu)
    assert isinstance(group, GroupOf)
    for delta in (1e-2, 1e-10, 1e-100, 1e-300):
        epsilon = exact.epsilon(delta)
        if epsilon > 0:
            # Not below, up to rounding, and close.
            excess = group.log_delta(epsilon) - exact.log_delta(epsilon)
            assert -1e-12 * abs(math.log(delta)) <= excess <= 1e-6
            assert group.epsilon(delta) == pytest.approx(epsilon, rel=1e-8)
    for rate in (0.0, 1e-12, 0.01, 0.5, 0.99, 1.0):
        assert group.trade_off(rate) == pytest.approx(exact.trade_off(rate), abs=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, pytest.param(1.0, marks=slow), 3.0])
@pytest.mark.parametrize("size", [2, pytest.param(3, marks=slow), pytest.param(6, marks=slow)])
def test_randomised_response_on_changed_records_is_below_every_group_bound(epsilon, size):
    laws = answers_of_changed_records(epsilon, size)
    for at in np.linspace(0, 1.2 * size * epsilon, 7):
        exact = hockey_stick(*laws, at)
        tight = GroupOf(PureDP(epsilon), size).delta(at)
        assert exact <= tight + 1e-14
        assert tight <= PureDP(epsilon).group(size).delta(at) + 1e-12


@pytest.mark.sampled(1)
@pytest.mark.parametrize("epsilon", [0.3, pytest.param(1.0, marks=slow), 3.0])
@pytest.mark.parametrize("size", [2, 3, pytest.param(6, marks=slow)])
def test_the_geometric_mechanism_attains_the_group_of_a_pure_guarantee(epsilon, size):
    laws, group = geometric(epsilon, size), GroupOf(PureDP(epsilon), size)
    for at in (*np.linspace(0, size * epsilon, 9)[:-1], size * epsilon - 1e-3):
        assert group.delta(at) == pytest.approx(hockey_stick(*laws, at), rel=1e-7, abs=1e-13)
    assert group.delta(size * epsilon) == 0
    assert group.epsilon(0.0) == pytest.approx(size * epsilon, rel=1e-15)


def test_the_group_of_two_steps_in_fifty_digits():
    """1 - e^-eps: the total variation distance of the geometric mechanism at a shift of 2."""
    with mpmath.workdps(50):
        exact = float(1 - mpmath.exp(-mpmath.mpf("0.25")))
    assert GroupOf(PureDP(0.25), 2).advantage() == pytest.approx(exact, rel=1e-9)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("size", [2, 4])
def test_the_point_of_an_approximate_group_is_exact_while_the_sum_is_small(size):
    one = ApproximateDP(0.5, 1e-8)
    summed = one.group(size)
    assert GroupOf(one, size).delta(size * 0.5) == pytest.approx(summed.delta(size * 0.5))
    for at in np.linspace(0, 3, 7):
        assert GroupOf(one, size).delta(at) <= summed.delta(at) * (1 + 1e-7)


# Negative controls: an attack on a chain refutes what is too good to be true


@pytest.mark.parametrize("size", [2, 4, 6])
def test_half_a_group_is_refuted_by_a_threshold_on_a_gaussian_sum(size):
    mu, rate = 0.7, 0.05
    power = norm.sf(norm.isf(rate) - size * mu)
    for one in (GaussianDP(mu), Hidden(GaussianDP(mu))):
        assert power > one.group(size // 2).true_positive_rate(rate)
        assert power <= one.group(size).true_positive_rate(rate) + 1e-12


@pytest.mark.parametrize("size", [2, 3, 6])
def test_a_smaller_group_is_refuted_by_counting_answers(size):
    rare, common = (np.exp(law) for law in answers_of_changed_records(1.0, size))
    # Accuse on the single output where every answer is true: power and rate of that test.
    power, rate = common[0], rare[0]
    for one in (PureDP(1.0), Hidden(PureDP(1.0))):
        assert power > (one.group(size - 1).true_positive_rate(rate)) * (1 + 1e-9)
        assert power <= one.group(size).true_positive_rate(rate) + 1e-12


# Contract


@every_kind
def test_a_group_of_one_is_itself(one):
    assert one.group(1) is one


@pytest.mark.sampled(1)
@pytest.mark.parametrize("one", KINDS[:5], ids=str)
@pytest.mark.parametrize("size", [2, pytest.param(3, marks=slow)])
def test_a_group_answers_like_any_guarantee(one, size):
    group = GroupOf(one, size)
    deltas = np.array([group.delta(epsilon) for epsilon in (0.0, 0.1, 0.5, 1.5, 4.0, 20.0)])
    assert ((deltas >= 0) & (deltas <= 1)).all()
    assert (np.diff(deltas) <= 1e-9).all()
    for delta in (1e-12, 1e-3, 0.2):
        epsilon = group.epsilon(delta)
        if 0 < epsilon < math.inf:
            assert group.delta(epsilon + 1e-7) <= delta
            assert group.delta(epsilon * (1 - 1e-5)) >= delta * (1 - 1e-5)


groups_of_two_sizes = given(kinds, st.integers(1, 4), st.integers(1, 4), st.floats(0, 8))


@pytest.mark.slow
@settings(max_examples=5, deadline=None)
@groups_of_two_sizes
def test_a_larger_group_has_no_better_guarantee(one, first, second, epsilon):
    check_the_larger_is_no_better(one, first, second, epsilon)


@slow
@settings(max_examples=30, deadline=None)
@groups_of_two_sizes
def test_no_larger_group_has_a_better_guarantee(one, first, second, epsilon):
    check_the_larger_is_no_better(one, first, second, epsilon)


def check_the_larger_is_no_better(one, first, second, epsilon):
    small, large = (one.group(size) for size in sorted((first, second)))
    assert small.delta(epsilon) <= large.delta(epsilon) * (1 + 1e-9) + 1e-15
    assert small.success(0.3) <= large.success(0.3) + 1e-9
    assert small.epsilon(1e-3) <= large.epsilon(1e-3) + 1e-9


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(st.sampled_from(KINDS[:5]), st.integers(2, 4), st.floats(0, 8))
def test_what_is_derived_from_tangents_is_never_worse_than_the_theorem(one, size, epsilon):
    derived, stated = GroupOf(one, size).delta(epsilon), one.group(size).delta(epsilon)
    assert derived <= stated * (1 + 1e-9) + 1e-9


@every_kind
@pytest.mark.parametrize("size", [0, -1, 1.0, True, None, "2"])
def test_a_bad_size_is_refused_by_name(one, size):
    with pytest.raises(InvalidArgument, match=r"^size: got"):
        one.group(size)
    with pytest.raises(InvalidArgument, match=r"^size: got"):
        GroupOf(one, size)


def test_a_group_prints_what_it_says():
    assert str(GroupOf(PureDP(1.0), 2)) == "GroupOf(one=PureDP(at_epsilon=1), size=2)"


def test_rho_of_a_group_grows_with_the_square_of_its_size():
    group = GroupOf(ZeroConcentratedDP(0.1), 3)
    assert group.implies(ZeroConcentratedDP(0.9 * (1 + 1e-9)))
    assert not group.implies(ZeroConcentratedDP(0.89))
