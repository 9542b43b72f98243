"""Sources of raw files: a path, else the directory in ``DPAUDIT_DATA``, else OpenML."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any

from dpaudit.errors import DataError, InvalidArgument

DATA_VARIABLE = "DPAUDIT_DATA"

DAMAGED = "repair the file or download it again"

PathLike = str | os.PathLike[str]

# Seconds without an answer: a firewall that drops packets must not hold a run for minutes.
_TIMEOUT = 20.0

# What a broken network, a damaged cache or a login page in the place of OpenML shows up as;
# OpenMLError and JSON errors are ValueErrors, URL and HTTP errors are OSErrors.
_FETCH_ERRORS = (OSError, ValueError, EOFError, http.client.HTTPException, zlib.error)


@dataclass(frozen=True)
class DatasetSource:
    """A published dataset: its files and its copy on OpenML.

    Parameters
    ----------
    files
        The names of the raw files.
    archive
        Where the files are published, in words.
    openml_name, openml_version
        The copy that scikit-learn can fetch.
    """

    _: KW_ONLY
    files: tuple[str, ...]
    archive: str
    openml_name: str
    openml_version: int

    @property
    def advice(self) -> str:
        """The remedy when the files are not there."""
        return (
            f"put {' and '.join(self.files)} ({self.archive}) into a directory "
            f"and name it with {DATA_VARIABLE} or --data-path"
        )

    @property
    def openml(self) -> str:
        """The OpenML copy in words, for messages."""
        return f"OpenML {self.openml_name!r} version {self.openml_version}"

    def find(self, path: PathLike | None) -> tuple[Path, ...] | None:
        """Return the raw files, or None when neither a path nor ``DPAUDIT_DATA`` is given.

        A given place that lacks a file is refused rather than passed over: whoever names a
        directory wants the records in it.

        Parameters
        ----------
        path
            A directory that holds the files, or one of the files (the others lie beside it).

        Raises
        ------
        DataError
            A file is missing.
        """
        given = os.environ.get(DATA_VARIABLE) or None if path is None else path
        if given is None:
            return None
        place = as_path(given)
        origin = f" (from {DATA_VARIABLE})" if path is None else ""
        if os.path.isfile(place) and len(self.files) == 1:
            return (place,)
        if os.path.isfile(place) and place.name in self.files:
            place = place.parent
        if not os.path.isdir(place):
            found = "a file" if os.path.exists(place) else "nothing"
            raise DataError(f"{place}{origin}: found {found}, expected a directory; {self.advice}")
        missing = [name for name in self.files if not os.path.exists(place / name)]
        if missing:
            raise DataError(f"{place}{origin}: no file {' or '.join(missing)}; {self.advice}")
        return tuple(place / name for name in self.files)

    def fetch(self, *, as_frame: bool) -> Any:
        """Return the OpenML copy as scikit-learn hands it over (downloaded once, then cached).

        Raises
        ------
        DataError
            It could not be downloaded.
        """
        from sklearn.datasets import fetch_openml

        try:
            with _quick_and_quiet():
                return fetch_openml(
                    self.openml_name,
                    version=self.openml_version,
                    as_frame=as_frame,
                    n_retries=1,
                    delay=0.1,
                )
        except _FETCH_ERRORS as error:
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            raise DataError(f"{self.openml}: not fetched ({reason}); {self.advice}") from None


@contextlib.contextmanager
def _quick_and_quiet() -> Iterator[None]:
    """Bound the wait for a silent server, and keep scikit-learn's notes on retries off stderr.

    `fetch_openml` takes no timeout of its own; the process-wide default is the only handle.
    """
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(_TIMEOUT if before is None else before)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        socket.setdefaulttimeout(before)


def as_path(path: PathLike) -> Path:
    """Return ``path`` as a `Path`, with ``~`` expanded.

    Raises
    ------
    InvalidArgument
        It is not a path.
    """
    try:
        given = os.fspath(path)
    except TypeError:
        raise InvalidArgument("path", path, "a path") from None
    if not isinstance(given, str) or not given or "\0" in given:
        raise InvalidArgument("path", path, "a path")
    return Path(os.path.expanduser(given))


def read_text(path: Path) -> str:
    r"""Return the text of a file with ``\n`` line ends.

    Raises
    ------
    DataError
        The file cannot be read, is empty, or is not UTF-8 text.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except IsADirectoryError:
        raise DataError(f"{path}: found a directory, expected a file") from None
    except OSError as error:
        raise DataError(
            f"{path}: cannot be read ({error.strerror or error}); check the path"
        ) from None
    except UnicodeDecodeError as error:
        before = error.object[: error.start]
        line, column = before.count(b"\n") + 1, error.start - before.rfind(b"\n")
        raise DataError(
            f"{path}: line {line}: byte {column} is not UTF-8 text; {DAMAGED}"
        ) from None
    if not text.strip():
        raise DataError(f"{path}: found no text, expected records; {DAMAGED}")
    return text.replace("\r\n", "\n").replace("\r", "\n")
