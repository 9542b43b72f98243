"""Strategies for tables of pandas in a public domain, and for neighbouring pairs of them.

Pairs are built, not filtered: a value that was drawn for the neighbour and happens to be equal is
turned into another one of its domain.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from dpaudit.domains.columns import (
    Booleans,
    Categories,
    Column,
    Dates,
    Integers,
    Numbers,
    Texts,
    is_varying_column,
)
from dpaudit.domains.schemas import Schema
from dpaudit.errors import InvalidArgument, UnknownName, VerbatimText
from dpaudit.neighbours import Pair
from dpaudit.neighbours.found_relations import chosen_relation
from dpaudit.testing.records import Bounds, bounds

Record = list[Any]
_USER = "add-remove-user"
_GRID = 16  # numbers are sixteenths of their range, so that what is left after shrinking is short


def frames(schema: Schema, rows: Bounds = (0, 5)) -> SearchStrategy[Any]:
    """Return a strategy for tables of pandas in a domain.

    Parameters
    ----------
    schema
        The domain: every table has its columns, in this order and of these types.
    rows
        The number of records, or the least and the most.

    Raises
    ------
    InvalidArgument
        ``schema`` is no `Schema`, or the least of ``rows`` is above the most.

    Examples
    --------
    >>> from hypothesis import find
    >>> people = Schema({"age": Integers(low=0, high=120), "sex": Categories(values=("f", "m"))})
    >>> find(frames(people), lambda table: (table.age > 64).any())
       age sex
    0   65   f
    """
    low, high = bounds("rows", rows, least=0)
    record = _record(_schema(schema))
    return st.lists(record, min_size=low, max_size=high).map(lambda drawn: _frame(schema, drawn))


def frame_pairs(relation: str, schema: Schema, rows: Bounds = (1, 5)) -> SearchStrategy[Pair[Any]]:
    """Return a strategy for neighbouring tables of pandas in a domain.

    Parameters
    ----------
    relation
        ``add-remove-record``, ``replace-record``, ``replace-cell``, or ``add-remove-user: NAME``
        with the name of the column that states the user of a record.
    schema
        The domain of both tables.
    rows
        The number of records of the larger table, or the least and the most.

    Raises
    ------
    UnknownName
        There is no such relation of tables.
    InvalidArgument
        The domain has one record only, or no such column.

    Examples
    --------
    >>> from hypothesis import find
    >>> people = Schema({"age": Integers(low=0, high=120), "sex": Categories(values=("f", "m"))})
    >>> pair = find(frame_pairs("add-remove-record", people), lambda pair: True)
    >>> len(pair.dataset), len(pair.neighbour)
    (0, 1)
    >>> pair.dataset.dtypes.equals(pair.neighbour.dtypes)
    True
    """
    size = bounds("rows", rows)
    _schema(schema)
    kind, _, user = (part.strip() for part in relation.partition(":"))
    if kind not in _DRAWN or bool(user) != (kind == _USER):
        raise UnknownName("relation", relation, [*sorted(set(_DRAWN) - {_USER}), f"{_USER}: NAME"])
    if user and user not in schema.columns:
        raise InvalidArgument("relation", relation, "a user in one of the columns")
    if not any(map(is_varying_column, schema.columns.values())):
        raise InvalidArgument(
            "schema", VerbatimText("one record"), "a column of at least two values"
        )
    return _pairs(relation, schema, size, user)


@st.composite
def _pairs(
    draw: DrawFn, relation: str, schema: Schema, size: tuple[int, int], user: str
) -> Pair[Any]:
    kind = relation.partition(":")[0].strip()
    one, other = _DRAWN[kind](draw, schema, size, user)
    if draw(st.booleans()):
        one, other = other, one
    found = chosen_relation(relation)
    assert found is not None
    return Pair(_frame(schema, one), _frame(schema, other), found)


def _draw_row_addition(
    draw: DrawFn, schema: Schema, size: tuple[int, int], user: str
) -> tuple[list[Record], list[Record]]:
    record = _record(schema)
    fewer = draw(st.lists(record, min_size=size[0] - 1, max_size=size[1] - 1))
    place = draw(st.integers(0, len(fewer)))
    return fewer, [*fewer[:place], draw(record), *fewer[place:]]


def _draw_row_replacement(
    draw: DrawFn, schema: Schema, size: tuple[int, int], user: str
) -> tuple[list[Record], list[Record]]:
    record = _record(schema)
    others = draw(st.lists(record, min_size=size[0] - 1, max_size=size[1] - 1))
    place = draw(st.integers(0, len(others)))
    old, new = draw(record), draw(record)
    if _same(old, new):
        new = _with_another(draw, schema, old)
    return _insert_record(others, place, old), _insert_record(others, place, new)


def _one_cell(
    draw: DrawFn, schema: Schema, size: tuple[int, int], user: str
) -> tuple[list[Record], list[Record]]:
    record = _record(schema)
    others = draw(st.lists(record, min_size=size[0] - 1, max_size=size[1] - 1))
    place, old = draw(st.integers(0, len(others))), draw(record)
    new = _with_another(draw, schema, old)
    return _insert_record(others, place, old), _insert_record(others, place, new)


def _one_user(
    draw: DrawFn, schema: Schema, size: tuple[int, int], user: str
) -> tuple[list[Record], list[Record]]:
    more = draw(st.lists(_record(schema), min_size=size[0], max_size=size[1]))
    column = list(schema.columns).index(user)
    gone = more[draw(st.integers(0, len(more) - 1))][column]
    return [one for one in more if not _equal(one[column], gone)], more


_Drawn = Callable[[DrawFn, Schema, tuple[int, int], str], tuple[list[Record], list[Record]]]
_DRAWN: dict[str, _Drawn] = {
    "add-remove-record": _draw_row_addition,
    "replace-record": _draw_row_replacement,
    "replace-cell": _one_cell,
    _USER: _one_user,
}


def _insert_record(records: list[Record], place: int, record: Record) -> list[Record]:
    return [*records[:place], record, *records[place:]]


def _with_another(draw: DrawFn, schema: Schema, record: Record) -> Record:
    """Return a record that differs in one entry."""
    columns = list(schema.columns.values())
    place = draw(
        st.sampled_from([n for n, column in enumerate(columns) if is_varying_column(column)])
    )
    value = draw(_values(columns[place]))
    if _equal(value, record[place]):
        value = _another(columns[place], record[place])
    return [*record[:place], value, *record[place + 1 :]]


def _another(column: Column, value: Any) -> Any:
    """Return a value of a column that is not this one."""
    candidates = [*_ends(column), *([None] if column.missing else [])]
    return next(one for one in candidates if not _equal(one, value))


def _ends(column: Column) -> Sequence[Any]:
    """Return the least and the greatest value of a column, which differ if any do."""
    match column:
        case Integers() | Numbers():
            return column.low, column.high
        case Categories():
            return column.values[0], column.values[-1]
        case Dates():
            return column.first, column.last
        case Texts():
            return "", column.alphabet[:1] * min(1, column.longest)
    return False, True


def _equal(one: Any, other: Any) -> bool:
    # The type counts: True equals 1 and 1 equals 1.0, which are different values of a column.
    return type(one) is type(other) and bool(one == other)


def _same(one: Record, other: Record) -> bool:
    return all(map(_equal, one, other))


def _schema(given: object) -> Schema:
    if not isinstance(given, Schema):
        raise InvalidArgument(
            "schema", VerbatimText(type(given).__name__), "a dpaudit.testing.Schema"
        )
    return given


def _record(schema: Schema) -> SearchStrategy[Record]:
    return st.tuples(*map(_values, schema.columns.values())).map(list)


def _values(column: Column) -> SearchStrategy[Any]:
    """Return a strategy for the values of a column; None for one that is missing."""
    found = _present(column)
    if not column.missing:
        return found
    # Both are drawn: a value that is missing would be shorter else, and be what is left of all.
    return st.tuples(st.booleans(), found).map(lambda drawn: None if drawn[0] else drawn[1])


def _present(column: Column) -> SearchStrategy[Any]:
    match column:
        case Integers(low=low, high=high):
            return st.integers(low, high)
        case Numbers(low=low, high=high):
            step = (high - low) / _GRID
            return st.integers(0, _GRID).map(lambda n: min(low + n * step, high))
        case Categories(values=values):
            return st.sampled_from(values)
        case Dates(first=first, last=last):
            return st.dates(first, last)
        case Texts(longest=longest, alphabet=alphabet):
            return st.text(alphabet, max_size=longest)
    return st.booleans()


def _frame(schema: Schema, records: Sequence[Record]) -> Any:
    """Return records as a table of the schema's types, whatever they hold and if there are none."""
    import pandas

    columns = {
        name: _convert_column_values(column, [record[n] for record in records])
        for n, (name, column) in enumerate(schema.columns.items())
    }
    return pandas.DataFrame(columns, columns=list(schema.columns))


def _convert_column_values(column: Column, values: list[Any]) -> Any:
    import pandas

    match column:
        case Categories(values=known):
            return pandas.Series(pandas.Categorical(values, categories=list(known)))
        case Integers():
            return pandas.Series(values, dtype="Int64" if column.missing else "int64")
        case Numbers():
            return pandas.Series(values, dtype="float64")
        case Booleans():
            return pandas.Series(values, dtype="boolean" if column.missing else "bool")
        case Dates():
            days = [
                None if one is None else datetime.datetime(*one.timetuple()[:3]) for one in values
            ]
            return pandas.Series(days, dtype="datetime64[ns]")
    return pandas.Series(values, dtype="str")
