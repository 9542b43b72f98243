"""TOML files that hold one table, or several, of one kind."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from dpaudit.errors import DataError, InvalidArgument, shorten_repr


def read_tables(path: Path, kind: str) -> list[Any]:
    r"""Return the content of a file's ``[kind]`` table or its ``[[kind]]`` tables, at least one.

    Raises
    ------
    DataError
        The file cannot be read, or is not TOML.
    InvalidArgument
        It holds no such table, or something else besides.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "releases.toml"
    ...     _ = path.write_text("[release]\ncount = 3")
    ...     read_tables(path, "release")
    [{'count': 3}]
    """
    document = read_document(path)
    tables = document.get(kind)
    tables = [tables] if isinstance(tables, dict) else tables
    if set(document) != {kind} or not isinstance(tables, list) or not tables:
        expected = f"one [{kind}] table or more [[{kind}]]"
        raise InvalidArgument(f"{path}", sorted(document), expected)
    return tables


def read_document(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file.

    Raises
    ------
    DataError
        The file cannot be read, or is not TOML.
    """
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        reason = f"cannot be read ({error.strerror}), expected a TOML file"
        raise DataError(f"{path}: {reason}") from None
    except UnicodeDecodeError as error:
        reason = f"byte {error.start + 1} is not UTF-8 text"
        raise DataError(f"{path}: is not valid TOML: {reason}") from None
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{path}: is not valid TOML: {shorten_repr(str(error))}") from None
    except (ValueError, RecursionError):  # more digits, or levels, than Python reads
        raise DataError(
            f"{path}: is not valid TOML: a number too long, or nested too deep"
        ) from None
