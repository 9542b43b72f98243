"""Files of a few bytes that stand for many: each is refused in a line, and takes no memory."""

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from dpaudit.auditing.files import arrays, canary_files
from dpaudit.auditing.files.canary_files import read_table
from dpaudit.auditing.specification.audits_file import records_from
from dpaudit.errors import DataError

FEW = 2**20  # bytes that are read in these tests, in place of a gigabyte
ZEROS = np.zeros(16 * FEW // 8)
FLAGS = np.array([0.0, 1.0] * 4)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    for module in (arrays, canary_files):
        monkeypatch.setattr(module, "MOST", FEW)
    monkeypatch.setattr(canary_files, "_MOST", 50_000)


def array(value):
    file = io.BytesIO()
    npy.write_array(file, value)
    return file.getvalue()


def header(text, version=b"\x01\x00", data=b"\0" * 64):
    """Return an array of which the header says whatever it says."""
    text = text.encode() + b" " * (-len(text) % 16) + b"\n"
    size = struct.pack("<H" if version[0] == 1 else "<I", len(text))
    return npy.MAGIC_PREFIX + version + size + text + data


def shaped(shape, kind="<f8", **others):
    return header(f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}", **others)


def archive(path, *, patch=lambda data: data, **members):
    members = {"score": array(np.arange(8.0)), "included": array(FLAGS)} | members
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in members.items():
            if content is not None:
                packed.writestr(f"{name}.npy", content)
    path.write_bytes(patch(file.getvalue()))
    return path


def in_index(place, value):
    """Change four bytes of the first entry of an archive's index."""

    def patch(data):
        start = data.index(b"PK\x01\x02") + place
        return data[:start] + struct.pack("<I", value) + data[start + 4 :]

    return patch


def with_flag(data):
    """Say of the first member that it has a password."""
    data = bytearray(data)
    for mark, place in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.index(mark) + place] |= 1
    return bytes(data)


def with_method(data):
    data = bytearray(data)
    for mark, place in ((b"PK\x01\x02", 10), (b"PK\x03\x04", 8)):
        data[data.index(mark) + place] = 99
    return bytes(data)


BOMBS = {
    "packed scores": {"score": array(ZEROS)},
    "packed flags": {"included": array(ZEROS)},
    "packed groups": {"group": array(np.zeros(16 * FEW // 8, "<i8"))},
    "more rows than canaries": {"score": array(np.zeros(60_000)), "included": array(FLAGS)},
    "a large shape": {"score": shaped("(1000000000000,)")},
    "a shape of many sides": {"score": shaped("(100000, 100000, 100000)")},
    "a side below 0": {"score": shaped("(-8,)")},
    "long texts": {"group": shaped("(8,)", kind="<U200000000")},
    "a kind of objects": {"score": shaped("(8,)", kind="|O")},
    "a long header": {"score": shaped("(8,)" + " " * 60_000)},
    "a header of a later version": {"score": shaped("(8,)", version=b"\x09\x00")},
    "a header that is code": {"score": header("__import__('os').abort()")},
    "a pickle": {"score": b"\x80\x04cos\nabort\n."},
    "an archive in an archive": {"score": b"PK\x03\x04" + bytes(100)},
    "an index that says more": {"patch": in_index(24, 2**31)},
    "an index that says less": {"patch": in_index(24, 4)},
    "a password": {"patch": with_flag},
    "a way of packing that nobody knows": {"patch": with_method},
    "bytes that are cut": {"patch": lambda data: data[:200] + data[260:]},
    "no index": {"patch": lambda data: data[: data.index(b"PK\x01\x02")]},
}


def refused(read, path):
    """Return the line of a refusal, which takes little memory."""
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as caught:
            read(path)
        assert tracemalloc.get_traced_memory()[1] < 8 * FEW
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_in_an_archive_of_arrays_is_refused(tmp_path, bomb):
    refused(read_table, archive(tmp_path / "bomb.npz", **BOMBS[bomb]))


def test_what_is_no_bomb_is_read(tmp_path):
    table = read_table(archive(tmp_path / "plain.npz"))
    assert len(table.scores) == 8


@pytest.mark.parametrize(
    "content",
    [shaped("(1000000000000,)"), shaped("(-8,)"), shaped("(8,)", kind="|O"), array(ZEROS), b""],
    ids=["a large shape", "a side below 0", "objects", "a large file", "nothing"],
)
def test_a_bomb_in_an_array_is_refused(tmp_path, content):
    (tmp_path / "bomb.npy").write_bytes(content)
    refused(records_from, tmp_path / "bomb.npy")


def test_a_table_of_more_canaries_than_are_read_is_refused_on_the_way(tmp_path):
    path = tmp_path / "many.csv"
    path.write_text("score,included\n" + "0.5,1\n" * 60_000)
    assert "at most 50,000 canaries" in refused(read_table, path)


# Parquet

ROWS = {
    "few bytes of many rows": lambda pa: {"score": pa.array(np.zeros(10**6))},
    "few bytes of many flags": lambda pa: {"included": pa.array(np.zeros(10**6, bool))},
    "a text that stands for many": lambda pa: {
        "group": pa.array(["x" * 100_000] * 40_000).dictionary_encode()
    },
    "a long text": lambda pa: {"group": pa.array(["x" * 2000] + ["y"] * 7)},
    "lists": lambda pa: {"score": pa.array([[0.0] * 1000] * 8)},
    "tables": lambda pa: {"score": pa.array([{"a": 1.0}] * 8)},
    "nothing": lambda pa: {"score": pa.nulls(8, pa.float64())},
    "bytes": lambda pa: {"score": pa.array([b"\0" * 100_000] * 8)},
    "numbers without an end": lambda pa: {"score": pa.array([np.inf] * 8)},
    "a number that is none": lambda pa: {"score": pa.array([np.nan] * 8)},
}


@pytest.mark.parametrize("bomb", ROWS)
def test_a_bomb_in_parquet_is_refused(tmp_path, bomb):
    pa = pytest.importorskip("pyarrow", reason="pip install 'dpaudit[parquet]'")
    import pyarrow.parquet as parquet

    columns = ROWS[bomb](pa)
    rows = max(map(len, columns.values()))
    plain = {"score": pa.array(np.zeros(rows)), "included": pa.array([True, False] * (rows // 2))}
    path = tmp_path / "bomb.parquet"
    parquet.write_table(pa.table(plain | columns), path, compression="zstd")
    before = pa.default_memory_pool().max_memory()
    refused(read_table, path)
    assert pa.default_memory_pool().max_memory() < before + 64 * FEW


@pytest.mark.parametrize("cut", [lambda d: d[:-8], lambda d: d[:40] + d[80:], lambda d: b"PAR1"])
def test_a_damaged_file_of_parquet_is_refused(tmp_path, cut):
    pa = pytest.importorskip("pyarrow", reason="pip install 'dpaudit[parquet]'")
    import pyarrow.parquet as parquet

    path = tmp_path / "cut.parquet"
    table = pa.table({"score": np.zeros(8), "included": [True, False] * 4})
    parquet.write_table(table, path)
    path.write_bytes(cut(path.read_bytes()))
    refused(read_table, path)
