"""Objects by name: ``"module:object"``, imported on use, and the entry points that name them."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType
from typing import Any

from dpaudit.errors import InvalidArgument, what_happened


def load_reference(what: str, reference: str) -> Any:
    """Return the object that ``"module:object"`` names.

    Raises
    ------
    InvalidArgument
        The reference is malformed, or nothing of that name can be imported.
    """
    module_name, _, attribute = reference.partition(":")
    if not module_name or not attribute:
        raise InvalidArgument(what, reference, "a reference of the form module:object")
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            found: Any = importlib.import_module(module_name)
        for part in attribute.split("."):
            found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # importing runs other people's code
        expected = f"something that can be imported ({what_happened(error)})"
        raise InvalidArgument(what, reference, expected) from error
    return found


def called(what: str, reference: str, found: Any) -> Any:
    """Return what an object makes when it is called without arguments; itself if it cannot be.

    Raises
    ------
    InvalidArgument
        It failed, or ended the program.
    """
    if not callable(found):
        return found
    try:
        with redirect_stdout(sys.stderr):  # standard output is for results
            return found()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # calling runs other people's code
        expected = f"something that can be called without arguments ({what_happened(error)})"
        raise InvalidArgument(what, reference, expected) from error


def installed(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, as they are installed now.

    Every distribution on the import path is parsed for them; while the path and its folders stay
    as they are, once.
    """
    return _parsed(group, tuple((folder, _changed(folder)) for folder in sys.path))


@lru_cache(maxsize=32)
def _parsed(group: str, path: tuple[tuple[str, int], ...]) -> Mapping[str, EntryPoint]:
    return MappingProxyType({entry.name: entry for entry in entry_points(group=group)})


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0
