r"""Changes of adaptive inputs by one record: all terms that it adds, in the rounds of its choice.

With M the matrix of a view (`dpaudit.affine.changes`) in blocks ``M_st`` of two rounds, mu is ``r``
times the root of the largest

    sum_{s, t in P} u_s' M_st u_t        over patterns P and vectors u_t of norm at most 1.

* *One round*: the largest eigenvalue of an ``M_tt``.
* *Several, every coordinate treated alike* (``M_st = m_st 1``): ``sum m_st <u_s, u_t>`` is what a
  matrix mechanism has (`dpaudit.accounting.matrices.sensitivity`): exact where signs make all its
  terms at least 0, and else between two ends.
* *Several, else*: at most ``sum ||M_st||``, and at least what an ascent finds, which turns every
  ``u_s`` towards ``sum_t M_st u_t``.

What M is off from ``m_st 1``, in the spectral norm, counts at most as often as there are rounds in
a pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq
from numpy.typing import NDArray

from dpaudit.accounting.matrices.sensitivity import (
    SquaredSensitivity,
    compute_squared_sensitivity,
    square_of_patterns,
)
from dpaudit.accounting.matrices.strategies import Entry, Strategy
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.changes import Change, L2Ball, exact_number, root_between
from dpaudit.affine.inputs import AdaptiveInputs
from dpaudit.affine.kinds import Kind, unpack_flint_matrix

_ALIKE = 1e-9  # how far from alike coordinates may be that are taken as alike, and paid for
_MOST_TURNS = 100


class Rounds(Change):
    """All that one record adds to adaptive inputs.

    Parameters
    ----------
    inputs
        How much that is, and in which rounds.
    places
        Where each round's input stands in the row of private numbers, by the round.
    """

    def __init__(self, inputs: AdaptiveInputs, places: Mapping[int, NDArray[np.intp]]) -> None:
        self.inputs = inputs
        some = set(range(inputs.steps))
        if inputs.patterns is not None:
            some = {one for pattern in inputs.patterns for one in pattern}
        self.at = {step: places[step] for step in sorted(some & places.keys())}
        self.radius = exact_number("norm", inputs.radius)

    @property
    def size(self) -> int:
        """The number of numbers that change."""
        return len(self.at) * self.inputs.dimension

    @property
    def is_exact(self) -> bool:
        """Whether a record is in one round at most."""
        return self.inputs.most == 1

    @property
    def words(self) -> str:
        """The words that follow "the data change"."""
        most, given = self.inputs.most, self.inputs
        rounds = f"in one of {given.steps} rounds" if most == 1 else f"in at most {most} rounds"
        return f"by at most {given.radius:g} (l2) {rounds}"

    def locate_changes(self) -> NDArray[np.intp]:
        """Return which of the private numbers change."""
        none = np.zeros(0, dtype=np.intp)
        return np.concatenate([none, *self.at.values()]) if self.radius else none

    def along(self, kind: Kind, data: NDArray[Any]) -> NDArray[Any]:
        """Return the columns of the numbers that change."""
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *self.at.values()])
        return data[:, columns] if self.radius else data[:, columns] * 0

    def largest(self, gram: arb_mat) -> Bracket:
        """Return two ends of the largest mu; one number where a record is in one round."""
        blocks = _in_blocks(unpack_flint_matrix(gram), self.inputs.dimension)
        if self.is_exact:
            return self._of_one_round(blocks)
        unlike = _distance_from_alike(blocks)
        if unlike <= _ALIKE * max(float(gram[n, n].upper()) for n in range(gram.nrows())):
            found = self._compute_largest_square(self._spread(blocks[:, :, 0, 0]))
        else:
            found, unlike = self._of_blocks(blocks), arb(0)
        paid = unlike * self.inputs.most
        square = arb(fmpq(self.radius.numerator, self.radius.denominator)) ** 2
        return root_between((arb(found.lower) - paid) * square, (arb(found.upper) + paid) * square)

    def _of_one_round(self, blocks: NDArray[Any]) -> Bracket:
        ball = L2Ball(range(self.inputs.dimension), self.inputs.radius)
        ends = [ball.largest(_to_ball_matrix(blocks[n, n])) for n in range(len(blocks))]
        return Bracket(max(one.lower for one in ends), max(one.upper for one in ends))

    def _of_blocks(self, blocks: NDArray[Any]) -> SquaredSensitivity:
        """Return two ends by norms of blocks, and by an ascent."""
        norms = self._spread(_bound_spectral_norms(blocks))
        found = self._compute_largest_square(norms)
        number = {step: n for n, step in enumerate(self.at)}
        own = [number[step] for step in found.pattern if step in number]
        return SquaredSensitivity(
            _bound_block_form_below(blocks[np.ix_(own, own)]), found.upper, found.pattern
        )

    def _spread(self, table: NDArray[Any]) -> Gram:
        """Return a table of the rounds that have an input as one of all rounds."""
        every = np.full((self.inputs.steps, self.inputs.steps), arb(0), dtype=object)
        every[np.ix_(list(self.at), list(self.at))] = table
        return Gram(self.inputs.steps, every)

    def _compute_largest_square(self, gram: Gram) -> SquaredSensitivity:
        """Return the largest square of a matrix mechanism with these inner products."""
        if self.inputs.patterns is not None:
            return square_of_patterns(gram, self.inputs.patterns)
        return compute_squared_sensitivity(gram, self.inputs.participation)


@dataclass(frozen=True, eq=False)
class Gram(Strategy):
    """A strategy by the inner products of its columns, in balls.

    Parameters
    ----------
    rounds
        How many columns it has.
    table
        Their inner products, shape ``(rounds, rounds)``.
    """

    rounds: int
    table: NDArray[Any]

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether it is proved that no inner product is below 0."""
        return all(one >= 0 for one in self.table.ravel().tolist())

    @property
    def is_causal(self) -> bool:
        """Always true: inputs come before the coordinates that are formed from them."""
        return True

    def square(self, rounds: Sequence[int], signs: Sequence[int] | None = None) -> Entry:
        """Return ``|| sum_j s_j c_j ||^2``."""
        each = np.array(signs or [1] * len(rounds), dtype=object)
        signed = self.table[np.ix_(list(rounds), list(rounds))] * each * each[:, None]
        return sum(signed.ravel().tolist(), arb(0))

    def inner(self, one: int, other: int) -> Entry:
        """Return ``<c_i, c_j>``."""
        found: Entry = self.table[one, other]
        return found


def _in_blocks(table: NDArray[Any], size: int) -> NDArray[Any]:
    """Return a matrix by blocks, shape ``(rounds, rounds, size, size)``."""
    count = len(table) // size
    return np.ascontiguousarray(table.reshape(count, size, count, size).transpose(0, 2, 1, 3))


def _to_ball_matrix(block: NDArray[Any]) -> arb_mat:
    return arb_mat(block.tolist())


def _distance_from_alike(blocks: NDArray[Any]) -> arb:
    """Return a bound on blocks less ``m_st 1``, in Frobenius' norm, m_st their first entries."""
    off = blocks - blocks[:, :, :1, :1] * np.eye(blocks.shape[2], dtype=int).astype(object)
    off[:, :, 0, 0] = arb(0)
    return sum((one.abs_upper() ** 2 for one in off.ravel().tolist()), arb(0)).sqrt().upper()


def _bound_spectral_norms(blocks: NDArray[Any]) -> NDArray[Any]:
    """Return upper ends of the spectral norms of blocks."""
    count, ball = len(blocks), L2Ball(range(blocks.shape[2]))
    found = np.full((count, count), arb(0), dtype=object)
    for s in range(count):
        for t in range(s + 1):
            block = _to_ball_matrix(blocks[s, t])
            found[s, t] = arb(ball.largest(block * block.transpose()).upper)
            found[t, s] = found[s, t]
    return found


def _bound_block_form_below(blocks: NDArray[Any]) -> arb:
    """Return ``sum u_s' M_st u_t`` of unit vectors that turn towards a larger sum."""
    table = blocks.astype(float)
    vectors = _first_vectors(table)
    for _ in range(_MOST_TURNS):
        turned = _normalise_rows(np.einsum("stij,tj->si", table, vectors), vectors)
        if np.allclose(turned, vectors, rtol=0, atol=1e-15):
            break
        vectors = turned
    longest = max(sum((arb(x) ** 2 for x in row), arb(0)).upper() for row in vectors.tolist())
    row = arb_mat([vectors.ravel().tolist()])
    size = vectors.size
    whole = _to_ball_matrix(blocks.transpose(0, 2, 1, 3).reshape(size, size))
    return (row * whole * row.transpose())[0, 0] / longest


def _first_vectors(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the directions in each round of the leading eigenvector."""
    count, _, size, _ = table.shape
    whole = table.transpose(0, 2, 1, 3).reshape(count * size, count * size)
    _, vectors = np.linalg.eigh((whole + whole.T) / 2)
    return _normalise_rows(
        vectors[:, -1].reshape(count, size), np.eye(1, size).repeat(count, axis=0)
    )


def _normalise_rows(rows: NDArray[np.float64], instead: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return rows of length 1; where a row is 0, the other one."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.where(lengths > 0, rows / np.where(lengths > 0, lengths, 1.0), instead)
