"""The view of one observer in each arithmetic, computed once for all changes of the data.

With ``[W, L]`` the rows that are seen (`dpaudit.affine.view`), a change ``D = L c`` leaves the
range of W if and only if ``N D`` is not 0, the rows of N being a basis of all y with ``y'W = 0``.
Modulo a prime both come from one reduction. And whatever changes, its mu follows from
``L' S^-1 L``, S being ``W W'`` of the rows of a basis.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from dpaudit._typing import Array
from dpaudit.affine.kinds import (
    DOUBLES,
    Balls,
    Kind,
    Residues,
    compute_residue_kernel,
    draw_primes,
    independent_rows,
    unpack_flint_matrix,
)
from dpaudit.affine.program import NOWHERE, AffineProgram, Ids
from dpaudit.errors import ConvergenceError
from dpaudit.reals import precision

# Drawn when the module is imported, so that no program can be written against them; eight, as
# some may divide a divisor of the program.
PRIMES = draw_primes(8)
_MOST_ROUGH = 250_000
_ROUGHLY = 1e-11
ENOUGH = 3  # primes, of those that divide no divisor of a program


@dataclass(eq=False)
class Observation:
    """The coordinates that an observer sees of a program.

    Parameters
    ----------
    program
        The recursion.
    ids
        What is seen, shape ``(m,)``.
    """

    program: AffineProgram
    ids: Ids

    def __post_init__(self) -> None:
        self._spent = dict[int, tuple[NDArray[Any], NDArray[Any]] | None]()
        self._tables = dict[int, tuple[NDArray[Any], NDArray[Any]]]()

    @cached_property
    def rows(self) -> Ids:
        """The coordinates that it sees, each once, without data and normals that it sees as such.

        Data that it sees by themselves and that do not change move nothing.
        """
        seen = np.unique(self.ids[self.ids != NOWHERE])
        known = [self.program.leaves("noise"), self.program.leaves("data")]
        return np.setdiff1d(seen, np.concatenate(known))

    @cached_property
    def columns(self) -> Ids:
        """The normals behind its coordinates that the observer does not see by themselves."""
        normals = self.program.leaves("noise")
        used = normals[self.program.reached(self.rows)[normals]]
        return np.setdiff1d(used, self.ids)

    def table(self, kind: Kind, rows: Ids) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return W and L of some coordinates: columns of the normals, and of all data."""
        both = self.program.coefficients(kind, rows, self.columns)
        cut = len(self.columns)
        return both[:, :cut], both[:, cut:]

    @cached_property
    def kernels(self) -> tuple[tuple[int, NDArray[Any]], ...]:
        """The rank of W modulo each prime, and ``N L``; of one prime, if it shows full rank."""
        found = list[tuple[int, NDArray[Any]]]()
        for prime, data in zip(self.primes, self.data, strict=True):
            kind = Residues(prime)
            kernel = compute_residue_kernel(kind, self._residues(prime)[0])
            found.append((len(self.rows) - len(kernel), kind.multiply(kernel, data)))
            # Full rank modulo one prime is full rank, so no other prime is asked.
            if not len(kernel):
                break
        return tuple(found)

    @cached_property
    def rank(self) -> int:
        """The rank of W: the largest modulo the primes."""
        return max(rank for rank, _ in self.kernels)

    @cached_property
    def basis(self) -> NDArray[np.intp]:
        """Rows that the others depend on, as places in `rows`."""
        if self.rank == len(self.rows):
            return np.arange(len(self.rows))
        found = [
            independent_rows(Residues(prime), self._residues(prime)[0]) for prime in self.primes
        ]
        return max(found, key=len)

    def _residues(self, prime: int) -> tuple[NDArray[Any], NDArray[Any]]:
        if prime not in self._tables:
            self._tables[prime] = self.table(Residues(prime), self.rows)
        return self._tables[prime]

    @cached_property
    def data(self) -> tuple[NDArray[Any], ...]:
        """L modulo each prime."""
        return tuple(self._residues(prime)[1] for prime in self.primes)

    @cached_property
    def primes(self) -> tuple[int, ...]:
        """Three primes modulo which nothing is divided by 0."""
        found = list[int]()
        for prime in PRIMES:
            with contextlib.suppress(ZeroDivisionError):
                self._residues(prime)
                found.append(prime)
            if len(found) == ENOUGH:
                return tuple(found)
        raise ConvergenceError(f"ranks: too many of the primes {PRIMES} divide a divisor")

    @cached_property
    def rough(self) -> tuple[Array, Array, Array] | None:
        """Normals u with ``W u`` near L by eleven digits of each row, the remainder, and L.

        None of a view that is large, or whose numbers leave the range of doubles.
        """
        if not 0 < len(self.rows) * len(self.columns) <= _MOST_ROUGH:
            return None
        noise, data = self.table(DOUBLES, self.rows)
        sizes = np.abs(noise).max(axis=1, keepdims=True)
        sizes[sizes == 0] = 1.0
        if not (np.isfinite(noise / sizes).all() and np.isfinite(data / sizes).all()):
            return None
        normals, *_ = np.linalg.lstsq(noise / sizes, data / sizes, rcond=_ROUGHLY)
        return normals, noise @ normals - data, data

    def spend(self, digits: int) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Return L and ``S^-1 L`` of the rows of a basis, enclosed; None if digits do not do.

        Both have a column for each of the private numbers.
        """
        if digits not in self._spent:
            with precision(digits), contextlib.suppress(ZeroDivisionError):
                self._spent[digits] = self._solve(Balls(digits))
        return self._spent.setdefault(digits, None)

    def _solve(self, kind: Balls) -> tuple[NDArray[Any], NDArray[Any]]:
        # Rows that follow from others make S singular, and show nothing new.
        noise, data = self.table(kind, self.rows[self.basis])
        # A column that is 0 modulo every prime is left out, as most private numbers reach few
        # observers.
        at = np.flatnonzero(np.any([one.any(axis=0) for one in self.data], axis=0))
        factor, moved = kind.flint(noise), kind.flint(np.ascontiguousarray(data[:, at]))
        solved = (factor * factor.transpose()).solve(moved)
        spent = kind.zeros(data.shape)
        spent[:, at] = unpack_flint_matrix(solved)
        return data, spent


_KNOWN: WeakKeyDictionary[AffineProgram, dict[bytes, Observation]] = WeakKeyDictionary()


def get_observation(program: AffineProgram, ids: Ids) -> Observation:
    """Return the view of a complete program, the same for the same coordinates."""
    known = _KNOWN.setdefault(program, {})
    return known.setdefault(np.unique(ids).tobytes(), Observation(program, ids))


def get_midpoints(matrix: arb_mat) -> Array:
    """Return the midpoints of balls, as doubles."""
    return np.asarray(unpack_flint_matrix(matrix).astype(np.float64))


def distance_from_one(gram: arb_mat) -> arb:
    """Return a bound on a matrix less the identity, in Frobenius' norm."""
    off = gram - arb_mat(np.eye(gram.nrows()).tolist())
    return sum((entry.abs_upper() ** 2 for entry in off.entries()), arb(0)).upper().sqrt().upper()
