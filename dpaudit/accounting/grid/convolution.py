"""Laws of the loss on a grid: tilted, rounded both ways and convolved, with a bound on the error.

With ``g`` the tilted masses on grid points x and ``log_total`` their common factor, the mass at x
is ``g exp(log_total - order x)``. Sums over ``x_j >= x_k`` of ``g_j exp(-c (x_j - x_k))`` are a
linear filter run from the right: stable, and no power is ever large.

Upwards, an atom at x between grid points a and b is split between them so that its probabilities
under P and under Q are kept: the result is further apart in every hockey-stick divergence, and only
to second order in the spacing (Doroshenko et al. 2022, "connect the dots"). Downwards, all outputs
of a cell become one output, which no divergence survives unharmed; P- and Q-masses of the cells are
kept apart. Everything is multiplied by ``exp(order x - offset)``, so that the part of the law that
decides is of order 1 and rounding errors are small against it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft
from scipy.linalg.lapack import dtbtrs

from dpaudit._typing import Array
from dpaudit.accounting.pairs.pair import DominatingPair


@dataclass(frozen=True)
class TiltedMasses:
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
class RoundedLaw:
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

    above: TiltedMasses
    cells_p: TiltedMasses
    cells_q: TiltedMasses
    drift: float

    def reach(self, spacing: float) -> float:
        """Return the size of the largest loss on the grid."""
        cells = self.cells_p
        return spacing * max(abs(cells.first), abs(cells.first + len(cells.masses)))


def round_loss_law(
    pair: DominatingPair, window: tuple[float, float], spacing: float, order: float
) -> RoundedLaw:
    """Return the law within a window; the caller accounts for the mass outside."""
    # One cell more on either side: the quotient is rounded, and an atom at the end of the window
    # must not fall off the grid.
    first = int(np.floor(window[0] / spacing)) - 1
    last = int(np.ceil(window[1] / spacing)) + 1
    edges: Array = spacing * np.arange(first, last + 1, dtype=np.float64)
    atoms = pair.atoms(edges)
    cells = np.clip(np.floor(atoms.losses / spacing).astype(np.intp) - first, 0, last - first - 1)
    # The floor of a rounded quotient may be one cell off, which would give negative shares of a
    # mass.
    within = np.clip(atoms.losses - (first + cells) * spacing, 0, spacing)
    size = last - first + 1
    log_p = atoms.log_masses + order * atoms.losses
    # The largest tilted mass becomes 1: masses are logarithms down to -700 and below, and their
    # powers would vanish all together.
    offset = float(log_p.max())
    masses = np.exp(log_p - offset)
    return RoundedLaw(
        above=_split_masses(masses, cells, within, first, size, spacing, order, offset),
        cells_p=_bin_masses(masses * np.exp(-order * within), cells, first, size, offset),
        cells_q=_bin_masses(masses * np.exp(-(order + 1) * within), cells, first, size, offset),
        drift=float(masses @ within / masses.sum() / spacing),
    )


def _split_masses(
    masses: Array,
    cells: NDArray[np.intp],
    within: Array,
    first: int,
    size: int,
    spacing: float,
    order: float,
    offset: float,
) -> TiltedMasses:
    # The share that keeps the Q-mass, which is the P-mass times ``exp(-loss)``: both ends together
    # must have what the atom had. A share that is linear in the loss would not keep it.
    up = np.expm1(-within) / np.expm1(-spacing)
    lower = masses * (1 - up) * np.exp(-order * within)
    upper = masses * up * np.exp(order * (spacing - within))
    # `bincount` adds up what falls into one cell; an assignment by index would keep the last one
    # alone.
    total = np.bincount(cells, lower, size) + np.bincount(cells + 1, upper, size)
    return _normalise_tilted(np.asarray(total, dtype=np.float64), first, offset)


def _bin_masses(
    masses: Array, cells: NDArray[np.intp], first: int, size: int, offset: float
) -> TiltedMasses:
    total = np.asarray(np.bincount(cells, masses, size), dtype=np.float64)
    return _normalise_tilted(total, first, offset)


def _normalise_tilted(masses: Array, first: int, offset: float) -> TiltedMasses:
    total = float(masses.sum())
    return TiltedMasses(masses / total, first, offset + float(np.log(total)))


_ROUNDING = float(np.finfo(np.float64).eps)
# Relative error of the masses of one step: of the quadrature, and of its exponentials.
_QUADRATURE = 1e-13
# Relative error of a transform per doubling of its length: Higham 2002, Theorem 24.2 has 6.7 unit
# roundoffs, of which this is 8.
_TRANSFORM = 4 * _ROUNDING
# Of sums of masses so small that they have lost their digits.
_UNDERFLOW = 1e-290
# log of a Chernoff bound for what lies beyond the grid that needs no better order
_SMALL_ENOUGH = math.log(1e-14)
_ORDERS_TRIED = 12  # orders at which that bound is tried at most


@dataclass(frozen=True)
class Convolution:
    """Tilted masses of a sum on a grid.

    Parameters
    ----------
    masses
        On ``(first + i) spacing``.
    first, spacing
        The grid.
    log_total
        As in `dpaudit.accounting.grid.convolution.TiltedMasses`.
    astray
        Bound on the tilted mass outside the grid, wherever the cyclic convolution put it.
    noise
        Bound on the l2 norm of the rounding errors of the masses.
    """

    masses: Array
    first: int
    spacing: float
    log_total: float
    astray: float
    noise: float

    @property
    def points(self) -> Array:
        """The grid."""
        return self.spacing * np.arange(self.first, self.first + len(self.masses), dtype=np.float64)

    def suffix_sums(self, order: float) -> Array:
        """Return ``sum_{j >= k} masses_j exp(-order (x_j - x_k))`` for every k."""
        return _filter_masses(self.masses, order * self.spacing)

    def suffix_profile(self, order: float) -> Array:
        """Return ``sum_{j >= k} masses_j exp(-order t) (1 - exp(-t))``, ``t = x_j - x_k``.

        With ``t = t' + h`` the last factor is ``(1 - e^-h) + e^-h (1 - e^-t')``: no cancellation.
        """
        h = self.spacing
        following = np.append(self.suffix_sums(order)[1:], 0.0)
        return _filter_masses(-math.expm1(-h) * math.exp(-order * h) * following, (order + 1) * h)

    def slack(self, order: float) -> float:
        """Return how far the logarithm of an untilted mass may be off: powers lose digits."""
        far = max(abs(self.first), abs(self.first + len(self.masses))) * self.spacing
        return 8 * _ROUNDING * (abs(self.log_total) + order * far)

    def errors(self, order: float, sums: Array) -> Array:
        """Return how far suffix sums may be off, shape as theirs."""
        # The l2 norm of the weights ``exp(-order t)`` over the grid: their squares are a geometric
        # series. By Cauchy and Schwarz it bounds what noise of a given l2 norm can add up to.
        reach = min(len(self.masses), 1 / -math.expm1(-2 * order * self.spacing))
        filtering = self._filtering(order, 1.0, sums)
        return _UNDERFLOW + self.astray + self.noise * math.sqrt(reach) + filtering

    def profile_errors(self, order: float, profile: Array) -> Array:
        """Return how far the suffix profile may be off: its weights are smaller."""
        t = self.spacing * np.arange(len(self.masses), dtype=np.float64)
        norm = _compute_l2_norm(np.exp(-order * t) * np.expm1(-t))
        top = math.exp(-order * math.log1p(1 / order)) / (1 + order)  # of the weights, at any t
        filtering = 2 * self._filtering(order, top, profile)
        return _UNDERFLOW + self.astray * top + self.noise * norm + filtering

    def _filtering(self, order: float, top: float, sums: Array) -> Array:
        """Return the rounding errors of the filter.

        A rounding error of the sum at ``x_j`` reaches that at ``x_k`` times ``exp(-order (x_j -
        x_k))``. So do the masses: the error is at most one unit of the sum itself for every point.
        """
        many = min(len(self.masses), 1 / -math.expm1(-order * self.spacing))
        own = len(self.masses) * np.maximum(sums, 0)
        return np.asarray(4 * _ROUNDING * np.minimum(many * top, own))


def _fold_masses(masses: Array, size: int) -> Array:
    folded = np.bincount(np.arange(len(masses)) % size, masses, size)
    return np.asarray(folded, dtype=np.float64)


def _compute_l2_norm(values: Array) -> float:
    return math.sqrt(float(np.sum(values * values)))  # no threads for so little


def _filter_masses(masses: Array, rate: float) -> Array:
    # The filter ``y_k = x_k + exp(-rate) y_{k+1}`` is the solution of a triangular band system,
    # which LAPACK finds in one pass: numpy alone has no recursive filter.
    bands = np.ones((2, len(masses)))
    bands[1] = -math.exp(-rate)
    sums: Array = dtbtrs(bands, masses[::-1], uplo="L")[0][::-1]
    return sums


def convolve_laws(
    parts: list[tuple[TiltedMasses, int]],
    first: int,
    size: int,
    spacing: float,
    tails: tuple[float, float],
    left_out: float,
    side: int,
) -> Convolution:
    """Return the law of the sum of independent copies.

    Parameters
    ----------
    parts
        Laws and how often each occurs.
    first, size, spacing
        The grid of the sum.
    tails
        Orders of the Chernoff bounds below and above the grid.
    left_out
        Tilted mass the parts do not have, all together.
    side
        1 if the masses are to err upwards, -1 downwards, by what quadrature may be off.
    """
    if len(parts) == 1 and parts[0][1] == 1:
        return _convert_single_law(parts[0][0], spacing, left_out, side)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    start, total, norm, count_all = 0, 0.0, 0.0, 0
    for part, count in parts:
        # Masses beyond the grid are wrapped around it before the transform, exactly as the cyclic
        # convolution wraps those of the sum: `_bound_mass_outside_grid` pays for both.
        folded = _fold_masses(part.masses, size)
        # A power instead of ``count`` convolutions. The error of a power grows with the count,
        # which `noise` contains.
        spectrum *= rfft(folded) ** count
        start += count * part.first
        total += count * part.log_total
        norm += count * _compute_l2_norm(folded)
        count_all += count
    masses = np.roll(irfft(spectrum, size), start - first)
    one = _TRANSFORM * math.log2(size)
    noise = one * norm + (one + 4 * _ROUNDING * count_all) * _compute_l2_norm(masses)
    astray = left_out + _bound_mass_outside_grid(parts, first, size, spacing, tails)
    total += side * count_all * _QUADRATURE
    return Convolution(masses, first, spacing, total, astray, noise)


def _convert_single_law(
    part: TiltedMasses, spacing: float, left_out: float, side: int
) -> Convolution:
    """Return the law of a single release, which needs no transform: nothing wraps around."""
    total = part.log_total + side * _QUADRATURE
    return Convolution(part.masses, part.first, spacing, total, left_out, 0.0)


def _bound_mass_outside_grid(
    parts: list[tuple[TiltedMasses, int]],
    first: int,
    size: int,
    spacing: float,
    tails: tuple[float, float],
) -> float:
    low, high = first * spacing, (first + size) * spacing
    return _bound_mass_by_chernoff(parts, -tails[0], low, spacing) + _bound_mass_by_chernoff(
        parts, tails[1], high, spacing
    )


def _bound_mass_by_chernoff(
    parts: list[tuple[TiltedMasses, int]], order: float, at: float, spacing: float
) -> float:
    """Return a bound on the mass beyond a point: above it for orders above 0, else below.

    The order is that of the law itself. Rounded, the law may be far wider than it was: then smaller
    orders are tried.
    """
    # A probability is at most 1: where no order helps, this is the bound.
    best = 0.0
    for _ in range(_ORDERS_TRIED):
        log_mgf = sum(count * part.log_mgf(order, spacing) for part, count in parts)
        best = min(best, log_mgf - order * at)
        if best < _SMALL_ENOUGH:
            break
        order /= 4
    return math.exp(best)
