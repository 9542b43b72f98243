"""Numbers of files as records: a number a record where there is one, rows where there are more."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.auditing.specification.audits_file import records_from
from dpaudit.errors import DataError


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("1\n2\n3\n", [1.0, 2.0, 3.0]),
        ("5\n", [5.0]),
        ("", []),
        ("\n \n", []),
        ("1,2\n3,4\n", [[1.0, 2.0], [3.0, 4.0]]),
        ("1;2\n3;4\n", [[1.0, 2.0], [3.0, 4.0]]),
    ],
)
def test_columns_of_numbers_are_rows_or_a_number_each(text, records, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(text)
    assert records_from(file).tolist() == records


def test_arrays_and_lists_are_as_they_were_written(tmp_path):
    file = tmp_path / "a.npy"
    np.save(file, np.array([[1, 2], [3, 4]]))
    assert records_from(file).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert records_from(file).dtype == np.float64
    file = tmp_path / "a.json"
    file.write_text('[{"a": 1}, {"a": null}]')
    assert records_from(file) == [{"a": 1}, {"a": None}]


@pytest.mark.parametrize(("name", "text"), [("a.json", "{"), ("a.csv", "1,2\n3\n"), ("a.npy", "x")])
def test_what_is_not_what_its_name_says_is_refused(name, text, tmp_path):
    file = tmp_path / name
    file.write_text(text)
    with pytest.raises(DataError, match=name):
        records_from(file)
    with pytest.raises(DataError, match=r"gone"):
        records_from(tmp_path / f"gone{name}")


@pytest.mark.parametrize(
    ("text", "error"),
    {
        "two marks beside decimal commas": ("x;y\n1.234,5;2\n0,5;3\n", "line 2: column 'x'"),
        "blanks, below an empty line": ("x;y\n5;3\n\n1 234;2\n", "line 4: column 'x'"),
        "quoted": ('x,y\n"1,234.5",2\n"5.5",3\n', "line 2: column 'x'"),
        "cells of no name": ("x,y\n1,234.5,2\n5,6,7\n", "line 2: has 3 cells, and the header 2"),
        "no header": ("1,234.5\n2,345.5\n", "line 1: may be one number"),
    }.values(),
)
def test_marks_between_thousands_of_records_are_refused(text, error, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(text)
    with pytest.raises(DataError, match=rf"{error}.*expected"):
        records_from(file)


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("x;y\n1,5;a\n0,25;b\n", [1.5, 0.25]),
        ("x;y\n555 123;1\n555 124;2\n", ["555 123", "555 124"]),
        ("x,y\n1.234,1\n12,2\n", [1.234, 12.0]),
    ],
)
def test_numbers_that_are_clear_and_telephone_numbers_are_read(text, records, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(text)
    assert records_from(file)["x"].tolist() == records
