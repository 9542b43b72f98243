r"""Two datasets that do not share the linear map: a bracket of delta, and no mu.

Where a row of features changes, so do the numbers that noise is multiplied by. The two laws of what
is seen are Gaussians of two covariances, ``P = N(p, S)`` and ``Q = N(q, S^)``. They are no Gaussian
mechanism, and no mu stands for them. Each comes from a run of its own, in which the data are
numbers (`dpaudit.affine.reading.read_noise`). Where they can be told apart for sure, delta is 1;
else there is an X with
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
and delta is off by at most ``||E||_F / 2 + exp(epsilon) ||F||_F / 2``. Coordinates that are alike
up to rounding are left out, and Q pays ``sqrt((v - 1)^2 + a^2) / 2`` for each, by the same bound.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, arb_mat
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtr

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.comparison import Function
from dpaudit.affine.kinds import Balls, Exact, Residues, independent_rows
from dpaudit.affine.observation import distance_from_one, get_midpoints, get_observation
from dpaudit.affine.observers import Seen, find_observers, functions_among
from dpaudit.affine.program import AffineProgram, Ids
from dpaudit.affine.reading import read_noise
from dpaudit.errors import ConvergenceError, InvalidArgument, VerbatimText
from dpaudit.reals import precision

# A grid of 4 MB for each transform; the bracket narrows in proportion to one over the cells.
CELLS = 2**19
_DIGITS = 60
_FARTHEST = 9.0  # standard deviations; the mass beyond is 2.3e-19
_EPS = float(np.finfo(np.float64).eps)
_ALIKE = 1e-13  # of a coordinate's shift and spread: rounding


@dataclass(frozen=True, eq=False)
class ViewLaw:
    """The Gaussian law of an observer's view of a function of one of two datasets.

    Parameters
    ----------
    program
        Of `dpaudit.affine.reading.read_noise`.
    ids
        The coordinates that are seen, in an order that the other side shares.
    """

    program: AffineProgram
    ids: Ids

    @cached_property
    def known(self) -> Ids:
        """The place of each seen number among the normals, -1 for those that are none of them."""
        return np.where(np.isin(self.ids, self._noise), np.searchsorted(self._noise, self.ids), -1)

    @property
    def _noise(self) -> Ids:
        return self.program.leaves("noise")

    def table(self, kind: Exact, keep: Any) -> tuple[Any, Any]:
        """Return W and the mean of the kept coordinates, given the normals seen as such."""
        # A normal that is seen as such is a number for the observer, and no noise any longer.
        unknown = np.setdiff1d(np.arange(len(self._noise)), self.known)
        both = self.program.coefficients(kind, self.ids[keep], self._noise[unknown])
        return both[:, :-1], both[:, -1:]


@dataclass(frozen=True, eq=False)
class ViewPair:
    """The view of an observer on a function of two datasets, as two Gaussian laws.

    Parameters
    ----------
    here, there
        What it sees on either dataset.

    Notes
    -----
    Formal guarantee: `delta` encloses the delta of this pair, in the worse of both directions. It
    is not a statement about other pairs, and no mu.

    Examples
    --------
    >>> def ridge(x, rng):
    ...     return np.linalg.inv(x.T @ x + np.eye(2)) @ (x.sum(axis=0) + rng.normal(size=2))
    >>> pair = np.eye(2), np.array([[1.0, 0.0], [0.0, 0.5]])
    >>> bracket = view_pairs(ridge, pair)["output"].delta(0.5)
    >>> bool(0 < bracket.lower <= bracket.upper < bracket.lower + 1e-3)
    True
    """

    here: ViewLaw
    there: ViewLaw

    def __post_init__(self) -> None:
        shapes = [side.known.shape for side in (self.here, self.there)]
        if shapes[0] != shapes[1] or (self.here.known != self.there.known).any():
            given = VerbatimText(f"{shapes[1][0]} numbers seen from the second dataset")
            expected = f"{shapes[0][0]}, with the same normals among them, as from the first"
            raise InvalidArgument("pair", given, expected)

    @cached_property
    def _rows(self) -> Any:
        """Places of the seen coordinates, without normals."""
        return np.flatnonzero(self.here.known < 0)

    # --- told apart for sure? ----------------------------------------------------------------

    @cached_property
    def told_apart(self) -> bool:
        """Whether delta is 1 at every epsilon: the two laws live on different affine spaces.

        They live on the same if the columns of W, of W^ and of both together span one space, and
        it holds the difference of the means. Ranks are those modulo primes (`observation`).
        """
        found = [self._ranks(kind) for kind in self._kinds]
        # A prime can only lower a rank, so of three primes the largest rank of each matrix
        # counts.
        return len({max(rank) for rank in zip(*found, strict=True)}) > 1

    @cached_property
    def _kinds(self) -> list[Residues]:
        """Three primes modulo which nothing is divided by 0, on either side."""
        sides = [get_observation(one.program, one.ids).primes for one in (self.here, self.there)]
        # Ranks of both sides are compared, so both have to be taken modulo the same prime.
        shared = [Residues(prime) for prime in sides[0] if prime in sides[1]]
        if not shared:
            raise ConvergenceError("ranks: each of the primes divides a divisor")
        return shared

    def _ranks(self, kind: Residues) -> tuple[int, int, int]:
        (one, p), (other, q) = self._tables(kind, self._rows)
        both = np.concatenate([one, other, (q - p) % kind.prime], axis=1)
        first, second, third = (_compute_table_rank(kind, part) for part in (one, other, both))
        return first, second, third

    def _tables(self, kind: Exact, rows: Any) -> list[tuple[Any, Any]]:
        return [side.table(kind, rows) for side in (self.here, self.there)]

    # --- the bracket -------------------------------------------------------------------------

    def delta(self, epsilon: float, cells: int = CELLS) -> Bracket:
        """Return two ends between which delta lies at ``epsilon >= 0``.

        Raises
        ------
        ConvergenceError
            The covariances are too ill-conditioned to be diagonalised together.
        """
        check.non_negative("epsilon", epsilon)
        check.require_integer("cells", cells, least=16)
        if self.told_apart:
            return Bracket.exactly(1.0)
        if not len(self._basis):
            return Bracket.exactly(0.0)
        ways = [_bound_quadratic_delta(pair, epsilon, cells) for pair in self._pairs]
        return Bracket(max(way.lower for way in ways), max(way.upper for way in ways))

    @cached_property
    def _basis(self) -> Any:
        """Places of the seen coordinates on which the others depend."""
        kind = self._kinds[0]
        return self._rows[independent_rows(kind, self.here.table(kind, self._rows)[0])]

    @cached_property
    def _pairs(self) -> tuple[_Diagonal, _Diagonal]:
        """Both directions."""
        with precision(_DIGITS):
            kind = Balls(_DIGITS)
            (one, p), (other, q) = self._tables(kind, self._basis)
            noises, shift = (kind.flint(one), kind.flint(other)), kind.flint(q - p)
            back = kind.flint(p - q)
            return _diagonalise_covariances(*noises, shift), _diagonalise_covariances(
                *noises[::-1], back
            )


def _compute_table_rank(kind: Residues, table: Any) -> int:
    return int(kind.flint(np.ascontiguousarray(table)).rank()) if table.size else 0


def view_pairs(
    function: Function,
    pair: tuple[Any, Any],
    *,
    observers: Mapping[str, Seen] | None = None,
    seed: int = 0,
) -> dict[str, ViewPair]:
    """Return each observer's view of a function of two datasets that is linear in its noise.

    It serves functions that are not linear in their data, such as rows of features: the function
    runs once on each of two datasets, which stay numbers.

    Parameters
    ----------
    function
        A function of data and a `numpy.random.Generator` that returns the views, which have the
        same shapes for both datasets.
    pair
        Two neighbouring datasets.
    observers, seed
        The observers and the seed, as `dpaudit.views` takes them.

    Raises
    ------
    NotAffine
        The function is not linear in its noise; the message names the place and the operation.
    InvalidArgument
        The function fails, or its outputs on the two datasets are not of the same shapes.

    Notes
    -----
    Formal guarantee: that of `ViewPair`, for these two datasets alone.

    Examples
    --------
    >>> def scaled(x, rng):
    ...     return x.sum() + abs(x).max() * rng.normal()
    >>> seen = view_pairs(scaled, (np.array([1.0, 0.5]), np.array([2.0, 0.5])))
    >>> round(seen["output"].delta(0.0).upper, 3)
    0.39
    """
    looks = functions_among(observers)
    here, there = (read_noise(function, data, seed=seed, looks=looks) for data in pair)
    seen, other = (find_observers(one.output, observers, one.looks) for one in (here, there))
    if seen.keys() != other.keys():
        given = VerbatimText(f"outputs for {sorted(other)} of the second dataset")
        raise InvalidArgument("pair", given, f"for {sorted(seen)}, as of the first")
    return {
        name: ViewPair(ViewLaw(here.program, ids), ViewLaw(there.program, other[name]))
        for name, ids in seen.items()
    }


@dataclass(frozen=True)
class _Diagonal:
    """N(0, 1) against N(shift, diag(spread)), and how far the true pair is from it."""

    shift: Array
    spread: Array
    variation_p: float
    variation_q: float


def _diagonalise_covariances(noise: arb_mat, other: arb_mat, shift: arb_mat) -> _Diagonal:
    """Diagonalise both covariances together, and bound the remainder."""
    # Doubles are good enough to find X: how far it is from the exact one is enclosed below.
    one = np.asarray(np.linalg.qr(get_midpoints(noise).T, mode="r"))
    inner = np.linalg.solve(one.T, get_midpoints(other))
    directions, spread, _ = np.linalg.svd(inner, full_matrices=False)
    left = arb_mat((directions.T @ np.linalg.inv(one).T).tolist())
    spread = spread**2
    if not (np.isfinite(spread).all() and np.all(spread > 0)):
        raise ConvergenceError("features: the covariances are singular to rounding")
    scale = arb_mat(np.diag(1 / np.sqrt(spread)).tolist())
    exactly = np.array([float((arb(1) / arb(s) ** 2).mid()) for s in 1 / np.sqrt(spread)])
    p = _bound_whitening_error(left * noise)
    q = _bound_whitening_error(scale * left * other)
    moved = get_midpoints(left * shift)[:, 0]
    alike = np.hypot(exactly - 1, moved)
    # Coordinates that are alike only add rounding to the convolution; the total variation pays
    # for them.
    kept = alike > _ALIKE
    # v is 1 over the square of what was divided by; it and the shift are rounded to doubles
    slack = 4 * _EPS * (1 + float(np.linalg.norm(moved / np.sqrt(exactly)))) * len(moved)
    slack += (1 + 4 * _EPS * len(moved)) * float(alike[~kept].sum()) / 2
    return _Diagonal(moved[kept], exactly[kept], p / 2, q / 2 + slack)


def _bound_whitening_error(whitened: arb_mat) -> float:
    """Return a bound on ``||W W' - 1||_F``, or raise `ConvergenceError` if it is above 1/2."""
    bound = distance_from_one(whitened * whitened.transpose())
    if not bound < 0.5:
        raise ConvergenceError(
            "features: the covariances are too ill-conditioned to be diagonalised together"
        )
    return math.nextafter(float(bound), math.inf)


def _bound_quadratic_delta(pair: _Diagonal, epsilon: float, cells: int) -> Bracket:
    parts = [_Quadratic.of(a, v) for a, v in zip(pair.shift, pair.spread, strict=True)]
    width = sum(part.high - part.low for part in parts)
    # Each part takes up to four cells more than its range, because both its ends are rounded
    # outwards.
    spacing = max(width, 1e-12) / (cells - 4 * len(parts))
    laws = [part.floored(spacing) for part in parts]
    # At least as long as all sums of the parts, so that nothing wraps around.
    size = next_fast_len(sum(len(masses) for _, masses in laws) + 1, real=True)
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for _, masses in laws:
        spectrum *= rfft(masses, size)
    # Rounding of the transform may leave masses just below 0.
    summed = np.maximum(irfft(spectrum, size), 0.0)
    losses = spacing * (sum(first for first, _ in laws) + np.arange(size))
    slip = 0.01 * len(parts) * spacing  # the rounding of cell edges
    low = _compute_hockey_stick(summed, losses - slip, epsilon)
    high = _compute_hockey_stick(summed, losses + len(parts) * spacing + slip, epsilon)
    clipped = len(parts) * 2 * float(ndtr(-_FARTHEST))
    transform = 64 * _EPS * math.log2(size) * math.sqrt(size) * (len(parts) + 1)
    counted = 4 * _EPS * sum(len(masses) for _, masses in laws)
    # exp overflows beyond 709, and an error of e^700 says nothing anyway.
    off = transform + counted + pair.variation_p + math.exp(min(epsilon, 700)) * pair.variation_q
    return Bracket(max(0.0, low - off - clipped), min(1.0, high + off + clipped))


def _compute_hockey_stick(masses: Array, losses: Array, epsilon: float) -> float:
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
        # The loss is monotone between the ends unless its vertex lies there.
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
        # 0 / 0 where both roots are 0.
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
