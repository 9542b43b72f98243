"""Randomised response: costs against closed forms, and answers that tell for sure."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.proving.events.bound import cost_of_path
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.universe import Part, Universe
from tests.proving.sketches import Sketch

RECORDS = 4


def _universe(values: int = 2, change: str = "replace") -> Universe:
    part = Part("", (RECORDS,), np.array(0.0), np.array(values - 1.0), is_integer=True)
    return Universe((part,), RECORDS, change)  # type: ignore[arg-type]


class Responses(Sketch):
    """A program about four records, entry by entry."""

    def __init__(self) -> None:
        super().__init__(RECORDS)

    def each(self, operation: str, *operands: int) -> int:
        return self(operation, *operands, shape=(RECORDS,))

    def coins(self, odds: float) -> int:
        return self.each("less", self.draw("uniform", (RECORDS,)), self.constant(odds))

    def numbers(self, high: int) -> int:
        return self.draw("integers", (RECORDS,), low=0, high=high)

    def cost(self, *outputs: int, values: int = 2) -> float:
        return cost_of_path(self.show(*outputs), _universe(values)).epsilon


@pytest.mark.parametrize("odds", [0.1, 0.46, 0.5, 0.9])
def test_a_truth_told_by_a_coin_costs_its_odds(odds: float) -> None:
    own = Responses()
    told = own.each("where", own.coins(odds), own.records, own.numbers(2))
    assert own.cost(told) == pytest.approx(math.log((1 + odds) / (1 - odds)), rel=1e-12)


def test_a_bit_that_is_turned_by_a_coin() -> None:
    own = Responses()
    coin = own.draw("bernoulli", (RECORDS,), p=0.25)
    assert own.cost(own.each("logical_xor", own.records, coin)) == pytest.approx(math.log(3))


def test_a_bit_that_is_turned_by_arithmetic() -> None:
    own = Responses()
    coin = own.draw("bernoulli", (RECORDS,), p=0.25)
    turned = own.each("absolute", own.each("subtract", own.records, coin))
    assert own.cost(turned) == pytest.approx(math.log(3))


def test_truth_and_its_opposite() -> None:
    own = Responses()
    other = own.each("subtract", own.constant(1.0), own.records)
    told = own.each("where", own.coins(0.8), own.records, other)
    assert own.cost(told) == pytest.approx(math.log(4))


@pytest.mark.parametrize("values", [3, 5])
def test_several_values(values: int) -> None:
    own = Responses()
    told = own.each("where", own.coins(0.5), own.records, own.numbers(values))
    truth, lie = 0.5 + 0.5 / values, 0.5 / values
    assert own.cost(told, values=values) == pytest.approx(math.log(truth / lie))


def test_a_sum_modulo_the_number_of_values() -> None:
    own = Responses()
    shift = own.draw("choice", (RECORDS,), count=3, replace=True, p=[0.5, 0.25, 0.25])
    three = own.constant(3.0)
    told = own.each("remainder", own.each("add", own.records, shift), three)
    assert own.cost(told, values=3) == pytest.approx(math.log(2))


def test_what_is_made_of_answers_is_free_and_two_answers_are_not() -> None:
    own = Responses()
    one, two = (own.each("where", own.coins(0.5), own.records, own.numbers(2)) for _ in range(2))
    total = own("sum", one, axis=None)
    assert own.cost(one, total, two) == pytest.approx(2 * math.log(3))


def test_an_answer_of_two_entries_of_a_record_costs_twice() -> None:
    own = Responses()
    cycle = own("take", own.records, shape=(RECORDS,), key=[[1, 2, 3, 0]])
    pairs = own.each("less", own.each("add", own.records, cycle), own.constant(1.5))
    told = own.each("where", own.coins(0.5), pairs, own.numbers(2))
    assert own.cost(told) == pytest.approx(2 * math.log(3))


def test_answers_that_exclude_a_truth_are_refused() -> None:
    own = Responses()
    zeros = own.constant([0.0] * RECORDS, (RECORDS,))
    with pytest.raises(NotProved):
        own.cost(own.each("where", own.coins(0.5), own.records, zeros))
    own = Responses()
    with pytest.raises(NotProved):
        own.cost(own.each("multiply", own.coins(0.5), own.records))


def test_fewer_random_values_than_true_ones_are_refused() -> None:
    own = Responses()
    told = own.each("where", own.coins(0.5), own.records, own.numbers(2))
    with pytest.raises(NotProved):
        own.cost(told, values=3)


@pytest.mark.parametrize("shows", ["coin", "lie"])
def test_a_coin_or_a_lie_that_is_shown_too_is_refused(shows: str) -> None:
    own = Responses()
    coins, lies = own.coins(0.5), own.numbers(2)
    told = own.each("where", coins, own.records, lies)
    with pytest.raises(NotProved):
        own.cost(told, coins if shows == "coin" else lies)


def test_one_coin_for_all_records_is_refused() -> None:
    own = Responses()
    coin = own("less", own.draw("uniform"), own.constant(0.5))
    told = own.each("where", coin, own.records, own.numbers(2))
    with pytest.raises(NotProved):
        own.cost(told)


def test_a_coin_that_is_used_for_two_answers_is_refused() -> None:
    own = Responses()
    coins = own.coins(0.5)
    told = [own.each("where", coins, own.records, own.numbers(2)) for _ in range(2)]
    with pytest.raises(NotProved):
        own.cost(*told)


def test_lies_that_two_records_share_are_refused() -> None:
    own = Responses()
    first = own("take", own.numbers(2), shape=(RECORDS,), key=[[0, 0, 1, 1]])
    with pytest.raises(NotProved):
        own.cost(own.each("where", own.coins(0.5), own.records, first))


def test_numbers_that_are_no_whole_ones_are_refused() -> None:
    own = Responses()
    told = own.each("where", own.coins(0.5), own.records, own.numbers(2))
    part = Part("", (RECORDS,), np.array(0.0), np.array(1.0))
    with pytest.raises(NotProved):
        cost_of_path(own.show(told), Universe((part,), RECORDS, "replace"))


def test_one_truth_that_is_told_often_costs_as_often() -> None:
    own = Responses()
    truth = own.take(own.records, 0)
    lie = own("subtract", own.constant(1.0), truth)
    told = own.each("where", own.coins(0.75), truth, lie)
    assert own.cost(told) == pytest.approx(RECORDS * math.log(3), rel=1e-9)
    again = own("where", own("less", own.draw("uniform"), own.constant(0.75)), truth, lie)
    assert own.cost(told, again) == pytest.approx((RECORDS + 1) * math.log(3), rel=1e-9)
