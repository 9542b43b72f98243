"""Random linear programs of numpy's operations, with views, writes in place and noise.

A program is a number: the same one runs on plain arrays and on forms, as every choice hangs on it
and on shapes only. It starts with a private array and returns some of what it formed.
"""

import random

import numpy as np
from scipy import linalg, sparse

FACTORS = (0.5, -1.0, 2.0, 3.0, 0.25, -1.5, 1 / 3, 1, 2, 0, np.float32(0.5), True)
MOST = 30  # entries of an array that goes on


class Program:
    """One random program of so many statements."""

    def __init__(self, number, statements=14):
        self.number, self.statements = number, statements

    def __call__(self, private, rng):
        self.draw, self.rng, self.normals = random.Random(self.number), rng, 0
        self.arrays = [private, self.noisy(private)]
        for _ in range(self.statements):
            made = STATEMENTS[self.draw.randrange(len(STATEMENTS))](self)
            if made is not None and np.size(made) <= MOST:
                self.arrays.append(made)
        return self.arrays[-3:]

    # --- choices -----------------------------------------------------------------------------

    def any(self, *, least=0, most=9, entries=1):
        """Return one of the arrays, of at least and at most so many axes; new if there is none."""
        fit = [
            one for one in self.arrays if least <= np.ndim(one) <= most and np.size(one) >= entries
        ]
        return self.draw.choice(fit) if fit else np.zeros([3, 2, 1, 1][:least])

    def like(self, array):
        """Return an array that broadcasts to another."""
        shape = np.shape(array)
        fit = [one for one in self.arrays if _broadcasts(np.shape(one), shape)]
        return self.draw.choice(fit) if fit else np.zeros(shape)

    def factor(self):
        return self.draw.choice(FACTORS)

    def divisor(self):
        return self.draw.choice([one for one in FACTORS if one])

    def public(self, *shape):
        numbers = [self.draw.choice([0.0, 0.0, 1.0, -1.0, 0.5, 3.0]) for _ in range(_size(shape))]
        return np.array(numbers).reshape(shape)

    def axis(self, array):
        return self.draw.randrange(-np.ndim(array), np.ndim(array))

    def noise(self, shape):
        self.normals += 1
        if self.normals > 5:
            return np.zeros(shape)
        return self.rng.normal(scale=self.draw.choice([0.5, 1.0, 2.0]), size=shape)

    def noisy(self, array):
        return array + self.noise(np.shape(array))

    def key(self, array):
        """Return a key of an array of one axis or more that picks at least something."""
        length = np.shape(array)[0]
        place = self.draw.randrange(length)
        mask = np.array([self.draw.random() < 0.5 for _ in range(length)])
        keys = [
            place,
            place - length,
            slice(None),
            slice(None, None, -1),
            slice(place, None),
            slice(None, None, 2),
            Ellipsis,
            (place, Ellipsis),
            (Ellipsis, 0),
            (Ellipsis, slice(None, None, -1)),
            [place, 0, place],
            np.array([0, length - 1]),
            mask,
            (slice(place, place + 1),),
            None,
        ]
        return self.draw.choice(keys)


def _size(shape):
    return int(np.prod(shape, dtype=int))


def _broadcasts(shape, into):
    try:
        return np.broadcast_shapes(shape, into) == tuple(into)
    except ValueError:
        return False


# --- statements: each returns a new array or view, or None where it wrote into one ---------------


def _add(p):
    one = p.any()
    return one + p.like(one)


def _subtract(p):
    one = p.any()
    return p.like(one) - one


def _scale(p):
    return p.factor() * p.any()


def _scale_entries(p):
    one = p.any()
    return one * p.public(*np.shape(one))


def _divide(p):
    return p.any() / p.divisor()


def _negate(p):
    return -p.any()


def _noise(p):
    return p.noisy(p.any())


def _located(p):
    one = p.any()
    p.normals += 1
    return p.rng.normal(one, 0.5) if p.normals <= 5 else one


def _add_in_place(p):
    one = p.any(least=1)
    one += p.like(one)


def _subtract_in_place(p):
    one = p.any(least=1)
    one -= p.like(one)


def _scale_in_place(p):
    one = p.any(least=1)
    one *= p.factor()


def _divide_in_place(p):
    one = p.any(least=1)
    one /= p.divisor()


def _rebind(p):
    one = p.any()
    one = one + 1.5
    one += p.like(one)
    return one


def _into(p):
    one = p.any(least=1)
    np.add(p.like(one), p.like(one), out=one)


def _scaled_into(p):
    one = p.any(least=1)
    np.multiply(p.like(one), p.factor(), one)


def _sum_into(p):
    one = p.any(least=2)
    into = np.zeros(np.shape(one)[1:])
    np.sum(one, axis=0, out=into)
    return into


def _part(p):
    one = p.any(least=1)
    return one[p.key(one)]


def _write(p):
    one = p.any(least=1)
    key = p.key(one)
    one[key] = p.like(one[key])


def _write_public(p):
    one = p.any(least=1)
    one[p.key(one)] = p.factor()


def _add_to_part(p):
    one = p.any(least=1)
    key = p.key(one)
    one[key] += p.like(one[key])


def _scale_part(p):
    one = p.any(least=1)
    one[p.key(one)] *= p.factor()


def _shift(p):
    one = p.any(least=1, entries=2)
    one[1:] = one[:-1]


def _swap(p):
    one = p.any(least=1)
    one[[0, -1]] = one[[-1, 0]]


def _swap_views(p):
    one = p.any(least=1)
    one[0], one[-1] = one[-1], one[0]


def _fill(p):
    p.any(least=1)[...] = p.any(most=0) if p.draw.random() < 0.5 else 2.0


def _transpose(p):
    return p.any().T


def _reshape(p):
    one = p.any()
    return p.draw.choice([one.reshape(-1), np.reshape(one, (-1, 1)), one.reshape((1, -1))])


def _reshape_columns(p):
    one = p.any(least=2)
    return p.draw.choice(
        [one.reshape(-1, order="F"), one.flatten("F"), np.ravel(one, "F"), one.ravel(order="F")]
    )


def _ravel(p):
    one = p.any()
    return p.draw.choice([one.ravel(), np.ravel(one), one.flatten()])


def _write_through_a_view(p):
    one = p.any(least=1)
    views = [
        one.T,
        one[::-1],
        np.swapaxes(one, 0, -1),
        one[None],
        np.expand_dims(one, 0),
        one.squeeze(),
        np.flip(one, 0),
        np.moveaxis(one, 0, -1),
        np.atleast_2d(one),
        np.asarray(one),
        np.ravel(one),
        one.reshape(-1),
        np.reshape(one, (1, -1)),
        np.split(one, [1])[0],
    ]
    view = p.draw.choice(views)
    if np.ndim(view):
        view[..., :1] = p.factor()


def _copy(p):
    one = p.any(least=1)
    other = p.draw.choice([one.copy(), np.copy(one), np.array(one), one + 0, one[...].copy()])
    other[0] = p.factor()
    return other


def _zeros(p):
    one = p.any(least=1)
    made = p.draw.choice([np.zeros(np.shape(one)), np.zeros_like(one), np.full_like(one, 2.0)])
    made[p.draw.randrange(len(made))] = one[0]
    return made


def _list(p):
    one = p.any(least=1)
    return np.array([one[0], 2 * one[-1]]) if p.draw.random() < 0.5 else np.stack([one, one + one])


def _join(p):
    one = p.any(least=1)
    join = p.draw.choice([np.concatenate, np.stack, np.vstack, np.hstack, np.dstack])
    return join([one, -one])


def _append(p):
    return np.append(p.any(), p.any())


def _move(p):
    one = p.any(least=1)
    return p.draw.choice(
        [
            lambda: np.roll(one, 1, axis=0),
            lambda: np.flip(one),
            lambda: np.repeat(one, 2, axis=0),
            lambda: np.tile(one, 2),
            lambda: np.take(one, [0, 0], axis=p.axis(one)),
            lambda: np.delete(one, 0, axis=0) if len(one) > 1 else one,
            lambda: np.pad(one, 1),
            lambda: np.pad(one, 1, mode="edge"),
            lambda: np.where(p.public(*np.shape(one)) > 0, one, 1.0),
            lambda: np.broadcast_to(one, (2, *np.shape(one))),
            lambda: np.array_split(one, 2)[0],
        ]
    )()


def _triangle(p):
    one = p.any(least=2, most=2)
    return p.draw.choice([np.tril, np.triu, np.diagonal, np.diag])(one)


def _sum(p):
    one = p.any(least=1)
    axis = p.draw.choice([None, 0, -1])
    reduce = p.draw.choice([np.sum, np.mean, np.add.reduce])
    return reduce(one, axis=axis, keepdims=p.draw.random() < 0.5)


def _methods(p):
    one = p.any(least=1)
    choices = [
        lambda: one.sum(),
        lambda: one.mean(axis=0),
        lambda: one.sum(axis=-1, keepdims=True),
        lambda: one.cumsum(),
        lambda: one.cumsum(axis=0),
        lambda: one.dot(p.public(np.shape(one)[-1])),
        lambda: np.add.accumulate(one),
        lambda: np.add.reduce(one),
        lambda: sum(one),
        lambda: np.diff(one, axis=0),
        lambda: np.average(one, axis=0, weights=[1.0 + n for n in range(len(one))]),
        lambda: np.average(one, weights=np.ones(np.shape(one))),
    ]
    return p.draw.choice(choices)()


def _matmul(p):
    one = p.any(least=1)
    if p.draw.random() < 0.5:
        return one @ p.public(np.shape(one)[-1], 2)
    before = np.shape(one)[-2] if np.ndim(one) > 1 else np.shape(one)[-1]
    batch = np.shape(one)[:-2] if p.draw.random() < 0.5 else ()
    return p.public(*batch, 2, before) @ one


def _batch(p):
    one = p.any(least=1)
    return p.public(2, 1, np.shape(one)[-1]) @ np.reshape(one, (1, np.shape(one)[-1], -1))


def _dot(p):
    one = p.any(least=1)
    choices = [
        lambda: np.dot(one, p.public(np.shape(one)[-1])),
        lambda: np.dot(p.public(2, np.size(one)), np.ravel(one)),
        lambda: np.inner(one, p.public(2, np.shape(one)[-1])),
        lambda: np.vdot(p.public(*np.shape(one)), one),
        lambda: np.outer(one, p.public(2)),
        lambda: np.outer(p.public(2), one),
        lambda: np.multiply.outer(p.public(2), one),
        lambda: np.kron(one, p.public(2)),
        lambda: np.kron(p.public(2), one),
        lambda: np.tensordot(one, p.public(np.shape(one)[0], 2), axes=(0, 0)),
        lambda: np.tensordot(p.public(2, np.shape(one)[-1]), one, axes=([1], [-1])),
        lambda: np.tensordot(one, p.public(2), axes=0),
        lambda: np.convolve(np.ravel(one), p.public(2)),
        lambda: np.convolve(np.ravel(one), p.public(3), mode="same"),
        lambda: np.trace(np.outer(one, p.public(3))),
    ]
    return p.draw.choice(choices)()


def _einsum(p):
    one = p.any(least=2, most=2)
    rows, columns = np.shape(one)
    text, shape = p.draw.choice(
        [
            ("ij,j->i", (columns,)),
            ("ij,i", (rows,)),
            ("ij,jk->ki", (columns, 2)),
            ("ij,ij->", (rows, columns)),
            ("ij,ij->ij", (rows, columns)),
            ("ij,k->kji", (2,)),
            ("ij,i->ij", (rows,)),
            ("ij,jk", (columns, 2)),
        ]
    )
    if p.draw.random() < 0.2:
        return np.einsum(p.draw.choice(["ij->ji", "ij->j", "ij", "ji"]), one)
    return np.einsum(text, one, p.public(*shape))


def _add_at(p):
    one = p.any(least=1)
    place = p.draw.randrange(len(one))
    np.add.at(one, [place, 0, place], p.like(one[[0, 0, 0]]))


def _add_itself_at(p):
    one = p.any(least=1)
    np.subtract.at(one, list(range(len(one)))[::-1], one)


def _joined_by_keys(p):
    one = p.any(least=1, most=1)
    return p.draw.choice([lambda: np.r_[one, 1.0, one[0]], lambda: np.c_[one, -one]])()


def _lists(p):
    one = p.any(least=1)
    return p.draw.choice(
        [
            lambda: np.sum([one, one[::-1]], axis=0),
            lambda: np.mean([one, 2 * one]),
            lambda: np.dot([1.0] * len(one), one),
            lambda: np.array([one, p.public(*np.shape(one))]),
            lambda: np.asarray(list(one)),
            lambda: np.full(np.shape(one), one),
            lambda: np.full_like(one, one[-1]),
            lambda: np.concatenate([[one[0]], [one[-1]]]),
            lambda: np.cumsum([one[0], one[-1]], axis=0),
        ]
    )()


def _solved(p):
    one = p.any(least=1)
    matrix = np.eye(len(one)) * 2 + np.tril(np.ones((len(one), len(one))))
    if p.draw.random() < 0.5:
        return linalg.solve_triangular(matrix, np.reshape(one, (len(one), -1)), lower=True)
    return np.linalg.solve(matrix, np.reshape(one, (len(one), -1)))


def _sparse(p):
    one = p.any(least=1, most=2)
    matrix = sparse.csr_array(p.public(2, len(one)))
    return matrix @ one


def _swapped_names(p):
    p.arrays[0], p.arrays[-1] = p.arrays[-1], p.arrays[0]


def _converted(p):
    one = p.any(least=1)
    made = one.astype(float, copy=p.draw.random() < 0.5)
    made[-1] = p.factor()
    return made


def _chain(p):
    one = p.any(least=1)
    return np.linalg.multi_dot(
        [p.public(2, 2), p.public(2, len(one)), np.reshape(one, (len(one), -1))]
    )


def _three_operands(p):
    one = p.any(least=2, most=2)
    rows, columns = np.shape(one)
    return np.einsum("ij,jk,i->k", one, p.public(columns, 2), p.public(rows))


STATEMENTS = [
    value for name, value in list(globals().items()) if name.startswith("_") and callable(value)
]
STATEMENTS = [one for one in STATEMENTS if one not in (_size, _broadcasts)]
