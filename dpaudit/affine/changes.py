r"""Changes of private data between neighbours: a direction, a ball, or a box.

The directions in which data may change are columns B; the matrix ``M = B' L' S^+ L B`` of a view
(`dpaudit.affine.view`) gives its mu for every change ``B z`` as ``sqrt(z' M z)``. The largest over

| change                       | is                             | how it is found                 |
|------------------------------|--------------------------------|---------------------------------|
| `Direction`: one vector      | ``sqrt(M)``                    | exactly                         |
| `L2Ball`: ``||z|| <= r``     | ``r sqrt(largest eigenvalue)`` | by Rayleigh and Gershgorin      |
| `L1Ball`: ``sum |z_j| <= r`` | ``r max_j sqrt(M_jj)``         | at a corner, as z'Mz is convex  |
| `Box`: ``|z_j| <= r_j``      | at a corner of the box         | all of them, or two ends        |

The largest over a box is NP-hard. Up to 16 numbers all corners are tried; beyond that the lower end
is the best corner of an ascent that turns one sign at a time, and the upper end the least of
``sum_ij r_i |M_ij| r_j`` and of the ball around the box.
"""

from __future__ import annotations

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from flint import arb, arb_mat, fmpq
from numpy.typing import NDArray

import dpaudit._check as check
from dpaudit.accounting.pairs.composition import Bracket
from dpaudit.affine.kinds import Kind, SparseMatrix, unpack_flint_matrix
from dpaudit.errors import InvalidArgument, VerbatimText

_MOST_CORNERS = 16  # numbers of a box whose corners are all tried


class Change(ABC):
    """A bound on the change of private data."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of directions."""

    @property
    def is_exact(self) -> bool:
        """Whether the largest mu is found exactly, up to rounding."""
        return True

    @property
    def words(self) -> str:
        """The words that follow "the data change"."""
        return "as stated"

    @abstractmethod
    def locate_changes(self) -> NDArray[np.intp]:
        """Return which of the private numbers change, as places in their row."""

    def directions(self) -> NDArray[np.float64]:
        """Return the nearest doubles to the directions, shape ``(len(locate_changes()), size)``.

        By default there is one for each number that changes.
        """
        return np.eye(self.size)[: len(self.locate_changes())]

    @abstractmethod
    def along(self, kind: Kind, data: NDArray[Any]) -> NDArray[Any]:
        """Return columns of the directions, shape ``(rows, size)``, from those of all data."""

    @abstractmethod
    def largest(self, gram: arb_mat) -> Bracket:
        """Return the largest mu, M being enclosed."""


class Direction(Change):
    """One change, and its negative.

    Parameters
    ----------
    vector
        By how much each private number changes, in order: doubles, integers or fractions.

    Examples
    --------
    >>> Direction([0, 1, Fraction(1, 3)]).locate_changes().tolist()
    [1, 2]
    """

    def __init__(self, vector: Sequence[Any]) -> None:
        self.vector = tuple(exact_number("change", one) for one in vector)

    @property
    def size(self) -> int:
        """One."""
        return 1

    @property
    def words(self) -> str:
        """The words that follow "the data change"."""
        return "by the stated vector"

    def locate_changes(self) -> NDArray[np.intp]:
        """Return which of the private numbers change."""
        return np.flatnonzero([one != 0 for one in self.vector])

    def directions(self) -> NDArray[np.float64]:
        """Return the numbers of the change that are not 0."""
        return np.array([[float(self.vector[one])] for one in self.locate_changes()]).reshape(-1, 1)

    def along(self, kind: Kind, data: NDArray[Any]) -> NDArray[Any]:
        """Return the column of the change."""
        if data.shape[1] != len(self.vector):
            expected = f"as many as there are private numbers, {data.shape[1]}"
            raise InvalidArgument("change", VerbatimText(f"{len(self.vector)} numbers"), expected)
        # Only the columns that the change moves: a vector of many zeros costs what is left of
        # it.
        at = self.locate_changes()
        numbers = np.empty(len(at), dtype=object)
        numbers[:] = [self.vector[one] for one in at]
        where = np.arange(len(at))
        column = SparseMatrix(1, len(at), np.zeros(len(at), dtype=np.int64), where, numbers)
        return kind.mix(column, np.ascontiguousarray(data[:, at].T)).T

    def largest(self, gram: arb_mat) -> Bracket:
        """Return the mu of the change."""
        return root_between(gram[0, 0], gram[0, 0])


class _Ball(Change):
    """Some private numbers change, all of them by so much at most.

    Parameters
    ----------
    at
        Which of the private numbers, as places in their row.
    radius
        Of the ball.
    """

    def __init__(self, at: Sequence[int], radius: float = 1.0) -> None:
        self.at = np.array([operator.index(one) for one in at], dtype=np.intp)
        self.radius = exact_number("radius", radius)
        if self.radius < 0 or not len(self.at):
            given = radius if len(self.at) else VerbatimText("no number that changes")
            raise InvalidArgument("radius", given, "0 or more, of at least one number")
        # A place that comes twice would count its number as two that change.
        if len(np.unique(self.at)) < len(self.at):
            raise InvalidArgument("at", list(at), "distinct places")

    @property
    def size(self) -> int:
        """The number of numbers that change."""
        return len(self.at)

    def locate_changes(self) -> NDArray[np.intp]:
        """Return which of the private numbers change."""
        return self.at if self.radius else self.at[:0]

    def along(self, kind: Kind, data: NDArray[Any]) -> NDArray[Any]:
        """Return the columns of the numbers that change."""
        if int(self.at.max()) >= data.shape[1] or int(self.at.min()) < 0:
            raise InvalidArgument("at", self.at.tolist(), f"places below {data.shape[1]}")
        return data[:, self.at] if self.radius else data[:, self.at] * 0

    def _scale_by_radius(self, lower: arb, upper: arb) -> Bracket:
        radius = arb(fmpq(self.radius.numerator, self.radius.denominator))
        return root_between(lower * radius**2, upper * radius**2)


class L2Ball(_Ball):
    """The Euclidean norm of the change is at most a radius."""

    @property
    def words(self) -> str:
        """The words that follow "the data change"."""
        return f"by at most {float(self.radius):g} (l2)"

    def largest(self, gram: arb_mat) -> Bracket:
        """Return ``radius sqrt(largest eigenvalue)``."""
        # The vectors are doubles and only near the eigenvectors. The similar matrix is
        # enclosed, though, so Gershgorin's discs hold whatever the vectors are.
        vectors = _estimate_eigenvectors(gram)
        basis = arb_mat(vectors.tolist())
        turned = unpack_flint_matrix(basis.inv() * gram * basis)
        discs = [row[n] + _sum_off_diagonal(row, n) for n, row in enumerate(turned)]
        upper = _compute_largest_ball(disc.upper() for disc in discs)
        last = arb_mat(vectors[:, -1:].tolist())
        # Rayleigh: the quotient of any vector is at most the largest eigenvalue.
        along = (last.transpose() * gram * last)[0, 0] / (last.transpose() * last)[0, 0]
        return self._scale_by_radius(along, upper)


class L1Ball(_Ball):
    """The sum of the absolute values of the change is at most a radius."""

    @property
    def words(self) -> str:
        """The words that follow "the data change"."""
        return f"by at most {float(self.radius):g} (l1)"

    def largest(self, gram: arb_mat) -> Bracket:
        """Return ``radius max_j sqrt(M_jj)``."""
        most = _compute_largest_ball(gram[n, n] for n in range(gram.nrows()))
        return self._scale_by_radius(most, most)


class Box(Change):
    """Each of some private numbers changes by so much at most.

    Parameters
    ----------
    at
        Which of the private numbers, as places in their row.
    radii
        By how much each may change: one number, or one each.
    """

    def __init__(self, at: Sequence[int], radii: Any = 1.0) -> None:
        self._ball = L2Ball(at, 1.0)
        given = np.broadcast_to(np.asarray(radii, dtype=object), (len(self._ball.at),))
        self.radii = tuple(exact_number("radii", one) for one in given)
        if any(one < 0 for one in self.radii):
            raise InvalidArgument("radii", radii, "0 or more")

    @property
    def size(self) -> int:
        """The number of numbers that change."""
        return self._ball.size

    @property
    def words(self) -> str:
        """The words that follow "the data change"."""
        radii = sorted({float(one) for one in self.radii})
        most = f"{radii[0]:g}" if len(radii) == 1 else f"{radii[0]:g} to {radii[-1]:g}"
        return f"by at most {most} in every number"

    @property
    def is_exact(self) -> bool:
        """Whether all corners are tried."""
        return self.size <= _MOST_CORNERS

    def locate_changes(self) -> NDArray[np.intp]:
        """Return which of the private numbers change."""
        return self._ball.at[np.flatnonzero([one != 0 for one in self.radii])]

    def directions(self) -> NDArray[np.float64]:
        """Return a unit vector for each number that changes, times its radius."""
        table = np.diag([float(one) for one in self.radii])
        return table[np.flatnonzero([one != 0 for one in self.radii])]

    def along(self, kind: Kind, data: NDArray[Any]) -> NDArray[Any]:
        """Return the columns of the numbers that change, each times its radius."""
        columns = self._ball.along(kind, data)
        radii = np.empty(self.size, dtype=object)
        radii[:] = list(self.radii)
        return kind.scale(np.ascontiguousarray(columns.T), radii, divides=False).T

    def largest(self, gram: arb_mat) -> Bracket:
        """Return the largest of the corners, or two ends of it."""
        if self.is_exact:
            most = _compute_largest_ball(_corner_values(unpack_flint_matrix(gram).tolist()))
            return root_between(most, most)
        low = _at_corner(gram, _best_corner(unpack_flint_matrix(gram).astype(np.float64)))
        entries = sum((abs(one) for one in gram.entries()), arb(0))
        # The columns are multiplied by their radii already, so the box is that of radius 1,
        # within the ball of radius sqrt(size).
        around = arb(L2Ball(range(self.size)).largest(gram).upper) ** 2 * self.size
        return root_between(low, entries.min(around))


def exact_number(name: str, value: Any) -> Fraction:
    """Return a number as the rational it is, or raise `InvalidArgument`.

    Examples
    --------
    >>> exact_number("change", 0.5), exact_number("change", Fraction(1, 3))
    (Fraction(1, 2), Fraction(1, 3))
    """
    if isinstance(value, fmpq):
        return Fraction(int(value.p), int(value.q))
    # True is an int in Python, and hardly a number that somebody means.
    if isinstance(value, Fraction | int) and not isinstance(value, bool):
        return Fraction(value)
    return Fraction(check.require_real(name, value))


def _compute_largest_ball(values: Iterable[arb]) -> arb:
    return reduce(lambda one, other: one.max(other), values)


def _estimate_eigenvectors(gram: arb_mat) -> NDArray[np.float64]:
    """Return approximate eigenvectors, as columns, the last one of the largest eigenvalue."""
    # Scaled to 1 first: entries may lie beyond the range of doubles, where an enclosure does
    # not end.
    size = _compute_largest_ball(abs(gram[n, n]) for n in range(gram.nrows())).upper()
    middle = unpack_flint_matrix(gram * (1 / size) if size > 0 else gram).astype(np.float64)
    return np.asarray(np.linalg.eigh((middle + middle.T) / 2)[1])


def _sum_off_diagonal(row: NDArray[Any], at: int) -> arb:
    return sum((abs(one) for n, one in enumerate(row) if n != at), arb(0))


def root_between(lower: arb, upper: arb) -> Bracket:
    """Return the root of a number between two ends, rounded outwards."""
    # The enclosure of a mu of 0 may reach below 0, where a root is not defined.
    low, high = arb(max(float(lower.lower()), 0.0)).sqrt(), upper.upper().sqrt().upper()
    if lower > 0:
        low = lower.lower().sqrt()
    return Bracket(_round_down(low.lower()), -_round_down(-high))


def _round_down(value: arb) -> float:
    """Return the largest double, or the next, that is not above a ball."""
    near = float(value)
    # The comparison of balls is true only if it holds for every number of both.
    return near if arb(near) <= value else math.nextafter(near, -math.inf)


def _corner_values(gram: list[list[arb]]) -> Iterator[arb]:
    """Yield ``z'Mz`` at every corner with a last sign of 1, one sign turned from each to the next.

    Turning z_j adds ``4 (M_jj - z_j (Mz)_j)``, and takes ``2 z_j M_ij`` from each ``(Mz)_i``.
    """
    # A corner and its negative have the same value, so the last sign stays.
    signs, product = [1] * len(gram), [sum(row, arb(0)) for row in gram]
    value = sum(product, arb(0))
    yield value
    for step in range(1, 2 ** (len(gram) - 1)):
        j = (step & -step).bit_length() - 1  # Gray's code
        value = value + 4 * (gram[j][j] - signs[j] * product[j])
        product = [one - 2 * signs[j] * row[j] for one, row in zip(product, gram, strict=True)]
        signs[j] = -signs[j]
        yield value


def _at_corner(gram: arb_mat, signs: Sequence[int]) -> arb:
    corner = arb_mat([[arb(int(one))] for one in signs])
    return (corner.transpose() * gram * corner)[0, 0]


def _best_corner(gram: NDArray[np.float64]) -> list[int]:
    """Return signs at which turning any one of them makes ``z'Mz`` no larger."""
    _, vectors = np.linalg.eigh(gram)
    # The signs of leading eigenvectors are good corners to start from; an ascent may end at any
    # that no single sign improves.
    starts = [np.where(vectors[:, -n] < 0, -1.0, 1.0) for n in range(1, min(len(gram), 8) + 1)]
    return max((_search_sign_vector(gram, one) for one in starts), key=lambda one: one[0])[1]


def _search_sign_vector(
    gram: NDArray[np.float64], signs: NDArray[np.float64]
) -> tuple[float, list[int]]:
    # A limit, because rounding could turn one sign to and fro forever. Any corner is a lower
    # end.
    for _ in range(100 * len(gram)):
        gains = np.diagonal(gram) - signs * (gram @ signs)
        best = int(np.argmax(gains))
        if gains[best] <= 1e-12 * abs(float(signs @ gram @ signs)):
            break
        signs = signs.copy()
        signs[best] = -signs[best]
    return float(signs @ gram @ signs), signs.astype(int).tolist()
