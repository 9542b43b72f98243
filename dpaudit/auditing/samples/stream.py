"""Watching a deployed mechanism: bets on its outputs as somebody else feeds them, line by line.

A line is comma-separated: first which dataset the mechanism ran on (``dataset`` or 0, ``neighbour``
or 1), then the numbers of one output, the same number of them in every line. Or it is JSON, an
object with the side and any output: ``{"dataset": {"a": 0.5, "b": null}}``. The i-th output of one
dataset is bet on together with the i-th of the other, in the order in which they came, so the two
sides may come in any order and in unequal numbers.

What is certified assumes that the outputs are independent, of one mechanism on two fixed
datasets; nothing else about the stream matters, not even when one looks.
"""

from __future__ import annotations

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

import numpy as np
from numpy.random import default_rng

from dpaudit._typing import Array
from dpaudit.auditing.distinguishers.learned_scores import (
    ONE_PART,
    Score,
    fit_scores_in_order,
    for_outputs,
)
from dpaudit.auditing.estimators.sequential import Bettor
from dpaudit.errors import DataError, shorten_repr
from dpaudit.estimation.sequential.game import PILOT, BettingTarget
from dpaudit.execution import stream
from dpaudit.mechanisms.outputs.layout import Layout, PartLayout, layout_of
from dpaudit.neighbours import Side
from dpaudit.redaction import Record

Output = tuple[Side, Any]

SIDES = {
    "dataset": Side.DATASET,
    "0": Side.DATASET,
    "neighbour": Side.NEIGHBOUR,
    "1": Side.NEIGHBOUR,
}
_MOST_WAITING = 200_000  # numbers of one side that wait for the other
_LONGEST_LINE = 2**26  # bytes
_EXPECTED = "dataset or neighbour (or 0, 1), then numbers"
_IN_JSON = 'an object with a side and an output, such as {"dataset": 0.5}'
# Outputs of each side that a layout is made of; they are among the pilot's, which certify nothing.
_LAID = 32
# What a layout was made of must not be bet on.
assert _LAID <= PILOT


class StreamWatch:
    """Bets on the outputs of a stream.

    Formal guarantee: that of `dpaudit.auditing.estimators.sequential.Bettor`, if the outputs are
    independent.

    Parameters
    ----------
    target
        The claim and the error probability.
    attack
        The only attack to use; by default all that need no law and are tried by default.
    seed
        For attacks that learn with randomness.

    Raises
    ------
    InvalidArgument, UnknownName
        The attack does not exist or needs the mechanism's law.

    Examples
    --------
    >>> watch = StreamWatch(BettingTarget(1.0, 0.0, 0.05))
    >>> _ = watch.take(enumerate(["dataset,1.5", "neighbour,0.2", "dataset,1.1"], start=1))
    >>> watch.bettor.pairs, watch.waiting
    (1, 1)
    """

    def __init__(self, target: BettingTarget, attack: str | None = None, seed: int = 0) -> None:
        self.distinguishers = for_outputs(attack)
        self.bettor = Bettor(target, self._fitted)
        self.outputs, self.left_out = dict.fromkeys(Side, 0), 0
        self._seed, self._times = seed, 0
        self._waiting: dict[Side, list[Any]] = {side: [] for side in Side}
        self._attack, self._begun = attack, False
        self._lines: _Lines = _NumberLines()

    @property
    def waiting(self) -> int:
        """The number of outputs of one side that wait for one of the other."""
        return max(map(len, self._waiting.values()))

    def take(self, lines: Iterable[tuple[int, str]]) -> bool:
        """Read numbered lines and bet on the outputs they complete; return whether the claim fell.

        Raises
        ------
        DataError
            A line is malformed; those before it have been bet on.
        """
        try:
            for number, line in lines:
                self._read(number, line)
        finally:
            self._bet()
        return self.bettor.refuted_after > 0

    @property
    def view(self) -> str:
        """The observed part of a line."""
        return self._lines.view

    @property
    def least(self) -> int:
        """Outputs of each side without which nothing is bet on, nor learned."""
        return self._lines.least

    def _read(self, number: int, line: str) -> None:
        if not line.strip():
            return
        if not self._begun and line.lstrip().startswith("{"):
            self._lines = _Json()
        self._begun = True
        found = self._lines.output(number, line)
        if found is None:
            return
        side, output = found
        self.outputs[side] += 1
        waiting = len(self._waiting[side])
        # Outputs that wait for the other side are kept up to a limit: a side that never comes must
        # not fill the memory.
        if waiting < 2 * PILOT or waiting * self._lines.size < _MOST_WAITING:
            self._waiting[side].append(output)
        else:
            self.left_out += 1

    def _bet(self) -> None:
        ready = min(map(len, self._waiting.values()))
        if not ready or (not self.bettor.pairs and ready < self.least):
            return
        if not self.bettor.pairs:
            self._begin()
        on_p, on_q = (self._lines.rows(self._waiting[side][:ready]) for side in Side)
        for waiting in self._waiting.values():
            del waiting[:ready]
        self.bettor.feed(on_p, on_q)

    def _begin(self) -> None:
        """Lay out the first outputs, which certify nothing."""
        # The layout is fixed on outputs of the pilot, before anything is bet on.
        self._lines.begin([self._waiting[side][:_LAID] for side in Side])
        if self._attack is None and isinstance(self._lines.layout, PartLayout):
            self.distinguishers = [*self.distinguishers, ONE_PART]

    def _fitted(self, on_p: Array, on_q: Array) -> Sequence[Score]:
        rng = default_rng(stream(self._seed, "watch", str(self._times)))
        self._times += 1
        return fit_scores_in_order(
            self.distinguishers, _KnownLayout(self._lines.layout), None, on_p, on_q, rng
        )


@dataclass(frozen=True)
class _KnownLayout:
    """The knowledge about a mechanism that is only watched: the layout of its outputs."""

    layout: Layout | None


class _Lines(ABC):
    """The way to read lines."""

    view, least, size = "the numbers of each line", 1, 1
    layout: Layout | None = None

    @abstractmethod
    def output(self, number: int, line: str) -> Output | None:
        """Return the side and the output of a line, None of a header; or raise `DataError`."""

    @abstractmethod
    def begin(self, first: Sequence[Sequence[Any]]) -> None:
        """Learn the layout of outputs from some of each side."""

    @abstractmethod
    def rows(self, outputs: Sequence[Any]) -> Array:
        """Return outputs as rows of doubles."""


class _NumberLines(_Lines):
    """A side, and the same number of numbers in every line."""

    def __init__(self) -> None:
        self.size, self._started = 0, False

    def output(self, number: int, line: str) -> Output | None:
        fields = [field.strip() for field in line.split(",")]
        first, self._started = not self._started, True
        if first and _is_header(fields):
            return None
        side, values = _parse_watched_output(number, fields)
        self.size = self.size or len(values)
        if len(values) != self.size:
            expected = f"{self.size} numbers after the side, as in the lines before"
            raise _make_line_error(number, f"{len(values)} numbers", expected)
        return side, values

    def begin(self, first: Sequence[Sequence[Any]]) -> None:
        """Nothing is to be learned: lines have the same numbers of numbers."""

    def rows(self, outputs: Sequence[Any]) -> Array:
        return np.array(outputs)


class _Json(_Lines):
    """An object with one side and any output."""

    view, least = "what each line holds, in parts", _LAID

    def output(self, number: int, line: str) -> Output | None:
        self.size = max(self.size, len(line) // 8)  # a double has eight bytes
        try:
            found = json.loads(line, object_pairs_hook=_require_unique_keys)
        except (ValueError, RecursionError):
            raise _make_line_error(number, "no JSON", _IN_JSON) from None
        if not isinstance(found, dict) or len(found) != 1:
            raise _make_line_error(number, "no such object", _IN_JSON)
        ((name, output),) = found.items()
        side = SIDES.get(name.strip().lower())
        if side is None:
            raise _make_line_error(number, shorten_repr(Record(name)), _IN_JSON)
        return side, output

    def begin(self, first: Sequence[Sequence[Any]]) -> None:
        self.layout = layout_of(first)

    def rows(self, outputs: Sequence[Any]) -> Array:
        assert self.layout is not None
        return self.layout.rows(list(outputs), len(outputs))


def _require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that names something twice, as nobody knows which was returned."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object names something twice")
    return found


def read_numbered_lines(chunks: Iterable[bytes]) -> Iterator[list[tuple[int, str]]]:
    r"""Yield the lines that each chunk completes, numbered from 1, and at the end the remainder.

    Examples
    --------
    >>> list(read_numbered_lines([b"a,1", b"\nb", b",2"]))
    [[], [(1, 'a,1')], [], [(2, 'b,2')]]
    """
    pieces: list[bytes] = []
    count = 0
    for chunk in chunks:
        pieces.append(chunk)
        whole: list[bytes] = []
        if b"\n" in chunk:
            *whole, rest = b"".join(pieces).split(b"\n")
            pieces = [rest]
        elif sum(map(len, pieces)) > _LONGEST_LINE:
            given = f"more than {_LONGEST_LINE // 2**20} MiB without an end"
            raise _make_line_error(count + 1, given, "lines")
        yield [(count + at, _decode_line(line)) for at, line in enumerate(whole, start=1)]
        count += len(whole)
    if any(pieces):
        yield [(count + 1, _decode_line(b"".join(pieces)))]


def _decode_line(line: bytes) -> str:
    # Windows programs put a byte-order mark before the first line.
    return line.decode("utf-8", errors="replace").removeprefix("\ufeff")


def _parse_watched_output(number: int, fields: list[str]) -> Output:
    side = SIDES.get(fields[0].lower())
    if side is None:
        raise _make_line_error(number, shorten_repr(Record(fields[0])), _EXPECTED)
    if len(fields) == 1:
        raise _make_line_error(number, "no number", _EXPECTED)
    return side, [_parse_watched_number(number, field) for field in fields[1:]]


def _parse_watched_number(line: int, field: str) -> float:
    try:
        value = float(field.replace("_", "?"))  # Python's own digit grouping is no number here
    except ValueError:
        raise _make_line_error(line, shorten_repr(Record(field)), _EXPECTED) from None
    if not math.isfinite(value):
        raise _make_line_error(
            line, shorten_repr(Record(field)), "finite numbers: an output is never NaN or infinite"
        )
    if field != repr(value) and not _is_that_double(field, value):
        raise _make_line_error(
            line,
            shorten_repr(Record(field)),
            "numbers that doubles hold with all the digits written",
        )
    return value


def _is_that_double(field: str, value: float) -> bool:
    """Return whether a double, rounded to the digits that are written, is the written number.

    Examples
    --------
    >>> _is_that_double("0.10000000000000001", 0.1), _is_that_double("9007199254740993", 2.0**53)
    (True, False)
    """
    written = Decimal(field)
    context = Context(prec=max(1, len(written.as_tuple().digits)), Emin=-9999, Emax=9999)
    return context.create_decimal(Decimal(value)) == written


def _make_line_error(line: int, got: str, expected: str) -> DataError:
    return DataError(f"line {line}: got {got}, expected {expected}")


def _is_header(fields: list[str]) -> bool:
    """Return whether a first line names columns: no side, and nothing that is a number."""
    if fields[0].lower() in SIDES or len(fields) < 2:
        return False
    return not any(_is_number(field) for field in fields)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
