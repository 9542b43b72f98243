"""An identity in parts, and the one text that stands for all of them."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple

from dpaudit.execution.machine import digest_of_files, own_code
from dpaudit.store.packages import digest_of_packages

_SIZE = 16


class UnidentifiedValue(TypeError):
    """A value that nothing identifies across processes."""


class Identity(NamedTuple):
    """A digest of values, whose code they involve, and the code's inputs beside its arguments.

    ``files`` are source files of the user's modules, ``packages`` are installed ones, ``variables``
    those of the environment that the code reads, and ``data`` files that it reads. ``unseen`` names
    what nobody can look at, and ``left_out`` what differs from run to run by its nature.
    """

    digest: str
    files: tuple[str, ...]
    packages: tuple[str, ...]
    variables: tuple[str, ...]
    data: tuple[str, ...]
    unseen: tuple[str, ...]
    left_out: tuple[str, ...]

    def sealed(self) -> str:
        """Return a digest of it all: files' and packages' content, variables' values.

        Examples
        --------
        >>> one, other = (Identity(name, (), (), (), (), (), ()) for name in ("a", "b"))
        >>> one.sealed() == one.sealed() != other.sealed()
        True
        """
        hashed = hashlib.blake2b(self.digest.encode(), digest_size=_SIZE)
        for files in (self.files, self.data):
            hashed.update(digest_of_files(map(_on_disk, files)).encode())
        hashed.update(digest_of_packages(self.packages).encode())
        # A variable that is missing is another value than one that is empty.
        hashed.update(repr([(name, os.environ.get(name)) for name in self.variables]).encode())
        hashed.update(own_code().encode())
        return hashed.hexdigest()


def _on_disk(file: str) -> Path:
    """Return a file, or the archive that it is in."""
    path = Path(file)
    return next((one for one in (path, *path.parents) if one.exists() and one.is_file()), path)
