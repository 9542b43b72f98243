"""Datasets of any kind as records of cells, coded so that equal values have equal codes.

Arrays of any kind, tables of pandas, lists of numbers, texts, tuples or dicts, dicts of columns,
features with labels, and sparse matrices are records; NaN equals NaN, and a missing key is a value.
Only equality counts here: a relation says which cells of which records differ.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpaudit.errors import InvalidArgument, VerbatimText

Codes = NDArray[np.int64]
_NUMERIC = "biuf"
EXACT = 2.0**53  # from which on doubles merge integers
_DENSE = 10**7  # entries up to which a sparse matrix is compared as a dense one
_MISSING = ("missing",)
_Column = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True)
class Cells:
    """Two datasets as records of cells.

    Parameters
    ----------
    dataset, neighbour
        Codes, shapes ``(n, d)`` and ``(m, d)``.
    columns
        What the cells of a record are called.
    labels
        Which column holds the labels, if one does.
    """

    dataset: Codes
    neighbour: Codes
    columns: tuple[str, ...]
    labels: int | None = None


def make_cells(dataset: Any, neighbour: Any) -> Cells | None:
    """Return two datasets as records, or None where they are something else, or of two kinds.

    Examples
    --------
    >>> found = make_cells(["a", "b"], ["a", "c"])
    >>> found.dataset.shape, int((found.dataset != found.neighbour).sum())
    ((2, 1), 1)
    """
    one, other = _get_dataset_columns(dataset), _get_dataset_columns(neighbour)
    if one is None or other is None:
        return None
    one, other = (
        one | _labels_of_rows(dataset, neighbour),
        other | _labels_of_rows(neighbour, dataset),
    )
    if all(map(_are_dicts, (dataset, neighbour))):
        one, other = (
            _add_missing_columns(one, other, len(dataset)),
            _add_missing_columns(other, one, len(neighbour)),
        )
    if one.keys() != other.keys():
        if not all(map(_are_sequences, (dataset, neighbour))):
            return None
        one, other = {"records": list(dataset)}, {"records": list(neighbour)}  # of any lengths
    # Both sides of a column are coded together: a code means nothing beside another table.
    coded = [_encode_column(one[name], other[name]) for name in one]
    lengths = [{len(column) for column in side} for side in zip(*coded, strict=True)]
    if not coded or any(len(length) != 1 for length in lengths):
        return None
    p, q = (np.stack(side, axis=1) for side in zip(*coded, strict=True))
    names = tuple(one)
    return Cells(p, q, names, names.index(_LABELS) if _LABELS in names else None)


def _are_dicts(dataset: Any) -> bool:
    """Return whether records are dicts, or there are none that could be something else."""
    return isinstance(dataset, list | tuple) and all(isinstance(one, Mapping) for one in dataset)


def _are_sequences(dataset: Any) -> bool:
    """Return whether records are tuples or lists."""
    return isinstance(dataset, list | tuple) and all(
        isinstance(one, tuple | list) for one in dataset
    )


def _add_missing_columns(
    one: dict[str, _Column], other: dict[str, _Column], count: int
) -> dict[str, _Column]:
    """Return columns with those of the other side, which are missing here; none for no records."""
    names = sorted(name for name in {*one, *other} if name != "records")
    return {name: one.get(name, [_MISSING] * count) for name in names}


_LABELS = "labels"


def _labels_of_rows(dataset: Any, neighbour: Any) -> dict[str, _Column]:
    """Return the index of a table as a column, unless rows are only numbered on one of the two."""
    both = (dataset, neighbour)
    if not all(_is_pandas(one, "DataFrame") or _is_pandas(one, "Series") for one in both):
        return {}
    # Rows that are only numbered have other numbers once a record is gone, though no record
    # changed.
    if any(type(one.index).__name__ == "RangeIndex" for one in both):
        return {}
    return {"the index": dataset.index.tolist()}


def _get_dataset_columns(dataset: Any) -> dict[str, _Column] | None:
    """Return the columns of a dataset by name."""
    if _is_pandas(dataset, "DataFrame"):
        shown = [str(name) for name in dataset.columns]
        # pandas allows several columns of one name, and a dict would keep the last of them.
        names = [f"{one}#{n}" if shown.count(one) > 1 else one for n, one in enumerate(shown)]
        return {name: dataset.iloc[:, n] for n, name in enumerate(names)}
    if _is_pandas(dataset, "Series"):
        return {"values": dataset}
    if is_labelled(dataset):
        return _with_labels(*dataset)
    if hasattr(dataset, "tocoo") and hasattr(dataset, "toarray"):
        # A larger sparse matrix would not fit into memory as a dense one.
        small = math.prod(dataset.shape) <= _DENSE
        return _of_array(dataset.toarray()) if small else None
    if hasattr(dataset, "__array__") and not isinstance(dataset, type):
        return _of_array(np.asarray(dataset))
    if isinstance(dataset, Mapping):
        return _of_mapping(dataset)
    if isinstance(dataset, list | tuple):
        return _of_records(dataset)
    return None


def is_labelled(dataset: Any) -> bool:
    """Return whether a dataset is features with labels, ``(X, y)``."""
    return isinstance(dataset, tuple) and len(dataset) == 2 and all(map(_has_rows, dataset))


def _has_rows(part: Any) -> bool:
    return getattr(part, "ndim", 0) > 0 and hasattr(part, "__len__")


def _with_labels(features: Any, labels: Any) -> dict[str, _Column] | None:
    found = _get_dataset_columns(features)
    if found is None or len(labels) != len(features) or np.ndim(labels) != 1:
        return None
    return {f"feature {name}": column for name, column in found.items()} | {_LABELS: labels}


def _of_array(array: NDArray[Any]) -> dict[str, _Column] | None:
    if array.ndim == 0:
        return None
    if array.dtype.names:
        return {name: array[name].reshape(len(array)) for name in array.dtype.names}
    flat = array.reshape(len(array), math.prod(array.shape[1:]))
    return {str(n): flat[:, n] for n in range(flat.shape[1])}


def _of_mapping(dataset: Mapping[Any, Any]) -> dict[str, _Column] | None:
    """Return the columns of a dict of columns; a dict of anything else is no table."""
    listed = all(isinstance(one, list | tuple) or _has_rows(one) for one in dataset.values())
    if not dataset or not listed or len({len(one) for one in dataset.values()}) != 1:
        return None
    return {repr(name): column for name, column in dataset.items()}


def _of_records(dataset: Sequence[Any]) -> dict[str, _Column]:
    if dataset and all(isinstance(one, Mapping) for one in dataset):
        names = sorted({repr(name) for one in dataset for name in one})
        rows = [{repr(name): value for name, value in one.items()} for one in dataset]
        return {name: [row.get(name, _MISSING) for row in rows] for name in names}
    if dataset and all(isinstance(one, tuple | list) for one in dataset):
        sizes = {len(one) for one in dataset}
        if len(sizes) == 1 and sizes != {0}:
            return {str(n): [one[n] for one in dataset] for n in range(sizes.pop())}
    return {"records": list(dataset)}


def _encode_column(one: _Column, other: _Column) -> tuple[Codes, Codes]:
    """Return the codes of a column on both sides."""
    both = _merge_column_numbers(one, other)
    if both is not None:
        p = np.asarray(one)
        # By default NaN equals nothing, and every missing value would be a difference.
        _, codes = np.unique(both, return_inverse=True, equal_nan=True)
        if both.dtype.kind == "f":  # code tells the zeros apart, by a division or their sign
            codes = np.where((both == 0) & np.signbit(both), len(codes), codes)
        return np.split(codes.astype(np.int64), [len(p)])[0], codes[len(p) :].astype(np.int64)
    known: dict[Hashable, int] = {}
    coded = [
        [known.setdefault(value_key(v), len(known)) for v in _to_iterable(side)]
        for side in (one, other)
    ]
    return np.array(coded[0], dtype=np.int64), np.array(coded[1], dtype=np.int64)


def _merge_column_numbers(one: _Column, other: _Column) -> NDArray[Any] | None:
    """Return a column of both sides as numbers of one kind, if that merges none of them."""
    try:
        p, q = np.asarray(one), np.asarray(other)
    except ValueError:  # arrays of several lengths
        return None
    if any(side.dtype.kind not in _NUMERIC or side.ndim != 1 for side in (p, q)):
        return None
    if _holds_booleans(one, p) or _holds_booleans(other, q):
        return None
    both = np.concatenate([p, q])
    # Integers beside doubles become doubles, which merge neighbours beyond 2**53: then values are
    # compared one by one.
    small = not (np.abs(both.astype(np.float64)) >= EXACT).any() and both.itemsize <= 8
    return both if small or p.dtype == q.dtype == both.dtype else None


def _holds_booleans(column: _Column, array: NDArray[Any]) -> bool:
    """Return whether a value is a boolean, which numpy makes a number beside others."""
    if array.dtype.kind == "b" or hasattr(column, "dtype"):
        return array.dtype.kind == "b"
    return any(isinstance(one, bool | np.bool_) for one in column)


def _to_iterable(column: _Column) -> Iterable[Any]:
    return column.tolist() if hasattr(column, "tolist") else column


def value_key(value: Any) -> Hashable:
    """Return something hashable that equal values share, and others do not.

    Examples
    --------
    >>> value_key(float("nan")) == value_key(float("nan")), value_key(1) == value_key(1.0)
    (True, True)
    >>> value_key("1") == value_key(1), value_key([1, {"a": 2}]) == value_key([1, {"a": 2}])
    (False, True)
    """
    # With the type, as Python has True equal to 1 and would merge them as keys.
    if isinstance(value, str | bytes | bool | None):
        return (type(value).__name__, value)
    if isinstance(value, numbers.Number):
        if value != value:
            return ("nan",)
        return ("number", value) if value or not str(value).startswith("-") else ("-0",)
    if isinstance(value, Mapping):
        return ("dict", frozenset((value_key(k), value_key(v)) for k, v in value.items()))
    if isinstance(value, set | frozenset):
        return ("set", frozenset(map(value_key, value)))
    if isinstance(value, list | tuple):
        return ("list", tuple(map(value_key, value)))
    if hasattr(value, "tolist") and hasattr(value, "shape"):
        return ("array", value.shape, value_key(value.tolist()))
    try:
        hash(value)
        return (type(value).__name__, value) if bool(value == value) else (type(value).__name__,)
    except Exception:  # what cannot be hashed or compared is told by its text
        return (type(value).__name__, repr(value))


def _is_pandas(value: Any, kind: str) -> bool:
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, getattr(pandas, kind))


# Which cells differ


def find_replaced_record(found: Cells) -> int:
    """Return the record that differs, in its place or whatever the order is."""
    return _only_record(found, f"{_count_differing_records(found)} differing records")


def find_replaced_cell(found: Cells) -> int:
    """Return the record of which one cell differs, and not its label."""
    if len(found.columns) - (found.labels is not None) < 2:
        raise InvalidArgument(
            "pair", VerbatimText("records of one entry"), "records of several entries"
        )
    where, column = _only_cell(found)
    if column == found.labels:
        raise InvalidArgument("pair", VerbatimText("differing labels"), "labels that are the same")
    return where


def find_replaced_label(found: Cells) -> int:
    """Return the record of which the label alone differs."""
    if found.labels is None:
        raise InvalidArgument(
            "pair", VerbatimText("records without labels"), "features with labels"
        )
    where, column = _only_cell(found)
    if column != found.labels:
        raise InvalidArgument(
            "pair", VerbatimText("differing features"), "features that are the same"
        )
    return where


def _only_cell(found: Cells) -> tuple[int, int]:
    """Return the record and the column of the one cell that differs."""
    differs = _find_differing_cells(found)
    if differs is None or differs.sum() != 1:
        count = "another number of" if differs is None else int(differs.sum())
        raise InvalidArgument("pair", VerbatimText(f"{count} differing cells"), "exactly one")
    where, column = np.argwhere(differs)[0].tolist()
    return where, column


def find_replaced_column(found: Cells) -> int:
    """Return the column that differs."""
    differs = _find_differing_cells(found)
    count = 0 if differs is None else int(differs.any(axis=0).sum())
    if differs is None or count != 1:
        raise InvalidArgument("pair", VerbatimText(f"{count} differing columns"), "exactly one")
    column = int(np.argmax(differs.any(axis=0)))
    if column == found.labels:
        raise InvalidArgument("pair", VerbatimText("differing labels"), "labels that are the same")
    return column


def find_added_record(found: Cells) -> int:
    """Return the record that one dataset has and the other lacks."""
    sizes = len(found.dataset), len(found.neighbour)
    only_p, only_q = compute_record_surplus(found)
    # As multisets: to add a record that is there already, or anywhere in the order, is to add one.
    if abs(sizes[0] - sizes[1]) != 1 or min(only_p.total(), only_q.total()) != 0:
        given = VerbatimText(
            f"{sizes[0]} and {sizes[1]} records, {only_p.total() + only_q.total()} of them "
            "on one side only"
        )
        raise InvalidArgument("pair", given, "one dataset to be the other and one record more")
    longer = found.dataset if sizes[0] > sizes[1] else found.neighbour
    extra = next(iter(only_p or only_q))
    return max(n for n, row in enumerate(map(tuple, longer.tolist())) if row == extra)


def user_records(found: Cells, by: str, *, added: bool) -> int:
    """Return the first record of the user whose records alone differ.

    Parameters
    ----------
    found
        Both datasets.
    by
        The column that says whose a record is.
    added
        Whether one dataset has none of that user's records, or both have some.
    """
    named = [n for n, name in enumerate(found.columns) if by in (name, name.strip("'"))]
    if not named:
        raise InvalidArgument("relation", by, f"one of the columns: {', '.join(found.columns)}")
    sides = found.dataset, found.neighbour
    users = {row[named[0]] for rows in compute_record_surplus(found) for row in rows}
    if len(users) != 1:
        raise InvalidArgument(
            "pair", VerbatimText(f"differing records of {len(users)} users"), "of one"
        )
    (user,) = users
    has = [bool((side[:, named[0]] == user).any()) for side in sides]
    if added == all(has):
        expected = "one dataset without any of that user's records" if added else "some on both"
        raise InvalidArgument("pair", VerbatimText("other records of one user"), expected)
    where = sides[0] if has[0] else sides[1]
    return int(np.argmax(where[:, named[0]] == user))


def differ_in_one_edge(dataset: Any, neighbour: Any) -> bool:
    """Return that two graphs have the same nodes and differ in one edge, or refuse them."""
    if not are_graphs(dataset, neighbour):
        expected = "two graphs, with nodes and edges as networkx has them"
        raise InvalidArgument("pair", VerbatimText("something else"), expected)
    (edges, nodes), (others, other_nodes) = (_get_graph_parts(one) for one in (dataset, neighbour))
    count = len({edge for edge in {*edges, *others} if edges.get(edge) != others.get(edge)})
    lengths_differ = len(edges) != len(others)
    _require_same_graph_attributes(dataset, neighbour)
    if nodes != other_nodes or count != 1 or not lengths_differ:
        given = "other nodes" if nodes != other_nodes else f"{count} differing edges"
        raise InvalidArgument(
            "pair", VerbatimText(given), "graphs of the same nodes and one edge more"
        )
    return True


def _require_same_graph_attributes(dataset: Any, neighbour: Any) -> None:
    if value_key(getattr(dataset, "graph", {})) != value_key(getattr(neighbour, "graph", {})):
        expected = "graphs whose own attributes are the same"
        raise InvalidArgument("pair", VerbatimText("other attributes of the graph"), expected)


def differ_in_one_node(dataset: Any, neighbour: Any) -> bool:
    """Return that two graphs have the same nodes, and differ at one of them and its edges alone."""
    if not are_graphs(dataset, neighbour):
        expected = "two graphs, with nodes and edges as networkx has them"
        raise InvalidArgument("pair", VerbatimText("something else"), expected)
    (edges, nodes), (others, other_nodes) = (_get_graph_parts(one) for one in (dataset, neighbour))
    _require_same_graph_attributes(dataset, neighbour)
    same_kind = dataset.is_directed() == neighbour.is_directed()
    if nodes.keys() != other_nodes.keys() or not same_kind:
        expected = "graphs of the same nodes, and of one kind"
        raise InvalidArgument("pair", VerbatimText("other nodes"), expected)
    changes: list[frozenset[Any]] = [
        frozenset(ends) for ends in {*edges, *others} if edges.get(ends) != others.get(ends)
    ]
    changes += [frozenset({node}) for node in nodes if nodes[node] != other_nodes[node]]
    # All that changed has to touch one node: the intersection of the ends of all changes.
    if not changes or not frozenset.intersection(*changes):
        given = "changes that share no node" if changes else "the same graph twice"
        raise InvalidArgument(
            "pair", VerbatimText(given), "graphs that differ at the edges of one node"
        )
    return True


def are_graphs(*given: Any) -> bool:
    """Return whether all are graphs, as networkx has them."""
    return all(hasattr(one, "edges") and hasattr(one, "nodes") for one in given)


_Ends = tuple[Any, ...] | frozenset[Any]  # of an edge


def _get_graph_parts(graph: Any) -> tuple[dict[_Ends, Hashable], dict[Hashable, Hashable]]:
    """Return the values at every edge, and at every node."""
    directed = bool(graph.is_directed())
    edges: dict[_Ends, Hashable] = {}
    for *edge, data in graph.edges(data=True):
        # An edge without direction is the same whichever of its ends comes first.
        ends: _Ends = tuple(edge[:2]) if directed else frozenset(edge[:2])
        several = edges.get(ends, ())
        edges[ends] = (*several, value_key(data)) if isinstance(several, tuple) else several
    return edges, {node: value_key(data) for node, data in graph.nodes(data=True)}


RULES: dict[str, Callable[[Cells], int]] = {
    "replace-label": find_replaced_label,
    "replace-cell": find_replaced_cell,
    "replace-record": find_replaced_record,
    "add-remove-record": find_added_record,
    "replace-column": find_replaced_column,
}


def _find_differing_cells(found: Cells) -> NDArray[np.bool_] | None:
    same = found.dataset.shape == found.neighbour.shape
    return found.dataset != found.neighbour if same else None


def _count_differing_records(found: Cells) -> int:
    differs = _find_differing_cells(found)
    if differs is None:
        return abs(len(found.dataset) - len(found.neighbour))
    return int(differs.any(axis=1).sum())


def _only_record(found: Cells, given: str) -> int:
    differs = _find_differing_cells(found)
    if differs is not None and differs.any(axis=1).sum() == 1:
        return int(np.argmax(differs.any(axis=1)))
    only_p, only_q = compute_record_surplus(found)
    if differs is None or (only_p.total(), only_q.total()) != (1, 1):
        raise InvalidArgument("pair", VerbatimText(given), "exactly one")
    return [tuple(row) for row in found.dataset.tolist()].index(next(iter(only_p)))


def compute_record_surplus(
    found: Cells,
) -> tuple[Counter[tuple[int, ...]], Counter[tuple[int, ...]]]:
    """Return the records that one side has more often than the other."""
    p, q = (Counter(map(tuple, side.tolist())) for side in (found.dataset, found.neighbour))
    return p - q, q - p
