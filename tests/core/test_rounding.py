"""Rounding by itself: each number beside the exact one, in fractions or in balls."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest
from flint import arb, ctx

from dpaudit.guarantees import rounding

LARGEST = math.nextafter(math.inf, 0.0)
TENTH, THREE_TENTHS = Fraction(1, 10), Fraction(3, 10)  # one is below its double, one above it
SHORT = [0.1, 0.3, 0.7, 1.1, 2.3, 0.0123, 123.456, 0.987654321012]


def sides(value: float) -> tuple[Fraction, Fraction]:
    """Return a double and the number of twelve digits at it, the smaller one first."""
    short = Fraction(f"{value:.12g}")
    number = short if float(short) == value else Fraction(value)
    return min(number, Fraction(value)), max(number, Fraction(value))


def meaning(value: float) -> Fraction:
    short = Fraction(f"{value:.12g}")
    return short if float(short) == value else Fraction(value)


def is_tight(found: float, meant: Fraction, worst: Fraction) -> bool:
    """Return whether a double stands for a result, or is the first that holds at the worst."""
    if meaning(found) == meant:
        return True
    below = math.nextafter(found, -math.inf)
    return meaning(found) >= max(meant, worst) and Fraction(below) < max(meant, worst)


def draws(count: int, seed: int = 1) -> list[tuple[float, float]]:
    """Return pairs of doubles, those of few digits among them."""
    draw = random.Random(seed)
    near = [round(draw.uniform(0.01, 9), draw.randint(1, 7)) for _ in range(count)]
    far = [draw.uniform(0.01, 9) for _ in range(count)]
    return [*zip(near, reversed(near), strict=True), *zip(near, far, strict=True)]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (0.1, TENTH),
        (0.3, THREE_TENTHS),
        (0.0, 0),
        (0.123456789012, Fraction(123456789012, 10**12)),
        (0.1234567890123, Fraction(0.1234567890123)),  # a digit too many
        (1 / 3, Fraction(1 / 3)),
    ],
)
def test_a_double_stands_for_a_number_of_twelve_digits(value, number):
    assert rounding.to_written_fraction(value) == number
    assert rounding.to_larger_fraction(value) == max(number, Fraction(value))
    assert rounding.to_smaller_fraction(value) == min(number, Fraction(value))


@pytest.mark.parametrize("value", [0.1, 1e-20, 123456789012.0, 0.0, math.inf])
def test_a_number_of_few_digits_is_short(value):
    assert rounding.is_short(value)


@pytest.mark.parametrize("value", [1 / 3, 1234567890123.0, 0.1 + 1e-16])
def test_a_number_of_many_digits_is_not(value):
    assert not rounding.is_short(value)


@pytest.mark.parametrize("value", [TENTH, THREE_TENTHS, Fraction(5), Fraction(0)])
def test_what_a_double_stands_for_is_not_moved(value):
    assert rounding.up(value) == rounding.round_fraction_down(value) == float(value)


@pytest.mark.parametrize("sign", [1, -1])
def test_fractions_are_moved_to_the_next_double(sign):
    for denominator in range(3, 60):
        value = sign * Fraction(7, denominator) ** 3
        high, low = rounding.up(value), rounding.round_fraction_down(value)
        assert low == high or low == math.nextafter(high, -math.inf)
        assert Fraction(low) <= value <= Fraction(high) or meaning(low) == value == meaning(high)


def test_what_no_double_reaches_is_rounded_outwards():
    far = Fraction(10) ** 400
    assert (rounding.up(far), rounding.round_fraction_down(far)) == (math.inf, LARGEST)
    assert (rounding.up(-far), rounding.round_fraction_down(-far)) == (-LARGEST, -math.inf)


def test_the_worse_of_two_readings_counts_unless_a_double_stands_for_the_result():
    third, more = Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**9)
    assert rounding.up_from(third, more) == rounding.up(more)
    assert rounding.up_from(more, third) == rounding.up(more)
    assert rounding.up_from(TENTH, more) == 0.1
    assert rounding.up_from(Fraction(10) ** 400, third) == math.inf


def test_quotients_and_products_are_rounded_up():
    for one, two in draws(60):
        (low, high), (below, above) = sides(one), sides(two)
        meant = meaning(one), meaning(two)
        assert is_tight(rounding.quotient_up(one, two), meant[0] / meant[1], high / below)
        assert is_tight(rounding.product_up(one, two), meant[0] * meant[1], high * above)
        assert is_tight(rounding.half_square_up(one), meant[0] ** 2 / 2, high**2 / 2)
        assert low <= high


def test_what_overflows_is_infinite():
    assert rounding.quotient_up(1e300, 1e-300) == math.inf
    assert rounding.product_up(1e300, 1e300) == math.inf
    assert rounding.half_square_up(math.inf) == math.inf
    assert rounding.sum_up([(1, math.inf), (1, 1.0)]) == math.inf
    assert rounding.sum_down([(1, math.inf), (1, 1.0)]) == math.inf
    assert rounding.times_up(2, LARGEST) == math.inf


def test_sums_count_every_term_as_often_as_it_is():
    assert rounding.sum_up([(10, 0.1), (1, 0.3)]) == 1.3
    assert rounding.sum_down([(10, 0.1), (1, 0.3)]) == 1.3
    assert rounding.sum_up([(0, math.inf), (3, 0.0)]) == 0.0
    assert rounding.sum_down([(0, math.inf), (3, 0.0)]) == 0.0


def test_sums_are_rounded_to_their_own_side():
    for one, two in draws(60, seed=2):
        terms = [(3, one), (7, two)]
        meant = 3 * meaning(one) + 7 * meaning(two)
        worst = 3 * sides(one)[1] + 7 * sides(two)[1]
        assert is_tight(rounding.sum_up(terms), meant, worst)
        found = rounding.sum_down(terms)
        assert meaning(found) <= meant < Fraction(math.nextafter(found, math.inf)) or (
            meaning(found) == meant
        )


@pytest.mark.parametrize(("count", "value"), [(1, 0.1), (64, 0.1), (65, 0.1), (200, 0.003)])
def test_the_probability_of_any_event_is_rounded_up(count, value):
    """Up to 64 events in fractions, more of them in balls."""
    low, high = sides(value)
    exact, worst = 1 - (1 - meaning(value)) ** count, 1 - (1 - high) ** count
    found = rounding.any_up([(count, value)])
    assert exact <= meaning(found) <= worst + Fraction(1, 10**15)
    assert (rounding.any_of([(count, value)]) is None) == (count > 64)
    least = rounding.any_down([(count, value)])
    assert 1 - (1 - low) ** count - Fraction(1, 10**15) <= Fraction(least)
    assert meaning(least) <= exact
    assert low <= high


@pytest.mark.parametrize("value", [1e-5, 7e-5, 1.4e-4, 4.7e-4])
def test_many_events_have_the_probabilities_that_were_written(value):
    """Of a double that is below what was written the written number counts, and the reverse."""
    for count in (65, 100, 1000):
        exact = 1 - (1 - meaning(value)) ** count
        assert meaning(rounding.any_down([(count, value)])) <= exact
        assert meaning(rounding.any_up([(count, value)])) >= exact


def test_the_worse_probabilities_of_events_count():
    for one, two in draws(40, seed=3):
        one, two = one / 10, round(two / 10, 9)
        meant, worst = rounding.any_of([(2, one), (1, two)])
        assert meant == 1 - (1 - meaning(one)) ** 2 * (1 - meaning(two))
        assert worst == 1 - (1 - sides(one)[1]) ** 2 * (1 - sides(two)[1])
        assert is_tight(rounding.any_up([(2, one), (1, two)]), meant, worst)


def test_many_certain_or_no_events():
    assert rounding.any_up([]) == rounding.any_up([(0, 0.5), (9, 0.0)]) == 0.0
    assert rounding.any_up([(100_000, 0.5)]) == 1.0


def test_powers_of_e_are_rounded_up():
    draw = random.Random(4)
    with ctx.workprec(1200):
        for exponent in [*(draw.uniform(-700, 0) for _ in range(60)), 0.0, -1e-300]:
            exact = arb(exponent).exp()
            assert exact <= arb(rounding.exp_up(exponent)) <= exact * (1 + arb(2) ** -48)
    assert rounding.exp_up(-math.inf) == 0.0
    assert rounding.exp_up(-800.0) == math.ulp(0.0)


@pytest.mark.parametrize("value", [1.0, -1.0, 0.0, 3e-7])
def test_what_is_off_gives_way_on_its_own_side(value):
    above, below = rounding.bound_above(value, 2.0), rounding.bound_below(value, 2.0)
    off = 8 * rounding.UNIT * (abs(value) + 2)
    assert off <= Fraction(above) - Fraction(value) < 1.5 * off
    assert off <= Fraction(value) - Fraction(below) < 1.5 * off
    assert rounding.bound_above(value, 2.0, 80.0) > value + 9 * off
    assert rounding.bound_above(0.0, 0.0) == rounding.bound_below(0.0, 0.0) == 0.0


def test_balls_end_on_their_own_sides():
    with ctx.workprec(200):
        for n in range(2, 40):
            root = arb(n).sqrt() - 4
            assert arb(rounding.round_ball_down(root)) <= root <= arb(rounding.round_ball_up(root))
            assert rounding.round_ball_up(root) - rounding.round_ball_down(root) <= math.ulp(4.0)
        wide = arb(1, 0.25)
        assert rounding.round_ball_down(wide) <= 0.75 < 1.25 <= rounding.round_ball_up(wide) < 1.26
        assert rounding.round_ball_up(arb("nan")) == math.inf
        assert rounding.round_ball_down(arb("nan")) == -math.inf


@pytest.mark.parametrize("square", [Fraction(9, 100), Fraction(25), Fraction(1, 4), Fraction(0)])
def test_roots_of_squares_are_those_that_were_written(square):
    assert rounding.root_up(square) == rounding.root_down(square) == float(square) ** 0.5


def test_other_roots_are_rounded_to_their_own_side():
    for n in (2, 3, 5, 6, 7, 8, 10, 11, 12, 13):
        square = Fraction(n, 49)
        high, low = rounding.root_up(square), rounding.root_down(square)
        assert Fraction(low) ** 2 < square < Fraction(high) ** 2
        assert high - low <= 4 * math.ulp(low)


@pytest.mark.parametrize("begins", [2.0, 2.0 + 1e-13, 2.0 + 1e-9])
def test_the_search_upwards_ends_just_where_it_holds(begins):
    found = rounding.first_above(2.0, 1e-15, lambda x: x >= begins)
    assert 0 <= found - begins <= 8 * math.ulp(begins)


@pytest.mark.parametrize("ends", [2.0, 2.0 - 1e-13, 2.0 - 1e-9])
def test_the_search_downwards_ends_just_where_it_holds(ends):
    found = rounding.last_below(2.0, 1e-15, lambda x: x <= ends)
    assert 0 <= ends - found <= 8 * math.ulp(ends)


def test_searches_end_where_nothing_holds():
    assert rounding.first_above(1.0, 0.0, lambda _: False) == math.inf
    assert rounding.last_below(1.0, 1e-9, lambda x: x <= 0) <= 1e-300
    assert rounding.last_below(1e-9, 1.0, lambda x: x <= 1e-12) >= 0
