"""The file of a budget: read and written under a lock, by appending, and through to the disk.

A line counts as soon as a part of it is in the file, and its writer is told that it is there when
the system has said that it is on the disk. Whoever holds the lock has read the whole file before,
so that no two writers take the same rest of a budget. The lock is the kernel's (flock): it ends
with the process that holds it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from dpaudit.errors import DataError
from dpaudit.escaping import one_line
from dpaudit.spending.chain import Chain, read_chain

_PAUSE = 0.005  # seconds between two attempts at a lock
_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "fuse.sshfs"})


@dataclass(frozen=True)
class HeldFile:
    """An open file whose lock is held."""

    path: Path
    descriptor: int

    def read(self) -> Chain:
        """Return the content, checked."""
        content = bytearray()
        try:
            while part := os.pread(self.descriptor, 1 << 20, len(content)):
                content += part
        except OSError as error:
            raise _make_budget_file_error(self.path, "cannot be read", error) from error
        return read_chain(bytes(content), one_line(str(self.path)))

    def append(self, content: bytes, size: int) -> None:
        """Write to the end, through to the disk, or leave the file as it was.

        Parameters
        ----------
        content
            What to write.
        size
            Of the file as it was read.

        Raises
        ------
        DataError
            It could not be written, and is not there; or nobody knows whether it is on the disk.
        """
        try:
            left = memoryview(content)
            while left:
                # A write may take only a part, on a disk that is nearly full, say.
                left = left[os.write(self.descriptor, left) :]
        except OSError as error:
            self._take_back(size, error)
        try:
            os.fsync(self.descriptor)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise DataError(
                f"{self._name}: the system does not confirm that the line is on the disk ({why}), "
                f"so "
                "release nothing; it counts if it is there: dpaudit spend show"
            ) from error

    def check_in_place(self) -> None:
        """Refuse to go on where another file has the name now: lines written here are in none.

        Raises
        ------
        DataError
            The file that is held was removed or replaced.
        """
        if not _is_there(self.path, self.descriptor):
            raise DataError(
                f"{self._name}: was removed or replaced while it was held, so the charges of that "
                f"time are in no file; release nothing, and charge it again"
            )

    def _take_back(self, size: int, error: OSError) -> None:
        """Cut off the written part of a line, and say that it is not there."""
        try:
            # The lock is held, so that nothing can be behind this size but what was just written.
            os.ftruncate(self.descriptor, size)
            os.fsync(self.descriptor)
        except OSError as second:
            raise _make_budget_file_error(
                self.path, "holds a torn line, and cannot be written", second
            ) from error
        raise _make_budget_file_error(
            self.path, "cannot be written, so nothing was charged", error
        ) from error

    @property
    def _name(self) -> str:
        return one_line(str(self.path))


def create_file(path: Path, line: bytes) -> None:
    """Make a new file with a first line, which has its name as soon as it is whole.

    Raises
    ------
    DataError
        There is one already, or it cannot be written.
    """
    # In the same folder, as a link or a rename works within one file system alone.
    part = path.with_name(f".{path.name}.{token_hex(8)}.part")
    flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    try:
        descriptor = os.open(part, flags, 0o666)
        try:
            HeldFile(path, descriptor).append(line + b"\n", 0)
        finally:
            os.close(descriptor)
        _give_name(part, path)
        _write_name_through(path.parent)
    except FileExistsError:
        raise DataError(
            f"{one_line(str(path))}: is there already, and is not written over; choose another "
            "name, or add to it: dpaudit spend add"
        ) from None
    except OSError as error:
        raise _make_budget_file_error(path, "cannot be made", error) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink()


def _give_name(part: Path, path: Path) -> None:
    """Give a file its name, unless another one has it."""
    try:
        # A link fails where the name is taken, in one step. Asking first and renaming then could
        # replace a budget that was made in between.
        os.link(part, path)
    except FileExistsError:
        raise
    except OSError:  # not every file system knows links
        if path.exists():
            raise FileExistsError(str(path)) from None
        os.rename(part, path)


def _write_name_through(folder: Path) -> None:
    with contextlib.suppress(OSError):  # not every file system can
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def hold_file(path: Path, *, to_write: bool, wait: float) -> Iterator[HeldFile]:
    """Open a file and hold its lock for a block: alone to write, with other readers to read.

    Parameters
    ----------
    path
        Of the file.
    to_write
        Whether anything is written.
    wait
        Seconds to wait for others.

    Raises
    ------
    DataError
        It is not there, is no plain file, may not be opened, or somebody holds it for longer.
    """
    deadline, owner = time.monotonic() + wait, os.getpid()
    descriptor = _open_budget_file(path, to_write)
    try:
        _lock_budget_file(path, descriptor, fcntl.LOCK_EX if to_write else fcntl.LOCK_SH, deadline)
        while not _is_there(path, descriptor):  # another file has its name now
            # First the new one: where it is gone, the old one is still there to be closed.
            found = _open_budget_file(path, to_write)
            os.close(descriptor)
            descriptor = found
            _lock_budget_file(
                path, descriptor, fcntl.LOCK_EX if to_write else fcntl.LOCK_SH, deadline
            )
        yield HeldFile(path, descriptor)
    finally:
        if os.getpid() == owner:  # a child of a fork has the same lock, and must not end it
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _open_budget_file(path: Path, to_write: bool) -> int:
    # O_NONBLOCK, as opening a pipe without a writer would wait for ever; a program that is started
    # must not inherit the lock.
    flags = (os.O_RDWR | os.O_APPEND if to_write else os.O_RDONLY) | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags)
    except FileNotFoundError:
        raise DataError(
            f"{one_line(str(path))}: is not there; make it: dpaudit spend new FILE --epsilon 1 "
            "--delta 1e-6"
        ) from None
    except OSError as error:
        what = "cannot be written, so nothing was charged" if to_write else "cannot be read"
        raise _make_budget_file_error(path, what, error) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DataError(f"{one_line(str(path))}: is no plain file")
    return descriptor


def _lock_budget_file(path: Path, descriptor: int, kind: int, deadline: float) -> None:
    while True:
        try:
            # Tried again and again instead of waiting in the kernel, which has no deadline.
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise DataError(
                    f"{one_line(str(path))}: another process has held it for too long; nothing "
                    "was charged; end that process, or wait longer"
                ) from None
            time.sleep(_PAUSE)
        except OSError as error:
            what = (
                "cannot be locked, because its file system has no locks (flock); nothing was "
                "charged"
            )
            raise _make_budget_file_error(path, what, error) from error


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def network_of(path: Path) -> str | None:
    """Return the kind of network file system that a file is on, None where there is none.

    It is read off Linux's list of mounts; elsewhere nobody says.
    """
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
        where = str(path.resolve())
    except OSError:
        return None
    best, found = "", None
    for mount in mounts.splitlines():
        _, point, kind, *_ = mount.split(" ")
        point = point.encode().decode("unicode_escape")
        around = where == point or where.startswith(point.rstrip("/") + "/")
        # The longest mount point around a path is the file system that it is on; of two on one
        # point the later hides the earlier.
        if around and len(point) >= len(best):
            best, found = point, kind
    return found if found in _NETWORK else None


def _make_budget_file_error(path: Path, what: str, error: OSError) -> DataError:
    why = error.strerror or type(error).__name__
    return DataError(f"{one_line(str(path))}: {what} ({why})")
