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
a rank is never larger, and it is smaller only if the prime divides all largest minors. A number of
b bits has at most b/30 such primes, and there are more than 5 10^7. Three are drawn at random when
this module is loaded, after whatever the recursion was written for, and the largest rank counts: it
is wrong with probability ``(b / 1.5e9)^3`` at most. What is found is proved besides where that is
within reach (`View.proof`):

* the rows of W are independent: then every D is in the range. A residue's full rank proves it.
* D leaves the range: by exact ranks of rationals, for as few of the rows as show it. A view that
  goes on only sees more.
* D is in the range, and rows depend on each other: if every number that changes is used once, in a
  sum with a normal that is used nowhere else, then ``D = W n`` for some n. Or else by exact ranks
  of the whole, if the view is small.

**The number.** With I the rows of a basis, ``M = D_I' S_I^-1 D_I`` for all directions in which data
may change. The equations ``S_I Y = L_I`` are solved in balls (Arb; Hansen & Smith's method), which
proves that S_I is regular and encloses M.

**At scale** no matrix is formed: where a covariance would take more than 5 10^7 products, mu comes
from the structure of the program (`dpaudit.affine.krylov`), to 1e-6 or better, and is proved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from flint import arb_mat
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.changes import Change
from dpaudit.affine.graph import Withheld
from dpaudit.affine.kinds import DOUBLES, Balls, Exact, Rationals, Residues, compute_view_ranks
from dpaudit.affine.krylov import enclose_mu
from dpaudit.affine.observation import Observation, get_observation
from dpaudit.affine.program import AffineProgram, Ids
from dpaudit.errors import ConvergenceError
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.reals import precision

MOST_EXACT = 4000  # entries of a matrix whose rank is worked out in rationals
_MOST_ENTRIES = 10_000_000  # entries of a matrix that is formed at all
_MOST_DIRECTIONS = 20  # of a change that structure is put off for
_MOST_WORK = 50_000_000  # products in a covariance, beyond which structure is tried first
_DIGITS = (40, 160, 640)
_WIDTH = 1e-12

Proof = Literal["exact", "primes"]


@dataclass(frozen=True, eq=False)
class View:
    """The view of an observer on a recursion, while some private data may change.

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
    >>> from dpaudit.affine.form import ids_of
    >>> from dpaudit.affine.reading import read_recursion
    >>> found = read_recursion(lambda x, rng: x + rng.normal(scale=2.0), 0.0)
    >>> View(found.program, ids_of(found.output), Direction([1])).mu
    Bracket(lower=0.5, upper=0.5)
    >>> View(found.program, ids_of(found.private), Direction([1])).mu.upper
    inf
    """

    program: AffineProgram
    ids: Ids
    change: Change

    # --- what is seen ----------------------------------------------------------------------

    @cached_property
    def observation(self) -> Observation:
        """The part of the view that no change affects."""
        return get_observation(self.program, self.ids)

    @property
    def rows(self) -> Ids:
        """The coordinates that it sees, each once, without data and normals seen as such."""
        return self.observation.rows

    @property
    def columns(self) -> Ids:
        """The normals behind the view that the observer does not see by themselves."""
        return self.observation.columns

    @property
    def basis(self) -> NDArray[np.intp]:
        """Rows of the view that the others depend on, as places in `rows`."""
        return self.observation.basis

    def seen(self, kind: Exact, rows: Ids | None = None) -> NDArray[Any]:
        """Return ``[W, D]`` of the view, its last columns the directions of the change."""
        noise, data = self.observation.table(kind, self.rows if rows is None else rows)
        return np.concatenate([noise, self.change.along(kind, data)], axis=1)

    # --- the range -------------------------------------------------------------------------

    @cached_property
    def knows_the_change(self) -> bool:
        """Whether some coordinate of the change is seen by itself."""
        data = self.program.leaves("data")[self.change.locate_changes()]
        return bool(np.isin(data, self.ids).any())

    @cached_property
    def infinite(self) -> bool:
        """Whether a change of the mean leaves the range of the covariance."""
        if self.knows_the_change:
            return True
        if self._by_structure is not None:
            return math.isinf(self._by_structure.upper)
        without = self.observation.rank
        return any(rank + more > without for rank, more in self._ranks)

    @property
    def _ranks(self) -> list[tuple[int, int]]:
        """The rank of W modulo each prime, and by how much D makes it larger."""
        found = list[tuple[int, int]]()
        primes = self.observation.primes
        for prime, (rank, exposed) in zip(primes, self.observation.kernels, strict=False):
            kind = Residues(prime)
            moved = self.change.along(kind, exposed)
            found.append((rank, kind.flint(moved).rank() if moved.size else 0))
        return found

    @cached_property
    def proof(self) -> Proof:
        """The method that decides whether mu is 0, finite or infinite: proof, or three primes."""
        if self.knows_the_change or self._by_structure is not None:
            return "exact"
        if self.infinite:
            return "exact" if self._infinite_exactly(self._shortest()) else "primes"
        if not self._moves:
            return "exact" if self._stands_exactly() else "primes"
        if self.observation.rank == len(self.rows) or self._is_drowned():
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
        data = self.program.leaves("data")[self.change.locate_changes()]
        return self.program.are_hidden_by_noise(data, self.columns, self.rows)

    def _stands_exactly(self) -> bool:
        """Return whether it is proved that nothing changes: no data are used, or in rationals."""
        changed = self.program.leaves("data")[self.change.locate_changes()]
        if not self.program.reached(self.rows)[changed].any():
            return True
        if len(self.rows) * (len(self.columns) + self.change.size) > MOST_EXACT:
            return False
        _, data = self.observation.table(Rationals(), self.rows)
        return not self.change.along(Rationals(), data).any()

    def _infinite_exactly(self, rows: Ids) -> bool | None:
        """Return the answer of exact ranks; None where they are too much work."""
        if len(rows) * len(self.columns) > MOST_EXACT:
            return None
        one, other = compute_view_ranks(Rationals(), self.seen(Rationals(), rows), self.change.size)
        return other > one

    # --- the number ------------------------------------------------------------------------

    @cached_property
    def mu(self) -> Bracket:
        """The exact mu, between two ends that hold; infinite where the change is seen for sure.

        Raises
        ------
        ConvergenceError
            The ends do not meet to 1e-12 of mu with 640 digits, of a change whose largest mu is
            found exactly. Of a view too large for matrices: they do not meet to 1e-6, or some of
            what is seen has no noise of its own.
        """
        if self.infinite:
            return Bracket.exactly(math.inf)
        if self._by_structure is not None:
            return self._by_structure
        if not self._moves:
            return Bracket.exactly(0.0)
        for digits in _DIGITS:
            found = self._enclose_mu(digits)
            if found is not None and (
                found.width <= _WIDTH * found.upper or not self.change.is_exact
            ):
                return found
        raise ConvergenceError(f"mu: no bracket of relative width {_WIDTH:g} with {digits} digits")

    @cached_property
    def _by_structure(self) -> Bracket | None:
        """The mu of a view of which matrices take too long; None of any other."""
        rows, columns = len(self.rows), len(self.columns)
        directions = min(max(self.change.size, 1), _MOST_DIRECTIONS)  # structure takes them singly
        if rows**2 * columns <= _MOST_WORK * directions:
            return None
        try:
            return enclose_mu(self.program, self.ids, self.change)
        except (Withheld, ConvergenceError) as error:
            if rows * columns <= _MOST_ENTRIES:
                return None
            size = f"{rows} numbers of {columns} normals are too many for matrices"
            raise ConvergenceError(f"mu: {size}, and {error}") from None

    @property
    def _moves(self) -> bool:
        """Return whether the mean moves, modulo some prime."""
        tables = zip(self.observation.primes, self.observation.data, strict=True)
        return any(bool(self.change.along(Residues(one), data).any()) for one, data in tables)

    def _enclose_mu(self, digits: int) -> Bracket | None:
        """Return a bracket of mu, or None where these digits do not prove that rows differ."""
        spent = self.observation.spend(digits)
        if spent is None:
            return None
        kind = Balls(digits)
        with precision(digits):
            moved, solved = (kind.flint(self.change.along(kind, one)) for one in spent)
            return self.change.largest(moved.transpose() * solved)

    @cached_property
    def hangs_on_digits(self) -> bool:
        """Whether digits beyond the eleventh of the seen numbers decide mu.

        So it is where constants were rounded that should cancel, or make messages depend on each
        other, and where messages tell something by their last digits alone. Not looked at in views
        that are large.
        """
        rough = self.observation.rough
        if rough is None or self.knows_the_change:
            return False
        normals, left, data = (self.change.along(DOUBLES, one) for one in rough)
        is_infinite = bool(np.abs(left).max(initial=0.0) > 1e-7 * np.abs(data).max(initial=0.0))
        if is_infinite or self.infinite:
            return is_infinite != self.infinite
        found, ends = self.change.largest(arb_mat((normals.T @ normals).tolist())), self.mu
        return not 0.999 * ends.lower <= found.upper <= 1.001 * ends.upper

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
        check.require_delta("delta", delta)
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
