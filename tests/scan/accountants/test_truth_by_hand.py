"""Truths about releases by hand: counts, relations, and brackets with the number inside."""

from __future__ import annotations

import math

import mpmath
import pytest
from scipy.stats import norm

from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.errors import UnsupportedEvent
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.scan.accountants import exact
from dpaudit.scan.accountants.cases import AccountantQuestion, make_release_part
from dpaudit.scan.accountants.truth import (
    ADD,
    REPLACE,
    Truth,
    _is_revealing_part,
    _make_rounded_bracket,
    bracket_of,
    event_of,
    with_noise,
)


def gaussian_delta(mu, epsilon):
    tail = math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
    return float(norm.cdf(mu / 2 - epsilon / mu) - tail)


@pytest.mark.parametrize("value", [0.0, 1e-300, 0.25, 7.0])
def test_a_bracket_around_a_closed_form_holds_it_on_both_sides(value):
    found = _make_rounded_bracket(value)
    assert found.lower <= value <= found.upper
    assert (found.lower < value < found.upper) is (value > 0)
    assert found.upper - found.lower <= 2.1e-11 * value


@pytest.mark.parametrize(
    ("parts", "mu"),
    [
        ((("concentrated", 0.5, 1),), 1.0),
        ((("concentrated", 0.5, 4),), 2.0),
        ((("concentrated", 0.5, 1), ("concentrated", 0.125, 2)), math.sqrt(1.5)),
        ((("concentrated", 0.0, 5), ("concentrated", 0.5, 1)), 1.0),
        ((("gaussian", 1.0, 1),), None),
    ],
)
def test_concentrated_releases_are_attained_by_the_gaussian_of_their_sum(parts, mu):
    truth = Truth(
        tuple(make_release_part(kind, value, count=count) for kind, value, count in parts)
    )
    found = truth._zcdp_mu
    assert found == (None if mu is None else pytest.approx(mu))
    if mu is not None:
        assert truth.delta(1.0).lower == pytest.approx(GaussianDP(mu).delta(1.0))
        assert truth.epsilon(1e-5).lower == pytest.approx(GaussianDP(mu).epsilon(1e-5))


def test_concentrated_releases_beside_others_have_no_truth():
    truth = Truth((make_release_part("concentrated", 0.5), make_release_part("gaussian", 1.0)))
    with pytest.raises(UnsupportedEvent):
        truth._zcdp_mu  # noqa: B018


@pytest.mark.parametrize(("relation", "factor"), [(ADD, 1), (REPLACE, 2)])
@pytest.mark.parametrize("count", [1, 4])
def test_a_gaussian_release_has_the_mu_of_its_shift_and_count(relation, factor, count):
    truth = Truth((make_release_part("gaussian", 3.0, count=count),), relation)
    mu = factor * math.sqrt(count) / 3.0
    found = truth.delta(0.5)
    assert found.lower <= gaussian_delta(mu, 0.5) <= found.upper
    assert found.upper - found.lower < 1e-9
    second, how = truth.second_delta(0.5)
    assert float(second) == pytest.approx(gaussian_delta(mu, 0.5), rel=1e-9)
    assert "closed form" in how


@pytest.mark.parametrize(
    ("given", "reveals"),
    [
        (make_release_part("gaussian", 1.0, count=0), False),
        (make_release_part("gaussian", 1.0, count=1), True),
        (make_release_part("sampled", 0.0, 1.0), False),
        (make_release_part("sampled", 0.1, 1.0), True),
        (make_release_part("concentrated", 0.0), False),
        (make_release_part("pure", 0.0), True),
    ],
)
def test_what_has_no_count_no_record_or_no_rho_reveals_nothing(given, reveals):
    assert _is_revealing_part(dict(given)) is reveals
    if not reveals:
        truth = Truth((given,))
        assert truth.delta(0.0).upper == truth.epsilon(0.0).upper == 0.0


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_what_has_no_noise_reveals_all(relation):
    truth = Truth((make_release_part("gaussian", 0.0), make_release_part("laplace", 1.0)), relation)
    assert truth.betrayed
    assert truth.delta(5.0).lower == 1.0
    assert truth.epsilon(0.5).lower == math.inf
    assert truth.epsilon(1.0).upper == 0.0
    assert truth.second_delta(5.0)[0] == 1
    assert not Truth(
        (make_release_part("gaussian", 0.0, count=0), make_release_part("laplace", 1.0))
    ).betrayed


def test_two_parts_are_composed():
    truth = Truth((make_release_part("gaussian", 2.0, count=3), make_release_part("gaussian", 1.0)))
    mu = math.sqrt(3 / 4 + 1)
    assert truth.delta(1.0).lower <= gaussian_delta(mu, 1.0) <= truth.delta(1.0).upper
    second, how = truth.second_delta(1.0)
    assert float(second) <= gaussian_delta(mu, 1.0) * (1 + 1e-9)
    assert float(second) == pytest.approx(gaussian_delta(mu, 1.0), rel=1e-3)
    assert "smaller of two" in how


@pytest.mark.parametrize(
    ("given", "factor", "shown"),
    [
        (
            make_release_part("laplace", 2.0, count=3),
            2,
            {"sensitivity": 2.0, "noise_scale": 2.0, "count": 3},
        ),
        (make_release_part("sampled", 1.0, 2.0), 2, {"sensitivity": 2.0, "noise_scale": 2.0}),
        (make_release_part("sampled", 0.1, 2.0, count=5), 1, {"sampling_ratio": 0.1, "count": 5}),
        (make_release_part("discrete-laplace", 4.0, count=2), 1, {"epsilon": 0.25, "count": 2}),
        (make_release_part("approximate", 0.5, 1e-6), 1, {"epsilon": 0.5, "delta": 1e-6}),
    ],
)
def test_parts_are_events_of_their_own_numbers(given, factor, shown):
    event = event_of(dict(given), factor)
    assert {name: getattr(event, name) for name in shown} == shown


def test_discrete_laplace_of_a_replaced_record_has_no_event():
    with pytest.raises(UnsupportedEvent):
        event_of(dict(make_release_part("discrete-laplace", 1.0)), 2)


@pytest.mark.parametrize("noise", [math.nan, math.inf, -1.0])
def test_a_noise_that_is_none_has_no_truth(noise):
    question = AccountantQuestion(
        (make_release_part("gaussian", 1.0), make_release_part("pure", 0.5)), "noise"
    )
    assert with_noise(question, noise) is None
    changed = with_noise(question, 3.0, REPLACE)
    assert [dict(one).get("noise") for one in changed.release] == [3.0, None]
    assert changed.relation == REPLACE
    assert with_noise(question, 0.0).betrayed


def test_an_advantage_is_delta_at_0_and_other_questions_their_own_number():
    release = (make_release_part("gaussian", 1.0),)
    found = bracket_of(AccountantQuestion(release, "advantage", 0.7), ADD)
    assert found == Truth(release).delta(0.0)
    assert bracket_of(AccountantQuestion(release, "delta", 0.7), ADD) == Truth(release).delta(0.7)
    assert bracket_of(AccountantQuestion(release, "epsilon", 1e-3), ADD) == Truth(release).epsilon(
        1e-3
    )
    renyi = bracket_of(AccountantQuestion(release, "renyi", 3.0), ADD)
    assert renyi.lower <= 1.5 <= renyi.upper


@pytest.mark.parametrize(
    ("given", "order", "value"),
    [
        (make_release_part("gaussian", 2.0, count=3), 4.0, 3 * 4.0 / 8.0),
        (make_release_part("concentrated", 0.25, count=2), 3.0, 1.5),
        (make_release_part("gaussian", 1.0, count=0), 3.0, 0.0),
        (make_release_part("gaussian", 0.0), 3.0, math.inf),
        (make_release_part("sampled", 0.0, 1.0), 3.0, 0.0),
        (make_release_part("sampled", 1.0, 2.0), 4.0, 0.5),
        (make_release_part("pure", 0.0), 7.0, 0.0),
    ],
)
def test_divergences_add_up_over_counts(given, order, value):
    assert float(exact.compute_closed_form_renyi(dict(given), order)) == pytest.approx(value)


@pytest.mark.parametrize(("own", "count"), [(1.0, 1), (0.5, 3)])
def test_randomised_response_is_a_sum_over_lies(own, count):
    truth, lie = (1 / (1 + math.exp(-sign * own)) for sign in (1, -1))
    for epsilon in (0.0, 0.3, own * count, own * count + 1):
        total = 0.0
        for lies in range(count + 1):
            ways = math.comb(count, lies)
            p = ways * truth ** (count - lies) * lie**lies
            q = ways * lie ** (count - lies) * truth**lies
            total += max(0.0, p - math.exp(epsilon) * q)
        assert float(
            exact.compute_response_delta_mpf(mpmath.mpf(own), count, epsilon)
        ) == pytest.approx(total, abs=1e-12)


def of_laplace(order, shift):
    """Return the divergence of Laplace laws of scale 1 that are ``shift`` apart."""
    a, exp = order, math.exp
    return math.log((a * exp((a - 1) * shift) + (a - 1) * exp(-a * shift)) / (2 * a - 1)) / (a - 1)


@pytest.mark.parametrize("relation", [ADD, REPLACE])
def test_a_divergence_grows_with_what_a_replaced_record_moves(relation):
    moved = 2 if relation == REPLACE else 1

    def renyi(*parts):
        return Truth(parts, relation).renyi(4.0)

    for found, value in (
        (renyi(make_release_part("gaussian", 2.0, count=3)), 3 * 4.0 * moved**2 / (2 * 2.0**2)),
        (renyi(make_release_part("sampled", 1.0, 2.0, count=3)), 3 * 4.0 * moved**2 / (2 * 2.0**2)),
        (renyi(make_release_part("laplace", 2.0)), of_laplace(4.0, moved / 2.0)),
        (renyi(make_release_part("concentrated", 0.25)), 4.0 * 0.25),
        (renyi(make_release_part("gaussian", 2.0), make_release_part("laplace", 2.0)),
         4.0 * moved**2 / (2 * 2.0**2) + of_laplace(4.0, moved / 2.0)),
    ):  # fmt: skip
        assert found.lower < value < found.upper
        assert found.upper == pytest.approx(found.lower, rel=1e-9)


def test_of_a_replaced_record_in_a_sample_a_divergence_is_known_from_below_alone():
    sampled = (make_release_part("sampled", 0.1, 1.0),)
    for order in (4.0, 4.5):
        added, replaced = (Truth(sampled, one).renyi(order) for one in (ADD, REPLACE))
        assert replaced.lower == added.lower > 0
        assert added.upper < replaced.upper == math.inf
    for kind in ("discrete-gaussian", "discrete-laplace"):
        assert isinstance(
            bracket_of(AccountantQuestion((make_release_part(kind, 2.0),), "renyi", 4.0), REPLACE),
            str,
        )


def test_an_unknown_upper_end_leaves_the_lower_one_as_it_is():
    truth = Truth((make_release_part("sampled", 0.1, 1.0),), REPLACE)
    assert truth._open_upper_end(Bracket(1.0, 2.0)) == Bracket(1.0, math.inf)
    assert truth.epsilon(1e-5).lower == truth._epsilon(1e-5).lower
    assert truth.delta(0.5).lower == truth._delta(0.5).lower
    assert Truth((make_release_part("sampled", 0.1, 1.0),))._open_upper_end(
        Bracket(1.0, 2.0)
    ) == Bracket(1.0, 2.0)
