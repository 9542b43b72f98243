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
    Texts,
    is_allowed_in_column,
)
from dpaudit.domains.domain import Domain
from dpaudit.domains.layouts import RecordLayout, Unit, is_short, of_user
from dpaudit.domains.relations import relation_in, require_one_place, require_records
from dpaudit.domains.schemas import Schema
from dpaudit.domains.special import absent_value
from dpaudit.errors import InvalidArgument, VerbatimText

_PLAIN = ("bounds", "records", "integers", "missing", "norm", "labels", "users", "nodes", "form")
_KINDS = {one.__name__: one for one in (Booleans, Categories, Dates, Integers, Numbers, Texts)}
_MOST_COLUMNS = 10_000
_MOST_NODES = 1_000
_OTHER_VALUE = "a value that the domain does not allow"


def convert_domain(domain: Domain) -> dict[str, Any] | None:
    """Return a domain as plain data; None of one that code or somebody's records describe.

    Examples
    --------
    >>> convert_domain(Domain(bounds=(0, 1), records=6))
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
        found["columns"] = _convert_columns(domain.columns)
    return found if _is_plain(found) else None


def _convert_columns(columns: Any) -> Any:
    if isinstance(columns, int):
        return columns
    named = columns.columns if isinstance(columns, Schema) else columns
    return {name: _convert_column(one) for name, one in named.items()}


def _convert_column(column: Column) -> dict[str, Any]:
    held = {name: _convert_cell(value) for name, value in asdict(column).items()}
    if isinstance(column, Categories):
        held["values"] = list(column.values)
    return {"kind": type(column).__name__, **held}


def domain_stated(stated: Any) -> Domain:
    """Return the domain of plain data.

    Raises
    ------
    InvalidArgument
        It is not as `convert_domain` returns it.

    Examples
    --------
    >>> domain_stated({"bounds": [0.0, 1.0], "records": 6}).sizes
    (6, 6)
    """
    known = (*_PLAIN, "columns")
    if not isinstance(stated, Mapping) or not stated.keys() <= {*known}:
        raise InvalidArgument(
            "domain", VerbatimText("something else"), f"some of {', '.join(known)}"
        )
    given: dict[str, Any] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in stated.items()
    }
    for name, most in (("nodes", _MOST_NODES), ("columns", _MOST_COLUMNS)):
        value = given.get(name)
        # The file may be somebody else's: a huge number must not take all memory before anything
        # else is looked at.
        if isinstance(value, int) and not 0 < value <= most:
            raise InvalidArgument(name, value, f"1 to {most}")
    if isinstance(columns := given.get("columns"), Mapping):
        given["columns"] = {str(name): _column_stated(one) for name, one in columns.items()}
    return Domain(**given)


def _column_stated(stated: Any) -> Column:
    kind = _KINDS.get(str(stated.get("kind"))) if isinstance(stated, Mapping) else None
    if kind is None:
        raise InvalidArgument(
            "columns", VerbatimText("another kind"), f"one of {', '.join(_KINDS)}"
        )
    held = {name: value for name, value in stated.items() if name != "kind"}
    if not held.keys() <= {one.name for one in fields(kind)}:
        raise InvalidArgument("columns", VerbatimText("another field"), f"those of {kind.__name__}")
    if kind is Dates:
        held |= {name: _parse_iso_day(held[name]) for name in ("first", "last") if name in held}
    found: Column = kind(**held)
    return found


def _parse_iso_day(text: Any) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise InvalidArgument("dates", text, "a day such as 2024-03-01") from None


def convert_units(units: Sequence[Unit]) -> list[Any] | None:
    """Return units as plain data: a missing value is None; None if a cell is of another kind."""
    found = [[[_convert_cell(cell) for cell in record] for record in unit] for unit in units]
    return found if _is_plain(found) else None


def _convert_cell(cell: Any) -> Any:
    # JSON knows no scalars of numpy.
    cell = cell.item() if hasattr(cell, "item") else cell
    if isinstance(cell, float) and math.isnan(cell):
        return None
    # A datetime is left as it is, so that it counts as not plain: as a day it would lose its time.
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
        Units, as `convert_units` returns them.
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
    return _get_user_layout(domain, user).build(_parse_units(domain, stated, domain.sizes))


def neighbours_stated(
    domain: Domain, relation: str, dataset: Any, neighbour: Any, user: str | None = None
) -> list[Any]:
    """Return the two datasets of plain units, which are neighbours as a search makes them.

    One unit differs, in its place. Under ``add-remove-record`` the neighbour of a dataset of the
    domain has a record fewer or more, whatever number the domain says.

    Parameters
    ----------
    domain, user
        As `dataset_stated` takes them.
    relation
        Its name, and a distance after ``metric:``; no distance is looked at.
    dataset, neighbour
        Units, as `convert_units` returns them.

    Raises
    ------
    InvalidArgument
        They are nothing of the kind, the domain does not allow them, or they are no neighbours
        that are made in it.

    Examples
    --------
    >>> unit = Domain(bounds=(0, 1), records=2)
    >>> neighbours_stated(unit, "add-remove-record", [[[0.5]], [[1.0]]], [[[1.0]]])
    [array([0.5, 1. ]), array([1.])]
    """
    layout, (low, high) = _get_user_layout(domain, user), domain.sizes
    if relation.partition(":")[0] == "metric":
        require_records(domain)
        return [dataset_stated(domain, one, user) for one in (dataset, neighbour)]
    named = relation_in(domain, relation if user is None else f"{relation}: {user}")
    further = {"add-remove-record": 1, "add-remove-user": domain.users or 1}.get(named.name, 0)
    beside = (low - further, high + further)
    sides = [_parse_units(domain, dataset, (low, high)), _parse_units(domain, neighbour, beside)]
    if domain.nodes is None:  # of graphs a unit is an edge, of which a node has several
        require_one_place(named, *sides)
    return [layout.build(one) for one in sides]


def _get_user_layout(domain: Domain, user: str | None) -> RecordLayout:
    return of_user(domain.layout, user if domain.users is not None else None)


def _parse_units(domain: Domain, stated: Any, sizes: tuple[int, int]) -> list[Unit]:
    low, high = sizes
    count = _count_stated_records(domain, stated)
    if count is None or not low <= count <= high:
        raise InvalidArgument(
            "dataset", VerbatimText("others"), f"a list of {low} to {high} records"
        )
    most, fewest = domain.users or 1, 0 if domain.users else 1
    units = list[Unit]()
    for unit in stated:
        if not isinstance(unit, list) or not fewest <= len(unit) <= most:
            raise InvalidArgument(
                "dataset", VerbatimText("others"), f"at most {most} records of one"
            )
        units.append(tuple(_parse_stated_record(domain, record) for record in unit))
    return units


def _count_stated_records(domain: Domain, stated: Any) -> int | None:
    """Return how many records a dataset has, of users all of theirs; None if it is none."""
    if not isinstance(stated, list) or not all(isinstance(unit, list) for unit in stated):
        return None
    return len(stated) if domain.users is None else sum(map(len, stated))


def _parse_stated_record(domain: Domain, stated: Any) -> tuple[Any, ...]:
    columns = domain.layout.columns
    if not isinstance(stated, list) or len(stated) != len(columns):
        raise InvalidArgument("dataset", VerbatimText("others"), f"records of {len(columns)}")
    record = tuple(
        _parse_stated_cell(one, column) for one, column in zip(stated, columns, strict=True)
    )
    if not all(
        is_allowed_in_column(column, one) for one, column in zip(record, columns, strict=True)
    ):
        raise InvalidArgument("dataset", VerbatimText(_OTHER_VALUE), "values that it allows")
    if domain.norm is not None and not is_short(record[: domain.layout.labels], domain.norm):
        given = VerbatimText("a record that is longer than the domain allows")
        raise InvalidArgument("dataset", given, f"a length of at most {domain.norm:g}")
    return record


def _parse_stated_cell(stated: Any, column: Column) -> Any:
    """Return a cell just as a search makes it; `is_allowed_in_column` refuses the rest.

    Code tells 1 from 1.0 and True: who writes a file does not choose between them.
    """
    if stated is None:
        return absent_value(column)
    if isinstance(column, Dates):
        return _parse_iso_day(stated)
    if isinstance(column, Categories):
        return _find_same_category(stated, column)
    kinds: dict[type[Column], tuple[type, ...]] = {
        Booleans: (bool,), Texts: (str,), Integers: (int,), Numbers: (int, float),
    }  # fmt: skip
    if type(stated) not in kinds.get(type(column), ()):
        raise InvalidArgument(
            "dataset", VerbatimText("a value of another kind"), f"those of {column}"
        )
    return _parse_stated_double(stated) if isinstance(column, Numbers) else stated


def _parse_stated_double(stated: float) -> float:
    try:
        return float(stated)  # a JSON of other programs has 1 for 1.0
    except OverflowError:
        raise InvalidArgument(
            "dataset", VerbatimText(_OTHER_VALUE), "values that it allows"
        ) from None


def _find_same_category(stated: Any, column: Categories) -> Any:
    """Return the category that a value is, of the same type: the domain's own."""
    for one in column.values:
        # 1, 1.0 and True are equal, and code tells them apart.
        if type(one) is type(stated) and one == stated:
            return one
    raise InvalidArgument("dataset", VerbatimText(_OTHER_VALUE), "values that it allows")
