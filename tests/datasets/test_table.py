import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpaudit.datasets import csv
from dpaudit.errors import DataError, DpauditError, InvalidArgument, UnknownName

GOOD = 'height, label,"body weight"\n1.5,1,60\n\n2.0,-1,80\n'


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "records.csv"
        path.write_text(text)
        return path

    return write


def test_values_and_labels_are_read(file):
    data = csv(file(GOOD), "label", scaled=False)
    np.testing.assert_array_equal(data.features, [[1.5, 60], [2, 80]])
    assert data.labels.tolist() == [1, -1]
    assert data.name == "records.csv"


def test_records_are_preprocessed_by_default(file):
    data = csv(file(GOOD), "label")
    np.testing.assert_allclose(data.features, [[np.sqrt(0.5)] * 2] * 2)


@pytest.mark.parametrize("positive", [1, 1.0, "1"])
def test_a_number_may_be_named_as_the_positive_label(file, positive):
    data = csv(file("a,b\n1,0\n2,1.0\n3,1\n"), "b", positive=positive)
    assert data.labels.tolist() == [-1, 1, 1]


def test_a_word_may_be_named_as_the_positive_label(file):
    assert csv(file("a,b\n1,no\n2, yes \n"), "b", positive="yes").labels.tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "found no text"),
        ("a,label\n", "found 0 records of 2 columns"),
        ("label\n1\n", "found 1 records of 1 columns"),
        ("a,label\n1,1\n2\n", "line 3: label: the label is missing"),
        ("a,label\n1,1\n2,NaN\n", "line 3: label: the label is missing"),
        ("label,a\n1,1\n1\n", "line 3: a: got '', expected a finite number"),
        ("a,label\n1,1\n\nx,1\n", "line 4: a: got 'x', expected a finite number"),
        ("a,label\ninf,1\n", "line 2: a: got 'inf', expected a finite number"),
        ("a,label\nnan,1\n", "line 2: a: got 'nan', expected a finite number"),
        ("a,label\n1,1,1\n", "Expected 2 fields in line 2, saw 3"),
        ("\na,label\n1,1\n", "No columns to parse"),
        ('a,label\n"1,1\n', "EOF inside string"),
        ("a,a,label\n1,1,1\n", "line 1: column 1 and column 2 have the same name"),
        ("a,label\n1,0\n2,1\n", "found labels 0.0, 1.0, expected -1 and [+]1"),
        ("a,label\n1,no\n2,yes\n", "found labels 'no', 'yes', expected -1 and [+]1"),
    ],
)
@pytest.mark.usefixtures("records_shown")
def test_a_damaged_file_is_named_with_its_line(file, text, reason):
    path = file(text)
    with pytest.raises(DataError, match=f"^{path}: {reason}") as refusal:
        csv(path, "label")
    assert "\n" not in str(refusal.value)


@pytest.mark.usefixtures("records_shown")
def test_a_third_label_is_refused(file):
    with pytest.raises(DataError, match=r"found labels 'maybe', 'no', 'yes', expected 'yes' and"):
        csv(file("a,b\n1,no\n2,yes\n3,maybe\n"), "b", positive="yes")


def test_an_unknown_column_is_refused_with_those_there_are(file):
    with pytest.raises(UnknownName, match=r"label_column: got 'lable'.*did you mean 'label'"):
        csv(file(GOOD), "lable")


def test_what_is_no_path_is_refused():
    with pytest.raises(InvalidArgument, match="path"):
        csv(3, "label")


@pytest.mark.slow
@given(position=st.integers(0, len(GOOD) - 1), byte=st.sampled_from("\0\n\t ,\"'19-e"))
def test_damage_is_refused_or_harmless_but_never_surprises(tmp_path_factory, position, byte):
    path = tmp_path_factory.getbasetemp() / "damaged.csv"
    path.write_text(GOOD[:position] + byte + GOOD[position + 1 :])
    refusal = None
    try:
        csv(path, "label").require_unit_rows()
    except DpauditError as error:
        refusal = str(error)
    assert refusal is None or "\n" not in refusal
