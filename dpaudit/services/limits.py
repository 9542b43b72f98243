"""Limits of a service's requests: the pace of all processes together, and a journal.

Workers are processes, and one limit holds for all. They share a file that begins with the service
object of the program that audits and ends with the last process that uses it
(`dpaudit.execution.leftovers`): the moment of the next request, how many there were, and what was
seen of the service. None of it decides an output.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from secrets import token_hex

import dpaudit.execution.leftovers as leftovers

_FAR = 3600.0  # seconds: a moment so far ahead was written by another clock
_MOST = 8  # versions that are listed


@dataclass(frozen=True)
class ServiceUsage:
    """The observations of a service in all processes.

    Parameters
    ----------
    requests, answers, refusals
        Requests that were sent, answers that are outputs, and answers that asked to wait.
    first, last
        Seconds of the epoch, of the first answer and of the last.
    versions
        What the service said of its version, each once.
    cached
        Answers of which a header says that they came from a cache.
    said_by
        That header.
    """

    requests: int = 0
    answers: int = 0
    refusals: int = 0
    first: float = 0.0
    last: float = 0.0
    versions: tuple[str, ...] = ()
    cached: int = 0
    said_by: str = ""

    def with_answer(self, version: str, cache: str) -> ServiceUsage:
        """Return this with one more answer."""
        known = version in self.versions or not version or len(self.versions) >= _MOST
        now = time.time()
        return replace(
            self,
            answers=self.answers + 1,
            first=self.first or now,
            last=now,
            versions=self.versions if known else (*self.versions, version),
            cached=self.cached + bool(cache),
            said_by=self.said_by or cache,
        )


@dataclass
class _Page:
    """The content of the file."""

    next: float = 0.0
    seen: ServiceUsage = field(default_factory=ServiceUsage)


class JournalToken:
    """The name of a journal; the program that made it deletes the file when the token goes.

    Parameters
    ----------
    name
        Another one for every service object.
    """

    def __init__(self) -> None:
        self.name = token_hex(8)
        weakref.finalize(self, Journal(self.name).leave)

    def __reduce__(self) -> tuple[Callable[[str], JournalToken], tuple[str]]:
        """Return a token for another process, whose end is not the end of the journal."""
        # The file is made before its name is handed on, or two processes could each make a
        # folder of their own.
        _ = Journal(self.name).path
        return _make_named_token, (self.name,)


def _make_named_token(name: str) -> JournalToken:
    found = object.__new__(JournalToken)
    found.name = name
    return found


class Journal:
    """The file that processes share.

    Parameters
    ----------
    token
        Names its folder, among those for temporary files.

    Examples
    --------
    >>> journal = Journal("of-a-doctest")
    >>> journal.turn(rate=None), journal.note(lambda seen: seen.with_answer("v1", ""))
    (0.0, None)
    >>> journal.seen.requests, journal.seen.answers, journal.seen.versions
    (1, 1, ('v1',))
    >>> journal.leave()
    """

    def __init__(self, token: str) -> None:
        self._name = f"service-{token}"

    @property
    def path(self) -> Path:
        """The file, in a folder that this process uses from now on."""
        return leftovers.make_held_folder(self._name) / "journal"

    @property
    def seen(self) -> ServiceUsage:
        """The observations of all processes."""
        with self._page() as page:
            return page.seen

    def turn(self, rate: float | None) -> float:
        """Take the next turn of a request; return how many seconds it is away."""
        with self._page() as page:
            now = time.monotonic()
            page.seen = replace(page.seen, requests=page.seen.requests + 1)
            if rate is None and page.next <= now:
                return 0.0
            begin = max(now, page.next) if page.next < now + _FAR else now
            page.next = begin + (1 / rate if rate else 0.0)
            return begin - now

    def hold(self, seconds: float) -> None:
        """Let all processes wait so long, as the service asked for it."""
        with self._page() as page:
            page.next = max(page.next, time.monotonic() + seconds)
            page.seen = replace(page.seen, refusals=page.seen.refusals + 1)

    def note(self, change: Callable[[ServiceUsage], ServiceUsage]) -> None:
        """Note a change of the usage."""
        with self._page() as page:
            page.seen = change(page.seen)

    def leave(self) -> None:
        """Leave the file, which goes unless another process uses it."""
        leftovers.leave_held_folder(self._name)

    @contextmanager
    def _page(self) -> Iterator[_Page]:
        """Yield the content of the file, which nobody else has meanwhile, and write it back."""
        # Without O_NOFOLLOW somebody who can write to the folder could have another file of the
        # user's overwritten.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.open(self.path, flags, 0o600)
        try:
            # The lock goes with the descriptor, so that a process that is killed leaves none
            # behind.
            fcntl.flock(file, fcntl.LOCK_EX)
            page = _parse_journal_page(os.pread(file, 2**20, 0))
            yield page
            written = json.dumps({"next": page.next, "seen": asdict(page.seen)}).encode()
            os.pwrite(file, written, 0)
            os.ftruncate(file, len(written))
        finally:
            os.close(file)


def _parse_journal_page(written: bytes) -> _Page:
    try:
        found = json.loads(written)
        seen = found["seen"] | {"versions": tuple(found["seen"]["versions"])}
        return _Page(found["next"], ServiceUsage(**seen))
    except (ValueError, TypeError, KeyError):  # it is new, or a process ended as it wrote
        return _Page()
