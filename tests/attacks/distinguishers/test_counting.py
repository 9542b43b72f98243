"""Counting: bins, merging, and codes of rows, against the obvious way to do each."""

import numpy as np
import pytest
from numpy.random import default_rng

import dpaudit.attacks.distinguishers.counting as counting
from dpaudit.attacks.distinguishers.counting import build_row_coder, fit_step_function, log_ratio


@pytest.mark.parametrize("columns", [1, 3, 40])
def test_codes_are_those_of_distinct_rows(columns):
    rows = default_rng(0).integers(0, 2, (300, columns)).astype(float)
    rows[::2] = rows[0]  # else 40 bits never repeat
    distinct, expected = np.unique(rows, axis=0, return_inverse=True)
    numbers = build_row_coder(rows, 10_000)
    codes = numbers(rows)
    assert numbers.size == len(distinct)
    np.testing.assert_array_equal(
        codes[:, None] == codes, expected.ravel()[:, None] == expected.ravel()
    )
    assert set(codes.tolist()) == set(range(len(distinct)))


def test_a_row_that_was_not_seen_has_no_code():
    rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    fresh = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 1.0]])
    np.testing.assert_array_equal(build_row_coder(rows, 9)(fresh), [-1, -1, 1, -1, 0])


def test_too_many_distinct_rows_are_refused_exactly():
    rows = np.arange(10.0)[:, None]
    assert build_row_coder(rows, 10) is not None
    assert build_row_coder(rows, 9) is None


def test_a_flat_ratio_ends_as_one_bin_on_either_side():
    """Laplace noise: flat, a ramp of mass 5%, flat. Unmerged bins would differ by their noise."""
    rng = default_rng(0)
    p, q = (rng.laplace(answer, 10.0, 200_000) for answer in (0.0, 1.0))
    found = fit_step_function(p, q)
    assert 1 <= len(found.edges) <= 6
    far = found(np.array([-30.0, 30.0]))
    np.testing.assert_allclose(far, [0.1, -0.1], atol=0.02)
    assert (np.diff(found.ratios) < 0).all()


def test_equal_laws_end_as_one_bin():
    rng = default_rng(1)
    assert len(fit_step_function(*rng.normal(size=(2, 20_000))).edges) <= 1


def test_a_steep_ratio_keeps_its_steps():
    rng = default_rng(2)
    p, q = rng.normal(1, 1, 50_000), rng.normal(0, 1, 50_000)
    found = fit_step_function(p, q)
    x = np.linspace(-1.5, 2.5, 50)
    assert np.abs(found(x) - (x - 0.5)).max() < 0.5
    assert len(found.edges) > 8


def test_values_of_one_bin_are_ordered_towards_its_neighbours():
    rng = default_rng(5)
    p, q = rng.normal(1, 1, 20_000), rng.normal(0, 1, 20_000)
    scores = fit_step_function(p, q)(np.linspace(-3, 4, 400))
    assert (np.diff(scores) > 0).mean() > 0.95


def test_values_that_differ_in_their_last_bits_share_a_bin():
    p = np.repeat([0.1 + 0.2, 0.0], [600, 400])
    q = np.repeat([0.3, 0.0], [400, 600])
    found = fit_step_function(p, q)
    values = found(np.array([0.3, 0.1 + 0.2, 0.0]))
    assert values[0] == values[1] > 0 > values[2]


def test_sides_may_differ_in_size():
    half = log_ratio(np.array([500]), np.array([1000]), 1000, 2000)
    assert abs(half[0]) < 1e-3


def test_tables_and_searches_find_the_same_numbers(monkeypatch):
    rng = np.random.default_rng(3)
    rows, fresh = (rng.integers(0, size, (500, 4)).astype(float) for size in (5, 6))
    by_table = build_row_coder(rows, 1000)
    monkeypatch.setattr(counting, "_TABLE", 0)
    by_search = build_row_coder(rows, 1000)
    assert any(table is not None for table in by_table.tables)
    assert by_search.tables == (None,) * 4
    np.testing.assert_array_equal(by_table(fresh), by_search(fresh))
    assert (by_table(fresh) < 0).any()
    assert (by_table(fresh) >= 0).any()


@pytest.mark.parametrize(("edges", "points"), [(0, 1), (5, 8), (3, 1), (150, 152)])
def test_pieces_score_as_bins_and_an_interpolation_do(edges, points):
    rng = default_rng(edges)
    knots, ratios = np.sort(rng.normal(size=edges)), rng.normal(size=edges + 1)
    at, leaning = np.sort(rng.normal(size=points)), 1e-6 * rng.normal(size=points)
    at[: points // 3] = at[points // 3]  # medians of bins may be equal
    found = counting.Steps(knots, ratios, at, leaning)
    values = np.concatenate([rng.normal(size=1000), knots, at, [-np.inf, np.inf, -1e308, 1e308]])
    bins = np.searchsorted(knots, values, side="right")
    np.testing.assert_array_equal(found(values), ratios[bins] + np.interp(values, at, leaning))


def test_levels_that_come_late_are_levels():
    column = np.repeat([1.0, 2.0, 1.5], 5000)
    assert counting._find_distinct_levels(column).tolist() == [1.0, 1.5, 2.0]
    assert counting._find_distinct_levels(column[:10_000]).tolist() == [1.0, 2.0]


def test_plainly_many_rows_are_refused_from_the_first_alone(monkeypatch):
    looked_at = []
    rounded = counting._round_to_grain
    monkeypatch.setattr(
        counting,
        "_round_to_grain",
        lambda rows, grain: looked_at.append(len(rows)) or rounded(rows, grain),
    )
    assert build_row_coder(np.arange(10_000.0)[:, None], 100) is None
    assert looked_at == [111]
