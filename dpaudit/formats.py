"""The JSON files that dpaudit writes: each says which schema it has, and a later one is refused.

The number rises when a reader has to know something new to read a file rightly. A file without one
is of before there was one, and is read as what was written then.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dpaudit.errors import DataError, shorten_repr

FIELD = "schema"
SCHEMAS: Mapping[str, int] = MappingProxyType(
    {
        "account": 1,
        "accountant": 1,
        "attack": 1,
        "certificate": 1,
        "code-proof": 1,
        "deployment": 1,
        "figure": 1,
        "figures": 1,
        "index": 1,
        "ledger": 1,
        "packages": 1,
        "published-accountant": 1,
        "published-scan": 1,
        "replay": 1,
        "report": 1,
        "scan": 1,
        "selftest": 1,
        "spend": 1,
        "views": 1,
    }
)
_NEWER = "pip install --upgrade dpaudit"


def to_json(value: Any, *, non_finite: str | None) -> Any:
    """Return a value as JSON has it: numbers that are not finite as a text, or as null.

    Parameters
    ----------
    value
        A value, or mappings, lists and tuples of values.
    non_finite
        The text for infinity, with a minus sign for its negative; None for null.

    Examples
    --------
    >>> to_json({"ends": (1.5, -math.inf)}, non_finite="Infinity")
    {'ends': [1.5, '-Infinity']}
    >>> to_json([math.nan, 2], non_finite=None)
    [None, 2]
    """
    if isinstance(value, Mapping):
        return {name: to_json(one, non_finite=non_finite) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(one, non_finite=non_finite) for one in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if non_finite is None or math.isnan(value):
        return None if non_finite is None else "NaN"
    return non_finite if value > 0 else f"-{non_finite}"


def add_schema(kind: str, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a file with its schema, which comes first.

    Examples
    --------
    >>> add_schema("index", {"audits": []})
    {'schema': 1, 'audits': []}
    """
    return {FIELD: SCHEMAS[kind], **document}


def schema_of(name: str, content: object, kind: str) -> int:
    """Return the schema that a file has, 0 for one of before there were any.

    Parameters
    ----------
    name
        What messages call the file.
    content
        What it holds.
    kind
        What it should be, one of `SCHEMAS`.

    Raises
    ------
    DataError
        It is of a later schema, or says something that is none.

    Examples
    --------
    >>> schema_of("report.json", {"schema": 1}, "report"), schema_of("index.json", [], "index")
    (1, 0)
    >>> schema_of("report.json", {"schema": 7}, "report")
    Traceback (most recent call last):
    dpaudit.errors.DataError: report.json: has schema 7 of a report, later than the 1 that this \
dpaudit reads; install a later one: pip install --upgrade dpaudit
    """
    if not isinstance(content, dict) or FIELD not in content:
        return 0
    found, known = content[FIELD], SCHEMAS[kind]
    if type(found) is not int or found < 1:
        expected = "an integer of at least 1"
        raise DataError(f"{name}: schema: got {shorten_repr(found)}, expected {expected}")
    if found > known:
        raise make_later_schema_error(
            name, f"schema {shorten_repr(found, width=20)} of a {kind}", str(known)
        )
    return found


def make_later_schema_error(name: str, what: str, known: str) -> DataError:
    """Return the refusal of a file that a later dpaudit wrote."""
    return DataError(
        f"{name}: has {what}, later than the {known} that this dpaudit reads; "
        f"install a later one: {_NEWER}"
    )


def read_json(path: str | Path, kind: str) -> Any:
    """Return the content of a file of that kind, from any version that wrote it.

    Raises
    ------
    DataError
        It cannot be read, is no JSON, or is of a later schema.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError):
        raise DataError(f"{path}: is not JSON") from None
    schema_of(str(path), content, kind)
    return content
