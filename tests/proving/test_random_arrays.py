"""Random programs of views and writes: each array holds in the end what it holds in numpy."""

import numpy as np
import pytest

from dpaudit.proving.refusals import NotProved
from tests.proving.arrays import assert_same

SIZES = (1, 2, 3, 4, 6)


def random_program(seed):
    """Return a function of one array that takes views, writes into them and returns all."""

    def run(x):
        rng = np.random.Generator(np.random.PCG64(seed))
        held = [x, np.zeros((2, 3)), np.ones(4)]
        for _ in range(int(rng.integers(4, 14))):
            act = ACTS[rng.integers(len(ACTS))]
            act(rng, held)
        return held

    return run


def pick(rng, held):
    return held[rng.integers(len(held))]


def random_slice(rng, n):
    start, stop = sorted(int(one) for one in rng.integers(0, n + 1, size=2))
    step = int(rng.choice([1, 1, 2]))
    return slice(start, stop, step) if rng.random() < 0.7 else slice(None, None, -1)


def random_key(rng, shape):
    kind = rng.integers(6)
    if kind == 0 and shape and min(shape) > 0:
        return tuple(random_slice(rng, n) for n in shape)
    if kind == 1 and shape and shape[0]:
        return int(rng.integers(-shape[0], shape[0]))
    if kind == 2 and shape and shape[0]:
        return [int(one) for one in rng.integers(0, shape[0], size=rng.integers(1, 4))]
    if kind == 3:
        return None
    if kind == 4 and shape:
        return rng.random(shape) < 0.5
    return ...


def take(rng, held):
    one = pick(rng, held)
    held.append(one[random_key(rng, one.shape)])


def turn(rng, held):
    one = pick(rng, held)
    held.append(
        [one.T, one[::-1] if one.ndim else one, one.swapaxes(0, -1) if one.ndim else one][
            rng.integers(3)
        ]
    )


def reshape(rng, held):
    one = pick(rng, held)
    n = one.size
    first = [m for m in SIZES if n and n % m == 0]
    shape = (first[rng.integers(len(first))], -1) if first and rng.random() < 0.6 else -1
    held.append(one.reshape(shape) if n else one)


def ravel(rng, held):
    held.append(pick(rng, held).ravel())


def write_number(rng, held):
    one = pick(rng, held)
    if one.ndim:
        one[random_key(rng, one.shape)] = float(rng.integers(5))


def write_entry(rng, held):
    one, other = pick(rng, held), pick(rng, held)
    if one.ndim and other.size:
        one[random_key(rng, one.shape)] = other.reshape(-1)[0]


def write_itself(rng, held):
    one = pick(rng, held)
    if one.ndim:
        one[...] = one[::-1] * 2


def add_in_place(rng, held):
    at = int(rng.integers(len(held)))
    held[at] += float(rng.integers(1, 4))


def multiply_by_another(rng, held):
    one, other = pick(rng, held), pick(rng, held)
    if one.ndim and other.size:
        one *= other.ravel()[0]


def write_where(rng, held):
    one = pick(rng, held)
    if one.ndim:
        one[one > 1] = 0.5
        one[one < 0] *= -1


def write_out(rng, held):
    one = pick(rng, held)
    if one.ndim:
        np.add(one, 1, out=one)
        np.multiply(one, 2, out=one, where=one > 1)


def compute(rng, held):
    held.append(pick(rng, held) * 2 - 1)


def copy(rng, held):
    one = pick(rng, held)
    held.append([one.copy(), np.array(one), np.flip(one), one + 0][rng.integers(4)])


def join(rng, held):
    one = pick(rng, held)
    if one.ndim and one.shape[0]:
        at = [int(n) for n in rng.integers(0, one.shape[0], size=2)]
        columns = [0, one.shape[-1] - 1] if one.shape[-1] else []
        made = [np.stack([one, one]), one[at], one[..., columns], np.where(one > 0, one, 0)]
        made += [np.roll(one, 1), np.concatenate([one.T, one.T]), np.array(one.T), np.copy(one.T)]
        made += [one.T.copy(), one.T.astype(float), np.asarray(one, dtype=float), one.cumsum(0)]
        made += [
            np.array(one, copy=None),
            np.array(one.T, dtype=float),
            one.T * 2,
        ]
        held.append(made[rng.integers(len(made))])


def sort(rng, held):
    one = pick(rng, held)
    if one.ndim and one.size:
        one.sort()


ACTS = (
    *(take, take, take, turn, reshape, ravel, write_number, write_entry, write_itself),
    *(add_in_place, multiply_by_another, write_where, write_out, compute, copy, sort),
    *(join, join, ravel, write_entry),
)


def outcome_of(seed, shape):
    """Return whether a program was followed; it has to give what numpy gives where it was."""
    data = np.random.Generator(np.random.PCG64(seed)).normal(size=shape)
    try:
        assert_same(random_program(seed), data)
    except NotProved:
        return False
    return True


@pytest.mark.parametrize("shape", [(6,), (4, 3)])
def test_programs_of_views_and_writes_hold_what_they_hold_in_numpy(shape):
    followed = [outcome_of(seed, shape) for seed in range(25)]
    assert sum(followed) > 15


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(6,), (4, 3), (2, 3, 2)])
def test_many_programs_of_views_and_writes(shape):
    followed = [outcome_of(seed, shape) for seed in range(1000, 2000)]
    assert sum(followed) > 600
