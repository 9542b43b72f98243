"""State that a process touches beside its arguments: seen while it imports and calls.

By Python's audit hooks, by the calls of compiled functions, by the environment that is read, and by
how often the process asked the system to read.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable
from types import FrameType
from typing import Any, Literal

from . import environment, outside

Kind = Literal[
    "file",
    "environment variable",
    "process",
    "connection",
    "shared memory",
    "system",
    "compiled code",
    "value carried along",
    "clock",
]
# Audit events that reach out, by what they reach.
_EVENTS: dict[str, Kind] = {
    **dict.fromkeys(("subprocess.Popen", "os.system", "os.posix_spawn", "os.exec"), "process"),
    **dict.fromkeys(("os.fork", "os.forkpty", "os.spawn", "pty.spawn"), "process"),
    **dict.fromkeys(("socket.connect", "socket.sendto", "socket.sendmsg"), "connection"),
    **dict.fromkeys(("socket.getaddrinfo", "socket.gethostbyname"), "connection"),
    **dict.fromkeys(("urllib.Request", "http.client.connect"), "connection"),
    **dict.fromkeys(("socket.gethostname", "builtins.input", "syslog.syslog"), "system"),
    **dict.fromkeys(("os.listdir", "os.scandir", "os.getxattr", "os.listxattr"), "file"),
    **dict.fromkeys(("ctypes.dlopen", "ctypes.dlsym"), "compiled code"),
}
# Compiled functions that tell of the machine, of other processes, or of what outlives this one.
_FUNCTIONS: dict[tuple[str, str], Kind] = {
    **{("posix", name): "file" for name in ("stat", "lstat", "access", "readlink", "statvfs")},
    **{("posix", name): "file" for name in ("read", "pread", "readv")},
    **{
        ("posix", name): "system"
        for name in (
            *("getppid", "getuid", "geteuid", "getgid", "getegid", "getlogin", "uname", "getpgid"),
            *("getpgrp", "getsid", "getloadavg", "getgroups", "times"),
        )
    },
    **{("pwd", name): "system" for name in ("getpwuid", "getpwnam", "getpwall")},
    ("_uuid", "generate_time_safe"): "system",
    ("_posixshmem", "shm_open"): "shared memory",
    ("_gdbm", "open"): "file",
    ("_dbm", "open"): "file",
}
_READS = "/proc/self/io"
Touch = tuple[str, str]  # a kind, and a name


class Watch:
    """Notes all that is touched while it is on.

    Parameters
    ----------
    own
        The top-level packages of the mechanism.
    """

    def __init__(self, own: Iterable[str] = ()) -> None:
        self.own, self.on, self.opened = frozenset(own), False, 0
        self.touches: dict[Touch, None] = {}
        self._made: set[str] = set()
        self._busy = False

    def install(self) -> None:
        """Watch this process from now on; there is no way back."""
        sys.addaudithook(self.heard)
        threading.setprofile(self.called)
        sys.setprofile(self.called)
        environment.watch(self.variable)

    def begin_call(self) -> None:
        """Forget which files were made in this call."""
        self._made.clear()

    def note(self, kind: Kind, name: str) -> None:
        """Take note of something."""
        if len(self.touches) < 100:
            self.touches[kind, name] = None

    def heard(self, event: str, given: tuple[Any, ...]) -> None:
        """Take note of an event of Python's audit hooks."""
        if not self.on or self._busy:
            return
        # The look itself opens files and calls compiled functions, and must not be told of
        # them.
        self._busy = True
        try:
            self._take(event, given, sys._getframe(1))
        finally:
            self._busy = False

    def _take(self, event: str, given: tuple[Any, ...], frame: FrameType | None) -> None:
        if event == "open":
            self._file(given[0], given[2] or 0, frame)
        elif event == "sqlite3.connect":
            if given[0] != ":memory:":
                self._file(given[0], os.O_RDWR, frame)
        elif event == "mmap.__new__":
            if given[0] != -1 and outside.who_asks(frame, self.own):
                self.note("shared memory", "a mapped file")
        elif (kind := _EVENTS.get(event)) is not None and outside.who_asks(frame, self.own):
            self._event(kind, event, given, frame)

    def _event(
        self, kind: Kind, event: str, given: tuple[Any, ...], frame: FrameType | None
    ) -> None:
        if kind == "compiled code" and not outside.is_direct(frame):
            return  # libraries are made of it
        if kind == "file":
            path = _path(given[0])
            if path is None or not outside.is_outside(path) or outside.reads_sources(frame):
                return
            self.note(kind, path)
            return
        self.note(kind, event if kind != "compiled code" else str(given[0]))

    def _file(self, name: Any, flags: int, frame: FrameType | None) -> None:
        self.opened += 1
        path = _path(name)
        if path is None:
            return
        # A file that the call has just emptied or made holds nothing from before it.
        if flags & (os.O_EXCL | os.O_TRUNC):
            self._made.add(path)
        if flags & os.O_WRONLY or path in self._made or not outside.is_outside(path):
            return
        if os.path.isdir(path) or not os.path.exists(path):
            return
        if outside.is_source(path) and outside.reads_sources(frame):
            return
        if outside.who_asks(frame, self.own) is not None:
            self.note("file", path)

    def called(self, frame: FrameType, event: str, function: Any) -> None:
        """Take note of a call of a compiled function, as `sys.setprofile` tells of it."""
        if event != "c_call" or not self.on or self._busy:
            return
        kind = _FUNCTIONS.get((getattr(function, "__module__", None) or "", function.__name__))
        if kind is None:
            return
        self._busy = True
        try:
            asks = outside.who_asks(frame, self.own)
            if outside.reads_sources(frame) or not self._counts(asks, kind, frame):
                return
            self.note(kind, f"{function.__module__}.{function.__name__}".replace("posix.", "os."))
        finally:
            self._busy = False

    def _counts(self, asks: str | None, kind: Kind, frame: FrameType | None) -> bool:
        """Return whether who calls a compiled function does so as the mechanism.

        Of a file that an installed package asks for, only what it opens counts.
        """
        if asks == "library" and kind != "file":
            return outside.is_own(frame, self.own)
        return asks == "user"

    def variable(self, name: str) -> None:
        """Take note of an environment variable that was read, and is set."""
        if not self.on or self._busy:
            return
        self._busy = True
        try:
            frame = sys._getframe(2)
            asks = outside.who_asks(frame, self.own)
            for_itself = asks == "library" and outside.is_for_itself(frame)
            for_itself = for_itself and not outside.is_own(frame, self.own)
            if asks is not None and not for_itself and not _of_the_standard_library(frame, name):
                self.note("environment variable", name)
        finally:
            self._busy = False


# Variables that modules of the standard library read for purposes of their own.
_USUAL = frozenset(
    "TMPDIR TEMP TMP HOME USER LOGNAME LNAME USERNAME USERPROFILE LANG LANGUAGE TZ PATH COLUMNS "
    "LINES TERM NO_COLOR FORCE_COLOR BROWSER PAGER EDITOR SOURCE_DATE_EPOCH DISPLAY".split()
)
_USUAL_FIRST = ("LC_", "PYTHON", "XDG_")


def _of_the_standard_library(frame: FrameType | None, name: str) -> bool:
    """Return whether a module such as tempfile reads a variable for a purpose of its own."""
    if name not in _USUAL and not name.startswith(_USUAL_FIRST):
        return False  # its name came from somebody else, as that of a ChainMap's key
    for one in outside.frames(frame):
        if one.f_globals.get("__name__") not in ("os", "_collections_abc", "collections.abc"):
            return outside.place_of(one.f_code.co_filename) == "standard"
    return True


def _path(name: Any) -> str | None:
    if not isinstance(name, (str, bytes, os.PathLike)):
        return None
    return os.path.abspath(os.fsdecode(name))


def reads_so_far() -> int | None:
    """Return how often this process has asked the system to read, None if nobody knows."""
    try:
        handle = os.open(_READS, os.O_RDONLY)
    except OSError:
        return None
    try:
        lines = os.read(handle, 1024).decode().splitlines()
    finally:
        os.close(handle)
    counts = dict(line.split(": ") for line in lines)
    return int(counts["syscr"])
