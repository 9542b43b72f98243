"""Upper ends are never below the truth, and lower ends never above it: every accountant, in balls.

The truth is worked out here with 1,500 bits, from closed forms that the package does not use: a
profile at an end decides on which side of the smallest epsilon that end is.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from flint import arb, ctx

from dpaudit.accounting.accountants import ACCOUNTANTS, Answer, ask, ask_all
from dpaudit.accounting.composition import gaussian_guarantee
from dpaudit.accounting.events import (
    ApproximateRelease,
    Event,
    GaussianRelease,
    LaplaceRelease,
    PoissonSubsampledGaussian,
    Sequence,
)
from dpaudit.accounting.optimal import OptimalComposition, optimal
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.accounting.proved import proved_bracket, proved_guarantee
from dpaudit.accounting.renyi import RenyiCurveDP, zcdp
from dpaudit.guarantees import gaussian, rounding
from dpaudit.guarantees.kinds import ApproximateDP, GaussianDP, ZeroConcentratedDP

Profile = Callable[[float], arb]


@pytest.fixture(autouse=True)
def _many_bits():
    with ctx.workprec(1500):
        yield


def phi(x: arb) -> arb:
    return (-x / arb(2).sqrt()).erfc() / 2


def gaussian_profile(square: arb, epsilon: arb) -> arb:
    if square == 0:
        return (1 - epsilon.exp()) if epsilon < 0 else arb(0)
    mu = square.sqrt()
    return phi(mu / 2 - epsilon / mu) - epsilon.exp() * phi(-mu / 2 - epsilon / mu)


@dataclass(frozen=True)
class Case:
    event: Event
    delta_at: Profile


def gaussians_and_responses(draw: random.Random) -> Case:
    parts: list[Event] = []
    square, kept, states = arb(0), arb(1), [(arb(0), arb(1))]
    for _ in range(draw.choice([0, 1, 1, 2])):
        part = GaussianRelease(
            sensitivity=log_uniform(
                draw, 1e-6, 1e2
            ),  # up to a mu of 1e5: balls of erfc hold digits
            noise_scale=log_uniform(draw, 0.05, 1e3),
            count=draw.choice([1, 1, 2, 7, 1000]),
        )
        parts.append(part)
        square += part.count * (arb(part.sensitivity) / arb(part.noise_scale)) ** 2
    for _ in range(draw.choice([0, 1, 2, 3]) if parts else draw.choice([1, 2])):
        delta = draw.choice([0.0, 0.0, log_uniform(draw, 1e-300, 0.5)])
        one = ApproximateRelease(
            epsilon=log_uniform(draw, 1e-8, 30), delta=delta, count=draw.choice([1, 1, 2, 5])
        )
        parts.append(one)
        kept *= (1 - arb(delta)) ** one.count
        own, truth = arb(one.epsilon), 1 / (1 + (-arb(one.epsilon)).exp())
        states = [
            (loss + (2 * k - one.count) * own, mass * chance(one.count, k, truth))
            for loss, mass in states
            for k in range(one.count + 1)
        ]

    def delta_at(epsilon: float) -> arb:
        rest = (mass * gaussian_profile(square, arb(epsilon) - loss) for loss, mass in states)
        return 1 - kept + kept * sum(rest, arb(0))

    return Case(Sequence(tuple(parts)), delta_at)


def chance(count: int, k: int, p: arb) -> arb:
    return math.comb(count, k) * p**k * (1 - p) ** (count - k)


def laplaces(draw: random.Random) -> Case:
    """Equal Laplace releases: tilted by half their loss, losses are atoms and uniform laws."""
    count = draw.choice([1, 1, 2, 3, 6])
    part = LaplaceRelease(
        sensitivity=log_uniform(draw, 1e-3, 3),
        noise_scale=log_uniform(draw, 0.1, 10),
        count=count,
    )
    s = arb(part.sensitivity) / arb(part.noise_scale)

    def delta_at(epsilon: float) -> arb:
        total = arb(0)
        for uniform in range(count + 1):
            for high in range(count - uniform + 1):
                low = count - uniform - high
                ways = math.comb(count, uniform) * math.comb(count - uniform, high)
                weight = ways / arb(2) ** (high + low) / arb(4) ** uniform
                total += weight * tilted_part(uniform, (high - low) * s, s, arb(epsilon))
        return total * (-s * count / 2).exp()

    return Case(part, delta_at)


def tilted_part(uniform: int, shift: arb, s: arb, epsilon: arb) -> arb:
    """Return the integral of ``exp(l / 2) - exp(epsilon - l / 2)`` above epsilon.

    Over the sum of a shift and so many measures of density 1 on [-s, s].
    """
    if not uniform:
        gap = (shift / 2).exp() - (epsilon - shift / 2).exp()
        return gap if shift > epsilon else arb(0)
    total = arb(0)
    for j in range(uniform + 1):
        top = shift + (uniform - 2 * j) * s
        if not top > epsilon:
            continue
        half = arb(1) / 2
        inner = (top * half).exp() * power_integral(uniform - 1, -half, top - epsilon)
        outer = (epsilon - top * half).exp() * power_integral(uniform - 1, half, top - epsilon)
        total += (-1) ** j * math.comb(uniform, j) * (inner - outer)
    return total


def power_integral(power: int, rate: arb, end: arb) -> arb:
    """Return the integral of ``t^power / power! exp(rate t)`` from 0 to an end."""
    found = ((rate * end).exp() - 1) / rate
    for k in range(1, power + 1):
        found = (end**k / math.factorial(k) * (rate * end).exp() - found) / rate
    return found


def one_sample(draw: random.Random) -> Case:
    part = PoissonSubsampledGaussian(
        sampling_ratio=log_uniform(draw, 1e-4, 0.9), noise_multiplier=log_uniform(draw, 0.3, 10)
    )
    q, sigma = arb(part.sampling_ratio), arb(part.noise_multiplier)

    def delta_at(epsilon: float) -> arb:
        e = arb(epsilon)
        y = sigma**2 * ((e.exp() - 1 + q) / q).log() + arb(1) / 2
        removed = (1 - q) * phi(-y / sigma) + q * phi((1 - y) / sigma) - e.exp() * phi(-y / sigma)
        left = (-e).exp() - 1 + q
        if not left > 0:
            return removed
        z = sigma**2 * (left / q).log() + arb(1) / 2
        mixed = (1 - q) * phi(z / sigma) + q * phi((z - 1) / sigma)
        return removed.max(phi(z / sigma) - e.exp() * mixed)

    return Case(part, delta_at)


KINDS = (gaussians_and_responses, gaussians_and_responses, laplaces, one_sample)


def log_uniform(draw: random.Random, low: float, high: float) -> float:
    return math.exp(draw.uniform(math.log(low), math.log(high)))


def some_delta(draw: random.Random, at_zero: float) -> float:
    """Return a delta: tiny, ordinary, just below that of epsilon 0, or near 1."""
    near = at_zero * (1 - log_uniform(draw, 1e-12, 0.5))
    ordinary, tiny = log_uniform(draw, 1e-12, 1), log_uniform(draw, 1e-300, 1)
    chosen = draw.choice([ordinary, tiny, near, 1 - log_uniform(draw, 1e-12, 0.1), 5e-324])
    return min(chosen, 1 - 2**-53)


def wrong_ends(case: Case, delta: float) -> list[str]:
    """Return the accountants with an end on the wrong side."""
    found = []
    for answer in ask_all(case.event, delta):
        if answer.upper is not None and answer.upper < math.inf:
            if not case.delta_at(answer.upper) <= arb(delta):
                found.append(f"{answer.accountant}: upper end {answer.upper!r}")
        if answer.lower:
            least = case.delta_at(answer.lower) if answer.lower < math.inf else None
            if least is not None and not least >= arb(delta):
                found.append(f"{answer.accountant}: lower end {answer.lower!r}")
    return found


def random_case(seed: int) -> tuple[Case, float]:
    draw = random.Random(seed)
    case = draw.choice(KINDS)(draw)
    return case, some_delta(draw, float(case.delta_at(0.0).mid()))


def many_gaussians(draw: random.Random) -> Case:
    """Gaussian releases up to a million of them, with a mu in all from 1e-6 to 1e3."""
    count = draw.choice([1, 1, 3, 1000, 10**6])
    scale = math.sqrt(count) / log_uniform(draw, 1e-6, 1e3)
    square = count / arb(scale) ** 2
    event = GaussianRelease(sensitivity=1.0, noise_scale=scale, count=count)
    return Case(event, lambda epsilon: gaussian_profile(square, arb(epsilon)))


def cheap_case(seed: int) -> tuple[Case, float]:
    draw = random.Random(seed)
    case = many_gaussians(draw)
    return case, some_delta(draw, float(case.delta_at(0.0).mid()))


def wrong_deltas(case: Case, epsilon: float) -> list[str]:
    """Return the guarantees whose delta at an epsilon is below the truth."""
    least = case.delta_at(epsilon)
    curves = (gaussian_guarantee, zcdp, RenyiCurveDP, proved_guarantee)
    asked = [(curve.__name__, curve(case.event).delta(epsilon)) for curve in curves]
    below = [one for one in asked if one[1] < 1 and not arb(one[1]) >= least]  # 1 is never too low
    return [f"{name}: delta {delta!r}" for name, delta in below]


def lower_by_a_little(answer: Answer) -> Answer:
    upper = answer.upper
    return answer if upper is None else replace(answer, upper=upper * (1 - 1e-12))


def test_upper_ends_that_are_a_little_lower_are_seen(monkeypatch):
    """A negative control: what compares the ends sees a part in 1e12 of the exact accountant."""
    case = many_gaussians(random.Random(4))
    exact = next(one for one in ACCOUNTANTS if one.name == "Gaussian DP")
    nudged = lambda event, delta: (lower_by_a_little(ask(exact, event, delta)),)  # noqa: E731
    assert not any("Gaussian DP" in wrong for wrong in wrong_ends(case, 1e-9))
    monkeypatch.setitem(wrong_ends.__globals__, "ask_all", nudged)
    assert [wrong.split(":")[0] for wrong in wrong_ends(case, 1e-9)] == ["Gaussian DP"]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(8))
def test_no_end_of_many_gaussians_is_on_the_wrong_side(seed):
    case, delta = cheap_case(seed)
    assert wrong_ends(case, delta) == [], (case.event, delta)
    epsilon = log_uniform(random.Random(seed), 1e-6, 30)
    assert wrong_deltas(case, epsilon) == [], (case.event, epsilon)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", [1, 2, 3, 4, 6, 9])
def test_no_end_is_on_the_wrong_side(seed):
    case, delta = random_case(seed)
    assert wrong_ends(case, delta) == [], (case.event, delta)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(20))
def test_no_end_of_two_thousand_releases_is_on_the_wrong_side(block):
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        case, delta = random_case(seed)
        assert wrong_ends(case, delta) == [], (seed, case.event, delta)


def test_every_accountant_that_proves_something_is_looked_at():
    proving = {one.name for one in ACCOUNTANTS if one.kind != "estimate"}
    draw = random.Random(1)
    events = (
        gaussians_and_responses(draw).event,
        laplaces(draw).event,
        GaussianRelease(sensitivity=1.0, noise_scale=1.0),
    )
    answers = [answer for event in events for answer in ask_all(event, 1e-5)]
    assert {answer.accountant for answer in answers if answer.upper is not None} == proving


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
    optimal(0.1, 0.0, 300),
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
            assert proved_bracket(Sequence((failing, *others)), delta).upper == math.inf


# Sums of what was written


@pytest.mark.parametrize(
    ("epsilon", "count", "total"),
    [(0.1, 10, 1.0), (0.1, 3, 0.3), (0.7, 7, 4.9), (1e-3, 1000, 1.0), (0.05, 20, 1.0)],
)
def test_statistics_of_a_tenth_spend_the_budget_and_no_more(epsilon, count, total):
    apart = Sequence(tuple(ApproximateRelease(epsilon=epsilon) for _ in range(count)))
    answers = ask_all(apart, 0.0)
    assert min(a.upper for a in answers if a.upper is not None) == total
    assert proved_bracket(apart, 0.0) == Bracket(total, total)


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
