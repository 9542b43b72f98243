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
