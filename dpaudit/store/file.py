"""The file of a store: SQLite with a log of its own, typed data in it, and one line if it fails.

    audits    what was drawn: an identity, a name, the command, the machine, the seconds it took
    facts     decisions of an audit, by name
    stages    of an audit: the units of one purpose
    blocks    the result of a unit, by its place in the stage

Nothing in it is ever unpickled or imported. Several programs may use one file at a time; what they
write is the same where it is about the same.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dpaudit.errors import DataError
from dpaudit.execution.worker import pack_value, unpack_value

_ID = 0x64706131  # "dpa1"
_VERSION = 1
_PATIENCE = 20.0  # seconds for another program to be done writing
_HEAD = struct.Struct("!8sI")  # a digest of all that follows, and how long the description is
# What bytes that nobody encoded lead to.
_NO_BLOCK = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError,
             MemoryError, struct.error)  # fmt: skip
_SCHEMA = """
CREATE TABLE audits (
    id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, name TEXT NOT NULL,
    command TEXT NOT NULL, machine TEXT NOT NULL, began TEXT NOT NULL,
    seconds REAL NOT NULL DEFAULT 0, ended TEXT
);
CREATE TABLE facts (
    audit INTEGER NOT NULL REFERENCES audits(id) ON DELETE CASCADE,
    name TEXT NOT NULL, data BLOB NOT NULL, UNIQUE (audit, name)
);
CREATE TABLE stages (
    id INTEGER PRIMARY KEY, audit INTEGER NOT NULL REFERENCES audits(id) ON DELETE CASCADE,
    identity TEXT NOT NULL, name TEXT NOT NULL, units INTEGER NOT NULL, trials INTEGER NOT NULL,
    UNIQUE (audit, identity)
);
CREATE TABLE blocks (
    id INTEGER PRIMARY KEY, stage INTEGER NOT NULL REFERENCES stages(id) ON DELETE CASCADE,
    place INTEGER NOT NULL, data BLOB NOT NULL, UNIQUE (stage, place)
);
"""


_MADE = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"


def _list_schema_statements() -> list[str]:
    return [one.strip() for one in _SCHEMA.split(";") if one.strip()]


class StoreError(DataError):
    """A store that cannot be read or written; nothing that was drawn is lost by it."""


class Store:
    """A file that keeps audits.

    Parameters
    ----------
    path
        Of the file; it is created unless ``must_exist``.
    must_exist
        Whether there has to be one.

    Raises
    ------
    StoreError
        It is damaged, something else, locked, or cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "one") as store:
    ...     store.run("SELECT count(*) FROM audits")
    [(0,)]
    """

    def __init__(self, path: str | Path, *, must_exist: bool = False) -> None:
        self.path = Path(path)
        if must_exist and not os.path.isfile(self.path):
            raise StoreError(f"store {self.path}: there is no such file")
        if not must_exist:
            self._make()
        with self._spoken_of():
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        try:
            with self._spoken_of():
                self._open()
        except BaseException:
            self._connection.close()
            raise

    def _make(self) -> None:
        """Let there be a file that only its owner may read, from its first moment."""
        try:
            # Outputs may be of confidential data. SQLite would create the file by the user's mask,
            # and a change of rights comes too late for whoever opened it before.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL, 0o600))
        except OSError:  # there is one, or SQLite says what is wrong
            pass

    def _open(self) -> None:
        # Tables come before the number of the application: another program may begin the file now.
        tables = self.run("SELECT count(*) FROM sqlite_master")[0][0]
        application, version = (self._pragma(name) for name in ("application_id", "user_version"))
        if application not in (0, _ID) or (application == 0 and tables):
            raise StoreError(f"store {self.path}: this is a database, but not a store of dpaudit")
        if version > _VERSION:
            raise StoreError(f"store {self.path}: it is of a later dpaudit; use that one")
        for pragma in (
            # A file from elsewhere must not call functions by its schema. A log of its own lets
            # readers go on while somebody writes, and with it a crash of the program loses nothing
            # that was written.
            "trusted_schema=OFF",
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
        ):
            self.run(f"PRAGMA {pragma}")
        if not tables:
            with self.together():
                # Asked again under the lock: another program may have made the tables meanwhile.
                if not self.run("SELECT count(*) FROM sqlite_master")[0][0]:
                    for statement in _list_schema_statements():
                        self.run(statement)
                    self.run(f"PRAGMA application_id={_ID}")
                    self.run(f"PRAGMA user_version={_VERSION}")
            self.path.chmod(0o600)
        self._refuse_what_is_not_ours()

    def _refuse_what_is_not_ours(self) -> None:
        """Refuse tables that another schema made, and whatever a database can do by itself."""
        found = {(kind, name): sql for kind, name, sql in self.run(_MADE)}
        own = {("table", one.split()[2]): one for one in _list_schema_statements()}
        differing = [name for (_, name), sql in own.items() if found.get(("table", name)) != sql]
        # Triggers run, and views answer, with statements that the file brings along.
        active = [name for kind, name in found if kind in ("trigger", "view")]
        if differing or active:
            said = f"its {', '.join(map(str, differing + active))} is not that of a store"
            raise StoreError(f"store {self.path}: {said}; name another with --store")

    def _pragma(self, name: str) -> int:
        return int(self.run(f"PRAGMA {name}")[0][0])

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the last one who does leaves nothing beside it."""
        with self._spoken_of():
            self._connection.close()

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a statement."""
        with self._spoken_of():
            return self._connection.execute(statement, values).fetchall()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a statement, one in memory at a time."""
        with self._spoken_of():
            yield from self._connection.execute(statement, values)

    def write(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Carry out a statement for every row, for all of them or for none."""
        with self.together(), self._spoken_of():
            self._connection.executemany(statement, rows)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Write everything in the block, or nothing of it; a block within one is a part of it."""
        inside = self._connection.in_transaction
        if not inside:
            # The lock to write is taken at once: a transaction that read first could not get it
            # while another one writes, and would fail without waiting.
            self.run("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if not inside and self._connection.in_transaction:  # a full disk ends it by itself
                self._connection.rollback()
            raise
        if not inside:
            self.run("COMMIT")

    @contextmanager
    def _spoken_of(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"store {self.path}: {_explain_sqlite_error(str(error))}") from error
        except UnicodeDecodeError as error:  # a name in it is no text any more
            raise StoreError(f"store {self.path}: {_explain_sqlite_error('malformed')}") from error


def _explain_sqlite_error(said: str) -> str:
    if "locked" in said or "busy" in said:
        return f"another program has kept it locked for {_PATIENCE:g} seconds; try again"
    if "full" in said:
        return "the disk is full; make room, and run the same command again"
    if "readonly" in said or "unable to open" in said:
        return f"it cannot be written ({said}); name another with --store, or use --no-store"
    if "not a database" in said or "malformed" in said or "disk image" in said:
        return f"it is damaged ({said}); move it away, or name another with --store"
    return f"it cannot be used ({said})"


def seconds_of(given: Any, path: Path) -> float:
    """Return the seconds that an audit took, as a store says.

    Raises
    ------
    StoreError
        It says something else.

    Examples
    --------
    >>> seconds_of(1.5, Path("mine.sqlite"))
    1.5
    """
    if not isinstance(given, (int, float)) or not 0 <= given < math.inf:
        said = "the seconds of an audit are no such number; move it away, or name another file"
        raise StoreError(f"store {path}: {said}")
    return float(given)


def encode_block(value: Any) -> bytes:
    """Return numbers, arrays, text, and containers of them, as bytes.

    Raises `dpaudit.execution.worker.CannotBeSent` on anything else.

    Examples
    --------
    >>> decode_block(encode_block({"a": (1, 2.5), "b": [None, "c"]}))
    {'a': (1, 2.5), 'b': [None, 'c']}
    """
    buffers: list[Any] = []
    content = pack_value(value, buffers)
    head = json.dumps([content, [len(one) for one in buffers]]).encode()
    body = b"".join([head, *map(bytes, buffers)])
    return _HEAD.pack(_compute_block_digest(body), len(head)) + body


def _compute_block_digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=8).digest()


def decode_block(data: bytes, path: Path | None = None) -> Any:
    """Return the value that `encode_block` packed, from a store's file.

    Raises
    ------
    StoreError
        These are no such bytes.
    """
    try:
        digest, size = _HEAD.unpack_from(data)
        # Before anything is read of it: bytes that were damaged might still decode, to other
        # numbers.
        if digest != _compute_block_digest(data[_HEAD.size :]):
            raise ValueError("other bytes than were kept")
        start = _HEAD.size + size
        content, sizes = json.loads(data[_HEAD.size : start])
        view, buffers = memoryview(data), []
        for one in sizes:
            buffers.append(view[start : start + one])
            start += one
        if start != len(data):
            raise ValueError("of another length")
        return unpack_value(content, buffers)
    except _NO_BLOCK as error:
        said = f"a block in it is damaged ({error}); move it away, or name another with --store"
        raise StoreError(f"store{'' if path is None else f' {path}'}: {said}") from error
