import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from dpaudit.datasets import clip_rows, preprocess, scale_columns
from dpaudit.datasets.preprocessing import convert_to_signed_labels
from dpaudit.errors import DataError, InvalidArgument

MATRICES = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=6),
    elements=st.floats(-1e300, 1e300),
)


@given(MATRICES)
def test_every_column_has_maximum_one_unless_it_is_zero(matrix):
    largest = np.abs(scale_columns(matrix)).max(axis=0)
    np.testing.assert_array_equal(largest, (matrix != 0).any(axis=0).astype(float))


@given(MATRICES)
def test_every_row_has_norm_at_most_one(matrix):
    assert np.linalg.norm(clip_rows(matrix), axis=1).max() <= 1 + 1e-12


@given(MATRICES)
def test_a_long_row_keeps_its_direction_and_gets_norm_one(matrix):
    matrix = matrix[np.abs(matrix).max(axis=1) > 1]
    clipped = clip_rows(matrix)
    np.testing.assert_allclose(np.linalg.norm(clipped, axis=1), 1, rtol=1e-12)
    largest = np.abs(matrix).argmax(axis=1)
    rows = np.arange(len(matrix))
    shape = matrix / matrix[rows, largest][:, None]
    np.testing.assert_allclose(
        clipped / clipped[rows, largest][:, None], shape, rtol=1e-12, atol=1e-300
    )


def test_short_rows_and_zero_columns_stay_as_they_are():
    rows = np.array([[0.3, 0.4], [0.0, 1.0]])
    np.testing.assert_array_equal(clip_rows(rows), rows)
    np.testing.assert_array_equal(scale_columns([[0.0, 2.0], [0.0, 1.0]]), [[0, 1], [0, 0.5]])


def test_each_row_is_divided_by_its_own_norm():
    np.testing.assert_allclose(clip_rows([[30.0, 40.0], [0.6, 0.6]]), [[0.6, 0.8], [0.6, 0.6]])


def test_columns_come_before_rows():
    matrix = np.array([[1.0, 1000.0], [2.0, 10.0]])
    np.testing.assert_array_equal(preprocess(matrix), clip_rows(scale_columns(matrix)))
    assert not np.allclose(preprocess(matrix), scale_columns(clip_rows(matrix)))


def test_the_argument_is_left_alone():
    matrix = np.array([[3.0, 4.0]])
    preprocess(matrix)
    np.testing.assert_array_equal(matrix, [[3.0, 4.0]])


@pytest.mark.parametrize("function", [scale_columns, clip_rows, preprocess])
@pytest.mark.parametrize("bad", [[1.0, 2.0], [[np.nan]], [[np.inf]], "text"])
def test_other_than_a_finite_matrix_is_refused(function, bad):
    with pytest.raises(InvalidArgument, match="features"):
        function(bad)


@pytest.mark.parametrize(
    ("labels", "positive", "expected"),
    [
        ([-1, 1, 1], None, [-1, 1, 1]),
        ([0, 1, 0], 1, [-1, 1, -1]),
        ([0, 1, 0], 0, [1, -1, 1]),
        (["a", "b"], "b", [-1, 1]),
        ([1.0, 1.0], None, [1, 1]),
    ],
)
def test_labels_become_signs(labels, positive, expected):
    np.testing.assert_array_equal(
        convert_to_signed_labels(np.array(labels), positive, "file"), expected
    )


@pytest.mark.parametrize(
    ("labels", "positive"),
    [([0, 1], None), ([1, 2, 3], 1), ([0, 1], 2), (["1", "-1"], None), (range(9), None)],
)
def test_other_labels_are_refused(labels, positive):
    with pytest.raises(DataError, match=r"^file: found labels .* expected"):
        convert_to_signed_labels(np.array(labels), positive, "file")
