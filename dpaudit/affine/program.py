r"""A recursion as a program over coordinates, each affine in private data and standard normals.

A run of linear code forms numbers ``x_i = offset_i + sum_j L_ij c_j + sum_k W_ik n_k``, with c the
private data and n independent standard normals. Neighbours share the offsets, which are no part of
a program. It keeps how each block of coordinates follows from earlier ones:

| block | its coordinates                                                             |
|-------|-----------------------------------------------------------------------------|
| data  | the private data themselves, one column of L each                            |
| noise | standard normals, one column of W each                                       |
| sum   | sums of terms ``numbers * x[ids]``, ``x[ids] / numbers`` or ``matrix x[ids]`` |

Doubles are rationals and enter without error; what is written as a `Fraction` stays one. So a
program stands for one pair of rational matrices L and W, evaluated in whichever arithmetic is
asked for (`dpaudit.affine.kinds`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.affine.kinds import Kind, SparseMatrix

Ids = NDArray[np.int64]
_MIXED = -1
NOWHERE = -1  # the id of a number that holds neither data nor noise


@dataclass(frozen=True, eq=False)
class BlockTerm:
    """One summand of a block.

    Parameters
    ----------
    ids
        The coordinates that it is made of, shape ``(m,)``; -1 for 0.
    numbers
        By which each of them is multiplied, or divided where it ``divides``: doubles or fractions,
        shape ``(m,)``; None for 1.
    divides
        Whether numbers divide.
    matrix
        In place of numbers: a matrix of m columns.
    """

    ids: Ids
    numbers: NDArray[Any] | None = None
    divides: bool = False
    matrix: SparseMatrix | None = None


@dataclass(frozen=True, eq=False)
class CoordinateBlock:
    """Coordinates that are formed at once: ``start`` to ``start + size``."""

    kind: Literal["data", "noise", "sum"]
    start: int
    size: int
    terms: tuple[BlockTerm, ...] = ()


@dataclass(eq=False)
class AffineProgram:
    """Blocks of coordinates, each after those that it is made of.

    Examples
    --------
    >>> from dpaudit.affine.kinds import DOUBLES
    >>> program = AffineProgram()
    >>> data, noise = program.add_leaf("data", 1), program.add_leaf("noise", 1)
    >>> sent = program.add_sum(BlockTerm(data), BlockTerm(noise, np.array([2.0])))
    >>> program.coefficients(DOUBLES, sent).tolist()  # columns of noise, then of data
    [[2.0, 1.0]]
    """

    blocks: list[CoordinateBlock] = field(default_factory=list)
    size: int = 0

    # --- building ----------------------------------------------------------------------------

    def add_leaf(self, kind: Literal["data", "noise"], size: int) -> Ids:
        """Append private data or standard normals, and return their ids."""
        return self._add(kind, size, ())

    def add_sum(self, *terms: BlockTerm) -> Ids:
        """Append a sum of terms, and return the ids of its coordinates."""
        first = terms[0]
        size = len(first.ids) if first.matrix is None else first.matrix.rows
        return self._add("sum", size, terms)

    def _add(self, kind: Any, size: int, terms: tuple[BlockTerm, ...]) -> Ids:
        self.blocks.append(CoordinateBlock(kind, self.size, size, terms))
        self.size += size
        return np.arange(self.size - size, self.size, dtype=np.int64)

    # --- what there is -----------------------------------------------------------------------

    def leaves(self, kind: Literal["data", "noise"]) -> Ids:
        """Return the ids of all private data, or of all normals, in order."""
        found = [
            np.arange(one.start, one.start + one.size) for one in self.blocks if one.kind == kind
        ]
        return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)

    def reached(self, ids: Ids) -> NDArray[np.bool_]:
        """Return for every coordinate whether some of these are made of it, shape ``(size,)``."""
        needed = np.zeros(self.size + 1, dtype=np.bool_)  # the last entry is that of -1
        needed[ids] = True
        # A block is made of earlier ones alone, so one pass backwards meets every use before
        # its operands.
        for block in reversed(self.blocks):
            own = needed[block.start : block.start + block.size]
            if not own.any():
                continue
            for term in block.terms:
                needed[term.ids if term.matrix is not None else term.ids[own]] = True
        return needed[:-1]

    def are_hidden_by_noise(self, data: Ids, noise: Ids, seen: Ids) -> bool:
        """Return whether each of some data is used once, in a sum with a normal used once.

        Then some change of those normals is the same as any change of the data, for who sees
        neither of them before that sum.

        Parameters
        ----------
        data, noise, seen
            Ids of private data, of the normals that nobody sees, and of what is seen.
        """
        uses = self._uses()
        for one in seen.tolist():  # what is seen is no way to a sum, but it may be one
            uses.setdefault(one, []).append((NOWHERE, _MIXED))
        hidden = {self._first_sum(uses, one) for one in noise.tolist()} - {None}
        return hidden.issuperset(self._first_sum(uses, one) for one in data.tolist())

    def _first_sum(self, uses: dict[int, list[tuple[int, int]]], leaf: int) -> int | None:
        """Return the sum of several parts that a leaf enters, if it enters nothing else."""
        at = leaf
        while True:
            used = uses.get(at, [])
            if len(used) != 1 or used[0][1] == _MIXED:
                return None
            at, parts = used[0]
            if parts > 1:
                return at

    def _uses(self) -> dict[int, list[tuple[int, int]]]:
        """Return where each coordinate is used, and of how many parts that sum is."""
        uses = dict[int, list[tuple[int, int]]]()
        for block in self.blocks:
            mixed = any(term.matrix is not None for term in block.terms)
            for term in block.terms:
                if (matrix := term.matrix) is None:
                    of, at = term.ids, np.arange(block.size)
                else:
                    of, at = term.ids[matrix.at_column], matrix.at_row
                for one, row in zip(of.tolist(), (at + block.start).tolist(), strict=True):
                    uses.setdefault(one, []).append((row, _MIXED if mixed else len(block.terms)))
        return uses

    # --- evaluating --------------------------------------------------------------------------

    def coefficients(self, kind: Kind, ids: Ids, noise: Ids | None = None) -> NDArray[Any]:
        """Return ``[W, L]`` of coordinates: shape ``(len(ids), normals + data)``.

        Parameters
        ----------
        kind
            The arithmetic.
        ids
            The coordinates, shape ``(m,)``; -1 for 0.
        noise
            The normals whose columns are returned, by default all.
        """
        leaves = np.concatenate(
            [self.leaves("noise") if noise is None else noise, self.leaves("data")]
        )
        columns = np.full(self.size, NOWHERE, dtype=np.int64)
        columns[leaves] = np.arange(len(leaves))

        def unit_rows(block: CoordinateBlock) -> NDArray[Any]:
            rows = kind.zeros((block.size, len(leaves)))
            own = columns[block.start : block.start + block.size]
            at = np.flatnonzero(own != NOWHERE)
            rows[at, own[at]] = kind.one
            return rows

        return self._evaluate(kind, ids, len(leaves), unit_rows)

    def values(self, kind: Kind, ids: Ids, data: NDArray[Any], noise: NDArray[Any]) -> NDArray[Any]:
        """Return the values of coordinates without offsets, shape ``(len(ids), R)``.

        Parameters
        ----------
        kind
            The arithmetic.
        ids
            The coordinates.
        data, noise
            Private data and normals of R runs, shapes ``(P, R)`` and ``(K, R)``.
        """
        places = np.full(self.size, NOWHERE, dtype=np.int64)
        places[self.leaves("data")] = np.arange(len(data))
        places[self.leaves("noise")] = np.arange(len(noise))

        def rows_of(block: CoordinateBlock) -> NDArray[Any]:
            own = places[block.start : block.start + block.size]
            return np.asarray((data if block.kind == "data" else noise)[own])

        return self._evaluate(kind, ids, data.shape[1], rows_of)

    def _evaluate(self, kind: Kind, ids: Ids, width: int, leaf_rows: Any) -> NDArray[Any]:
        """Return rows of coordinates; a block's are forgotten after their last use."""
        needed = self.reached(ids)
        found = kind.zeros((len(ids), width))
        starts = np.array([one.start for one in self.blocks] or [0])
        known = _Tables(kind, starts, width)
        last = self._last_uses(needed)
        for number, block in enumerate(self.blocks):
            if needed[block.start : block.start + block.size].any():
                rows = leaf_rows(block) if block.kind != "sum" else _sum_of(kind, known, block)
                known.tables[number] = rows
                mine = np.flatnonzero((ids >= block.start) & (ids < block.start + block.size))
                found[mine] = rows[ids[mine] - block.start]
            # Tables are forgotten as early as possible: of a long loop, all together would not
            # fit in memory.
            for one in last.get(number, ()):
                known.tables.pop(one, None)
        return found

    def _last_uses(self, needed: NDArray[np.bool_]) -> dict[int, list[int]]:
        """Return for a block those that no later one is made of."""
        starts = np.array([one.start for one in self.blocks] or [0])
        last = dict[int, int]()
        for number, block in enumerate(self.blocks):
            last[number] = number
            if needed[block.start : block.start + block.size].any():
                for before in _blocks_of(block, starts):
                    last[before] = number
        ends = dict[int, list[int]]()
        for one, end in last.items():
            ends.setdefault(end, []).append(one)
        return ends


def sort_distinct(ids: Ids) -> Ids:
    """Return each once, in order; by sorting, which is quicker here than `numpy.unique`."""
    ordered = np.sort(ids)
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = ordered[1:] != ordered[:-1]
    return np.asarray(ordered[is_new])


def _blocks_of(block: CoordinateBlock, starts: Ids) -> Iterator[int]:
    for term in block.terms:
        ids = term.ids[term.ids != NOWHERE]
        yield from sort_distinct(np.searchsorted(starts, ids, side="right") - 1).tolist()


@dataclass
class _Tables:
    """Rows of the blocks that are still of use."""

    kind: Kind
    starts: Ids
    width: int
    tables: dict[int, NDArray[Any]] = field(default_factory=dict)

    def rows(self, ids: Ids) -> NDArray[Any]:
        """Return the rows of coordinates; of those of which nothing is needed, zeros."""
        blocks = np.where(
            ids == NOWHERE, NOWHERE, np.searchsorted(self.starts, ids, side="right") - 1
        )
        several: Sequence[int] = sort_distinct(blocks).tolist()
        if len(several) == 1 and several[0] in self.tables:
            return np.asarray(self.tables[several[0]][ids - self.starts[several[0]]])
        found = self.kind.zeros((len(ids), self.width))
        for block in several:
            if block in self.tables:
                mine = np.flatnonzero(blocks == block)
                found[mine] = self.tables[block][ids[mine] - self.starts[block]]
        return found


def _sum_of(kind: Kind, known: _Tables, block: CoordinateBlock) -> NDArray[Any]:
    """Return the rows of a sum."""
    total: NDArray[Any] | None = None
    for term in block.terms:
        rows = known.rows(term.ids)
        if term.matrix is not None:
            rows = kind.mix(term.matrix, rows)
        elif term.numbers is not None:
            rows = kind.scale(rows, term.numbers, divides=term.divides)
        total = rows if total is None else kind.add(total, rows)
    assert total is not None
    return total
