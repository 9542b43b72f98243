"""Bins, log-ratios and numbers of rows, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpaudit.attacks.distinguishers import counting
from dpaudit.attacks.distinguishers.counting import build_row_coder, fit_step_function, log_ratio


def test_half_a_count_is_added_to_both_and_frequencies_are_compared():
    found = log_ratio(np.array([4, 0]), np.array([1, 2]), 10, 5)
    assert found == pytest.approx([math.log(4.5 / 10 / (1.5 / 5)), math.log(0.5 / 10 / (2.5 / 5))])


@pytest.mark.parametrize(
    ("pooled", "edges"),
    [
        ([3.0, 3.0], []),
        ([-4.0, -4.0, -1.0, 5.0], [-2.5, 2.0]),
        ([-8.0, -8.0 + 4e-9, 1.0], [-3.5 + 2e-9]),  # a last bit of the largest
        ([-8.0, -8.0 + 2e-8, 1.0], [-8.0 + 1e-8, -3.5 + 1e-8]),
        ([0.0, 1e-290, 1.0], [0.5]),
    ],
)
def test_edges_of_few_values_are_halfway(pooled, edges):
    assert counting._choose_bin_edges(np.array(pooled)) == pytest.approx(edges, rel=1e-12)


def test_edges_of_many_values_are_between_two_that_follow_each_other():
    pooled = np.arange(1000.0)
    found = counting._choose_bin_edges(pooled)
    assert np.array_equal(found % 1, np.full(len(found), 0.5))
    ranks = counting._choose_edge_ranks(1000)
    assert np.array_equal(found, ranks[ranks > 0] - 0.5)


@pytest.mark.parametrize(
    ("size", "bins"), [(10, 2), (60, 3), (1000, 50), (8000, 400), (10**6, 400)]
)
def test_ranks_are_even_and_finer_at_both_ends(size, bins):
    ranks = counting._choose_edge_ranks(size).tolist()
    even = [int(size * i / bins + 1e-9) for i in range(1, bins)]
    assert set(even) <= set(ranks)
    first = min(20.0, size / 2)
    tail = [first * (size / 2 / first) ** (i / 23) for i in range(24)]
    others = sorted(set(ranks) - set(even))
    near = [*tail, *(size - one for one in tail)]
    assert all(min(abs(one - to) for to in near) <= 1 for one in others)
    assert ranks[0] <= first
    assert ranks[-1] >= size - first - 1
    assert ranks == sorted(set(ranks))


def test_the_two_neighbours_that_differ_least_are_merged():
    """In log-ratios, over their standard errors: 16 squared ones keep bins apart."""
    counts = np.array([[1000, 990, 100], [100, 101, 1000]])
    edges, merged = counting._merge_similar_bins(np.array([1.0, 2.0]), counts.copy(), (2090, 1201))
    assert edges.tolist() == [2.0]
    assert merged.tolist() == [[1990, 100], [201, 1000]]


@pytest.mark.parametrize(("factor", "bins"), [(1.01, 2), (0.99, 1)])
def test_bins_are_apart_from_four_standard_errors_on(factor, bins):
    variance = 4 / 1000.5
    apart = factor * 4 * math.sqrt(variance)
    first, second = 1000.0, 1000.5 * math.exp(apart) - 0.5
    for _ in range(50):  # the second count decides its own error
        variance = 3 / 1000.5 + 1 / (second + 0.5)
        second = 1000.5 * math.exp(factor * 4 * math.sqrt(variance)) - 0.5
    counts = np.array([[first, second], [1000.0, 1000.0]])
    edges, merged = counting._merge_similar_bins(np.array([1.0]), counts, (1, 1))
    assert (len(edges) + 1, merged.shape[1]) == (bins, bins)


def test_order_within_bins_leans_towards_the_neighbours():
    pooled = np.arange(400.0)
    points, leaning = counting._order_within(pooled, np.array([99.5, 299.5]), np.array([3.0, 1, 2]))
    assert points.tolist() == [0.0, 50.0, 200.0, 350.0, 399.0]
    assert leaning == pytest.approx(1e-6 * np.array([5.0, 3.0, 1.0, 2.0, 3.0]), rel=1e-12)
    few = counting._order_within(np.repeat([0.0, 1.0], 200), np.array([0.5]), np.array([3.0, 1.0]))
    assert [one.tolist() for one in few] == [[0.0], [0.0]]
    none = counting._order_within(pooled, np.zeros(0), np.array([3.0]))
    assert [one.tolist() for one in none] == [[0.0], [0.0]]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rows_that_are_equal_but_for_their_last_bits_are_one(sign):
    table = sign * np.array([[0.1 + 0.2, 1.0], [0.0, 1.0], [0.3, 1.0], [0.3 + 3e-9, 1.0]])
    found = build_row_coder(table, 3)
    assert found.size == 3
    assert found(table).tolist() == ([1, 0, 1, 2] if sign > 0 else [1, 2, 1, 0])
    assert build_row_coder(table, 2) is None


def test_a_rare_huge_entry_is_no_scale_and_a_common_one_is():
    small = np.repeat([[1.0], [2.0]], 10, axis=0)
    assert build_row_coder(np.append(small, [[1e12]], axis=0), 9).size == 3
    often = np.append(small, np.full((5, 1), 1e12), axis=0)
    assert build_row_coder(often, 9).size == 2


def test_zeros_and_what_rounds_to_them_are_told_apart():
    tiny = np.array([[0.0], [-0.0], [5e-324], [-5e-324], [1.0]])
    assert build_row_coder(tiny, 9).size == 5
    assert sorted(build_row_coder(tiny, 9)(tiny).tolist()) == [0, 1, 2, 3, 4]
    below = np.array([[1e-10], [0.0], [1.0]])  # no denormal: a last bit of the largest
    assert build_row_coder(below, 9)(below).tolist() == [0, 0, 1]


def test_codes_are_places_of_those_that_are_known():
    known = np.array([2, 5, 9])
    assert counting._find_sorted_index(known, np.array([9, 2, 4, 10, 1, 5])).tolist() == [
        2,
        0,
        -1,
        -1,
        -1,
        1,
    ]
    many = np.arange(0, 600, 2)
    asked = np.array([0, 1, 598, 599, 600, -1])
    assert counting._find_sorted_index(many, asked).tolist() == [0, -1, 299, -1, -1, -1]


@pytest.mark.parametrize("pairs", [8, 2**16, 2**16 + 1])
def test_codes_are_numbered_anew_with_a_table_where_they_are_few(pairs):
    seen, table, codes = counting._compress_row_codes(np.array([7, 3, 7, 0]), pairs)
    assert (seen.tolist(), codes.tolist()) == ([0, 3, 7], [2, 1, 2, 0])
    if pairs > 2**16:
        assert table is None
    else:
        assert len(table) == pairs + 1
        assert table[[0, 1, 3, 7, -1]].tolist() == [0, -1, 1, 2, -1]


def test_a_value_that_stands_out_is_counted_by_itself():
    """Of 1000 values a side, 0.5 is 400 of one and 10 of the other."""
    rng = np.random.default_rng(0)
    p = np.append(rng.random(600), np.full(400, 0.5))
    q = np.append(rng.random(990), np.full(10, 0.5))
    found = fit_step_function(p, q)
    one = found(np.array([0.5]))[0]
    assert one == pytest.approx(math.log(400.5 / 10.5))
    around = found(np.array([0.3, 0.7]))
    assert around == pytest.approx(np.full(2, math.log(600.5 / 990.5)), abs=1e-5)
    other = fit_step_function(q, p)
    assert other(np.array([0.5]))[0] == pytest.approx(-one)


def test_sides_that_are_all_single_values_have_no_bins():
    found = fit_step_function(np.repeat([0.0, 1.0], [90, 10]), np.repeat([0.0, 1.0], [10, 90]))
    assert found(np.array([0.0, 1.0])) == pytest.approx([math.log(90.5 / 10.5)] * np.array([1, -1]))


def test_outputs_are_rows_of_floats():
    rows = counting.flatten_outputs(np.arange(12).reshape(2, 3, 2))
    assert (rows.dtype, rows[1].tolist()) == (np.float64, [6.0, 7.0, 8.0, 9.0, 10.0, 11.0])


@pytest.mark.filterwarnings("error")
def test_an_edge_lies_between_two_huge_values():
    huge = np.finfo(np.float64).max
    values = np.array([0.9 * huge, huge])
    edges = counting._choose_bin_edges(values)
    assert values[0] < edges[0] < values[1]
    assert counting._choose_bin_edges(np.array([-huge, huge])).tolist() == [0.0]
