r"""The exact Gaussian-DP mu of an observer's view.

A view is ``W n + L c``: n standard normal, c the change of the data (`system`). With ``S = W W'``
and ``D = L c`` the two laws are N(0, S) and N(D, S). Where D is in the range of S they are exactly
as far apart as N(0, 1) and N(mu, 1), at every epsilon,

    mu = ||S^(+1/2) D|| = min { ||n|| : W n = D }:

the log-likelihood ratio is ``D' S^+ view - mu^2 / 2``, of variance mu^2 under both laws, and its
mean differs by mu^2 (Dong, Roth & Su 2022, on Gaussian differential privacy). Where D leaves the
range, a y with ``y'W = 0`` and ``y'D != 0`` tells the two apart without error: mu is infinite. What
an observer knows of the noise is taken out of W: its columns are dropped, which conditions on them,
as they have the same law on both.

**The range** is a question about rationals, and rounding does not answer it: D leaves the range if
and only if ``rank [W, D] > rank W``. Ranks are worked out modulo primes of 62 bits. Modulo a prime
a rank is never larger, and it is smaller only if the prime divides all largest minors: of the 10^16
primes of that size at most B/61 do, B being the bits of one minor that is not 0 (some 10^6). Three
primes are tried and the largest rank counts. They are fixed, so this is no proof, but what is found
is proved where that is within reach (`View.proof`):

* D leaves the range: by exact ranks of rationals, for as few rounds as show it. A view that goes
  on only sees more.
* D is in the range: if the rows of W are independent, D is in the range whatever it is. The balls
  below prove that they are. Where rows depend on each other: in every round the change enters the
  state as some values of that round's noise would, by exact ranks, so that ``D = W n`` for some n;
  or else exact ranks of the whole, if the view is small.

**The number.** With I the rows of a basis, ``mu^2 = D_I' S_I^-1 D_I``. For any X put
``X' S_I X = 1 + E``. If ``||E|| < 1`` then S_I is regular and

    ||X'D_I||^2 / (1 + ||E||)  <=  mu^2  <=  ||X'D_I||^2 / (1 - ||E||).

X is a floating-point factor, everything else is enclosed in balls (Arb), so the two ends hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from flint import arb, arb_mat, fmpq_mat
from numpy.typing import NDArray

import dpaudit._validate as check
from dpaudit._typing import Array
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.algorithms.views.numbers import (
    Balls,
    Kind,
    Rationals,
    Residues,
    independent,
    ranks,
)
from dpaudit.algorithms.views.system import (
    Exact,
    Form,
    Network,
    Observer,
    exact_table,
    packed,
    unpacked,
)
from dpaudit.errors import ConvergenceError, InvalidArgument, Shown
from dpaudit.guarantees.kinds import GaussianDP
from dpaudit.reals import precision

# The largest primes below 2^62.
PRIMES = (4611686018427387847, 4611686018427387817, 4611686018427387787)
# Entries of a matrix whose rank is worked out in rationals.
_MOST_EXACT = 4000
_DIGITS, _WIDTH, _PASSES = (40, 160, 640), 1e-12, 4

Proof = Literal["exact", "primes"]


@dataclass(frozen=True, eq=False)
class View:
    """What an observer sees of a network on two neighbours that share the linear map.

    Parameters
    ----------
    network, observer
        Who sees what.
    change
        By how much the data change, shape ``(P,)``: numbers, taken exactly.

    Notes
    -----
    Formal guarantee: the view is exactly ``mu``-Gaussian DP for this pair, no more and no less.

    Examples
    --------
    >>> from dpaudit.algorithms.problems.graphs import ring
    >>> from dpaudit.algorithms.views.gossip import Gossip
    >>> network = Gossip(ring(3), iterations=1, noise_scale=2.0).network()
    >>> View(network, network.coalition(1), [1, 0, 0]).mu
    Bracket(lower=0.5, upper=0.5)
    >>> View(network, network.coalition(0), [1, 0, 0]).mu.upper
    inf
    """

    network: Network
    observer: Observer
    change: Sequence[Exact]

    def __post_init__(self) -> None:
        if not self.observer.hears and not self.observer.knows:
            raise InvalidArgument("observer", Shown("nobody"), "somebody who sees something")
        self._change  # noqa: B018

    @cached_property
    def _change(self) -> Form:
        return exact_table("change", self.change, (len(self.network.data_owners),))

    # --- what is seen ----------------------------------------------------------------------

    @property
    def knows_the_change(self) -> bool:
        """Whether the data that change are the observer's own."""
        owners = self.network.data_owners
        own = (owner in self.observer.knows for owner in owners)
        return any(known and change != 0 for known, change in zip(own, self._change, strict=True))

    @cached_property
    def rows(self) -> NDArray[np.intp]:
        """The sent coordinates that it sees, of all rounds."""
        seen = self.observer.hears - self.observer.knows
        one = np.array([sender in seen for sender in self.network.senders], dtype=np.bool_)
        return np.flatnonzero(np.tile(one, len(self.network.rounds)))

    @cached_property
    def columns(self) -> NDArray[np.intp]:
        """The noise coordinates that it does not know."""
        owners = self.network.noise_owners
        return np.flatnonzero([owner not in self.observer.knows for owner in owners])

    def seen(self, kind: Kind) -> NDArray[Any]:
        """Return ``[W, D]`` of the view, its last column the change of the mean."""
        every, noises = kind.coefficients(self.network), len(self.network.noise_owners)
        change = kind.column(self._change)
        changed = unpacked(kind.matrix(every[self.rows, noises:]) * change)
        return np.concatenate([every[np.ix_(self.rows, self.columns)], changed], axis=1)

    # --- the range -------------------------------------------------------------------------

    @cached_property
    def infinite(self) -> bool:
        """Whether the change of the mean leaves the range of the covariance."""
        return self.knows_the_change or self._ranks[1] > self._ranks[0]

    @cached_property
    def _ranks(self) -> tuple[int, int]:
        """The ranks of ``W`` and of ``[W, D]``, the largest found modulo the primes."""
        found = [ranks(kind, self.seen(kind)) for kind in map(Residues, PRIMES)]
        return max(one for one, _ in found), max(other for _, other in found)

    @cached_property
    def proof(self) -> Proof:
        """How it is known whether mu is finite: proved, or by ranks modulo three primes."""
        if self.knows_the_change:
            return "exact"
        if self.infinite:
            return "exact" if self._shortest()._infinite_exactly() else "primes"
        if self._ranks[0] == len(self.rows) and self.mu.upper > 0:
            return "exact"  # the enclosure of mu proves it
        if self._drowned():
            return "exact"
        return "exact" if self._infinite_exactly() is False else "primes"

    def _shortest(self) -> View:
        """Return the view of the first rounds that show the change, as few as do."""
        low, high = 0, len(self.network.rounds)
        while high - low > 1:
            middle = (low + high) // 2
            shown = View(self.network.first(middle), self.observer, self.change).infinite
            low, high = (low, middle) if shown else (middle, high)
        return View(self.network.first(high), self.observer, self.change)

    def _drowned(self) -> bool:
        """Return whether in every round the change enters as unknown noise of the round might."""
        change = packed(self._change[:, None])
        return all(
            self._is_noise(one.noise, one.noise_owners, one.data * change)
            for one in {id(one): one for one in self.network.rounds}.values()
        )

    def _is_noise(self, noise: fmpq_mat, owners: tuple[int, ...], moved: fmpq_mat) -> bool:
        unknown = [owner not in self.observer.knows for owner in owners]
        both = np.concatenate([unpacked(noise)[:, unknown], unpacked(moved)], axis=1)
        without, ranked = ranks(Rationals(), both)
        return ranked == without

    def _infinite_exactly(self) -> bool | None:
        """Return the answer of exact ranks; None where they are too much work."""
        if len(self.rows) * len(self.columns) > _MOST_EXACT:
            return None
        one, other = ranks(Rationals(), self.seen(Rationals()))
        return other > one

    # --- the number ------------------------------------------------------------------------

    @cached_property
    def mu(self) -> Bracket:
        """The exact mu, between two ends that hold; infinite where the change is seen for sure.

        Raises
        ------
        ConvergenceError
            The ends do not meet to 1e-12 of mu with 640 digits.
        """
        if self.infinite:
            return Bracket.exactly(math.inf)
        if not self._moves:
            return Bracket.exactly(0.0)
        for digits in _DIGITS:
            with precision(digits):
                found = self._enclosed(digits)
            if found is not None and found.width <= _WIDTH * found.upper:
                return found
        raise ConvergenceError(f"mu: no bracket of relative width {_WIDTH:g} with {digits} digits")

    @cached_property
    def _moves(self) -> bool:
        kinds = map(Residues, PRIMES)
        return any(int(moved) != 0 for kind in kinds for moved in self.seen(kind)[:, -1])

    @cached_property
    def basis(self) -> NDArray[np.intp]:
        """Rows of the view that the others depend on, as places in `rows`."""
        kinds = [Residues(prime) for prime in PRIMES]
        return max((independent(kind, self.seen(kind)[:, :-1]) for kind in kinds), key=len)

    def _enclosed(self, digits: int) -> Bracket | None:
        """Return a bracket of mu, or None where these digits do not prove that rows differ."""
        kind = Balls(digits)
        seen = self.seen(kind)[self.basis]
        noise, moved = kind.matrix(seen[:, :-1]), kind.matrix(seen[:, -1:])
        factor = _whitening(noise)
        if factor is None:
            return None
        left, error = factor
        whitened = (left * moved).entries()
        least = sum((entry.abs_lower() ** 2 for entry in whitened), arb(0)) / (1 + error)
        most = sum((entry.abs_upper() ** 2 for entry in whitened), arb(0)) / (1 - error)
        low, high = least.lower().sqrt().lower(), most.upper().sqrt().upper()
        return Bracket(_rounded_down(low), -_rounded_down(-high))

    def direction(self) -> Array:
        """Return y for which ``y'view`` is the log-likelihood ratio up to a constant, (rows,).

        Its variance is ``mu^2``, and so is the change of its mean. It is zero off `basis`.
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
        return seen[:, :-1], seen[:, -1]

    # --- what it means ---------------------------------------------------------------------

    def delta(self, epsilon: float) -> Bracket:
        """Return the exact delta at ``epsilon >= 0``, between the profiles at the ends of mu."""
        check.non_negative("epsilon", epsilon)
        if self.infinite:
            return Bracket.exactly(1.0)
        lower, upper = GaussianDP(self.mu.lower), GaussianDP(self.mu.upper)
        return Bracket(lower.delta_below(epsilon), upper.delta(epsilon))

    def epsilon(self, delta: float) -> Bracket:
        """Return the exact epsilon at ``delta``, likewise."""
        if self.infinite:
            check.delta("delta", delta)
            return Bracket.exactly(math.inf)
        lower, upper = GaussianDP(self.mu.lower), GaussianDP(self.mu.upper)
        return Bracket(lower.epsilon_below(delta), upper.epsilon(delta))


def _rounded_down(value: arb) -> float:
    """Return the largest double, or the next, that is not above a ball."""
    near = float(value)
    return near if arb(near) <= value else math.nextafter(near, -math.inf)


def _whitening(noise: arb_mat) -> tuple[arb_mat, arb] | None:
    """Return X' and a bound on ``||X' W W' X - 1||`` in Frobenius' norm, or None if above 1/2."""
    sizes = np.abs(rounded(noise)).max(axis=1)
    left = arb_mat(np.diag(1 / sizes).tolist()) if np.all(sizes > 1e-300) else None
    if left is None:
        return None
    factor = np.linalg.qr(rounded(left * noise).T, mode="r")
    for _ in range(_PASSES):
        if not np.all(np.diagonal(factor)) or not np.isfinite(factor).all():
            return None
        left = arb_mat(np.linalg.inv(factor).T.tolist()) * left
        whitened = left * noise
        gram = whitened * whitened.transpose()
        error = _distance_from_one(gram)
        if error < 0.001:
            return left, error
        factor = np.linalg.qr(rounded(whitened).T, mode="r")
    return None


def rounded(matrix: arb_mat) -> Array:
    """Return the midpoints of balls, as doubles."""
    return np.asarray(unpacked(matrix).astype(np.float64))


def _distance_from_one(gram: arb_mat) -> arb:
    off = gram - arb_mat(np.eye(gram.nrows()).tolist())
    return sum((entry.abs_upper() ** 2 for entry in off.entries()), arb(0)).upper().sqrt().upper()


def views_of(network: Network, change: Sequence[Exact]) -> Iterator[View]:
    """Yield the view of every participant, alone."""
    for participant in range(len(network.hears)):
        yield View(network, network.coalition(participant), change)
