"""Parallel composition: a record is in one group of a partition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.proving.distances.analysis import Analysis
from dpaudit.proving.program import PathProgram
from dpaudit.proving.universe import Part, Universe
from tests.proving.rule_programs import Grown, add, compute, constant, draw_neighbours, find_breach


def start(records: int | None, inner: tuple[int, ...] = (2,), count: int = 1) -> Grown:
    """Return a program with rows of -1 to 1 and whole numbers 0 to 2."""
    parts = (
        Part("X", (records, *inner), np.full(inner, -1.0), np.full(inner, 1.0)),
        Part("y", (records,), np.asarray(0.0), np.asarray(2.0), is_integer=True),
    )
    change = "replace" if records else "add-remove"
    grown = Grown(Universe(parts, records, change, count), PathProgram(), [])
    rng = np.random.default_rng(0)
    n = records or 11
    add(grown, "data", [], rng.uniform(-1, 1, size=(n, *inner)), part="X")
    add(grown, "data", [], rng.integers(3, size=n).astype(float), part="y")
    return grown


def mask(grown: Grown, operation: str, end: float, *, is_below: bool = True) -> int:
    operands = [1, constant(grown, end)]
    found = compute(grown, operation, operands if is_below else operands[::-1])
    assert found is not None
    return found


def masked_sum(grown: Grown, chosen: int, form: str) -> int:
    """Append the sum of rows of a group, as one row of a table."""
    column = grown.values[chosen].reshape(-1, 1)
    chosen = add(grown, "reshape", [chosen], column)
    if form == "where":
        rows = compute(grown, "where", [chosen, 0, constant(grown, 0.0)])
    else:
        rows = compute(grown, "multiply", [0, chosen])
    assert rows is not None
    total = compute(grown, "sum", [rows], axis=0)
    assert total is not None
    return add(grown, "reshape", [total], grown.values[total].reshape(1, -1))


def partition(records: int | None, form: str = "multiply", count: int = 1) -> tuple[Grown, int]:
    grown = start(records, count=count)
    groups = [mask(grown, "equal", float(k)) for k in range(3)]
    sums = [masked_sum(grown, group, form) for group in groups]
    index = compute(grown, "concatenate", sums, axis=0)
    assert index is not None
    return grown, index


@pytest.mark.parametrize("form", ["where", "multiply"])
@pytest.mark.parametrize(("records", "l1", "l2"), [(5, 4.0, 2 * math.sqrt(2)), (None, 2, 2**0.5)])
def test_sums_of_groups_move_by_one_record(form, records, l1, l2):
    grown, index = partition(records, form)
    found = Analysis(grown.program, grown.universe).facts(index).distance
    assert (found.l1, found.l2) == pytest.approx((l1, l2))


def test_a_user_with_two_records_moves_twice_as_far():
    grown, index = partition(5, count=2)
    assert Analysis(grown.program, grown.universe).facts(index).distance.l1 == pytest.approx(8)


def test_counts_of_categories_are_a_histogram():
    grown = start(None)
    counts = [compute(grown, "sum", [mask(grown, "equal", float(k))], axis=None) for k in range(3)]
    rows = [add(grown, "reshape", [one or 0], np.zeros(1), dtype="int64") for one in counts]
    index = compute(grown, "concatenate", rows, axis=0)
    assert Analysis(grown.program, grown.universe).facts(index or 0).distance.l1 == 1


def test_sums_that_are_written_into_an_array_are_a_partition_too():
    grown = start(5)
    table = constant(grown, np.zeros((3, 2)))
    for k in range(3):
        value = masked_sum(grown, mask(grown, "equal", float(k)), "multiply")
        table = compute(grown, "assign", [table, value], key=[[k], None]) or 0
    assert Analysis(grown.program, grown.universe).facts(table).distance.l1 == pytest.approx(4)


@pytest.mark.parametrize("is_closed", [False, True])
def test_half_lines_that_meet_are_no_partition(is_closed):
    grown = start(5)
    below = mask(grown, "less_equal", 1.0)
    above = mask(grown, "less_equal" if is_closed else "less", 1.0, is_below=False)
    sums = [masked_sum(grown, one, "where") for one in (below, above)]
    index = compute(grown, "concatenate", sums, axis=0) or 0
    expected = 8 if is_closed else 4
    assert Analysis(grown.program, grown.universe).facts(index).distance.l1 == pytest.approx(
        expected
    )


def test_the_same_group_twice_is_no_partition():
    grown = start(None)
    sums = [masked_sum(grown, mask(grown, "equal", 1.0), "where") for _ in range(2)]
    index = compute(grown, "concatenate", sums, axis=0) or 0
    assert Analysis(grown.program, grown.universe).facts(index).distance.l1 == pytest.approx(4)


def test_what_is_not_0_outside_of_its_group_is_no_partition():
    grown = start(5)
    sums = []
    for k in range(2):
        chosen = mask(grown, "equal", float(k))
        chosen = add(grown, "reshape", [chosen], grown.values[chosen].reshape(-1, 1))
        rows = compute(grown, "where", [chosen, 0, constant(grown, 0.5)]) or 0
        total = compute(grown, "sum", [rows], axis=0) or 0
        sums.append(add(grown, "reshape", [total], grown.values[total].reshape(1, -1)))
    index = compute(grown, "concatenate", sums, axis=0) or 0
    assert Analysis(grown.program, grown.universe).facts(index).distance.l1 > 4.5


def test_neighbours_keep_to_it():
    for records, form, count in ((4, "where", 1), (3, "multiply", 2), (None, "where", 2)):
        grown, _ = partition(records, form, count)
        analysis, rng = Analysis(grown.program, grown.universe), np.random.default_rng(3)
        for _ in range(60):
            assert find_breach(grown, analysis, draw_neighbours(rng, grown.universe)) == ""
