"""The part of an audit that a store keeps, and returns when the audit goes on.

An audit is known by its identity: name, code, mechanism, pair, claim and settings
(`dpaudit.store.identity`), so that a changed mechanism never meets the outputs of an old one. In it
a stage is known by its task, its name and its units. Results are kept from the moment that they
arrive: an interruption, of whatever kind, loses the units that are being drawn.

A store that fails in the middle of an audit, as the disk is full, is given up with a warning: the
audit goes on without it.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from dpaudit.execution.ledger import FactT, RunLedger, set_current_ledger
from dpaudit.execution.machine import machine_here
from dpaudit.execution.units import Unit
from dpaudit.execution.worker import CannotBeSent
from dpaudit.store.cache import MOST, remove_stale_audits, set_aside
from dpaudit.store.catalogue import MACHINE, MEASURED
from dpaudit.store.file import Store, StoreError, decode_block, encode_block, seconds_of
from dpaudit.store.identity import identified
from dpaudit.store.sealing import UnidentifiedValue

# A file that nobody named is begun when so much is at stake.
_WORTH = 1.0  # seconds
_BYTES = 32 * 2**20
_CURE = (
    "Name files and variables in the code as they are, or give a mechanism the attribute "
    "__identity__: a text that changes whenever its law does"
)


class NotKept(UserWarning):
    """A store that keeps no outputs, or no longer does."""


@dataclass
class Storing:
    """The place of kept audits: a file that is opened when there is something to keep.

    Parameters
    ----------
    path
        Of the file.
    command
        What the command is that draws, in typed fields, for `dpaudit resume`.
    at_once
        Whether the file is begun at once, and not when it is worth it.
    in_the_end
        Whether an audit that ended before it was worth it is kept too.
    for_a_while
        Whether what ended is forgotten, and there is a limit of size and age: in a file that
        nobody named.

    Attributes
    ----------
    taken, decided
        Trials of units whose results were kept before, and were not drawn again, and decisions.
    left_out
        What differs from run to run by its nature, and is no part of an identity.
    """

    path: Path
    command: Mapping[str, Any] = field(default_factory=dict)
    at_once: bool = True
    in_the_end: bool = True
    for_a_while: bool = False
    taken: int = field(default=0, init=False)
    decided: int = field(default=0, init=False)
    left_out: set[str] = field(default_factory=set, init=False)
    _store: Store | None = field(default=None, repr=False)

    def open(self) -> Store:
        """Return the store, opened the first time."""
        if self._store is None:
            try:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreError(f"store {self.path}: {error.strerror}") from error
            self._store = Store(self.path)
            if self.for_a_while:
                remove_stale_audits(self._store)
        return self._store

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self._store is not None or os.path.isfile(self.path)  # of any name

    @property
    def is_open(self) -> bool:
        """Whether something was kept, or looked for, in the file."""
        return self._store is not None

    def close(self) -> None:
        """Close the file, if it was opened."""
        if self._store is not None:
            self._store.close()
            self._store = None


_storing: ContextVar[Storing | None] = ContextVar("storing", default=None)


@contextmanager
def use_storing(where: Storing | None) -> Iterator[None]:
    """Keep the audits of the block in a file, or none of them.

    Examples
    --------
    >>> import tempfile
    >>> from dpaudit.execution import Executor, plan_units
    >>> from dpaudit.execution.units import stream
    >>> drawn = []
    >>> def draw(unit):
    ...     drawn.append(unit.trials)
    ...     return unit.generator().random(unit.trials)
    >>> units = plan_units(100, size=50, seed=stream(0, "doctest"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for _ in range(2):
    ...         with use_storing(Storing(Path(folder) / "store")), keep_audit("one", "any"):
    ...             first, second = Executor().map(draw, units, "drawing")
    >>> drawn, first.shape
    ([50, 50], (50,))
    """
    before = _storing.set(where)
    try:
        yield
    finally:
        _storing.reset(before)
        if where is not None:
            where.close()


def where_stored() -> Storing | None:
    """Return where the audits of this block are kept, None if nowhere."""
    return _storing.get()


@contextmanager
def keep_audit(name: str, *known_by: Any) -> Iterator[RunLedger]:
    """Keep the draws of the block, as an audit that is known by a name and these values.

    Where nothing is stored, nothing identifies the values, or their code reads what nobody can look
    at beforehand, nothing is kept.
    """
    where = _storing.get()
    if where is None:
        yield RunLedger()
        return
    try:
        # With what caches hold: an answer that was kept before may be another than the code would
        # give now.
        identity = identified(name, known_by, caches=True)
    except UnidentifiedValue as error:
        with _warn_if_not_kept(where, f"{name}: not kept: nothing identifies a {error}"):
            yield RunLedger()
        return
    if identity.unseen:
        said = f"{name}: not kept, as a change is not seen of {'; '.join(identity.unseen)}"
        with _warn_if_not_kept(where, f"{said}. {_CURE}"):
            yield RunLedger()
        return
    where.left_out.update(identity.left_out)
    ledger = KeptAudit(where, name, identity.sealed())
    with set_current_ledger(ledger):
        yield ledger


@contextmanager
def _warn_if_not_kept(where: Storing, words: str) -> Iterator[None]:
    """Warn that an audit is not kept: before it, if a file was named; after it, if it took long."""
    if where.at_once:
        warnings.warn(words, NotKept, stacklevel=5)
    began = monotonic()
    yield
    if where.in_the_end and not where.at_once and monotonic() - began > _WORTH:
        warnings.warn(words, NotKept, stacklevel=5)


Write = Callable[[Store, int], None]  # of something, to an audit of a store


class KeptAudit(RunLedger):
    """The ledger of one audit, in a store.

    Parameters
    ----------
    where
        The store.
    name, identity
        Of the audit.

    Attributes
    ----------
    elsewhere
        What was different about the machine on which the audit was begun, if anything was.
    """

    def __init__(self, where: Storing, name: str, identity: str) -> None:
        self.where, self.name, self.identity = where, name, identity
        self.number = 0
        self._began, self._failed = monotonic(), False
        self._waiting: list[Write] = []
        self._bytes = self._in_all = 0
        self._digests: dict[int, tuple[Any, str]] = {}
        if where.at_once:
            self._enter()
        elif where.exists:
            self._flush()

    def _enter(self) -> None:
        """Find the audit in the file, or begin it there."""
        store, machine = self.where.open(), machine_here()
        command = json.dumps(dict(self.where.command))
        row = (self.identity, self.name, command, json.dumps(machine), _format_current_time())
        store.write(_AUDIT, [row])
        found = store.run(
            "SELECT id, machine, seconds FROM audits WHERE identity = ?", (self.identity,)
        )
        self.number, self.seconds = int(found[0][0]), seconds_of(found[0][2], self.where.path)
        if (here := json.dumps(machine)) != found[0][1]:
            store.write(_FACT, [(self.number, f"{MACHINE}{here}", encode_block(None))])
        facts = "SELECT name FROM facts WHERE audit = ? AND name LIKE ?"
        names = store.run(facts, (self.number, f"{MACHINE}%"))
        others = [found[0][1], *(str(name).removeprefix(MACHINE) for (name,) in names)]
        self.elsewhere = _find_machine_differences(machine, others, self.where.path)

    def read(self, statement: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return rows about this audit, whose number is the statement's first value."""
        if not self.number or self._failed:
            return []
        try:
            return self.where.open().run(statement, (self.number, *values))
        except StoreError as error:
            self.give_up_or_raise(error)
            return []

    def give_up_or_raise(self, error: StoreError) -> None:
        """Go on without a file that nobody named and that cannot be read; raise of any other."""
        if not self.where.for_a_while:
            raise error
        self._give_up(error)

    def _give_up(self, error: StoreError) -> None:
        if not self._failed:
            self._failed = True
            warnings.warn(f"{error}; the audit goes on and is not kept", NotKept, stacklevel=3)

    def fact(
        self, name: str, compute: Callable[[], FactT], about: Any = None, *, measures: bool = False
    ) -> FactT:
        """Return the decision under a name about something, or make and keep it."""
        try:
            name = f"{MEASURED}{name}" if measures else name
            name = f"{name}: {self._about(about)}" if about is not None else name
        except UnidentifiedValue:
            return compute()
        if known := self._decided(name):
            self.where.decided += 1
            found: FactT = known[0]
            return found
        decided = compute()
        try:
            data = encode_block(decided)
        except CannotBeSent:
            return decided
        self.put([lambda store, audit: store.write(_FACT, [(audit, name, data)])], len(data))
        # Of two programs that decide at once the first has decided for both.
        known = self._decided(name)
        first: FactT = known[0] if known else decided
        return first

    def knows(self, name: str) -> bool:
        """Return whether anything was decided under a name, by this run or before it."""
        return bool(self._decided(name))

    def _decided(self, name: str) -> list[Any]:
        """Return the decision under a name, in a list; an empty one if there is none."""
        try:
            return [decode_block(data, self.where.path) for (data,) in self.read(_DECIDED, name)]
        except StoreError as error:
            self.give_up_or_raise(error)
            return []

    def stage(
        self, task: Any, units: Sequence[Unit], name: str, *, measures: bool = False
    ) -> StoreStage | None:
        """Return the kept part of a stage; None if nothing identifies its task."""
        try:
            identity = identified(name, self._arguments(task), _describe_stage_units(units)).digest
        except UnidentifiedValue:
            return None
        if measures:
            self.fact(identity, lambda: True, measures=True)
        return None if self._failed else StoreStage(self, identity, name, units)

    def _arguments(self, task: Any) -> Any:
        """Return a task with digests in place of its arguments, which may be large."""
        if not isinstance(task, partial):
            return task
        return task.func, [self._digest(one) for one in task.args], task.keywords

    def _about(self, about: Any) -> str:
        parts = about if isinstance(about, tuple) else (about,)
        return identified([self._digest(one) for one in parts]).digest

    def _digest(self, value: Any) -> str:
        if id(value) not in self._digests:
            # The value is kept beside its digest, as its id would go to another object once it is
            # gone.
            self._digests[id(value)] = value, identified(value).digest
        return self._digests[id(value)][1]

    def put(self, writes: Sequence[Write], size: int) -> None:
        """Write something of so many bytes, now or when the file is begun."""
        self._waiting += writes
        self._bytes += size
        self._in_all += size
        taken = monotonic() - self._began
        # A file in the cache is begun only when an interruption would cost something: most audits
        # end before.
        if self.number or taken > _WORTH or self._bytes > _BYTES:
            self._flush()

    def _flush(self) -> None:
        """Write all that waits; a store that fails is given up, with a warning."""
        # Taken first: what fails is not written a second time.
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if self._failed:
            return
        try:
            if self.where.for_a_while and self._in_all > MOST:
                raise StoreError(_TOO_MUCH.format(path=self.where.path))
            if not self.number:
                self._enter()
            store = self.where.open()
            with store.together():
                for write in waiting:
                    write(store, self.number)
                seconds = self.seconds + monotonic() - self._began
                store.run("UPDATE audits SET seconds = ? WHERE id = ?", (seconds, self.number))
        except StoreError as error:
            self._give_up(error)

    def end(self) -> None:
        """Take note that the audit ended."""
        if self.number or self.where.at_once or self.where.in_the_end:
            self._waiting.append(partial(self._ended, _format_current_time()))
            self._flush()

    def _ended(self, now: str, store: Store, audit: int) -> None:
        if self.where.for_a_while:
            set_aside(store, audit, now)
        else:
            store.run("UPDATE audits SET ended = ? WHERE id = ?", (now, audit))


def _find_machine_differences(
    machine: dict[str, str], others: Sequence[str], path: Path
) -> tuple[str, ...]:
    """Return in which parts other machines, in JSON, are not the one here."""
    try:
        read = [dict(json.loads(one)) for one in others]
    except (ValueError, TypeError, RecursionError) as error:
        raise StoreError(f"store {path}: what it says of a machine is no such thing") from error
    said = (
        f"{part} {one.get(part)}, now {here}"
        for one in read
        for part, here in machine.items()
        if one.get(part) != here
    )
    return tuple(dict.fromkeys(said))


_TOO_MUCH = "store {path}: of one audit it keeps 1 GiB at most; name a file of its own with --store"
_AUDIT = (
    "INSERT OR IGNORE INTO audits (identity, name, command, machine, began) VALUES (?, ?, ?, ?, ?)"
)
_FACT = "INSERT OR IGNORE INTO facts (audit, name, data) VALUES (?, ?, ?)"
_DECIDED = "SELECT data FROM facts WHERE audit = ? AND name = ?"
_STAGE = (
    "INSERT OR IGNORE INTO stages (audit, identity, name, units, trials) VALUES (?, ?, ?, ?, ?)"
)
_BLOCK = "INSERT OR IGNORE INTO blocks (stage, place, data) VALUES (?, ?, ?)"


class StoreStage:
    """The kept units of one purpose.

    Parameters
    ----------
    audit
        Whose stage it is.
    identity, name
        Of the stage.
    units
        All of them.
    """

    def __init__(self, audit: KeptAudit, identity: str, name: str, units: Sequence[Unit]) -> None:
        self.audit, self.identity, self.name = audit, identity, name
        self._sizes = [unit.trials for unit in units]
        self.units, self.trials = len(units), sum(self._sizes)
        self._number = 0
        self._places = {
            int(place): int(row)
            for place, row in audit.read(
                "SELECT place, blocks.id FROM blocks JOIN stages ON stages.id = stage "
                # A file from elsewhere may hold any type in any column.
                "WHERE audit = ? AND identity = ? AND typeof(place) = 'integer' "
                "AND place BETWEEN 0 AND ?",
                identity,
                self.units - 1,
            )
        }

        if audit.where.for_a_while and self._places:
            self._look_through()

    def _look_through(self) -> None:
        """Look at every result before one counts: nobody named the file, so none ends the audit."""
        try:
            for place in self._places:
                self._load(place)
        except StoreError as error:
            self.audit.give_up_or_raise(error)
            self._places = {}

    @property
    def there(self) -> frozenset[int]:
        """Places of units whose results were kept before."""
        return frozenset(self._places)

    def load(self, place: int) -> Any:
        """Return a result that was kept before."""
        found = self._load(place)
        self.audit.where.taken += self._sizes[place]
        return found

    def _load(self, place: int) -> Any:
        store = self.audit.where.open()
        rows = store.run("SELECT data FROM blocks WHERE id = ?", (self._places[place],))
        if not rows:
            raise StoreError(f"store {store.path}: another program forgot what it kept; try again")
        return decode_block(rows[0][0], store.path)

    def keep(self, places: Sequence[int], results: Sequence[Any]) -> None:
        """Keep results of units; one that is no typed data is drawn again, if ever."""
        try:
            rows = [(place, encode_block(one)) for place, one in zip(places, results, strict=True)]
        except CannotBeSent:
            return
        self.audit.put([partial(self._write, rows)], sum(len(data) for _, data in rows))

    def _write(self, rows: Sequence[tuple[int, bytes]], store: Store, audit: int) -> None:
        if not self._number:
            store.run(_STAGE, (audit, self.identity, self.name, self.units, self.trials))
            found = store.run(
                "SELECT id FROM stages WHERE audit = ? AND identity = ?", (audit, self.identity)
            )
            self._number = int(found[0][0])
        store.write(_BLOCK, [(self._number, place, data) for place, data in rows])


def _describe_stage_units(units: Sequence[Unit]) -> tuple[Any, ...]:
    """Return the identity of a stage's units."""
    trials = np.array([unit.trials for unit in units])
    which = np.array([unit.which for unit in units])
    seeds = [(unit.seed.entropy, unit.seed.spawn_key) for unit in units]
    return trials, which, repr(seeds)


def _format_current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
