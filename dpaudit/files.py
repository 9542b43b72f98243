"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from errno import EISDIR
from pathlib import Path
from secrets import token_hex

from dpaudit.errors import DataError, require_posix
from dpaudit.escaping import one_line


def write_file(path: Path, content: bytes) -> None:
    """Write one file, whole or not at all.

    Raises
    ------
    DataError
        It cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as name:
    ...     write_file(Path(name) / "one.txt", b"whole")
    ...     print((Path(name) / "one.txt").read_text())
    whole
    """
    try:
        _write_all(path.parent, {path: content}, (), 0o666 & ~_get_umask())
    except OSError as error:
        raise DataError(f"{path}: cannot be written ({error.strerror})") from error


def write_files(
    folder: Path,
    contents: Mapping[Path, bytes],
    gone: Sequence[Path] = (),
    *,
    private: bool = False,
) -> None:
    """Write files of one folder together: all are complete before any takes its place.

    Until then each has a name that nobody has, so that no other file is written over, through no
    link either. A failure, or an interrupt, leaves every file as it was.

    Parameters
    ----------
    folder
        Where; it is created if it does not exist.
    contents
        What to write, by path.
    gone
        Files of before that are removed with it.
    private
        Whether their owner alone may read them (mode 0600), whatever the umask is.

    Raises
    ------
    DataError
        If the folder or a file in it cannot be written.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as name:
    ...     write_files(Path(name), {Path(name) / "one.txt": b"whole"})
    ...     print(*(path.name for path in Path(name).iterdir()))
    one.txt
    """
    with _saying_where(folder):
        folder.mkdir(parents=True, exist_ok=True)
        _write_all(folder, contents, gone, 0o600 if private else 0o666 & ~_get_umask())


def prepare_directory(directory: str | os.PathLike[str]) -> None:
    """Create ``directory`` and try a file in it, so that a long audit does not end in vain.

    Raises
    ------
    DataError
        If no report can be written there.
    """
    folder = Path(directory)
    with _saying_where(folder):
        folder.mkdir(parents=True, exist_ok=True)
        # A file is made, as permissions alone do not tell: the file system may be full or
        # read-only.
        with tempfile.TemporaryFile(dir=folder):
            pass


@contextlib.contextmanager
def _saying_where(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise DataError(
            f"{one_line(str(folder))}: the report cannot be written here ({why}); "
            "choose another directory"
        ) from None


def _write_all(
    folder: Path, contents: Mapping[Path, bytes], gone: Sequence[Path], mode: int
) -> None:
    require_posix("a file that is written whole or not at all")
    parts: dict[Path, Path] = {}
    try:
        for path, content in contents.items():
            parts[path] = folder / f".{path.name}.{token_hex(8)}.part"  # known before it is there
            # O_EXCL refuses a name that is there, a symbolic link included; the mode lets
            # nobody read a private file while it is half written.
            descriptor = os.open(parts[path], os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            _write_through(descriptor, content, mode)
        _take_places(parts, gone)
    finally:
        _remove_files(parts.values())


def _write_through(descriptor: int, content: bytes, mode: int) -> None:
    with open(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fchmod(descriptor, mode)  # not by its name, which somebody may give to a link
        os.fsync(file.fileno())  # else a power cut could leave the new name on an empty file


def _get_umask() -> int:
    """Return the umask, which can only be read by setting it."""
    # Strict for the moment between the two calls, in which another thread may make a file.
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _take_places(parts: Mapping[Path, Path], gone: Sequence[Path]) -> None:
    """Give every file its place and remove old ones; after a failure all is as it was."""
    kept = dict[Path, Path | None]()
    try:
        for path in (*parts, *gone):
            # Every file that is replaced keeps a second name until all have their places, which
            # is what is put back.
            kept[path] = _second_name(path)
        for path, part in parts.items():
            os.replace(part, path)
        for path in gone:
            path.unlink(missing_ok=True)
    except BaseException:
        _put_back(kept, parts)
        raise
    finally:
        _remove_files(old for old in kept.values() if old is not None)


def _second_name(path: Path) -> Path | None:
    """Return another name of the same file, None if there is none yet."""
    if not os.path.lexists(path):
        return None
    if path.is_dir() and not path.is_symlink():
        raise IsADirectoryError(EISDIR, f"{path.name} is a directory")
    name = path.with_name(f".{path.name}.{token_hex(8)}.old")
    try:
        os.link(path, name, follow_symlinks=False)
    except OSError:  # not every file system knows links
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        shutil.copy2(path, name)  # with its mode, once it is there
    return name


def _put_back(kept: Mapping[Path, Path | None], parts: Mapping[Path, Path]) -> None:
    for path, old in kept.items():
        with contextlib.suppress(OSError):
            if old is not None:
                os.replace(old, path)
            elif path in parts and not parts[path].exists():  # it has taken its place
                path.unlink(missing_ok=True)


def _remove_files(paths: Iterable[Path]) -> None:
    unwanted = list(paths)
    try:
        _unlink_quietly(unwanted)
    except KeyboardInterrupt:
        _unlink_quietly(unwanted)
        raise


def _unlink_quietly(paths: Iterable[Path]) -> None:
    for path in paths:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
