"""Neighbour relations, and pairs of datasets that check themselves.

A pair is what an audit compares. Building one verifies that its two datasets really are neighbours
under the relation, so that a violation found later cannot be blamed on the pair.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from dpaudit.datasets.dataset import Dataset
from dpaudit.errors import InvalidArgument, UnknownName, VerbatimText, shorten_repr
from dpaudit.neighbours.cells import EXACT, RULES, is_labelled, make_cells
from dpaudit.redaction import Record, are_shown

DatasetT = TypeVar("DatasetT")


@dataclass(frozen=True)
class Relation:
    """A neighbour relation.

    Parameters
    ----------
    name
        How specifications and reports call it.
    statement
        The relation in one sentence.
    difference
        Returns the index that differs, or raises `InvalidArgument`. It takes both datasets as
        tables: features shape ``(N, d)``, labels shape ``(N,)`` (empty when there are none).
    """

    name: str
    statement: str
    difference: Callable[[Table, Table], int] = field(repr=False)

    def check(self, dataset: object, neighbour: object) -> int:
        """Return the index of the record or column that differs.

        Raises
        ------
        InvalidArgument
            The two are not neighbours under this relation.
        """
        rule = RULES.get(self.name)
        if rule is None or _are_tables(dataset, neighbour):
            return self.difference(Table.of("dataset", dataset), Table.of("neighbour", neighbour))
        found = make_cells(dataset, neighbour)
        if found is not None:
            return rule(found)
        for name, one in (("dataset", dataset), ("neighbour", neighbour)):
            if make_cells(one, one) is None:
                Table.of(name, one)  # says that it is none
        raise InvalidArgument(
            "pair", VerbatimText("records of two kinds"), "records of the same kind"
        )


@dataclass(frozen=True, eq=False)
class Table:
    """The parts of a dataset a relation looks at.

    ``public`` is empty for plain records. Data of several tables put there what no neighbour may
    change, such as which tuples a join puts together; their labels need not be one a row.
    """

    features: NDArray[np.float64]
    labels: NDArray[np.float64]
    node_sizes: tuple[int, ...]
    public: tuple[NDArray[np.int64], ...] = ()

    @classmethod
    def of(cls, name: str, dataset: object) -> Table:
        """Read a `Dataset`, a `Tabular`, or an array whose first axis is records."""
        if isinstance(dataset, Dataset):
            return cls(dataset.features, dataset.labels, dataset.node_sizes)
        if isinstance(dataset, Tabular):
            return dataset.as_table()
        try:
            array = np.asarray(dataset, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InvalidArgument(
                name, Record(dataset), "a Dataset or an array of records"
            ) from None
        if array.ndim == 0 or not np.isfinite(array).all():
            raise InvalidArgument(name, Record(dataset), "a Dataset or an array of finite records")
        records = array.reshape(len(array), math.prod(array.shape[1:]))
        return cls(records, np.empty(0), (len(array),))


class Side(Enum):
    """One of the two datasets of a pair; the value names it in reports and in random streams."""

    DATASET = "dataset"
    NEIGHBOUR = "neighbour"


@runtime_checkable
class Tabular(Protocol):
    """Data of a shape of its own that can name the table that a relation should compare."""

    def as_table(self) -> Table:
        """Return features, labels, how many rows each owner holds, and the public parts."""
        ...


@dataclass(frozen=True, eq=False)
class Pair(Generic[DatasetT]):
    """Two neighbouring datasets.

    Parameters
    ----------
    dataset, neighbour
        The two datasets. The law of outputs on the first is called p, on the second q.
    relation
        The relation that makes them neighbours.

    Attributes
    ----------
    index
        The record (or column) in which they differ.

    Raises
    ------
    InvalidArgument
        The datasets are not neighbours under ``relation``.

    Examples
    --------
    >>> pair = Pair(np.array([1.0, 2.0]), np.array([1.0, 5.0]), REPLACE_RECORD)
    >>> pair.index, pair.on(Side.NEIGHBOUR), pair.seen_from(Side.NEIGHBOUR).dataset
    (1, array([1., 5.]), array([1., 5.]))
    >>> Pair(np.array([1.0, 2.0]), np.array([0.0, 5.0]), REPLACE_RECORD)
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: pair: got 2 differing records, expected exactly one
    """

    dataset: DatasetT
    neighbour: DatasetT
    relation: Relation
    index: int = field(init=False)

    def __post_init__(self) -> None:
        # Dataclasses that are frozen refuse plain assignments, also in here.
        object.__setattr__(self, "index", self.relation.check(self.dataset, self.neighbour))
        for name in ("dataset", "neighbour"):
            object.__setattr__(self, name, _copy_read_only(getattr(self, name)))

    def on(self, side: Side) -> DatasetT:
        """Return the dataset of that side."""
        return self.dataset if side is Side.DATASET else self.neighbour

    def seen_from(self, side: Side) -> Pair[DatasetT]:
        """Return the pair whose first dataset is that of the side."""
        return self if side is Side.DATASET else self.swapped()

    def swapped(self) -> Pair[DatasetT]:
        """Return the pair seen from the other side: p and q exchanged."""
        return Pair(self.neighbour, self.dataset, self.relation)


def _are_tables(dataset: object, neighbour: object) -> bool:
    """Return whether both can become tables: datasets, or arrays of finite numbers."""
    for one in (dataset, neighbour):
        if not isinstance(one, Dataset | Tabular) and not _is_of_doubles(one):
            return False
        try:
            Table.of("dataset", one)
        except InvalidArgument:
            return False
    return True


def _is_of_doubles(dataset: object) -> bool:
    """Return whether records are an array or a list of numbers that doubles tell apart."""
    if is_labelled(dataset) or not isinstance(dataset, np.ndarray | list | tuple):
        return False
    try:
        array = np.asarray(dataset)
    except ValueError:
        return False
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        return False
    numbers = array.astype(np.float64)
    merged = (np.abs(numbers) >= EXACT) | ((numbers == 0) & np.signbit(numbers))
    return not merged.any() and (isinstance(dataset, np.ndarray) or not _holds_a_boolean(dataset))


def _holds_a_boolean(values: Any) -> bool:
    """Return whether nested lists hold a boolean, which numpy makes a number beside others."""
    if isinstance(values, list | tuple):
        return any(map(_holds_a_boolean, values))
    return isinstance(values, bool | np.bool_) or getattr(values, "dtype", None) == np.bool_


def _copy_read_only(dataset: Any) -> Any:
    """Return an array as a copy that a mechanism cannot change between trials."""
    if not isinstance(dataset, np.ndarray) or not dataset.flags.writeable:
        return dataset
    # A mechanism that changes its argument would change what the next call gets, and outputs would
    # depend on each other.
    copy = dataset.copy()
    copy.flags.writeable = False
    return copy


def relation(name: str) -> Relation:
    """Return the relation called ``name``.

    Examples
    --------
    >>> relation("replace-record").statement
    'one record (features and label) is replaced'
    """
    if not isinstance(name, str):
        raise InvalidArgument("relation", name, "a relation or its name: " + ", ".join(RELATIONS))
    known = {**RELATIONS, REPLACE_CELL.name: REPLACE_CELL}
    if name not in known:
        raise UnknownName("relation", name, known)
    return known[name]


def _require_one_difference(kind: str, differs: NDArray[np.bool_]) -> int:
    count = int(differs.sum())
    if count != 1:
        raise InvalidArgument("pair", VerbatimText(f"{count} differing {kind}"), "exactly one")
    return int(np.argmax(differs))


def _same_shape(dataset: Table, neighbour: Table) -> None:
    _same_kind(dataset, neighbour)
    shapes = dataset.features.shape, neighbour.features.shape
    if shapes[0] != shapes[1] or dataset.node_sizes != neighbour.node_sizes:
        given = VerbatimText(f"shapes {shapes[0]} and {shapes[1]}")
        raise InvalidArgument("pair", given, "datasets of the same shape, split alike over nodes")
    if not _same_public(dataset, neighbour) or dataset.labels.shape != neighbour.labels.shape:
        given = VerbatimText("tables that are joined differently")
        raise InvalidArgument("pair", given, "the same join on both sides")


def _same_public(dataset: Table, neighbour: Table) -> bool:
    same_number = len(dataset.public) == len(neighbour.public)
    return same_number and all(map(np.array_equal, dataset.public, neighbour.public))


def _require_plain_tables(dataset: Table, neighbour: Table) -> None:
    if dataset.public or neighbour.public:
        expected = "plain records; of joined tables, a tuple, a label or a column is replaced"
        raise InvalidArgument("pair", VerbatimText("joined tables"), expected)


def _same_kind(dataset: Table, neighbour: Table) -> None:
    both_hold_records = len(dataset.features) and len(neighbour.features)
    if both_hold_records and bool(len(dataset.labels)) != bool(len(neighbour.labels)):
        given = VerbatimText("labels on one side only")
        raise InvalidArgument("pair", given, "both datasets with labels, or both without")


def _rows_differ(dataset: Table, neighbour: Table) -> NDArray[np.bool_]:
    differs: NDArray[np.bool_] = (dataset.features != neighbour.features).any(axis=1)
    return differs | (dataset.labels != neighbour.labels) if len(dataset.labels) else differs


def _find_replaced_table_record(dataset: Table, neighbour: Table) -> int:
    _require_plain_tables(dataset, neighbour)
    _same_shape(dataset, neighbour)
    return _require_one_difference("records", _rows_differ(dataset, neighbour))


def _find_replaced_table_cell(dataset: Table, neighbour: Table) -> int:
    _require_plain_tables(dataset, neighbour)
    _same_shape(dataset, neighbour)
    if dataset.features.shape[1] < 2:
        raise InvalidArgument(
            "pair", VerbatimText("records of one entry"), "records of several entries"
        )
    if not np.array_equal(dataset.labels, neighbour.labels):
        raise InvalidArgument("pair", VerbatimText("differing labels"), "labels that are the same")
    differs = dataset.features != neighbour.features
    _require_one_difference("entries", differs.reshape(-1))
    return int(np.argmax(differs.any(axis=1)))


def _find_replaced_table_label(dataset: Table, neighbour: Table) -> int:
    _same_shape(dataset, neighbour)
    if not np.array_equal(dataset.features, neighbour.features):
        raise InvalidArgument(
            "pair", VerbatimText("differing features"), "features that are the same"
        )
    return _require_one_difference("labels", dataset.labels != neighbour.labels)


def _find_replaced_table_column(dataset: Table, neighbour: Table) -> int:
    _same_shape(dataset, neighbour)
    if not np.array_equal(dataset.labels, neighbour.labels):
        raise InvalidArgument("pair", VerbatimText("differing labels"), "labels that are the same")
    return _require_one_difference("columns", (dataset.features != neighbour.features).any(axis=0))


def _find_replaced_tuple(dataset: Table, neighbour: Table) -> int:
    if not (dataset.public and neighbour.public):
        raise InvalidArgument("pair", VerbatimText("plain records"), "joined tables on both sides")
    _same_shape(dataset, neighbour)
    if not np.array_equal(dataset.labels, neighbour.labels):
        raise InvalidArgument("pair", VerbatimText("differing labels"), "labels that are the same")
    return _require_one_difference("tuples", (dataset.features != neighbour.features).any(axis=1))


def _find_added_table_record(dataset: Table, neighbour: Table) -> int:
    _require_plain_tables(dataset, neighbour)
    _same_kind(dataset, neighbour)
    longer, shorter = (
        (dataset, neighbour)
        if len(dataset.features) > len(neighbour.features)
        else (neighbour, dataset)
    )
    start, stop = _node_that_shrank(longer, shorter)
    # Of equal neighbours any may be the one that was added: it has to be one of the node that has
    # one more.
    row = int(np.clip(_first_difference(longer, shorter), start, stop - 1))
    kept = np.delete(longer.features, row, axis=0)
    labels = np.delete(longer.labels, row) if len(longer.labels) else longer.labels
    if not (np.array_equal(kept, shorter.features) and np.array_equal(labels, shorter.labels)):
        given = VerbatimText("more than one differing record")
        raise InvalidArgument("pair", given, "one dataset to be the other and one record more")
    return row


def _node_that_shrank(longer: Table, shorter: Table) -> tuple[int, int]:
    expected = "record counts that differ by one, at one node"
    if len(longer.node_sizes) != len(shorter.node_sizes):
        raise InvalidArgument("pair", VerbatimText("different numbers of nodes"), expected)
    shrunk = np.subtract(longer.node_sizes, shorter.node_sizes)
    if shrunk.sum() != 1 or np.abs(shrunk).sum() != 1:
        sizes = f"node sizes {shorter.node_sizes} and {longer.node_sizes}"
        if len(shrunk) == 1:
            sizes = f"{shorter.node_sizes[0]} and {longer.node_sizes[0]} records"
            expected = "one record more in one of the two"
        raise InvalidArgument("pair", VerbatimText(sizes), expected)
    node = int(np.argmax(shrunk))
    start = sum(longer.node_sizes[:node])
    return start, start + longer.node_sizes[node]


def _first_difference(longer: Table, shorter: Table) -> int:
    n = len(shorter.features)
    if longer.features.shape[1] != shorter.features.shape[1]:
        given = VerbatimText(f"shapes {shorter.features.shape} and {longer.features.shape}")
        raise InvalidArgument("pair", given, "records of the same length")
    head = Table(longer.features[:n], longer.labels[:n], (n,))
    # If none differs, it is the last one of the longer table.
    return int(np.argmax(np.append(_rows_differ(head, shorter), True)))


REPLACE_RECORD = Relation(
    "replace-record", "one record (features and label) is replaced", _find_replaced_table_record
)
ADD_REMOVE_RECORD = Relation(
    "add-remove-record",
    "one dataset holds one record more than the other",
    _find_added_table_record,
)
REPLACE_LABEL = Relation(
    "replace-label", "the label of one record is replaced", _find_replaced_table_label
)
REPLACE_CELL = Relation(
    "replace-cell", "one entry of one record is replaced", _find_replaced_table_cell
)
REPLACE_COLUMN = Relation(
    "replace-column",
    "one feature column is replaced, the labels are public",
    _find_replaced_table_column,
)
REPLACE_TUPLE = Relation(
    "replace-tuple",
    "the features of one tuple of one table are replaced; keys and labels are public",
    _find_replaced_tuple,
)
RELATIONS: dict[str, Relation] = {
    r.name: r
    for r in (
        REPLACE_RECORD,
        ADD_REMOVE_RECORD,
        REPLACE_LABEL,
        REPLACE_COLUMN,
        REPLACE_TUPLE,
    )
}


def compare(pair: Pair[Any]) -> str:
    """Return one line on the difference in ``pair``, for reports; records only if shown.

    Examples
    --------
    >>> from dpaudit.redaction import set_records_shown
    >>> pair = Pair(np.array([1.0, 2.0]), np.array([1.0, 5.0]), REPLACE_RECORD)
    >>> compare(pair)
    'one record (features and label) is replaced (index 1)'
    >>> with set_records_shown():
    ...     compare(pair)
    'one record (features and label) is replaced (index 1): [2.0] and [5.0]'
    """
    said = f"{pair.relation.statement} (index {pair.index})"
    return f"{said}: {_format_pair_at_index(pair)}" if are_shown() else said


def _format_pair_at_index(pair: Pair[Any]) -> str:
    """Return the record at the index on either side; nothing if there is no such record."""
    if not _are_tables(pair.dataset, pair.neighbour):
        return "records of another kind"
    sides = (Table.of(side.value, pair.on(side)) for side in Side)
    parts = (_get_table_entry(side, pair.index, pair.relation is REPLACE_COLUMN) for side in sides)
    return " and ".join(shorten_repr(Record(part), width=1000) for part in parts)


def _get_table_entry(table: Table, index: int, column: bool) -> list[float] | None:
    if column:
        found: list[float] = table.features[:, index].tolist()
        return found
    if index >= len(table.features):
        return None
    labels = [float(table.labels[index])] if len(table.labels) == len(table.features) else []
    return [*table.features[index].tolist(), *labels]
