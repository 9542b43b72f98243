"""The other side of a pool: a keeper of processes, and the workers that it starts.

Runs as a script, ``python worker.py DESCRIPTOR``, and needs the standard library and numpy alone,
so that an environment without dpaudit can speak it too (docs/isolation.md): Python 3.9 or newer.

The keeper runs nobody's code. It starts a worker as a copy of itself, which is quick and leaves
every module of the user's to be imported afresh; it says how a worker ended; and it ends all of
them, with what they started, as soon as the program is gone, however that happened.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import gc
import importlib
import importlib.util
import json
import mmap
import os
import pickle
import select
import signal
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NoReturn

import numpy as np

HEAD = struct.Struct("!4sIQ")
MAGIC = b"dpw1"
CLOSED = 86  # status of a process whose code closed the channel
_WORDS = 100_000  # characters of an error that are sent: its text may be of any size
_PART = 2**24  # bytes that are made room for before any came
FLUSH = 0.05  # seconds after which results are sent, before those of the other units are there
_ARRAYS = "?biufcmM"  # kinds of numbers whose bytes mean the same in both processes
# Options of Linux's prctl.
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG
_ADOPT = 36  # PR_SET_CHILD_SUBREAPER


# Values as typed data


class CannotBeSent(TypeError):
    """A value that is neither numbers nor text nor made of them."""


def pack_value(value: Any, buffers: list[Any]) -> Any:
    """Return a value as JSON, with its bytes and numbers appended to ``buffers``.

    Raises `CannotBeSent` if it holds anything but numbers, arrays of them, text, bytes, and lists,
    tuples and dictionaries of these.

    Examples
    --------
    >>> buffers = []
    >>> pack_value({"a": (1, np.arange(3.0))}, buffers)
    {'dict': [['a', {'tuple': [1, {'array': ['<f8', [3]]}]}]]}
    """
    if value is None or type(value) in (bool, int, float):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bytes):
        buffers.append(value)
        return {"bytes": len(value)}
    if isinstance(value, dict):
        return {
            "dict": [[pack_value(k, buffers), pack_value(v, buffers)] for k, v in value.items()]
        }
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [pack_value(one, buffers) for one in value]}
    numeric = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind in _ARRAYS
    if numeric and not isinstance(value, np.ma.MaskedArray):  # its mask would be lost
        array = np.asarray(value)
        buffers.append(np.ascontiguousarray(array).reshape(-1).view(np.uint8))
        name = "array" if isinstance(value, np.ndarray) else "scalar"
        return {name: [array.dtype.str, list(array.shape)]}
    raise CannotBeSent(f"{type(value).__module__}.{type(value).__qualname__}")


def unpack_value(given: Any, buffers: list[Any]) -> Any:
    """Return the value that `pack_value` packed; take its bytes from the front of ``buffers``."""
    if not isinstance(given, dict):
        return given
    ((kind, content),) = given.items()
    if kind == "bytes":
        return bytes(buffers.pop(0))
    if kind == "dict":
        return {unpack_value(k, buffers): unpack_value(v, buffers) for k, v in content}
    if kind in ("list", "tuple"):
        found = [unpack_value(one, buffers) for one in content]
        return tuple(found) if kind == "tuple" else found
    array = np.frombuffer(buffers.pop(0), dtype=np.dtype(content[0])).reshape(content[1])
    array = np.require(array, None, ("A", "W"))  # numpy adds unaligned numbers in another order
    return array if kind == "array" else array[()]


# Messages


def send_message(channel: socket.socket, message: dict[str, Any], value: Any = None) -> None:
    """Send a message, and a value as typed data."""
    buffers: list[Any] = []
    content = {**message, "value": pack_value(value, buffers)}
    content["sizes"] = [len(one) for one in buffers]
    text = json.dumps(content).encode()
    channel.sendall(HEAD.pack(MAGIC, len(text), sum(content["sizes"])) + text)
    for one in buffers:
        channel.sendall(one)


class NoMessage(ValueError):
    """A message that is none, as if somebody else's code wrote into the channel."""


def receive_message(channel: socket.socket, most: int | None = None) -> dict[str, Any] | None:
    """Return the next message, with its value; None at the end of the channel.

    Raises `ConnectionError` if it ends within a message, and `NoMessage` if what comes is none, or
    says that it has more than ``most`` bytes.
    """
    if (head := _receive_bytes(channel, HEAD.size)) is None:
        return None
    magic, length, size = HEAD.unpack(head)
    # A length that somebody else's code wrote must not make this process run out of memory.
    if magic != MAGIC or (most is not None and length + size > most):
        raise NoMessage("the received data are not a message")
    text, body = _receive_exactly(channel, length), memoryview(_receive_exactly(channel, size))
    try:
        return _parse_message(text, body)
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise NoMessage(f"the received data are not a message ({type(error).__name__})") from error


def _parse_message(text: bytearray, body: memoryview) -> dict[str, Any]:
    message: dict[str, Any] = json.loads(text)
    buffers, start = [], 0
    for one in message.pop("sizes"):
        buffers.append(body[start : start + one])
        start += one
    message["value"] = unpack_value(message["value"], buffers)
    return message


def _receive_exactly(channel: socket.socket, size: int) -> bytearray:
    if (found := _receive_bytes(channel, size)) is None:
        raise ConnectionError("the channel ended within a message")
    return found


def _receive_bytes(channel: socket.socket, size: int) -> bytearray | None:
    """Return so many bytes, None if there is not even one."""
    # Room is made as bytes come, as the size that a message states may be a lie.
    found, got = bytearray(min(size, _PART)), 0
    while got < size:
        if got == len(found):  # so much has come: what a message says of its size may be a lie
            found.extend(bytes(min(size - got, got)))
        with memoryview(found) as view:
            count = channel.recv_into(view[got:])
        if not count:
            if got:
                raise ConnectionError("the channel ended within a message")
            return None
        got += count
    return found


# Files

_LIBRARIES = (sys.prefix, sys.base_prefix, "/proc/", "/dev/", "/sys/")
_OWN = frozenset(("dpaudit.services.limits",))  # modules whose files decide no output


@dataclass
class Files:
    """The user's files that a call wrote, and those that it read as an earlier call had left them.

    What one call writes and another reads is a state that outlives processes. A file that a call
    makes for itself is none.
    """

    wrote: set[str] = field(default_factory=set)
    read: set[str] = field(default_factory=set)
    _made: set[str] = field(default_factory=set)
    _databases: dict[str, int | None] = field(default_factory=dict)

    def begin_call(self) -> None:
        """Forget which files were made in this call: it is another one."""
        self._made.clear()

    def heard(self, event: str, given: tuple[Any, ...]) -> None:
        """Take note of an event of Python's audit hooks."""
        if event == "open" and isinstance(given[0], (str, bytes, os.PathLike)):
            if sys._getframe(1).f_globals.get("__name__") not in _OWN:
                self._note(given[0], given[2] or 0)
        elif event == "sqlite3.connect" and given[0] != ":memory:":
            path = os.path.abspath(os.fsdecode(given[0]))
            self._databases.setdefault(path, _get_file_mtime(path))
            if _get_file_mtime(path) is not None:
                self.read.add(path)

    def _note(self, name: Any, flags: int) -> None:
        path = os.path.abspath(os.fsdecode(name))
        if path.startswith(_LIBRARIES) or "__pycache__" in path or os.path.isdir(path):
            return
        # What a call truncates or creates holds nothing of an earlier call.
        if flags & (os.O_EXCL | os.O_TRUNC):
            self._made.add(path)
        if flags & (os.O_WRONLY | os.O_RDWR):
            self.wrote.add(path)
        if not flags & os.O_WRONLY and path not in self._made:
            self.read.add(path)

    def told(self) -> dict[str, list[str]]:
        """Return the new facts, as a part of an answer."""
        # A database is opened to write even by who only reads it.
        self.wrote.update(
            path for path, was in self._databases.items() if _get_file_mtime(path) != was
        )
        self._databases.clear()
        found = {"wrote": sorted(self.wrote), "read": sorted(self.read)}
        self.wrote.clear()
        self.read.clear()
        return {name: paths for name, paths in found.items() if paths}


def _get_file_mtime(path: str) -> int | None:
    """Return when a file was changed last, None if there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return None


# A worker


class CopyReturned(RuntimeError):
    """A call came back in a copy of the worker too."""


class Copies:
    """Whether a copy of this process, forked by other people's code, came back from a call."""

    def __init__(self) -> None:
        self.original, self.returned = os.getpid(), mmap.mmap(-1, 1)

    def end(self) -> None:
        """End a copy, before it answers in the place of the original, which raises instead."""
        if os.getpid() != self.original:
            self.returned[0] = 1
            os._exit(0)
        if self.returned[0]:
            self.returned[0] = 0
            raise CopyReturned("forked a copy of itself that came back from the call as well")


Task = Callable[..., Any]


class TaskFailed(Exception):
    """A task raised its cause; any other failure in a worker is of the work around a task."""


def run_server(channel: socket.socket) -> None:
    """Answer messages until the channel ends.

    ``load`` gives a task a name, ``run`` computes units of it, ``forget`` drops it. An answer
    holds results (``value``), or how their code failed (``failed``), and whether that was in a
    task (``inside``) or in the work around it, as where code replaced what this process needs.
    """
    tasks: dict[str, Task] = {}
    files, copies = Files(), Copies()
    sys.addaudithook(files.heard)
    while (message := receive_message(channel)) is not None:
        for name in message.get("forget", ()):
            tasks.pop(name, None)
        try:
            # The answer to a task says whether it could be taken up, before any unit is asked for.
            if message["do"] == "load":
                tasks[message["task"]] = _load_message_task(message)
                copies.end()
                send_message(channel, files.told())
            else:
                _run_units(channel, tasks[message["task"]], message["units"], files, copies)
        except BaseException as caught:  # a task is other people's code
            # A copy that raised must not answer either.
            with contextlib.suppress(CopyReturned):
                copies.end()
            inside = isinstance(caught, (TaskFailed, CannotBeSent))
            error = (caught.__cause__ if isinstance(caught, TaskFailed) else None) or caught
            send_message(
                channel,
                {"failed": describe_error(error), "inside": inside},
                _get_error_arguments(error),
            )


def _load_message_task(message: dict[str, Any]) -> Task:
    path = message.get("path", [])
    sys.path[:] = [*path, *(one for one in sys.path if one not in path)]
    if "reference" not in message:
        return pickle.loads(message["value"])  # type: ignore[no-any-return]
    module, _, name = message["reference"].rpartition(":")
    found: Any = _of_file(module) if module.endswith(".py") else importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return _make_sampling_task(found, message["value"])


def _of_file(path: str) -> Any:
    """Return the module of a file, whose folder need not be on the import path."""
    name = "_file_" + path
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} is no module")
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def _make_sampling_task(found: Any, dataset: Any) -> Task:
    """Return a task that samples a mechanism, or one that a class makes, or a function of three.

    Outputs are sent as they are: the receiver makes doubles of them, or refuses.
    """
    if isinstance(found, type):
        found = found()
    sample = getattr(found, "sample", found)
    return lambda trials, seed, *_: sample(dataset, trials, np.random.default_rng(seed))


def _run_units(
    channel: socket.socket, task: Task, units: Any, files: Files, copies: Copies
) -> None:
    """Send the result of every unit, those of quick ones together."""
    found: list[Any] = []
    began = sent = time.monotonic()
    for trials, entropy, key, *further in units:
        seed = np.random.SeedSequence(entropy, spawn_key=tuple(key))
        # A file that this call makes and reads again carries nothing from another.
        files.begin_call()
        found.append(_run_task(task, trials, seed, *further))
        copies.end()
        now = time.monotonic()
        if now - sent > FLUSH:
            send_message(channel, {"seconds": now - began, **files.told()}, found)
            found, began, sent = [], now, now
    if found:
        send_message(channel, {"seconds": time.monotonic() - began, **files.told()}, found)


def _run_task(task: Task, *given: Any) -> Any:
    try:
        return task(*given)
    except BaseException as error:
        raise TaskFailed from error


def describe_error(error: BaseException) -> dict[str, Any]:
    """Return an error as text."""
    kind = type(error)
    words = ""
    with contextlib.suppress(BaseException):  # making the text runs their code too
        words = str(error)[:_WORDS]
    calls = _format_error_calls(error)
    return {
        "module": kind.__module__,
        "name": kind.__qualname__,
        "words": words,
        "calls": "".join(calls),
        "written": " ".join(_find_written_names(error)),
        "told": "".join([*calls[:-1], f"{kind.__qualname__}: {words}\n"]),
    }


def _find_written_names(error: BaseException) -> list[str]:
    """Return names that code on the way to an error has written; "*" if this module has asked."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    own = [one for one in frames if one.f_globals.get("__name__") != "importlib"]
    own = [one for one in own if not one.f_code.co_filename.startswith("<")]
    if not own or own[-1].f_globals is globals():
        return ["*"]
    return sorted({name for one in own for name in (*one.f_code.co_names, *one.f_code.co_varnames)})


def _format_error_calls(error: BaseException) -> list[str]:
    """Return the calls that led to an error, and to those behind it, without their words."""
    before = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    above = [] if before is None else [*_format_error_calls(before), "\n"]
    return [*above, *traceback.format_tb(error.__traceback__), f"{type(error).__name__}\n"]


def _get_error_arguments(error: BaseException) -> Any:
    """Return the arguments of an error of dpaudit."""
    if not type(error).__module__.startswith("dpaudit."):
        return None
    with contextlib.suppress(BaseException):
        arguments = list(error.__reduce__()[1])
        pack_value(arguments, [])
        return arguments
    return None


# The keeper


@dataclass
class WorkerKeeper:
    """Starts workers for the program at the other end of ``control``, and outlives none of them."""

    control: socket.socket
    workers: set[int] = field(default_factory=set)
    _text: bytes = b""
    _descriptors: list[int] = field(default_factory=list)

    def run(self) -> NoReturn:
        """Obey until the other end is gone, then end everything."""
        # Processes that a worker leaves behind become children of the keeper, which can end them
        # then.
        _set_prctl_option(_ADOPT, 1)
        woken, waker = socket.socketpair()
        woken.setblocking(False)
        waker.setblocking(False)
        # A handler is needed for the wake-up descriptor to be written to; it has nothing to do
        # itself.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
        with contextlib.suppress(OSError):
            while self._obey_commands(woken):
                self._bury()
        self._end_all()
        os._exit(0)

    def _obey_commands(self, woken: socket.socket) -> bool:
        ready, _, _ = select.select([self.control, woken], [], [])
        if woken in ready:
            with contextlib.suppress(BlockingIOError):
                woken.recv(4096)
        if self.control not in ready:
            return True
        data, descriptors, _, _ = socket.recv_fds(self.control, 65536, 16)
        self._descriptors += descriptors
        *lines, self._text = (self._text + data).split(b"\n")
        for line in lines:
            self._obey(json.loads(line))
        return bool(data)

    def _obey(self, order: dict[str, Any]) -> None:
        if order["do"] == "start":
            self._start(self._descriptors.pop(0), order)
        elif order["do"] == "preload":
            before = sys.path.copy()
            sys.path.extend(order["path"])
            for name in order["modules"]:
                with contextlib.suppress(Exception):  # then the worker says what is wrong
                    importlib.import_module(name)
            sys.path[:] = before
            gc.freeze()  # else a collection in a worker copies the pages of all that is shared
        elif order["pid"] in self.workers:
            _kill_group(order["pid"])

    def _start(self, descriptor: int, order: dict[str, Any]) -> None:
        # Asked for before the fork: a child whose keeper has ended by then sees another parent.
        keeper = os.getpid()
        pid = os.fork()
        if not pid:
            self.control.close()
            _be_a_worker(keeper, descriptor, order)
        os.close(descriptor)
        self.workers.add(pid)
        self._say({"started": pid})

    def _say(self, what: dict[str, Any]) -> None:
        self.control.sendall(json.dumps(what).encode() + b"\n")

    def _bury(self) -> None:
        """Say how workers ended, and end the processes that they left behind."""
        with contextlib.suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = found
                if pid in self.workers:
                    self.workers.discard(pid)
                    _kill_group(pid)
                    self._say({"ended": pid, "status": os.waitstatus_to_exitcode(status)})

    def _end_all(self) -> None:
        for pid in self.workers:
            _kill_group(pid)
        # What left its worker's group is adopted by this process when the worker has ended.
        with contextlib.suppress(ChildProcessError):
            while True:
                for pid in _read_child_processes():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                os.waitpid(-1, 0)


def _be_a_worker(keeper: int, descriptor: int, order: dict[str, Any]) -> NoReturn:
    status = 1
    try:
        # The wake-up descriptor is the keeper's own.
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()  # a group of its own: it ends with all that it starts
        _set_prctl_option(_DIE_WITH_PARENT, signal.SIGKILL)
        # The keeper may have ended before the option was set, which then never takes effect.
        if os.getppid() != keeper:
            os._exit(1)
        # A copy of the keeper has its generator: of numpy's the state is drawn afresh.
        np.random.seed(np.frombuffer(os.urandom(32), dtype=np.uint32))  # noqa: NPY002
        _move_to(order.get("folder"), order.get("environment"))
        if order.get("memory") is not None:
            _limit_memory(order["memory"])
        with contextlib.suppress(ConnectionError):  # nobody waits for the answer any more
            run_server(socket.socket(fileno=descriptor))
        status = 0
    except BaseException as error:
        if getattr(error, "errno", None) == errno.EBADF:
            status = CLOSED  # its code closed the channel: nothing else tells why
        else:
            traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(status)


def _move_to(folder: str | None, environment: dict[str, str] | None) -> None:
    """Stand where the program stands now, which may not be where it started the keeper."""
    if folder is not None:
        with contextlib.suppress(OSError):
            os.chdir(folder)
    if environment is not None:  # most of it stays: each change is a call of the system's library
        for name in os.environ.keys() - environment.keys():
            del os.environ[name]
        os.environ.update(environment.items() - os.environ.items())


def _limit_memory(size: int) -> None:
    import resource

    # Linux counts in DATA what a process has asked for to write on, and not what it maps.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    resource.setrlimit(kind, (size, size))


def _kill_group(pid: int) -> None:
    # A worker that failed before it had a group of its own is ended by its number.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _read_child_processes() -> list[int]:
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        return [int(one) for one in file.read().split()]
    return []


def _set_prctl_option(option: int, value: int) -> None:
    """Ask Linux for something about this process; other systems do not have it."""
    with contextlib.suppress(OSError, AttributeError):
        _load_system_library().prctl(option, value, 0, 0, 0)


@cache
def _load_system_library() -> Any:
    """Return the system's library on Linux; workers are copies of who has it."""
    return ctypes.CDLL(None) if sys.platform == "linux" else None


def main() -> NoReturn:
    """Keep workers for whoever holds the other end of the descriptor that is named."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):  # a flag of Python 3.11
        del sys.path[0]  # this folder, which has the names of other modules
    WorkerKeeper(control).run()


if __name__ == "__main__":
    main()
