r"""Sparse linear recursions, solved by substitution forwards and backwards, with error bounds.

A recursion has inputs v, states ``x = A x + B v``, each after those that it is made of, and outputs
``r = E x + F v``. So ``r = R v`` for a matrix R that nobody forms. ``R v`` takes one pass forwards
and ``R' w`` one pass backwards, ``g = A'g + E'w``, ``R' w = B'g + F'w``: as many products as there
are entries.

**Rounding.** With ``u = 2^-53``, each entry is a rational that was rounded k times. A sum of n
products then differs from that of the rational entries by at most ``gamma = m u / (1 - m u)`` times
the sum of absolute values, in any order, where ``m = n + k + 2`` (Higham 2002, section 3.1). With e
a bound on the errors of what enters a row, that of the row is

    e_i <= sum_j |A_ij| e_j + gamma_i sum_j |A_ij| |x_j|,

worked out in a pass of its own, with its own rounding paid for. It grows as powers of |A| do, which
for averages is not at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from dpaudit._typing import Array

_UNIT = 2.0**-53
_SPARE = 8  # roundings beside those of a sum: of entries, and of the bounds themselves
_TINY = 1e-300  # above what underflow adds to a row


class MidpointEnclosure(NamedTuple):
    """Numbers, and how far each may be from the true one."""

    middle: Array
    error: Array


class SparseEntries(NamedTuple):
    """Places and numbers of a sparse matrix; equal places add up."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    numbers: Array

    def where(self, chosen: NDArray[Any]) -> SparseEntries:
        """Return some of the entries: their places, or for each whether."""
        return SparseEntries(self.rows[chosen], self.columns[chosen], self.numbers[chosen])

    def by_row(self, shape: tuple[int, int]) -> csr_array:
        """Return the matrix, with entries of equal places side by side."""
        order = np.argsort(self.rows, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.rows, minlength=shape[0]))])
        indices = self.columns[order].astype(np.int32)
        return csr_array((self.numbers[order], indices, starts.astype(np.int32)), shape=shape)

    def transposed(self) -> SparseEntries:
        """Return the entries of the transpose."""
        return SparseEntries(self.columns, self.rows, self.numbers)


class Parts(NamedTuple):
    """The entries of A, B, E and F."""

    states: SparseEntries
    inputs: SparseEntries
    outputs: SparseEntries
    direct: SparseEntries


@dataclass(frozen=True, eq=False)
class StateSubstitution:
    """States and outputs that follow from inputs.

    Parameters
    ----------
    parts
        Of what states and outputs are made.
    levels
        Where each level of states begins, and where the last one ends: states are made of those of
        earlier levels.
    counts
        How many inputs and outputs there are.
    roundings
        The most roundings of an entry.
    """

    parts: Parts
    levels: NDArray[np.int64]
    counts: tuple[int, int]
    roundings: int

    @property
    def size(self) -> int:
        """The number of states."""
        return int(self.levels[-1])

    @cached_property
    def forwards(self) -> Pass:
        """The pass from inputs to outputs."""
        return self._pass(self.parts, self._ends, self.counts)

    @cached_property
    def backwards(self) -> Pass:
        """The pass from outputs to inputs."""
        states, inputs, outputs, direct = (one.transposed() for one in self.parts)
        turned = Parts(states, outputs, inputs, direct)
        return self._pass(turned, self._ends[::-1], self.counts[::-1])

    @property
    def _ends(self) -> list[tuple[int, int]]:
        return list(zip(self.levels[:-1].tolist(), self.levels[1:].tolist(), strict=True))

    def _pass(self, parts: Parts, ends: list[tuple[int, int]], counts: tuple[int, int]) -> Pass:
        inner = parts.states.by_row((self.size, self.size))
        steps = [_Step(start, end, inner[start:end]) for start, end in ends]
        return Pass(
            self.roundings,
            [one for one in steps if one.matrix.nnz],
            parts.inputs.by_row((self.size, counts[0])),
            parts.outputs.by_row((counts[1], self.size)),
            parts.direct.by_row((counts[1], counts[0])),
        )


class _Step(NamedTuple):
    """States from ``start`` to ``end``, as a matrix times all states."""

    start: int
    end: int
    matrix: csr_array


@dataclass(frozen=True, eq=False)
class Pass:
    """A recursion in one direction.

    Parameters
    ----------
    roundings
        The most roundings of an entry.
    steps
        The levels of states, in order.
    enter, leave, direct
        The matrices from inputs to states, from states to outputs, and from inputs to outputs.
    """

    roundings: int
    steps: list[_Step]
    enter: csr_array
    leave: csr_array
    direct: csr_array

    def apply(self, given: Array) -> Array:
        """Return the outputs of some inputs, in doubles."""
        states = self.enter @ given
        for start, end, matrix in self.steps:
            states[start:end] += matrix @ states
        return np.asarray(self.leave @ states + self.direct @ given)

    def enclose(self, given: MidpointEnclosure) -> MidpointEnclosure:
        """Return the outputs of some inputs, with bounds on their errors."""
        known = given.middle, _stack_enclosure_sizes(given)
        entered = self._sum(self.enter, *known)
        states, sizes = entered.middle, _stack_enclosure_sizes(entered)
        for start, end, matrix in self.steps:
            own = MidpointEnclosure(states[start:end], sizes[start:end, 0])
            found = _add_enclosures(own, self._sum(matrix, states, sizes))
            states[start:end], sizes[start:end] = found.middle, _stack_enclosure_sizes(found)
        return _add_enclosures(self._sum(self.leave, states, sizes), self._sum(self.direct, *known))

    def _sum(self, matrix: csr_array, middle: Array, sizes: Array) -> MidpointEnclosure:
        """Return a matrix times numbers, with bounds that follow from the numbers' sizes."""
        errors, total = (_compute_absolute_matrix(matrix) @ sizes).T
        gamma = (np.diff(matrix.indptr) + self.roundings + _SPARE) * (1.01 * _UNIT)
        return MidpointEnclosure(
            matrix @ middle, (errors + gamma * total) * (1 + 4 * gamma) + _TINY
        )

    def spread(
        self, least: np.ufunc, given: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return for states and outputs the least, or the largest, of the numbers that reach them.

        Parameters
        ----------
        least
            `numpy.minimum` or `numpy.maximum`.
        given
            A number of each input, 0 or more.
        """
        states = _reduce_rows(self.enter, given, least)
        for start, end, matrix in self.steps:
            states[start:end] = least(states[start:end], _reduce_rows(matrix, states, least))
        both = _reduce_rows(self.leave, states, least), _reduce_rows(self.direct, given, least)
        return states, np.asarray(least(*both))


def _compute_absolute_matrix(matrix: csr_array) -> csr_array:
    """Return a matrix of absolute values, with entries of equal places side by side.

    `abs` of scipy adds them up first, also in the matrix that it is given: what cancels there was
    rounded all the same.
    """
    given = np.abs(matrix.data), matrix.indices, matrix.indptr
    return csr_array(given, shape=matrix.shape)


def _reduce_rows(matrix: csr_array, given: NDArray[np.int64], least: np.ufunc) -> NDArray[np.int64]:
    """Return the least, or the largest, of the numbers that a row has entries for."""
    found = np.full(matrix.shape[0], np.iinfo(np.int64).max if least is np.minimum else -1)
    some = np.flatnonzero(np.diff(matrix.indptr))
    if len(some):
        found[some] = least.reduceat(given[matrix.indices], matrix.indptr[some])
    return found


def _stack_enclosure_sizes(found: MidpointEnclosure) -> Array:
    """Return errors and absolute values side by side, shape ``(numbers, 2)``."""
    return np.stack([found.error, np.abs(found.middle)], axis=1)


def _add_enclosures(one: MidpointEnclosure, other: MidpointEnclosure) -> MidpointEnclosure:
    middle = one.middle + other.middle
    rounded = 2 * _UNIT * np.abs(middle)
    return MidpointEnclosure(middle, (one.error + other.error + rounded) * (1 + 4 * _UNIT))
