"""Linear code that is easy to misread: forms have the coefficients that impulses find.

The oracle runs the function on plain arrays, with a generator whose normals are 0 but for one.
"""

import copy
import functools
import operator
from fractions import Fraction

import numpy as np
import pytest

from dpaudit.affine.changes import Direction
from dpaudit.affine.form import forms_in
from dpaudit.affine.kinds import DOUBLES
from dpaudit.affine.reading import read_recursion
from dpaudit.affine.view import View
from tests.affine import oracle

CASES = {}
MOVE = np.array([1.0, -2.0, 0.5, 3.0])


def tricky(function):
    """Note a function of four private numbers."""
    CASES[function.__name__] = function
    return function


# --- memory that is shared ---------------------------------------------------------------------


@tricky
def a_view_is_written_into(x, rng):
    sent = x + rng.normal(size=4)
    sent[1:3][0] = sent[3]
    sent.reshape(2, 2).T[0, 1] += 5 * sent[0]
    return sent


@tricky
def an_alias_is_moved(x, rng):
    here = there = x + rng.normal(size=4)
    there += here
    there -= 3 * x
    return here


@tricky
def a_name_is_bound_anew(x, rng):
    here = there = x + rng.normal(size=4)
    there = there + here
    return here, there


@tricky
def entries_move_along(x, rng):
    window = np.zeros(4)
    sent = []
    for t in range(4):
        window[1:] = window[:-1]
        window[0] = x[t] + rng.normal()
        sent.append(window.copy())
    return sent


@tricky
def a_list_of_one_array(x, rng):
    state, sent = np.zeros(4), []
    for _ in range(2):
        state += x + rng.normal(size=4)
        sent.append(state)  # the same array twice
    return sent


@tricky
def entries_are_swapped(x, rng):
    x[0], x[1] = x[1], x[0]
    x[[2, 3]] = x[[3, 2]]
    return x + rng.normal(scale=[1.0, 2.0, 3.0, 4.0])


@tricky
def rows_are_swapped_as_views(x, rng):
    table = x.reshape(2, 2) + rng.normal(size=(2, 2))
    table[0], table[1] = table[1], table[0]  # both become the second
    return table


@tricky
def strides_are_negative(x, rng):
    sent = x + rng.normal(size=4)
    sent[::-2] *= 3.0
    sent[::-1][:2] = sent[:2]
    return sent


@tricky
def a_transpose_is_flattened(x, rng):
    table = (x + rng.normal(size=4)).reshape(2, 2).T * 2
    row = table.reshape(-1)
    row[0] = 7.0  # a copy, as the product lies by columns
    return table, row, table.ravel(order="K")


@tricky
def a_product_lies_by_columns(x, rng):
    table = np.einsum("ij,jk->ki", (x + rng.normal(size=4)).reshape(2, 2), np.eye(2)[::-1])
    row = table.reshape(-1, order="F")
    row[1:] = row[:-1]  # a view or a copy, as numpy lays the product out
    return table, row


@tricky
def a_view_outlives_a_matrix(x, rng):
    state = x + rng.normal(size=4)
    sent = np.ones((2, 4)) @ state
    state *= 0.0
    return sent, state


@tricky
def a_diagonal_is_read_late(x, rng):
    table = np.zeros((4, 4))
    diagonal = np.diagonal(table)
    for i in range(4):
        table[i, i] = x[i] + rng.normal()
    return diagonal


@tricky
def copies_are_apart(x, rng):
    first = x + rng.normal(size=4)
    others = [first.copy(), copy.copy(first), copy.deepcopy(first), np.array(first), first + 0]
    first[:] = 0.0
    return [*others, np.asarray(first)]


# --- writes ------------------------------------------------------------------------------------


@tricky
def the_last_of_equal_places_stays(x, rng):
    sent = np.zeros(3)
    sent[[0, 1, 0, 1]] = x + rng.normal(size=4)
    return sent


@tricky
def equal_places_do_not_add_up(x, rng):
    sent = np.ones(3)
    sent[[0, 0, 1, 1]] += x + rng.normal(size=4)
    return sent


@tricky
def equal_places_add_up(x, rng):
    sent = np.ones(3)
    np.add.at(sent, [0, 0, 1, 1], x + rng.normal(size=4))
    np.subtract.at(sent, [1, 1], x[0])
    return sent


@tricky
def a_mask_picks(x, rng):
    sent = x + rng.normal(size=4)
    mask = np.array([True, False, True, False])
    sent[mask] = sent[~mask]
    sent[~mask] += sent[mask]
    return sent


@tricky
def one_row_is_written_everywhere(x, rng):
    table = np.empty((3, 4))
    table[...] = x + rng.normal(size=4)
    table[1] += rng.normal()
    table[:, 0] = table[1, 1]
    return table


@tricky
def results_go_where_they_are_sent(x, rng):
    into = np.zeros(4)
    np.add(x, rng.normal(size=4), out=into)
    np.multiply(into, 3.0, into)
    np.dot(np.eye(4)[::-1], into.copy(), out=into)
    total = np.zeros(())
    np.sum(into, out=total)
    return into, total


@tricky
def normals_go_where_they_are_sent(x, rng):
    into = np.empty(4)
    into[:] = rng.standard_normal(4)
    return 2 * into + x


@tricky
def a_number_is_not_changed_in_place(x, rng):
    first = x[0]
    first += rng.normal()
    return first, x[0] + rng.normal(), x[1:] + rng.normal(size=3)


@tricky
def a_number_has_no_views(x, rng):
    first = x[0] + rng.normal()
    row, same = first.reshape(-1), np.atleast_1d(first)
    row[0] = same[0] = 7.0
    return first, row, same, first[None] * 2


@tricky
def what_is_added_in_place_is_read_before(x, rng):
    sent = x + rng.normal(size=4)
    np.add.at(sent, [3, 2, 1, 0], sent)
    return sent, sent.astype(float, copy=False)


@tricky
def an_array_without_axes_is_changed_in_place(x, rng):
    total = np.zeros(())
    same = total
    for one in x:
        total += one + rng.normal()
    view = x[0, ...]
    view *= 2.0
    return same, x + rng.normal(size=4)


# --- products and sums -------------------------------------------------------------------------


@tricky
def stacks_of_matrices_are_stretched(x, rng):
    numbers = np.arange(12.0).reshape(3, 2, 2)
    return numbers @ (x + rng.normal(size=4)).reshape(1, 2, 2), x.reshape(2, 1, 2) @ numbers[:1]


@tricky
def axes_from_behind(x, rng):
    table = (x + rng.normal(size=4)).reshape(1, 2, 2)
    return (
        table.sum(axis=(-1, 0)),
        np.mean(table, axis=-2, keepdims=True),
        np.add.reduce(table, axis=1),
        np.cumsum(table, axis=-1),
        np.cumsum(table),
    )


@tricky
def reductions_have_other_defaults(x, rng):
    table = (x + rng.normal(size=4)).reshape(2, 2)
    return np.add.reduce(table), np.sum(table), np.add.accumulate(table), np.cumsum(table)


@tricky
def averages_are_weighted(x, rng):
    table = (x + rng.normal(size=4)).reshape(2, 2)
    weights = np.array([[1.0, 2.0], [3.0, 5.0]])
    return (
        np.average(table, axis=0, weights=weights),
        np.average(table, weights=weights),
        np.average(table, axis=1, weights=[1.0, 3.0]),
        np.average(table, axis=-1),
    )


@tricky
def letters_are_summed_over(x, rng):
    table = (x + rng.normal(size=4)).reshape(2, 2)
    numbers = np.array([[1.0, 2.0], [3.0, 5.0]])
    return (
        np.einsum("ij,jk", table, numbers),
        np.einsum("ji,jk->ki", table, numbers),
        np.einsum("ab,ba->", numbers, table),
        np.einsum("ij->j", table),
        np.einsum("ji", table),
        np.tensordot(table, numbers, axes=([0], [1])),
        np.inner(numbers, table),
        np.kron(numbers, table),
    )


@tricky
def a_product_has_one_public_factor_each(x, rng):
    mixed, other = np.ones(4), np.ones(4)
    mixed[:2], other[2:] = x[:2] + rng.normal(size=2), x[2:] + rng.normal(size=2)
    mixed[2:], other[:2] = (5.0, -2.0), (0.0, 3.0)
    return mixed * other, other * mixed


@tricky
def solutions_are_linear(x, rng):
    matrix = np.array([[4.0, 1, 0, 0], [0, 3, 1, 0], [0, 0, 2, 1], [1, 0, 0, 5]])
    public = np.linalg.solve(matrix, np.ones(4))
    public[0] = x[0]
    return np.linalg.solve(matrix, x + rng.normal(size=4)), np.linalg.inv(matrix) @ x, public


@tricky
def filters_overlap(x, rng):
    sent = x + rng.normal(size=4)
    return [np.convolve(sent, [1.0, -2.0, 0.5], mode) for mode in ("full", "same", "valid")]


@tricky
def what_is_filled_up_is_public(x, rng):
    table = (x + rng.normal(size=4)).reshape(2, 2)
    padded = np.pad(table, ((1, 0), (0, 2)), constant_values=7.0)
    return padded * 2, np.tril(table), np.triu(table, 1), np.diag(table[0]), np.diagflat(table)


@tricky
def truth_values_are_factors(x, rng):
    return (np.arange(4) > 1) * x + rng.normal(size=4) * [True, True, False, True]


@tricky
def halves_of_single_precision_are_exact(x, rng):
    return x * np.float32(0.1) + rng.normal(size=4) * np.float16(0.3)


@tricky
def tiny_and_huge_factors(x, rng):
    small = 1e-200 * (x + rng.normal(size=4))
    return small * 1e-100 * 1e300, x * 1e150 / 1e150 + rng.normal(size=4)


# --- noise -------------------------------------------------------------------------------------


@tricky
def noise_is_taken_back(x, rng):
    noise = rng.normal(size=4)
    masked = x + noise
    return masked - np.roll(noise, 1), masked.sum() - noise.sum() + rng.normal()


@tricky
def noise_is_reused(x, rng):
    noise = rng.normal(size=2)
    return np.repeat(noise, 2) + x, np.tile(noise, 2) - 3 * x


@tricky
def noise_is_around_data(x, rng):
    return rng.normal(x, 2.0), rng.normal(loc=x[0], scale=[1.0, 2.0]), rng.normal(x, size=(2, 4))


@tricky
def noise_is_of_many_scales(x, rng):
    scales = np.ones(4)
    scales[2] = 1e-3
    return x + rng.normal(scale=scales) + np.full(4, 0.5) * rng.standard_normal(4)


@tricky
def noise_of_no_entries(x, rng):
    empty = rng.normal(size=0)
    return np.concatenate([empty, x + rng.normal(size=4), rng.normal(size=(0,))]), empty


@tricky
def noise_that_is_lost(x, rng):
    rng.normal(size=3)
    return x + rng.normal(size=4), 0.0 * rng.normal(size=4)


# --- Python ------------------------------------------------------------------------------------


@tricky
def python_adds_up(x, rng):
    return (
        sum(x) + rng.normal(),
        functools.reduce(operator.add, [one * (n + 1) for n, one in enumerate(x)]) + rng.normal(),
        sum([x, x], start=np.zeros(4)) + rng.normal(size=4),
    )


@tricky
def a_state_of_an_object(x, rng):
    class Node:
        def __init__(self, value):
            self.value, self.sent = value, []

        def send(self):
            self.sent.append(self.value + rng.normal())
            self.value -= 0.5 * self.sent[-1]

    nodes = [Node(one) for one in x]
    for _ in range(2):
        for node in nodes:
            node.send()
        nodes[0].value += nodes[-1].sent[-1]
    return [node.sent for node in nodes]


@tricky
def a_generator_is_consumed(x, rng):
    def steps(state):
        for n in range(3):
            state = state / 2 + rng.normal(size=4) * (n + 1)
            yield state.copy()
            state += 1.0

    return list(steps(x))


@tricky
def refused_errors_that_numpy_raises_are_the_code_s(x, rng):
    try:
        return x + np.ones(3)
    except ValueError:
        return x + rng.normal(size=4)


@pytest.mark.parametrize("name", CASES)
def test_what_is_tricky_has_the_coefficients_of_impulses(name):
    noise, data = oracle.coefficients(CASES[name], np.zeros(4), lambda output: output)
    expected = np.concatenate([noise, data], axis=1)
    found = read_recursion(CASES[name], np.zeros(4))
    ids = np.concatenate([one.ids.ravel() for one in forms_in(found.output)])
    rows = found.program.coefficients(DOUBLES, ids)
    assert rows.shape == expected.shape
    assert np.allclose(rows, expected, rtol=1e-9, atol=1e-12)
    shortest = oracle.least_noise(noise, data @ MOVE)
    mu = np.inf if shortest is None else float(np.linalg.norm(shortest))
    view = View(found.program, ids, Direction(MOVE))
    assert [view.mu.lower, view.mu.upper] == pytest.approx([mu] * 2, rel=1e-9)


def test_thirds_of_arrays_are_thirds():
    def split(x, rng):
        third = Fraction(1, 3)
        return {"none": x + rng.normal(size=2) - third * x - third * x - third * x}

    found = read_recursion(split, np.zeros(2))
    view = View(found.program, forms_in(found.output)[0].ids.ravel(), Direction([1, 1]))
    assert (view.mu.upper, view.proof) == (0.0, "exact")
