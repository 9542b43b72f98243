"""What a proof claims of each node, measured on pairs, and judged exactly where one is beaten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from flint import ctx
from numpy.typing import NDArray

from dpaudit.proving.distances.facts import Facts, RowOrigins
from dpaudit.proving.program import Node, PathProgram
from dpaudit.proving.trace import NodeKind
from dpaudit.proving.universe import Distance

from .exact import (
    DIGITS,
    SCALAR,
    Entries,
    Undecided,
    evaluate_exact,
    is_above,
    to_double,
    to_entry,
)
from .pairs import Data, Pairs

TOLERANCE = 1e-9  # relative, of doubles; what is beyond goes to the exact judge
NORMS = ("l1", "l2", "linf")


class Prover(Protocol):
    """What is attacked: `dpaudit.proving.distances.analysis.Analysis`, or a stand-in."""

    def facts(self, index: int) -> Facts:
        """Return what is said of a node."""

    def distance(self, index: int) -> Distance:
        """Return how far a node is said to move."""


@dataclass(frozen=True)
class Break:
    """A claim that a pair refutes.

    Parameters
    ----------
    claim
        Its name, such as ``l1`` or ``low``.
    node
        Of which.
    bound
        What was proved; NaN where it is no number.
    found
        What the pair shows.
    one, other
        The pair.
    differs
        In which records.
    draws
        The public coins, which both sides have in common.
    """

    claim: str
    node: Node
    bound: float
    found: float
    one: Data
    other: Data
    differs: NDArray[np.bool_]
    draws: tuple[Any, ...] = ()

    def __str__(self) -> str:
        where = f"node {self.node.index} ({self.node.operation})"
        pair = ", ".join(
            f"{name or 'data'}: {self.one[name].tolist()} | {self.other[name].tolist()}"
            for name in self.one
        )
        return f"{self.claim} of {where}: proved {self.bound!r}, found {self.found!r} on {pair}"


@dataclass(frozen=True)
class Claim:
    """One number that is proved of a node, and by how much each pair exceeds it.

    Parameters
    ----------
    name
        ``low``, ``high``, ``change``, ``l1``, ...
    bound
        The number; NaN where it is none.
    found
        What each pair shows, of shape ``(pairs,)``.
    ratio
        The part of the bound that it is; above 1 + `TOLERANCE` it is beaten.
    """

    name: str
    bound: float
    found: NDArray[np.float64]
    ratio: NDArray[np.float64]

    @property
    def best(self) -> int:
        """Return the pair that shows most."""
        return int(np.argmax(self.ratio))

    @property
    def is_beaten(self) -> bool:
        """Return whether doubles say that a pair shows more than proved."""
        return bool(self.ratio[self.best] > 1 + TOLERANCE)


def kinds_of(program: PathProgram) -> tuple[NodeKind, ...]:
    """Return private for what stems from records, and public for all else, coins too."""
    kinds: list[NodeKind] = []
    for node in program.nodes:
        is_private = node.operation in ("data", "size") or any(
            kinds[one] is NodeKind.PRIVATE for one in node.operands
        )
        kinds.append(NodeKind.PRIVATE if is_private else NodeKind.PUBLIC)
    return tuple(kinds)


class Measured:
    """The values of a node on pairs, and how far they are apart.

    Parameters
    ----------
    node
        Of which.
    one, other
        The values, pairs first.
    """

    def __init__(self, node: Node, one: NDArray[Any], other: NDArray[Any]) -> None:
        self.node, self.one, self.other = node, one, other
        self.values = [one, other]
        if one.shape == other.shape:
            self.values = [np.concatenate([one, other])]
        self.values = [value.astype(float) for value in self.values if value.size]

    @cached_property
    def ends(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        """Return the smallest and largest entries."""
        return [(value.min(axis=0), value.max(axis=0)) for value in self.values]

    @cached_property
    def largest(self) -> float:
        """Return how large entries are, NaN or infinite where one is."""
        return max((max(-low.min(), high.max()) for low, high in self.ends), default=0.0)

    @cached_property
    def size(self) -> float:
        """Return a size below which differences of these values are rounding."""
        if math.isfinite(self.largest):
            return self.largest * 1e-4
        whole = np.abs(np.concatenate([value.ravel() for value in self.values]))
        return float(np.max(whole[np.isfinite(whole)], initial=0.0)) * 1e-4

    @cached_property
    def moved(self) -> NDArray[np.float64]:
        """Return differences of entries."""
        return np.asarray(np.abs(np.subtract(self.other, self.one, dtype=float)))

    @cached_property
    def shown(self) -> tuple[NDArray[np.float64], ...]:
        """Return the L1 and Euclidean length and the largest of differences."""
        moved = self.moved.reshape(len(self.moved), -1)
        if not math.isfinite(self.largest):
            moved = np.nan_to_num(moved, posinf=math.inf)
        squares = np.einsum("ij,ij->i", moved, moved)
        return moved.sum(axis=1), np.sqrt(squares), moved.max(axis=1, initial=0.0)


def measure_movement(distance: Distance, measured: Measured) -> Iterator[Claim]:
    """Yield the distances of a node that are proved, beside what pairs show."""
    bounds = distance.l1, distance.l2, distance.linf
    if None in measured.node.shape or math.isinf(min(bounds)):
        return
    for name, bound, shown in zip(NORMS, bounds, measured.shown, strict=True):
        if math.isfinite(bound):
            yield Claim(name, bound, shown, _ratio(shown, bound, measured.size))


def _ratio(found: NDArray[np.float64], bound: float, size: float) -> NDArray[np.float64]:
    """Return parts of a bound, with what rounding can have added to both."""
    return np.asarray((found + size) / (bound + size) if bound + size > 0 else 1.0 + found)


def measure_facts(facts: Facts, measured: Measured, pairs: Pairs) -> Iterator[Claim]:
    """Yield what is proved of a node's entries and may not hold, beside what pairs show."""
    if facts.refusal is not None:
        return
    if not _lie_within(facts, measured):
        yield from _measure_ends(facts, measured)
    yield from _measure_entries(facts, measured)
    if None not in measured.node.shape:
        if not _move_within(facts, measured):
            yield from _measure_change(facts, measured)
        yield from _measure_moves(facts, measured, pairs)
    if facts.rows is not None:
        axis = facts.rows.axis + 1
        one, other = (np.moveaxis(v, axis, 1) for v in (measured.one, measured.other))
        yield from _measure_standing(facts.rows, one, other, pairs)


def _lie_within(facts: Facts, measured: Measured) -> bool:
    """Return whether all entries clearly lie between their ends, and fit into their dtype."""
    largest, kind = measured.largest, np.dtype(measured.node.dtype)
    if not math.isfinite(largest) or kind in (np.float16, np.float32):
        return False
    if kind.kind in "iu" and largest > np.iinfo(kind).max:
        return False
    slack = 1e-13 * largest
    return all(
        bool((low >= facts.low - slack).all() and (high <= facts.high + slack).all())
        and (kind.kind != "u" or bool((low >= 0).all()))
        for low, high in measured.ends
    )


def _move_within(facts: Facts, measured: Measured) -> bool:
    if not math.isfinite(measured.largest) or not measured.moved.size:
        return not measured.moved.size
    return bool((measured.moved.max(axis=0) <= facts.change + 1e-13 * measured.largest).all())


def _flat(value: NDArray[Any]) -> NDArray[Any]:
    return value.reshape(len(value), -1)


def _measure_ends(facts: Facts, measured: Measured) -> Iterator[Claim]:
    for value in (measured.one.astype(float), measured.other.astype(float)):
        size = 10 * measured.size + 1e-6
        for name, beyond in (("low", facts.low - value), ("high", value - facts.high)):
            if np.all(np.isneginf(facts.low if name == "low" else -facts.high)):
                continue
            worst = _flat(np.nan_to_num(beyond, nan=-1.0)).max(axis=1, initial=-1.0)
            yield Claim(name, math.nan, worst, np.asarray(1 + worst / size))
        if np.isfinite(facts.low).all() and np.isfinite(facts.high).all():
            yield _flags("finite", ~np.isfinite(value))
        yield from _measure_dtype(measured.node, value)


def _measure_dtype(node: Node, value: NDArray[Any]) -> Iterator[Claim]:
    kind = np.dtype(node.dtype)
    if kind.kind in "iu":
        ends = np.iinfo(kind)
        yield _flags("fits", (value < float(ends.min)) | (value > float(ends.max)))
    elif kind in (np.float16, np.float32):
        yield _flags("fits", np.ones_like(value, dtype=bool))


def _flags(name: str, flags: NDArray[np.bool_]) -> Claim:
    found = _flat(flags).any(axis=1).astype(float)
    return Claim(name, math.nan, found, found * 2)


def _measure_entries(facts: Facts, measured: Measured) -> Iterator[Claim]:
    if facts.is_integer:
        for value in measured.values:
            flags = np.isfinite(value) & (value != np.rint(value))
            if flags.any():
                yield _flags("integer", flags)
    for order, bound in facts.norms.items():
        if math.isfinite(bound):
            for value in (measured.one, measured.other):
                yield _measure_norm(facts, order, bound, value)


def _measure_norm(facts: Facts, order: int, bound: float, value: NDArray[Any]) -> Claim:
    rows = _rows_of(facts, np.abs(value.astype(float)))
    sizes = rows.sum(axis=2) if order == 1 else np.sqrt((rows**2).sum(axis=2))
    found = sizes.max(axis=1, initial=0.0)
    return Claim(f"norm {order}", bound, found, _ratio(found, bound, 1e-9))


def _rows_of(facts: Facts, value: NDArray[Any]) -> NDArray[Any]:
    """Return the rows of values, flat; the whole of one where it has none."""
    if facts.rows is None:
        return value.reshape(len(value), 1, -1)
    rows = np.moveaxis(value, facts.rows.axis + 1, 1)
    inner = math.prod(rows.shape[2:])
    return rows.reshape(*rows.shape[:2], inner)


def _measure_change(facts: Facts, measured: Measured) -> Iterator[Claim]:
    if not np.isfinite(facts.change).any():
        return
    size = measured.size + 1e-300
    parts = np.nan_to_num(_flat((measured.moved + size) / (facts.change + size)), nan=0.0)
    found = parts.max(axis=1, initial=0.0)
    yield Claim("change", math.nan, found, found)


def _measure_moves(facts: Facts, measured: Measured, pairs: Pairs) -> Iterator[Claim]:
    """Yield what is proved of each record by itself, on pairs that differ in one."""
    alone = pairs.are_alone
    if not alone.any() or not np.isfinite(facts.moves).any():
        return
    bounds = facts.moves[:, pairs.first] if facts.moves.shape[1] > 1 else facts.moves
    size = measured.size + 1e-300
    parts = (np.stack(measured.shown) + size) / (bounds + size) * alone
    if parts.max(initial=0.0) <= 1 + TOLERANCE:
        return
    for name, part in zip(NORMS, np.nan_to_num(parts), strict=True):
        yield Claim(f"moves {name}", math.nan, part, part)


def _measure_standing(
    rows: RowOrigins, one: NDArray[Any], other: NDArray[Any], pairs: Pairs
) -> Iterator[Claim]:
    """Yield whether rows move that none of the records that differ stands in."""
    if len(other) != len(pairs) or len(one) != len(pairs) or not pairs.differs.size:
        return
    differs = pairs.differs
    if rows.records is not None:
        differs = np.zeros((len(pairs), other.shape[1]), dtype=bool)
        for records in rows.records:
            differs |= pairs.differs[:, records] & (records >= 0)
    if differs.shape[1] != other.shape[1]:
        yield _flags("standing", np.ones((len(pairs), 1), dtype=bool))
    elif one.shape[1] == other.shape[1]:
        inner = math.prod(one.shape[2:])
        moved = (one != other).reshape(*differs.shape, inner).any(axis=2) & ~differs
        if moved.any():
            apart = ~_alike(one, other).reshape(*differs.shape, inner).all(axis=2)
            yield _flags("standing", apart & ~differs)
    elif one.shape[2:] == other.shape[2:]:
        kept = other[~differs].reshape(one.shape)
        yield _flags("standing", ~_alike(one, kept))


def _alike(one: NDArray[Any], other: NDArray[Any]) -> NDArray[np.bool_]:
    return np.asarray(np.isclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True))


# --- the exact judge


def confirm(facts: Facts, distance: Distance, program: PathProgram, suspect: Break) -> bool:
    """Return whether a claim is beaten over the reals.

    Raises
    ------
    Undecided
        Too close to be told.
    """
    index = suspect.node.index
    one, other = (
        evaluate_exact(program, index, data, suspect.draws)[index]
        for data in (suspect.one, suspect.other)
    )
    with ctx.workdps(DIGITS):
        if suspect.claim in NORMS:
            return _moves_beyond(suspect.claim, distance, one, other)
        if suspect.claim.startswith("moves "):
            alone = _distance_of_record(facts, suspect)
            return _moves_beyond(suspect.claim.removeprefix("moves "), alone, one, other)
        return _is_false(suspect.claim, facts, suspect.node, one, other)


def _distance_of_record(facts: Facts, suspect: Break) -> Distance:
    """Return what is proved of the one record that differs."""
    record = suspect.differs.argmax() if facts.moves.shape[1] > 1 else 0
    return Distance(*map(float, facts.moves[:, record]))


def _moves_beyond(name: str, distance: Distance, one: Entries, other: Entries) -> bool:
    moved = [SCALAR["absolute"](SCALAR["subtract"](*pair)) for pair in _entries_of(one, other)]
    bound = to_entry(getattr(distance, name))
    if any(math.isnan(to_double(entry)) for entry in moved):
        raise Undecided
    if name == "linf":
        return any(is_above(entry, bound) for entry in moved)
    if name == "l1":
        return is_above(_total(moved), bound)
    squares = [SCALAR["multiply"](entry, entry) for entry in moved]
    return is_above(_total(squares), SCALAR["multiply"](bound, bound))


def _entries_of(one: Entries, other: Entries) -> Iterator[tuple[Any, Any]]:
    return zip(one.ravel().tolist(), other.ravel().tolist(), strict=True)


def _total(entries: Sequence[Any]) -> Any:
    total = to_entry(0)
    for entry in entries:
        total = SCALAR["add"](total, entry)
    return total


def _is_false(name: str, facts: Facts, node: Node, one: Entries, other: Entries) -> bool:
    if name == "change":
        bounds = np.broadcast_to(facts.change, one.shape)
        moved = [SCALAR["absolute"](SCALAR["subtract"](*pair)) for pair in _entries_of(one, other)]
        return _any_above(moved, bounds.flat)
    if name == "standing":
        return True  # which rows are alike is no matter of rounding
    return any(_is_false_of(name, facts, node, value) for value in (one, other))


def _any_above(entries: Any, bounds: Any) -> bool:
    return any(
        is_above(one, to_entry(float(bound))) for one, bound in zip(entries, bounds, strict=True)
    )


def _is_false_of(name: str, facts: Facts, node: Node, value: Entries) -> bool:
    if name == "high":
        return _any_above(value.flat, np.broadcast_to(facts.high, value.shape).flat)
    if name == "low":
        negative = [SCALAR["negative"](entry) for entry in value.flat]
        return _any_above(negative, np.broadcast_to(-facts.low, value.shape).flat)
    if name == "finite":
        return any(isinstance(entry, float) for entry in value.flat)
    if name == "integer":
        return any(SCALAR["not_equal"](entry, SCALAR["rint"](entry)) for entry in value.flat)
    if name == "fits":
        return _overflows(node, value)
    order = int(name.removeprefix("norm "))
    rows = _rows_of(facts, value[None])[0]
    return any(_is_longer(row, order, facts.norms[order]) for row in rows)


def _overflows(node: Node, value: Entries) -> bool:
    kind = np.dtype(node.dtype)
    if kind.kind not in "iu":
        return True
    ends = np.iinfo(kind)
    return any(
        is_above(entry, to_entry(int(ends.max))) or is_above(to_entry(int(ends.min)), entry)
        for entry in value.flat
    )


def _is_longer(row: Entries, order: int, bound: float) -> bool:
    sizes = [SCALAR["absolute"](entry) for entry in row]
    limit = to_entry(bound)
    if order == 1:
        return is_above(_total(sizes), limit)
    squares = [SCALAR["multiply"](entry, entry) for entry in sizes]
    return is_above(_total(squares), SCALAR["multiply"](limit, limit))
