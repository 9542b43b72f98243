r"""Neighbours that do not share the linear map: a bracket of delta, and no mu.

A feature row that changes moves the gains of the network, so the two laws of a view are Gaussians
of two covariances, ``P = N(p, S)`` and ``Q = N(q, S^)``. They are no Gaussian mechanism, and no mu
stands for them. Where they can be told apart for sure, delta is 1; else there is an X with
``X'S X = 1`` and ``X'S^ X = diag(v)``, and the privacy loss is a sum of independent ones,

    log dP/dQ = sum_k l_k(z_k),   l_k(z) = ((z - a_k)^2 / v_k - z^2 + log v_k) / 2,   z ~ N(0, 1),

with ``a = X'(q - p)``. Then ``delta(epsilon) = E max(0, 1 - exp(epsilon - sum l_k))`` under P.

**The bracket.** Each l_k is rounded down to a multiple of h; the mass of a cell is a difference of
normal distribution functions at the roots of a quadratic. The n laws are convolved on a grid that
holds every sum, so that nothing wraps around. The true loss lies between the rounded one and n h
above it, and delta grows with the loss. What is clipped (z beyond 9 or so) is counted in full above
and not at all below, and so are bounds on the rounding of masses and transform.

**X is not exact.** What was computed has ``X'S X = 1 + E`` and ``X'S^ X = diag(v)^(1/2) (1 + F)
diag(v)^(1/2)``, enclosed in balls. The Kullback-Leibler divergence of N(0, 1 + E) from N(0, 1) is
``(tr E - log det(1 + E)) / 2 <= ||E||_F^2 / 2`` for ``||E||_F <= 1/2``, as ``x - log(1 + x)`` is at
most ``x^2`` from -1/2 on. By Pinsker's inequality their total variation is at most ``||E||_F / 2``,
and delta is off by at most ``||E||_F / 2 + exp(epsilon) ||F||_F / 2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.algorithms.views.numbers import Balls, Kind, Residues, independent
from dpaudit.algorithms.views.system import Form, Network, Observer
from dpaudit.algorithms.views.view import PRIMES, View, rounded
from dpaudit.errors import ConvergenceError, InvalidArgument, Shown
from dpaudit.reals import precision

CELLS, _DIGITS = 2**19, 60
_FARTHEST = 9.0  # standard deviations; the mass beyond is 2.3e-19
_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class ChangedFeatures:
    """What an observer sees of two networks that differ in a participant's features.

    Parameters
    ----------
    here, there
        The network on the dataset and on the neighbour.
    data_here, data_there
        What their messages are linear in: all labels or terms, not only what changed.
    observer
        Who sees them.
    changed
        The participant whose features differ.

    Notes
    -----
    Formal guarantee: `delta` encloses the delta of this pair, in the worse of both directions. It
    is not a statement about other pairs, and no mu.

    Examples
    --------
    >>> from dpaudit.algorithms.consensus.algorithm import ConsensusADMM
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> from dpaudit.algorithms.problems.smooth_losses import SQUARED
    >>> from dpaudit.algorithms.views.consensus import GaussianConsensus
    >>> from dpaudit.datasets.dataset import Dataset
    >>> pair = [Dataset([[x], [0.5], [0.5]], [1, 1, -1], node_sizes=(1, 1, 1)) for x in (1, 0.5)]
    >>> algorithm = ConsensusADMM(graph=ring(3), iterations=3, loss=SQUARED)
    >>> consensus = GaussianConsensus(algorithm, 0.3)
    >>> networks = [consensus.network(data) for data in pair]
    >>> data = [consensus.data(data) for data in pair]
    >>> changed = ChangedFeatures(*networks, *data, networks[0].coalition(1), 0)
    >>> bracket = changed.delta(0.5)
    >>> bool(0 < bracket.lower <= bracket.upper < bracket.lower + 1e-3)
    True
    """

    here: Network
    there: Network
    data_here: Form
    data_there: Form
    observer: Observer
    changed: int

    def __post_init__(self) -> None:
        if len(self.here.rounds) != len(self.there.rounds):
            given = Shown(f"{len(self.there.rounds)} rounds")
            raise InvalidArgument("there", given, f"{len(self.here.rounds)}, as many as here")

    @cached_property
    def _views(self) -> tuple[View, View]:
        return (
            View(self.here, self.observer, tuple(self.data_here)),
            View(self.there, self.observer, tuple(self.data_there)),
        )

    # --- told apart for sure? ----------------------------------------------------------------

    @cached_property
    def told_apart(self) -> bool:
        """Whether delta is 1 at every epsilon: the two laws live on different affine spaces.

        They live on the same if the columns of W, of W^ and of both together span one space, and
        it holds the difference of the means. Ranks are those modulo primes (`view`).
        """
        if self.changed in self.observer.knows:
            return True
        found = [self._ranks(Residues(prime)) for prime in PRIMES]
        return len({max(rank) for rank in zip(*found, strict=True)}) > 1

    def _ranks(self, kind: Kind) -> tuple[int, int, int]:
        (one, p), (other, q) = self._seen(kind)
        if not len(one):
            return 0, 0, 0
        both = np.concatenate([one, other, _subtracted(kind, q, p)], axis=1)
        first, second, third = (kind.matrix(part).rank() for part in (one, other, both))
        return first, second, third

    def _seen(self, kind: Kind) -> list[tuple[Any, Any]]:
        return [(seen[:, :-1], seen[:, -1:]) for seen in (v.seen(kind) for v in self._views)]

    # --- the bracket -------------------------------------------------------------------------

    def delta(self, epsilon: float, cells: int = CELLS) -> Bracket:
        """Return two ends between which delta lies at ``epsilon >= 0``.

        Raises
        ------
        ConvergenceError
            The covariances are too ill-conditioned to be diagonalised together.
        """
        check.non_negative("epsilon", epsilon)
        check.integer("cells", cells, least=16)
        if self.told_apart:
            return Bracket.exactly(1.0)
        if not len(self._views[0].rows):
            return Bracket.exactly(0.0)
        ways = [_bracket(pair, epsilon, cells) for pair in self._pairs]
        return Bracket(max(way.lower for way in ways), max(way.upper for way in ways))

    @cached_property
    def _pairs(self) -> tuple[_Diagonal, _Diagonal]:
        """Both directions."""
        with precision(_DIGITS):
            kind = Balls(_DIGITS)
            kept = independent(
                Residues(PRIMES[0]), self._views[0].seen(Residues(PRIMES[0]))[:, :-1]
            )
            (one, p), (other, q) = ((w[kept], m[kept]) for w, m in self._seen(kind))
            noises, shift = (kind.matrix(one), kind.matrix(other)), kind.matrix(q - p)
            back = kind.matrix(p - q)
            return _diagonal(*noises, shift), _diagonal(*noises[::-1], back)


def _subtracted(kind: Kind, one: Any, other: Any) -> Any:
    return (kind.matrix(one) - kind.matrix(other)).table()


@dataclass(frozen=True)
class _Diagonal:
    """N(0, 1) against N(shift, diag(spread)), and how far the true pair is from it."""

    shift: Array
    spread: Array
    variation_p: float
    variation_q: float


def _diagonal(noise: arb_mat, other: arb_mat, shift: arb_mat) -> _Diagonal:
    """Diagonalise both covariances together, and bound what is left over."""
    one = np.asarray(np.linalg.qr(rounded(noise).T, mode="r"))
    inner = np.linalg.solve(one.T, rounded(other))
    directions, spread, _ = np.linalg.svd(inner, full_matrices=False)
    left = arb_mat((directions.T @ np.linalg.inv(one).T).tolist())
    spread = spread**2
    if not (np.isfinite(spread).all() and np.all(spread > 0)):
        raise ConvergenceError("features: the covariances are singular to rounding")
    scale = arb_mat(np.diag(1 / np.sqrt(spread)).tolist())
    exactly = np.array([float((arb(1) / arb(s) ** 2).mid()) for s in 1 / np.sqrt(spread)])
    p = _left_over(left * noise)
    q = _left_over(scale * left * other)
    moved = rounded(left * shift)[:, 0]
    # v is 1 over the square of what was divided by; it and the shift are rounded to doubles
    slack = 4 * _EPS * (1 + float(np.linalg.norm(moved / np.sqrt(exactly)))) * len(moved)
    return _Diagonal(moved, exactly, p / 2, q / 2 + slack)


def _left_over(whitened: arb_mat) -> float:
    """Return a bound on ``||W W' - 1||_F``, or raise `ConvergenceError` if it is above 1/2."""
    gram = whitened * whitened.transpose()
    off = gram - arb_mat(np.eye(gram.nrows()).tolist())
    bound = sum((entry.abs_upper() ** 2 for entry in off.entries()), arb(0)).upper().sqrt()
    if not bound < 0.5:
        raise ConvergenceError(
            "features: the covariances are too ill-conditioned to be diagonalised together"
        )
    return math.nextafter(float(bound.upper()), math.inf)


def _bracket(pair: _Diagonal, epsilon: float, cells: int) -> Bracket:
    parts = [_Quadratic.of(a, v) for a, v in zip(pair.shift, pair.spread, strict=True)]
    width = sum(part.high - part.low for part in parts)
    spacing = max(width, 1e-12) / (cells - 4 * len(parts))
    laws = [part.floored(spacing) for part in parts]
    size = next_fast_len(sum(len(masses) for _, masses in laws) + 1, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for _, masses in laws:
        spectrum *= rfft(masses, size)
    summed = np.maximum(irfft(spectrum, size), 0.0)
    losses = spacing * (sum(first for first, _ in laws) + np.arange(size))
    slip = 0.01 * len(parts) * spacing  # the rounding of cell edges
    low = _profile(summed, losses - slip, epsilon)
    high = _profile(summed, losses + len(parts) * spacing + slip, epsilon)
    clipped = len(parts) * 2 * float(ndtr(-_FARTHEST))
    transform = 64 * _EPS * math.log2(size) * math.sqrt(size) * (len(parts) + 1)
    counted = 4 * _EPS * sum(len(masses) for _, masses in laws)
    off = transform + counted + pair.variation_p + math.exp(min(epsilon, 700)) * pair.variation_q
    return Bracket(max(0.0, low - off - clipped), min(1.0, high + off + clipped))


def _profile(masses: Array, losses: Array, epsilon: float) -> float:
    return float(masses @ -np.expm1(np.minimum(epsilon - losses, 0.0)))


@dataclass(frozen=True)
class _Quadratic:
    """The loss ``square z^2 + slope z + constant`` of a standard normal z, and its range."""

    square: float
    slope: float
    constant: float
    low: float
    high: float

    @classmethod
    def of(cls, shift: float, spread: float) -> _Quadratic:
        """Return the loss of N(0, 1) against N(shift, spread)."""
        square, slope = (1 / spread - 1) / 2, -shift / spread
        constant = (shift**2 / spread + math.log(spread)) / 2
        ends = [square * z * z + slope * z + constant for z in (-_FARTHEST, _FARTHEST)]
        vertex = -slope / (2 * square) if square else math.inf
        if abs(vertex) < _FARTHEST:
            ends.append(constant + slope * vertex / 2)
        return cls(square, slope, constant, min(ends), max(ends))

    def floored(self, spacing: float) -> tuple[int, Array]:
        """Return the first cell and the masses of cells, of z within the farthest."""
        first, last = math.floor(self.low / spacing) - 1, math.ceil(self.high / spacing) + 1
        edges: Array = spacing * np.arange(first, last + 1, dtype=np.float64)
        return first, np.diff(self._distribution(edges))

    def _distribution(self, losses: Array) -> Array:
        """Return the mass of z within the farthest with a loss of at most each, increasing."""
        farthest = _FARTHEST
        low, high = self._between(losses)
        inside = ndtr(np.clip(high, -farthest, farthest)) - ndtr(np.clip(low, -farthest, farthest))
        if self.square >= 0:
            return np.asarray(inside)
        return np.asarray(1 - 2 * ndtr(-farthest) - inside)

    def _between(self, losses: Array) -> tuple[Array, Array]:
        """Return the roots, between which the loss is below (square > 0) or above (< 0) each."""
        if self.square == 0:
            return self._half_line(losses)
        discriminant = self.slope**2 - 4 * self.square * (self.constant - losses)
        root = np.sqrt(np.maximum(discriminant, 0.0))
        # the root without cancellation first, the other by Vieta
        far = -(self.slope + math.copysign(1.0, self.slope) * root) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            roots = np.stack([far / self.square, (self.constant - losses) / far])
        roots = np.where(np.isnan(roots), 0.0, roots)
        empty = discriminant <= 0
        return np.where(empty, 0.0, roots.min(axis=0)), np.where(empty, 0.0, roots.max(axis=0))

    def _half_line(self, losses: Array) -> tuple[Array, Array]:
        """Return the interval of a loss that is linear, or constant."""
        infinite = np.full_like(losses, np.inf)
        if self.slope == 0:
            return -infinite, np.where(losses >= self.constant, np.inf, -np.inf)
        edge = (losses - self.constant) / self.slope
        return (-infinite, edge) if self.slope > 0 else (edge, infinite)
