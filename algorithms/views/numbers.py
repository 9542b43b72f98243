"""Three ways to calculate with the coefficients of a network: exactly, modulo a prime, enclosed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from flint import arb_mat, fmpq_mat, nmod, nmod_mat
from numpy.typing import NDArray

from dpaudit.algorithms.views.system import Form, Network, packed, unpacked


@dataclass(frozen=True)
class Rationals:
    """Exact."""

    def coefficients(self, network: Network) -> NDArray[Any]:
        """Return ``[W, L]`` of all that is sent, see `Network.coefficients`."""
        return network.coefficients(lambda matrix: matrix)

    def matrix(self, entries: NDArray[Any]) -> Any:
        """Return entries as a matrix."""
        return packed(entries)

    def column(self, change: Form) -> Any:
        """Return a change of the data as a matrix of one column."""
        return packed(change[:, None])


@dataclass(frozen=True)
class Residues:
    """Modulo a prime."""

    prime: int

    def coefficients(self, network: Network) -> NDArray[Any]:
        """Return ``[W, L]`` of all that is sent, see `Network.coefficients`."""
        return _remembered(network, self.prime, self._converted)

    def matrix(self, entries: NDArray[Any]) -> Any:
        """Return entries as a matrix."""
        rows, columns = entries.shape
        return nmod_mat(rows, columns, [int(entry) for entry in entries.ravel()], self.prime)

    def column(self, change: Form) -> Any:
        """Return a change of the data as a matrix of one column."""
        return self._converted(packed(change[:, None]))

    def _converted(self, matrix: fmpq_mat) -> Any:
        entries = [
            int(nmod(int(entry.p), self.prime) / nmod(int(entry.q), self.prime))
            for entry in matrix.entries()
        ]
        return nmod_mat(matrix.nrows(), matrix.ncols(), entries, self.prime)


@dataclass(frozen=True)
class Balls:
    """Enclosed, with so many digits."""

    digits: int

    def coefficients(self, network: Network) -> NDArray[Any]:
        """Return ``[W, L]`` of all that is sent, see `Network.coefficients`."""
        return _remembered(network, -self.digits, arb_mat)

    def matrix(self, entries: NDArray[Any]) -> Any:
        """Return entries as a matrix."""
        rows, columns = entries.shape
        return arb_mat(rows, columns, entries.ravel().tolist())

    def column(self, change: Form) -> Any:
        """Return a change of the data as a matrix of one column."""
        return arb_mat(packed(change[:, None]))


Kind = Rationals | Residues | Balls
_KNOWN: WeakKeyDictionary[Network, dict[int, NDArray[Any]]] = WeakKeyDictionary()


def _remembered(network: Network, key: int, convert: Callable[[fmpq_mat], Any]) -> NDArray[Any]:
    """Return the coefficients; networks never change and compare by identity."""
    known = _KNOWN.setdefault(network, {})
    if key not in known:
        known[key] = network.coefficients(convert)
    return known[key]


def ranks(kind: Kind, seen: NDArray[Any]) -> tuple[int, int]:
    """Return the ranks of ``W`` and of ``[W, D]``."""
    if not seen.size:
        return 0, 0
    without = kind.matrix(seen[:, :-1]).rank() if seen.shape[1] > 1 else 0
    return without, kind.matrix(seen).rank()


def independent(kind: Kind, noise: NDArray[Any]) -> NDArray[np.intp]:
    """Return the first rows that span all rows: pivots of the transpose."""
    if not noise.size:
        return np.zeros(0, dtype=np.intp)
    reduced, rank = kind.matrix(noise.T.copy()).rref()
    table = unpacked(reduced)
    return np.array([_leading(table[row]) for row in range(rank)], dtype=np.intp)


def _leading(row: NDArray[Any]) -> int:
    return next(place for place, entry in enumerate(row) if int(entry) != 0)
