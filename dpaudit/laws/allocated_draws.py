r"""Balls and bins: draws that lose about a given amount, with a proved bound on their payoffs.

Notation, in units of the noise: sums y_1..y_T of an epoch, independent and N(0, 1) where no record
matters (law 0); s the size of the one term; ``W_t = exp(s y_t - s^2 / 2)``; ``S = (W_1 + .. + W_T)
/ T`` the ratio of the law with the record to law 0. Draws of density ``h`` against law 0 pay

    X = (S - e^epsilon)_+ / h    where the record is in the dataset (loss log S),
    X = (1 - e^epsilon S)_+ / h  where it is in the other one (loss -log S),

and their mean is delta(epsilon). An upper end needs a number that no X exceeds.

*Addition.* S must be small, and the terms are bounded below: ``h = prod_t exp(-lambda W_t) / M``, M
the mean of ``exp(-lambda W)``. With ``k = lambda T e^-epsilon``, X is at most ``M^T max_v v exp(k
(1 - v))``, v in [0, 1].

*Removal.* S is large because one W is, or because many are somewhat, or both. Let ``V = min(W, c)``
and M the mean of ``exp(lambda V)``: W itself has no such mean. A W of at least c is called a jump,
and the jumps' range is cut into cells. ``h = sum_j pi_j h_j`` with rates lambda_j of their own:

    h_0 = prod_t exp(lambda V_t) / M
    h_j = (1/T) sum_t W_t 1{W_t in cell j} / P_j  prod_(u != t) exp(lambda V_u) / M,

P_j the probability that the record's W is in cell j. Let ``K = T e^epsilon``. Without a jump the V
add up to ``K + T x`` where S is ``e^epsilon + x``, so that ``X <= c_0 / pi_0`` with ``c_0 = M^T
e^(-lambda K) / (e lambda T)``. With n jumps, of which the largest, w, is in cell j, and a sum A of
the others, S is at most ``(n w + A) / T`` and the V but w's add up to ``(n - 1) c + A``, so that

    X <= c_j / pi_j,  c_j = P_j M^(T-1) sup_(n, A, w) (n + (A - K) / w)_+ e^(-lambda (A + (n-1) c)).

The supremum over w in a cell is at an end, larger w for A below K and smaller beyond; in A it is
that of a line times an exponential; in n it is looked for up to 24, and beyond it
decreases, as no ``lambda c`` is below 1/16. With
``pi_j`` as the ``c_j`` are, X is at most their sum. The rates and c make it small: it is a
Chernoff bound of delta and the draws are those of its proof.

The moments M come from Gauss-Legendre panels that resolve W: they are known to about ``1e-14``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.random import Generator
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr, logsumexp, ndtr, ndtri_exp

from dpaudit._typing import Array

# Sizes of the term for which the panels resolve W and its exponentials are finite numbers.
_LEAST = 0.1
_MOST = 10.0
# Standard deviations; the normal law has a mass of about 6e-39 beyond.
_FAR = 13.0
_JUMPS = 24
_CELLS = 24
_QUADRATURE_RULE = np.polynomial.legendre.leggauss(6)
_NODES = _QUADRATURE_RULE[0]
_PARTS = _QUADRATURE_RULE[1]
_LARGEST = 60.0  # of lambda c


@lru_cache(maxsize=64)
def draws_beyond(
    size: float, batches: int, epsilon: float, *, removal: bool
) -> Small | Large | None:
    """Return the draws that are best beyond epsilon; None where they are not known."""
    if not _LEAST <= size <= _MOST:
        return None
    if not removal:
        return Small.aimed(size, batches, epsilon)
    caps = np.linspace(max(3.0, size / 2 + 0.5), max(12.0, size + 7), 13)
    tried = (Large.aimed(size, batches, epsilon, float(cap)) for cap in caps)
    return min(tried, key=lambda one: one.log_bound(epsilon))


def _make_quadrature_panels(edges: Array) -> tuple[Array, Array]:
    """Return nodes and the normal mass of each, of panels between edges, shape ``(panels, 6)``."""
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    nodes = middle[:, None] + half[:, None] * _NODES
    density = np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    return nodes, half[:, None] * _PARTS * density


def _choose_panel_width(size: float) -> float:
    return min(0.1, 0.4 / size)


@dataclass(frozen=True)
class Small:
    """Draws with a small S: every sum is of density ``exp(-rate W)`` against the normal one."""

    size: float
    batches: int
    rate: float

    @classmethod
    def aimed(cls, size: float, batches: int, epsilon: float) -> Small:
        """Return the draws whose bound beyond epsilon is least."""
        found = minimize_scalar(
            lambda log_rate: cls(size, batches, math.exp(log_rate)).log_bound(epsilon),
            bounds=(math.log(1e-3), math.log(1e3) + epsilon),  # for an S of about e^-epsilon
            method="bounded",
            options={"xatol": 1e-2},
        )
        return cls(size, batches, math.exp(found.x))

    def log_bound(self, epsilon: float) -> float:
        """Return the logarithm of a number that no X exceeds."""
        k = self.rate * self.batches * math.exp(-epsilon)
        return self.batches * self._log_moment() + (k - 1 - math.log(k) if k > 1 else 0.0)

    def sample(self, trials: int, rng: Generator) -> tuple[Array, Array]:
        """Return sums in units of the noise, and ``log h`` of each row, by rejection.

        A convex W is above its tangent at the mode, which makes the proposal normal.
        """
        mode = self._mode()
        at = self.rate * math.exp(self.size * mode - self.size**2 / 2)
        flat = np.empty(trials * self.batches)
        left = np.arange(len(flat))
        while len(left):
            y = mode + rng.standard_normal(len(left))
            steep = self.size * (y - mode)
            taken = rng.random(len(left)) < np.exp(at * (steep - np.expm1(steep)))
            flat[left[taken]] = y[taken]
            left = left[~taken]
        sums = flat.reshape(trials, self.batches)
        return sums, self._log_density(sums)

    def _log_density(self, sums: Array) -> Array:
        total = np.exp(self.size * sums - self.size**2 / 2).sum(axis=1)
        return np.asarray(-self.rate * total - self.batches * self._log_moment())

    def _mode(self) -> float:
        """Return where ``y^2 / 2 + rate W`` is least, by Newton's steps on its convex slope."""
        # u = -y s solves u = rate s^2 exp(-u - s^2/2), so log u + u is known.
        known = math.log(self.rate * self.size**2) - self.size**2 / 2
        log_u = min(known, math.log(max(known, 1.0)))
        for _ in range(60):
            log_u -= (log_u + math.exp(log_u) - known) / (1 + math.exp(log_u))
        return -math.exp(log_u) / self.size

    def _log_moment(self) -> float:
        mode = self._mode()
        edges = np.arange(
            mode - _FAR, _FAR + _choose_panel_width(self.size), _choose_panel_width(self.size)
        )
        nodes, masses = _make_quadrature_panels(edges)
        mean = np.exp(-self.rate * np.exp(self.size * nodes - self.size**2 / 2))
        return math.log(float((mean * masses).sum()))


@dataclass(frozen=True, eq=False)
class Large:
    """Draws with a large S: a mixture of no jump and of one in each cell.

    Parameters
    ----------
    size, batches
        s and T.
    cells
        Ends of the cells in units of the noise, the first at c and the last infinite.
    log_shares, rates
        Of no jump, and of every cell.
    log_moments
        ``log M`` of every rate.
    """

    size: float
    batches: int
    cells: Array
    log_shares: Array
    rates: Array
    log_moments: Array

    @classmethod
    def aimed(cls, size: float, batches: int, epsilon: float, cap: float) -> Large:
        """Return the draws whose bound beyond epsilon is least with jumps from ``cap`` on."""
        whole = (math.log(batches) + epsilon + size**2 / 2) / size
        cells = np.append(np.linspace(cap, max(whole, cap + 1), _CELLS), np.inf)
        largest = math.exp(size * cap - size**2 / 2)
        rates = np.geomspace(1 / (16 * largest), _LARGEST / largest, 100)
        log_moments = _log_moments(size, cap, rates)
        terms = np.stack(
            [
                _log_term(size, batches, cells, part, rates, log_moments, epsilon)
                for part in range(len(cells))
            ]
        )
        best, least = terms.argmin(axis=1), terms.min(axis=1)
        shares = least - logsumexp(least)
        return cls(size, batches, cells, shares, rates[best], log_moments[best])

    def log_bound(self, epsilon: float) -> float:
        """Return the logarithm of a number that no X exceeds."""
        given = zip(self.rates[:, None], self.log_moments[:, None], strict=True)
        terms = [
            _log_term(self.size, self.batches, self.cells, part, *at, epsilon)[0]
            for part, at in enumerate(given)
        ]
        return float(np.max(np.array(terms) - self.log_shares))

    def sample(self, trials: int, rng: Generator) -> tuple[Array, Array]:
        """Return sums in units of the noise, and ``log h`` of each row."""
        sums = rng.standard_normal((trials, self.batches))
        chosen = rng.choice(len(self.rates), size=trials, p=np.exp(self.log_shares))
        for part in np.unique(chosen):
            rows = np.flatnonzero(chosen == part)
            sums[rows] = self._tilt_sums(sums[rows], int(part), rng)
            if part:
                at = rng.integers(self.batches, size=len(rows))
                sums[rows, at] = self._jumps(int(part), len(rows), rng)
        return sums, self._log_density(sums)

    def _tilt_sums(self, sums: Array, part: int, rng: Generator) -> Array:
        """Return sums of density ``exp(rate V) / M``, some of which are drawn anew.

        ``exp(rate V)`` is 1, for the sums as they are, and the rest.
        """
        moment = float(self.log_moments[part])
        anew = np.flatnonzero(rng.random(sums.size) < -math.expm1(-moment))
        flat = sums.ravel()
        flat[anew] = _beyond_one(self.size, float(self.cells[0]), float(self.rates[part]))(
            len(anew), rng
        )
        return flat.reshape(sums.shape)

    def _jumps(self, part: int, count: int, rng: Generator) -> Array:
        """Return sums of the record's law in a cell, from the far end, where tails are small."""
        low, high = self.size - self.cells[part - 1], self.size - self.cells[part]
        top, bottom = float(log_ndtr(low)), float(log_ndtr(high))
        share = rng.random(count) * -math.expm1(bottom - top)
        return np.asarray(self.size - ndtri_exp(top + np.log1p(-share)))

    def _log_density(self, sums: Array) -> Array:
        ratios = np.exp(self.size * sums - self.size**2 / 2)
        cap = math.exp(self.size * float(self.cells[0]) - self.size**2 / 2)
        total = np.minimum(ratios, cap).sum(axis=1)
        jumps = np.zeros((len(sums), len(self.cells) - 1))
        rows, at = np.nonzero(sums > self.cells[0])
        cell = np.searchsorted(self.cells, sums[rows, at], side="left") - 1
        np.add.at(jumps, (rows, cell), ratios[rows, at])
        others = self.rates[1:] * (total[:, None] - cap) - (self.batches - 1) * self.log_moments[1:]
        with np.errstate(divide="ignore"):
            one = np.log(jumps / self.batches) - _log_chances(self.size, self.cells) + others
        none = self.rates[0] * total - self.batches * self.log_moments[0]
        return np.asarray(logsumexp(np.c_[none, one] + self.log_shares, axis=1))


def _log_moments(size: float, cap: float, rates: Array) -> Array:
    """Return ``log E exp(rate V)`` of every rate, V at most its value where a sum is ``cap``."""
    # Panels are laid from the cap down, so that one ends exactly where V stops growing.
    edges = np.arange(cap, -_FAR - 0.5, -_choose_panel_width(size))[::-1]
    nodes, masses = _make_quadrature_panels(edges)
    ratios = np.exp(size * nodes.ravel() - size**2 / 2)
    largest = math.exp(size * cap - size**2 / 2)
    # The moment less 1, as it may be so near 1 that a sum of it would keep no digit.
    below = np.expm1(np.multiply.outer(rates, ratios)) @ masses.ravel()
    return np.asarray(np.log1p(below + np.expm1(rates * largest) * ndtr(-cap)))


def _log_chances(size: float, cells: Array) -> Array:
    """Return the logarithms of ``P_j``."""
    tails = log_ndtr(size - cells)
    return np.asarray(tails[:-1] + np.log(-np.expm1(tails[1:] - tails[:-1])))


def _log_term(
    size: float,
    batches: int,
    cells: Array,
    part: int,
    rates: Array,
    log_moments: Array,
    epsilon: float,
) -> Array:
    """Return ``log c_j`` of a part, at every rate."""
    whole = batches * math.exp(epsilon)
    if part == 0:
        return np.asarray(batches * log_moments - rates * whole - 1 - np.log(rates * batches))
    with np.errstate(over="ignore"):
        cap, low, high = np.exp(size * cells[[0, part - 1, part]] - size**2 / 2)
    worst = _log_worst(rates, whole, float(low), float(high), float(cap))
    chance = _log_chances(size, cells[[part - 1, part]])
    return np.asarray(chance + (batches - 1) * log_moments + worst)


def _log_worst(rates: Array, whole: float, low: float, high: float, cap: float) -> Array:
    """Return the logarithm of the supremum over jumps between low and high, of every rate."""
    n = np.arange(1, _JUMPS + 1)[:, None]
    rate = np.asarray(rates)[None, :]
    below = np.clip(1 / rate - (n * high - whole), np.maximum(0.0, whole - n * high), whole)
    beyond = np.maximum(whole, whole + 1 / rate - n * low)
    with np.errstate(divide="ignore"):
        large = np.log(np.maximum(n - (whole - below) / high, 0.0)) - rate * below
        small = np.log(n + (beyond - whole) / low) - rate * beyond
    found = (np.maximum(large, small) - rate * (n - 1) * cap).max(axis=0)
    more = np.log(_JUMPS + 1 + 1 / (math.e * rate[0] * low)) - rate[0] * _JUMPS * cap
    return np.asarray(np.maximum(found, more))


def _beyond_one(size: float, cap: float, rate: float) -> Callable[[int, Generator], Array]:
    """Return a sampler of sums of density ``exp(rate V) - 1`` against the normal one.

    By rejection: evenly in a cell, taken as the density is to what bounds it there.
    """
    width = _choose_panel_width(size) / 2
    edges = np.concatenate(
        [np.arange(cap, -_FAR - 0.5, -width)[::-1], np.arange(cap + width, cap + _FAR, width)]
    )
    nearest = np.clip(0.0, edges[:-1], edges[1:])

    def density(y: Array, at: Array, above: Array) -> Array:
        """Return the density with the normal factor of one point and the other of another."""
        ratios = np.exp(size * np.minimum(above, cap) - size**2 / 2)
        return np.asarray(np.exp(-(at**2) / 2) * np.expm1(rate * ratios))

    # In a cell the normal factor is largest at the point nearest 0, the other one at the upper end.
    most = density(nearest, nearest, edges[1:])
    shares = np.cumsum(most * np.diff(edges))
    shares /= shares[-1]

    def draw_tail(count: int, rng: Generator) -> Array:
        found = np.empty(count)
        left = np.arange(count)
        while len(left):
            cell = np.searchsorted(shares, rng.random(len(left)), side="right")
            y = edges[cell] + rng.random(len(left)) * (edges[cell + 1] - edges[cell])
            taken = rng.random(len(left)) * most[cell] < density(y, y, y)
            found[left[taken]] = y[taken]
            left = left[~taken]
        return found

    return draw_tail
