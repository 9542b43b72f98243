"""Strategies of a matrix mechanism: it releases ``C x + z`` of the rows x of its rounds.

=====  =========================================  ===============
name   meaning                                    shape
=====  =========================================  ===============
n      rounds, from 0                             integer
C      the strategy, public                       (m, n)
c_j    column j of C: where round j enters        (m,)
G      ``C'C``, the inner products of columns     (n, n)
c      coefficients of a Toeplitz strategy:       (at most n,)
       ``C[i, j] = c[i - j]``, below 0: 0
=====  =========================================  ===============

Coefficients are rationals where they have a closed form in rationals, and balls elsewhere
(`dpaudit.reals.precision` says of how many digits): no sign or size is ever decided by rounding.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from flint import arb, arb_poly, fmpq, fmpq_mat

from dpaudit._typing import Array
from dpaudit.guarantees.rounding import round_ball_up

Entry: TypeAlias = "fmpq | arb"
_ULP = 2.0**-52  # of doubles: twice what one operation is off
_LEAST = 2.0**-1074  # twice what a product is off that is too small for all its digits


class Strategy(ABC):
    """The matrix C.

    Parameters
    ----------
    rounds
        n, how many columns it has.
    """

    rounds: int

    @property
    @abstractmethod
    def is_nonnegative(self) -> bool:
        """Whether it is proved that no entry is below 0, and so no inner product of columns."""

    @property
    @abstractmethod
    def is_causal(self) -> bool:
        """Whether each row can be released as soon as its last round has come.

        Rows are then released in the order of their last round, before any later one: of a square
        strategy, C is lower triangular.
        """

    @abstractmethod
    def square(self, rounds: Sequence[int], signs: Sequence[int] | None = None) -> Entry:
        """Return ``|| sum_j s_j c_j ||^2`` over some rounds; no signs are all ones."""

    @abstractmethod
    def inner(self, one: int, other: int) -> Entry:
        """Return ``<c_i, c_j>``."""

    @property
    def starts(self) -> range:
        """Rounds in one of which a worst pattern begins."""
        return range(self.rounds)

    @property
    def longest(self) -> range:
        """Rounds one of which has the longest column."""
        return self.starts

    @property
    def is_decreasing(self) -> bool:
        """Whether G is proved to fall both in the gap of two rounds and in how late they are."""
        return False

    def is_longest(self, one: int) -> bool:
        """Return whether it is proved that no column is longer than this one."""
        square = self.inner(one, one)
        return all(square >= self.inner(other, other) for other in self.longest)

    def is_orthogonal(self, gap: int) -> bool:
        """Return whether columns at least so far apart are proved to have an inner product of 0."""
        return False

    def bound_separated_square(self, separation: int, most: int) -> Entry | None:
        """Return an upper bound on ``|| sum_j s_j c_j ||^2`` over so many rounds so far apart.

        None: nothing is known that all inner products of columns do not say.
        """
        return None

    def is_banded(self, band: int) -> bool:
        """Return whether it is proved that round j enters no rows but j to ``j + band - 1``."""
        return False

    def gram(self, rounds: Sequence[int]) -> list[list[Entry]]:
        """Return G of some rounds."""
        upper = {(i, j): self.inner(i, j) for i in rounds for j in rounds if i <= j}
        return [[upper[min(i, j), max(i, j)] for j in rounds] for i in rounds]

    def magnitudes(self) -> Array:
        """Return ``|G|`` in doubles that are not below it, shape ``(rounds, rounds)``."""
        rows = self.gram(range(self.rounds))
        return np.array(
            [[round_ball_up(compute_entry_size(entry)) for entry in row] for row in rows]
        )


@dataclass(frozen=True, eq=False)
class Toeplitz(Strategy):
    """A strategy that treats every round alike: lower triangular, the same on every diagonal.

    Shifting a pattern to begin in round 0 shifts its signed sum of columns down in no row and cuts
    off fewer at the end, so that a worst pattern begins in round 0, whatever the signs.

    If the coefficients are at least 0 and never rise, ``<c_i, c_j> = sum_u c[u] c[u + j - i]``,
    over u from 0 to n - 1 - j for i <= j, has terms that fall in the gap j - i, and fewer of them
    the larger j is.

    Parameters
    ----------
    rounds
        n.
    coefficients
        c from the diagonal down; those that are missing are 0.

    Examples
    --------
    >>> Toeplitz(3, [fmpq(1), fmpq(1, 2)]).square([0, 1])
    7/2
    """

    rounds: int
    coefficients: Sequence[Entry]

    @cached_property
    def used(self) -> list[Entry]:
        """The coefficients that n rounds reach."""
        return list(self.coefficients[: self.rounds])

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether it is proved that no coefficient is below 0."""
        return all(one >= 0 for one in self.used)

    @property
    def is_causal(self) -> bool:
        """Always: row i is released in round i."""
        return True

    @property
    def starts(self) -> range:
        """Round 0: see above."""
        return range(1)

    @cached_property
    def is_decreasing(self) -> bool:
        """Whether it is proved that coefficients are at least 0 and never rise."""
        after = [*self.used[1:], fmpq(0)][: self.rounds]
        return all(one >= other for one, other in zip(self.used, after, strict=True))

    def is_longest(self, one: int) -> bool:
        """Return whether all that the last row cuts off from the column is 0."""
        # The column of round j has the first ``rounds - j`` coefficients: it is as long as that of
        # round 0 if the others are all 0.
        return self.is_banded(self.rounds - one)

    def is_orthogonal(self, gap: int) -> bool:
        """Return whether columns at least so far apart share no row."""
        return self.is_banded(gap)

    def is_banded(self, band: int) -> bool:
        """Return whether the coefficients from there on are proved to be 0."""
        return all(one == 0 for one in self.used[band:])

    def square(self, rounds: Sequence[int], signs: Sequence[int] | None = None) -> Entry:
        """Return ``|| sum_j s_j c_j ||^2``."""
        total: list[Entry] = [fmpq(0)] * self.rounds
        for start, sign in zip(rounds, signs or [1] * len(rounds), strict=True):
            for row, one in enumerate(self.used[: self.rounds - start], start=start):
                total[row] = total[row] + sign * one
        return _sum_entries(one * one for one in total)

    def inner(self, one: int, other: int) -> Entry:
        """Return ``<c_i, c_j>``."""
        early, late = min(one, other), max(one, other)
        shifted = self.used[late - early :]
        return _sum_entries(
            a * b for a, b in zip(self.used[: self.rounds - late], shifted, strict=False)
        )

    def gram(self, rounds: Sequence[int]) -> list[list[Entry]]:
        """Return G; of all rounds, along the diagonals, each entry from the one after it."""
        if len(rounds) < self.rounds:
            return super().gram(rounds)
        c = [*self.used, *[fmpq(0)] * (self.rounds - len(self.used))]
        table: list[list[Entry]] = [[fmpq(0)] * self.rounds for _ in rounds]
        for gap in range(self.rounds):
            known: Entry = fmpq(0)
            for late in reversed(range(gap, self.rounds)):
                # Along a diagonal each inner product has one term more than the next: all entries
                # cost as much as there are of them, instead of a sum for each.
                known = known + c[self.rounds - 1 - late] * c[self.rounds - 1 - late + gap]
                table[late][late - gap] = table[late - gap][late] = known
        return table

    def magnitudes(self) -> Array:
        """Return ``|G|`` in doubles that are not below it, shape ``(rounds, rounds)``."""
        if not self.is_nonnegative:
            return super().magnitudes()
        c = np.zeros(self.rounds)
        c[: len(self.used)] = [round_ball_up(compute_entry_size(entry)) for entry in self.used]
        table = np.zeros((self.rounds, self.rounds))
        for gap in range(self.rounds):
            late = np.arange(gap, self.rounds)
            sums = np.cumsum(c[: self.rounds - gap] * c[gap:])[::-1]
            table[late, late - gap] = table[late - gap, late] = sums
        # Terms are at least 0, so that each of at most ``rounds`` sums adds one relative error. The
        # second term pays for products below the normal doubles, where errors are absolute.
        return table * (1 + (self.rounds + 2) * _ULP) + (self.rounds + 2) * _LEAST


@dataclass(frozen=True, eq=False)
class Dense(Strategy):
    """A strategy by its rows, of rationals.

    Parameters
    ----------
    rounds
        n, how many columns it has.
    matrix
        C.
    """

    rounds: int
    matrix: fmpq_mat

    @cached_property
    def is_nonnegative(self) -> bool:
        """Whether no entry is below 0."""
        return all(one >= 0 for one in self.matrix.entries())

    @cached_property
    def is_causal(self) -> bool:
        """Whether rows are in an order in which they can be released.

        A square matrix is lower triangular. Of any other no row ends before the one above it does.
        """
        rows, columns = range(self.matrix.nrows()), range(self.matrix.ncols())
        ends = [max((j for j in columns if self.matrix[i, j] != 0), default=0) for i in rows]
        if len(rows) == len(columns):
            return all(end <= i for i, end in enumerate(ends))
        return all(one <= other for one, other in pairwise(ends))

    def square(self, rounds: Sequence[int], signs: Sequence[int] | None = None) -> Entry:
        """Return ``|| sum_j s_j c_j ||^2``."""
        signed = list(zip(rounds, signs or [1] * len(rounds), strict=True))
        rows = range(self.matrix.nrows())
        sums = (_sum_entries(sign * self.matrix[row, one] for one, sign in signed) for row in rows)
        return _sum_entries(one * one for one in sums)

    def is_orthogonal(self, gap: int) -> bool:
        """Return whether columns at least so far apart have an inner product of 0."""
        rounds = range(self.rounds)
        return all(self.inner(i, j) == 0 for i in rounds for j in rounds[i + gap :])

    def is_banded(self, band: int) -> bool:
        """Return whether the matrix is square, lower triangular, and 0 from that diagonal on."""
        is_square = self.matrix.nrows() == self.rounds
        below = ((i, j) for i in range(self.rounds) for j in range(i - band + 1))
        return is_square and self.is_causal and all(self.matrix[place] == 0 for place in below)

    @cached_property
    def _products(self) -> fmpq_mat:
        return self.matrix.transpose() * self.matrix

    def inner(self, one: int, other: int) -> Entry:
        """Return ``<c_i, c_j>``."""
        found: Entry = self._products[one, other]
        return found


@dataclass(frozen=True, eq=False)
class Tree(Strategy):
    """The nodes of a binary tree on the rounds: sums over blocks of 1, 2, 4, ... rounds.

    A node is released when its last round has come. Trees of rounds that are no power of two have
    nodes that the rounds do not fill; whoever completes the tree with empty rounds releases them.

    Parameters
    ----------
    rounds
        n.
    is_completed
        Whether nodes that the rounds do not fill are released.

    Examples
    --------
    >>> Tree(8).square([0]), Tree(5).square([4]), Tree(5, is_completed=False).square([4])
    (4, 4, 1)
    """

    rounds: int
    is_completed: bool = True

    @property
    def is_nonnegative(self) -> bool:
        """Always."""
        return True

    @property
    def is_causal(self) -> bool:
        """Always: a node is released with its last round."""
        return True

    @property
    def longest(self) -> range:
        """Round 0: its node of a level is released if any of the level is."""
        return range(1)

    def nodes(self, level: int) -> int:
        """Return how many nodes of ``2 ** level`` rounds are released."""
        # A completed tree has a node for every block that is begun, another one for those alone
        # that are full.
        more = (1 << level) - 1 if self.is_completed else 0
        return (self.rounds + more) >> level

    @property
    def levels(self) -> range:
        """Levels from the leaves, 0, to the root."""
        return range((self.rounds - 1).bit_length() + 1)

    def square(self, rounds: Sequence[int], signs: Sequence[int] | None = None) -> Entry:
        """Return ``|| sum_j s_j c_j ||^2``, a sum over nodes."""
        places, weights = np.asarray(rounds), np.asarray(signs or [1] * len(rounds))
        total = 0
        for level in self.levels:
            nodes, node_of = np.unique(places >> level, return_inverse=True)
            sums = np.bincount(node_of, weights)[nodes < self.nodes(level)]
            total += int(sums @ sums)
        return fmpq(total)

    def bound_separated_square(self, separation: int, most: int) -> Entry:
        """Return an upper bound on all patterns of so many rounds so far apart.

        Of a level's nodes each has at most ``ceil(size / separation)`` rounds of a pattern, and the
        sum of the squares of their numbers is largest where all nodes but one are full or empty.

        Examples
        --------
        >>> Tree(8).bound_separated_square(4, 2)  # 2 of sizes 1, 2 and 4 each, 4 of size 8
        10
        """
        total = 0
        for level in self.levels:
            full = min(most, -(-(1 << level) // separation))
            spread = most // full * full**2 + (most % full) ** 2
            # There are only so many nodes, and none has more than `full` rounds: both bounds hold,
            # and the smaller counts.
            total += min(spread, self.nodes(level) * full**2)
        return fmpq(total)

    def inner(self, one: int, other: int) -> Entry:
        """Return how many nodes both rounds are in."""
        shared = (
            level for level in self.levels if one >> level == other >> level < self.nodes(level)
        )
        return fmpq(sum(1 for _ in shared))

    def magnitudes(self) -> Array:
        """Return how many nodes two rounds are both in, shape ``(rounds, rounds)``."""
        places = np.arange(self.rounds)
        table = np.zeros((self.rounds, self.rounds))
        for level in self.levels:
            nodes = places >> level
            table += (nodes[:, None] == nodes) & (nodes < self.nodes(level))
        return table


def compute_entry_size(entry: Entry) -> arb:
    """Return the size of an entry, a ball."""
    return abs(arb(entry))


def _sum_entries(values: Iterable[Entry]) -> Entry:
    start: Entry = fmpq(0)
    return reduce(operator.add, values, start)


# --- coefficients ---------------------------------------------------------------------------------


def power_coefficients(rounds: int, bases: Sequence[Fraction], *, is_root: bool) -> list[Entry]:
    """Return coefficients of ``prod_b 1 / (1 - b x)``, or of its square root.

    Of the bases 1 and beta they are those of the sums of a momentum beta (Kalinin & Lampert 2024),
    and of 1 alone those of prefix sums, whose square root has ``binom(2k, k) / 4^k``
    (Fichtenberger, Henzinger & Upadhyay 2023; Henzinger, Upadhyay & Upadhyay 2023).

    Examples
    --------
    >>> power_coefficients(3, [Fraction(1)], is_root=False)
    [1, 1, 1]
    >>> [float(one) for one in power_coefficients(3, [Fraction(1)], is_root=True)]
    [1.0, 0.5, 0.375]
    """
    series = [_one_power(rounds, base, is_root=is_root) for base in bases if base]
    if not series:
        return [fmpq(1)]
    if len(series) == 1:
        return series[0]
    product = arb_poly([1])
    for one in series:
        product = product * arb_poly([arb(entry) for entry in one])
    return list(product.coeffs()[:rounds])


def _one_power(rounds: int, base: Fraction, *, is_root: bool) -> list[Entry]:
    """Return those of one base: rationals where they are integers, and balls elsewhere."""
    # Rationals of other bases grow longer with every round. Balls keep one precision.
    exact = base == 1 and not is_root
    factor: Entry = fmpq(1) if exact else arb(fmpq(base.numerator, base.denominator))
    found: list[Entry] = [fmpq(1) if exact else arb(1)]
    for k in range(1, rounds):
        share = arb(fmpq(2 * k - 1, 2 * k)) if is_root else fmpq(1)
        found.append(found[-1] * factor * share)
    return found


def whiten_rows(rows: fmpq_mat, noise: fmpq_mat) -> fmpq_mat | None:
    """Return C with ``A = B C`` for the release ``A x + B z``; None where B has no inverse."""
    try:
        return noise.solve(rows)
    except ZeroDivisionError:
        return None


def rational_matrix(
    rows: Sequence[Sequence[float]], number: Callable[[float], Fraction]
) -> fmpq_mat:
    """Return rows of doubles as rationals, each as ``number`` reads it."""
    entries = [[number(float(entry)) for entry in row] for row in rows]
    flat = [fmpq(one.numerator, one.denominator) for row in entries for one in row]
    return fmpq_mat(len(entries), len(entries[0]), flat)
