"""Arrays of files in numpy's format, of which somebody else may have written the header.

A header says how large an array is before there is any of it, and a few packed bytes may stand for
many: both are looked at before memory is asked for.
"""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from numpy.lib import format as npy

from dpaudit.errors import DataError

MOST = 2**30  # bytes of an array
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_array(path: Path) -> Any:
    """Return the array of a ``.npy`` file, which holds no objects.

    Raises
    ------
    DataError
        It says that it is larger than it is, or than what is read.
    OSError, ValueError, EOFError
        It cannot be read, or is no such file.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(file := Path(folder) / "a.npy", np.arange(3))
    ...     read_array(file)
    array([0, 1, 2])
    """
    with path.open("rb") as file:
        return _read_bounded_array(path, path.name, file, os.fstat(file.fileno()).st_size)


def read_arrays(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """Return those arrays of an ``.npz`` file that it has of these names.

    Raises
    ------
    DataError
        One is larger than what is read, or says that it is larger than it is.
    OSError, ValueError, EOFError, zipfile.BadZipFile
        It cannot be read, or is no such file.
    """
    found = {}
    with zipfile.ZipFile(path) as archive:
        inside = {one.filename: one for one in archive.infolist()}
        for name in names:
            if (member := inside.get(f"{name}.npy")) is not None:
                with archive.open(member) as file:
                    found[name] = _read_bounded_array(path, name, file, member.file_size)
    return found


def _read_bounded_array(path: Path, name: str, file: Any, held: int) -> Any:
    """Return an array of so many bytes, by the size that the file system or the index states."""
    if held > MOST:
        size = f"{held / 2**20:,.0f} MiB"
        raise DataError(f"{path}: {name} takes {size}, at most {MOST / 2**20:,.0f} MiB are read")
    # numpy would ask for as much memory as the header says, before it finds that the file is
    # shorter.
    stated = _read_header_size(file)
    if stated > held:
        raise DataError(f"{path}: {name} says that it takes {stated:,} bytes, and has {held:,}")
    file.seek(0)
    # A pickle runs code of whoever wrote the file.
    return npy.read_array(file, allow_pickle=False)


def _read_header_size(file: BinaryIO) -> int:
    """Return how many bytes a header says that follow."""
    read = _HEADERS.get(npy.read_magic(file))
    if read is None:
        raise ValueError("of a version that numbers never need")
    shape, _, dtype = read(file)
    # Two negative sides have a positive product, which would pass for a size.
    if any(side < 0 for side in shape):
        raise ValueError("a side below 0")
    return math.prod(shape) * dtype.itemsize
