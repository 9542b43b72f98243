"""Composition theorems against randomised response, enumerated, and against 50 digits."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.accounting.composition import (
    approximate_parts,
    compose_advanced,
    compose_advanced_heterogeneous,
    compose_basic,
    kairouz_heterogeneous,
)
from dpaudit.accounting.events import (
    ApproximateRelease,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    PoissonSubsampledGaussian,
    Sequence,
    ZeroConcentratedRelease,
    repeat_event,
)
from dpaudit.accounting.loss_table import log_binomial
from dpaudit.accounting.optimal import (
    OptimalComposition,
    make_optimal_composition,
    optimal_heterogeneous,
)
from dpaudit.accounting.renyi import RenyiCurveDP, compute_zcdp_guarantee
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees.kinds import ApproximateDP

SMALL = (
    *([(epsilon, 0.0)] * count for epsilon in (1e-6, 0.1, 1.0, 5.0) for count in (1, 2, 3, 7, 10)),
    [(0.3, 0.0)] * 4 + [(1.1, 0.0)] * 3,
    [(0.3, 0.0), (0.6, 0.0), (0.9, 0.0), (1.7, 0.0)],  # sums that coincide
    [(0.5, 1e-3)] * 5,
    [(0.5, 0.2), (1.0, 0.0), (2.0, 1e-9)],
    [(0.0, 0.1), (0.0, 0.0), (1.0, 0.0)],
)
EPSILONS = st.floats(1e-6, 20.0)
COUNTS = st.integers(0, 60)
DELTAS = st.floats(1e-300, 0.9)


def release(epsilon, delta=0.0, count=1):
    return ApproximateRelease(epsilon=epsilon, delta=delta, count=count)


def enumerated(parts, epsilon):
    """Return the hockey-stick divergence over every output of leaky randomised responses.

    Each response tells the secret with probability delta, the truth with odds exp(epsilon) else.
    """
    with mpmath.workdps(50):
        responses = []
        for own, delta in parts:
            odds, kept = mpmath.exp(mpmath.mpf(own)), 1 - mpmath.mpf(delta)
            outputs = [(kept * odds / (1 + odds), kept / (1 + odds))]
            outputs.append(outputs[0][::-1])
            if delta:
                outputs += [(mpmath.mpf(delta), 0), (0, mpmath.mpf(delta))]
            responses.append(outputs)
        scale, total = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(0)
        for output in itertools.product(*responses):
            p = mpmath.fprod(pair[0] for pair in output)
            q = mpmath.fprod(pair[1] for pair in output)
            total += max(p - scale * q, 0)
        return total


def binomial_delta(own, count, epsilon):
    """Return the profile of ``count`` randomised responses in 50 digits, by the binomial sum."""
    with mpmath.workdps(50):
        own, epsilon = mpmath.mpf(own), mpmath.mpf(epsilon)
        truth = 1 / (1 + mpmath.exp(-own))
        term, total = truth**count, mpmath.mpf(0)
        for lies in range(count + 1):
            loss = (count - 2 * lies) * own
            if loss <= epsilon:
                break
            total -= term * mpmath.expm1(epsilon - loss)
            term *= mpmath.exp(-own) * (count - lies) / (lies + 1)
        return total


# The exact composition


@pytest.mark.sampled(4)
@pytest.mark.parametrize("parts", SMALL, ids=str)
def test_optimal_is_randomised_response_enumerated(parts):
    composed = optimal_heterogeneous(release(*part) for part in parts)
    top = sum(epsilon for epsilon, _ in parts)
    for epsilon in np.linspace(0.0, 1.01 * top, 6):
        exact = float(enumerated(parts, float(epsilon)))
        assert composed.delta(float(epsilon)) == pytest.approx(exact, rel=4e-12, abs=1e-300)


@pytest.mark.parametrize("parts", SMALL, ids=str)
def test_half_the_exact_epsilon_is_refuted(parts):
    composed = optimal_heterogeneous(release(*part) for part in parts)
    lost = composed.delta(2 * sum(epsilon for epsilon, _ in parts))
    delta = lost + 1e-7 * (composed.delta(0.0) - lost)
    epsilon = composed.epsilon(delta)
    assert epsilon > 0
    assert enumerated(parts, epsilon / 2) > delta
    assert enumerated(parts, epsilon * (1 - 1e-6)) > delta
    assert enumerated(parts, epsilon * (1 + 1e-6)) <= delta


@pytest.mark.sampled(3)
@pytest.mark.parametrize("own", [1e-6, 1e-3, 0.1, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("count", [1, 100, 10_000])
def test_the_profile_keeps_twelve_digits(own, count):
    composed = make_optimal_composition(own, 0.0, count)
    centre, spread = count * own * math.tanh(own / 2), math.sqrt(count) * own
    for z in (-3.0, 0.37, 10.0, 25.0, 36.0):
        epsilon = centre + z * spread
        exact = mpmath.log(binomial_delta(own, count, epsilon)) if epsilon < count * own else 0
        if epsilon < 0 or not -710 < exact < 0:
            continue
        found = composed.log_deltas([epsilon])[0]
        assert abs(mpmath.expm1(mpmath.mpf(float(found)) - exact)) < 1e-12, z


@pytest.mark.parametrize("own", [1e-6, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-300, 1e-100, 1e-20, 1e-5, 0.3])
def test_epsilon_is_the_inverse_in_fifty_digits(own, delta):
    epsilon = make_optimal_composition(own, 0.0, 500).epsilon(delta)
    if epsilon == 0:
        assert binomial_delta(own, 500, 0.0) <= delta
    else:
        assert binomial_delta(own, 500, epsilon * (1 - 1e-9)) > delta * (1 - 1e-12)
        assert binomial_delta(own, 500, epsilon * (1 + 1e-9)) < delta * (1 + 1e-12)


@given(st.floats(1e-6, 3.0), st.integers(1, 300), st.floats(0.0, 0.999))
def test_epsilon_is_continuous_between_the_multiples(own, count, place):
    composed = make_optimal_composition(own, 0.0, count)
    epsilon = place * count * own
    delta = composed.delta(epsilon)
    if 1e-300 < delta < 0.999:
        assert composed.epsilon(delta) == pytest.approx(epsilon, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("count", [1, 13, 5000])
@pytest.mark.parametrize("log_odds", [-3.0, 0.0, 1e-6, 0.1, 5.0, 50.0, 800.0])
def test_the_binomial_probabilities_keep_twelve_digits(count, log_odds):
    found = log_binomial(count, log_odds)
    with mpmath.workdps(50):
        odds = mpmath.mpf(log_odds)
        truth, lie = -mpmath.log1p(mpmath.exp(-odds)), -mpmath.log1p(mpmath.exp(odds))
        for k in {0, 1, count // 3, count // 2, 2 * count // 3, count - 1, count}:
            exact = mpmath.log(mpmath.binomial(count, k)) + k * truth + (count - k) * lie
            assert float(found[k]) == pytest.approx(float(exact), rel=2e-15, abs=1e-13)


def test_what_is_left_at_delta_zero():
    assert make_optimal_composition(0.1, 0.0, 1000).epsilon(0.0) == pytest.approx(100.0)
    assert make_optimal_composition(0.1, 1e-9, 1000).epsilon(1e-7) == math.inf
    assert make_optimal_composition(0.1, 1e-5, 1).epsilon(1e-5) == 0.1
    assert make_optimal_composition(800.0, 0.0, 3).epsilon(1e-20) == pytest.approx(2400.0)


@pytest.mark.parametrize(
    "nothing",
    [make_optimal_composition(1.0, 0.1, 0), make_optimal_composition(0.0, 0.0, 9)],
    ids=str,
)
def test_nothing_released_leaks_nothing(nothing):
    assert nothing.delta(0.0) == 0
    assert nothing.epsilon(0.0) == nothing.epsilon(0.5) == 0
    assert nothing.trade_off(0.25) == 0.75


@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.2])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_one_release_is_its_own_guarantee(epsilon, delta):
    composed, alone = make_optimal_composition(epsilon, delta, 1), ApproximateDP(epsilon, delta)
    for e in (0.0, 0.1, epsilon, epsilon + 1):
        assert composed.delta(e) == pytest.approx(alone.delta(e), rel=4e-12)
    for d in (delta, 0.3, 0.9):
        assert composed.epsilon(d) == pytest.approx(alone.epsilon(d), rel=1e-9)
    for rate in (0.0, 1e-9, 0.1, 0.5, 1.0):
        assert composed.trade_off(rate) == pytest.approx(alone.trade_off(rate), abs=1e-12)


def test_the_trade_off_curve_is_that_of_the_best_test():
    parts = [(0.7, 0.0)] * 6
    composed = optimal_heterogeneous(release(*part) for part in parts)
    truth = 1 / (1 + math.exp(-0.7))
    for least in range(7):  # accuse when at least so many responses point to the record
        counts = np.arange(7)
        weights = np.array([math.comb(6, k) for k in counts])
        under = weights * truth**counts * (1 - truth) ** (6 - counts)
        rate, missed = under[::-1][least:].sum(), under[:least].sum()
        assert composed.trade_off(float(rate)) == pytest.approx(missed, abs=1e-12)


@given(EPSILONS, st.floats(0.0, 0.1), COUNTS, st.floats(0.0, 100.0), st.floats(0.0, 10.0))
def test_more_releases_never_leak_less(own, delta, count, epsilon, further):
    less, more = (
        make_optimal_composition(own, delta, count),
        make_optimal_composition(own, delta, count + 1),
    )
    assert more.delta(epsilon) >= less.delta(epsilon) * (1 - 1e-12)
    assert less.delta(epsilon + further) <= less.delta(epsilon) * (1 + 1e-12)


@given(EPSILONS, COUNTS, DELTAS, DELTAS)
def test_epsilon_falls_with_delta(own, count, one, other):
    composed = make_optimal_composition(own, 0.0, count)
    low, high = sorted((one, other))
    assert composed.epsilon(high) <= composed.epsilon(low) <= count * own * (1 + 1e-12)


@given(EPSILONS, COUNTS, DELTAS)
def test_count_loop_and_nested_agree(own, count, delta):
    one = LaplaceRelease(sensitivity=own, noise_scale=1.0)
    nested = Sequence(
        (repeat_event(one, count // 2), Sequence((repeat_event(one, count - count // 2),)))
    )
    expected = make_optimal_composition(own, 0.0, count).epsilon(delta)
    for event in (repeat_event(one, count), Sequence((one,) * count), nested):
        assert optimal_heterogeneous(approximate_parts(event)).epsilon(delta) == expected
    looped = optimal_heterogeneous([release(own)] * count)
    assert looped.epsilon(delta) == expected


def test_too_many_states_are_refused():
    with pytest.raises(InvalidArgument, match=r"parts: got .*1048576 states.* at most 1000000"):
        optimal_heterogeneous(release(float(e)) for e in range(1, 21))
    with pytest.raises(InvalidArgument, match="states"):
        make_optimal_composition(0.1, 0.0, 1_000_000)


# Published and measured values


def test_a_hundred_randomised_responses():
    # dp-accounting 0.6.0 answers .1001: its accountant ignores the count of this event.
    assert make_optimal_composition(0.1, 0.0, 100).epsilon(1e-5) == pytest.approx(4.3068, abs=5e-5)
    assert binomial_delta(0.1, 100, 0.1001) > 0.3


def test_a_pure_release_of_epsilon_one():
    # prv-accountant 0.2.0 answers [69.87, 70.07].
    assert make_optimal_composition(1.0, 0.0, 100).epsilon(1e-5) == pytest.approx(79.84, abs=5e-3)
    assert binomial_delta(1.0, 100, 70.07) > 50e-5


def test_a_thousand_randomised_responses_by_every_theorem():
    event, delta = release(0.1, count=1000), 1e-5
    assert make_optimal_composition(0.1, 0.0, 1000).epsilon(delta) == pytest.approx(
        17.787, abs=5e-4
    )
    assert RenyiCurveDP(event).epsilon(delta) == pytest.approx(18.97, abs=1e-2)
    assert compose_advanced(0.1, 0.0, 1000, delta) == (pytest.approx(25.69, abs=5e-3), delta)
    assert compose_basic(event) == (pytest.approx(100.0), 0.0)
    # Bun & Steinke 2016, Proposition 1.3, gives 20.17; the conversion used here is sharper.
    rho = compute_zcdp_guarantee(event).rho
    assert rho + 2 * math.sqrt(rho * -math.log(delta)) == pytest.approx(20.17, abs=5e-3)
    assert compute_zcdp_guarantee(event).epsilon(delta) == pytest.approx(19.05, abs=5e-3)


@pytest.mark.parametrize("slack", [1e-5, 1e-20])
def test_advanced_composition_of_a_thousand(slack):
    # dp-accounting 0.6.0 overflows at this count, and at 1e-20 falls below the exact value.
    with mpmath.workdps(50):
        own = mpmath.mpf(0.1)
        root = mpmath.sqrt(2000 * mpmath.log(1 / mpmath.mpf(slack))) * own
        formula = root + 1000 * own * mpmath.expm1(own)
    found = compose_advanced(0.1, 0.0, 1000, slack)[0]
    assert found == pytest.approx(float(formula), rel=1e-14)
    assert found > make_optimal_composition(0.1, 0.0, 1000).epsilon(slack)
    assert binomial_delta(0.1, 1000, found) < slack
    assert binomial_delta(0.1, 1000, found / 2) > slack


def test_advanced_composition_of_huge_epsilons_is_a_number():
    assert compose_advanced(710.0, 0.0, 1000, 1e-20) == (math.inf, 1e-20)
    assert compose_advanced(699.0, 0.0, 10**6, 1e-20)[0] == math.inf
    assert kairouz_heterogeneous([release(710.0, count=1000)], 1e-20)[0] == 710_000.0


# Closed forms


@given(EPSILONS, st.floats(0.0, 0.01), st.integers(1, 60), st.floats(1e-20, 0.5))
def test_no_theorem_is_below_the_exact_value(own, delta, count, slack):
    part = release(own, delta, count)
    exact = make_optimal_composition(own, delta, count)
    forms = (
        compose_advanced(own, delta, count, slack),
        kairouz_heterogeneous([part], slack),
        compose_basic(part),
    )
    for epsilon, total in forms:
        if total < 1 and epsilon < 1e6:
            # One rounding of epsilon at the last loss is all of the delta that is left there.
            assert exact.delta(epsilon * (1 + 1e-12)) <= total * (1 + 1e-9)


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(0, 8)), max_size=4), DELTAS)
def test_no_theorem_is_below_the_exact_value_of_parts_that_differ(pairs, slack):
    parts = [release(epsilon, 0.0, count) for epsilon, count in pairs]
    exact = optimal_heterogeneous(parts)
    for bound in (compose_advanced_heterogeneous, kairouz_heterogeneous):
        epsilon, delta = bound(parts, slack)
        assert exact.delta(epsilon * (1 + 1e-12)) <= delta * (1 + 1e-9)
    assert exact.epsilon(slack) <= compose_basic(Sequence(tuple(parts)))[0] * (1 + 1e-12)


@given(EPSILONS, COUNTS, st.floats(1e-100, 0.5))
def test_the_second_form_is_never_looser(own, count, slack):
    part = release(own, 0.0, count)
    sharper = kairouz_heterogeneous([part], slack)[0]
    assert sharper <= compose_advanced_heterogeneous([part], slack)[0] * (1 + 1e-12)
    assert sharper <= compose_basic(part)[0] * (1 + 1e-12)


def test_the_second_form_in_fifty_digits():
    parts = [release(0.1, 1e-8, 50), release(0.3, 0.0, 20)]
    with mpmath.workdps(50):
        pairs = [(mpmath.mpf(0.1), 50), (mpmath.mpf(0.3), 20)]
        squares = sum(n * e**2 for e, n in pairs)
        drift = sum(n * e * (mpmath.exp(e) - 1) / (mpmath.exp(e) + 1) for e, n in pairs)
        for slack in (1e-9, 0.4):
            tails = (mpmath.e + mpmath.sqrt(squares) / slack, 1 / mpmath.mpf(slack))
            roots = [mpmath.sqrt(2 * squares * mpmath.log(tail)) for tail in tails]
            delta = 1 - (1 - mpmath.mpf(slack)) * (1 - mpmath.mpf(1e-8)) ** 50
            expected = (float(min(drift + min(roots), 11)), float(delta))
            assert kairouz_heterogeneous(parts, slack) == pytest.approx(expected, rel=1e-14)


def test_heterogeneous_is_homogeneous_where_nothing_differs():
    one, whole = compose_advanced_heterogeneous([release(0.1, 1e-9)] * 100, 1e-6), (0.1, 1e-9, 100)
    assert one == pytest.approx(compose_advanced(*whole, 1e-6), rel=1e-13)
    assert one[1] == pytest.approx(1e-6 + 1e-7)


# Events


def test_every_pure_release_has_its_epsilon():
    event = Sequence(
        (
            release(0.5, 1e-6, 2),
            LaplaceRelease(sensitivity=1.0, noise_scale=4.0, count=4),
            ExponentialNormRelease(sensitivity=0.5, noise_rate=2.0, dimension=7),
            ObjectivePerturbation(
                sensitivity=0.5, noise_rate=2.0, dimension=7, log_determinant=0.25, count=2
            ),
        )
    )
    assert compose_basic(event) == pytest.approx((1.0 + 1.0 + 1.0 + 2.5, 2e-6))


@pytest.mark.parametrize(
    "event",
    [
        GaussianRelease(sensitivity=1.0, noise_scale=1.0),
        ZeroConcentratedRelease(rho=0.1),
        PoissonSubsampledGaussian(sampling_ratio=0.1, noise_multiplier=1.0),
    ],
)
def test_other_releases_are_refused(event):
    for theorem in (compose_basic, approximate_parts):
        with pytest.raises(UnsupportedEvent, match=type(event).__name__):
            theorem(Sequence((release(0.1), event)))


def test_deltas_that_add_up_to_more_than_one_say_nothing():
    assert compose_basic(release(0.1, 0.5, 3))[1] == 1
    assert compose_advanced(0.1, 0.5, 3, 0.1)[1] == 1
    assert make_optimal_composition(0.1, 0.5, 3).epsilon(0.875) == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("epsilon", (-0.1, 0.0, 3, 0.1)),
        ("delta", (0.1, 1.0, 3, 0.1)),
        ("count", (0.1, 0.0, 2.5, 0.1)),
        ("slack", (0.1, 0.0, 3, 0.0)),
        ("slack", (0.1, 0.0, 3, 1.0)),
    ],
)
def test_a_bad_argument_is_named(name, arguments):
    with pytest.raises(InvalidArgument, match=rf"^{name}: got "):
        compose_advanced(*arguments)


def test_bad_parts_and_answers_are_named():
    with pytest.raises(InvalidArgument, match=r"parts\[1\]: got 0.1"):
        kairouz_heterogeneous([release(0.1), 0.1], 1e-5)
    composed = OptimalComposition((release(0.1, count=3),))
    with pytest.raises(InvalidArgument, match="delta: got 1"):
        composed.epsilon(1.0)
    with pytest.raises(InvalidArgument, match="epsilon: got -1"):
        composed.delta(-1.0)
    with pytest.raises(InvalidArgument, match="false_positive_rate"):
        composed.trade_off(1.5)
    assert str(composed) == "OptimalComposition(3 x (epsilon=0.1, delta=0))"
