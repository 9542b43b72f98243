r"""The exact Gaussian-DP mu of an observer's view.

A view is ``W n + L c`` with n standard normal and c the change of the private data
(`dpaudit.affine.program`). With ``S = W W'`` and ``D = L c`` its laws on two neighbours are N(0, S)
and N(D, S). Where D is in the range of S they are exactly as far apart as N(0, 1) and N(mu, 1), at
every epsilon,

    mu = ||S^(+1/2) D|| = min { ||n|| : W n = D }:

the log-likelihood ratio is ``D' S^+ view - mu^2 / 2``, of variance mu^2 under both laws, and its
mean differs by mu^2 (Dong, Roth & Su 2022, on Gaussian differential privacy). Where D leaves the
range, a y with ``y'W = 0`` and ``y'D != 0`` tells the two apart without error: mu is infinite.

**The range** is a question about rationals, and rounding does not answer it: D leaves the range if
and only if ``rank [W, D] > rank W``. Ranks are worked out modulo primes of 31 bits. Modulo a prime
a rank is never larger, and it is smaller only if the prime divides all largest minors: a number of
many digits that has nothing to do with the prime does so once in 2^31. Three primes are tried and
the largest rank counts. They are fixed, so this is no proof, but what is found is proved where that
is within reach (`View.proof`):

* the rows of W are independent: then every D is in the range. A residue's full rank proves it.
* D leaves the range: by exact ranks of rationals, for as few of the rows as show it. A view that
  goes on only sees more.
* D is in the range, and rows depend on each other: if every number that changes is used once, in a
  sum with a normal that is used nowhere else, then ``D = W n`` for some n. Or else by exact ranks
  of the whole, if the view is small.

**The number.** With I the rows of a basis, ``M = D_I' S_I^-1 D_I`` for all directions in which data
may change. For any X put ``X' S_I X = 1 + E``. If ``||E|| < 1`` then S_I is regular and

    || M - G || <= ||E|| / (1 - ||E||) ||X'D_I||^2,      G = (X'D_I)' (X'D_I).

X is a floating-point factor, everything else is enclosed in balls (Arb), so what follows holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.changes import Change
from dpaudit.affine.kinds import (
    Balls,
    Exact,
    Rationals,
    Residues,
    independent_rows,
    ranks,
    unpacked,
)
from dpaudit.affine.program import NOWHERE, Ids, Program
from dpaudit.errors import ConvergenceError
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.reals import precision

PRIMES = (2147483647, 2147483629, 2147483587)  # the largest below 2^31
# Entries of a matrix whose rank is worked out in rationals.
_MOST_EXACT = 4000
_DIGITS, _WIDTH, _PASSES = (40, 160, 640), 1e-12, 4

Proof = Literal["exact", "primes"]


@dataclass(frozen=True, eq=False)
class View:
    """What an observer sees of a recursion, while some private data may change.

    Parameters
    ----------
    program
        The recursion.
    ids
        The coordinates that are seen, shape ``(m,)``.
    change
        By how much private data change at most between neighbours.

    Notes
    -----
    Formal guarantee: for every change the view is exactly Gaussian DP, with ``mu`` for the largest.

    Examples
    --------
    >>> from dpaudit.affine.changes import Direction
    >>> from dpaudit.affine.reading import ids_of, read_recursion
    >>> found = read_recursion(lambda x, rng: x + rng.normal(scale=2.0), 0.0)
    >>> View(found.program, ids_of(found.output), Direction([1])).mu
    Bracket(lower=0.5, upper=0.5)
    >>> View(found.program, ids_of(found.private), Direction([1])).mu.upper
    inf
    """

    program: Program
    ids: Ids
    change: Change

    # --- what is seen ----------------------------------------------------------------------

    @cached_property
    def rows(self) -> Ids:
        """The coordinates that it sees, each once, and no normal that it sees by itself."""
        seen = np.unique(self.ids[self.ids != NOWHERE])
        return np.setdiff1d(seen, self.program.leaves("noise"))

    @cached_property
    def columns(self) -> Ids:
        """The normals that what it sees is made of, and that it does not see by themselves."""
        normals = self.program.leaves("noise")
        used = normals[self.program.reached(self.rows)[normals]]
        return np.setdiff1d(used, self.ids)

    def seen(self, kind: Exact) -> NDArray[Any]:
        """Return ``[W, D]`` of the view, its last columns the directions of the change."""
        return self._seen_rows(kind, self.rows)

    def _seen_rows(self, kind: Exact, rows: Ids) -> NDArray[Any]:
        every = self.program.coefficients(kind, rows, self.columns)
        cut = len(self.columns)
        moved = self.change.along(kind, every[:, cut:])
        return np.concatenate([every[:, :cut], moved], axis=1)

    # --- the range -------------------------------------------------------------------------

    @cached_property
    def infinite(self) -> bool:
        """Whether a change of the mean leaves the range of the covariance."""
        return self._ranks[1] > self._ranks[0]

    @cached_property
    def _residues(self) -> tuple[NDArray[Any], ...]:
        """The view modulo each prime; modulo one, where that shows that rows are independent."""
        first = self.seen(Residues(PRIMES[0]))
        if ranks(Residues(PRIMES[0]), first, self.change.size)[0] == len(self.rows):
            return (first,)
        return (first, *(self.seen(Residues(prime)) for prime in PRIMES[1:]))

    @cached_property
    def _ranks(self) -> tuple[int, int]:
        """The ranks of ``W`` and of ``[W, D]``, the largest found modulo the primes."""
        pairs = zip(PRIMES, self._residues, strict=False)
        found = [ranks(Residues(prime), seen, self.change.size) for prime, seen in pairs]
        return max(one for one, _ in found), max(other for _, other in found)

    @cached_property
    def proof(self) -> Proof:
        """How it is known whether mu is finite: proved, or by ranks modulo three primes."""
        if self.infinite:
            return "exact" if self._infinite_exactly(self._shortest()) else "primes"
        if self._ranks[0] == len(self.rows) or self._is_drowned():
            return "exact"
        return "exact" if self._infinite_exactly(self.rows) is False else "primes"

    def _shortest(self) -> Ids:
        """Return as few of the first rows as show the change."""
        low, high = 0, len(self.rows)
        while high - low > 1:
            middle = (low + high) // 2
            shown = View(self.program, self.rows[:middle], self.change)
            low, high = (low, middle) if shown.infinite else (middle, high)
        return self.rows[:high]

    def _is_drowned(self) -> bool:
        """Return whether all that changes is used once, beside a normal that is used once."""
        changed = self.change.places()
        data = self.program.leaves("data")[changed]
        return self.program.are_hidden_by_noise(data, self.columns)

    def _infinite_exactly(self, rows: Ids) -> bool | None:
        """Return the answer of exact ranks; None where they are too much work."""
        if len(rows) * len(self.columns) > _MOST_EXACT:
            return None
        one, other = ranks(Rationals(), self._seen_rows(Rationals(), rows), self.change.size)
        return other > one

    # --- the number ------------------------------------------------------------------------

    @cached_property
    def mu(self) -> Bracket:
        """The exact mu, between two ends that hold; infinite where the change is seen for sure.

        Raises
        ------
        ConvergenceError
            The ends do not meet to 1e-12 of mu with 640 digits, of a change whose largest mu is
            found exactly.
        """
        if self.infinite:
            return Bracket.exactly(math.inf)
        if not self._moves:
            return Bracket.exactly(0.0)
        for digits in _DIGITS:
            with precision(digits):
                found = self._enclosed(digits)
            if found is not None and (
                found.width <= _WIDTH * found.upper or not self.change.is_exact
            ):
                return found
        raise ConvergenceError(f"mu: no bracket of relative width {_WIDTH:g} with {digits} digits")

    @property
    def _moves(self) -> bool:
        size = self.change.size
        return any(bool((seen[:, seen.shape[1] - size :] != 0).any()) for seen in self._residues)

    @cached_property
    def basis(self) -> NDArray[np.intp]:
        """Rows of the view that the others depend on, as places in `rows`."""
        if self._ranks[0] == len(self.rows):
            return np.arange(len(self.rows))
        cut, pairs = len(self.columns), zip(PRIMES, self._residues, strict=False)
        kinds = [independent_rows(Residues(prime), seen[:, :cut]) for prime, seen in pairs]
        return max(kinds, key=len)

    def _enclosed(self, digits: int) -> Bracket | None:
        """Return a bracket of mu, or None where these digits do not prove that rows differ."""
        kind, cut = Balls(digits), len(self.columns)
        seen = self._seen_rows(kind, self.rows[self.basis])
        factor = _whitening(kind.flint(seen[:, :cut]))
        if factor is None:
            return None
        left, error = factor
        whitened = left * kind.flint(seen[:, cut:])
        gram = whitened.transpose() * whitened
        size = sum((entry.abs_upper() ** 2 for entry in whitened.entries()), arb(0))
        slack = (error / (1 - error) * size).upper()
        return self.change.largest(gram, slack)

    def direction(self) -> Array:
        """Return y for which ``y'view`` is the log-likelihood ratio up to a constant, (rows,).

        Its variance is ``mu^2``, and so is the change of its mean, for a change in one direction.
        It is zero off `basis`.
        """
        noise, moved = self.moments()
        chosen = noise[self.basis]
        factor = np.asarray(np.linalg.qr(chosen.T, mode="r"))
        inner = np.linalg.solve(factor.T, moved[self.basis])
        direction = np.zeros(len(self.rows))
        direction[self.basis] = np.linalg.solve(factor, inner)
        return direction

    def moments(self) -> tuple[Array, Array]:
        """Return W, shape ``(rows, columns)``, and D, shape ``(rows,)``, to the last bit."""
        with precision(_DIGITS[0]):
            seen = self.seen(Balls(_DIGITS[0])).astype(np.float64)
        return seen[:, : len(self.columns)], seen[:, len(self.columns)]

    # --- what it means ---------------------------------------------------------------------

    def delta(self, epsilon: float) -> Bracket:
        """Return the exact delta at ``epsilon >= 0``, between the profiles at the ends of mu."""
        check.non_negative("epsilon", epsilon)
        return delta_of(self.mu, epsilon)

    def epsilon(self, delta: float) -> Bracket:
        """Return the exact epsilon at ``delta``, likewise."""
        check.delta("delta", delta)
        return epsilon_of(self.mu, delta)


def delta_of(mu: Bracket, epsilon: float) -> Bracket:
    """Return delta at ``epsilon >= 0`` of a mu that lies between two ends."""
    if math.isinf(mu.upper):
        return Bracket(0.0 if math.isfinite(mu.lower) else 1.0, 1.0)
    lower, upper = GaussianDP(mu.lower), GaussianDP(mu.upper)
    return Bracket(lower.delta_below(epsilon), upper.delta(epsilon))


def epsilon_of(mu: Bracket, delta: float) -> Bracket:
    """Return epsilon at ``delta`` of a mu that lies between two ends."""
    if math.isinf(mu.upper):
        return Bracket(0.0 if math.isfinite(mu.lower) else math.inf, math.inf)
    lower, upper = GaussianDP(mu.lower), GaussianDP(mu.upper)
    return Bracket(lower.epsilon_below(delta), upper.epsilon(delta))


def _whitening(noise: arb_mat) -> tuple[arb_mat, arb] | None:
    """Return X' and a bound on ``||X' W W' X - 1||`` (Frobenius), or None if above 1/1000."""
    sizes = np.abs(midpoints(noise)).max(axis=1)
    left = arb_mat(np.diag(1 / sizes).tolist()) if np.all(sizes > 1e-300) else None
    if left is None:
        return None
    factor = np.linalg.qr(midpoints(left * noise).T, mode="r")
    for _ in range(_PASSES):
        if not np.all(np.diagonal(factor)) or not np.isfinite(factor).all():
            return None
        left = arb_mat(np.linalg.inv(factor).T.tolist()) * left
        whitened = left * noise
        error = distance_from_one(whitened * whitened.transpose())
        if error < 0.001:
            return left, error
        factor = np.linalg.qr(midpoints(whitened).T, mode="r")
    return None


def midpoints(matrix: arb_mat) -> Array:
    """Return the midpoints of balls, as doubles."""
    return np.asarray(unpacked(matrix).astype(np.float64))


def distance_from_one(gram: arb_mat) -> arb:
    """Return a bound on a matrix less the identity, in Frobenius' norm."""
    off = gram - arb_mat(np.eye(gram.nrows()).tolist())
    return sum((entry.abs_upper() ** 2 for entry in off.entries()), arb(0)).upper().sqrt().upper()
