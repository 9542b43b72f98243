"""One law of the loss on a grid, tilted, rounded both ways.

Upwards, an atom at x between grid points a and b is split between them so that its probabilities
under P and under Q are kept: the result is further apart in every hockey-stick divergence, and only
to second order in the spacing (Doroshenko et al. 2022, "connect the dots"). Downwards, all outputs
of a cell become one output, which no divergence survives unharmed; P- and Q-masses of the cells are
kept apart. Everything is multiplied by ``exp(order x - offset)``, so that the part of the law that
decides is of order 1 and rounding errors are small against it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpaudit.accounting.pairs import DominatingPair

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Tilted:
    """Masses on ``(first + i) * spacing``, shape ``(n,)``, that add up to 1.

    The mass before the tilt is ``masses * exp(log_total - order * x)``.
    """

    masses: Array
    first: int
    log_total: float

    def log_mgf(self, order: float, spacing: float) -> float:
        """Return ``log sum masses exp(order x)``."""
        there = np.flatnonzero(self.masses)
        exponents = order * spacing * (self.first + there) + np.log(self.masses[there])
        top = float(exponents.max())
        return top + float(np.log(np.sum(np.exp(exponents - top))))


@dataclass(frozen=True)
class Rounded:
    """A law rounded both ways.

    Parameters
    ----------
    above
        P rounded upwards.
    cells_p, cells_q
        P- and Q-masses of the cells; Q is tilted by one order more. A cell counts as its lower end.
    drift
        How far above that its mass lies, in spacings, on average.
    """

    above: Tilted
    cells_p: Tilted
    cells_q: Tilted
    drift: float

    def reach(self, spacing: float) -> float:
        """Return the size of the largest loss on the grid."""
        cells = self.cells_p
        return spacing * max(abs(cells.first), abs(cells.first + len(cells.masses)))


def rounded(
    pair: DominatingPair, window: tuple[float, float], spacing: float, order: float
) -> Rounded:
    """Return the law within a window; what lies outside is for the caller to account for."""
    first = int(np.floor(window[0] / spacing)) - 1
    last = int(np.ceil(window[1] / spacing)) + 1
    edges: Array = spacing * np.arange(first, last + 1, dtype=np.float64)
    atoms = pair.atoms(edges)
    cells = np.clip(np.floor(atoms.losses / spacing).astype(np.intp) - first, 0, last - first - 1)
    within = np.clip(atoms.losses - (first + cells) * spacing, 0, spacing)
    size = last - first + 1
    log_p = atoms.log_masses + order * atoms.losses
    offset = float(log_p.max())
    masses = np.exp(log_p - offset)
    return Rounded(
        above=_split(masses, cells, within, first, size, spacing, order, offset),
        cells_p=_binned(masses * np.exp(-order * within), cells, first, size, offset),
        cells_q=_binned(masses * np.exp(-(order + 1) * within), cells, first, size, offset),
        drift=float(masses @ within / masses.sum() / spacing),
    )


def _split(
    masses: Array,
    cells: NDArray[np.intp],
    within: Array,
    first: int,
    size: int,
    spacing: float,
    order: float,
    offset: float,
) -> Tilted:
    up = np.expm1(-within) / np.expm1(-spacing)
    lower = masses * (1 - up) * np.exp(-order * within)
    upper = masses * up * np.exp(order * (spacing - within))
    total = np.bincount(cells, lower, size) + np.bincount(cells + 1, upper, size)
    return _normalised(np.asarray(total, dtype=np.float64), first, offset)


def _binned(masses: Array, cells: NDArray[np.intp], first: int, size: int, offset: float) -> Tilted:
    total = np.asarray(np.bincount(cells, masses, size), dtype=np.float64)
    return _normalised(total, first, offset)


def _normalised(masses: Array, first: int, offset: float) -> Tilted:
    total = float(masses.sum())
    return Tilted(masses / total, first, offset + float(np.log(total)))
