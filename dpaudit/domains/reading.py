"""Domains as people have them: a dict, a table, a JSON Schema, a strategy, a function."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from dpaudit.domains.domain import Domain
from dpaudit.domains.generation import ExampleSampler
from dpaudit.domains.schemas import Schema
from dpaudit.errors import InvalidArgument, VerbatimText

_FIELDS = tuple(field.name for field in dataclasses.fields(Domain))
_EXPECTED = (
    "a dpaudit.Domain, a dict of its arguments such as dict(bounds=(0, 1), records=6), a Schema or "
    "a JSON Schema of a record, a table of pandas, a Hypothesis strategy, or a function of a "
    "generator that makes datasets"
)


def domain_of(given: Any) -> Domain:
    """Return the domain that somebody gives, in one of the ways in which people have it.

    Parameters
    ----------
    given
        A `Domain`; a dict of its arguments; a `Schema` or a JSON Schema of a record; a public
        table of pandas, whose types, categories and ends it is; a Hypothesis strategy, or a
        function of a generator that makes datasets.

    Raises
    ------
    InvalidArgument
        It is nothing of the kind, or an argument of it is wrong.

    Examples
    --------
    >>> domain_of({"bounds": (0, 1), "records": 6}).sizes
    (6, 6)
    >>> domain_of({"bound": (0, 1)})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    dpaudit.errors.InvalidArgument: domain: got bound, expected some of bounds, records, ...
    """
    if isinstance(given, Domain):
        return given
    if isinstance(given, Schema):
        return Domain(columns=given)
    if isinstance(given, Mapping):
        return _of_mapping(given)
    if hasattr(given, "dtypes") and hasattr(given, "columns"):
        return Domain(columns=Schema.of(given), of_records=True)
    if hasattr(given, "example") and hasattr(given, "filter"):
        return Domain(make=ExampleSampler(given))
    if callable(given):
        return Domain(make=given)
    raise InvalidArgument("domain", VerbatimText(type(given).__name__), _EXPECTED)


def _of_mapping(given: Mapping[str, Any]) -> Domain:
    if "properties" in given:
        return Domain(columns=Schema.from_json(given))
    if unknown := [name for name in given if name not in _FIELDS]:
        known = f"some of {', '.join(_FIELDS)}"
        raise InvalidArgument("domain", VerbatimText(", ".join(map(str, unknown))), known)
    columns = given.get("columns")
    if isinstance(columns, Mapping) and any(isinstance(one, Mapping) for one in columns.values()):
        schema = columns if "properties" in columns else {"properties": columns}
        return Domain(**{**given, "columns": Schema.from_json(schema)})
    return Domain(**given)
