"""Which files hu2020's figures read: what ``--data``, else the directory ``DPAUDIT_DATA``, holds.

| figure | what is given               | a9a                           | gisette                |
|--------|-----------------------------|-------------------------------|------------------------|
| 1      | a directory                 | ``a9a`` and ``a9a.t`` in it   | not needed             |
| 1      | ``a9a`` or ``a9a.t``        | both of the file's directory  | not needed             |
| 2      | a directory                 | not needed                    | in it, else a stand-in |
| 2      | another file                | not needed                    | that file              |
| 3      | a directory                 | ``a9a`` and ``a9a.t`` in it   | in it, else a stand-in |
| 3      | ``a9a`` or ``a9a.t``        | both of the file's directory  | there, else a stand-in |
| 3      | another file                | beside it if both are there,  | that file              |
|        |                             | else as if nothing were given |                        |

In a directory gisette is called ``gisette_scale`` or ``gisette``. Its test records are read from a
file of the same name with ``.t`` at its end, if that is there. A path that does not exist is
refused.
"""

from __future__ import annotations

import os
from pathlib import Path

from dpaudit.datasets.sources import DATA_VARIABLE, as_path
from dpaudit.errors import InvalidArgument

_A9A = ("a9a", "a9a.t")
_GISETTE = ("gisette_scale", "gisette")
_EXPECTED = f"gisette's file, or a directory, with {' or '.join(_GISETTE)} in it if it is there"


def gisette_file(data_path: str | None) -> Path | None:
    """Return gisette's file, None where a directory, or nothing at all, is given without it.

    Raises
    ------
    InvalidArgument
        The path does not exist, or it is one of a9a's files.
    """
    given = os.environ.get(DATA_VARIABLE) or None if data_path is None else data_path
    if given is None:
        return None
    name, place = "data_path" if data_path is not None else DATA_VARIABLE, as_path(given)
    if place.is_file() and place.name not in _A9A:
        return place
    if not place.is_dir():
        raise InvalidArgument(name, str(place), _EXPECTED)
    return next((place / each for each in _GISETTE if (place / each).is_file()), None)


def census_place(data_path: str | None) -> str | None:
    """Return where a9a is looked for: one of its files stands for its directory.

    Raises
    ------
    InvalidArgument
        It is another file.
    """
    place = None if data_path is None else as_path(data_path)
    if place is None or not place.is_file():
        return data_path
    if place.name not in _A9A:
        expected = f"a directory with {' and '.join(_A9A)}, or one of these"
        raise InvalidArgument("data_path", str(place), expected)
    return str(place.parent)


def places(data_path: str | None) -> tuple[str | None, str | None]:
    """Return where a9a, and where gisette, is looked for by a figure that needs both."""
    place = None if data_path is None else as_path(data_path)
    if place is None or not place.is_file():
        return data_path, data_path
    beside = str(place.parent)
    if place.name in _A9A:
        return beside, beside
    return (beside if _has_a9a(place.parent) else None), str(place)


def _has_a9a(directory: Path) -> bool:
    return all((directory / name).is_file() for name in _A9A)
