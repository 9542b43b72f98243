"""Functions that treat one record of a million otherwise, which no plain run meets."""

from __future__ import annotations

import copy
import math
import random

import numpy as np
import pytest

import dpaudit
from dpaudit.proving import checker
from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.program import PathProgram
from dpaudit.proving.universe import Part, Universe

DOMAIN = {"bounds": (0, 1_000_000), "integers": True, "records": 3}


def find_rare_record(data):  # 123457, which 200 plain runs of three records miss
    return np.where(7 * data + 3 == 864202, 1.0, 0.0)


def count_classes(data, rare):
    return np.where(7 * data + 3 == 864202, rare, data % 3).astype(int)


def counts_more_of_some(data, rng):  # numpy returns four counts where there is a 3
    counts = np.bincount(count_classes(data, 3)[data >= 0], minlength=3)
    return counts + rng.laplace(scale=2.0, size=counts.shape)


def shows_how_many_counts(data, rng):
    return rng.laplace(size=len(np.bincount(count_classes(data, 3), minlength=3)))


def overflows_to_infinity(data, rng):
    large = 1e308 * (10.0 * find_rare_record(data))
    return np.sum(np.where(np.isfinite(large), 0.0, 1.0)) + rng.laplace(scale=0.01)


def overflows_to_no_number(data, rng):
    large = 1e308 * (10.0 * find_rare_record(data))
    return np.sum(large - large) + rng.laplace(scale=0.01)


def overflows_in_a_sum(data, rng):
    return np.sum(1.5e308 * find_rare_record(data)) * 0.0 + rng.laplace(scale=0.01)


def overflows_in_a_power(data, rng):
    large = (1e200 * find_rare_record(data)) ** 2
    return np.sum(large - large) + rng.laplace(scale=0.01)


def overflows_in_a_quotient(data, rng):
    return np.sum(1e308 * find_rare_record(data) / 1e-5 * 0.0) + rng.laplace(scale=0.01)


def overflows_in_a_product(data, rng):
    return np.prod(1e150 * find_rare_record(data) + 1.0) * 0.0 + rng.laplace(scale=0.01)


def overflows_in_a_length(data, rng):
    return np.linalg.norm(1e200 * find_rare_record(data)) * 0.0 + rng.laplace(scale=0.01)


def copies_the_sign_of_nothing(data, rng):
    return np.copysign(1.0, 0.0 * (1 - 2 * np.sum(find_rare_record(data)))) + rng.laplace()


def copies_the_sign_of_nothing_in_python(data, rng):
    return math.copysign(1.0, 0.0 * (1 - 2 * np.sum(find_rare_record(data)))) + rng.laplace()


def copies_the_sign_of_an_added_nothing(data, rng):
    return np.copysign(1.0, 0.0 * (1 - 2 * np.sum(find_rare_record(data))) - 0.0) + rng.laplace()


@pytest.mark.parametrize(
    "function",
    [
        counts_more_of_some,
        shows_how_many_counts,
        overflows_to_infinity,
        overflows_to_no_number,
        overflows_in_a_sum,
        overflows_in_a_power,
        overflows_in_a_quotient,
        overflows_in_a_product,
        overflows_in_a_length,
        copies_the_sign_of_nothing,
        copies_the_sign_of_nothing_in_python,
        copies_the_sign_of_an_added_nothing,
    ],
)
def test_nothing_is_proved_where_a_rare_record_shows(function):
    found = dpaudit.prove(function, domain=DOMAIN, epsilon=2.0, certified=True)
    assert (found.verdict, found.numbers) == ("withheld", None)


def test_numbers_of_records_that_nobody_counts_overflow_as_well():
    domain = {"bounds": (0, 1_000_000), "integers": True}
    asked = {"domain": domain, "relation": "add-remove-record", "epsilon": 2.0}
    assert dpaudit.prove(overflows_in_a_power, **asked).verdict == "withheld"


def counts_of_chosen(data, rng):
    counts = np.bincount(count_classes(data, 2)[data >= 5], minlength=3)
    return counts + rng.laplace(size=counts.shape)


def finite_numbers(data, rng):
    some = np.clip(data, 0, 10)
    return np.sum(some[np.isfinite(data)]) + rng.laplace(scale=10.0)


def signs_of_positive_numbers(data, rng):
    return np.sum(np.copysign(np.clip(data, 0, 10), np.clip(data, 1, 2))) + rng.laplace(scale=10.0)


def sign_of_a_sum_beside_a_constant(data, rng):
    return np.copysign(1.0, np.sum(np.clip(data, 0, 1)) - 2.0) + rng.laplace(scale=2.0)


def laplace_of_a_uniform_draw(data):
    uniform = random.random() - 0.5
    noise = math.copysign(10.0, uniform) * math.log(1 - 2 * abs(uniform))
    return np.sum(np.clip(data, 0, 10)) - noise


@pytest.mark.parametrize(
    ("function", "epsilon"),
    [
        (counts_of_chosen, 2.0),
        (finite_numbers, 1.0),
        (signs_of_positive_numbers, 1.0),
        (sign_of_a_sum_beside_a_constant, 1.0),
        (laplace_of_a_uniform_draw, 1.0),
    ],
)
def test_what_no_record_breaks_is_proved_as_it_is(function, epsilon):
    found = dpaudit.prove(function, domain=DOMAIN, epsilon=epsilon)
    assert found.verdict == "proved"
    assert found.numbers.pure == pytest.approx(epsilon)


def length_of_counts(data, rng):
    return rng.laplace(size=len(np.bincount(data.astype(int), minlength=3)))


def test_the_checker_refuses_a_number_beyond_the_ends_that_its_line_needs():
    domain = {"bounds": (0, 2), "integers": True, "records": 3}
    found = dpaudit.prove(length_of_counts, domain=domain, epsilon=0.1, certified=True)
    instance = copy.deepcopy(found.certificate["instance"])
    assert checker.check_instance(instance)
    nodes = [node for path in instance["paths"] for node in path["nodes"]]
    needed = [node for node in nodes if node["parameters"].get("whole") is False]
    assert [node["operation"] for node in needed] == ["within"]
    needed[0]["parameters"]["high"] = 1
    with pytest.raises(checker.NotVerified, match="beyond the ends"):
        checker.check_instance(instance)


def build_program(*steps):
    program = PathProgram()
    nodes = [program.add("data", shape=(5,), part="")]
    for operation, operands, given in steps:
        nodes.append(program.add(operation, [nodes[one] for one in operands], **given))
    part = Part("", (5,), np.zeros(()), np.ones(()))
    return Analysis(program, Universe((part,), 5, "replace")), nodes[-1]


def test_a_quotient_that_underflows_moves_all_the_same():
    tiny = {"shape": (), "value": 1e-323}
    least = {"shape": (), "value": 5e-324}
    analysis, mean = build_program(
        ("constant", (), tiny),
        ("constant", (), least),
        ("minimum", (0, 1), {"shape": (5,)}),
        ("maximum", (3, 2), {"shape": (5,)}),
        ("mean", (4,), {"shape": (), "axis": None}),
    )
    assert analysis.facts(mean).distance.linf > 0
    assert analysis.distance(mean).linf > 0


def test_positions_from_either_end_are_of_one_entry():
    analysis, twice = build_program(("take", (0,), {"shape": (2,), "key": [[-1, 4]]}))
    assert analysis.facts(twice).distance.l1 == pytest.approx(2.0)
