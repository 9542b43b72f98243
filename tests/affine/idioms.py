"""Ways in which linear recursions are written: each is a function of four private numbers.

Every one is linear, and its mu follows from impulses (`oracle`).
"""

import copy
import functools
import itertools
from collections import deque
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.signal
from numpy import array, mean, zeros
from scipy.linalg import cho_factor, cho_solve

MATRIX = np.array([[2.0, 1, 0, 0], [1, 2, 1, 0], [0, 1, 2, 1], [0, 0, 1, 2]]) / 4
WEIGHTS = np.array([0.5, -1.0, 0.25, 2.0])


def array_of_a_list(x, rng):
    return np.array([x + rng.standard_normal(4), 2 * x + rng.standard_normal(4)])


def array_of_numbers(x, rng):
    return np.array([x[0] + rng.standard_normal(), x.sum() + rng.normal()])


def asarray_of_a_list(x, rng):
    return np.asarray([one + rng.standard_normal() for one in x])


def numbers_set_in_zeros(x, rng):
    sent = np.zeros(4)
    for i in range(4):
        sent[i] = x[i] - 0.5 * x[i - 1] + rng.normal(scale=2.0)
    return sent


def rows_set_in_empty(x, rng):
    sent = np.empty((3, 4))
    for t in range(3):
        sent[t] = (t + 1) * x + rng.standard_normal(4)
    return sent


def added_to_zeros_in_place(x, rng):
    total = np.zeros(4)
    for t in range(3):
        total += x + rng.normal(scale=t + 1.0, size=4)
    return total


def slices_of_zeros_like(x, rng):
    sent = np.zeros_like(x)
    sent[1:] = x[:-1] + rng.standard_normal(3)
    sent[0] = x[0] + rng.standard_normal()
    return sent


def set_in_a_copy(x, rng):
    states = x.copy()
    states[[0, 2]] += rng.standard_normal(2)
    states[1] = states[0] + states[2] + rng.standard_normal()
    states[3] -= 2.0 * rng.standard_normal()
    return states


def set_in_the_private_array(x, rng):
    x[0] = x[1] + rng.standard_normal()
    x *= 2
    x += rng.standard_normal(4)
    return x


def noise_around_a_value(x, rng):
    return rng.normal(x, 0.5)


def noise_by_keywords(x, rng):
    return rng.normal(loc=MATRIX @ x, scale=WEIGHTS**2, size=4)


def noise_in_rows(x, rng):
    return x + rng.normal(0, [1.0, 2.0, 3.0, 4.0], (3, 4))


def noise_of_a_covariance(x, rng):
    return x + np.linalg.cholesky(MATRIX) @ rng.standard_normal(4)


def correlated_noise(x, rng):
    one = x + rng.multivariate_normal(np.zeros(4), MATRIX + np.eye(4))
    return one, rng.multivariate_normal(mean=MATRIX @ x, cov=np.diag([1.0, 4.0, 9.0, 1.0]), size=3)


def a_matrix_times(x, rng):
    return MATRIX @ x + rng.standard_normal(4), x @ MATRIX + rng.standard_normal(4)


def dot_both_ways(x, rng):
    return np.dot(MATRIX, x) + rng.standard_normal(4), x.dot(WEIGHTS) + rng.standard_normal()


def matmul_and_inner(x, rng):
    return np.matmul(MATRIX, x + rng.standard_normal(4)), np.inner(WEIGHTS, x) + rng.normal()


def products_by_einsum(x, rng):
    return np.einsum("ij,j->i", MATRIX, x) + rng.standard_normal(4)


def tensordot(x, rng):
    return np.tensordot(MATRIX, x, axes=1) + rng.standard_normal(4)


def outer_product(x, rng):
    return np.outer(WEIGHTS, x) + rng.standard_normal((4, 4))


def a_solved_system(x, rng):
    return np.linalg.solve(MATRIX + np.eye(4), x) + rng.standard_normal(4)


def an_inverse(x, rng):
    return np.linalg.inv(MATRIX) @ (x + rng.standard_normal(4))


def a_pseudo_inverse(x, rng):
    return np.linalg.pinv(MATRIX[:, :2]) @ x + rng.standard_normal(2)


def solvers_of_scipy(x, rng):
    matrix = MATRIX + np.eye(4)
    lower = np.linalg.cholesky(matrix)
    return (
        cho_solve(cho_factor(matrix), x) + rng.standard_normal(4),
        scipy.linalg.solve(matrix, x.reshape(4, 1)) + rng.standard_normal((4, 1)),
        scipy.linalg.solve_triangular(lower, x, lower=True) + rng.standard_normal(4),
        scipy.linalg.lu_solve(scipy.linalg.lu_factor(matrix), x) + rng.standard_normal(4),
    )


def noise_through_a_filter(x, rng):
    noise = scipy.signal.lfilter([1.0], [1.0, 0.5, 0.375], rng.standard_normal(4))
    return x + noise, scipy.signal.lfilter([0.5, 0.5], [1.0], rng.normal(size=(4, 2)), axis=0)


def toeplitz_and_bands(x, rng):
    column, bands = [1.0, 0.5, 0.375, 0.3125], [[0.0, 1.0, 1.0, 1.0], [3.0, 3.0, 3.0, 3.0]]
    return (
        scipy.linalg.matmul_toeplitz((column, np.zeros(4)), x) + rng.standard_normal(4),
        scipy.linalg.solve_toeplitz((column, np.zeros(4)), x) + rng.standard_normal(4),
        scipy.linalg.solveh_banded(bands, x) + rng.standard_normal(4),
        scipy.linalg.solve_banded((0, 1), bands, x) + rng.standard_normal(4),
    )


def a_matrix_of_scipy(x, rng):
    return scipy.linalg.toeplitz([1.0, 0.5, 0.25, 0.0], np.zeros(4)) @ x + rng.standard_normal(4)


def products_of_three(x, rng):
    both = np.einsum("ij,jk,k->i", MATRIX, MATRIX, x), np.einsum("ij,k,jk->ki", MATRIX, x, MATRIX)
    noisy = [one + rng.standard_normal(one.shape) for one in both]
    return noisy, np.linalg.multi_dot([MATRIX, MATRIX, x]) + rng.standard_normal(4)


def names_of_numpy(x, rng):
    sent = zeros((2, 4))
    for t in range(2):
        sent[t] = array([one + rng.standard_normal() for one in x])
    return mean([sent[0], sent[1]], axis=0), sent


def joined_by_brackets(x, rng):
    noisy = x + rng.standard_normal(4)
    return np.r_[noisy, 0.0, x[:1] + rng.standard_normal()], np.c_[noisy, x + rng.normal(size=4)]


def checked_for_overflow(x, rng):
    noisy = x + rng.standard_normal(4)
    if not np.isfinite(noisy).all() or np.isnan(noisy[0]):
        raise ValueError("diverged")
    return noisy


def counts_of_their_own(x, rng):
    count, seen = np.zeros(4, dtype=int), []
    for t in range(6):
        count[t % 4] += 1
        seen.append(x[t % 4] / count[t % 4] + rng.standard_normal())
    return seen


def added_at_places(x, rng):
    inbox = np.zeros((2, 2))
    receivers = np.array([0, 1, 1, 0])
    np.add.at(inbox, (receivers, [0, 1, 1, 0]), x + rng.standard_normal(4))
    np.subtract.at(inbox[0], [1, 1], x[:1] + rng.standard_normal(2))
    return inbox


def sums_and_means(x, rng):
    noise = rng.standard_normal(6)
    return [
        x.sum() + noise[0],
        np.sum(x) + noise[1],
        x.mean() + noise[2],
        np.mean(x[:2]) + noise[3],
        sum(x) + noise[4],
        np.average(x, weights=np.arange(1, 5)) + noise[5],
    ]


def functions_of_lists(x, rng):
    noisy = [x + rng.standard_normal(4) for _ in range(3)]
    return [
        np.mean(noisy, axis=0),
        np.sum(noisy, axis=(0, 1)) + rng.standard_normal(),
        np.dot([1.0, -0.5, 0.25], noisy),
        np.average(noisy, axis=0, weights=[3.0, 2.0, 1.0]),
        np.diff([one.sum() for one in noisy]) + rng.standard_normal(2),
        np.cumsum([x[0] + rng.standard_normal(), x[3]]),
    ]


def sums_along_axes(x, rng):
    table = x.reshape(2, 2) + rng.standard_normal((2, 2))
    return table.sum(axis=0), table.mean(axis=1, keepdims=True), np.add.reduce(table)


def running_sums(x, rng):
    noisy = x + rng.standard_normal(4)
    return np.cumsum(noisy), np.diff(noisy), np.add.accumulate(x) + rng.standard_normal(4)


def a_convolution(x, rng):
    return np.convolve(x, [1.0, 0.5, 0.25], mode="full") + rng.standard_normal(6)


def rolled_and_turned(x, rng):
    noisy = x + rng.standard_normal(4)
    return np.roll(noisy, 1) + x, np.flip(x) + rng.standard_normal(4), noisy[::-1]


def joined(x, rng):
    noisy = x + rng.standard_normal(4)
    return np.concatenate([noisy, x[:1] + rng.standard_normal(1)]), np.hstack([noisy, np.ones(2)])


def stacked(x, rng):
    noisy = x + rng.standard_normal(4)
    return np.vstack([noisy, WEIGHTS * noisy]), np.column_stack([noisy, np.arange(4)])


def appended(x, rng):
    seen = np.array([])
    for one in x:
        seen = np.append(seen, one + rng.standard_normal())
    return seen


def padded_and_repeated(x, rng):
    noisy = x + rng.standard_normal(4)
    return np.pad(noisy, 1), np.repeat(noisy, 2), np.tile(noisy, 2)


def a_public_mask(x, rng):
    mask = np.array([True, False, True, False])
    noisy = np.where(mask, x + rng.standard_normal(4), rng.standard_normal(4))
    return noisy, x[mask] + rng.standard_normal(2), np.delete(noisy, 1)


def masked_by_a_product(x, rng):
    for t in range(3):
        active = (np.arange(4) + t) % 2 == 0
        x = x + active * rng.standard_normal(4)
    return x[:3]


def a_diagonal(x, rng):
    return np.diag(x) @ np.ones(4) + rng.standard_normal(4), np.diag(np.outer(x, WEIGHTS))[:0]


def triangles(x, rng):
    table = rng.standard_normal((4, 4))
    return x + np.triu(table, 1).sum(axis=1) - np.tril(table, -1).sum(axis=0)


def transposed(x, rng):
    table = np.atleast_2d(x).T + rng.standard_normal((4, 2))
    return table.T, table.flatten(), table.ravel()[::2], np.squeeze(table[:, :1])


def by_index(x, rng):
    noisy = x + rng.standard_normal(4)
    return np.take(noisy, [3, 0]), noisy[np.array([1, 1, 2])], noisy[..., None], noisy[-1]


def numbers_of_numpy(x, rng):
    step, count = np.float64(0.5), np.int64(3)
    return step * x + rng.standard_normal(4) / count, np.float32(2) * x[0] + rng.standard_normal()


def loops_over_entries(x, rng):
    seen = []
    for i, one in enumerate(x):
        seen.append(one - (0.0 if i == 0 else seen[-1]) + rng.standard_normal())
    return seen


def unpacked(x, rng):
    first, *rest = x
    a, b = rng.standard_normal(2)
    return first + a, sum(rest, 0.0) + b


def lists_of_states(x, rng):
    states = [float(i) + one for i, one in enumerate(x)]
    for t in range(3):
        states = [0.5 * a + 0.5 * b for a, b in zip(states, states[1:] + states[:1], strict=True)]
        states[t] = states[t] + rng.standard_normal()
    return {"states": tuple(states[:3])}


@dataclass
class Node:
    """A state of one node."""

    value: object
    inbox: list


def objects(x, rng):
    nodes = [Node(one, []) for one in x]
    for _ in range(3):
        for i, node in enumerate(nodes):
            nodes[i - 1].inbox.append(node.value + rng.standard_normal())
        for node in nodes:
            node.value = 0.5 * node.value + 0.5 * node.inbox[-1]
    return [node.inbox for node in nodes]


def old_states_in_a_queue(x, rng):
    states, seen = deque([x, 0.5 * x], maxlen=2), []
    for _ in range(4):
        states.append(states[0] - 0.5 * states[1] + rng.standard_normal(4))
        seen.append(copy.deepcopy(states[-1]))
    return seen


def folded(x, rng):
    noisy = [one + rng.standard_normal() for one in x]
    total = functools.reduce(lambda a, b: 0.5 * a + b, noisy)
    return [total, *itertools.accumulate(noisy)]


def copied_to_zeros_of_a_dictionary(x, rng):
    states = {i: x[i] for i in range(4)}
    duals = dict.fromkeys(states, 0.0)
    for i in states:
        duals[i] += states[i] - states[(i + 1) % 4] / 2
        duals[i] -= rng.normal(0, 0.5)
    return duals


def written_to_an_output(x, rng):
    out = np.empty(4)
    np.add(x, rng.standard_normal(4), out=out)
    return out


def a_full_array(x, rng):
    full = np.full((2, 4), x), np.full_like(x, fill_value=x.mean())
    return *[one + rng.standard_normal(4) for one in full], np.ones(4) * x[0] + rng.normal(size=4)


def broadcast(x, rng):
    table = np.broadcast_to(x, (3, 4)) + rng.standard_normal((3, 1))
    return table[0], x[:, None] - x[None, :] + rng.standard_normal((4, 4))


def gradients_of_blocks(x, rng):
    models = np.zeros((2, 2))
    for i in range(2):
        models[i] = np.linalg.solve(MATRIX[:2, :2], x[2 * i : 2 * i + 2])
        models[i] += rng.standard_normal(2)
    return models


def of_type_float(x, rng):
    states = x.astype(float)
    states = np.asarray(states, dtype=float)
    return states + rng.standard_normal(states.shape), np.array(x) + rng.standard_normal(len(x))


def printed(x, rng):
    noisy = x + rng.standard_normal(4)
    print(noisy.shape, noisy.dtype, noisy.ndim, noisy.size, len(noisy))
    return noisy


IDIOMS = {
    name: one
    for name, one in list(globals().items())
    if getattr(one, "__module__", None) == __name__ and callable(one) and not isinstance(one, type)
}
