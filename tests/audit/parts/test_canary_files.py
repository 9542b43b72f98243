"""Files of canaries, of every kind: what is read of them, and the line that refuses another."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.auditing.files import canary_files
from dpaudit.auditing.files.canary_files import read_table
from dpaudit.errors import DataError

SCORES, FLAGS = [0.5, -1.0, 2.0], [1, 0, 1]


def csv_of(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def parquet_of(path, **columns):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table(columns), path)
    return path


def npz_of(path, **columns):
    np.savez(path, **columns)
    return path


BINARY = pytest.mark.parametrize(("write", "kind"), [(npz_of, "npz"), (parquet_of, "parquet")])


def assert_is(table, group=None):
    assert table.scores.tolist() == SCORES
    assert table.included.tolist() == [True, False, True]
    assert (table.group is None) is (group is None)
    assert group is None or table.group.tolist() == group


def test_columns_have_any_order_and_others_are_not_looked_at(tmp_path):
    text = "\ufeff included , what,score\nTRUE,a, 0.5\n\n0,,-1\n1.0,c,2e0\n"
    assert_is(read_table(csv_of(tmp_path / "a.csv", text)))


@BINARY
def test_columns_of_arrays_have_any_order_too(write, kind, tmp_path):
    given = {"what": ["a", "b", "c"], "included": FLAGS, "score": SCORES}
    assert_is(read_table(write(tmp_path / f"a.{kind}", **given)))
    groups = ["x", "y", "x"] if kind == "parquet" else [7, 8, 7]
    assert_is(read_table(write(tmp_path / f"b.{kind}", group=groups, **given)), [0, 1, 0])


def test_groups_are_names_of_any_kind(tmp_path):
    text = "score,group,included\n0.5,x,true\n-1,y,false\n2,x,1\n"
    assert_is(read_table(csv_of(tmp_path / "a.csv", text)), [0, 1, 0])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty, expected columns score and included"),
        ("score,other\n1,2\n", "has no column 'included'"),
        ("included\n1\n", "has no column 'score'"),
        ("score,included\n", "has no rows"),
        ("score,included\n\n0.5,1\n-1\n", "line 4: included: is missing"),
        ("score,included\n ,1\n", "line 2: score: is missing"),
        ("score,included,group\n0.5,1,\n", "line 2: group: is missing"),
        ("score,included\n0.5,1\nx,0\n", "line 3: score: got .*, expected a number"),
        ("score,included\nnan,1\n", "line 2: score: got nan, expected a finite number"),
        ("score,included\n1e999,1\n", "line 2: score: got 1e999, expected a finite number"),
        ("included,score\n1,0.5\n0,1,234\n", "line 3: has 3 cells, and the header 2"),
        ("score,included\n0.5,2\n", "line 2: included: got .*, expected 0 or 1"),
        ("score,included\n0.5,1\n2,1\n", "included: got 2 of 2 canaries are included"),
    ],
)
def test_a_table_that_lacks_something_is_refused(text, said, tmp_path):
    path = csv_of(tmp_path / "a.csv", text)
    with pytest.raises(DataError, match=rf"a\.csv: {said}"):
        read_table(path)


@BINARY
@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"score": SCORES}, "has no column 'included'"),
        ({"included": FLAGS}, "has no column 'score'"),
        ({"score": [], "included": []}, "has no rows"),
        ({"score": SCORES, "included": [1, 0, 3]}, "0 or 1"),
        ({"score": [0.5, np.nan, 2.0], "included": FLAGS}, "finite numbers"),
        ({"score": SCORES, "included": [1, 1, 1]}, "3 of 3 canaries are included"),
    ],
)
def test_other_kinds_of_files_are_refused_alike(write, kind, columns, said, tmp_path):
    given = {name: np.array(one, dtype=float) for name, one in columns.items()}
    path = write(tmp_path / f"a.{kind}", **given)
    with pytest.raises(DataError, match=rf"a\.{kind}: .*{said}"):
        read_table(path)


def test_arrays_of_other_lengths_are_refused(tmp_path):
    path = npz_of(tmp_path / "a.npz", score=SCORES, included=[1, 0])
    with pytest.raises(DataError, match="2 rows, expected 3, one a score"):
        read_table(path)


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ([0.5, None, 2.0], "column 'score' has empty entries"),
        ([[0.5], [1.0], [2.0]], "column 'score' holds list"),
        ([b"1", b"2", b"3"], "column 'score' holds binary"),
    ],
)
def test_entries_that_are_none_or_several_are_refused(column, said, tmp_path):
    path = parquet_of(tmp_path / "a.parquet", score=column, included=FLAGS)
    with pytest.raises(DataError, match=said):
        read_table(path)


@pytest.mark.parametrize(("letters", "read"), [(1000, True), (1001, False)])
def test_names_of_groups_are_short(letters, read, tmp_path):
    group = ["x" * letters, "y", "y"]
    path = parquet_of(tmp_path / "a.parquet", score=SCORES, included=FLAGS, group=group)
    if read:
        return assert_is(read_table(path), [0, 1, 1])
    with pytest.raises(DataError, match="texts of more than 1000 letters"):
        read_table(path)


@pytest.mark.parametrize("kind", ["csv", "npz", "parquet"])
@pytest.mark.parametrize(("most", "read"), [(3, True), (2, False)])
def test_no_more_canaries_are_read_than_there_may_be(kind, most, read, tmp_path, monkeypatch):
    monkeypatch.setattr(canary_files, "_MOST", most)
    path = tmp_path / f"a.{kind}"
    rows = "".join(f"{score},{flag}\n" for score, flag in zip(SCORES, FLAGS, strict=True))
    if kind == "csv":
        csv_of(path, f"score,included\n{rows}")
    else:
        (npz_of if kind == "npz" else parquet_of)(path, score=SCORES, included=FLAGS)
    if read:
        return assert_is(read_table(path))
    with pytest.raises(DataError, match="at most 2 canaries are read"):
        read_table(path)


def test_no_object_of_a_file_is_made(tmp_path):
    """An array of objects is a pickle, which runs what it says."""
    ran = tmp_path / "ran"

    class Running:
        def __reduce__(self):
            return ran.touch, ()

    objects = np.array([Running()] * 3, dtype=object)
    path = npz_of(tmp_path / "a.npz", score=objects, included=FLAGS)
    with pytest.raises(DataError, match=r"is no \.npz file of numbers"):
        read_table(path)
    assert not ran.exists()


@pytest.mark.parametrize("name", ["a.txt", "a.CSV", "a"])
def test_another_kind_of_file_is_refused(name, tmp_path):
    with pytest.raises(DataError, match=r"expected a file of canaries, .csv, .parquet or .npz"):
        read_table(csv_of(tmp_path / name, "score,included\n1,0\n"))
