"""Objects by name: ``"module:object"``, imported on use, and the entry points that name them.

Code of a user's that is imported to be judged may itself call dpaudit, as a script does that nobody
guarded. It is run up to that call: what it has defined by then is what is judged.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import lru_cache
from importlib.metadata import EntryPoint, entry_points
from types import MappingProxyType, ModuleType
from typing import Any

from dpaudit.errors import InvalidArgument, what_happened

_imports: list[str] = []  # modules that are being run up to a call into dpaudit


# No `Exception`: the script that is imported may catch those, and go on past the call that ends
# it here.
class ReentrantCall(BaseException):
    """Code that is run to be judged called dpaudit; its module as it was then."""

    def __init__(self, module: ModuleType | None) -> None:
        super().__init__("it calls dpaudit while it is imported")
        self.module = module


def stop_here() -> None:
    """End the run of code that is only to be imported, where it calls dpaudit.

    Examples
    --------
    >>> stop_here()  # nobody imports anything to judge it
    """
    if _imports:
        raise ReentrantCall(sys.modules.get(_imports[-1]))


@contextmanager
def up_to_dpaudit(name: str) -> Iterator[None]:
    """Let a module that is run inside the block end where it calls dpaudit, and stay as it is."""
    _imports.append(name)
    try:
        yield
    except ReentrantCall as reached:
        if reached.module is None:
            raise
        # The import machinery removes a module whose import raised; what it had defined by then
        # is wanted.
        sys.modules[name] = reached.module
        parent, _, last = name.rpartition(".")
        if parent in sys.modules:
            setattr(sys.modules[parent], last, reached.module)
    finally:
        _imports.remove(name)


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
            with up_to_dpaudit(module_name):
                importlib.import_module(module_name)
        # From the table, since a module may replace itself there while it is imported.
        found: Any = sys.modules[module_name]
        for part in attribute.split("."):
            found = getattr(found, part)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # importing runs other people's code
        expected = f"something that can be imported ({what_happened(error)})"
        raise InvalidArgument(what, reference, expected) from error
    return found


def build_referenced_object(what: str, reference: str, found: Any) -> Any:
    """Return the object that a call without arguments makes; the object itself if it takes some.

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


def find_entry_points(group: str) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name, as they are installed now.

    Every distribution on the import path is parsed for them; while the path and its folders stay
    as they are, once.
    """
    # Times of change are part of the key: a package that is installed while the process
    # runs, as in a notebook, is then found.
    return _parse_entry_points(
        group, tuple((folder, _get_folder_mtime(folder)) for folder in sys.path)
    )


@lru_cache(maxsize=32)
def _parse_entry_points(group: str, path: tuple[tuple[str, int], ...]) -> Mapping[str, EntryPoint]:
    return MappingProxyType({entry.name: entry for entry in entry_points(group=group)})


def _get_folder_mtime(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns
    except OSError:
        return 0
