"""Files of installed packages, in an environment or anywhere on a path.

A folder on ``PYTHONPATH`` may hold packages that were installed there (``pip install --target``) or
somebody's own project. Only what was installed has a ``RECORD`` of its files beside it; whose
project has none, or only that of an installation in place, is somebody's own code, and is looked at
as such.
"""

from __future__ import annotations

import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

_PLACES = tuple(
    {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
_FOLDERS = {"site-packages", "dist-packages"}


@lru_cache(maxsize=4096)
def is_installed(file: str) -> bool:
    """Return whether a file is Python's, or of a package that was installed.

    Examples
    --------
    >>> import json, numpy
    >>> is_installed(json.__file__), is_installed(numpy.__file__), is_installed("/own/module.py")
    (True, True, False)
    """
    return file.startswith(_PLACES) or package_of(file) is not None


@lru_cache(maxsize=4096)
def package_of(file: str) -> str | None:
    """Return the first name of the installed package that a file is of; None if it is of none."""
    path = Path(file)
    for number, part in enumerate(path.parts[:-1]):
        if part in _FOLDERS:
            return _get_import_name(path.parts[number + 1])
    folders = {str(Path(one).absolute()) for one in sys.path if one}
    for folder in path.absolute().parents:
        if str(folder) in folders:
            top = path.absolute().relative_to(folder).parts[0]
            if _get_import_name(top) in _read_installed_names(str(folder)):
                return _get_import_name(top)
    return None


@lru_cache(maxsize=64)
def _read_installed_names(folder: str) -> frozenset[str]:
    """Return the first names of all files installed into a folder, as its records list them."""
    found = set[str]()
    for record in Path(folder).glob("*.dist-info/RECORD"):
        try:
            lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        firsts = {line.partition(",")[0].strip('"').split("/")[0] for line in lines}
        found |= {_get_import_name(one) for one in firsts if not one.endswith(".dist-info")}
    # A record lists scripts and caches too, whose first names are no package's.
    return frozenset(found - {"..", "__pycache__", "bin", ""})


def _get_import_name(part: str) -> str:
    return part.partition(".")[0]
