"""Rows of small tables by hand: which record goes where, with which label, and how far apart."""

from __future__ import annotations

import numpy as np
import pytest

from dpaudit.datasets import Dataset
from dpaudit.datasets.arrange import (
    most_distant_records,
    replacement_pair,
    split_evenly,
    split_unevenly,
    subset,
)
from dpaudit.datasets.preprocessing import (
    clip_rows,
    convert_to_signed_labels,
    preprocess,
    scale_columns,
)
from dpaudit.errors import DataError, InvalidArgument

RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("nodes", "sizes"),
    [(1, (7,)), (2, (4, 3)), (3, (3, 2, 2)), (5, (2, 2, 1, 1, 1)), (7, (1,) * 7)],
)
def test_even_sizes_are_as_even_as_they_go(nodes, sizes):
    data = Dataset(np.eye(7), np.ones(7))
    assert split_evenly(data, nodes, RNG(0)).node_sizes == sizes
    assert split_unevenly(data, nodes, RNG(0), concentration=1e300).node_sizes[0] >= 1
    with pytest.raises(InvalidArgument, match="nodes"):
        split_evenly(data, 8, RNG(0))


def test_a_subset_may_be_all_records_and_no_more():
    data = Dataset(np.eye(3), [1, -1, 1])
    found = subset(data, 3, RNG(1))
    assert sorted(map(tuple, found.features.tolist())) == sorted(map(tuple, np.eye(3).tolist()))
    assert [float(row @ [1, -1, 1]) for row in found.features] == found.labels.tolist()
    with pytest.raises(InvalidArgument, match="records"):
        subset(data, 4, RNG(1))


@pytest.mark.parametrize("seed", range(5))
def test_the_most_distant_records_are_those_of_all_pairs(seed):
    features = RNG(seed).normal(size=(40, 3))
    features /= np.linalg.norm(features, axis=1, keepdims=True)
    data = Dataset(features, np.where(RNG(seed).random(40) < 0.5, 1.0, -1.0))
    signed = data.labels[:, None] * data.features
    gaps = np.linalg.norm(signed[:, None] - signed[None], axis=2)
    one, other = most_distant_records(data, RNG(9))
    assert gaps[one, other] == pytest.approx(gaps.max())
    few = most_distant_records(data, RNG(9), candidates=1)
    assert gaps[few] == pytest.approx(gaps[few[0]].max())


def test_beyond_one_tile_the_place_is_counted_on(monkeypatch):
    monkeypatch.setattr("dpaudit.datasets.arrange._TILE", 4)
    features = np.tile([[0.1, 0.0]], (11, 1))
    features[9] = [-0.9, 0.0]
    assert 9 in most_distant_records(Dataset(features, np.ones(11)), RNG(0))


@pytest.mark.parametrize(("replaced", "replacement"), [(0, 2), (2, 0), (1, 0), (0, 1), (1, 2)])
def test_one_record_takes_the_place_of_another_with_its_label(replaced, replacement):
    data = Dataset([[1.0], [0.5], [0.2]], [1, -1, 1], name="n")
    one, other = replacement_pair(data, replaced, replacement)
    kept = [row for row in range(3) if row != replacement]
    assert one.features.ravel().tolist() == data.features[kept].ravel().tolist()
    assert one.labels.tolist() == data.labels[kept].tolist()
    expected = [replacement if row == replaced else row for row in kept]
    assert other.features.ravel().tolist() == data.features[expected].ravel().tolist()
    assert other.labels.tolist() == data.labels[expected].tolist()
    assert (one.name, one.nodes, other.name) == ("n", 1, "n")


def test_columns_are_divided_by_their_own_largest_and_rows_by_their_own_norm():
    given = np.array([[2.0, -8.0, 0.0], [-4.0, 4.0, 0.0], [0.0, 1.0, 0.0]])
    assert scale_columns(given).tolist() == [[0.5, -1.0, 0.0], [-1.0, 0.5, 0.0], [0.0, 0.125, 0.0]]
    found = clip_rows([[3.0, 4.0], [0.6, 0.8], [0.0, 0.0], [-0.3, 0.0], [1e200, 0.0]])
    assert np.allclose(found, [[0.6, 0.8], [0.6, 0.8], [0, 0], [-0.3, 0], [1, 0]], atol=1e-15)
    assert np.allclose(preprocess(given)[0], np.array([0.5, -1.0, 0.0]) / np.sqrt(1.25))
    assert np.allclose(preprocess(given)[2], [0.0, 0.125, 0.0])


@pytest.mark.parametrize(
    ("labels", "positive", "found"),
    [
        ([1, -1, 1], None, [1, -1, 1]),
        ([1.0, 1.0], None, [1, 1]),
        ([0, 1, 0], 1, [-1, 1, -1]),
        ([0, 1, 0], 0, [1, -1, 1]),
        ([2, 2], 2, [1, 1]),
        (["a", "b"], "b", [-1, 1]),
    ],
)
def test_the_label_that_is_named_is_the_positive_one(labels, positive, found):
    assert convert_to_signed_labels(np.array(labels), positive, "f").tolist() == found


@pytest.mark.parametrize(
    ("labels", "positive"),
    [
        ([0, 1], None),
        ([1, -1, 0], None),
        (["1", "-1"], None),
        ([True, False], None),
        ([0, 1, 2], 1),
        ([0, 0], 1),
        (["a", "b"], "c"),
    ],
)
def test_labels_that_are_not_two_or_not_named_are_refused(labels, positive):
    with pytest.raises(DataError, match="found labels"):
        convert_to_signed_labels(np.array(labels), positive, "f")


@pytest.mark.parametrize("size", [1.0, 1e160, 1e-200])
def test_the_most_distant_records_are_so_at_every_size(size):
    records = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])
    found = most_distant_records(Dataset(records * size, [1, 1, 1, 1]), RNG(9))
    assert sorted(found) == [2, 3]


def test_no_record_is_distant_from_itself():
    one, other = most_distant_records(Dataset(np.ones((3, 2)), [1, 1, 1]), RNG(9))
    assert one != other
