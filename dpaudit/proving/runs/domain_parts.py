"""The universe of a domain under a relation, and its datasets as people's functions take them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from dpaudit.domains.columns import Booleans, Categories, Column, Dates, Integers, Numbers, ValueSet
from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import Unit, of_user
from dpaudit.domains.relations import REMOVING, relation_in
from dpaudit.neighbours.found_relations import DeclaredRelation
from dpaudit.neighbours.tables import Relation
from dpaudit.proving.refusals import NotProved
from dpaudit.proving.universe import Part, Universe

Form = Literal["array", "list", "labelled", "table", "dicts", "value"]
Array = NDArray[Any]
OTHER = -1  # what any value is that is none of the categories of a part, where others occur
_OTHERS = "another value"  # what stands for such a one in a dataset
_PLACE = "domain"
_SIZES = (1, 8)


@dataclass(frozen=True, eq=False)
class DatasetLayout:
    """The datasets of a universe as a function sees them, and the map from numbers to one of them.

    Parameters
    ----------
    universe
        The datasets.
    form
        What a function takes them for.
    dtypes
        Of the numbers of each part, by its name.
    values
        Of a part that holds no numbers, or some numbers only: what it may hold. The numbers 0, 1,
        ... stand for them where the part has categories, elsewhere they are numbers themselves.
    sizes
        The fewest and the most records of a dataset.
    assemble
        Returns the dataset of the cells of each column.
    """

    universe: Universe
    form: Form
    dtypes: Mapping[str, np.dtype[Any]]
    values: Mapping[str, tuple[Any, ...]]
    sizes: tuple[int, int]
    assemble: Callable[[list[list[Any]]], Any]

    def build(self, numbers: Mapping[str, Array]) -> Any:
        """Return the dataset of the numbers of each part, by its name."""
        cells = [column for part in self.universe.parts for column in self._cells(part, numbers)]
        return self.assemble(cells)

    def _cells(self, part: Part, numbers: Mapping[str, Array]) -> list[list[Any]]:
        given = np.asarray(numbers[part.name])
        if part.categories is not None:
            values = self.values[part.name]
            return [[_OTHERS if one == OTHER else values[int(one)] for one in given]]
        if part.name in self.values:
            known = {float(one): one for one in self.values[part.name]}
            return [[known[float(one)] for one in given]]
        whole = given.astype(self.dtypes[part.name])
        return [column.tolist() for column in (whole.T if whole.ndim > 1 else [whole])]

    def with_values(self, name: str, values: tuple[Any, ...]) -> DatasetLayout:
        """Return a layout of which a part may hold other values, as code asks for them."""
        parts = tuple(
            _of_categories(one, values) if one.name == name else one for one in self.universe.parts
        )
        universe = replace(self.universe, parts=parts)
        return replace(self, universe=universe, values={**self.values, name: values})


def _of_categories(part: Part, values: tuple[Any, ...]) -> Part:
    high = np.asarray(len(values) - 1.0)
    return replace(part, high=high, categories=tuple(map(str, values)))


def universe_of(
    domain: Domain, relation: Relation | str, *, records: int | None = None
) -> Universe:
    """Return the datasets of a domain and which of them are neighbours, for a proof.

    Parameters
    ----------
    domain, relation
        What datasets may be, and what makes two of them neighbours.
    records
        How many records datasets have, of a domain that allows several numbers of them.

    Raises
    ------
    NotProved
        No rule speaks of such datasets or such neighbours.
    InvalidArgument
        No neighbours are made under the relation in this domain.

    Examples
    --------
    >>> found = universe_of(Domain(bounds=(0, 1), records=5), "replace-record")
    >>> found.records, found.change, found.parts[0].shape, found.parts[0].high.item()
    (5, 'replace', (5,), 1.0)
    """
    return layout_of(domain, relation, records=records).universe


def layout_of(
    domain: Domain, relation: Relation | str, *, records: int | None = None
) -> DatasetLayout:
    """Return the universe of `universe_of`, and the form of its datasets for a function."""
    named = relation_in(domain, relation)
    if domain.frame is not None:
        raise NotProved.at(_PLACE, "datasets are graphs, and no rule covers edges")
    if domain.make is not None:
        raise NotProved.at(
            _PLACE, "a function makes the datasets", "describe the records: bounds=, columns="
        )
    count = domain.users or 1
    example = domain.example()
    form = _form_of(example)
    size = _public_size(domain, named.name, form, records)
    parts, dtypes = _make_universe_parts(domain, form, example, size, named.name)
    change: Any = "add-remove" if named.name in REMOVING else "replace"
    universe = Universe(
        tuple(parts),
        size,
        change,
        count,
        named.name,
        of_cells=named.name == "replace-cell",
    )
    sizes = domain.sizes if size is None else (size, size)
    values = _values_by_part(domain, parts)
    return DatasetLayout(universe, form, dtypes, values, sizes, _make_assembler(domain, named))


def _form_of(example: Any) -> Form:
    """Return the form in which a function takes a dataset."""
    if hasattr(example, "iloc"):
        if not hasattr(example, "columns"):
            raise NotProved.at(_PLACE, "a dataset is a column of pandas", "give a table")
        return "table"
    if isinstance(example, tuple):
        return "labelled"
    if isinstance(example, np.ndarray):
        return "array"
    if isinstance(example, list):
        if example and isinstance(example[0], dict):
            return "dicts"
        if example and isinstance(example[0], list | tuple | np.ndarray):
            raise NotProved.at(_PLACE, "a record is a list", "give the records as an array")
        return "list"
    return "value"


def _public_size(domain: Domain, relation: str, form: Form, records: int | None) -> int | None:
    """Return how many records datasets have, where that is public."""
    low, high = domain.sizes
    # Under these relations the number of records is what neighbours differ in, and so is never
    # public.
    if relation in REMOVING:
        if form == "value":
            raise NotProved.at(_PLACE, "a dataset is one value, which is never removed")
        return None
    if records is not None:
        if not low <= records <= high:
            raise NotProved.at(
                _PLACE, f"no dataset has {records} records: datasets have {low} to {high}"
            )
        return records
    # Replaced records keep their number, but rules bound means and quantiles by one number of
    # records.
    if low != high:
        cure = "give records= one number" + (
            ", or name add-remove-user" if domain.users is not None else ""
        )
        raise NotProved.at(_PLACE, f"datasets have {low} to {high} records", cure)
    return low


# --- parts -----------------------------------------------------------------------------------


def _make_universe_parts(
    domain: Domain, form: Form, example: Any, size: int | None, relation: str
) -> tuple[list[Part], dict[str, np.dtype[Any]]]:
    layout = domain.layout
    columns = [_require_known_column(domain, n, column) for n, column in enumerate(layout.columns)]
    norm = math.inf if layout.norm is None else float(layout.norm)
    if form == "labelled":
        features = _make_matrix_part("X", columns[:-1], size, norm)
        labels = _make_label_part(columns[-1], size)
        of_labels = relation == "replace-label"
        features = features if not of_labels else _make_unchanged_part(features)
        return [features, labels], {"X": example[0].dtype, "y": _number_type(example[1])}
    if form == "array":
        if example.ndim == 2:
            return [_make_matrix_part("", columns, size, norm)], {"": example.dtype}
        return [_make_column_part("", columns[0], size)], {"": _number_type(example)}
    if form in ("list", "value"):
        only = _make_column_part("", columns[0], size)
        return [only], {"": _type_of(columns[0])}
    found = [
        _make_column_part(str(name), one, size)
        for name, one in zip(layout.names, columns, strict=True)
    ]
    return found, {
        str(name): _type_of(one) for name, one in zip(layout.names, columns, strict=True)
    }


def _require_known_column(domain: Domain, place: int, column: Column) -> Column:
    """Return a column, or refuse one whose values may be missing."""
    # The rules are of real numbers, and NaN is none.
    if column.missing and not isinstance(column, ValueSet):
        raise NotProved.at(
            _PLACE,
            "values may be missing",
            "state that none is missing with missing=False, or fill them first",
        )
    start = domain.layout.start
    is_stated = start is None or start.is_stated[place]
    # Ends that were read off somebody's records hold for these records alone, and not for all
    # datasets.
    if not is_stated and isinstance(column, Integers | Numbers):
        return _UnboundedColumn(column)
    return column


class _UnboundedColumn(Column):
    """Numbers of which nobody says how large they are."""

    def __init__(self, column: Column) -> None:
        object.__setattr__(self, "missing", False)
        object.__setattr__(self, "is_integer", isinstance(column, Integers))


def _get_domain_column_ends(column: Column) -> tuple[float, float, bool, tuple[str, ...] | None]:
    """Return ends, whether numbers are whole, and the categories that they stand for."""
    match column:
        case _UnboundedColumn():
            return -math.inf, math.inf, bool(vars(column)["is_integer"]), None
        case Integers(low=low, high=high) if max(-low, high) > 2**53:
            raise NotProved.at(_PLACE, "integers exceed 2**53, beyond which doubles are not exact")
        case Integers(low=low, high=high):
            return float(low), float(high), True, None
        case Numbers(low=low, high=high):
            return low, high, False, None
        case Booleans():
            return 0.0, 1.0, True, None
        case Categories(values=values):
            return 0.0, len(values) - 1.0, True, tuple(map(str, values))
        case ValueSet(values=values):
            return OTHER, len(values) - 1.0, True, tuple(map(str, values))
    return OTHER, OTHER, True, ()


def _make_column_part(name: str, column: Column, size: int | None) -> Part:
    low, high, is_integer, categories = _get_domain_column_ends(column)
    shape: tuple[int | None, ...] = (size,)
    return Part(name, shape, np.asarray(low), np.asarray(high), is_integer, categories=categories)


def _make_matrix_part(name: str, columns: Sequence[Column], size: int | None, norm: float) -> Part:
    ends = [_get_domain_column_ends(one) for one in columns]
    if any(categories is not None for *_, categories in ends):
        raise NotProved.at(_PLACE, "an array holds values that are not numbers", "give a table")
    low, high = (np.array([one[n] for one in ends], dtype=float) for n in (0, 1))
    shape = (size, len(columns))
    return Part(name, shape, low, high, all(one[2] for one in ends), norm=norm)


def _make_label_part(column: Column, size: int | None) -> Part:
    """Return labels: as the numbers that they are, or as numbers that stand for them."""
    if not isinstance(column, Categories) or not all(map(_is_number, column.values)):
        return _make_column_part("y", column, size)
    values = [float(one) for one in column.values]
    whole = all(one.is_integer() for one in values)
    return Part("y", (size,), np.asarray(min(values)), np.asarray(max(values)), whole)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating | np.bool_)


def _make_unchanged_part(part: Part) -> Part:
    return Part(
        part.name, part.shape, part.low, part.high, part.is_integer, part.norm, is_changed=False
    )


def _number_type(array: Array) -> np.dtype[Any]:
    """Return the type of an array of numbers; of texts, that of the numbers in their place."""
    return array.dtype if array.dtype.kind in "biuf" else np.dtype(np.int64)


def _type_of(column: Column) -> np.dtype[Any]:
    if isinstance(column, Numbers):
        return np.dtype(np.float64)
    if isinstance(column, _UnboundedColumn):
        return np.dtype(np.int64 if vars(column)["is_integer"] else np.float64)
    return np.dtype(np.bool_ if isinstance(column, Booleans) else np.int64)


# --- datasets of numbers ---------------------------------------------------------------------


def _values_by_part(domain: Domain, parts: Sequence[Part]) -> dict[str, tuple[Any, ...]]:
    """Return the possible values of parts that do not hold any numbers between ends."""
    columns = domain.layout.columns
    if len(parts) < len(columns):  # of arrays with labels, the last column is that of the labels
        columns = columns[len(columns) - 1 :]
        parts = [one for one in parts if one.name == "y"]
    return {
        part.name: tuple(getattr(column, "values", ()))
        for part, column in zip(parts, columns, strict=False)
        if part.categories is not None or isinstance(column, Categories)
    }


def _make_assembler(domain: Domain, relation: Relation) -> Callable[[list[list[Any]]], Any]:
    user = relation.user if isinstance(relation, DeclaredRelation) else None
    layout = of_user(domain.layout, user) if domain.users is not None else domain.layout
    days = [one.first if isinstance(one, Dates) else None for one in layout.columns]

    def assemble(cells: list[list[Any]]) -> Any:
        columns = [
            column if day is None else [day] * len(column)
            for column, day in zip(cells, days, strict=True)
        ]
        return layout.build(_split_into_units(list(zip(*columns, strict=True)), domain.users or 1))

    return assemble


def _split_into_units(records: Sequence[tuple[Any, ...]], most: int) -> list[Unit]:
    return [tuple(records[n : n + most]) for n in range(0, len(records), most)]


# --- of a universe alone ---------------------------------------------------------------------


def layout_of_universe(universe: Universe) -> DatasetLayout:
    """Return datasets of a universe as arrays: one, two with labels, or the columns of a table."""
    names = [one.name for one in universe.parts]
    form: Form = "array" if names == [""] else "labelled" if names == ["X", "y"] else "table"
    dtypes = {
        one.name: np.dtype(np.int64 if one.is_integer else np.float64) for one in universe.parts
    }
    values = {one.name: one.categories for one in universe.parts if one.categories is not None}
    sizes = (universe.records,) * 2 if universe.records is not None else _SIZES

    def assemble(cells: list[list[Any]]) -> Any:
        arrays, pending = [], iter(cells)
        for part in universe.parts:
            width = part.shape[1] if len(part.shape) > 1 else None
            columns = [next(pending) for _ in range(1 if width is None else int(width or 0))]
            arrays.append(np.array(columns[0] if width is None else columns).T)
        return _as_form(form, names, arrays)

    return DatasetLayout(universe, form, dtypes, values, sizes, assemble)


def _as_form(form: Form, names: Sequence[str], arrays: Sequence[Array]) -> Any:
    if form == "array":
        return arrays[0]
    if form == "labelled":
        return tuple(arrays)
    import pandas

    return pandas.DataFrame(dict(zip(names, arrays, strict=True)))
