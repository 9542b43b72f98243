"""Upper ends are never below the truth, and lower ends never above it: every accountant, in balls.

The truth is worked out here with 1,500 bits, from closed forms that the package does not use: a
profile at an end decides on which side of the smallest epsilon that end is.
"""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from flint import arb, ctx
from mpmath import mp

from dpaudit.accounting.accountants import (
    ACCOUNTANTS,
    AccountantAnswer,
    ask_all,
    get_accountant_answer,
)
from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    ExponentialNormRelease,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledLaplace,
    Sequence,
)
from dpaudit.accounting.grid.numerical import epsilon_of
from dpaudit.accounting.optimal import OptimalComposition, make_optimal_composition
from dpaudit.accounting.pairs.composition import Bracket, Composition
from dpaudit.accounting.renyi import RenyiCurveDP, compute_zcdp_guarantee
from dpaudit.accounting.strongest_guarantee import bound_proved_epsilon, proved_guarantee
from dpaudit.guarantees import gaussian, rounding
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, ZeroConcentratedDP
from tests.accounting.exact_profiles import (
    KINDS,
    Case,
    beside,
    chance,
    gaussian_profile,
    laplaces,
    log_uniform,
    many_gaussians,
    phi,
    random_case,
    spherical_profile,
)


@pytest.fixture(autouse=True)
def _many_bits():
    with ctx.workprec(1500):
        yield


PROVING = tuple(one for one in ACCOUNTANTS if one.kind != "estimate")
DEAR = ("one sample", "two samples", "allocated", "groups", "atoms beside Gaussians")


def ask_proving(event: Event, delta: float) -> tuple[AccountantAnswer, ...]:
    return tuple(get_accountant_answer(one, event, delta) for one in PROVING)


def wrong_ends(case: Case, delta: float) -> list[str]:
    """Return the accountants with an end on the wrong side."""
    found = []
    for answer in ask_proving(case.event, delta):
        if answer.upper is not None and answer.upper < math.inf:
            if not case.delta_at(answer.upper) <= arb(delta):
                found.append(f"{answer.accountant}: upper end {answer.upper!r}")
        if answer.lower and answer.lower < math.inf:
            if not case.nobody_loses_more(answer.lower) >= arb(delta):
                found.append(f"{answer.accountant}: lower end {answer.lower!r}")
    return found


def wrong_ends_of(kind: str, seed: int) -> list[str]:
    """Return what `wrong_ends` returns of a random release; with more bits where balls are wide."""
    wrong = wrong_ends(*random_case(kind, seed))
    if wrong:
        with ctx.workprec(6000):
            wrong = wrong_ends(*random_case(kind, seed))
    return wrong


def wrong_deltas(case: Case, epsilon: float) -> list[str]:
    """Return the guarantees whose delta at an epsilon is below the truth."""
    least = case.delta_at(epsilon)
    curves = (gaussian_guarantee, compute_zcdp_guarantee, RenyiCurveDP, proved_guarantee)
    asked = [(curve.__name__, curve(case.event).delta(epsilon)) for curve in curves]
    below = [one for one in asked if one[1] < 1 and not arb(one[1]) >= least]  # 1 is never too low
    return [f"{name}: delta {delta!r}" for name, delta in below]


def lower_by_a_little(answer: AccountantAnswer) -> AccountantAnswer:
    upper = answer.upper
    return answer if upper is None else replace(answer, upper=upper * (1 - 1e-12))


def test_upper_ends_that_are_a_little_lower_are_seen(monkeypatch):
    """A negative control: what compares the ends sees a part in 1e12 of the exact accountant."""
    case = many_gaussians(random.Random(4))
    exact = next(one for one in ACCOUNTANTS if one.name == "Gaussian DP")
    nudged = lambda event, delta: (lower_by_a_little(get_accountant_answer(exact, event, delta)),)  # noqa: E731
    assert not any("Gaussian DP" in wrong for wrong in wrong_ends(case, 1e-9))
    monkeypatch.setitem(wrong_ends.__globals__, "ask_proving", nudged)
    assert [wrong.split(":")[0] for wrong in wrong_ends(case, 1e-9)] == ["Gaussian DP"]


# Where each accountant's end is as close to the truth as its kind allows: pure DP at a delta that
# no double is below, and Gaussian noise
RESPONSE = ApproximateRelease(epsilon=0.3, count=4)
NORMAL = GaussianRelease(sensitivity=1.0, noise_scale=1.0)
TIGHT = {
    "Gaussian DP": (NORMAL, 1e-5),
    "basic": (RESPONSE, 5e-324),
    "Kairouz": (RESPONSE, 5e-324),
    "optimal": (RESPONSE, 5e-324),
    "Renyi": (RESPONSE, 5e-324),
    "numerical": (RESPONSE, 5e-324),
    "inversion": (NORMAL, 1e-5),
}


def tight_case(event: Event) -> Case:
    if event == NORMAL:
        return Case(event, lambda epsilon: gaussian_profile(arb(1), arb(epsilon)))
    truth = 1 / (1 + (-arb(0.3)).exp())
    losses = [((2 * k - 4) * arb(0.3), chance(4, k, truth)) for k in range(5)]
    return Case(event, beside(losses, arb(0), arb(1)))


@pytest.mark.parametrize("name", TIGHT)
def test_ends_that_change_their_sides_are_seen_of_each_accountant(name, monkeypatch):
    """A part in 10^12 below the lower end, or of an exact number, is no upper end any more."""
    event, delta = TIGHT[name]
    case = tight_case(event)
    told = next(one for one in ask_proving(event, delta) if one.accountant == name)
    low = told.upper if told.lower is None else told.lower
    below = replace(told, upper=low * (1 - 1e-12), lower=None)
    above = replace(told, lower=told.upper * (1 + 1e-12))
    assert wrong_ends(case, delta) == []
    for moved, end in ((below, "upper"), (above, "lower")):
        monkeypatch.setitem(wrong_ends.__globals__, "ask_proving", lambda *_, one=moved: (one,))
        assert f"{name}: {end}" in [one.split(" end")[0] for one in wrong_ends(case, delta)]


@pytest.mark.parametrize("name", ["advanced", "Kairouz", "zCDP"])
def test_ends_that_no_mechanism_attains_are_those_of_their_theorem(name):
    """To 50 digits: above the formula, and a part in 10^12 lower below it."""
    event, delta = ApproximateRelease(epsilon=0.1, count=1000), 1e-5
    told = next(one.upper for one in ask_proving(event, delta) if one.accountant == name)
    with mp.workdps(50):
        e, n, d = mp.mpf(0.1), 1000, mp.mpf(1e-5)
        root = mp.sqrt(2 * n * e**2 * mp.log(1 / d))
        tail = mp.log(mp.e + mp.sqrt(n) * e / d)
        tighter = min(root, mp.sqrt(2 * n * e**2 * tail))
        formula = {
            "advanced": n * e * mp.expm1(e) + root,
            "Kairouz": n * e * mp.tanh(e / 2) + tighter,
            "zCDP": least_over_orders(n * e**2 / 2, d),
        }[name]
        assert told * (1 - 1e-12) < formula <= told


def least_over_orders(rho: mp.mpf, delta: mp.mpf) -> mp.mpf:
    """Return what Proposition 12 of Canonne, Kamath & Steinke 2020 gives at the best order."""

    def bound(order: mp.mpf) -> mp.mpf:
        rest = (mp.log(1 / delta) - mp.log(order)) / (order - 1)
        return rho * order + mp.log(1 - 1 / order) + rest

    return bound(mp.findroot(lambda order: mp.diff(bound, order), mp.mpf(2.5)))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(8))
def test_no_end_of_many_gaussians_is_on_the_wrong_side(seed):
    case, delta = random_case("many Gaussians", seed)
    assert wrong_ends(case, delta) == [], (case.event, delta)
    epsilon = log_uniform(random.Random(seed), 1e-6, 30)
    assert wrong_deltas(case, epsilon) == [], (case.event, epsilon)


@pytest.mark.parametrize("kind", [one for one in KINDS if one not in DEAR])
def test_no_end_is_on_the_wrong_side(kind):
    case, delta = random_case(kind, 1)
    assert wrong_ends(case, delta) == [], (case.event, delta)


@pytest.mark.parametrize("delta", [5e-324, 1e-320, 1e-310, 1e-300])
@pytest.mark.parametrize("shift", [2**-9, 2**-3])
def test_the_smallest_deltas_have_an_answer_from_smooth_noise(shift, delta):
    """Shares of a delta that are 0 as doubles were errors, and no answers."""
    event = ExponentialNormRelease(sensitivity=shift, noise_rate=2**-4, dimension=3)
    profile = spherical_profile(arb(shift) / 16, 3)
    assert wrong_ends(Case(event, profile), delta) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(13))
@pytest.mark.parametrize("kind", KINDS)
def test_no_end_of_two_thousand_releases_is_on_the_wrong_side(kind, block):
    for seed in range(11 * block, 11 * (block + 1)):
        assert wrong_ends_of(kind, seed) == [], seed


def test_every_accountant_that_proves_something_is_looked_at():
    proving = {one.name for one in ACCOUNTANTS if one.kind != "estimate"}
    draw = random.Random(1)
    events = (
        ApproximateRelease(epsilon=0.3),
        laplaces(draw).event,
        GaussianRelease(sensitivity=1.0, noise_scale=1.0),
    )
    answers = [answer for event in events for answer in ask_all(event, 1e-5)]
    assert {answer.accountant for answer in answers if answer.upper is not None} == proving


@pytest.mark.parametrize("cells", [2**12, 2**10])
def test_a_tilt_that_is_steeper_than_cells_are_wide_stays_finite(cells):
    """At the least delta orders are 1e17, by which a cell's two ends differ beyond doubles."""
    shift, delta = 2.0**-8, 5e-324
    event = PoissonSubsampledLaplace(sampling_ratio=1e-8, sensitivity=shift, noise_scale=1.0)
    # That delta is far less than the mass of the largest loss, which is the epsilon.
    truth = float((1 + arb(1e-8) * arb(shift).expm1()).log())
    found = Bracket.largest(
        [epsilon_of(pairs, delta, cells) for pairs in Composition.of(event).directions]
    )
    assert 0.9 * truth < found.lower <= truth * (1 + 1e-15)
    assert truth * (1 - 1e-15) <= found.upper < 1.1 * truth


@pytest.mark.parametrize("name", ["Gaussian DP", "zCDP", "Renyi"])
def test_an_end_that_is_a_part_in_a_billion_too_low_is_seen(name):
    """What the comparison is for: it tells an upper end from one that is hardly less."""
    release = GaussianRelease(sensitivity=1.0, noise_scale=1.0)
    profile = lambda epsilon: gaussian_profile(arb(1), arb(epsilon))  # noqa: E731
    exact = GaussianDP(1.0).epsilon(1e-5)
    assert profile(exact * (1 - 1e-9)) > arb(1e-5) >= profile(exact)
    upper = next(a.upper for a in ask_all(release, 1e-5) if a.accountant == name)
    assert profile(upper) <= arb(1e-5)


EXTREME_MU = (1e-300, 1e-12, 1e-4, 0.3, 1.0, 5.5e3, 1e8, 1e150)


@pytest.mark.parametrize("mu", EXTREME_MU)
@pytest.mark.parametrize("delta", [5e-324, 1e-100, 1e-5, 0.3, 0.999999, 1 - 2**-53])
def test_both_ends_of_a_gaussian_enclose_the_truth_closely(mu, delta):
    upper, lower = gaussian.epsilon_above(mu, delta), gaussian.epsilon_below(mu, delta)
    with ctx.workprec(4000):
        square = arb(mu) ** 2
        if mu < 1e8:  # beyond, balls of erfc hold no digits
            assert gaussian_profile(square, arb(upper)) <= arb(delta)
            assert lower == 0 or gaussian_profile(square, arb(lower)) >= arb(delta)
    assert 0 <= upper - lower <= 1e-13 * upper + 1e-322 or lower == 0


@pytest.mark.sampled(6)
@pytest.mark.parametrize("mu", [1e-12, 1e-4, 0.3, 1.0])
@pytest.mark.parametrize("share", [0.5, 0.999, 0.99999, 1 - 1e-12])
def test_near_the_delta_of_epsilon_zero(mu, share):
    """Where epsilon is a difference of nearly equal numbers it was rounded to the nearest."""
    delta = share * GaussianDP(mu).delta(0.0)
    release = GaussianRelease(sensitivity=mu, noise_scale=1.0)
    profile = Case(release, lambda epsilon: gaussian_profile(arb(mu) ** 2, arb(epsilon)))
    assert wrong_ends(profile, delta) == []


@pytest.mark.parametrize("mu", [1e-6, 0.01, 1.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-9, 0.5, 20.0, 500.0])
def test_deltas_are_rounded_up(mu, epsilon):
    exact = gaussian_profile(arb(mu) ** 2, arb(epsilon))
    near = GaussianDP(mu).delta(epsilon)
    assert exact <= arb(near) <= exact * (1 + arb(1e-12)) + 2 * arb(5e-324)
    assert arb(math.exp(GaussianDP(mu).log_delta(epsilon)) * (1 + 4e-16) + 5e-324) >= exact
    assert arb(ZeroConcentratedDP(mu * mu / 2).delta(epsilon)) >= exact


@pytest.mark.parametrize("mu", [1e-6, 0.2, 1.0])
def test_only_what_is_exactly_0_is_a_delta_of_0(mu):
    far = 1e9 * max(mu, 1.0)
    assert GaussianDP(mu).delta(far) == math.ulp(0.0)  # below every double, yet above 0
    assert GaussianDP(0.0).delta(0.0) == GaussianDP(0.0).delta(far) == 0
    assert ApproximateDP(mu, 0.0).delta(mu) == ApproximateDP(mu, 0.0).delta(far) == 0


def test_rates_are_rounded_down():
    for mu in (1e-9, 0.3, 1.0, 8.0):
        for rate in (1e-12, 0.01, 0.25, 0.5, 0.99):
            quantile = rate_of(rate)
            exact = phi(-quantile - arb(mu))
            found = arb(GaussianDP(mu).trade_off(rate))
            assert found <= exact <= found + exact * arb(1e-12)


def rate_of(rate: float) -> arb:
    """Return the quantile, by halving."""
    low, high = arb(-40), arb(40)
    for _ in range(400):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if phi(middle) < arb(rate) else (low, middle)
    return low.union(high)


# One guarantee, asked both ways


@pytest.mark.parametrize(
    "deltas", [(0.1, 0.2), (0.05, 0.05, 0.1), (1e-5,) * 10, (1e-9,) * 100, (5e-324,), (0.3,) * 3]
)
def test_the_delta_that_stays_is_enough_for_the_sum(deltas):
    """At an epsilon from the sum on, delta is that of a betrayal, and it is enough for the sum."""
    parts = tuple(ApproximateRelease(epsilon=0.5, delta=delta) for delta in deltas)
    composed = OptimalComposition(parts)
    stays, total = composed.delta(1000.0), 0.5 * len(deltas)
    assert composed.delta(total) == stays
    assert composed.epsilon(stays) == total
    assert composed.epsilon(math.nextafter(stays, 0)) == math.inf


def test_a_sum_of_failures_is_what_was_written():
    parts = (ApproximateRelease(epsilon=1.0, delta=0.1), ApproximateRelease(epsilon=2.0, delta=0.2))
    assert OptimalComposition(parts).delta(3.0) == 0.28
    assert OptimalComposition(parts).epsilon(0.28) == 3.0
    proved = proved_guarantee(Sequence(parts))
    assert proved.epsilon(0.28) == 3.0
    assert proved.delta(3.0) == pytest.approx(0.28)
    assert proved.epsilon(proved.delta(3.0)) <= 3.0


GUARANTEES = (
    GaussianDP(0.3),
    GaussianDP(7.0),
    ZeroConcentratedDP(0.2),
    ApproximateDP(2.0, 0.1),
    OptimalComposition((ApproximateRelease(epsilon=0.3, delta=1e-3, count=9),)),
    OptimalComposition(
        (ApproximateRelease(epsilon=0.3, delta=0.1), ApproximateRelease(epsilon=0.7, delta=0.2))
    ),
    make_optimal_composition(0.1, 0.0, 300),
    proved_guarantee(LaplaceRelease(sensitivity=1.0, noise_scale=2.0, count=3)),
)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=str)
def test_epsilon_undoes_delta(guarantee):
    for epsilon in (0.0, 0.1, 0.25, 0.9, 1.7, 3.0):
        delta = guarantee.delta(epsilon)
        if 0 < delta < 1:
            back = guarantee.epsilon(delta)
            assert back <= epsilon * (1 + 1e-8) + 1e-8
            assert guarantee.delta(back) <= delta * (1 + 1e-8)


def test_below_the_delta_that_stays_no_accountant_has_an_answer():
    failing = ApproximateRelease(epsilon=9e-4, delta=0.02)
    for others in ((), (ApproximateRelease(epsilon=1e-6),), (failing,)):
        for delta in (0.0, 5e-324, 0.019):
            answers = ask_all(Sequence((failing, *others)), delta)
            uppers = [answer.upper for answer in answers if answer.upper is not None]
            assert set(uppers) == {math.inf}
            assert bound_proved_epsilon(Sequence((failing, *others)), delta).upper == math.inf


# Sums of what was written


@pytest.mark.parametrize(
    ("epsilon", "count", "total"),
    [(0.1, 10, 1.0), (0.1, 3, 0.3), (0.7, 7, 4.9), (1e-3, 1000, 1.0), (0.05, 20, 1.0)],
)
def test_statistics_of_a_tenth_spend_the_budget_and_no_more(epsilon, count, total):
    apart = Sequence(tuple(ApproximateRelease(epsilon=epsilon) for _ in range(count)))
    answers = ask_all(apart, 0.0)
    assert min(a.upper for a in answers if a.upper is not None) == total
    assert bound_proved_epsilon(apart, 0.0) == Bracket(total, total)


def test_a_sum_of_other_doubles_is_rounded_up():
    draw = random.Random(5)
    for _ in range(300):
        terms = [(draw.randrange(1, 50), draw.random()) for _ in range(draw.randrange(1, 6))]
        exact = sum(rounding.Fraction(value) * count for count, value in terms)
        assert rounding.sum_down(terms) <= exact <= rounding.sum_up(terms)
        assert rounding.sum_up(terms) - rounding.sum_down(terms) <= math.ulp(float(exact))


def test_a_mu_is_the_root_of_what_was_written():
    release = GaussianRelease(sensitivity=1.0, noise_scale=0.1, count=4)
    assert gaussian_guarantee(release).mu == 20.0
    third = GaussianRelease(sensitivity=1.0, noise_scale=3.0)
    assert rounding.Fraction(gaussian_guarantee(third).mu) > rounding.Fraction(1, 3)
