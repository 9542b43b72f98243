"""What a mechanism touches beside its arguments, as a process that is there for this alone sees it.

Its import and some calls are watched: by Python's audit hooks, by the calls of compiled functions,
by the environment that it reads, and by how often the process asked the system to read. Clocks are
set forward (`dpaudit.laws.clocks`), and the interpreter is a new one, with hashes, addresses and a
number of its own. What then is the same, and touches nothing, is a function of its data; values
that travelled with the code are looked at as well (`dpaudit.laws.carried`).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Callable, ItemsView, KeysView, Sequence, ValuesView
from types import FrameType
from typing import Any, Literal

import numpy as np
from numpy.random import SeedSequence, default_rng

import dpaudit.laws.outside as outside
from dpaudit._typing import Array
from dpaudit.laws.carried import carried_noise
from dpaudit.laws.clocks import Clocks
from dpaudit.laws.containing import imports_contain
from dpaudit.laws.mechanism import checked_sample, name_of
from dpaudit.laws.settled import refers_to_results

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
    """Notes what is touched while it is on.

    Parameters
    ----------
    own
        The top-level package of the mechanism.
    """

    def __init__(self, own: str = "") -> None:
        self.own, self.on, self.opened = own, False, 0
        self.touches = dict[Touch, None]()
        self._made = set[str]()
        self._busy = False

    def install(self) -> None:
        """Watch this process from now on; there is no way back."""
        sys.addaudithook(self.heard)
        threading.setprofile(self.called)
        sys.setprofile(self.called)
        _watch_environment(self)

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
            if outside.reads_sources(frame) or outside.who_asks(frame, self.own) != "user":
                return
            self.note(kind, f"{function.__module__}.{function.__name__}".replace("posix.", "os."))
        finally:
            self._busy = False

    def variable(self, name: str) -> None:
        """Take note of an environment variable that was read, and is set."""
        if not self.on or self._busy:
            return
        self._busy = True
        try:
            frame = sys._getframe(2)
            asks = outside.who_asks(frame, self.own)
            for_itself = asks == "library" and outside.is_for_itself(frame)
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


def _watch_environment(watch: Watch) -> None:
    """Let the environment of this process tell who reads it."""

    class Environment(type(os.environ)):  # type: ignore[misc]
        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            watch.variable(os.fsdecode(key))
            return found

        def __iter__(self) -> Any:
            watch.variable("all of them")
            return super().__iter__()

    for one in (os.environ, getattr(os, "environb", None)):
        if one is not None:
            one.__class__ = Environment
    _watch_table(watch)


def _watch_table(watch: Watch) -> None:
    """Let the table below the environment, which `posix.environ` is, tell who reads it."""

    class Table(dict[Any, Any]):
        def __getitem__(self, key: Any) -> Any:
            found = super().__getitem__(key)
            watch.variable(os.fsdecode(key))
            return found

        def get(self, key: Any, default: Any = None) -> Any:
            return self[key] if key in self else default

        def __iter__(self) -> Any:
            watch.variable("all of them")
            return super().__iter__()

        def keys(self) -> Any:
            return KeysView(self)

        def items(self) -> Any:
            return ItemsView(self)

        def values(self) -> Any:
            return ValuesView(self)

        def copy(self) -> Any:
            return dict(self.items())

        def pop(self, key: Any, *default: Any) -> Any:
            self.get(key)
            return super().pop(key, *default)

        def setdefault(self, key: Any, default: Any = None) -> Any:
            self.get(key)
            return super().setdefault(key, default)

    system: Any = sys.modules[os.name]  # posix, or nt
    table: Any = os.environ
    table._data = system.environ = Table(system.environ)
    as_bytes: Any = getattr(os, "environb", None)
    if as_bytes is not None:
        as_bytes._data = table._data


def watched(
    make: Callable[..., Any],
    arguments: tuple[Any, ...],
    datasets: Sequence[Any],
    calls: int,
    entropy: int,
    ahead: int,
    travelled: bool,
    libraries: Sequence[str],
) -> tuple[list[Touch], list[Array] | None, str]:
    """Return what the import and some calls touch, what these return, and why they failed.

    It is called in a process that ends thereafter.

    Parameters
    ----------
    make, arguments
        What makes the mechanism.
    datasets
        On which it is called.
    calls
        Of each.
    entropy
        Of the generators.
    ahead
        Steps that the clocks are set forward; 0 leaves them alone.
    travelled
        Whether the mechanism came with values of another process, and was not made in this one.
    libraries
        Modules that are imported beforehand, as they are: what they read is nothing to anybody.
    """
    for name in libraries:
        with contextlib.suppress(Exception):  # then the mechanism says what is wrong
            importlib.import_module(name)
    watch, rows, failed, before = Watch(), None, "", set(sys.modules)
    if ahead:
        Clocks(ahead).install()
    watch.install()
    try:
        watch.on = True
        mechanism = make(*arguments)
        watch.on = False
        watch.own = _package_of(mechanism)
        if not refers_to_results(mechanism) and imports_contain(watch.own, before):
            watch.touches.clear()  # what was read while it was imported is nothing to it
        for path in carried_noise(mechanism) if travelled else ():
            watch.note("value carried along", path)
        rows = [
            _called(watch, mechanism, one, calls, entropy + n) for n, one in enumerate(datasets)
        ]
    except BaseException as error:  # other people's code
        watch.on, failed = False, type(error).__name__
    finally:
        watch.on = False
        sys.setprofile(None)
    return list(watch.touches), rows, failed


def libraries_beside(mechanism: Any) -> list[str]:
    """Return the modules of other packages that the process of a mechanism has."""
    own = _package_of(mechanism)
    found = [
        name
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] not in (own, "__main__", "dpaudit")
        if outside.place_of(getattr(module, "__file__", None) or "") in ("standard", "library")
    ]
    return sorted(found)


def _package_of(mechanism: Any) -> str:
    found = getattr(mechanism, "function", mechanism)
    return str(getattr(found, "__module__", type(found).__module__) or "").partition(".")[0]


def _called(watch: Watch, mechanism: Any, dataset: Any, calls: int, entropy: int) -> Array:
    found = []
    for number in range(calls):
        rng = default_rng(SeedSequence(entropy, spawn_key=(number,)))
        watch.begin_call()
        opened, before = watch.opened, _reads()
        watch.on = True
        found.append(checked_sample(mechanism, dataset, 1, rng))
        watch.on = False
        # What was imported in a first call was read by Python itself.
        if number and before is not None and watch.opened == opened:
            after = _reads()
            if after is not None and after - before > _OWN_READS:
                watch.note("compiled code", f"{name_of(mechanism)} reads a file")
    return np.concatenate(found)


def _reads() -> int | None:
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


_OWN_READS = 1  # of which one is that of the counter itself
