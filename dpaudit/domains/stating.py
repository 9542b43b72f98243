"""A domain, and datasets of it as units, as plain data of a file; and read from there.

What is read is data that others may have written: nothing but the fields of this module is taken,
and a dataset is built only where the domain that stands beside it allows every value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from datetime import date, datetime
from typing import Any

from dpaudit.domains.columns import (
    Booleans,
    Categories,
    Column,
    Dates,
    Integers,
    Numbers,
    Schema,
    Texts,
    holds,
)
from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import Unit, of_user
from dpaudit.errors import InvalidArgument, Shown

_PLAIN = ("bounds", "records", "integers", "missing", "norm", "labels", "users", "nodes", "form")
_KINDS = {one.__name__: one for one in (Booleans, Categories, Dates, Integers, Numbers, Texts)}
_MOST_COLUMNS, _MOST_NODES = 10_000, 1_000
_SAME = 1e-9  # relative, of the length of a record that was made as long as it may be


def stated_domain(domain: Domain) -> dict[str, Any] | None:
    """Return a domain as plain data; None of one that code or somebody's records describe.

    Examples
    --------
    >>> stated_domain(Domain(bounds=(0, 1), records=6))
    {'bounds': [0.0, 1.0], 'records': 6}
    """
    if domain.make is not None or domain.of_records or len(domain.examples):
        return None
    if domain.around is not None:
        return None
    usual, found = Domain(), dict[str, Any]()
    for name in _PLAIN:
        value = getattr(domain, name)
        if value != getattr(usual, name):
            found[name] = list(value) if isinstance(value, tuple | list) else value
    if domain.columns is not None:
        found["columns"] = _stated_columns(domain.columns)
    return found if _is_plain(found) else None


def _stated_columns(columns: Any) -> Any:
    if isinstance(columns, int):
        return columns
    named = columns.columns if isinstance(columns, Schema) else columns
    return {name: _stated_column(one) for name, one in named.items()}


def _stated_column(column: Column) -> dict[str, Any]:
    held = {name: _stated_cell(value) for name, value in asdict(column).items()}
    if isinstance(column, Categories):
        held["values"] = list(column.values)
    return {"kind": type(column).__name__, **held}


def domain_stated(stated: Any) -> Domain:
    """Return the domain of plain data.

    Raises
    ------
    InvalidArgument
        It is not as `stated_domain` returns it.

    Examples
    --------
    >>> domain_stated({"bounds": [0.0, 1.0], "records": 6}).sizes
    (6, 6)
    """
    known = (*_PLAIN, "columns")
    if not isinstance(stated, Mapping) or not stated.keys() <= {*known}:
        raise InvalidArgument("domain", Shown("something else"), f"some of {', '.join(known)}")
    given: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in stated.items()
    }
    for name, most in (("nodes", _MOST_NODES), ("columns", _MOST_COLUMNS)):
        value = given.get(name)
        if isinstance(value, int) and not 0 < value <= most:
            raise InvalidArgument(name, value, f"1 to {most}")
    if isinstance(columns := given.get("columns"), Mapping):
        given["columns"] = {str(name): _column_stated(one) for name, one in columns.items()}
    return Domain(**given)


def _column_stated(stated: Any) -> Column:
    kind = _KINDS.get(str(stated.get("kind"))) if isinstance(stated, Mapping) else None
    if kind is None:
        raise InvalidArgument("columns", Shown("another kind"), f"one of {', '.join(_KINDS)}")
    held = {name: value for name, value in stated.items() if name != "kind"}
    if not held.keys() <= {one.name for one in fields(kind)}:
        raise InvalidArgument("columns", Shown("another field"), f"those of {kind.__name__}")
    if kind is Dates:
        held |= {name: _day(held[name]) for name in ("first", "last") if name in held}
    found: Column = kind(**held)
    return found


def _day(text: Any) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise InvalidArgument("dates", text, "a day such as 2024-03-01") from None


def stated_units(units: Sequence[Unit]) -> list[Any] | None:
    """Return units as plain data: a missing value is None; None if a cell is of another kind."""
    found = [[[_stated_cell(cell) for cell in record] for record in unit] for unit in units]
    return found if _is_plain(found) else None


def _stated_cell(cell: Any) -> Any:
    cell = cell.item() if hasattr(cell, "item") else cell
    if isinstance(cell, float) and math.isnan(cell):
        return None
    return cell.isoformat() if isinstance(cell, date) and not isinstance(cell, datetime) else cell


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(name, str) and _is_plain(one) for name, one in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int | str)


def dataset_stated(domain: Domain, stated: Any, user: str | None = None) -> Any:
    """Return the dataset of plain units, each of which the domain has to allow.

    Parameters
    ----------
    domain
        What datasets may be.
    stated
        Units, as `stated_units` returns them.
    user
        The name of the column of users, of a domain of users.

    Raises
    ------
    InvalidArgument
        It is nothing of the kind, or the domain does not allow it.

    Examples
    --------
    >>> unit = Domain(bounds=(0, 1), records=2)
    >>> dataset_stated(unit, [[[0.5]], [[1.0]]])
    array([0.5, 1. ])
    >>> dataset_stated(unit, [[[0.5]], [[7.0]]])  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: dataset: got a value that the domain does not allow, ...
    """
    units = _units(domain, stated)
    layout = of_user(domain.layout, user if domain.users is not None else None)
    return layout.build(units)


def _units(domain: Domain, stated: Any) -> list[Unit]:
    low, high = domain.sizes
    if not isinstance(stated, list) or not low <= len(stated) <= high:
        raise InvalidArgument("dataset", Shown("others"), f"a list of {low} to {high} records")
    most, fewest = domain.users or 1, 0 if domain.users else 1
    units = list[Unit]()
    for unit in stated:
        if not isinstance(unit, list) or not fewest <= len(unit) <= most:
            raise InvalidArgument("dataset", Shown("others"), f"at most {most} records of one")
        units.append(tuple(_record(domain, record) for record in unit))
    return units


def _record(domain: Domain, stated: Any) -> tuple[Any, ...]:
    columns = domain.layout.columns
    if not isinstance(stated, list) or len(stated) != len(columns):
        raise InvalidArgument("dataset", Shown("others"), f"records of {len(columns)}")
    record = tuple(_cell(one, column) for one, column in zip(stated, columns, strict=True))
    if not all(holds(column, one) for one, column in zip(record, columns, strict=True)):
        given = Shown("a value that the domain does not allow")
        raise InvalidArgument("dataset", given, "values that it allows")
    if domain.norm is not None:
        length = math.hypot(*map(float, record[: domain.layout.labels]))
        if length > domain.norm * (1 + _SAME):
            given = Shown("a record that is longer than the domain allows")
            raise InvalidArgument("dataset", given, f"a length of at most {domain.norm:g}")
    return record


def _cell(stated: Any, column: Column) -> Any:
    """Return a cell of its column's kind; what is of another is refused by `holds`."""
    if stated is None:
        return math.nan if isinstance(column, Integers | Numbers) else None
    if isinstance(column, Dates):
        return _day(stated)
    kinds = {Booleans: bool, Texts: str, Integers: int | float, Numbers: int | float}
    expected = kinds.get(type(column), bool | int | float | str)
    is_number = isinstance(column, Integers | Numbers)
    if not isinstance(stated, expected) or (is_number and isinstance(stated, bool)):
        raise InvalidArgument("dataset", Shown("a value of another kind"), f"those of {column}")
    return stated
