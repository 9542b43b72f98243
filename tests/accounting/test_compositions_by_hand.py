"""Compositions of a few releases beside sums in 40 digits or in fractions."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp

from dpaudit.accounting import accountants, strongest_guarantee
from dpaudit.accounting.accountants import (
    ACCOUNTANTS,
    AccountantAnswer,
    get_accountant_answer,
    select_strongest_answer,
)
from dpaudit.accounting.composition import (
    approximate_parts,
    basic_pure,
    compose_advanced_heterogeneous,
    compose_basic,
    gaussian_bracket,
    gaussian_guarantee,
    kairouz_heterogeneous,
    pure_epsilon,
)
from dpaudit.accounting.discrete_events import RandomizedResponse
from dpaudit.accounting.events import (
    ApproximateRelease,
    GaussianRelease,
    LaplaceRelease,
    ObjectivePerturbation,
    Parallel,
    PoissonSubsampledLaplace,
    Sequence,
)
from dpaudit.accounting.loss_table import LossTable, log_binomial
from dpaudit.accounting.optimal import (
    MOST_STATES,
    OptimalComposition,
    log_kept,
    make_optimal_composition,
)
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.accounting.strongest_guarantee import (
    NumericalDP,
    TabulatedDP,
    WorstOf,
    bound_proved_epsilon,
    bound_worst_proved_epsilon,
)
from dpaudit.errors import InvalidArgument, UnsupportedEvent
from dpaudit.guarantees.guarantee import GroupOf, Guarantee
from dpaudit.guarantees.kinds import ApproximateDP, PureDP


@pytest.fixture(autouse=True)
def _forty_digits():
    with mp.workdps(40):
        yield


def release(epsilon: float, delta: float = 0.0, count: int = 1) -> ApproximateRelease:
    return ApproximateRelease(epsilon=epsilon, delta=delta, count=count)


def just_above(found: float, exact: mp.mpf, relative: float = 1e-11) -> bool:
    return bool(exact <= found <= exact + relative * (1 + abs(exact)))


def number(value: float) -> mp.mpf:
    """Return what a double stands for: the number of twelve digits, if there is one."""
    short = f"{value:.12g}"
    return mp.mpf(short) if float(short) == value else mp.mpf(value)


def exact_delta(parts: list[ApproximateRelease], epsilon: mp.mpf) -> mp.mpf:
    """Return delta by enumeration of all answers of all randomised responses."""
    each = [part for part in parts for _ in range(part.count)]
    kept = mp.fprod(1 - number(part.delta) for part in each)
    total = mp.mpf(0)
    for signs in itertools.product((1, -1), repeat=len(each)):
        loss = mp.fsum(s * number(p.epsilon) for s, p in zip(signs, each, strict=True))
        mass = mp.fprod(
            1 / (1 + mp.exp(-s * number(p.epsilon))) for s, p in zip(signs, each, strict=True)
        )
        total += max(mass * (1 - mp.exp(epsilon - loss)), mp.mpf(0))
    return 1 - kept + kept * total


def ends_hold(parts: list[ApproximateRelease], delta: mp.mpf, lower: float, upper: float) -> bool:
    """Return whether delta is at most this at the upper end, and not below it at the lower one."""
    near = upper <= lower + 1e-10
    below = exact_delta(parts, mp.mpf(upper)) <= delta
    return bool(near and below and exact_delta(parts, mp.mpf(lower)) >= delta)


CASES = {
    "equal": [release(0.3, 0.0, 4)],
    "with delta": [release(0.7, 1 / 3000, 3)],
    "twice the same": [release(0.3, 0.0, 2), release(0.3, 1e-3)],
    "different": [release(0.3, 1 / 700), release(1 / 3, 0.0, 2), release(1.1)],
}
every_case = pytest.mark.parametrize("parts", CASES.values(), ids=CASES)


@every_case
def test_the_optimal_composition_is_that_of_its_answers(parts):
    composed = OptimalComposition(tuple(parts))
    for epsilon in (0.0, 0.05, 0.31, 0.8, 1.15):
        assert just_above(composed.delta(epsilon), exact_delta(parts, mp.mpf(epsilon)))


@every_case
def test_its_epsilon_has_two_ends(parts):
    composed = OptimalComposition(tuple(parts))
    for delta in (0.006, 0.02, 0.1):
        ends = composed.epsilon_below(delta), composed.epsilon(delta)
        assert ends_hold(parts, number(delta), *ends)


@every_case
def test_its_trade_off_curve_is_its_highest_line(parts):
    """Lines of slope ``-exp(loss)`` for losses of either sign."""
    composed = OptimalComposition(tuple(parts))
    each = [part for part in parts for _ in range(part.count)]
    losses = {
        float(sum(s * part.epsilon for s, part in zip(signs, each, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(each))
    }
    for rate in (0.0, 0.01, 0.2, 0.6, 1.0):
        lines = [1 - exact_delta(parts, mp.mpf(e)) - mp.exp(e) * rate for e in losses]
        assert abs(composed.trade_off(rate) - max(0, *lines)) < 1e-12


def test_it_ends_where_all_that_can_be_lost_is_lost():
    composed = OptimalComposition((release(0.1, 1e-3, 3),))
    lost = 1 - (1 - Fraction(1, 1000)) ** 3
    assert composed.epsilon(float(lost)) == pytest.approx(0.3) != math.inf
    at_most = composed.delta(0.3)
    assert at_most == composed.delta(700.0) == composed._loss_probability >= lost
    assert composed.epsilon(at_most) == 0.3
    assert composed.epsilon(math.nextafter(at_most, 0)) == math.inf
    assert composed.epsilon_below(at_most) == 0.3
    assert composed.epsilon_below(at_most * (1 - 1e-12)) == math.inf


@pytest.mark.parametrize(
    ("delta", "asked"),
    [
        (0.1, math.nextafter(0.1, 1)),  # a double above what was written, which fails oftener
        (math.nextafter(0.3, 0), 0.3),  # a double below what was written: it is asked for less
        (1 / 3000, math.nextafter(1 / 3000, 1)),
    ],
)
def test_what_is_left_of_a_delta_is_rounded_down(delta, asked):
    """The worse of a double and what was written counts, on either side."""
    left = min(Fraction(asked), Fraction(f"{asked:.17g}")) - Fraction(delta)
    share = mp.mpf(left.numerator) / left.denominator / (1 - mp.mpf(delta))
    exact = mp.log(mp.exp(2) - share * (1 + mp.exp(2)))
    assert make_optimal_composition(2.0, delta, 1).epsilon(asked) >= exact
    loose = make_optimal_composition(2.0, delta, 1)._left(asked)
    assert 0 < Fraction(loose) <= left


def test_the_lower_end_near_what_is_lost_is_rounded_down():
    for denominator in range(1500, 1530):
        parts = [release(0.7, 1 / denominator, 3)]
        composed = OptimalComposition(tuple(parts))
        delta = math.nextafter(composed._loss_probability, 1)
        lower = composed.epsilon_below(delta)
        assert exact_delta(parts, mp.mpf(lower)) >= delta
        least = composed.epsilon_below(composed._loss_probability)
        assert Fraction(least) <= 3 * Fraction(0.7) or least == 2.1


def exact_delta_of_copies(part: ApproximateRelease, epsilon: float) -> mp.mpf:
    """Return delta of many equal parts, by the binomial law of their answers."""
    n, each, kept = part.count, number(part.epsilon), (1 - number(part.delta)) ** part.count
    odd, step = 1 / (1 + mp.exp(each)), mp.exp(2 * each)  # odd: of the rarer answer
    total, mass, gained = mp.mpf(0), (1 - odd) ** n, mp.exp(mp.mpf(epsilon) - n * each)
    for rare in range(n + 1):
        total += mass * max(1 - gained, mp.mpf(0))
        mass *= odd / (1 - odd) * (n - rare) / (rare + 1)
        gained *= step
    return 1 - kept + kept * total


@pytest.mark.parametrize(
    ("delta", "count"), [(1e-5, 64), (1e-5, 65), (1e-5, 200), (1e-5, 700), (1 / 3000, 300)]
)
def test_both_ends_hold_around_what_many_parts_lose(delta, count):
    """Between what is lost and that rounded up, some releases lose less than all epsilons."""
    part = release(0.1, delta, count)
    composed = OptimalComposition((part,))
    with mp.workdps(50):
        at = composed._loss_probability
        for asked in (math.nextafter(at, 0), at, math.nextafter(at, 1), at * (1 + 1e-12)):
            lower, upper = composed.epsilon_below(asked), composed.epsilon(asked)
            lost = 1 - (1 - number(delta)) ** count
            assert lost >= asked or exact_delta_of_copies(part, lower) >= asked, (asked, lower)
            assert upper == math.inf or exact_delta_of_copies(part, upper) <= asked


def test_the_sum_of_epsilons_that_is_a_lower_end_is_rounded_down():
    for k in range(3, 40):
        least = OptimalComposition((release(1 / k, 0.0, 7),)).epsilon_below(0.0)
        exact = 7 * both(1 / k)[0]
        assert number(least) <= fraction(exact) <= least + 2 * math.ulp(least)


def test_a_million_states_are_counted_and_no_more():
    OptimalComposition((release(0.1, 0.0, MOST_STATES - 1),))
    with pytest.raises(InvalidArgument, match="states"):
        OptimalComposition((release(0.1, 0.0, MOST_STATES),))
    with pytest.raises(InvalidArgument, match="states"):
        OptimalComposition((release(0.1, 0.0, 999), release(0.2, 0.0, 1000)))


def test_what_is_kept_counts_every_copy():
    exact = 5 * mp.log(1 - mp.mpf(0.01)) + mp.log(1 - mp.mpf(0.2))
    assert abs(log_kept((release(1.0, 0.01, 5), release(0.1, 0.2))) - exact) < 1e-15


# --- tables of finite losses ----------------------------------------------------------------------


def test_a_table_of_losses_at_its_losses_and_beyond():
    losses = np.array([-1.0, 0.5, 2.0])
    table = LossTable.of(losses, np.log([0.2, 0.5, 0.3]), np.diff(losses))
    for epsilon in (-2.0, -1.0, 0.0, 0.5, 1.0, 2.0, 3.0):
        each = zip((-1.0, 0.5, 2.0), (0.2, 0.5, 0.3), strict=True)
        exact = sum(m * max(1 - math.exp(epsilon - loss), 0) for loss, m in each)
        found = math.exp(table.log_delta(np.array([epsilon]))[0])
        assert abs(found - exact) < 1e-14
        if 0 < exact:
            assert abs(table.epsilon(math.log(exact)) - epsilon) < 1e-12
    assert table.epsilon(-math.inf) == 2.0


@pytest.mark.parametrize("log_odds", [-2.0, 0.0, 0.7, 30.0])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_binomial_probabilities_by_their_formula(count, log_odds):
    p = 1 / (1 + mp.exp(-mp.mpf(log_odds)))
    found = log_binomial(count, log_odds)
    for k in range(count + 1):
        exact = mp.log(mp.binomial(count, k)) + k * mp.log(p) + (count - k) * mp.log(1 - p)
        assert abs(found[k] - exact) < 1e-12 * (1 + abs(exact))


# --- closed theorems ------------------------------------------------------------------------------


def drawn_parts(seed: int) -> list[ApproximateRelease]:
    draw = random.Random(seed)
    return [release(draw.uniform(0.01, 0.6), draw.uniform(0, 1e-4), k) for k in (1, 3, 40)]


@pytest.mark.parametrize("seed", range(12))
def test_advanced_composition_is_its_formula_rounded_up(seed):
    parts, slack = drawn_parts(seed), 1e-5 * (seed + 1)
    e = [(part.count, mp.mpf(part.epsilon)) for part in parts]
    squares = mp.sqrt(mp.fsum(n * x * x for n, x in e))
    drift = mp.fsum(n * x * mp.expm1(x) for n, x in e)
    found, delta = compose_advanced_heterogeneous(parts, slack)
    assert just_above(found, drift + mp.sqrt(2 * -mp.log(mp.mpf(slack))) * squares, 1e-13)
    exact = mp.fsum(part.count * number(part.delta) for part in parts) + number(slack)
    assert just_above(delta, exact, 1e-15)


@pytest.mark.parametrize("slack", [1e-9, 1e-3, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_the_second_theorem_is_the_least_of_its_forms_rounded_up(seed, slack):
    parts = drawn_parts(seed)
    e, s = [(part.count, mp.mpf(part.epsilon)) for part in parts], mp.mpf(slack)
    root = mp.sqrt(mp.fsum(n * x * x for n, x in e))
    drift = mp.fsum(n * x * mp.tanh(x / 2) for n, x in e)
    tail = min(-mp.log(s), mp.log(mp.e + root / s))
    exact = min(mp.fsum(n * x for n, x in e), drift + mp.sqrt(2 * tail) * root)
    found, delta = kairouz_heterogeneous(parts, slack)
    assert just_above(found, exact, 1e-13)
    kept = mp.fprod((1 - mp.mpf(part.delta)) ** part.count for part in parts)
    assert just_above(delta, 1 - (1 - s) * kept, 1e-14)


def test_few_releases_lose_no_more_than_their_sum():
    assert kairouz_heterogeneous([release(0.5, 0.0, 2)], 1e-9)[0] == 1.0


def test_sums_of_deltas_end_at_one():
    assert compose_basic(release(0.5, 0.4, 8)) == (4.0, 1.0)
    assert compose_advanced_heterogeneous([release(0.5, 0.4, 8)], 0.5)[1] == 1.0


def test_pure_sums_are_of_pure_releases():
    assert basic_pure(Sequence((release(0.1, 0.0, 3), release(0.7)))) == 1.0
    with pytest.raises(UnsupportedEvent, match="got a delta of 1e-09"):
        basic_pure(release(0.1, 1e-9))


def both(value: float) -> tuple[Fraction, Fraction]:
    short = Fraction(f"{value:.12g}")
    meant = short if float(short) == value else Fraction(value)
    return min(meant, Fraction(value)), max(meant, Fraction(value))


def fraction(value: Fraction) -> mp.mpf:
    return mp.mpf(value.numerator) / value.denominator


@pytest.mark.parametrize("truth", [0.3, 0.55, 0.6, 0.7, 0.9, 0.99, 2 / 3])
@pytest.mark.parametrize("categories", [2, 4])
def test_randomised_response_has_the_worse_odds(truth, categories):
    if truth * categories >= 1:
        p = fraction(both(truth)[1])
        found = pure_epsilon(RandomizedResponse(truth=truth, categories=categories))
        assert just_above(found, mp.log(p * (categories - 1) / (1 - p)), 2e-15)


def test_laplace_noise_on_a_sample_has_the_worse_ratio():
    draw = random.Random(3)
    for _ in range(30):
        q, s, b = (round(draw.uniform(0.01, 0.9), 2) for _ in range(3))
        shift, ratio = both(s)[1] / both(b)[0], both(q)[1]
        part = PoissonSubsampledLaplace(sampling_ratio=q, sensitivity=s, noise_scale=b)
        exact = mp.log1p(fraction(ratio) * mp.expm1(fraction(shift)))
        assert just_above(pure_epsilon(part), exact, 2e-15)


def test_objective_perturbation_pays_for_its_change_of_variables():
    (part,) = approximate_parts(
        ObjectivePerturbation(
            sensitivity=0.4, noise_rate=0.5, dimension=3, log_determinant=0.1, count=2
        )
    )
    assert (part.epsilon, part.delta, part.count) == (0.3, 0.0, 2)


def test_mu_of_gaussian_releases_is_the_worse_reading():
    draw = random.Random(8)
    for _ in range(60):
        s, n, m = (round(draw.uniform(0.1, 3), 3) for _ in range(3))
        parts = [(s, n, 3), (1.0, m, 5)]
        event = Sequence(
            tuple(GaussianRelease(sensitivity=a, noise_scale=b, count=k) for a, b, k in parts)
        )
        mu = Fraction(gaussian_guarantee(event).mu)
        worst = sum(k * (both(a)[1] / both(b)[0]) ** 2 for a, b, k in parts)
        least = sum(k * (both(a)[0] / both(b)[1]) ** 2 for a, b, k in parts)
        assert worst <= mu**2 <= worst * (1 + Fraction(1, 10**14))
        lower, upper = gaussian_bracket(event, 1e-3)
        assert gaussian_profile(mp.sqrt(fraction(least)), lower) >= mp.mpf(1e-3)
        assert gaussian_profile(mp.sqrt(fraction(worst)), upper) <= mp.mpf(1e-3)


def gaussian_profile(mu: mp.mpf, epsilon: float) -> mp.mpf:
    e = mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu)


# --- chords, and the worst of several ---------------------------------------------------------


def test_a_table_lies_on_the_chords_of_its_guarantee():
    exact = PureDP(2.0)
    table = TabulatedDP(exact)
    points = table._epsilons
    assert points[-1] <= 2.0
    for k in (1, 17, 200, 255):
        low, high = points[k - 1], points[k]
        for share in (0.0, 0.3, 0.7):
            epsilon = low + share * (high - low)
            above, below = mp.mpf(exact.delta(low)), mp.mpf(exact.delta(high))
            part = mp.expm1(mp.mpf(epsilon) - low) / mp.expm1(mp.mpf(high) - low)
            chord = above + part * (below - above)
            assert just_above(table.delta(epsilon), chord, 1e-14)
            target = float(chord)
            way = (above - target) / (above - below) * mp.expm1(mp.mpf(high) - low)
            assert just_above(table.epsilon(target), low + mp.log1p(way), 1e-13)


@dataclass(frozen=True)
class Staying(Guarantee):
    """A guarantee whose delta stays at 0.7."""

    def delta(self, epsilon):
        return max(0.7, 1 - epsilon / 6)

    def epsilon(self, delta):
        return math.inf if delta < 0.7 else max(0.0, 6 * (1 - delta))


def test_a_table_of_what_stays_stays():
    table = TabulatedDP(Staying())
    assert table.delta(1e6) == 0.7
    assert table.epsilon(0.69) == math.inf
    assert table.epsilon(1 - 1e-12) <= 0.1
    assert TabulatedDP(ApproximateDP(1.0, 0.01)).delta(3.0) == 0.01


def test_a_table_asks_its_guarantee_where_it_ends():
    table = TabulatedDP(PureDP(0.5))
    assert table.epsilon(0.0) == 0.5
    assert table.epsilon(0.9) == 0.0


def test_of_a_cell_that_is_too_wide_the_far_end_counts():
    exact = PureDP(2e5)  # cells of 784, and delta is 1 but in the last
    assert TabulatedDP(exact).epsilon(0.5) == TabulatedDP(exact)._epsilons[-1]
    assert TabulatedDP(exact).epsilon(0.5) >= exact.epsilon(0.5)


CROSSING = (PureDP(1.0), ApproximateDP(0.1, 0.05))


@pytest.mark.parametrize("pair", [CROSSING, CROSSING[::-1]])
def test_the_worst_of_two_is_the_larger_answer_each_time(pair):
    worst = WorstOf(pair)
    for epsilon in (0.0, 0.5, 0.95, 1.5):
        assert worst.delta(epsilon) == max(one.delta(epsilon) for one in pair)
        assert worst.log_delta(epsilon) == max(one.log_delta(epsilon) for one in pair)
    assert worst.epsilon(0.01) == math.inf
    assert worst.epsilon(0.3) == max(one.epsilon(0.3) for one in pair)


SMALL, LARGE = LaplaceRelease(sensitivity=0.1, noise_scale=1.0), release(0.7)


@pytest.mark.parametrize("events", [(SMALL, LARGE), (LARGE, SMALL)])
def test_of_alternatives_the_worst_is_what_is_proved(events):
    assert bound_worst_proved_epsilon(events, 0.0) == 0.7
    assert bound_worst_proved_epsilon((), 0.0) == 0.0
    assert bound_proved_epsilon(Parallel(events), 0.0).upper == 0.7
    basic_one = next(one for one in ACCOUNTANTS if one.name == "basic")
    assert get_accountant_answer(basic_one, Parallel(events), 0.0).upper == 0.7
    assert get_accountant_answer(basic_one, Parallel(()), 0.0).upper == 0.0


def test_the_lower_end_of_what_is_proved_of_equal_releases_is_below_the_truth():
    for delta in (1e-3, 0.02, 0.1):
        found = bound_proved_epsilon(release(0.3, 0.0, 4), delta)
        assert ends_hold([release(0.3, 0.0, 4)], number(delta), found.lower, found.upper)


def test_a_bound_without_a_grid_is_taken_where_it_is_small_enough_alone(monkeypatch):
    numerical = NumericalDP(LaplaceRelease(sensitivity=0.1, noise_scale=1.0, count=3))
    numerical._known[0.2] = 0.01
    monkeypatch.setattr(strongest_guarantee, "chernoff_delta", lambda *_: 0.02)
    assert numerical.delta_within(0.2, 0.02) == 0.02
    assert numerical.delta_within(0.2, 0.0199) == 0.01
    group = numerical.group(3)
    assert isinstance(group, GroupOf)
    assert group.size == 3


# --- accountants ----------------------------------------------------------------------------------


def accountant(name: str) -> accountants.Accountant:
    return next(one for one in ACCOUNTANTS if one.name == name)


def test_what_is_spent_may_be_all_of_delta_and_no_more():
    assert get_accountant_answer(accountant("basic"), release(0.5, 0.1, 2), 0.2).upper == 1.0
    assert (
        get_accountant_answer(
            accountant("basic"), release(0.5, 0.1, 2), math.nextafter(0.2, 0)
        ).upper
        == math.inf
    )


@pytest.mark.parametrize(
    ("name", "theorem"),
    [("advanced", compose_advanced_heterogeneous), ("Kairouz", kairouz_heterogeneous)],
)
def test_theorems_have_what_the_parts_leave_of_delta(name, theorem):
    event = release(0.5, 1e-3, 4)
    found = get_accountant_answer(accountant(name), event, 0.005).upper
    assert math.isclose(found, theorem([event], 0.001)[0], rel_tol=1e-9)
    assert "expected above the sum" in get_accountant_answer(accountant(name), event, 0.004).refusal


def saying(kind: str) -> accountants.Accountant:
    return accountants.Accountant(
        name="one", source="two", kind=kind, answer=lambda event, delta: Bracket(1.0, 2.0)
    )


@pytest.mark.parametrize(
    ("kind", "ends"),
    [
        ("exact", (1.0, 2.0, None)),
        ("bracket", (1.0, 2.0, None)),
        ("upper bound", (None, 2.0, None)),
        ("estimate", (None, None, 2.0)),
    ],
)
def test_each_kind_of_answer_claims_what_it_proves(kind, ends):
    said = get_accountant_answer(saying(kind), LARGE, 0.0)
    assert (said.lower, said.upper, said.estimate) == ends


def answer(**ends: float) -> AccountantAnswer:
    return AccountantAnswer(accountant=str(ends), kind="bracket", source="", **ends)


def test_the_strongest_answer_is_the_least_that_proves_something():
    zero, one, guess = answer(upper=0.0), answer(upper=1.0), answer(estimate=-1.0)
    assert (
        select_strongest_answer((one, zero, guess)) == select_strongest_answer((zero, one)) == zero
    )
    assert select_strongest_answer((guess,)) is None
