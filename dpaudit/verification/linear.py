"""The program of a certificate of views, worked out in exact rationals.

A program forms coordinates one after the other: private numbers, standard normals, and sums of
multiples of earlier coordinates. Each is then a row of rationals: what it holds of every normal and
of every private number. Nothing of `dpaudit.affine`, which wrote the file, is used.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from flint import fmpq

from dpaudit.errors import DataError, VerbatimText
from dpaudit.verification.document import Document

Row = dict[int, fmpq]
NOTHING = -1  # the place of a number that holds neither data nor noise
_MOST = 200_000  # coordinates, and numbers of a file
# CPython refuses integers of more than 4300 digits, and every later sum is over the least
# common multiple of all denominators, which grows with their length.
_LONGEST = 2_000  # characters of a fraction
_PLACES = {"data": "privates", "noise": "normals"}


@dataclass(frozen=True)
class Coordinates:
    """The kinds of coordinates of a program.

    Parameters
    ----------
    normals, privates
        The coordinates that are normals, and those that are private numbers, in order.
    rows
        Of coordinates that were asked for, what they hold of the coordinates in both.
    """

    normals: Sequence[int]
    privates: Sequence[int]
    rows: dict[int, Row]


@dataclass
class _Matrix:
    """The numbers of rows and columns, and the entries and columns of rows that have any."""

    rows: int
    columns: int
    entries: dict[int, list[tuple[int, fmpq]]]


@dataclass
class _Term:
    """One summand: a factor for each coordinate, or rows of a matrix."""

    of: list[int]
    factors: list[fmpq] | None = None
    matrix: _Matrix | None = None

    def parts(self, place: int) -> Iterator[tuple[int, fmpq]]:
        """Yield of which coordinates, and how much of each, one coordinate is made."""
        if self.matrix is not None:
            for column, number in self.matrix.entries.get(place, ()):
                yield self.of[column], number
        else:
            yield self.of[place], fmpq(1) if self.factors is None else self.factors[place]


@dataclass
class ProgramReading:
    """A program as it is read from a file; whatever is no program raises `DataError`.

    Parameters
    ----------
    document
        The certificate.
    seconds
        Of the processor, that working it out may take.
    """

    document: Document
    seconds: float
    normals: list[int] = field(default_factory=list)
    privates: list[int] = field(default_factory=list)
    size: int = 0

    def __post_init__(self) -> None:
        self._end = time.process_time() + self.seconds
        self._sums = dict[int, tuple[int, list[_Term]]]()
        matrices = [self._matrix(one) for one in self._list("matrices")]
        for block in self._list("blocks"):
            self._add_block(block, matrices)

    def coordinates(self, asked: Sequence[int]) -> Coordinates:
        """Return the values of coordinates."""
        needed = self._collect_needed_nodes(asked)
        rows = dict[int, Row]()
        for one in [*self.normals, *self.privates]:
            rows[one] = {one: fmpq(1)}
        # A sum refers to earlier coordinates only, which `places` has checked. So ascending
        # order has every row ready before it is needed, and no cycle can occur.
        for one in sorted(needed & self._sums.keys()):
            rows[one] = self._row(rows, one)
            self._refuse_late()
        return Coordinates(self.normals, self.privates, {one: rows[one] for one in asked})

    # --- reading ---------------------------------------------------------------------------------

    def _add_block(self, block: Any, matrices: list[_Matrix]) -> None:
        if not isinstance(block, dict) or len(block) != 1:
            raise self._make_instance_error("blocks", block, "objects with data, noise or sum")
        ((kind, content),) = block.items()
        if kind == "sum":
            self._add_sum(content, matrices)
            return
        if kind not in _PLACES or type(content) is not int or not 0 <= content <= _MOST:
            raise self._make_instance_error("blocks", block, "how many data, or normals, there are")
        getattr(self, _PLACES[kind]).extend(range(self.size, self.size + content))
        self._grow(content)

    def _add_sum(self, content: Any, matrices: list[_Matrix]) -> None:
        if not isinstance(content, list) or not content:
            raise self._make_instance_error("blocks", content, "a list of terms")
        terms = [self._term(one, matrices) for one in content]
        sizes = {len(one.of) if one.matrix is None else one.matrix.rows for one in terms}
        if len(sizes) != 1:
            raise self._make_instance_error(
                "blocks", VerbatimText(f"terms of sizes {sorted(sizes)}"), "one size"
            )
        (size,) = sizes
        # The coordinates of one sum share its list of terms; copies would square the memory of
        # a long vector.
        for place in range(size):
            self._sums[self.size + place] = place, terms
        self._grow(size)

    def _term(self, term: Any, matrices: list[_Matrix]) -> _Term:
        expected = "of, and one of times, over, matrix or nothing"
        if not isinstance(term, dict) or not {"of"} <= term.keys() <= _TERM or len(term) > 2:
            raise self._make_instance_error("blocks", term, expected)
        of = self.read_indices("blocks", term["of"], self.size)
        if "matrix" in term:
            place = term["matrix"]
            if type(place) is not int or not 0 <= place < len(matrices):
                raise self._make_instance_error("blocks", term, "the place of a matrix")
            if matrices[place].columns != len(of):
                shown = VerbatimText(f"{matrices[place].columns} columns")
                raise self._make_instance_error("matrices", shown, f"{len(of)}")
            return _Term(of, matrix=matrices[place])
        if "times" in term:
            return _Term(of, self._numbers(term["times"], len(of)))
        if "over" in term:
            divisors = self._numbers(term["over"], len(of))
            if any(one == 0 for one in divisors):
                raise self._make_instance_error("blocks", term, "no division by 0")
            return _Term(of, [1 / one for one in divisors])
        return _Term(of)

    def _matrix(self, content: Any) -> _Matrix:
        keys = {"rows", "columns", "at_row", "at_column", "numbers"}
        if not isinstance(content, dict) or content.keys() != keys:
            raise self._make_instance_error(
                "matrices", content, f"objects with {', '.join(sorted(keys))}"
            )
        rows, columns = content["rows"], content["columns"]
        if type(rows) is not int or type(columns) is not int or not 0 <= rows <= _MOST:
            raise self._make_instance_error(
                "matrices", [rows, columns], "numbers of rows and columns"
            )
        at_row = self.read_indices("matrices", content["at_row"], rows, least=0)
        at_column = self.read_indices("matrices", content["at_column"], columns, least=0)
        numbers = self._numbers(content["numbers"], len(at_row))
        if len(at_column) != len(at_row):
            raise self._make_instance_error(
                "matrices", VerbatimText(f"{len(at_column)} columns"), f"{len(at_row)}"
            )
        # A file can state many matrices of many empty rows in few words: what is kept grows with
        # the entries that it writes alone.
        found = dict[int, list[tuple[int, fmpq]]]()
        for row, column, number in zip(at_row, at_column, numbers, strict=True):
            found.setdefault(row, []).append((column, number))
        return _Matrix(rows, columns, found)

    def read_indices(self, name: str, value: Any, below: int, least: int = NOTHING) -> list[int]:
        """Return a list of places below a number."""
        fine = isinstance(value, list) and len(value) <= _MOST
        if not fine or not all(type(one) is int and least <= one < below for one in value):
            raise self._make_instance_error(
                name, value, f"a list of places from {least} to {below - 1}"
            )
        return list(value)

    def _numbers(self, value: Any, count: int) -> list[fmpq]:
        if not isinstance(value, list) or len(value) != count:
            raise self._make_instance_error(
                "numbers", VerbatimText("others"), f"a list of {count} numbers"
            )
        return [self.number(one) for one in value]

    def number(self, value: Any) -> fmpq:
        """Return a number of the file as the rational that it is."""
        # A double stands for the binary fraction that it is. Reading its shortest decimal
        # instead would make the program another one than the code runs.
        if type(value) in (int, float) and math.isfinite(value) and abs(value) < _HUGE:
            exact = Fraction(value)
        else:
            exact = self._fraction(value)
        return fmpq(exact.numerator, exact.denominator)

    def _fraction(self, value: Any) -> Fraction:
        expected = "a number, or a fraction such as '1/3'"
        if not isinstance(value, str) or len(value) > _LONGEST:
            raise self._make_instance_error("numbers", value, expected)
        upper, _, lower = value.partition("/")
        try:
            return Fraction(int(upper), int(lower or "1"))
        except (ValueError, ZeroDivisionError):
            raise self._make_instance_error("numbers", value, expected) from None

    def _list(self, name: str) -> list[Any]:
        found = self.document.instance.get(name)
        if not isinstance(found, list) or len(found) > _MOST:
            raise self._make_instance_error(name, found, "a list")
        return found

    def _grow(self, count: int) -> None:
        self.size += count
        if self.size > _MOST:
            raise self._make_instance_error(
                "blocks", VerbatimText(f"{self.size} coordinates"), f"at most {_MOST}"
            )

    def _make_instance_error(self, name: str, value: object, expected: str) -> DataError:
        return self.document.refused(f"instance.{name}", value, expected)

    # --- working out -----------------------------------------------------------------------------

    def _collect_needed_nodes(self, asked: Sequence[int]) -> set[int]:
        found, left = set(asked), list(set(asked))
        while left:
            place, terms = self._sums.get(left.pop(), (0, []))
            made_of = {one for term in terms for one, _ in term.parts(place)} - found - {NOTHING}
            found |= made_of
            left += made_of
        return found

    def _row(self, rows: dict[int, Row], one: int) -> Row:
        place, terms = self._sums[one]
        total: Row = {}
        for term in terms:
            for part, factor in term.parts(place):
                for leaf, number in rows[part].items() if part != NOTHING else ():
                    total[leaf] = total.get(leaf, fmpq(0)) + number * factor
        # Noise that cancels exactly leaves no entry. `views` tells from the entries alone which
        # normals a row holds.
        return {leaf: number for leaf, number in total.items() if number != 0}

    def _refuse_late(self) -> None:
        if time.process_time() > self._end:
            said = f"cannot be worked out within {self.seconds:g} seconds"
            raise DataError(f"{self.document.path}: {said}")


_TERM = {"of", "times", "over", "matrix"}
_HUGE = 1e300


def convert_to_nearest_double(number: fmpq) -> float:
    """Return the double that is nearest to a rational; infinite beyond all doubles.

    Examples
    --------
    >>> convert_to_nearest_double(fmpq(1, 3))
    0.3333333333333333
    """
    try:
        # Python divides the two integers with one correct rounding; a quotient of two doubles
        # would round thrice and overflow for long integers.
        return float(Fraction(int(number.p), int(number.q)))
    except OverflowError:
        return math.inf if number > 0 else -math.inf
