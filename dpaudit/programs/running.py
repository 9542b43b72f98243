"""Processes of programs: their input, their output, and how they ended."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from time import monotonic

from dpaudit.programs.printed_text import LONGEST

_CHUNK = 2**20
_PIPE = 1031  # F_SETPIPE_SZ of Linux
_LAST = 2**14  # bytes of standard error that are remembered
_LINES = 5  # of them that are said
_NAMES_ERROR = re.compile(  # Python, JavaScript and Java; Java; Rust; Go; R; Julia; Ruby
    r"^(Uncaught |Caused by: )?[\w.$:]*(Error|Exception)\b.*:|^Exception in thread |\bpanicked at "
    r"|^panic: |^Error in |^ERROR: |: .* \(\w+(Error|Exception)\)$"
)
_FIRST = 5.0  # seconds after which somebody is told what is waited for
_END = 10.0  # seconds that a program has to end by itself, once it writes no more
_AFTER = 1.0  # seconds in which somebody else may write what a program that ended has left
_THREAD = re.compile(
    r"^(thread '[^']*') \(\d+\)(?= panicked at )"
)  # its number is another each run


class ProgramFailed(RuntimeError):
    """A program that ended, or cannot be started; ``how`` holds no words of its own."""

    def __init__(self, how: str, said: str = "") -> None:
        self.how, self.said = how, said
        super().__init__(f"{how}: {said}" if said else how)


class TooMuch(RuntimeError):
    """A program writes more than anybody reads."""


class ProgramProcess:
    """One process of a program, whose pipes are read and written without waiting for another.

    Parameters
    ----------
    words
        The program and its arguments.
    folder
        Where it runs.
    stdin
        What it reads, as a whole; None leaves its standard input open for `write`.
    """

    def __init__(self, words: Sequence[str], folder: str | None, stdin: bytes | None) -> None:
        self.own_group = os.getsid(0) != os.getpid()  # a worker's group is ended with the worker
        try:
            self.popen = subprocess.Popen(
                words,
                cwd=folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=self.own_group,
            )
        except OSError as error:
            raise ProgramFailed(f"cannot be started ({error.strerror})") from None
        self._out, self.read = bytearray(), 0
        self._errors = bytearray()
        self._unsent = memoryview(stdin or b"")
        self._whole = stdin is not None
        self._selector = selectors.DefaultSelector()
        self._watch()

    def _watch(self) -> None:
        popen = self.popen
        assert popen.stdin is not None
        assert popen.stdout is not None
        assert popen.stderr is not None
        _set_pipe_capacity(popen.stdout.fileno())
        # A blocking write would wait for a program that itself waits for its own output to be
        # read.
        os.set_blocking(popen.stdin.fileno(), False)
        self._selector.register(popen.stdout, selectors.EVENT_READ)
        self._selector.register(popen.stderr, selectors.EVENT_READ)
        self._sending()

    @property
    def said(self) -> str:
        """The lines of its standard error that name the failure."""
        return what_failed(self._errors.decode("utf-8", "replace"))

    def write(self, data: bytes) -> None:
        """Send bytes with the next reading."""
        self._unsent = memoryview(bytes(self._unsent) + data)
        self._sending()

    def take(self) -> bytes:
        """Return the bytes that came, and forget them."""
        found = bytes(self._out)
        self._out.clear()
        return found

    @property
    def waiting(self) -> bytearray:
        """The bytes that came and that nobody took."""
        return self._out

    def wait_for_more(self, seconds: float | None) -> bool:
        """Read new bytes; return whether more bytes of output came in so many seconds.

        Raises
        ------
        EOFError
            Its output has ended.
        """
        until = None if seconds is None else monotonic() + seconds
        while True:
            left = None if until is None else max(0.0, until - monotonic())
            ready = self._selector.select(left)
            if not ready:
                return False
            # A list, since `any` over a generator would stop at the first stream and leave the
            # others unread.
            if any([self._handle_stream(key.fileobj) for key, _ in ready]):
                return True

    def _handle_stream(self, stream: object) -> bool:
        """Read from or write to a ready stream; return whether output came."""
        if stream is self.popen.stdin:
            self._send()
            return False
        if stream is self.popen.stderr:
            self._note_errors()
            return False
        assert self.popen.stdout is not None
        if not (found := os.read(self.popen.stdout.fileno(), _CHUNK)):
            raise EOFError
        self._out += found
        self.read += len(found)
        return True

    def _note_errors(self) -> None:
        assert self.popen.stderr is not None
        found = os.read(self.popen.stderr.fileno(), _CHUNK)
        if not found:
            self._selector.unregister(self.popen.stderr)
        self._errors = (self._errors + found)[-_LAST:]

    def _sending(self) -> None:
        stdin = self.popen.stdin
        assert stdin is not None
        registered = stdin in self._selector.get_map()
        if self._unsent and not registered and not stdin.closed:
            self._selector.register(stdin, selectors.EVENT_WRITE)
        elif not self._unsent and registered:
            self._selector.unregister(stdin)
        if self._whole and not self._unsent and not stdin.closed:
            stdin.close()

    def _send(self) -> None:
        assert self.popen.stdin is not None
        try:
            sent = os.write(self.popen.stdin.fileno(), self._unsent[:_CHUNK])
            self._unsent = self._unsent[sent:]
        except BlockingIOError:
            return
        except OSError:  # it reads no more, which is no fault by itself
            self._unsent = self._unsent[:0]
        self._sending()

    def ended(self) -> ProgramFailed | None:
        """Wait for the end of a program that writes no more; return how it ended, if it failed."""
        try:
            status = self.popen.wait(_END)
        except subprocess.TimeoutExpired:
            self.kill()
            return ProgramFailed("closed its standard output and went on", self.said)
        if status:
            self._drain_errors()
        self.kill()
        return ProgramFailed(how_ended(status), self.said) if status else None

    @property
    def has_ended(self) -> bool:
        """Whether the program has ended; processes that it started may still write."""
        return self.popen.poll() is not None

    def _drain_errors(self) -> None:
        until = monotonic() + _AFTER
        while self.popen.stderr in self._selector.get_map() and monotonic() < until:
            for key, _ in self._selector.select(max(0.0, until - monotonic())):
                if key.fileobj is self.popen.stderr:
                    self._note_errors()
                else:
                    self._selector.unregister(key.fileobj)

    def close(self) -> None:
        """Let it end by itself, as its input ends, and end it if it does not."""
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            assert self.popen.stdin is not None
            self.popen.stdin.close()
            self.popen.wait(_END)
        self.kill()

    def kill(self) -> None:
        """End it now, with the processes that it started if they are known."""
        # Within a worker, which leads its session, the group is the worker's own: to kill it
        # would end the worker.
        if self.own_group:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.kill()
        self.popen.wait()
        self._selector.close()
        for stream in (self.popen.stdin, self.popen.stdout, self.popen.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()


def what_failed(errors: str) -> str:
    r"""Return a few lines of standard error: from the last one that names an error, or the last.

    Where there is room, the lines before it too. Python names an error in its last line, Node.js
    before the calls that led to it.

    Examples
    --------
    >>> what_failed("a.js:3\n\nTypeError: rows.summe is no function\n    at main\n\nNode.js v20")
    'a.js:3 / TypeError: rows.summe is no function / at main / Node.js v20'
    >>> what_failed("  File 'a.py', line 1\nKeyError: 'age'")
    "File 'a.py', line 1 / KeyError: 'age'"
    """
    lines = [_THREAD.sub(r"\1", line.strip()) for line in errors.splitlines() if line.strip()]
    naming = [place for place, line in enumerate(lines) if _NAMES_ERROR.search(line)]
    last = max(0, len(lines) - _LINES)
    first = min(naming[-1], last) if naming else last
    return " / ".join(lines[first : first + _LINES])


def how_ended(status: int) -> str:
    """Return how a program ended, in words.

    Examples
    --------
    >>> how_ended(3), how_ended(-9)
    ('ended with status 3', 'was ended by signal SIGKILL')
    """
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by signal {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"


def run_program(words: Sequence[str], folder: str | None, stdin: bytes) -> bytes:
    """Return the printed text of a program that was run to its end.

    Raises
    ------
    ProgramFailed
        It cannot be started, or its status is not 0.
    TooMuch
        It prints more than an output may have.
    """
    process = ProgramProcess(words, folder, stdin)
    try:
        with contextlib.suppress(EOFError):
            _read_all(process, words[0])
        if (failed := process.ended()) is not None:
            raise failed
        return process.take()
    finally:
        process.kill()


def _read_all(process: ProgramProcess, name: str) -> None:
    """Read a program's output, to its end at most."""
    waits = make_patience_steps()
    next_word = monotonic() + next(waits)
    while True:
        came = process.wait_for_more(_AFTER)
        if process.read > LONGEST:
            raise TooMuch(f"more than {LONGEST} bytes")
        if not came and process.has_ended:  # what it started holds its output open
            return
        if monotonic() > next_word:
            print_waiting_message(f"waiting for an output of {name}")
            next_word = monotonic() + next(waits)


def make_patience_steps() -> Iterator[float]:
    """Yield ever more seconds: somebody is told after each that something is waited for."""
    seconds = _FIRST
    while True:
        yield seconds
        seconds *= 3


def print_waiting_message(what: str) -> None:
    """Tell whoever waits the reason."""
    print(f"dpaudit: {what}", file=sys.stderr, flush=True)


def _set_pipe_capacity(descriptor: int) -> None:
    """Let a pipe hold more, where a system can."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(descriptor, _PIPE, _CHUNK)
