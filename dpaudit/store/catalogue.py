"""The catalogue of a store, in words and in numbers, with exclusions and merges."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from dpaudit.errors import DataError, InvalidArgument
from dpaudit.store.file import Store, StoreError, decode_block, encode_block, seconds_of

RowT = TypeVar("RowT")
# How names of facts begin.
MACHINE = "machine: "  # describes, in JSON, a machine that computed some of an audit
MEASURED = "measured: "
ANOTHER_MACHINE = "INSERT OR IGNORE INTO facts (audit, name, data) VALUES (?, ?, ?)"
_ROWS = 250_000  # of a table in memory at a time


@dataclass(frozen=True)
class StoreEntry:
    """An audit in a store.

    Parameters
    ----------
    number, name, command
        Its number in this file, its name, and the fields of the command that draws it: none where
        it was begun otherwise.
    began, ended
        When, in UTC; ``ended`` is None while it has no result.
    seconds
        It has taken so far.
    units, planned
        Results that are kept, of so many in the stages that were begun.
    size
        Bytes of what is kept.
    machine
        Where it was begun.
    """

    number: int
    name: str
    command: dict[str, Any]
    began: str
    ended: str | None
    seconds: float
    units: int
    planned: int
    size: int
    machine: dict[str, str]


def list_store_entries(store: Store) -> list[StoreEntry]:
    """Return the audits of a store, in the order in which they were begun."""
    rows = store.run(
        "SELECT audits.id, audits.name, command, began, ended, seconds, machine, "
        "(SELECT count(*) FROM blocks JOIN stages ON stages.id = stage WHERE audit = audits.id), "
        "(SELECT coalesce(sum(units), 0) FROM stages WHERE audit = audits.id), "
        "(SELECT coalesce(sum(length(data)), 0) FROM blocks JOIN stages ON stages.id = stage "
        " WHERE audit = audits.id) FROM audits ORDER BY audits.id"
    )
    try:
        return [_make_store_entry(store.path, *row) for row in rows]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"store {store.path}: its entry for an audit is damaged") from error


def _make_store_entry(path: Path, *row: Any) -> StoreEntry:
    number, name, command, began, ended, seconds, machine, units, planned, size = row
    return StoreEntry(
        number=number,
        name=str(name),
        command=_parse_command_fields(json.loads(command)),
        began=str(began),
        ended=ended,
        seconds=seconds_of(seconds, path),
        units=int(units),
        planned=int(planned),
        size=int(size),
        machine={str(k): str(v) for k, v in json.loads(machine).items()},
    )


def _parse_command_fields(command: Any) -> dict[str, Any]:
    words = isinstance(command, list) and all(isinstance(one, str) for one in command)
    return {} if words else dict(command)  # words are of an earlier dpaudit


@dataclass(frozen=True)
class StageEntry:
    """A stage of an audit: its name, trials, units, and of how many the result is kept."""

    number: int
    name: str
    trials: int
    units: int
    kept: int


def list_audit_stages(store: Store, audit: int) -> list[StageEntry]:
    """Return the stages of an audit, in the order in which they were begun."""
    rows = store.run(
        "SELECT id, name, trials, units, (SELECT count(*) FROM blocks WHERE stage = stages.id) "
        "FROM stages WHERE audit = ? ORDER BY id",
        (audit,),
    )
    try:
        return [StageEntry(int(i), str(name), int(t), int(u), int(k)) for i, name, t, u, k in rows]
    except (ValueError, TypeError) as error:
        raise StoreError(f"store {store.path}: its entry for a stage is damaged") from error


def remove_ended_audits(store: Store, *, all_of: bool = False) -> int:
    """Forget the audits that ended, or all of them; return how many.

    The file becomes smaller by what they took.
    """
    where = "" if all_of else "WHERE ended IS NOT NULL"
    gone = int(store.run(f"SELECT count(*) FROM audits {where}")[0][0])
    with store.together():
        store.run(f"DELETE FROM audits {where}")
    store.run("VACUUM")
    return gone


def generate_kept_numbers(store: Store, audit: int) -> Iterator[tuple[str, int, int, int, float]]:
    """Yield stage, unit's place, array's number in it, entry, and value of all kept numbers.

    Results that are made of several arrays are told apart by their number in the result.
    """
    for stage in list_audit_stages(store, audit):
        rows = store.rows(
            "SELECT place, data FROM blocks WHERE stage = ? ORDER BY place", (stage.number,)
        )
        for place, data in rows:
            for part, array in enumerate(_generate_kept_arrays(decode_block(data, store.path))):
                for entry, value in enumerate(array.ravel().tolist()):
                    yield stage.name, int(place), part, entry, value


def _generate_kept_arrays(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _generate_kept_arrays(one)
    elif isinstance(value, dict):
        yield from _generate_kept_arrays(list(value.values()))
    elif isinstance(value, (int, float, np.ndarray, np.generic)):
        yield np.atleast_1d(np.asarray(value, dtype=np.float64))


def export_audit_table(store: Store, audit: int, path: Path) -> int:
    """Write the kept part of an audit as a table, Parquet or CSV by the name; return the rows.

    Raises
    ------
    InvalidArgument
        The name ends otherwise, or Parquet needs a package that is not installed.
    DataError
        The file cannot be written.
    """
    import pandas as pd

    columns = ["stage", "unit", "part", "entry", "value"]
    rows = 0
    with _open_export_table(path) as write:
        for chunk in _split_rows_into_chunks(generate_kept_numbers(store, audit)):
            write(pd.DataFrame(chunk, columns=columns))
            rows += len(chunk)
        if not rows:
            write(pd.DataFrame({name: [] for name in columns}))
    return rows


def _split_rows_into_chunks(rows: Iterator[RowT]) -> Iterator[list[RowT]]:
    while chunk := list(islice(rows, _ROWS)):
        yield chunk


@contextmanager
def _open_export_table(path: Path) -> Iterator[Callable[[Any], None]]:
    """Yield a function that adds rows to a new file."""
    try:
        if path.suffix == ".csv":
            with path.open("w", newline="") as file:
                yield lambda frame: frame.to_csv(file, index=False, header=not file.tell())
        elif path.suffix == ".parquet":
            with _Parquet(path) as table:
                yield table.add
        else:
            raise InvalidArgument("export", str(path), "a name ending in .parquet or .csv")
    except OSError as error:
        raise DataError(f"export {path}: {error.strerror or error}") from error


class _Parquet:
    """A file of Parquet, of which a row group is in memory at a time."""

    def __init__(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            expected = "a name ending in .csv, or Parquet with pip install 'dpaudit[parquet]'"
            raise InvalidArgument("export", str(path), expected) from None
        self.path, self.pyarrow = path, pyarrow
        self.file: Any = None

    def add(self, frame: Any) -> None:
        """Add the rows of a frame."""
        table = self.pyarrow.Table.from_pandas(frame, preserve_index=False)
        if self.file is None:
            self.file = self.pyarrow.parquet.ParquetWriter(self.path, table.schema)
        self.file.write_table(table)

    def __enter__(self) -> _Parquet:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


@dataclass(frozen=True)
class OtherDecisions:
    """Decisions of one audit that a store made otherwise than the store it was merged into.

    Parameters
    ----------
    store, audit
        The store whose decisions were not taken, and the name of the audit.
    count
        How many.
    """

    store: Path
    audit: str
    count: int


@dataclass(frozen=True)
class StoreAdditions:
    """The additions to a store by `merge_stores`.

    Parameters
    ----------
    audits, results
        How many were new to it.
    others
        Decisions that stores made otherwise; those of the store that was written stand.
    """

    audits: int
    results: int
    others: tuple[OtherDecisions, ...] = ()


def merge_stores(into: Store, others: Sequence[Store]) -> StoreAdditions:
    """Add the content of other stores; return how much was new, and which decisions differed.

    Audits are the same if their identity is, and what two stores have of one is the same: where it
    is not, as where a store was changed or a generator was not the seed's alone, nothing tells
    which of the two is right. A decision, such as a layout or how many outputs a second gives, may
    differ between machines: the first that was made stands, and is counted among ``others``.

    Raises
    ------
    StoreError
        Two stores have other outputs at one place; both are named. Nothing is added of the store
        that has them; what stands before it among ``others`` is.
    """
    before, differing = _count_store_rows(into), list[OtherDecisions]()
    for other in others:
        if other.path.resolve() == into.path.resolve():
            raise InvalidArgument("merge", str(other.path), "other files than the one written")
        # One transaction for each store: nothing is added of one that holds other outputs.
        with into.together():
            for row in other.rows("SELECT * FROM audits ORDER BY id"):
                # Before anything is added: `INSERT OR IGNORE` would silently keep what is there
                # already.
                _require_the_same(into, other, row)
                _merge_audit(into, other, row)
                if count := _decisions_made_otherwise(into, other, row[1]):
                    differing.append(OtherDecisions(other.path, row[2], count))
    after = _count_store_rows(into)
    return StoreAdditions(after[0] - before[0], after[1] - before[1], tuple(differing))


_FACTS = (
    "SELECT f.name, f.data FROM facts f JOIN audits a ON a.id = f.audit WHERE a.identity = ? "
    f"AND f.name NOT LIKE '{MEASURED}%' ORDER BY f.name"
)


def _decisions_made_otherwise(into: Store, other: Store, identity: str) -> int:
    """Return how many decisions of an audit two stores made otherwise."""
    here = dict(into.run(_FACTS, (identity,)))
    return sum(here.get(name) != data for name, data in other.run(_FACTS, (identity,)))


# Of one audit by its identity: the stage, the place and a block, but for seconds of a machine; what
# was found by its name.
_BLOCKS = (
    "SELECT s.identity, s.name, b.place, b.data FROM blocks b JOIN stages s ON s.id = b.stage "
    "JOIN audits a ON a.id = s.audit WHERE a.identity = ? AND NOT EXISTS (SELECT 1 FROM facts f "
    f"WHERE f.audit = a.id AND f.name = '{MEASURED}' || s.identity) ORDER BY b.id"
)
_BLOCK = (
    "SELECT b.data FROM blocks b JOIN stages s ON s.id = b.stage JOIN audits a ON a.id = s.audit "
    "WHERE a.identity = ? AND s.identity = ? AND b.place = ?"
)


def _require_the_same(into: Store, other: Store, row: tuple[Any, ...]) -> None:
    """Refuse an audit of which two stores hold other outputs at one place."""
    identity = row[1]
    for stage, name, place, data in other.rows(_BLOCKS, (identity,)):
        for (there,) in into.run(_BLOCK, (identity, stage, place)):
            if there != data:
                raise StoreError(
                    f"store {other.path}: what it holds of the audit {row[2]!r}, stage {name!r}, "
                    f"outputs from {place} on, is not what {into.path} holds of them; one seed "
                    "gives one output, so that one of the two files was changed, or the mechanism "
                    "has randomness of its own: draw these outputs again, and merge the rest"
                )


def _count_store_rows(store: Store) -> tuple[int, int]:
    audits, blocks = (store.run(f"SELECT count(*) FROM {t}")[0][0] for t in ("audits", "blocks"))
    return int(audits), int(blocks)


def _merge_audit(into: Store, other: Store, row: tuple[Any, ...]) -> None:
    old, identity, name, command, machine, began, seconds, ended = row
    before = _count_blocks(into, identity)
    is_new = not into.run("SELECT 1 FROM audits WHERE identity = ?", (identity,))
    into.write(
        "INSERT OR IGNORE INTO audits (identity, name, command, machine, began, ended) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        [(identity, name, command, machine, began, ended)],
    )
    ((new, theirs),) = into.run("SELECT id, machine FROM audits WHERE identity = ?", (identity,))
    # Results of another machine may differ in their last bits: whoever reads the audit has to know
    # of it.
    if machine != theirs:
        into.write(ANOTHER_MACHINE, [(new, f"{MACHINE}{machine}", encode_block(None))])
    facts = other.run("SELECT name, data FROM facts WHERE audit = ?", (old,))
    into.write(
        "INSERT OR IGNORE INTO facts (audit, name, data) VALUES (?, ?, ?)",
        [(new, *fact) for fact in facts],
    )
    for number, key, stage, units, trials in other.run(
        "SELECT id, identity, name, units, trials FROM stages WHERE audit = ?", (old,)
    ):
        into.write(
            "INSERT OR IGNORE INTO stages (audit, identity, name, units, trials) "
            "VALUES (?, ?, ?, ?, ?)",
            [(new, key, stage, units, trials)],
        )
        found = into.run(
            "SELECT id, units FROM stages WHERE audit = ? AND identity = ?", (new, key)
        )
        if found[0][1] != units:
            raise DataError(f"store {other.path}: the stage {stage!r} has other units there")
        for place, data in other.rows("SELECT place, data FROM blocks WHERE stage = ?", (number,)):
            into.write(
                "INSERT OR IGNORE INTO blocks (stage, place, data) VALUES (?, ?, ?)",
                [(found[0][0], place, data)],
            )
    # What was merged before took its time once.
    given, added = _count_blocks(other, identity), _count_blocks(into, identity) - before
    share = added / given if given else float(is_new)
    into.run("UPDATE audits SET seconds = seconds + ? WHERE id = ?", (share * seconds, new))


def _count_blocks(store: Store, identity: str) -> int:
    ((count,),) = store.run(
        "SELECT count(*) FROM blocks b JOIN stages s ON s.id = b.stage "
        "JOIN audits a ON a.id = s.audit WHERE a.identity = ?",
        (identity,),
    )
    return int(count)
