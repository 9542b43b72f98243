"""Files that are stores, files that are none, and what is said of those."""

import contextlib
import json
import os
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from dpaudit.execution.worker import CannotBeSent
from dpaudit.store import file as files
from dpaudit.store.file import Store, StoreError, decode_block, encode_block

LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary()
    | arrays.arrays(np.float64, arrays.array_shapes(max_side=3), elements={"allow_nan": False})
)
VALUE = st.recursive(
    LEAF,
    lambda inner: st.lists(inner) | st.tuples(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


def same(one, other):
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and same(list(one.values()), list(other.values()))
    return type(one) is type(other) and one == other


@given(VALUE)
def test_typed_data_comes_back_as_it_was(value):
    assert same(decode_block(encode_block(value)), value)


@pytest.mark.parametrize("value", [object(), {1, 2}, np.array([object()]), lambda: 0])
def test_what_would_need_a_pickle_is_refused(value):
    with pytest.raises(CannotBeSent):
        encode_block(value)


@given(st.binary(max_size=64))
def test_bytes_that_are_no_block_are_refused_in_a_line(data):
    with contextlib.suppress(StoreError):  # and nothing else
        decode_block(data)


def test_a_block_that_lost_a_byte_is_refused():
    data = encode_block(np.arange(5.0))
    for broken in (data[:-1], data + b"x", data[1:], b""):
        with pytest.raises(StoreError, match="damaged"):
            decode_block(broken)


def forged(content, sizes, body=b""):
    head = json.dumps([content, sizes]).encode()
    return files._HEAD.pack(files._compute_block_digest(head + body), len(head)) + head + body


HOSTILE = {
    "an array of nothing": ({"array": ["<f8", [1]]}, []),
    "an array of a larger shape": ({"array": ["<f8", [10**12]]}, [8], b"12345678"),
    "a kind of objects": ({"array": ["|O", [1]]}, [8], b"12345678"),
    "no kind of numbers": ({"array": ["no such", [1]]}, [8], b"12345678"),
    "no shape": ({"array": ["<f8"]}, [8], b"12345678"),
    "lengths below zero": ({"bytes": 1}, [-1], b"1"),
    "a length of text": ({"bytes": 1}, ["1"], b"1"),
    "a dictionary of numbers": ({"dict": 5}, []),
    "a key that is a list": ({"dict": [[{"list": []}, 1]]}, []),
    "two kinds at once": ({"list": [], "tuple": []}, []),
    "another kind": ({"pickle": "gASVAAA="}, []),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_block_that_somebody_made_up_is_refused(name):
    with pytest.raises(StoreError, match="damaged"):
        decode_block(forged(*HOSTILE[name]))


def test_a_block_that_is_nested_too_deeply_is_refused():
    head = b"[" + b'{"list": [' * 100_000 + b"]}" * 100_000 + b", []]"
    with pytest.raises(StoreError, match="damaged"):
        decode_block(files._HEAD.pack(files._compute_block_digest(head), len(head)) + head)


def test_a_bit_that_turned_is_seen():
    data = bytearray(encode_block(np.arange(5.0)))
    data[-3] ^= 1
    with pytest.raises(StoreError, match="other bytes than were kept"):
        decode_block(bytes(data))


ACTIVE = {
    "trigger": "CREATE TRIGGER t AFTER INSERT ON facts BEGIN DELETE FROM blocks; END",
    "view": "CREATE VIEW v AS SELECT 1",
    "table": "DROP TABLE facts",
    "another table": "ALTER TABLE blocks RENAME TO b; CREATE TABLE blocks (id, stage, place, data)",
}


@pytest.mark.parametrize("name", ACTIVE)
def test_a_store_of_another_make_is_refused(tmp_path, name):
    path = tmp_path / "store"
    Store(path).close()
    with contextlib.closing(sqlite3.connect(path)) as theirs:
        theirs.executescript(ACTIVE[name])
    with pytest.raises(StoreError, match="is not that of a store"):
        Store(path)


def test_a_link_to_somebody_elses_file_leaves_it_as_it_is(tmp_path):
    theirs = tmp_path / "theirs"
    theirs.write_text("precious\n" * 1000)
    (tmp_path / "store").symlink_to(theirs)
    with pytest.raises(StoreError, match="damaged"):
        Store(tmp_path / "store")
    assert theirs.read_text() == "precious\n" * 1000


def test_a_pickle_in_a_block_is_never_run(tmp_path):
    import pickle

    class Trap:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "sprung"),)

    with pytest.raises(StoreError):
        decode_block(pickle.dumps(Trap()))
    assert not (tmp_path / "sprung").exists()


def test_a_text_file_is_no_store(tmp_path):
    path = tmp_path / "text"
    path.write_text("not a database at all, but long enough to be one\n" * 100)
    with pytest.raises(StoreError, match=r"damaged.*move it away"):
        Store(path)
    assert path.read_text().startswith("not a database")


def test_another_programs_database_is_left_as_it_is(tmp_path):
    path = tmp_path / "theirs"
    with contextlib.closing(sqlite3.connect(path)) as theirs, theirs:
        theirs.execute("CREATE TABLE precious (value)")
        theirs.execute("INSERT INTO precious VALUES (42)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a store of dpaudit"):
        Store(path)
    assert path.read_bytes() == before


def test_a_store_of_a_later_version_is_not_touched(tmp_path):
    path = tmp_path / "later"
    with Store(path) as store:
        store.run("PRAGMA user_version=99")
    with pytest.raises(StoreError, match="later dpaudit"):
        Store(path)


def test_a_store_that_was_cut_is_said_to_be_damaged(tmp_path):
    path = tmp_path / "cut"
    with Store(path) as store:
        store.run("CREATE TABLE more (value)")
        store.write("INSERT INTO more VALUES (?)", [(b"x" * 4000,)] * 50)
    path.write_bytes(path.read_bytes()[:8192] + b"\0" * 8192)
    with pytest.raises(StoreError, match="damaged"):
        with Store(path) as store:
            store.run("SELECT sum(length(value)) FROM more")


def test_a_locked_store_is_said_so_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "_PATIENCE", 0.2)
    path = tmp_path / "locked"
    Store(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with Store(path) as store, pytest.raises(StoreError, match=r"locked for 0\.2 seconds"):
        store.write("INSERT INTO facts VALUES (?, ?, ?)", [(1, "a", b"")])
    other.close()


def test_a_full_store_is_said_so_and_keeps_what_it_had(tmp_path):
    path = tmp_path / "full"
    with Store(path) as store:
        store.run("CREATE TABLE more (value)")
        store.write("INSERT INTO more VALUES (?)", [("kept",)])
        store.run("PRAGMA max_page_count=20")
        with pytest.raises(StoreError, match="disk is full; make room"):
            store.write("INSERT INTO more VALUES (?)", [(b"x" * 10**6,)])
        assert store.run("SELECT value FROM more") == [("kept",)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anything")
def test_a_folder_that_cannot_be_written(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path / "store")


def test_a_folder_is_no_store(tmp_path):
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path)


def test_one_that_must_exist_is_not_made(tmp_path):
    with pytest.raises(StoreError, match="no such file"):
        Store(tmp_path / "none", must_exist=True)
    assert not list(tmp_path.iterdir())


def test_all_of_a_block_is_written_or_nothing(tmp_path):
    with Store(tmp_path / "store") as store:
        store.run("CREATE TABLE more (value)")

        def half():
            with store.together():
                store.write("INSERT INTO more VALUES (?)", [(1,)])
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            half()
        assert store.run("SELECT * FROM more") == []


def test_nobody_else_may_read_it_and_nothing_is_left_beside_it(tmp_path):
    with Store(tmp_path / "store") as store:
        store.run("SELECT 1")
        beside = [one for one in tmp_path.iterdir() if one.name != "store"]
        assert [one.stat().st_mode & 0o777 for one in beside] == [0o600] * 2
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["store"]


WRITER = """
import sys
from dpaudit.store.file import Store
with Store(sys.argv[1]) as store:
    audit = "INSERT OR IGNORE INTO audits (identity, name, command, machine, began) "
    store.write(audit + "VALUES ('one', 'n', '[]', '{}', '')", [()])
    for place in range(200):
        store.write("INSERT OR IGNORE INTO facts VALUES (1, ?, ?)", [(f"{place}", b"x")])
"""


def test_two_programs_write_to_one_file(tmp_path):
    path = tmp_path / "store"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path)]) for _ in range(3)]
    assert [one.wait() for one in writers] == [0, 0, 0]
    with Store(path) as store:
        assert store.run("SELECT count(*) FROM facts") == [(200,)]
        assert store.run("PRAGMA integrity_check") == [("ok",)]
