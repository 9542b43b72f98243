"""Folders for temporary files that go with the processes that use them, however these end.

Every process that uses a folder holds a shared lock on it, which the kernel gives up where the
process ends. The last one that ends removes the folder. A process that is killed removes nothing;
the next one that asks for a folder removes what nobody holds. A lock is taken first and then the
path is looked at again: a folder that was removed meanwhile is made anew.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path
from secrets import token_hex

from dpaudit.errors import DataError

_held: dict[tuple[int, Path], int] = {}  # the descriptor that holds the lock, by process and folder
_looked: set[int] = set()  # processes that have removed what others left behind


def make_held_folder(name: str | None = None) -> Path:
    """Return a folder that this process uses until it ends, or leaves it.

    Parameters
    ----------
    name
        What other processes of this user have the same folder by; None for one of its own.

    Raises
    ------
    DataError
        There can be no such folder, or it is somebody else's.

    Examples
    --------
    >>> place = make_held_folder("of-a-doctest")
    >>> place == make_held_folder("of-a-doctest"), place.is_dir()
    (True, True)
    >>> leave_held_folder("of-a-doctest")
    >>> place.is_dir()
    False
    """
    if os.getpid() not in _looked:
        _looked.add(os.getpid())
        remove_leftovers()
    place = _get_folder_path(token_hex(8) if name is None else name)
    held = _held.get((os.getpid(), place))
    # Whoever removed the folder meanwhile may have left its path to another one.
    if held is None or not _is_still_at_path(place, held):
        _hold_folder(place, _lock_folder(place), held)
    return place


def leave_held_folder(name: str) -> None:
    """Leave a folder, which is removed unless another process uses it."""
    _release_folder(_get_folder_path(name))


def remove_leftovers() -> None:
    """Remove the folders of this user that no process holds."""
    for place in Path(tempfile.gettempdir()).glob(f"{_make_user_prefix()}*"):
        if (os.getpid(), place) in _held:
            continue
        with contextlib.suppress(OSError):
            _remove_unheld(place, _open_folder(place))


def _make_user_prefix() -> str:
    return f"dpaudit-{os.getuid()}-"


def _get_folder_path(name: str) -> Path:
    return Path(tempfile.gettempdir()) / f"{_make_user_prefix()}{name}"


def _open_folder(place: Path) -> int:
    # A link that somebody else put at this path would lead into a folder of theirs.
    found = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    if os.fstat(found).st_uid != os.getuid():
        os.close(found)
        raise PermissionError(f"{place} is of another user")
    return found


def _is_still_at_path(place: Path, held: int) -> bool:
    """Return whether a path still names the folder that a descriptor is of."""
    try:
        return os.path.samestat(os.stat(place, follow_symlinks=False), os.fstat(held))
    except FileNotFoundError:
        return False


def _lock_folder(place: Path) -> int:
    try:
        while True:
            place.mkdir(mode=0o700, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                held = _open_folder(place)
                if _is_locked_at_path(place, held):
                    return held
    except OSError as error:
        expected = "a folder for temporary files that this user can write to and lock (TMPDIR)"
        raise DataError(f"{place}: {error.strerror or error}, expected {expected}") from error


def _is_locked_at_path(place: Path, held: int) -> bool:
    """Return whether a folder is locked and still at its path; else close its descriptor."""
    found = False
    try:
        fcntl.flock(held, fcntl.LOCK_SH)
        found = _is_still_at_path(place, held)
    finally:
        if not found:
            os.close(held)
    return found


def _hold_folder(place: Path, locked: int, before: int | None) -> None:
    """Keep one descriptor of a folder: another thread may have one of its own by now."""
    key = os.getpid(), place
    if before is not None and _held.get(key) == before:
        del _held[key]
        os.close(before)
    if _held.setdefault(key, locked) != locked:
        os.close(locked)


def _release_folder(place: Path) -> None:
    held = _held.pop((os.getpid(), place), None)
    if held is not None:
        with contextlib.suppress(OSError):
            _remove_unheld(place, held)


def _remove_unheld(place: Path, held: int) -> None:
    """Remove a folder that no other process holds, and close its descriptor."""
    try:
        # Whoever still holds the folder removes it in the end, so that nobody waits for it here.
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # By now the path may name another folder that somebody has made anew.
        if _is_still_at_path(place, held):
            shutil.rmtree(place)
    finally:
        os.close(held)


@atexit.register
def _leave_held_folders() -> None:
    for process, place in list(_held):
        if process == os.getpid():  # a fork has the descriptors of the process that made it
            _release_folder(place)
