r"""Certificates of views: the knowledge of observers of a linear recursion, computed again.

The file holds a program of exact numbers, which coordinates each observer sees, by how much which
private numbers change, and between which ends mu lies. With ``[W, L]`` the rows of what an observer
sees, a change d has

    mu(d)^2 = d' G d,     G = L' S^-1 L,     S = W W'

over rows that are independent. That they are follows from the solution of ``S Z = L`` in balls,
which exists for regular matrices alone. Where it does not, all y with ``y'W = 0`` are found in
whole numbers, and looked at again: ``y'W`` is 0 exactly, and the rows that are left have a
solution, so that there are no others. A change for which some ``y'L d`` is not 0 is seen without
error, and mu is infinite; otherwise rows that depend on others tell nothing more.

The largest eigenvalue of the part P of G that a Euclidean ball turns lies between ``t / n^(1/k)``
and ``t = trace(P^k)^(1/k)``; k is 2^40 here, by repeated squares. Nothing of `dpaudit.affine` is
used, but to read the code of a reader who names it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import lcm
from typing import Any

from flint import arb, arb_mat, fmpq, fmpz_mat, nmod_mat

from dpaudit.errors import VerbatimText, shorten_repr
from dpaudit.reals import SECONDS, Matrix, Real, UndecidedComparison, exp, largest, length, log
from dpaudit.report.formatting import format_significant
from dpaudit.verification.document import Document
from dpaudit.verification.linear import (
    NOTHING,
    Coordinates,
    ProgramReading,
    Row,
    convert_to_nearest_double,
)

AGREEMENT = 1e-8  # between a number of the file and the recomputed one, as a share of that
INFINITE = "Infinity"
# At n^(1/2^40), the ratio of the two ends of an eigenvalue exceeds 1 by less than 1e-11 for any
# n that is admitted: far inside the agreement that is asked.
_SQUARES = 40
# A Mersenne prime below 2^63, which FLINT's single words hold. Ranks modulo it may be too
# small, which the solution in balls then shows.
_PRIME = 2**61 - 1
_MOST_ROWS = 600
_MOST_CHANGES = 100
_MOST_CORNERS = 4096
_DIGITS = 9
_LISTED = 6
_KINDS = ("direction", "l2", "l1", "box")


@dataclass(frozen=True)
class CheckedViews:
    """The numbers of a certificate of views, computed again.

    Parameters
    ----------
    failures
        What the file says otherwise.
    summary
        Every view, or the worst of many, as it was computed again.
    """

    failures: tuple[str, ...]
    summary: str


@dataclass(frozen=True)
class _Change:
    """A bound on the change of some private numbers."""

    name: str
    kind: str
    at: list[int]
    by: list[fmpq]

    @property
    def words(self) -> str:
        if self.kind == "direction":
            return "by the vector of the file"
        sizes = (
            ", ".join(dict.fromkeys(f"{convert_to_nearest_double(one):g}" for one in self.by))
            or "0"
        )
        return f"by at most {sizes} {'in each number' if self.kind == 'box' else f'({self.kind})'}"


class ObserverView:
    """The view of one observer: rows of W and L, exactly.

    Parameters
    ----------
    rows
        What each coordinate holds of normals and private numbers.
    normals, privates
        Those that there are; of the private ones those that change.
    """

    def __init__(self, rows: Sequence[Row], normals: Sequence[int], privates: Sequence[int]):
        held = {leaf for row in rows for leaf in row}
        # Columns of zeros would add nothing to S, and only make it larger to compute.
        self._noise = [one for one in normals if one in held]
        self._data = list(privates)
        self._rows = rows
        self._basis: Sequence[int] = range(len(rows))
        self._kernel: list[Row] | None = None

    def exposed(self) -> list[Row]:
        """Return ``y'L`` for all y with ``y'W = 0``; to be asked once `gram` has an answer."""
        return self._kernel or []

    def gram(self) -> Matrix | None:
        """Return G in balls; None where nothing that is seen holds noise.

        Raises
        ------
        UndecidedComparison
            These digits do not tell whether S is regular.
        """
        if not self._data or not self._noise or not self._basis:
            self._find_kernel()
            return None
        noise, data = (self._balls(leaves) for leaves in (self._noise, self._data))
        try:
            return data.T * (noise * noise.T).solve(data)
        # Balls that are too wide and rows that depend on each other look alike here. The kernel
        # in whole numbers tells them apart: if it is empty, more digits help; if not, dependent
        # rows have to go first.
        except UndecidedComparison:
            if self._kernel is not None or not self._find_kernel():
                raise
            return self.gram()

    def _balls(self, leaves: Sequence[int]) -> Matrix:
        zero = fmpq(0)
        table = [[arb(self._rows[n].get(leaf, zero)) for leaf in leaves] for n in self._basis]
        return Matrix(arb_mat(table))

    def _find_kernel(self) -> bool:
        """Find all y with ``y'W = 0``, and rows that the others follow from; whether there are y.

        That there are no more is left to `gram`, which has an answer for independent rows alone.
        """
        # One factor for a whole row leaves its combinations the same up to scaling, and FLINT's
        # integer kernel needs no fractions.
        scales = [lcm(1, *(int(one.q) for one in row.values())) for row in self._rows]
        noise = self._whole(scales, self._noise)
        kernel = _compute_left_kernel(noise, len(self._rows))
        pivots = _find_pivot_rows(kernel)
        # The verdict that noise cancels rests on this product, not on the library's nullspace.
        if any(one != 0 for one in (kernel * noise).entries()):
            raise ArithmeticError("rows that were found to depend on each other do not")
        self._basis = [n for n in range(len(self._rows)) if n not in pivots]
        shown = kernel * self._whole(scales, self._data)
        self._kernel = [
            {leaf: fmpq(shown[n, m]) for m, leaf in enumerate(self._data) if shown[n, m] != 0}
            for n in range(kernel.nrows())
        ]
        return bool(pivots)

    def _whole(self, scales: Sequence[int], leaves: Sequence[int]) -> fmpz_mat:
        """Return columns of the rows, each row times a number that makes it whole."""
        table = [
            int((row.get(leaf, fmpq(0)) * scale).p)
            for row, scale in zip(self._rows, scales, strict=True)
            for leaf in leaves
        ]
        return fmpz_mat(len(self._rows), len(leaves), table)


def _compute_left_kernel(matrix: fmpz_mat, rows: int) -> fmpz_mat:
    """Return rows that span all y with ``y' matrix = 0``."""
    if not matrix.ncols():
        return fmpz_mat(rows, rows, [int(i == j) for i in range(rows) for j in range(rows)])
    found, count = matrix.transpose().nullspace()
    # FLINT returns the kernel as columns of which only the first `count` are used.
    entries = [found[i, j] for j in range(count) for i in range(rows)]
    return fmpz_mat(count, rows, entries)


def _find_pivot_rows(kernel: fmpz_mat) -> set[int]:
    """Return rows that follow from the others, as a prime tells them.

    If the others are independent, as their solution shows, there are no more y than these span.
    """
    if not kernel.nrows():
        return set()
    reduced, rank = nmod_mat(kernel, _PRIME).rref()
    columns = range(kernel.ncols())
    return {next(n for n in columns if int(reduced[row, n]) != 0) for row in range(rank)}


class Checking:
    """A certificate of views whose program is worked out, ready to be judged in balls.

    Parameters
    ----------
    document
        The certificate.

    Raises
    ------
    DataError
        It is not as it has to be, or too large.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.reading = ProgramReading(document, SECONDS)
        self.observers = self._observers()
        self.stands_for = dict(self._names())
        self.changes = dict[str, _Change]()
        for one in self._objects("changes"):
            change = self._change(one)
            self.changes[change.name] = change
        self.output = self.reading.read_indices(
            "output", document.instance.get("output"), self.reading.size
        )
        asked = {one for at in self.observers.values() for one in at} | set(self.output)
        self.program: Coordinates = self.reading.coordinates(sorted(asked - {NOTHING}))
        self.views = [self._view(one) for one in self._objects("views")]
        if not self.views:
            raise document.refused("instance.views", [], "at least one view")
        # Private numbers that no change moves are constants to the observer: their columns
        # would only enlarge the system.
        changed = sorted({place for one in self.changes.values() for place in one.at})
        self._changed = {place: n for n, place in enumerate(changed)}
        privates = [self.program.privates[place] for place in changed]
        self._seen = {
            name: ObserverView(
                [self.program.rows[one] for one in sorted(set(at) - {NOTHING})],
                self.program.normals,
                privates,
            )
            for name, at in self.observers.items()
        }
        self._privates = privates

    # --- reading ---------------------------------------------------------------------------------

    def _objects(self, name: str) -> list[dict[str, Any]]:
        found = self.document.instance.get(name)
        if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
            raise self.document.refused(f"instance.{name}", found, "a list of objects")
        return found

    def _observers(self) -> dict[str, list[int]]:
        found = dict[str, list[int]]()
        for one in self._objects("observers"):
            name = self._name("observers", one.get("name"), found)
            found[name] = self.reading.read_indices("observers", one.get("at"), self.reading.size)
            if len(found[name]) > _MOST_ROWS:
                shown = VerbatimText(f"{len(found[name])} numbers")
                raise self.document.refused("instance.observers", shown, f"at most {_MOST_ROWS}")
        return found

    def _names(self) -> Iterator[tuple[str, list[str]]]:
        """Yield observers with the names that they stand for, where they stand for some."""
        for one in self._objects("observers"):
            sees = one.get("sees")
            if sees is None:
                continue
            if not isinstance(sees, list) or not all(isinstance(each, str) for each in sees):
                raise self.document.refused(
                    "instance.observers", VerbatimText(shorten_repr(sees)), "names"
                )
            yield str(one["name"]), sees

    def _called(self, observer: str) -> str:
        sees = self.stands_for.get(observer, [observer])
        return observer if sees == [observer] else f"{observer} ({', '.join(sees)})"

    def _name(self, part: str, value: Any, known: Mapping[str, Any]) -> str:
        if not isinstance(value, str) or value in known:
            raise self.document.refused(
                f"instance.{part}", VerbatimText(shorten_repr(value)), "a name each"
            )
        return value

    def _change(self, one: dict[str, Any]) -> _Change:
        name, kind = self._name("changes", one.get("name"), self.changes), one.get("kind")
        if kind not in _KINDS:
            raise self.document.refused(
                "instance.changes", VerbatimText(shorten_repr(kind)), " or ".join(_KINDS)
            )
        at = self.reading.read_indices(
            "changes", one.get("at"), len(self.reading.privates), least=0
        )
        by = one.get("by")
        numbers = [self.reading.number(each) for each in by] if isinstance(by, list) else []
        balls = kind in ("l1", "l2")
        fits = len(numbers) == (1 if balls else len(at)) and len(set(at)) == len(at)
        positive = kind == "direction" or all(number >= 0 for number in numbers)
        small = len(at) <= _MOST_CHANGES and (kind != "box" or 2 ** len(at) <= 2 * _MOST_CORNERS)
        if not (fits and positive and small):
            shown = VerbatimText(f"{kind} of {len(at)} places and {len(numbers)} numbers")
            raise self.document.refused("instance.changes", shown, "places once, numbers for each")
        return _Change(name, kind, at, numbers)

    def _view(self, one: dict[str, Any]) -> tuple[str, str, float | None, float | None]:
        observer, about = one.get("observer"), one.get("about")
        if observer not in self.observers or about not in self.changes:
            shown = VerbatimText(f"{shorten_repr(observer)}, {shorten_repr(about)}")
            raise self.document.refused("instance.views", shown, "an observer and a change")
        ends = [self._end(one.get(name)) for name in ("lower", "upper")]
        return str(observer), str(about), ends[0], ends[1]

    def _end(self, value: Any) -> float | None:
        if value == INFINITE:
            return None
        fine = type(value) in (int, float) and 0 <= value < 1e300
        if not fine:
            raise self.document.refused("instance.views", value, "ends of at least 0")
        return float(value)

    # --- judging ---------------------------------------------------------------------------------

    def judged(self) -> CheckedViews:
        """Return all views with the digits of the moment.

        Raises
        ------
        UndecidedComparison
            These digits do not tell.
        """
        failures, said = list(self._list_unknown_names()), list[tuple[float, str]]()
        for observer in dict.fromkeys(one[0] for one in self.views):
            gram, who = self._seen[observer].gram(), self._called(observer)
            for _, about, low, high in (one for one in self.views if one[0] == observer):
                mu = self._mu(self._seen[observer], gram, self.changes[about])
                failures += _find_view_disagreements(f"{who} about {about}", (low, high), mu)
                said.append(
                    (
                        _convert_mu_to_float(mu),
                        f"{who} about {about} has mu {_format_recomputed_mu(mu)}",
                    )
                )
        return CheckedViews(tuple(failures), self._summary(said))

    def _list_unknown_names(self) -> Iterator[str]:
        document = self.document
        for name in (*document.parameters, *document.quantities, *document.assumptions):
            yield f"{shorten_repr(name)}: is nothing that is recomputed"

    def _summary(self, said: Sequence[tuple[float, str]]) -> str:
        """Return the views, the largest of which comes first, and the changes."""
        ordered = [words for _, words in sorted(said, key=lambda one: -one[0])]
        more = [f"{len(ordered) - _LISTED} more are not larger"] if len(ordered) > _LISTED else []
        changes = "; ".join(dict.fromkeys(f"{one.words}" for one in self.changes.values()))
        counts = (
            f"{len(self.program.privates)} private numbers, {len(self.program.normals)} normals"
        )
        return f"{'; '.join([*ordered[:_LISTED], *more])} (data change {changes}; {counts})"

    def _mu(self, seen: ObserverView, gram: Matrix | None, change: _Change) -> Real | None:
        """Return mu of a change; None where it is infinite."""
        leaves = [self._privates[self._changed[place]] for place in change.at]
        # `exposed` is asked after `gram`, which finds the kernel where there is one.
        for row in seen.exposed():
            if any(one != 0 for one in _compute_change_effects(row, leaves, change)):
                return None
        places = [self._changed[place] for place in change.at]
        if gram is None or not places:
            return Real(0)
        return length(_largest_square(_select_gram_part(gram, places), change))


def _compute_change_effects(row: Row, leaves: Sequence[int], change: _Change) -> Iterator[fmpq]:
    """Yield the effects of a change's directions on a combination of rows."""
    entries = [row.get(leaf, fmpq(0)) for leaf in leaves]
    if change.kind == "direction":
        yield sum((a * b for a, b in zip(entries, change.by, strict=True)), fmpq(0))
        return
    sizes = change.by if change.kind == "box" else change.by * len(leaves)
    yield from (a * b for a, b in zip(entries, sizes, strict=True))


def _select_gram_part(gram: Matrix, places: Sequence[int]) -> Matrix:
    return Matrix(arb_mat([[gram.inner[i, j] for j in places] for i in places]))


def _largest_square(part: Matrix, change: _Change) -> Real:
    """Return the largest of ``d' P d`` over the changes d."""
    by = [Real(arb(one)) for one in change.by]
    diagonal = [part[n, n] for n in range(part.rows)]
    if change.kind == "l1":
        # A convex function is largest at a corner: of an l1 ball these are the axes, and of a
        # box they are the signs. Opposite corners give the same square, so that the first sign
        # is fixed.
        return largest(diagonal) * by[0] ** 2
    if change.kind == "l2":
        return largest_eigenvalue(part) * by[0] ** 2
    if change.kind == "direction":
        return _compute_quadratic_form(part, by)
    corners = product((1, -1), repeat=part.rows - 1)
    signed = (
        [by[0], *(s * one for s, one in zip(signs, by[1:], strict=True))] for signs in corners
    )
    return largest(_compute_quadratic_form(part, one) for one in signed)


def _compute_quadratic_form(part: Matrix, vector: Sequence[Real]) -> Real:
    column = Matrix([[one] for one in vector])
    return (column.T * part * column)[0, 0]


def largest_eigenvalue(matrix: Matrix) -> Real:
    """Return the largest eigenvalue of a symmetric matrix without negative ones.

    Examples
    --------
    >>> from dpaudit.reals import precision
    >>> with precision(60):
    ...     largest_eigenvalue(Matrix([[2, 1], [1, 2]])).shown()
    '3'
    """
    size = matrix.rows
    if all(one.ball.is_zero() for one in matrix.entries()):
        return Real(0)
    trace = _compute_matrix_trace(matrix)
    if not trace > 0:
        raise UndecidedComparison
    # Each square is divided by its trace, or 2^40-th powers would leave the range of any
    # exponent.
    power, root = matrix * (1 / trace), Real(1)
    for step in range(1, _SQUARES + 1):
        power = power * power
        share = _compute_matrix_trace(power)
        power, root = power * (1 / share), root * exp(log(share) / 2**step)
    top = trace * root
    low = top * exp(-log(size) / 2**_SQUARES)
    return Real(low.ball.union(top.ball))


def _compute_matrix_trace(matrix: Matrix) -> Real:
    return Real(sum((matrix.inner[n, n] for n in range(matrix.rows)), arb(0)))


def _find_view_disagreements(
    name: str, ends: tuple[float | None, float | None], mu: Real | None
) -> Iterator[str]:
    """Yield the ends of the file that differ from those computed again."""
    for side, stated in zip(("lower", "upper"), ends, strict=True):
        if (stated is None) != (mu is None) or not _is_mu_confirmed(stated, mu):
            given = "infinite" if stated is None else f"{stated:.17g}"
            yield (
                f"{name}, {side} end: the file states {given}, recomputed "
                f"{_format_recomputed_mu(mu)}"
            )


def _is_mu_confirmed(stated: float | None, mu: Real | None) -> bool:
    # The tolerance is a share of mu, and a mu of 0 has none: an exact 0 agrees with a 0 alone.
    if stated is None or mu is None or (mu.ball.is_zero() and stated == 0):
        return True
    return abs(mu - stated) <= mu * AGREEMENT


def _format_recomputed_mu(mu: Real | None) -> str:
    """Return a number of which nine digits are known, rounded to the nearest."""
    return "infinite" if mu is None else format_significant(float(mu), _DIGITS)


def _convert_mu_to_float(mu: Real | None) -> float:
    return float("inf") if mu is None else float(mu)
