"""Writes through views, which every array that shares the memory has to see."""

import numpy as np
import pytest

from dpaudit.proving.program import PathProgram
from dpaudit.proving.refusals import NotProved
from tests.proving.arrays import assert_same, trace

X = np.random.default_rng(1).normal(size=6)
M = np.random.default_rng(2).normal(size=(4, 3))


def slices_share(x):
    y = x[1:]
    y[0] = 9
    x[::2] += 1
    return x, y


def views_of_views_share(x):
    y = x[1:][1:3]
    y *= 2
    x[2] = 5
    return x, y, x[1:]


def fancy_indices_copy(x):
    y = x[[0, 1]]
    y[0] = 9
    x[1] = 7
    return x, y


def conditions_copy(x):
    y = x[x > 0]
    other = y
    y += 1
    return x, other.sum()


def transposes_share(m):
    m.T[0] += 1
    m.T[1:, 0] = 0
    return m, m.T


def reshapes_share(x):
    m = x.reshape(2, 3)
    m[1] = 0
    m.T[0] *= 2
    x[5] = 3
    return x, m


def reshapes_of_transposes_copy(m):
    flat = m.T.reshape(-1)
    flat[0] = 9
    return m, flat


def ravel_of_slice_copies(m):
    flat = m[:, :2].ravel()
    flat[0] = 9
    m[0, 1] = 4
    return m, flat


def ravel_shares_and_flatten_copies(m):
    m.ravel()[0] = 1
    m.flatten()[1] = 2
    return m


def numbers_do_not_share(x):
    total = x.sum()
    before = total
    total += 1
    first = x[0]
    x[0] = 8
    return total, before, first


def views_of_numbers_do_not_share(x):
    total = x.sum()
    cell = total.reshape(1)
    cell += 1
    np.atleast_1d(x[0])[0] = 7
    return total, cell, x


def zero_axes_share(x):
    cell = x[0, ...]
    cell[...] = 3
    return x


def operators_in_place_share(x):
    y = x
    y += 1
    z = x
    z = z + 1
    return x, y, z


def copies_do_not_share(x):
    y = x.copy()
    z = np.array(x)
    w = np.asarray(x)
    x[0] = 1
    y[1] = 2
    z[2] = 3
    w[3] = 4
    return x, y, z, w


def conversions_share_as_they_do(x):
    made = (
        np.asarray(x, dtype=float),
        np.array(x, copy=None),
        np.ascontiguousarray(x),
        np.array(x, dtype=float),
        np.asarray(x, copy=True),
        x.astype(float),
        x.astype(float, copy=False),
    )
    for at, one in enumerate(made):
        one[at % 6] += 10 * at + 1
    return x, made


def overlapping_writes(x):
    x[1:] = x[:-1]
    x[:-1] += x[1:]
    return x


def out_is_written(x):
    y = np.zeros(6)
    np.multiply(x, 2, out=y)
    np.add(x, y, out=x)
    np.sum(M * x[0], axis=0, out=y[:3])
    return x, y


def out_with_where(x):
    y = np.ones(6)
    np.log(x, out=y, where=x > 0)
    return y


def zeros_are_written(x):
    z = np.zeros((2, 3))
    row = z[0]
    row[:] = x[:3]
    z[1, 1] = x[5]
    z[:, 2] -= 1
    return z, row, z.sum()


def lists_become_arrays(x):
    z = np.array([0.0, 1.0])
    z[0] = x[0]
    z += x[:2]
    w = np.array([x[0], x[1], 3.0])
    return z, w, np.array([x, 2 * x]).sum(axis=0)


def flips_share(x):
    x[::-1][0] = 4
    np.flip(x)[1] = 5
    return x


def splits_share(x):
    one, other = np.split(x, 2)
    one[0] = 1
    other += one
    return x


def diagonals_and_squeezes_share(m):
    m[:, 0:1].squeeze()[1] = 7
    m[None][0, 0, 0] = 6
    np.expand_dims(m, 0)[0, 3] = 2
    np.atleast_2d(m)[2] = 1
    np.swapaxes(m, 0, 1)[1, 1] = 5
    return m


def sorts_in_place(m):
    y = m[1:]
    y.sort(axis=0)
    m[0].sort()
    return m


def masks_write(m):
    m[m > 1] = 1
    m[m[:, 0] > 0] += 2
    m[m[:, 0] > 2, 1] = m[m[:, 0] > 2, 2]
    view = m[1:]
    view[view < 0] = 0
    return m


def rows_are_written_in_a_loop(m):
    for row in m:
        row /= max(1.0, 2.0)
    for i in range(len(m)):
        m[i] = m[i] - m[i].mean()
    return m


def public_arrays_share(x):
    z = np.zeros(4)
    y = z[1:]
    y[0] = 2
    z[1] = x[0]
    y[1] = 3
    w = np.full(2, x[0])
    w[1] = 0
    return z, y, w, np.zeros_like(x) + np.eye(6)[0]


def positions_named_twice(x):
    x[[0, 0, 1]] = x[3:]
    x[np.array([2, 2])] += 1
    return x


VECTORS = (
    slices_share,
    views_of_views_share,
    fancy_indices_copy,
    conditions_copy,
    reshapes_share,
    numbers_do_not_share,
    views_of_numbers_do_not_share,
    conversions_share_as_they_do,
    zero_axes_share,
    operators_in_place_share,
    copies_do_not_share,
    overlapping_writes,
    out_is_written,
    out_with_where,
    zeros_are_written,
    lists_become_arrays,
    flips_share,
    splits_share,
    public_arrays_share,
    positions_named_twice,
)
MATRICES = (
    transposes_share,
    reshapes_of_transposes_copy,
    ravel_of_slice_copies,
    ravel_shares_and_flatten_copies,
    diagonals_and_squeezes_share,
    sorts_in_place,
    masks_write,
    rows_are_written_in_a_loop,
)


@pytest.mark.parametrize("function", VECTORS)
def test_vectors_share_as_they_do_in_numpy(function):
    assert_same(function, X)


@pytest.mark.parametrize("function", MATRICES)
def test_matrices_share_as_they_do_in_numpy(function):
    assert_same(function, M)


def test_no_write_where_a_view_or_copy_is_not_known():
    def write(m):
        doubled = m.T * 2  # lies column after column
        doubled.ravel()[0] = 1
        return doubled

    with pytest.raises(NotProved, match="view or a copy"):
        trace(write, M)


def test_no_write_into_chosen_records_that_another_array_shares():
    def write_part(m):
        chosen = m[m[:, 0] > 0]
        part = chosen[:, :1]
        part += 1
        return chosen.sum()

    def write_whole(m):
        chosen = m[m[:, 0] > 0]
        part = chosen[:, :1]
        chosen += 1
        return part.sum()

    def write_entries(m):
        chosen = m[m[:, 0] > 0]
        chosen[:, 0] = 1
        return chosen.sum()

    for function in (write_part, write_whole, write_entries):
        with pytest.raises(NotProved, match=f"in {function.__name__}.* chooses"):
            trace(function, M)


def test_no_write_into_an_array_from_outside():
    outside = np.zeros(3)

    def write(x):
        outside[0] = x[0]

    with pytest.raises(NotProved, match="in write"):
        trace(write, X)

    def add(x):
        kept = outside
        kept += x[:3]

    with pytest.raises(NotProved, match="array of plain numbers"):
        trace(add, X)


def test_a_refusal_is_kept_whatever_is_caught():
    def careless(x):
        try:
            if x[0] > 0:
                return x * 2
        except Exception:
            return x

    tracing, _ = trace(careless, X)
    assert tracing.refusal is not None
    assert "branch" in tracing.refusal.reason
    assert "in careless" in tracing.refusal.place


def test_no_array_is_kept_from_an_earlier_run():
    tracing, output = trace(lambda x: x * 2, X)
    tracing.program, tracing.known, tracing.taints = PathProgram(), {}, []
    with pytest.raises(NotProved, match="keeps state"):
        output + 1
